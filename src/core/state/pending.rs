//! The members of a gang that could be placed, by what makes them equal.

use super::ids::{PodId, ShapeId};
use super::pods::Pod;
use muster_model::Rank;
use muster_model::units::Time;
use std::collections::{BTreeMap, BTreeSet};

/// What makes members equal to who places them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Class {
    /// Their shape.
    pub shape: ShapeId,
    /// The index of their subgroup.
    pub subgroup: usize,
    /// Whether nodes refused them lately. Such members are not equal: each avoids its own.
    pub avoids: bool,
}

/// A member's turn among its equals: by rank, those without one first; then by creation, then by id.
pub type Turn = (Option<Rank>, Time, PodId);

/// Equal members, in the order of their turns, take those among others by creation: who is first has that
/// of the one that was created first. So where all of them have their turn, a rank changes nothing but who
/// of equal ones is first.
pub fn take_turns<T>(equals: &mut [(Turn, T)]) {
    // Those without a rank are first: where the last has none, all are in order.
    if equals.last().is_none_or(|((rank, ..), _)| rank.is_none()) {
        return;
    }
    let created = |((_, created, id), _): &(Turn, T)| (*created, *id);
    let mut turns: Vec<(Time, PodId)> = equals.iter().map(created).collect();
    turns.sort_unstable();
    for (((_, created, id), _), turn) in equals.iter_mut().zip(turns) {
        (*created, *id) = turn;
    }
}

/// The members, each class in the order of their turns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pending {
    classes: BTreeMap<Class, BTreeSet<Turn>>,
    members: BTreeMap<PodId, (Class, Turn)>,
}

impl Pending {
    /// Adds a member, or counts it anew.
    pub(super) fn insert(&mut self, id: PodId, pod: &Pod) {
        self.remove(id);
        let Some(subgroup) = pod.subgroup else { return };
        let class = Class {
            shape: pod.shape,
            subgroup,
            avoids: !pod.avoid.is_empty(),
        };
        let turn = (pod.facts.rank, pod.created, id);
        self.members.insert(id, (class, turn));
        self.classes.entry(class).or_default().insert(turn);
    }

    /// Takes a member out, if it is in.
    pub(super) fn remove(&mut self, id: PodId) {
        let Some((class, turn)) = self.members.remove(&id) else {
            return;
        };
        if let Some(members) = self.classes.get_mut(&class) {
            members.remove(&turn);
            if members.is_empty() {
                self.classes.remove(&class);
            }
        }
    }

    /// The classes, and the members of each in the order of their turns.
    pub fn classes(&self) -> impl Iterator<Item = (Class, impl Iterator<Item = Turn> + '_)> {
        let classes = self.classes.iter();
        classes.map(|(class, members)| (*class, members.iter().copied()))
    }

    /// How many members each class has.
    pub fn counts(&self) -> impl Iterator<Item = (Class, u32)> + '_ {
        let count = |members: &BTreeSet<Turn>| u32::try_from(members.len()).unwrap_or(u32::MAX);
        let classes = self.classes.iter();
        classes.map(move |(class, members)| (*class, count(members)))
    }

    /// The first of each class; all of those who are not equal.
    pub fn different(&self) -> impl Iterator<Item = PodId> + '_ {
        self.classes.iter().flat_map(|(class, members)| {
            let most = if class.avoids { members.len() } else { 1 };
            members.iter().take(most).map(|(_, _, id)| *id)
        })
    }

    /// Of those who are first in their classes the one that was created first.
    #[must_use]
    pub fn first(&self) -> Option<PodId> {
        let firsts = self.classes.values().filter_map(BTreeSet::first);
        let created = firsts.map(|(_, created, id)| (*created, *id));
        created.min().map(|(_, id)| id)
    }

    /// Who is tried after so many others, where all are equal; the first where they are not.
    #[must_use]
    pub fn after(&self, others: u32) -> Option<PodId> {
        if self.only_class().is_none() {
            return self.first();
        }
        let (_, mut members) = self.classes().next()?;
        let turn = members.nth(others as usize);
        turn.map(|(_, _, id)| id).or_else(|| self.first())
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The class of all members, if they are all equal.
    #[must_use]
    pub fn only_class(&self) -> Option<Class> {
        let mut classes = self.classes.keys();
        let first = *classes.next()?;
        (classes.next().is_none() && !first.avoids).then_some(first)
    }
}
