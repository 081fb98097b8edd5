//! What happened to objects, for watches: each change under a version of its own, the oldest forgotten.

use crate::failure::Failure;
use crate::resources::Id;
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::Arc;

/// So many changes are kept; a watch that is further behind begins anew.
const KEPT: usize = 20_000;

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Added,
    Modified,
    Deleted,
}

/// A change.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) version: u64,
    pub(crate) kind: Kind,
    pub(crate) id: Id,
    pub(crate) object: Arc<Value>,
    /// As it was before, if it was there.
    pub(crate) before: Option<Arc<Value>>,
}

/// The changes.
#[derive(Debug, Default)]
pub(crate) struct Log {
    version: u64,
    changes: VecDeque<Change>,
}

impl Log {
    /// The version of the last change.
    pub(crate) const fn version(&self) -> u64 {
        self.version
    }

    /// That of the next one.
    pub(crate) const fn next_version(&self) -> u64 {
        self.version + 1
    }

    /// One more change, under the next version.
    pub(crate) fn push(
        &mut self,
        kind: Kind,
        id: &Id,
        object: Arc<Value>,
        before: Option<Arc<Value>>,
    ) {
        self.version += 1;
        self.changes.push_back(Change {
            version: self.version,
            kind,
            id: id.clone(),
            object,
            before,
        });
        if self.changes.len() > KEPT {
            self.changes.pop_front();
        }
    }

    /// The changes after a version.
    ///
    /// # Errors
    /// Some of them are forgotten.
    pub(crate) fn since(&self, version: u64) -> Result<impl Iterator<Item = &Change>, Failure> {
        let oldest = self
            .changes
            .front()
            .map_or(self.version, |one| one.version - 1);
        if version < oldest {
            return Err(Failure::expired(version, oldest));
        }
        let skipped = usize::try_from(version - oldest).unwrap_or(usize::MAX);
        Ok(self.changes.iter().skip(skipped))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watch_gets_what_came_after_its_version_or_is_told_that_it_is_too_late() {
        let mut log = Log::default();
        let id = Id {
            resource: 0,
            namespace: String::new(),
            name: "a".to_owned(),
        };
        assert_eq!(log.since(0).unwrap().count(), 0);
        for _ in 0..KEPT + 5 {
            log.push(Kind::Modified, &id, Arc::new(Value::Null), None);
        }
        let last = log.version();
        let versions = |since: u64| {
            let found = log.since(since).unwrap();
            Vec::from_iter(found.map(|one| one.version))
        };
        assert_eq!(versions(last - 2), [last - 1, last]);
        assert_eq!(versions(last), [0_u64; 0]);
        assert_eq!(versions(5).len(), KEPT);
        assert_eq!(log.since(4).map(Iterator::count).unwrap_err().code, 410);
        // One from another life of the playground.
        assert_eq!(versions(last + 10), [0_u64; 0]);
    }
}
