//! For how many writes there is room: in all, and in each namespace, so that what hangs for one of them holds up no other.

use crate::Write;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

/// Room for writes.
pub trait Room {
    /// Whether there is none at all.
    fn is_full(&self) -> bool;

    /// Whether there is room for another one in this namespace; its name is empty for objects without one.
    fn has(&self, namespace: &str) -> bool;

    /// One is taken.
    fn take(&mut self, namespace: &str);
}

/// Room for so many, wherever they are.
#[derive(Clone, Copy, Debug)]
pub struct UpTo(pub usize);

impl Room for UpTo {
    fn is_full(&self) -> bool {
        self.0 == 0
    }

    fn has(&self, _: &str) -> bool {
        self.0 > 0
    }

    fn take(&mut self, _: &str) {
        self.0 = self.0.saturating_sub(1);
    }
}

/// The writes that are due, as far as there is room.
pub(crate) struct Due<'a> {
    room: &'a mut dyn Room,
    writes: Vec<Write>,
}

impl<'a> Due<'a> {
    pub(crate) fn new(room: &'a mut dyn Room) -> Self {
        Self {
            room,
            writes: Vec::new(),
        }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.room.is_full()
    }

    pub(crate) fn has_room(&self, namespace: &str) -> bool {
        self.room.has(namespace)
    }

    pub(crate) fn room(&self) -> &dyn Room {
        self.room
    }

    /// Adds one, if there is one, for which there has to be room.
    pub(crate) fn add(&mut self, write: Option<Write>) {
        if let Some(write) = write {
            self.room.take(&write.on.namespace);
            self.writes.push(write);
        }
    }

    pub(crate) fn writes(self) -> Vec<Write> {
        self.writes
    }
}

/// What is to be looked at, by namespace: these have their turns.
#[derive(Debug)]
pub(crate) struct InTurn<T> {
    by_namespace: BTreeMap<String, BTreeSet<T>>,
    /// Whose turn it was last.
    last: String,
}

impl<T> Default for InTurn<T> {
    fn default() -> Self {
        Self {
            by_namespace: BTreeMap::new(),
            last: String::new(),
        }
    }
}

impl<T: Ord> InTurn<T> {
    pub(crate) fn mark(&mut self, namespace: &str, what: T) {
        match self.by_namespace.get_mut(namespace) {
            Some(marked) => _ = marked.insert(what),
            None => {
                let marked = BTreeSet::from([what]);
                self.by_namespace.insert(namespace.to_owned(), marked);
            }
        }
    }

    /// Takes the first of the namespace whose turn it is, of those in which there is room.
    pub(crate) fn next(&mut self, room: &dyn Room) -> Option<T> {
        let after = format!("{}\0", self.last);
        let (after, before) = (
            self.by_namespace.range(after.clone()..),
            self.by_namespace.range(..after),
        );
        let mut in_turn = after.chain(before).map(|(namespace, _)| namespace);
        let namespace = in_turn.find(|one| room.has(one))?.clone();
        let marked = self.by_namespace.get_mut(&namespace)?;
        let first = marked.pop_first();
        if marked.is_empty() {
            self.by_namespace.remove(&namespace);
        }
        self.last = namespace;
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// None in this namespace.
    struct NotIn(&'static str);

    impl Room for NotIn {
        fn is_full(&self) -> bool {
            false
        }

        fn has(&self, namespace: &str) -> bool {
            namespace != self.0
        }

        fn take(&mut self, _: &str) {}
    }

    #[test]
    fn namespaces_have_their_turns_and_one_without_room_is_passed_over() {
        let mut marked = InTurn::default();
        for (namespace, what) in [("a", 1), ("a", 2), ("a", 3), ("b", 4), ("c", 5), ("c", 6)] {
            marked.mark(namespace, what);
        }
        let all = UpTo(9);
        assert_eq!(marked.next(&all), Some(1));
        assert_eq!(marked.next(&all), Some(4));
        assert_eq!(marked.next(&NotIn("c")), Some(2));
        assert_eq!(marked.next(&all), Some(5));
        marked.mark("b", 7);
        let rest = std::iter::from_fn(|| marked.next(&NotIn("a")));
        assert_eq!(rest.collect::<Vec<_>>(), [7, 6]);
        assert_eq!(marked.next(&UpTo(0)), None);
        assert_eq!(marked.next(&all), Some(3));
        assert!(marked.by_namespace.is_empty());
    }
}
