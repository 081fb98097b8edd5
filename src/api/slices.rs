//! The table of slots of a Testbed, which is in parts: the first slots are in its status, the others in
//! TestbedSlices. This is where it is decided which object says what of which slots.
//!
//! A slice counts if it is controlled by the Testbed, by name and uid, and is called after it and the first slot
//! that it may have: `lab.1250`. Of what it says only that counts which is its own to say. So parts may be told in
//! any order, and of Testbeds that are not there any more.

use super::crd::{Slot, Testbed, TestbedSlice};
use super::version::is_older;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The most slots of a Testbed.
pub(crate) const MOST: u32 = 10_000;

/// How many slots are where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// How many the status of a Testbed has.
    pub status: u32,
    /// How many a slice has.
    pub slice: u32,
    /// How many a Testbed has at most.
    pub most: u32,
}

impl Default for Sizes {
    fn default() -> Self {
        Self {
            status: 1_000,
            slice: 250,
            most: MOST,
        }
    }
}

impl Sizes {
    /// The part in which the slot of this number is: by its first number.
    #[must_use]
    pub fn part_of(self, number: u32) -> u32 {
        match number.checked_sub(self.status) {
            None => 0,
            Some(beyond) => number - beyond % self.slice.max(1),
        }
    }

    /// The numbers of a part; none, if no part begins there.
    #[must_use]
    pub fn numbers(self, part: u32) -> Range<u32> {
        let end = match part {
            0 => self.status,
            part if part < self.status || self.part_of(part) != part => part,
            part => part.saturating_add(self.slice),
        };
        part..end.min(self.most).max(part)
    }

    /// Whether a part may say something of this slot.
    #[must_use]
    pub fn is_within(self, part: u32, slot: &Slot) -> bool {
        u32::try_from(slot.position).is_ok_and(|number| self.numbers(part).contains(&number))
    }
}

/// What the slice of a Testbed is called that begins with this slot.
#[must_use]
pub fn name(testbed: &str, first: u32) -> String {
    format!("{testbed}.{first}")
}

/// Of which Testbed a slice of this name is, and with which slot it begins; `None`: it is called otherwise.
#[must_use]
pub fn named(slice: &str) -> Option<(&str, u32)> {
    let (testbed, first) = slice.rsplit_once('.')?;
    let number: u32 = first.parse().ok()?;
    (number > 0 && number.to_string() == first).then_some((testbed, number))
}

/// Whose a slice is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whose<'a> {
    /// The Testbed's name.
    pub testbed: &'a str,
    /// The uid of the Testbed that controls it.
    pub owner: &'a str,
    /// Its first slot.
    pub first: u32,
}

/// Whose a slice is; `None`: no Testbed's.
#[must_use]
pub fn whose(slice: &TestbedSlice) -> Option<Whose<'_>> {
    let (testbed, first) = named(slice.metadata.name.as_deref()?)?;
    let mut owners = slice.metadata.owner_references.iter().flatten();
    let owner = owners.find(|one| {
        let group = one.api_version.split_once('/').map(|(group, _)| group);
        one.controller == Some(true) && one.kind == "Testbed" && group == Some("muster.dev")
    })?;
    (owner.name == testbed && slice.spec.testbed == testbed).then_some(Whose {
        testbed,
        owner: &owner.uid,
        first,
    })
}

/// A slice that is known.
#[derive(Clone, Debug)]
struct Held {
    owner: String,
    uid: String,
    version: String,
    slots: Vec<Slot>,
}

/// All slices that there are: with them a Testbed is whole.
#[derive(Clone, Debug, Default)]
pub struct Slices {
    sizes: Sizes,
    of: BTreeMap<String, BTreeMap<u32, Held>>,
}

impl Slices {
    /// None yet.
    #[must_use]
    pub fn new(sizes: Sizes) -> Self {
        Self {
            sizes,
            of: BTreeMap::new(),
        }
    }

    /// A slice is so; which part of which Testbed is another by that, if any.
    pub fn is(&mut self, slice: &TestbedSlice) -> Option<(String, u32)> {
        let meta = &slice.metadata;
        let (testbed, first) = named(meta.name.as_deref()?)?;
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let parts = self.of.get(testbed);
        let known = parts.and_then(|parts| parts.get(&first));
        if known.is_some_and(|known| {
            Some(&known.uid) == meta.uid.as_ref() && is_older(meta, &known.version)
        }) {
            return None;
        }
        let Some(whose) = whose(slice) else {
            return self.take_out(testbed, first);
        };
        let slots = slice.spec.slots.iter();
        let slots = slots.filter(|slot| self.sizes.is_within(first, slot));
        let is = Held {
            owner: whose.owner.to_owned(),
            uid: text(&meta.uid),
            version: text(&meta.resource_version),
            slots: slots.cloned().collect(),
        };
        let same = known.is_some_and(|known| known.owner == is.owner && known.slots == is.slots);
        let parts = self.of.entry(testbed.to_owned()).or_default();
        parts.insert(first, is);
        (!same).then(|| (testbed.to_owned(), first))
    }

