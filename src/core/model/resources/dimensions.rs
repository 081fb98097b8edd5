//! The registry of resource names.

use std::collections::{BTreeMap, BTreeSet};

/// How many numbers of resources there are.
pub const WIDTH: usize = 32;
/// How many different resources nodes may have.
const NAMED: usize = WIDTH - 1;

/// Of so many names at most it is remembered that there is no number for them.
const MAX_LEFT_OUT: usize = 1_000;

/// The number of a resource in the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dimension(u8);

impl Dimension {
    /// Pods on a node; every pod requests one.
    pub const PODS: Self = Self(0);
    /// `cpu`, in thousandths of a core.
    pub const CPU: Self = Self(1);
    /// `memory`, in bytes.
    pub const MEMORY: Self = Self(2);
    /// `ephemeral-storage`, in bytes.
    pub const EPHEMERAL_STORAGE: Self = Self(3);

    /// All resources together that no node has. Whoever may create pods may ask for as many of them as he likes.
    #[expect(clippy::cast_possible_truncation, reason = "there are 32")]
    pub const NOWHERE: Self = Self(NAMED as u8);

    /// Whether it is one of those that every node has.
    #[must_use]
    pub const fn is_core(self) -> bool {
        self.0 <= Self::EPHEMERAL_STORAGE.0
    }

    /// As an index, below [`WIDTH`].
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// How [`Dimension::NOWHERE`] is called: no resource's name has blanks.
const OF_NO_NODE: &str = "of resources that no node has";

/// Names to numbers, in order of first appearance. Numbers are given to what nodes have and what only
/// administrators write; pods and their gangs ask for what there is.
#[derive(Clone, Debug)]
pub struct Dimensions {
    names: Vec<String>,
    by_name: BTreeMap<String, Dimension>,
    /// One bit for each that is a device.
    devices: u32,
    /// Numbers that were taken from their resources.
    nameless: u32,
    /// What got its number since somebody asked last.
    new: u32,
    /// For these there is no number left.
    left_out: BTreeSet<String>,
    /// Those that somebody else looks after.
    unchecked: BTreeSet<String>,
}

impl Default for Dimensions {
    fn default() -> Self {
        let mut dimensions = Self {
            names: Vec::new(),
            by_name: BTreeMap::new(),
            devices: 0,
            nameless: 0,
            new: 0,
            left_out: BTreeSet::new(),
            unchecked: BTreeSet::new(),
        };
        for name in ["pods", "cpu", "memory", "ephemeral-storage"] {
            dimensions.register(name);
        }
        dimensions.new = 0;
        dimensions
    }
}

impl Dimensions {
    /// The number of `name`, given out now if it is new; `None` when all numbers are taken, which is remembered.
    pub fn register(&mut self, name: &str) -> Option<Dimension> {
        if let Some(known) = self.by_name.get(name) {
            return Some(*known);
        }
        let Some(index) = u8::try_from(self.names.len())
            .ok()
            .filter(|i| usize::from(*i) < NAMED)
        else {
            // Who is left out by mistake, as too many are, says so again.
            if self.left_out.len() >= MAX_LEFT_OUT {
                self.left_out.clear();
            }
            self.left_out.insert(name.to_owned());
            return None;
        };
        self.names.push(String::new());
        self.give(Dimension(index), name);
        Some(Dimension(index))
    }

    fn give(&mut self, dimension: Dimension, name: &str) {
        self.left_out.remove(name);
        let bit = 1 << dimension.0;
        self.nameless &= !bit;
        self.new |= bit;
        if name.contains('/') {
            self.devices |= bit;
        } else {
            self.devices &= !bit;
        }
        name.clone_into(&mut self.names[dimension.index()]);
        self.by_name.insert(name.to_owned(), dimension);
    }

    /// What got its number since somebody asked last.
    pub fn take_new(&mut self) -> impl Iterator<Item = Dimension> + use<> {
        let new = std::mem::take(&mut self.new);
        self.iter().filter(move |one| new & 1 << one.0 != 0)
    }

    /// Whether `name` could be given a number only if another name gave back its own.
    #[must_use]
    pub fn has_no_number_for(&self, name: &str) -> bool {
        self.names.len() >= NAMED && !self.by_name.contains_key(name)
    }

    /// Takes its number from a resource that nobody has any more; what was said of it keeps its name.
    pub fn take_number(&mut self, dimension: Dimension) {
        self.by_name.remove(&self.names[dimension.index()]);
        self.nameless |= 1 << dimension.0;
    }

