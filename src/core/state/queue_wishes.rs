//! Queues that gangs name in the words of another scheduler: one counts as long as it is declared, and else the gang is
//! where it would be without that word. So who names one is remembered, for when it is declared or goes.

use super::ids::GangId;
use std::collections::{BTreeMap, BTreeSet};

/// Who names which.
#[derive(Clone, Debug, Default)]
pub(super) struct QueueWishes {
    of: BTreeMap<GangId, String>,
    by_name: BTreeMap<String, BTreeSet<GangId>>,
}

impl QueueWishes {
    /// A gang names this one from now on, or none.
    pub(super) fn note(&mut self, id: GangId, name: Option<&str>) {
        if self.of.get(&id).map(String::as_str) == name {
            return;
        }
        if let Some(before) = self.of.remove(&id)
            && let Some(gangs) = self.by_name.get_mut(&before)
        {
            gangs.remove(&id);
            if gangs.is_empty() {
                self.by_name.remove(&before);
            }
        }
        if let Some(name) = name {
            self.of.insert(id, name.to_owned());
            self.by_name.entry(name.to_owned()).or_default().insert(id);
        }
    }

    /// The queue that a gang names.
    pub(super) fn of(&self, id: GangId) -> Option<&str> {
        self.of.get(&id).map(String::as_str)
    }

    /// The gangs that name it.
    pub(super) fn for_queue(&self, name: &str) -> impl Iterator<Item = GangId> + '_ {
        self.by_name.get(name).into_iter().flatten().copied()
    }

    /// Whether nobody names any.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.of.is_empty() && self.by_name.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use crate::state::ClusterState;
    use muster_model::testing::pod;
    use muster_model::units::Time;
    use muster_model::{Event, ObjectKey, PodSpec};

    #[test]
    fn a_gang_that_is_gone_names_none() {
        let mut state = ClusterState::default();
        let naming = |queue: Option<&str>| PodSpec {
            queue_if_declared: queue.map(str::to_owned),
            ..pod("p", None, 1)
        };
        let key = naming(None).key;
        let say = |state: &mut ClusterState, queue| {
            state.apply(Time::ZERO, Event::is(naming(queue)));
            let pod = state.find_pod(&key).and_then(|id| state.pod(id));
            let gang = pod.and_then(|pod| pod.gang).unwrap();
            state.resolve(gang);
            ["team", "other"].map(|name| state.queue_wishes.for_queue(name).count())
        };
        assert_eq!(say(&mut state, Some("team")), [1, 0]);
        assert_eq!(say(&mut state, Some("other")), [0, 1]);
        assert_eq!(say(&mut state, None), [0, 0]);
        assert_eq!(say(&mut state, Some("team")), [1, 0]);
        state.apply(Time::ZERO, Event::Gone(ObjectKey::Pod(key)));
        state.settle();
        assert!(state.queue_wishes.is_empty());
    }
}
