//! Equal values kept once, by an id, for as long as something uses them.

use super::ids::{Id, Slab};
use super::log::Log;
use indexmap::IndexMap;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hash;

/// Which serial numbers nothing has any more.
#[derive(Debug)]
pub enum Gone<'a> {
    /// These.
    These(&'a [u64]),
    /// All but these: more went than is remembered one by one.
    AllBut(BTreeSet<u64>),
}

impl Gone<'_> {
    /// Forgets what is kept by them.
    pub fn forget<V>(&self, kept: &mut BTreeMap<u64, V>) {
        match self {
            Self::These(gone) => gone.iter().for_each(|serial| _ = kept.remove(serial)),
            Self::AllBut(there) => kept.retain(|serial, _| there.contains(serial)),
        }
    }
}

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
    /// The serial numbers of those that nothing uses any more.
    gone: Log<u64>,
}

impl<I, T> Default for Interner<I, T> {
    fn default() -> Self {
        Self {
            by_value: IndexMap::new(),
            values: Slab::default(),
            made: 0,
            gone: Log::default(),
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
        let Kept { value, serial, .. } = self.values.remove(id)?;
        self.by_value.swap_remove(&value);
        self.gone.note(serial);
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

    /// The serial numbers that went since somebody asked last, whose cursor this is.
    pub(super) fn gone_since(&self, cursor: &mut u64) -> Gone<'_> {
        let since = std::mem::replace(cursor, self.gone.end());
        match self.gone.since(since) {
            Some(gone) => Gone::These(gone),
            None => Gone::AllBut(self.values.iter().map(|(_, kept)| kept.serial).collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ids::ShapeId;
    use super::*;

    #[test]
    fn who_keeps_something_by_serial_numbers_hears_which_are_gone() {
        let mut interner: Interner<ShapeId, u32> = Interner::default();
        let mut kept: BTreeMap<u64, u32> = BTreeMap::new();
        let mut cursor = 0;
        let stays = interner.acquire(&0).0;
        kept.extend(interner.serial(stays).map(|serial| (serial, 0)));
        // Few at a time, and more than the log has.
        for (round, many) in [(0, 3), (1, 300_000)] {
            for value in 1..=many {
                let (id, _) = interner.acquire(&value);
                kept.extend(interner.serial(id).map(|serial| (serial, value)));
                interner.release(id);
            }
            interner.gone_since(&mut cursor).forget(&mut kept);
            assert_eq!(kept.values().collect::<Vec<_>>(), [&0], "round {round}");
        }
    }
}
