//! Queues of Volcano's: one counts as a queue where there is none of ours of its name.

use muster_model::{Event, Object, ObjectKey, QueueSpec, VolcanoQueueSpec};
use std::collections::{BTreeMap, BTreeSet};

/// The queues of both kinds.
#[derive(Clone, Debug, Default)]
pub(super) struct ImpliedQueues {
    /// Those of ours, by name.
    ours: BTreeSet<String>,
    /// Those of Volcano's that count where there is none of ours.
    volcanos: BTreeMap<String, QueueSpec>,
}

impl ImpliedQueues {
    /// What the news means besides.
    pub(super) fn hear(&mut self, event: &Event) -> Option<Event> {
        match event {
            Event::Is(Object::Queue(queue)) => {
                self.ours.insert(queue.name.clone());
                None
            }
            Event::Gone(ObjectKey::Queue(name)) => {
                self.ours.remove(name);
                self.volcanos.get(name).cloned().map(Event::is)
            }
            Event::Is(Object::VolcanoQueue(said)) => {
                let VolcanoQueueSpec { queue, counts } = &**said;
                if !counts {
                    return self.forget(&queue.name);
                }
                self.volcanos.insert(queue.name.clone(), queue.clone());
                let is_hidden = self.ours.contains(&queue.name);
                (!is_hidden).then(|| Event::is(queue.clone()))
            }
            Event::Gone(ObjectKey::VolcanoQueue(name)) => self.forget(name),
            _ => None,
        }
    }

    /// A queue of Volcano's does not count any more.
    fn forget(&mut self, name: &str) -> Option<Event> {
        self.volcanos.remove(name)?;
        let is_hidden = self.ours.contains(name);
        (!is_hidden).then(|| Event::Gone(ObjectKey::Queue(name.to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_model::Origin;

    fn queue(origin: Origin, weight: u32) -> QueueSpec {
        QueueSpec {
            name: "q".into(),
            origin,
            weight,
            ..QueueSpec::default()
        }
    }

    fn volcanos(weight: u32, counts: bool) -> Event {
        let queue = queue(Origin::Volcano, weight);
        Event::is(VolcanoQueueSpec { queue, counts })
    }

    /// The weight of the queue that there is thereby, or that it is gone.
    fn told(queues: &mut ImpliedQueues, event: &Event) -> Option<Option<u32>> {
        Some(match queues.hear(event)? {
            Event::Is(Object::Queue(queue)) => Some(queue.weight),
            Event::Gone(ObjectKey::Queue(name)) if name == "q" => None,
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn a_queue_of_volcanos_counts_while_there_is_none_of_ours() {
        let mut queues = ImpliedQueues::default();
        let ours = Event::is(queue(Origin::Muster, 1));
        let ours_gone = Event::Gone(ObjectKey::Queue("q".into()));
        let gone = Event::Gone(ObjectKey::VolcanoQueue("q".into()));
        for (event, wanted) in [
            (&gone, None),
            (&volcanos(2, true), Some(Some(2))),
            (&ours, None),
            (&volcanos(3, true), None),
            (&ours_gone, Some(Some(3))),
            (&gone, Some(None)),
            (&ours, None),
            (&volcanos(4, true), None),
            (&gone, None),
            (&ours_gone, None),
        ] {
            assert_eq!(told(&mut queues, event), wanted, "{event:?}");
        }
        assert!(queues.ours.is_empty() && queues.volcanos.is_empty());
    }

    #[test]
    fn one_that_is_volcanos_own_does_not_count() {
        let mut queues = ImpliedQueues::default();
        assert_eq!(told(&mut queues, &volcanos(2, false)), None);
        assert_eq!(told(&mut queues, &volcanos(2, true)), Some(Some(2)));
        assert_eq!(told(&mut queues, &volcanos(2, false)), Some(None));
        assert!(queues.volcanos.is_empty());
    }
}
