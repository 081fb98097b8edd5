//! How many gangs of which queue are in which phase.

use super::words;
use crate::state::{ClusterState, GangId, QueueId};
use muster_model::{GangPhase, PHASES, QueueSpec, QueueStatus};
use std::collections::{BTreeMap, BTreeSet};

/// The counts, gang by gang.
#[derive(Debug, Default)]
pub(super) struct Census {
    phases: BTreeMap<GangId, (QueueId, GangPhase)>,
    queues: BTreeMap<QueueId, [u32; PHASES]>,
    changed: BTreeSet<QueueId>,
}

impl Census {
    /// Counts a gang where it is now.
    pub(super) fn note(&mut self, gang: GangId, queue: QueueId, phase: GangPhase) {
        let old = self.phases.insert(gang, (queue, phase));
        if old != Some((queue, phase)) {
            self.count(old, Some((queue, phase)));
        }
    }

    /// Forgets a gang that is gone.
    pub(super) fn forget(&mut self, gang: GangId) {
        let old = self.phases.remove(&gang);
        self.count(old, None);
    }

    /// Has a queue's counts said again: it was declared, or declared anew.
    pub(super) fn note_queue(&mut self, queue: QueueId) {
        self.changed.insert(queue);
    }

    /// How many gangs are in each phase, over all queues.
    pub(super) fn phases(&self) -> [u32; PHASES] {
        let mut sum = [0; PHASES];
        for counts in self.queues.values() {
            for (sum, count) in sum.iter_mut().zip(counts) {
                *sum += count;
            }
        }
        sum
    }

    fn count(&mut self, old: Option<(QueueId, GangPhase)>, new: Option<(QueueId, GangPhase)>) {
        if let Some((queue, phase)) = old {
            let count = &mut self.queues.entry(queue).or_default()[phase as usize];
            *count = count.saturating_sub(1);
            self.changed.insert(queue);
        }
        if let Some((queue, phase)) = new {
            self.queues.entry(queue).or_default()[phase as usize] += 1;
            self.changed.insert(queue);
        }
    }

    /// The statuses of the queues whose counts changed, of those that somebody declared.
    pub(super) fn take_news(&mut self, state: &ClusterState) -> Vec<QueueStatus> {
        let mut news = Vec::new();
        for id in std::mem::take(&mut self.changed) {
            let Some(queue) = state.queues().get(id) else {
                self.queues.remove(&id);
                continue;
            };
            if let Some(spec) = queue.spec.as_ref().filter(|spec| is_told(spec)) {
                let gangs = self.queues.get(&id).copied().unwrap_or_default();
                news.push(words::queue_status(state, queue, spec, gangs));
            }
        }
        news
    }
}

/// Whether something is written on a queue: it is an object, and ours.
const fn is_told(queue: &QueueSpec) -> bool {
    queue.origin.is_ours() && !queue.uid.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Id;
    use muster_model::units::Time;
    use muster_model::{Event, QueueSpec};

    /// A queue `q` is declared.
    fn state() -> ClusterState {
        let mut state = ClusterState::default();
        let spec = QueueSpec {
            name: "q".into(),
            uid: "1".into(),
            ..QueueSpec::default()
        };
        state.apply(Time::ZERO, Event::is(spec));
        state
    }

    #[test]
    fn gangs_are_counted_once_in_the_phase_and_queue_they_are_in() {
        let state = state();
        let queue = state
            .queues()
            .iter()
            .find(|(_, queue)| &*queue.name == "q")
            .unwrap()
            .0;
        let (mut census, gang) = (Census::default(), GangId::from_index(0));
        census.note(gang, queue, GangPhase::Pending);
        census.note(gang, queue, GangPhase::Running);
        let news = census.take_news(&state);
        assert_eq!(news[0].gangs[GangPhase::Running as usize], 1);
        assert_eq!(news[0].gangs.iter().sum::<u32>(), 1);
        assert_eq!(census.phases(), news[0].gangs);
        census.note(gang, queue, GangPhase::Running);
        assert_eq!(census.take_news(&state), []);
        census.forget(gang);
        assert_eq!(census.take_news(&state)[0].gangs, [0; PHASES]);
        assert_eq!(census.phases(), [0; PHASES]);
    }

    #[test]
    fn a_queue_that_is_declared_says_its_counts_even_if_they_are_zero() {
        let mut state = state();
        let mut census = Census::default();
        for queue in state.take_changes().queues {
            census.note_queue(queue);
        }
        assert_eq!(census.take_news(&state)[0].gangs, [0; PHASES]);
    }
}
