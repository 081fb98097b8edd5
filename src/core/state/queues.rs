//! Queues, those that exist and those that are only named.

use super::ids::{GangId, QueueId, Slab};
use crate::core::model::{DEFAULT_QUEUE, QueueSpec};
use std::collections::{BTreeMap, BTreeSet};

/// A queue. One that a gang names and nobody declared has no `spec`.
#[derive(Clone, Debug, Default)]
pub struct Queue {
    /// Its name.
    pub name: String,
    /// What it was declared as. `default` has one even when nobody declared it.
    pub spec: Option<QueueSpec>,
    /// The gangs that name it.
    pub gangs: BTreeSet<GangId>,
}

/// All queues.
#[derive(Clone, Debug)]
pub struct Queues {
    by_name: BTreeMap<String, QueueId>,
    queues: Slab<QueueId, Queue>,
}

impl Default for Queues {
    fn default() -> Self {
        let mut queues = Self {
            by_name: BTreeMap::new(),
            queues: Slab::default(),
        };
        queues.upsert(QueueSpec::default());
        queues
    }
}

impl Queues {
    /// Declares a queue, or declares it anew; says which, if that changes anything.
    pub fn upsert(&mut self, spec: QueueSpec) -> Option<QueueId> {
        let id = self.slot(&spec.name);
        let queue = self.queues.get_mut(id)?;
        if queue.spec.as_ref() == Some(&spec) {
            return None;
        }
        queue.spec = Some(spec);
        Some(id)
    }

    /// Takes a declaration back. `default` falls back to what it is by itself.
    pub fn remove(&mut self, name: &str) -> Option<QueueId> {
        let id = self.by_name.get(name).copied()?;
        let queue = self.queues.get_mut(id)?;
        queue.spec = (name == DEFAULT_QUEUE).then(QueueSpec::default);
        self.forget_if_unused(id);
        Some(id)
    }

    /// Notes that a gang names a queue.
    pub fn join(&mut self, name: &str, gang: GangId) -> QueueId {
        let id = self.slot(name);
        if let Some(queue) = self.queues.get_mut(id) {
            queue.gangs.insert(gang);
        }
        id
    }

    /// Notes that a gang does not name the queue any more.
    pub fn leave(&mut self, id: QueueId, gang: GangId) {
        if let Some(queue) = self.queues.get_mut(id) {
            queue.gangs.remove(&gang);
        }
        self.forget_if_unused(id);
    }

    /// The queue of an id.
    #[must_use]
    pub fn get(&self, id: QueueId) -> Option<&Queue> {
        self.queues.get(id)
    }

    /// All queues by name.
    pub fn iter(&self) -> impl Iterator<Item = (QueueId, &Queue)> {
        self.by_name
            .values()
            .filter_map(|id| self.queues.get(*id).map(|queue| (*id, queue)))
    }

    fn slot(&mut self, name: &str) -> QueueId {
        if let Some(id) = self.by_name.get(name) {
            return *id;
        }
        let id = self.queues.insert(Queue {
            name: name.to_owned(),
            ..Queue::default()
        });
        self.by_name.insert(name.to_owned(), id);
        id
    }

    fn forget_if_unused(&mut self, id: QueueId) {
        let unused = |queue: &Queue| queue.spec.is_none() && queue.gangs.is_empty();
        if self.queues.get(id).is_some_and(unused)
            && let Some(queue) = self.queues.remove(id)
        {
            self.by_name.remove(&queue.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::state::ids::Id;

    #[test]
    fn the_default_queue_exists_by_itself_and_survives_deletion() {
        let mut queues = Queues::default();
        let declared = |queues: &Queues| queues.iter().any(|(_, queue)| queue.spec.is_some());
        assert!(declared(&queues));
        queues.remove(DEFAULT_QUEUE);
        assert!(declared(&queues));
    }

    #[test]
    fn a_queue_that_is_only_named_is_forgotten_with_its_last_gang() {
        let mut queues = Queues::default();
        let id = queues.join("later", GangId::from_index(0));
        assert!(queues.get(id).is_some_and(|queue| queue.spec.is_none()));
        queues.leave(id, GangId::from_index(0));
        assert!(queues.get(id).is_none());
    }
}