    /// The slice of this name and uid is gone; which part of which Testbed is another by that, if any.
    pub fn gone(&mut self, slice: &str, uid: &str) -> Option<(String, u32)> {
        let (testbed, first) = named(slice)?;
        let known = self.of.get(testbed)?.get(&first)?;
        if known.uid != uid {
            return None;
        }
        self.take_out(testbed, first)
    }

    fn take_out(&mut self, testbed: &str, first: u32) -> Option<(String, u32)> {
        let parts = self.of.get_mut(testbed)?;
        let known = parts.remove(&first);
        if parts.is_empty() {
            self.of.remove(testbed);
        }
        known.map(|_| (testbed.to_owned(), first))
    }

    /// Whether a Testbed of this name has any.
    #[must_use]
    pub fn has(&self, testbed: &str) -> bool {
        self.of.contains_key(testbed)
    }

    /// Only slices of these names are there; which Testbeds are others by that.
    pub fn keep(&mut self, names: &BTreeSet<String>) -> BTreeSet<String> {
        let mut changed = BTreeSet::new();
        for (testbed, parts) in &mut self.of {
            let before = parts.len();
            parts.retain(|first, _| names.contains(&name(testbed, *first)));
            if parts.len() != before {
                changed.insert(testbed.clone());
            }
        }
        self.of.retain(|_, parts| !parts.is_empty());
        changed
    }

    /// The slots of one slice of the Testbed of this name and uid.
    #[must_use]
    pub fn part(&self, testbed: &str, uid: &str, first: u32) -> &[Slot] {
        let parts = self.of.get(testbed);
        let part = parts.and_then(|parts| parts.get(&first));
        let part = part.filter(|part| part.owner == uid);
        part.map_or(&[], |part| &part.slots)
    }

    /// The slots of a Testbed that are not in its status.
    pub fn beyond<'a>(&'a self, testbed: &str, uid: &'a str) -> impl Iterator<Item = &'a Slot> {
        let parts = self.of.get(testbed).into_iter().flat_map(BTreeMap::values);
        let parts = parts.filter(move |part| part.owner == uid);
        parts.flat_map(|part| &part.slots)
    }

    /// All slots of a Testbed.
    pub fn slots<'a>(&'a self, testbed: &'a Testbed) -> impl Iterator<Item = &'a Slot> {
        let said = testbed.status.iter().flat_map(|status| &status.slots);
        let said = said.filter(|slot| self.sizes.is_within(0, slot));
        let meta = &testbed.metadata;
        let name = meta.name.as_deref().unwrap_or_default();
        let uid = meta.uid.as_deref().unwrap_or_default();
        said.chain(self.beyond(name, uid))
    }

