//! The members of a gang that could be placed, by what makes them equal.

use super::ids::{PodId, ShapeId};
use super::pods::Pod;
use crate::core::units::Time;
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

/// A member's place in the order of creation.
type Place = (Time, PodId);

/// The members, each class by creation, then id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pending {
    classes: BTreeMap<Class, BTreeSet<Place>>,
    members: BTreeMap<PodId, (Class, Time)>,
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
        self.members.insert(id, (class, pod.created));
        let members = self.classes.entry(class).or_default();
        members.insert((pod.created, id));
    }

    /// Takes a member out, if it is in.
    pub(super) fn remove(&mut self, id: PodId) {
        let Some((class, created)) = self.members.remove(&id) else {
            return;
        };
        if let Some(members) = self.classes.get_mut(&class) {
            members.remove(&(created, id));
            if members.is_empty() {
                self.classes.remove(&class);
            }
        }
    }

    /// The classes, and the members of each by creation, then id.
    pub fn classes(
        &self,
    ) -> impl Iterator<Item = (Class, impl Iterator<Item = (Time, PodId)> + '_)> {
        let classes = self.classes.iter();
        classes.map(|(class, members)| (*class, members.iter().copied()))
    }

    /// The first of each class; all of those who are not equal.
    pub fn different(&self) -> impl Iterator<Item = PodId> + '_ {
        self.classes.iter().flat_map(|(class, members)| {
            let most = if class.avoids { members.len() } else { 1 };
            members.iter().take(most).map(|(_, id)| *id)
        })
    }

    /// Who was created first.
    #[must_use]
    pub fn first(&self) -> Option<PodId> {
        let firsts = self.classes.values().filter_map(BTreeSet::first);
        firsts.min().map(|(_, id)| *id)
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
