//! Which slots there are, and their numbers.
//!
//! A slot is the same as long as its Testbed, its node (name and uid), its place on the node and its
//! request are: all of that is in the name of its ghost, so that is what a slot is known by.

use muster_api::slots::Asked;
use muster_model::digest::{Fnv, of_number};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};

/// The most that a name of a pod may have so that it is a host's as well.
const NAME: usize = 63;

/// A slot that there should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) node: String,
    /// What the Testbed's label says there.
    pub(super) id: String,
    /// Which of the slots of the node.
    pub(super) on_node: u32,
    pub(super) ghost: String,
}

/// A slot that there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Known<'a> {
    pub(super) number: u32,
    pub(super) node: &'a str,
    pub(super) id: &'a str,
    pub(super) on_node: u32,
    pub(super) ghost: &'a str,
    /// Somebody sits there: it stays until that ends.
    pub(super) taken: bool,
}

/// What came out of numbering.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Numbered {
    /// By number; and whether it is wanted, or only stays for who sits there.
    pub(super) slots: BTreeMap<u32, (Wanted, bool)>,
    /// How many there should be beyond the bound.
    pub(super) left_out: usize,
}

/// The order of nodes by what the label says: numbers as numbers, then names; then by the node's name.
pub(super) fn order(one: (&str, &str), other: (&str, &str)) -> Ordering {
    fn key(id: &str) -> (bool, usize, &str) {
        let is_number = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit());
        if is_number {
            // As long as a label: it may be too large for any integer.
            let digits = id.trim_start_matches('0');
            (false, digits.len(), digits)
        } else {
            (true, 0, id)
        }
    }
    key(one.0).cmp(&key(other.0)).then(one.1.cmp(other.1))
}

/// The slots that a Testbed asks for, in the order of their numbers: the first of every node before the
/// second of any. Nodes by name, uid and what the label says.
pub(super) fn wanted<'a>(
    testbed: (&str, &str),
    asked: &Asked,
    nodes: impl Iterator<Item = (&'a str, &'a str, &'a str)>,
) -> Vec<Wanted> {
    if !asked.problems.is_empty() {
        return Vec::new();
    }
    let mut nodes: Vec<_> = nodes.collect();
    nodes.sort_by(|one, other| order((one.2, one.0), (other.2, other.0)));
    let mut all = Vec::with_capacity(nodes.len() * asked.per_node as usize);
    for on_node in 0..asked.per_node {
        all.extend(nodes.iter().map(|(node, uid, id)| Wanted {
            node: (*node).to_owned(),
            id: (*id).to_owned(),
            on_node,
            ghost: ghost_name(testbed, (node, uid), asked, on_node),
        }));
    }
    all
}

/// The name of the ghost of a slot. It stays the same as long as the slot is the same.
fn ghost_name(
    (testbed, uid): (&str, &str),
    node: (&str, &str),
    asked: &Asked,
    on_node: u32,
) -> String {
    let mut hasher = Fnv::default();
    (uid, node, &asked.request, on_node).hash(&mut hasher);
    let digest = of_number(hasher.finish()) & ((1 << 40) - 1);
    let end = format!("-{on_node}-{digest:010x}");
    format!("{}{end}", truncated(testbed, NAME - end.len()))
}

/// The beginning of a name, such that it is one itself.
pub(super) fn truncated(name: &str, most: usize) -> &str {
    let name = name.get(..most).unwrap_or(name);
    name.trim_end_matches(['-', '.'])
}

