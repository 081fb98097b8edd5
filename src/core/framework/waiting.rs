//! The pods that wait at Permit: plugins list, approve and reject them.

use super::Reason;
use crate::state::{GangId, PodId};
use muster_model::PodKey;
use muster_model::units::Time;
use std::collections::{BTreeMap, BTreeSet};

/// A pod that has its place and waits at Permit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingPod {
    /// The pod.
    pub pod: PodKey,
    /// The node it has.
    pub node: String,
    /// Its gang: it is bound when no member of the decision waits any more.
    pub gang: GangId,
    /// Who holds it, and until when at most.
    held_by: BTreeMap<&'static str, Time>,
}

impl WaitingPod {
    /// A pod that nobody holds yet.
    #[must_use]
    pub const fn new(pod: PodKey, node: String, gang: GangId) -> Self {
        Self {
            pod,
            node,
            gang,
            held_by: BTreeMap::new(),
        }
    }

    /// The plugins that hold it, and until when each does at most.
    pub fn held_by(&self) -> impl Iterator<Item = (&'static str, Time)> {
        self.held_by.iter().map(|(plugin, until)| (*plugin, *until))
    }

    /// Whether a plugin holds it.
    #[must_use]
    pub fn is_held_by(&self, plugin: &str) -> bool {
        self.held_by.contains_key(plugin)
    }
}

/// Why a pod that waited is not to be bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// The pod.
    pub pod: PodKey,
    /// The node it had.
    pub node: String,
    /// Who rejects it.
    pub plugin: &'static str,
    /// Why.
    pub reason: Reason,
}

/// All pods that wait at Permit.
///
/// What plugins say here is carried out by the scheduler, in this cycle or the next: a gang of which
/// nobody waits any more goes on, and one with a pod that was rejected loses its places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WaitingPods {
    pods: BTreeMap<PodId, WaitingPod>,
    by_gang: BTreeMap<GangId, BTreeSet<PodId>>,
    rejected: BTreeMap<GangId, Rejection>,
    /// Gangs about which something was said.
    moved: BTreeSet<GangId>,
}

impl WaitingPods {
    /// The pods that wait, those with the lowest id first.
    pub fn iter(&self) -> impl Iterator<Item = (PodId, &WaitingPod)> {
        self.pods.iter().map(|(id, pod)| (*id, pod))
    }

    /// A pod that waits.
    #[must_use]
    pub fn get(&self, pod: PodId) -> Option<&WaitingPod> {
        self.pods.get(&pod)
    }

