//! Who was on which node from when to when, and what the nodes were: what a picture of the cluster
//! at any time is drawn from.
//!
//! What is kept is bounded: from a time on nothing more is taken down, and the picture says so.

use muster_model::units::Time;
use muster_model::{Amounts, Labels, NodeSpec};
use std::collections::BTreeMap;

/// So many stays of pods on nodes are kept.
const MAX_STAYS: usize = 200_000;
/// So many descriptions of nodes are kept.
const MAX_NODES: usize = 60_000;

/// A pod on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stay {
    /// The node, by number.
    pub node: usize,
    /// The gang it counted for, by number; others' pods have none.
    pub gang: Option<usize>,
    /// What it took, by number.
    pub takes: usize,
    /// Since when.
    pub from: Time,
    /// Until when; `None`: it is there still.
    pub to: Option<Time>,
}

/// What a pod takes of its node.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Takes {
    /// Of its resources.
    pub requests: Amounts,
    /// All of it, for its gang.
    pub exclusive: bool,
    /// Such a pod is on every node.
    pub daemon: bool,
}

/// A node for as long as nothing was changed on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Presence {
    /// Which, by number.
    pub node: usize,
    /// What it offers, by number.
    pub offers: usize,
    /// It takes no new pods.
    pub cordoned: bool,
    /// Since when.
    pub from: Time,
    /// Until when; `None`: still.
    pub to: Option<Time>,
}

/// Who was where.
#[derive(Debug, Default)]
pub struct Places {
    /// The names of all nodes there ever were or that a pod named, and their last labels.
    pub nodes: Vec<(String, Labels)>,
    /// What nodes offered.
    pub offers: Vec<Amounts>,
    /// When which node was what.
    pub presences: Vec<Presence>,
    /// What pods took.
    pub takes: Vec<Takes>,
    /// When they were where.
    pub stays: Vec<Stay>,
    /// From when on not everything is kept.
    pub full_at: Option<Time>,
    by_name: BTreeMap<String, usize>,
    by_offer: BTreeMap<Amounts, usize>,
    by_takes: BTreeMap<Takes, usize>,
    /// By node: its last presence.
    here: BTreeMap<usize, usize>,
    /// By line of the ledger: the stay of its pod.
    open: BTreeMap<usize, usize>,
}

impl Places {
    /// A node appeared or was edited.
    pub fn node(&mut self, spec: &NodeSpec, now: Time) {
        let node = self.number(&spec.name);
        self.nodes[node].1.clone_from(&spec.labels);
        let offers = numbered(&mut self.offers, &mut self.by_offer, &spec.allocatable);
        let before = self.here.get(&node).map(|at| &self.presences[*at]);
        let same = before.is_some_and(|one| {
            (one.to, one.offers, one.cordoned) == (None, offers, spec.unschedulable)
        });
        if same {
            return;
        }
        self.end(node, now);
        if self.presences.len() == MAX_NODES {
            self.full_at.get_or_insert(now);
            return;
        }
        self.here.insert(node, self.presences.len());
        self.presences.push(Presence {
            node,
            offers,
            cordoned: spec.unschedulable,
            from: now,
            to: None,
        });
    }

    /// A node is gone.
    pub fn node_gone(&mut self, name: &str, now: Time) {
        if let Some(node) = self.by_name.get(name) {
            self.end(*node, now);
        }
    }

    fn end(&mut self, node: usize, now: Time) {
        if let Some(at) = self.here.remove(&node) {
            self.presences[at].to = Some(now);
        }
    }

    /// The pod of a line takes room on a node.
    pub(super) fn take(
        &mut self,
        line: usize,
        node: &str,
        gang: Option<usize>,
        takes: &Takes,
        now: Time,
    ) {
        self.leave(line, now);
        if self.stays.len() == MAX_STAYS {
            self.full_at.get_or_insert(now);
            return;
        }
        let node = self.number(node);
        let takes = numbered(&mut self.takes, &mut self.by_takes, takes);
        self.open.insert(line, self.stays.len());
        self.stays.push(Stay {
            node,
            gang,
            takes,
            from: now,
            to: None,
        });
    }

    /// The pod of a line takes none any more.
    pub fn leave(&mut self, line: usize, now: Time) {
        if let Some(stay) = self.open.remove(&line) {
            self.stays[stay].to = Some(now);
        }
    }

    fn number(&mut self, name: &str) -> usize {
        if let Some(number) = self.by_name.get(name) {
            return *number;
        }
        let number = self.nodes.len();
        self.by_name.insert(name.to_owned(), number);
        self.nodes.push((name.to_owned(), Labels::default()));
        number
    }
}

/// The number of a value, which has one from now on.
fn numbered<T: Clone + Ord>(all: &mut Vec<T>, by: &mut BTreeMap<T, usize>, value: &T) -> usize {
    if let Some(number) = by.get(value) {
        return *number;
    }
    by.insert(value.clone(), all.len());
    all.push(value.clone());
    all.len() - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(cpu: i64) -> NodeSpec {
        NodeSpec {
            name: "n".to_owned(),
            allocatable: vec![("cpu".to_owned(), cpu)],
            ..NodeSpec::default()
        }
    }

    #[test]
    fn a_node_has_a_presence_for_each_thing_that_it_was() {
        let mut places = Places::default();
        places.node(&node(4), Time(0));
        places.node(&node(4), Time(1));
        places.node(&node(8), Time(2));
        places.node_gone("n", Time(3));
        places.node(&node(4), Time(5));
        let told: Vec<_> = places
            .presences
            .iter()
            .map(|one| (one.offers, one.from, one.to))
            .collect();
        let expected = [
            (0, Time(0), Some(Time(2))),
            (1, Time(2), Some(Time(3))),
            (0, Time(5), None),
        ];
        assert_eq!(told, expected);
        assert_eq!(places.nodes.len(), 1);
    }

    #[test]
    fn what_is_kept_is_bounded_and_it_is_known_from_when_on() {
        let mut places = Places::default();
        let takes = Takes::default();
        for line in 0..=MAX_STAYS {
            places.take(line, "n", None, &takes, Time(line as u64));
        }
        assert_eq!(places.stays.len(), MAX_STAYS);
        assert_eq!(places.full_at, Some(Time(MAX_STAYS as u64)));
        // What is known still ends.
        places.leave(0, Time(1_000_000));
        assert_eq!(places.stays[0].to, Some(Time(1_000_000)));
        assert_eq!((places.takes.len(), places.nodes.len()), (1, 1));
    }
}
