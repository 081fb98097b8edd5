//! What the linter was told of claims, volumes and what nodes attach.

use muster_model::{
    Answer, Body, ClaimKey, ClaimSpec, CsiNodeSpec, Question, QuestionId, VOLUME_BINDING,
    VolumeSpec, VolumeTask,
};
use std::collections::{BTreeMap, BTreeSet};

/// What was told of claims and volumes.
#[derive(Clone, Debug, Default)]
pub(crate) struct VolumeBook {
    pub(crate) claims: BTreeMap<ClaimKey, ClaimSpec>,
    pub(crate) volumes: BTreeMap<String, VolumeSpec>,
    pub(crate) csi_nodes: BTreeMap<String, CsiNodeSpec>,
    /// What somebody outside was asked to bind.
    asked: BTreeMap<QuestionId, String>,
    /// Claims of which somebody outside said that they are bound, before a watch did: by uid.
    settled: BTreeSet<String>,
}

impl VolumeBook {
    pub(crate) fn take_claim(&mut self, claim: &ClaimSpec) {
        if claim.is_bound() {
            self.settled.remove(&claim.uid);
        }
        self.claims.insert(claim.key.clone(), claim.clone());
    }

    pub(crate) fn forget_claim(&mut self, key: &ClaimKey) {
        if let Some(claim) = self.claims.remove(key) {
            self.settled.remove(&claim.uid);
        }
    }

    pub(crate) fn take_volume(&mut self, volume: &VolumeSpec) {
        self.volumes.insert(volume.name.clone(), volume.clone());
    }

    pub(crate) fn forget_volume(&mut self, name: &str) {
        self.volumes.remove(name);
    }

    pub(crate) fn take_csi_node(&mut self, csi: &CsiNodeSpec) {
        self.csi_nodes.insert(csi.name.clone(), csi.clone());
    }

    pub(crate) fn forget_csi_node(&mut self, name: &str) {
        self.csi_nodes.remove(name);
    }

    /// Somebody outside is asked to bind claims.
    pub(crate) fn ask(&mut self, question: &Question) {
        if let Body::Plugin {
            plugin, payload, ..
        } = &question.body
            && plugin == VOLUME_BINDING
        {
            self.asked.insert(question.id, payload.clone());
        }
    }

    /// What came of a question: with yes, the claims are bound.
    pub(crate) fn answered(&mut self, id: QuestionId, answer: &Answer) {
        let Some(payload) = self.asked.remove(&id) else {
            return;
        };
        if matches!(answer, Answer::Yes(_)) {
            let tasks = VolumeTask::read(&payload).into_iter().flatten();
            self.settled.extend(tasks.map(|task| task.claim.uid));
        }
    }

    /// The volume that a claim is bound to.
    pub(crate) fn volume_of(&self, key: &ClaimKey) -> Option<&VolumeSpec> {
        let claim = self.claims.get(key)?;
        self.volumes.get(&claim.volume)
    }

    pub(crate) fn is_bound(&self, key: &ClaimKey) -> bool {
        let claim = self.claims.get(key);
        claim.is_some_and(|claim| claim.is_bound() || self.settled.contains(&claim.uid))
    }
}
