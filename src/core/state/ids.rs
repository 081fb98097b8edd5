//! Small numbers for what the state holds, and the slabs they index.

use std::fmt;
use std::ops::{Index, IndexMut};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u32);

        impl Id for $name {
            fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).unwrap_or(u32::MAX))
            }
            fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

/// A number that indexes a slab.
pub trait Id: Copy + Ord {
    /// The id of a slot.
    fn from_index(index: usize) -> Self;
    /// The slot of an id.
    fn index(self) -> usize;
}

id!(
    /// A node.
    NodeId
);
id!(
    /// A pod.
    PodId
);
id!(
    /// A gang.
    GangId
);
id!(
    /// A queue.
    QueueId
);
id!(
    /// A set of equal pod shapes.
    ShapeId
);
id!(
    /// A set of equal constraints on nodes.
    ConstraintsId
);
id!(
    /// A rule by which pods of a shape are spread.
    SpreadId
);
id!(
    /// A topology.
    TopologyId
);
impl ValueId {
    /// Its number.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0
    }
}

impl TopologyId {
    /// After all others.
    pub const LAST: Self = Self(u32::MAX);
}

id!(
    /// A node label that says which nodes are together, by a rule about pods.
    KeyId
);
id!(
    /// A value of such a label.
    ValueId
);
id!(
    /// A choice of pods that are counted.
    QueryId
);
id!(
    /// A choice of pods that somebody keeps away, and the label within whose values he does.
    TermId
);
id!(
    /// A domain of a topology that is a tree.
    DomainId
);
id!(
    /// Where nodes hang in a topology of links.
    PortId
);

/// Values by id; freed ids are given out again, the latest first.
#[derive(Clone, Debug)]
pub struct Slab<I, T> {
    slots: Vec<Option<T>>,
    free: Vec<I>,
    len: usize,
}

impl<I, T> Default for Slab<I, T> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            len: 0,
        }
    }
}

impl<I: Id, T> Slab<I, T> {
    /// Keeps a value and says where.
    pub fn insert(&mut self, value: T) -> I {
        let id = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            I::from_index(self.slots.len() - 1)
        });
        if let Some(slot) = self.slots.get_mut(id.index()) {
            *slot = Some(value);
        }
        self.len += 1;
        id
    }

    /// Takes a value out, and frees its id.
    pub fn remove(&mut self, id: I) -> Option<T> {
        let value = self.vacate(id)?;
        self.release(id);
        Some(value)
    }

    /// Takes a value out. Its id is not given out again before it is released.
    pub fn vacate(&mut self, id: I) -> Option<T> {
        let value = self.slots.get_mut(id.index())?.take()?;
        self.len -= 1;
        Some(value)
    }

    /// Frees the id of a value that was taken out.
    pub fn release(&mut self, id: I) {
        self.free.push(id);
    }

    /// The value of an id.
    pub fn get(&self, id: I) -> Option<&T> {
        self.slots.get(id.index())?.as_ref()
    }

    /// The value of an id, to change.
    pub fn get_mut(&mut self, id: I) -> Option<&mut T> {
        self.slots.get_mut(id.index())?.as_mut()
    }

    /// All values by rising id, to change.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (I, &mut T)> {
        let slots = self.slots.iter_mut().enumerate();
        slots.filter_map(|(index, slot)| Some((I::from_index(index), slot.as_mut()?)))
    }

    /// All values by rising id.
    pub fn iter(&self) -> impl Iterator<Item = (I, &T)> {
        let slots = self.slots.iter().enumerate();
        slots.filter_map(|(index, slot)| slot.as_ref().map(|value| (I::from_index(index), value)))
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A value that must be there.
impl<I: Id + fmt::Debug, T> Index<I> for Slab<I, T> {
    type Output = T;

    fn index(&self, id: I) -> &T {
        match self.get(id) {
            Some(value) => value,
            None => panic!("{id:?} is gone, and somebody still counts on it"),
        }
    }
}

impl<I: Id + fmt::Debug, T> IndexMut<I> for Slab<I, T> {
    fn index_mut(&mut self, id: I) -> &mut T {
        match self.get_mut(id) {
            Some(value) => value,
            None => panic!("{id:?} is gone, and somebody still counts on it"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_ids_are_given_out_again() {
        let mut slab: Slab<PodId, &str> = Slab::default();
        let (a, b) = (slab.insert("a"), slab.insert("b"));
        assert_eq!(slab.remove(a), Some("a"));
        assert_eq!(slab.remove(a), None);
        assert_eq!(slab.insert("c"), a);
        assert_eq!(slab.iter().collect::<Vec<_>>(), [(a, &"c"), (b, &"b")]);
        assert_eq!(slab.len(), 2);
    }

    #[test]
    fn an_id_that_somebody_still_knows_is_not_given_out_again() {
        let mut slab: Slab<PodId, &str> = Slab::default();
        let a = slab.insert("a");
        assert_eq!(slab.vacate(a), Some("a"));
        assert_eq!(slab.get(a), None);
        assert_ne!(slab.insert("b"), a);
        assert_eq!(slab.len(), 1);
        slab.release(a);
        assert_eq!(slab.insert("c"), a);
    }
}