    /// Whether the number is nobody's any more.
    #[must_use]
    pub const fn is_nameless(&self, dimension: Dimension) -> bool {
        self.nameless & 1 << dimension.0 != 0
    }

    /// Gives a number without a name to a resource: nothing may count in it any more.
    pub fn reuse(&mut self, dimension: Dimension, name: &str) {
        if self.is_nameless(dimension) && !self.by_name.contains_key(name) {
            self.give(dimension, name);
        }
    }

    /// Whether there is enough of `name` is for somebody else to say: it is no part of requests.
    pub fn leave_unchecked(&mut self, name: &str) {
        self.unchecked.insert(name.to_owned());
    }

    /// Whether `name` is a part of requests.
    #[must_use]
    pub fn is_checked(&self, name: &str) -> bool {
        self.unchecked.is_empty() || !self.unchecked.contains(name)
    }

    /// The number of `name`, if it has one.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Dimension> {
        self.by_name.get(name).copied()
    }

    /// The resource's name.
    #[must_use]
    pub fn name(&self, dimension: Dimension) -> &str {
        if dimension == Dimension::NOWHERE {
            return OF_NO_NODE;
        }
        self.names.get(dimension.index()).map_or("", String::as_str)
    }

    /// Whether it is one of the things that only some nodes have, as GPUs are: an extended resource,
    /// whose name has a domain (source: Kubernetes, "Extended resources").
    #[must_use]
    pub const fn is_device(&self, dimension: Dimension) -> bool {
        self.devices & 1 << dimension.0 != 0
    }

    /// All dimensions in use.
    pub fn iter(&self) -> impl Iterator<Item = Dimension> + use<> {
        (0..self.names.len()).filter_map(|index| u8::try_from(index).ok().map(Dimension))
    }

    /// One more than the highest that is in use.
    #[must_use]
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Never true: `pods`, `cpu`, `memory` and `ephemeral-storage` are always there.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// For how many names there is no number left.
    #[must_use]
    pub fn left_out(&self) -> usize {
        self.left_out.len()
    }

    /// Whether nodes have it, and there is no number left for it.
    #[must_use]
    pub fn is_left_out(&self, name: &str) -> bool {
        self.left_out.contains(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn well_known_resources_have_fixed_numbers() {
        let dimensions = Dimensions::default();
        assert_eq!(dimensions.get("pods"), Some(Dimension::PODS));
        assert_eq!(dimensions.get("cpu"), Some(Dimension::CPU));
        assert_eq!(dimensions.get("memory"), Some(Dimension::MEMORY));
        assert_eq!(
            dimensions.get("ephemeral-storage"),
            Some(Dimension::EPHEMERAL_STORAGE)
        );
    }

    #[test]
    fn a_number_that_was_taken_from_its_resource_is_anothers() {
        let mut dimensions = Dimensions::default();
        let name = |index| format!("example.com/{index}");
        let first = dimensions.register(&name(0)).unwrap();
        assert_eq!(dimensions.take_new().collect::<Vec<_>>(), [first]);
        assert_eq!(dimensions.take_new().count(), 0);
        dimensions.reuse(first, &name(1));
        assert_eq!(dimensions.get(&name(1)), None, "it has a name");
        dimensions.take_number(first);
        assert_eq!(dimensions.get(&name(0)), None);
        assert_eq!(dimensions.name(first), name(0));
        assert!(dimensions.is_nameless(first));
        dimensions.reuse(first, "plain");
        assert_eq!(dimensions.get("plain"), Some(first));
        assert!(!dimensions.is_device(first));
        assert_eq!(
            (dimensions.name(first), dimensions.is_nameless(first)),
            ("plain", false)
        );
        assert_eq!(dimensions.take_new().collect::<Vec<_>>(), [first]);
    }

    #[test]
    fn the_registry_is_bounded_and_remembers_whom_it_left_out() {
        let mut dimensions = Dimensions::default();
        let name = |index| format!("example.com/{index}");
        for index in 0..WIDTH {
            let _ = dimensions.register(&name(index));
        }
        assert_eq!(dimensions.len(), NAMED);
        let left_out = (0..WIDTH).filter(|index| dimensions.is_left_out(&name(*index)));
        assert_eq!(left_out.count(), 5);
        assert!(!dimensions.iter().any(|one| one == Dimension::NOWHERE));
        assert_eq!(dimensions.register("cpu"), Some(Dimension::CPU));
    }
}
