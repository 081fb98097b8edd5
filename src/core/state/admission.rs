//! The books of admission: room set aside for gangs that were admitted on their `minResources`.
//!
//! What is set aside for a gang is what it asked for and does not use yet. Sums follow event by
//! event; [`ClusterState::audit`](super::ClusterState::audit) derives them from scratch.

use super::ClusterState;
use super::ids::GangId;
use muster_model::resources::{Dimension, Request, Tally};
use std::collections::BTreeMap;

/// What is set aside, for whom and in all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Admission {
    by_gang: BTreeMap<GangId, Request>,
    sum: Tally,
}

impl Admission {
    /// What was set aside for it before.
    fn set(&mut self, gang: GangId, outstanding: Request) -> Option<Request> {
        self.sum.add(&outstanding);
        let before = self.by_gang.insert(gang, outstanding);
        before.iter().for_each(|before| self.sum.subtract(before));
        before
    }

    /// Whether anything is set aside for a gang.
    pub(super) fn has(&self, gang: GangId) -> bool {
        self.by_gang.contains_key(&gang)
    }

    fn remove(&mut self, gang: GangId) -> Option<Request> {
        let before = self.by_gang.remove(&gang);
        before.iter().for_each(|before| self.sum.subtract(before));
        before
    }
}

impl ClusterState {
    /// Sets room aside for a gang.
    pub fn admit(&mut self, gang: GangId) {
        let outstanding = self.outstanding(gang);
        let before = self.admission.set(gang, outstanding.clone());
        self.count_set_aside(gang, before.as_ref(), Some(&outstanding));
        self.note_work(gang);
    }

    /// Counts what is set aside in the books of the gang's queue.
    fn count_set_aside(&mut self, gang: GangId, before: Option<&Request>, after: Option<&Request>) {
        let Some((queue, lifetime)) = self.gangs.get(gang).and_then(|gang| gang.account) else {
            return;
        };
        if before == after {
            return;
        }
        for (request, more) in [(before, false), (after, true)] {
            if let Some(request) = request {
                self.queues.count(queue, lifetime, request, false, more);
            }
        }
    }

    /// What a gang holds, with what is set aside for it.
    pub(super) fn holdings(&self, gang: GangId) -> Tally {
        let mut all = self[gang].in_use.clone();
        if let Some(request) = self.admission.by_gang.get(&gang) {
            all.add(request);
        }
        all
    }

    /// Sets no more room aside for a gang; those who wait for room may have it.
    pub fn expel(&mut self, gang: GangId) {
        if let Some(before) = self.admission.remove(gang) {
            self.count_set_aside(gang, Some(&before), None);
            self.note_work(gang);
            self.changes.room_set_free = true;
        }
    }

    /// What is set aside for all gangs but this one.
    #[must_use]
    pub fn set_aside_for_others(&self, gang: GangId, dimension: Dimension) -> i64 {
        let own = self.admission.by_gang.get(&gang);
        let own = own.map_or(0, |request| request.get(dimension));
        self.admission.sum.get(dimension).saturating_sub(own)
    }

    /// Brings the books up to date after a gang's usage or wishes changed.
    pub(super) fn book(&mut self, gang: GangId) {
        if self.admission.has(gang) {
            self.admit(gang);
        }
    }

    /// What a gang asked for and does not use yet.
    fn outstanding(&self, gang: GangId) -> Request {
        let Some(gang) = self.gangs.get(gang) else {
            return Request::default();
        };
        let left = |(dimension, wanted): (Dimension, i64)| {
            let used = gang.in_use.get(dimension);
            (dimension, wanted.saturating_sub(used))
        };
        Request::new(gang.min_resources.iter().map(left))
    }

    /// Derives the books from scratch and compares.
    pub(super) fn audit_admission(&self) -> Result<(), String> {
        let mut anew = Admission::default();
        for gang in self.admission.by_gang.keys() {
            if self.gangs.get(*gang).is_none() {
                return Err(format!("room is set aside for {gang:?}, which is gone"));
            }
            anew.set(*gang, self.outstanding(*gang));
        }
        if anew != self.admission {
            return Err(format!("set aside: {:?}, not {anew:?}", self.admission));
        }
        Ok(())
    }
}
