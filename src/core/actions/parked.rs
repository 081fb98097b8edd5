//! Gangs that were tried in vain, in order, and by what they want.

use crate::core::state::{GangId, OrderKey, ShapeId};
use std::collections::{BTreeMap, BTreeSet};

/// What a gang wants whose members are all equal and may go anywhere. Where one does not fit, no
/// other of its kind does; and who goes first among them is a matter of order alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kind {
    /// The shape of its members.
    pub shape: ShapeId,
    /// How many of them it wants at once.
    pub size: u32,
}

/// Those tried in vain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Parked {
    all: BTreeSet<OrderKey>,
    alike: BTreeMap<Kind, BTreeSet<OrderKey>>,
    kinds: BTreeMap<GangId, Kind>,
    /// Those of no kind.
    others: BTreeSet<OrderKey>,
}

impl Parked {
    pub(super) fn insert(&mut self, key: OrderKey, kind: Option<Kind>) {
        self.all.insert(key);
        match kind {
            Some(kind) => {
                self.kinds.insert(key.gang, kind);
                self.alike.entry(kind).or_default().insert(key);
            }
            None => _ = self.others.insert(key),
        }
    }

    pub(super) fn remove(&mut self, key: &OrderKey) {
        self.all.remove(key);
        self.others.remove(key);
        let Some(kind) = self.kinds.remove(&key.gang) else {
            return;
        };
        if let Some(alike) = self.alike.get_mut(&kind) {
            alike.remove(key);
            if alike.is_empty() {
                self.alike.remove(&kind);
            }
        }
    }

    /// All, in order.
    pub(super) const fn all(&self) -> &BTreeSet<OrderKey> {
        &self.all
    }

    /// Those of no kind, in order.
    pub(super) const fn others(&self) -> &BTreeSet<OrderKey> {
        &self.others
    }

    /// Whether each is of one kind or of none.
    pub(super) fn is_consistent(&self) -> bool {
        let of_a_kind = |key: &OrderKey| {
            let kind = self.kinds.get(&key.gang);
            let alike = kind.and_then(|kind| self.alike.get(kind));
            alike.is_some_and(|alike| alike.contains(key))
        };
        let in_kinds: usize = self.alike.values().map(BTreeSet::len).sum();
        self.all.len() == in_kinds + self.others.len()
            && self.kinds.len() == in_kinds
            && self
                .all
                .iter()
                .all(|key| of_a_kind(key) != self.others.contains(key))
    }

    /// The first of each kind.
    pub(super) fn heads(&self) -> impl Iterator<Item = (Kind, GangId)> {
        let heads = self.alike.iter();
        heads.filter_map(|(kind, alike)| Some((*kind, alike.first()?.gang)))
    }

    /// The first of a kind.
    pub(super) fn head(&self, kind: Kind) -> Option<GangId> {
        Some(self.alike.get(&kind)?.first()?.gang)
    }
}