    /// A Testbed with all its slots in its status.
    #[must_use]
    pub fn whole(&self, testbed: &Testbed) -> Testbed {
        let mut whole = testbed.clone();
        if let Some(status) = &mut whole.status {
            status.slots = self.slots(testbed).cloned().collect();
        }
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const SMALL: Sizes = Sizes {
        status: 3,
        slice: 2,
        most: 8,
    };

    fn slots(numbers: &[i32]) -> Vec<Slot> {
        let slot = |position: &i32| Slot {
            position: *position,
            ..Slot::default()
        };
        numbers.iter().map(slot).collect()
    }

    fn slice(name: &str, owner: &str, version: u32, numbers: &[i32]) -> TestbedSlice {
        let testbed = name.rsplit_once('.').map_or("", |(testbed, _)| testbed);
        let owner = json!([{
            "apiVersion": "muster.dev/v1alpha1", "kind": "Testbed", "name": testbed,
            "uid": owner, "controller": true,
        }]);
        let meta = json!({
            "name": name, "uid": format!("of {name}"), "resourceVersion": version.to_string(),
            "ownerReferences": owner,
        });
        let spec = json!({"testbed": testbed, "slots": slots(numbers)});
        let value = json!({"apiVersion": "muster.dev/v1alpha1", "kind": "TestbedSlice", "metadata": meta, "spec": spec});
        serde_json::from_value(value).unwrap()
    }

    fn testbed(name: &str, uid: &str, numbers: &[i32]) -> Testbed {
        let spec = json!({"nodeLabel": "l", "slotsPerNode": 1, "resourcesPerSlot": {"cpu": 1}});
        let meta = json!({"name": name, "uid": uid});
        let status = json!({"slots": slots(numbers)});
        let value = json!({"apiVersion": "muster.dev/v1alpha1", "kind": "Testbed", "metadata": meta, "spec": spec, "status": status});
        serde_json::from_value(value).unwrap()
    }

    fn numbers(slices: &Slices, testbed: &Testbed) -> Vec<i32> {
        slices.slots(testbed).map(|slot| slot.position).collect()
    }

    #[test]
    fn every_number_is_in_one_part() {
        for sizes in [SMALL, Sizes::default()] {
            for number in 0..sizes.most {
                let part = sizes.part_of(number);
                assert!(sizes.numbers(part).contains(&number), "{number}");
            }
            for no_part in [1, sizes.status - 1, sizes.status + 1, sizes.most, u32::MAX] {
                assert!(sizes.numbers(no_part).is_empty(), "{no_part}");
            }
        }
        assert_eq!(SMALL.numbers(7), 7..8, "no more than there may be");
        assert_eq!(Sizes::default().numbers(1_250), 1_250..1_500);
    }

    #[test]
    fn a_slice_is_called_after_its_testbed_and_its_first_slot() {
        assert_eq!(name("lab", 1_000), "lab.1000");
        assert_eq!(named("lab.1000"), Some(("lab", 1_000)));
        assert_eq!(named("lab.1000.1250"), Some(("lab.1000", 1_250)));
        for odd in [
            "lab",
            "lab.01000",
            "lab.+7",
            "lab.x",
            "lab.0",
            "lab.",
            "lab.99999999999",
        ] {
            assert_eq!(named(odd), None, "{odd}");
        }
    }

    #[test]
    fn a_testbed_is_whole_whatever_is_told_first() {
        let bed = testbed("lab", "1", &[0, 1, 2]);
        let mut slices = Slices::new(SMALL);
        let five = slices.is(&slice("lab.5", "1", 1, &[5, 6]));
        assert_eq!(five, Some(("lab".to_owned(), 5)));
        slices.is(&slice("lab.3", "1", 2, &[3]));
        assert_eq!(numbers(&slices, &bed), [0, 1, 2, 3, 5, 6]);
        assert_eq!(slices.whole(&bed).status.unwrap().slots.len(), 6);
        assert_eq!(slices.is(&slice("lab.3", "1", 3, &[3])), None, "the same");
        assert_eq!(slices.is(&slice("lab.3", "1", 1, &[])), None, "older news");
        assert_eq!(slices.gone("lab.3", "another"), None);
        slices.gone("lab.3", "of lab.3").unwrap();
        assert_eq!(numbers(&slices, &bed), [0, 1, 2, 5, 6]);
        let none = testbed("lab", "1", &[]);
        assert_eq!(numbers(&slices, &none), [5, 6]);
        assert!(slices.keep(&["lab.5".to_owned()].into()).is_empty());
        assert_eq!(
            slices.keep(&["lab.3".to_owned()].into()),
            ["lab".to_owned()].into()
        );
        assert_eq!(numbers(&slices, &none), [] as [i32; 0]);
    }

    #[test]
    fn what_is_not_its_own_to_say_counts_for_nothing() {
        let bed = testbed("lab", "1", &[-1, 0, 1, 3, 99]);
        let mut slices = Slices::new(SMALL);
        slices.is(&slice("lab.3", "1", 1, &[0, 2, 4, 5, -3]));
        slices.is(&slice("lab.4", "1", 1, &[4, 5]));
        slices.is(&slice("lab.5", "2", 1, &[5, 6]));
        slices.is(&slice("lab.2", "1", 1, &[2]));
        slices.is(&slice("lab.9", "1", 1, &[9]));
        assert_eq!(numbers(&slices, &bed), [0, 1, 4]);
        let again = testbed("lab", "2", &[0]);
        assert_eq!(numbers(&slices, &again), [0, 5, 6], "of the other uid");
    }

    #[test]
    fn only_who_is_controlled_by_the_testbed_it_is_called_after_is_a_slice() {
        let good = slice("lab.3", "1", 1, &[3]);
        assert!(whose(&good).is_some());
        let changes: [fn(&mut TestbedSlice); 5] = [
            |one| one.metadata.owner_references = None,
            |one| one.metadata.owner_references.as_mut().unwrap()[0].controller = None,
            |one| one.metadata.owner_references.as_mut().unwrap()[0].name = "x".to_owned(),
            |one| one.metadata.owner_references.as_mut().unwrap()[0].kind = "Job".to_owned(),
            |one| one.spec.testbed = "x".to_owned(),
        ];
        for change in changes {
            let mut slices = Slices::new(SMALL);
            slices.is(&good);
            let mut other = good.clone();
            other.metadata.resource_version = Some("2".to_owned());
            change(&mut other);
            assert_eq!(whose(&other), None);
            assert!(slices.is(&other).is_some(), "it was one");
            assert!(!slices.has("lab"));
        }
    }
}
