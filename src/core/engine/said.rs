//! What was said last, so that only news is said again; and the counts of each queue.

use super::plan::{GangPhase, GangStatus, PHASES, QueueStatus};
use crate::core::state::{ClusterState, GangId, QueueId};
use std::collections::{BTreeMap, BTreeSet};

/// The last word on every gang and queue.
#[derive(Debug, Default)]
pub(super) struct Said {
    statuses: BTreeMap<GangId, GangStatus>,
    phases: BTreeMap<GangId, (QueueId, GangPhase)>,
    queues: BTreeMap<QueueId, [u32; PHASES]>,
    changed: BTreeSet<QueueId>,
}

impl Said {
    /// The status last given out for a gang.
    pub(super) fn status(&self, gang: GangId) -> Option<&GangStatus> {
        self.statuses.get(&gang)
    }

    /// Notes a status; says whether it is news.
    pub(super) fn note_status(&mut self, gang: GangId, status: &GangStatus) -> bool {
        let news = self.statuses.get(&gang) != Some(status);
        if news {
            self.statuses.insert(gang, status.clone());
        }
        news
    }

    /// Counts a gang where it is now.
    pub(super) fn note_phase(&mut self, gang: GangId, queue: QueueId, phase: GangPhase) {
        let old = self.phases.insert(gang, (queue, phase));
        if old != Some((queue, phase)) {
            self.count(old, Some((queue, phase)));
        }
    }

    /// Forgets a gang that is gone.
    pub(super) fn forget(&mut self, gang: GangId) {
        self.statuses.remove(&gang);
        let old = self.phases.remove(&gang);
        self.count(old, None);
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
    pub(super) fn take_queue_news(&mut self, state: &ClusterState) -> Vec<QueueStatus> {
        let mut news = Vec::new();
        for id in std::mem::take(&mut self.changed) {
            let Some(queue) = state.queues().get(id) else {
                self.queues.remove(&id);
                continue;
            };
            if let Some(spec) = queue.spec.as_ref().filter(|spec| !spec.uid.is_empty()) {
                let gangs = self.queues.get(&id).copied().unwrap_or_default();
                let (queue, uid) = (spec.name.clone(), spec.uid.clone());
                news.push(QueueStatus { queue, uid, gangs });
            }
        }
        news
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::model::{Event, QueueSpec};
    use crate::core::state::Id;

    #[test]
    fn gangs_are_counted_once_in_the_phase_and_queue_they_are_in() {
        let mut state = ClusterState::default();
        let spec = QueueSpec {
            name: "q".into(),
            uid: "1".into(),
            ..QueueSpec::default()
        };
        state.apply(Event::Queue(spec));
        let queue = state
            .queues()
            .iter()
            .find(|(_, queue)| queue.name == "q")
            .unwrap()
            .0;
        let (mut said, gang) = (Said::default(), GangId::from_index(0));
        said.note_phase(gang, queue, GangPhase::Pending);
        said.note_phase(gang, queue, GangPhase::Running);
        let news = said.take_queue_news(&state);
        assert_eq!(news[0].gangs[GangPhase::Running as usize], 1);
        assert_eq!(news[0].gangs.iter().sum::<u32>(), 1);
        assert_eq!(said.phases(), news[0].gangs);
        said.note_phase(gang, queue, GangPhase::Running);
        assert_eq!(said.take_queue_news(&state), []);
        said.forget(gang);
        assert_eq!(said.take_queue_news(&state)[0].gangs, [0; PHASES]);
        assert_eq!(said.phases(), [0; PHASES]);
    }
}
