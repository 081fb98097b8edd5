//! Queues as a tree: who is whose parent, and what is wrong with that.

use super::{Queue, Queues};
use crate::state::ids::QueueId;
use std::collections::BTreeSet;
use std::fmt;

/// A tree may be so deep: every walk up ends.
pub const MAX_DEPTH: usize = 16;

/// Why a queue has no place in the tree. It takes no gangs; what its gangs hold counts for the
/// cluster as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Misplaced {
    /// Its parent does not exist.
    NoParent(String),
    /// It is its own ancestor.
    Cycle,
    /// It is deeper than [`MAX_DEPTH`].
    TooDeep,
    /// One of its ancestors, this one, is misplaced.
    Under(String),
}

impl fmt::Display for Misplaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoParent(name) => write!(f, "its parent \"{name}\" does not exist"),
            Self::Cycle => f.write_str("it is its own ancestor"),
            Self::TooDeep => write!(f, "it is more than {MAX_DEPTH} levels deep"),
            Self::Under(name) => write!(f, "its ancestor \"{name}\" is misplaced"),
        }
    }
}

impl Queues {
    /// Finds everybody's place anew.
    pub(super) fn place_all(&mut self) {
        let ids: Vec<QueueId> = self.by_name.values().copied().collect();
        for id in &ids {
            let place = self.wanted_parent(*id);
            let queue = &mut self.queues[*id];
            queue.children.clear();
            (queue.parent, queue.misplaced) = match place {
                Ok(parent) => (parent, None),
                Err(problem) => (None, Some(problem)),
            };
        }
        let above: Vec<Option<Misplaced>> = ids.iter().map(|id| self.problem_above(*id)).collect();
        self.roots.clear();
        for (id, problem) in ids.iter().zip(above) {
            if let Some(problem) = problem {
                let queue = &mut self.queues[*id];
                queue.misplaced.get_or_insert(problem);
            }
        }
        for id in ids {
            let queue = &self.queues[id];
            if queue.misplaced.is_some() {
                self.queues[id].parent = None;
                continue;
            }
            match queue.parent {
                Some(parent) => _ = self.queues[parent].children.insert(id),
                None => _ = self.roots.insert(id),
            }
        }
    }

    fn wanted_parent(&self, id: QueueId) -> Result<Option<QueueId>, Misplaced> {
        let queue = &self.queues[id];
        let Some(name) = queue.spec.as_ref().and_then(|spec| spec.parent.as_ref()) else {
            return Ok(None);
        };
        let parent = self.by_name.get(name).copied();
        let declared = |id: &QueueId| self.queues[*id].spec.is_some();
        match parent.filter(declared) {
            Some(parent) => Ok(Some(parent)),
            None => Err(Misplaced::NoParent(name.clone())),
        }
    }

    /// What is wrong on the way up.
    fn problem_above(&self, id: QueueId) -> Option<Misplaced> {
        let mut at = id;
        for _ in 0..MAX_DEPTH {
            at = self.queues[at].parent?;
            if at == id {
                return Some(Misplaced::Cycle);
            }
            if self.queues[at].misplaced.is_some() {
                return Some(Misplaced::Under(self.queues[at].name.to_string()));
            }
        }
        // Too far up: round in a circle that it is not part of, or too deep.
        let mut seen = BTreeSet::from([id]);
        let mut at = id;
        while let Some(parent) = self.queues[at].parent {
            if !seen.insert(parent) {
                let name = self.queues[parent].name.to_string();
                let own = parent == id;
                return Some(if own {
                    Misplaced::Cycle
                } else {
                    Misplaced::Under(name)
                });
            }
            at = parent;
        }
        Some(Misplaced::TooDeep)
    }

    /// A queue and its ancestors, upwards.
    pub fn path(&self, id: QueueId) -> impl Iterator<Item = (QueueId, &Queue)> {
        let mut next = Some(id);
        std::iter::from_fn(move || {
            let id = next?;
            let queue = self.queues.get(id)?;
            next = queue.parent;
            Some((id, queue))
        })
    }

    /// The queues that a queue has right below it; of none, those right below the cluster.
    #[must_use]
    pub fn children(&self, of: Option<QueueId>) -> &BTreeSet<QueueId> {
        match of {
            Some(id) => &self.queues[id].children,
            None => &self.roots,
        }
    }

    /// All queues that have a place, each after its parent.
    pub(super) fn downwards(&self) -> Vec<QueueId> {
        let mut all: Vec<QueueId> = self.roots.iter().copied().collect();
        let mut index = 0;
        while let Some(id) = all.get(index) {
            all.extend(&self.queues[*id].children);
            index += 1;
        }
        all
    }
}
