//! The nodes that a set of constraints allows, kept between placements.
//!
//! Filters that look only at a node's facts are asked once per constraints and node; a node is
//! asked about again when its facts changed.

use crate::framework::{Context, Filter, Scope, Verdict};
use crate::state::{Gone, Id, NodeId, NodeSet};
use std::collections::BTreeMap;
use std::sync::Arc;

/// In all sets together there may be room for so many nodes: 32 MiB.
const MAX_NODES: usize = 32 << 23;

/// Verdicts for one set of constraints.
#[derive(Debug, Default)]
struct Mask {
    nodes: NodeSet,
    /// The nodes' version up to which it is right.
    version: u64,
    /// How far it has read in the log of touched nodes.
    cursor: u64,
    /// When it was last asked.
    asked: u64,
}

/// Verdicts by constraints.
#[derive(Debug, Default)]
pub(super) struct Masks {
    /// By the constraints' serial number.
    masks: BTreeMap<u64, Mask>,
    clock: u64,
    /// Of constraints that nobody has.
    none: NodeSet,
}

impl Masks {
    /// Forgets constraints that nobody has any more.
    pub(super) fn forget(&mut self, gone: &Gone<'_>) {
        gone.forget(&mut self.masks);
    }

    /// How many sets of nodes are kept.
    pub(super) fn len(&self) -> usize {
        self.masks.len()
    }

    /// Forgets the half that was not asked for longest, if there are too many for so many nodes.
    fn make_room(&mut self, nodes: usize) {
        if (self.masks.len() + 1) * nodes <= MAX_NODES {
            return;
        }
        let mut asked: Vec<u64> = self.masks.values().map(|one| one.asked).collect();
        let middle = asked.len() / 2;
        let (_, middle, _) = asked.select_nth_unstable(middle);
        let since = *middle;
        self.masks.retain(|_, one| one.asked > since);
    }

    /// The nodes that the pod's constraints allow, present or not.
    pub(super) fn allowed(&mut self, filters: &[Arc<dyn Filter>], cx: &Context<'_>) -> &NodeSet {
        let constraints = cx.shape.constraints;
        let Some(serial) = cx.state.shapes().constraints_serial(constraints) else {
            return &self.none;
        };
        if !self.masks.contains_key(&serial) {
            self.make_room(cx.state.nodes().len());
        }
        self.clock += 1;
        let mask = self.masks.entry(serial).or_default();
        mask.asked = self.clock;
        let nodes = cx.state.nodes();
        if mask.version < nodes.version() {
            let known = nodes.touched().since(mask.cursor);
            let before = mask.version;
            let look = |node| {
                if nodes.facts_version(node) > before {
                    mask.nodes.set(node, fits(filters, cx, node));
                }
            };
            let is_new = before == 0;
            let at_most = || lasting(filters, cx).find_map(|one| one.at_most(cx));
            if let Some(touched) = known.filter(|_| !is_new) {
                touched.iter().copied().for_each(look);
            } else if let Some((only, _)) = is_new.then(at_most).flatten() {
                // Who is not asked is not in it.
                only.iter().for_each(look);
            } else {
                (0..nodes.len()).map(NodeId::from_index).for_each(look);
            }
            (mask.version, mask.cursor) = (nodes.version(), nodes.touched().end());
        }
        &mask.nodes
    }
}

fn fits(filters: &[Arc<dyn Filter>], cx: &Context<'_>, node: NodeId) -> bool {
    lasting(filters, cx).all(|one| one.check(cx, node) == Verdict::Fit)
}

/// The filters whose verdicts last.
fn lasting<'a>(
    filters: &'a [Arc<dyn Filter>],
    cx: &Context<'_>,
) -> impl Iterator<Item = &'a Arc<dyn Filter>> {
    let of_facts = |one: &&Arc<dyn Filter>| one.scope(cx.shape) == Scope::NodeFacts;
    filters.iter().filter(of_facts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_there_are_too_many_those_that_were_not_asked_for_longest_go() {
        const NODES: usize = 1 << 20;
        let mut masks = Masks::default();
        for serial in 0..1_000 {
            masks.make_room(NODES);
            masks.clock += 1;
            let mask = masks.masks.entry(serial).or_default();
            mask.asked = masks.clock;
            assert!(masks.len() * NODES <= MAX_NODES);
            assert!(masks.masks.contains_key(&serial));
            // This one is asked for again and again.
            masks.clock += 1;
            let first = masks.masks.get_mut(&0).unwrap();
            first.asked = masks.clock;
        }
        assert!(masks.len() > MAX_NODES / NODES / 3);
        masks.forget(&Gone::AllBut([0, 999].into()));
        assert_eq!(masks.masks.keys().collect::<Vec<_>>(), [&0, &999]);
    }
}
