//! Equal values kept once, by an id, for as long as something uses them.

use super::ids::{Id, Slab};
use indexmap::IndexMap;
use std::hash::Hash;

/// A value in use.
#[derive(Clone, Debug)]
struct Kept<T> {
    value: T,
    users: u32,
    serial: u64,
}

/// Equal values by one id, kept while something uses them.
#[derive(Clone, Debug)]
pub(super) struct Interner<I, T> {
    by_value: IndexMap<T, I>,
    values: Slab<I, Kept<T>>,
    /// How many values there ever were.
    made: u64,
}

impl<I, T> Default for Interner<I, T> {
    fn default() -> Self {
        Self {
            by_value: IndexMap::new(),
            values: Slab::default(),
            made: 0,
        }
    }
}

impl<I: Id, T: Clone + Eq + Hash> Interner<I, T> {
    /// The id of a value, with one more user; and whether it is new.
    pub(super) fn acquire(&mut self, value: &T) -> (I, bool) {
        if let Some(id) = self.by_value.get(value).copied() {
            if let Some(kept) = self.values.get_mut(id) {
                kept.users += 1;
            }
            return (id, false);
        }
        self.made += 1;
        let id = self.values.insert(Kept {
            value: value.clone(),
            users: 1,
            serial: self.made,
        });
        self.by_value.insert(value.clone(), id);
        (id, true)
    }

    /// One user less; the value, if that was the last.
    pub(super) fn release(&mut self, id: I) -> Option<T> {
        let kept = self.values.get_mut(id)?;
        kept.users -= 1;
        if kept.users > 0 {
            return None;
        }
        let value = self.values.remove(id)?.value;
        self.by_value.swap_remove(&value);
        Some(value)
    }

    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    pub(super) fn get(&self, id: I) -> Option<&T> {
        self.values.get(id).map(|kept| &kept.value)
    }

    /// A number that no other value has or will have: ids are given out again.
    pub(super) fn serial(&self, id: I) -> Option<u64> {
        self.values.get(id).map(|kept| kept.serial)
    }
}
