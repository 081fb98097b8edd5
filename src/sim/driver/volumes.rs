//! Claims that a scheduler has bound before it binds their pods: what it chose is written at once, and
//! the answer comes when the controllers of storage are done.

use super::asks::Inquiry;
use super::{Driver, Happening};
use muster_model::{Answer, VolumeDeed, VolumeTask};

impl Driver {
    /// Writes what a question asks for; returns it where it is answered already.
    pub(super) fn bind_claims(&mut self, mut inquiry: Inquiry) -> Option<Inquiry> {
        let tasks = VolumeTask::read(inquiry.question.body.payload());
        for task in tasks.into_iter().flatten() {
            let written = match &task.deed {
                VolumeDeed::Reserve(volume) => self.server.reserve_volume(volume, &task.claim),
                VolumeDeed::Select(node) => self.server.select_node(&task.claim, node),
            };
            if let Err(message) = written {
                inquiry.answer = Answer::No { message };
                return Some(inquiry);
            }
        }
        if !matches!(inquiry.answer, Answer::Yes(_)) {
            return Some(inquiry);
        }
        let given_up_at = self.now + inquiry.question.at_most;
        self.heap.push(given_up_at, Happening::LookAtClaims);
        inquiry.given_up_at = given_up_at;
        self.claims_to_bind.push(inquiry);
        self.look_at_claims();
        None
    }

    /// Answers the questions whose claims are bound, or will not be.
    pub(super) fn look_at_claims(&mut self) {
        for mut inquiry in std::mem::take(&mut self.claims_to_bind) {
            let tasks = VolumeTask::read(inquiry.question.body.payload()).unwrap_or_default();
            let found: Vec<Result<bool, String>> =
                tasks.iter().map(|task| self.claim_is_bound(task)).collect();
            let refused = found.iter().find_map(|one| one.clone().err());
            if let Some(message) = refused {
                inquiry.answer = Answer::No { message };
            } else if found.contains(&Ok(false)) {
                if self.now < inquiry.given_up_at {
                    self.claims_to_bind.push(inquiry);
                    continue;
                }
                let message = format!("no answer within {}", inquiry.question.at_most);
                inquiry.answer = Answer::Failed { message };
            }
            self.reply(inquiry);
        }
    }

    fn claim_is_bound(&self, task: &VolumeTask) -> Result<bool, String> {
        let storage = self.server.storage();
        let key = &task.claim.key;
        let claim = storage.claim(key).filter(|one| one.uid == task.claim.uid);
        let Some(claim) = claim else {
            return Err(format!("claim {key} is gone"));
        };
        if claim.is_bound() {
            return Ok(true);
        }
        match &task.deed {
            VolumeDeed::Select(node) if claim.selected_node.as_ref() != Some(node) => {
                Err(format!("provisioning failed for PVC {:?}", key.name))
            }
            VolumeDeed::Reserve(volume) => {
                let of = storage.volume(volume).and_then(|one| one.claim.as_ref());
                if of.is_some_and(|of| *of == task.claim) {
                    return Ok(false);
                }
                Err(format!("ClaimRef got reset for pv {volume:?}"))
            }
            VolumeDeed::Select(_) => Ok(false),
        }
    }
}