/// Numbers slots: those that there are keep theirs, and others take the smallest that are free. What
/// is known of a number or a slot that is there twice is the first. At most `most` slots.
pub(super) fn number(known: &[Known<'_>], wanted: Vec<Wanted>, most: u32) -> Numbered {
    let of_ghost: BTreeMap<&str, usize> = wanted
        .iter()
        .enumerate()
        .map(|(index, one)| (one.ghost.as_str(), index))
        .collect();
    let mut numbers: BTreeMap<u32, usize> = BTreeMap::new();
    let mut stays: BTreeMap<u32, Wanted> = BTreeMap::new();
    let mut placed = BTreeSet::new();
    let mut occupied = BTreeSet::new();
    let within = |number: u32| number < most;
    for one in known.iter().filter(|one| within(one.number)) {
        if numbers.contains_key(&one.number) || stays.contains_key(&one.number) {
            continue;
        }
        match of_ghost.get(one.ghost) {
            Some(index) if placed.insert(*index) => _ = numbers.insert(one.number, *index),
            Some(_) => {}
            None if one.taken => {
                occupied.insert((one.node.to_owned(), one.on_node));
                let (node, id, ghost) = (one.node, one.id, one.ghost);
                let slot = Wanted {
                    node: node.to_owned(),
                    id: id.to_owned(),
                    on_node: one.on_node,
                    ghost: ghost.to_owned(),
                };
                stays.insert(one.number, slot);
            }
            None => {}
        }
    }
    let mut free = (0..most)
        .filter(|number| !numbers.contains_key(number) && !stays.contains_key(number))
        .collect::<Vec<u32>>()
        .into_iter();
    let mut left_out = 0;
    let mut names = BTreeSet::new();
    for (index, one) in wanted.iter().enumerate() {
        // Two of one name cannot both be held. There is one such pair in 10^12.
        let twice = !names.insert(one.ghost.as_str());
        if placed.contains(&index) || twice {
            continue;
        }
        // Where somebody sits on what was another slot, this one is there when that has ended.
        if occupied.contains(&(one.node.clone(), one.on_node)) {
            continue;
        }
        match free.next() {
            Some(number) => _ = numbers.insert(number, index),
            None => left_out += 1,
        }
    }
    let mut wanted: Vec<Option<Wanted>> = wanted.into_iter().map(Some).collect();
    let numbers = numbers.into_iter();
    let mut slots: BTreeMap<u32, (Wanted, bool)> = numbers
        .filter_map(|(number, index)| Some((number, (wanted[index].take()?, true))))
        .collect();
    slots.extend(
        stays
            .into_iter()
            .map(|(number, one)| (number, (one, false))),
    );
    Numbered { slots, left_out }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(per_node: u32, cpu: i64) -> Asked {
        Asked {
            node_label: "l".to_owned(),
            per_node,
            request: vec![("cpu".to_owned(), cpu)],
            ..Asked::default()
        }
    }

    /// Of nodes `name=id`, whose uids are their names.
    fn slots(asked: &Asked, nodes: &[&str]) -> Vec<Wanted> {
        let nodes = nodes.iter().map(|one| {
            let (name, id) = one.split_once('=').unwrap();
            (name, name, id)
        });
        wanted(("bed", "uid"), asked, nodes)
    }

    fn places(numbered: &Numbered) -> Vec<String> {
        let slots = numbered.slots.iter();
        let words =
            slots.map(|(number, (one, _))| format!("{number}:{}/{}", one.node, one.on_node));
        words.collect()
    }

    fn known(numbered: &Numbered, taken: impl Fn(u32) -> bool) -> Vec<Known<'_>> {
        let slots = numbered.slots.iter();
        let known = slots.map(|(number, (one, _))| Known {
            number: *number,
            node: &one.node,
            id: &one.id,
            on_node: one.on_node,
            ghost: &one.ghost,
            taken: taken(*number),
        });
        known.collect()
    }

    #[test]
    fn slot_0_of_every_node_comes_before_slot_1_of_any() {
        let all = slots(&asked(2, 1), &["a=1", "b=0"]);
        let numbered = number(&[], all, 1_000);
        assert_eq!(places(&numbered), ["0:b/0", "1:a/0", "2:b/1", "3:a/1"]);
    }

    #[test]
    fn nodes_come_by_the_labels_value_numbers_as_numbers_then_names_then_by_name() {
        let nodes = [
            "f=x",
            "e=10",
            "d=9",
            "c=09",
            "b=",
            "a=10",
            "g=a",
            "h=1000000000000000000000000000000",
        ];
        let numbered = number(&[], slots(&asked(1, 1), &nodes), 1_000);
        assert_eq!(
            places(&numbered),
            [
                "0:c/0", "1:d/0", "2:a/0", "3:e/0", "4:h/0", "5:b/0", "6:g/0", "7:f/0"
            ]
        );
    }

    #[test]
    fn a_slot_keeps_its_number_and_later_ones_take_the_smallest_that_are_free() {
        let asked = asked(1, 1);
        let before = number(&[], slots(&asked, &["a=1", "b=2", "c=3"]), 1_000);
        let fewer = number(
            &known(&before, |_| false),
            slots(&asked, &["b=2", "c=3"]),
            9,
        );
        assert_eq!(places(&fewer), ["1:b/0", "2:c/0"]);
        let again = slots(&asked, &["x=0", "b=2", "c=3", "z=9"]);
        let more = number(&known(&fewer, |_| false), again, 1_000);
        assert_eq!(places(&more), ["0:x/0", "1:b/0", "2:c/0", "3:z/0"]);
    }

    #[test]
    fn a_slot_is_another_one_with_another_request_or_another_node_of_the_name() {
        let (small, large) = (asked(1, 1), asked(1, 2));
        let ghost = |asked, uid| ghost_name(("bed", "uid"), ("a", uid), asked, 0);
        assert_ne!(ghost(&small, "1"), ghost(&large, "1"));
        assert_ne!(ghost(&small, "1"), ghost(&small, "2"));
        assert_eq!(ghost(&small, "1"), ghost(&small, "1"));
    }

    #[test]
    fn a_slot_on_which_somebody_sits_stays_and_the_one_in_its_place_waits() {
        let before = number(&[], slots(&asked(1, 1), &["a=1", "b=2"]), 1_000);
        let resized = || slots(&asked(1, 2), &["a=1", "b=2"]);
        let after = number(&known(&before, |number| number == 0), resized(), 1_000);
        assert_eq!(places(&after), ["0:a/0", "1:b/0"]);
        assert_eq!(after.slots[&0].0.ghost, before.slots[&0].0.ghost);
        assert!(!after.slots[&0].1 && after.slots[&1].1);
        let ended = number(&known(&after, |_| false), resized(), 1_000);
        assert_ne!(ended.slots[&0].0.ghost, before.slots[&0].0.ghost);
        assert_eq!(ended.slots[&1], after.slots[&1]);
    }

    #[test]
    fn beyond_the_bound_the_first_ones_are_numbered() {
        let all = || slots(&asked(2, 1), &["a=1", "b=2"]);
        let numbered = number(&[], all(), 3);
        assert_eq!(places(&numbered), ["0:a/0", "1:b/0", "2:a/1"]);
        assert_eq!(numbered.left_out, 1);
    }

    #[test]
    fn what_a_status_says_twice_counts_once() {
        let before = number(&[], slots(&asked(1, 1), &["a=1"]), 9);
        let mut twice = known(&before, |_| false);
        twice.push(Known {
            number: 5,
            ..twice[0]
        });
        twice.push(Known {
            node: "z",
            ghost: "z",
            taken: true,
            ..twice[0]
        });
        assert_eq!(number(&twice, slots(&asked(1, 1), &["a=1"]), 9), before);
    }

    #[test]
    fn names_of_ghosts_are_names_of_pods() {
        for testbed in [
            "t",
            "a.b",
            &"x".repeat(253),
            &format!("{}-{}", "x".repeat(47), "y".repeat(90)),
        ] {
            let name = ghost_name((testbed, "uid"), ("a", "1"), &asked(1, 1), 99);
            assert!(name.len() <= 63 && !name.contains("--"), "{name}");
        }
    }
}
