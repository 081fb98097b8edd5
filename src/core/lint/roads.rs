//! How far nodes are from each other by links, found anew from the links as they were declared.

use muster_model::TopologySpec;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

/// Links by the names of their ends.
#[derive(Clone, Debug, Default)]
pub(super) struct Roads {
    from: BTreeMap<String, Vec<(String, u32)>>,
}

impl Roads {
    pub(super) fn new(spec: &TopologySpec) -> Self {
        let mut from: BTreeMap<String, Vec<(String, u32)>> = BTreeMap::new();
        for link in &spec.links {
            for (one, other) in [(&link.a, &link.b), (&link.b, &link.a)] {
                let ways = from.entry(one.clone()).or_default();
                ways.push((other.clone(), link.cost));
            }
        }
        Self { from }
    }

    /// Two of some nodes that are further than so many hops from each other.
    pub(super) fn beyond(&self, nodes: &BTreeSet<String>, most: u32) -> Option<(String, String)> {
        nodes.iter().find_map(|one| {
            let within = self.within(one, most);
            let far = nodes.iter().find(|other| !within.contains(other.as_str()));
            far.map(|other| (one.clone(), other.clone()))
        })
    }

    /// Whatever is within so many hops.
    fn within(&self, start: &str, most: u32) -> BTreeSet<&str> {
        let mut seen = BTreeSet::new();
        let Some((start, _)) = self.from.get_key_value(start) else {
            return seen;
        };
        let mut next = BinaryHeap::from([Reverse((0_u64, start.as_str()))]);
        while let Some(Reverse((far, name))) = next.pop() {
            if far > u64::from(most) {
                break;
            }
            if !seen.insert(name) {
                continue;
            }
            for (other, cost) in self.from.get(name).into_iter().flatten() {
                if !seen.contains(other.as_str()) {
                    next.push(Reverse((far + u64::from(*cost), other)));
                }
            }
        }
        seen
    }
}
