//! The members of a gang that could be placed.

use super::ids::{PodId, ShapeId};
use super::pods::Pod;
use crate::core::units::Time;
use std::collections::BTreeMap;

/// What a member was when it was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counted {
    shape: ShapeId,
    /// Whether nodes refused it lately.
    avoids: bool,
}

/// The members by creation, then id; and whether they are all alike, known without looking at each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pending {
    members: BTreeMap<(Time, PodId), Counted>,
    shapes: BTreeMap<ShapeId, u32>,
    avoiding: u32,
}

impl Pending {
    /// Adds a member, or counts it anew.
    pub(super) fn insert(&mut self, id: PodId, pod: &Pod) {
        self.remove(id, pod);
        let counted = Counted {
            shape: pod.shape,
            avoids: !pod.avoid.is_empty(),
        };
        self.members.insert((pod.created, id), counted);
        *self.shapes.entry(counted.shape).or_default() += 1;
        self.avoiding += u32::from(counted.avoids);
    }

    /// Takes a member out, if it is in.
    pub(super) fn remove(&mut self, id: PodId, pod: &Pod) {
        let Some(counted) = self.members.remove(&(pod.created, id)) else {
            return;
        };
        self.avoiding -= u32::from(counted.avoids);
        if let Some(count) = self.shapes.get_mut(&counted.shape) {
            *count -= 1;
            if *count == 0 {
                self.shapes.remove(&counted.shape);
            }
        }
    }

    /// The members by creation, then id.
    pub fn iter(&self) -> impl Iterator<Item = PodId> + '_ {
        self.members.keys().map(|(_, id)| *id)
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

    /// The shape of all members, if they have one.
    #[must_use]
    pub fn only_shape(&self) -> Option<ShapeId> {
        let mut shapes = self.shapes.keys();
        let first = shapes.next().copied()?;
        shapes.next().is_none().then_some(first)
    }

    /// The same, if none of them avoids a node either.
    #[must_use]
    pub fn only_kind(&self) -> Option<ShapeId> {
        self.only_shape().filter(|_| self.avoiding == 0)
    }
}