    /// Whether nobody waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pods.is_empty()
    }

    /// A plugin holds this pod no more. It goes on when no other does.
    pub fn approve(&mut self, pod: PodId, plugin: &str) {
        let Some(waiting) = self.pods.get_mut(&pod) else {
            return;
        };
        if waiting.held_by.remove(plugin).is_none() || !waiting.held_by.is_empty() {
            return;
        }
        let gang = waiting.gang;
        self.pods.remove(&pod);
        if let Some(pods) = self.by_gang.get_mut(&gang) {
            pods.remove(&pod);
            if pods.is_empty() {
                self.by_gang.remove(&gang);
                self.moved.insert(gang);
            }
        }
    }

    /// A plugin does not let this pod be bound: its gang's decision is undone. Of several for one gang the
    /// first counts.
    pub fn reject(&mut self, pod: PodId, plugin: &'static str, reason: Reason) {
        let Some(waiting) = self.pods.get(&pod) else {
            return;
        };
        let rejection = Rejection {
            pod: waiting.pod.clone(),
            node: waiting.node.clone(),
            plugin,
            reason,
        };
        self.rejected.entry(waiting.gang).or_insert(rejection);
        self.moved.insert(waiting.gang);
    }

    /// A plugin holds a pod from now on.
    pub(crate) fn hold(
        &mut self,
        id: PodId,
        pod: impl FnOnce() -> WaitingPod,
        plugin: &'static str,
        until: Time,
    ) {
        let waiting = self.pods.entry(id).or_insert_with(pod);
        waiting.held_by.insert(plugin, until);
        let of_gang = self.by_gang.entry(waiting.gang).or_default();
        of_gang.insert(id);
    }

    /// Whether any pod of a gang waits.
    pub(crate) fn holds(&self, gang: GangId) -> bool {
        self.by_gang.contains_key(&gang)
    }

    /// The pods of a gang that wait.
    pub(crate) fn of_gang(&self, gang: GangId) -> impl Iterator<Item = &WaitingPod> {
        let pods = self.by_gang.get(&gang).into_iter().flatten();
        pods.filter_map(|id| self.pods.get(id))
    }

    /// The gangs of which some wait.
    pub(crate) fn gangs(&self) -> impl Iterator<Item = GangId> {
        self.by_gang.keys().copied()
    }

    /// Nobody of a gang waits any more, whatever anybody said; who was rejected, if somebody was.
    pub(crate) fn forget(&mut self, gang: GangId) -> Option<Rejection> {
        for pod in self.by_gang.remove(&gang).unwrap_or_default() {
            self.pods.remove(&pod);
        }
        self.moved.remove(&gang);
        self.rejected.remove(&gang)
    }

    /// Whether one of a gang was rejected.
    pub(crate) fn is_rejected(&self, gang: GangId) -> bool {
        self.rejected.contains_key(&gang)
    }

    /// Whether something was said about somebody.
    pub(crate) fn has_news(&self) -> bool {
        !self.moved.is_empty()
    }

    /// The gangs about which something was said since this was last asked.
    pub(crate) fn take_news(&mut self) -> BTreeSet<GangId> {
        std::mem::take(&mut self.moved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Id;

    fn waiting(pods: &[u32], gang: usize) -> WaitingPods {
        let mut waiting = WaitingPods::default();
        let gang = GangId::from_index(gang);
        for pod in pods {
            let key = PodKey {
                name: format!("p{pod}"),
                ..PodKey::default()
            };
            let id = PodId::from_index(*pod as usize);
            let make = || WaitingPod::new(key, "n".to_owned(), gang);
            waiting.hold(id, make, "Door", Time(5));
        }
        waiting
    }

    fn pod(index: usize) -> PodId {
        PodId::from_index(index)
    }

    #[test]
    fn a_gang_has_news_when_nobody_holds_any_of_it() {
        let gang = GangId::from_index(7);
        let mut waiting = waiting(&[1, 2], 7);
        waiting.approve(pod(1), "Other");
        waiting.approve(pod(1), "Door");
        assert!(!waiting.has_news() && waiting.holds(gang));
        waiting.approve(pod(2), "Door");
        assert_eq!(waiting.take_news(), BTreeSet::from([gang]));
        assert!(!waiting.holds(gang) && waiting.is_empty());
    }

    #[test]
    fn every_plugin_that_holds_a_pod_has_to_approve_it() {
        let mut waiting = waiting(&[1], 7);
        let unused = || unreachable!("it waits already");
        waiting.hold(pod(1), unused, "Gate", Time(9));
        waiting.approve(pod(1), "Door");
        assert!(!waiting.has_news());
        let until: Vec<_> = waiting.get(pod(1)).unwrap().held_by().collect();
        assert_eq!(until, [("Gate", Time(9))]);
        waiting.approve(pod(1), "Gate");
        assert!(waiting.has_news());
    }

    #[test]
    fn of_several_who_reject_a_gang_the_first_counts() {
        let gang = GangId::from_index(7);
        let mut waiting = waiting(&[1, 2], 7);
        for (index, words) in [(2, "first"), (1, "second")] {
            waiting.reject(pod(index), "Door", Reason::Other(words.to_owned()));
        }
        assert!(waiting.is_rejected(gang));
        let rejection = waiting.forget(gang).unwrap();
        assert_eq!(rejection.pod.name, "p2");
        assert_eq!(rejection.reason, Reason::Other("first".to_owned()));
        assert_eq!(waiting, WaitingPods::default());
    }
}
