//! The nodes that a set of constraints allows, kept between placements.
//!
//! Filters that look only at a node's facts are asked once per constraints and node; a node is
//! asked about again when its facts changed.

use crate::framework::{Context, Filter, Scope, Verdict};
use crate::state::{Id, NodeId, NodeSet};
use std::sync::Arc;

/// Verdicts for one set of constraints.
#[derive(Debug, Default)]
struct Mask {
    nodes: NodeSet,
    /// The nodes' version up to which it is right.
    version: u64,
    /// How far it has read in the log of touched nodes.
    cursor: u64,
    /// The serial number of the constraints it is about: ids are given out again.
    serial: Option<u64>,
}

/// Verdicts by constraints.
#[derive(Debug, Default)]
pub(super) struct Masks {
    masks: Vec<Mask>,
}

impl Masks {
    /// The nodes that the pod's constraints allow, present or not.
    pub(super) fn allowed(&mut self, filters: &[Arc<dyn Filter>], cx: &Context<'_>) -> &NodeSet {
        let index = cx.shape.constraints.index();
        if self.masks.len() <= index {
            self.masks.resize_with(index + 1, Mask::default);
        }
        let mask = &mut self.masks[index];
        let serial = cx.state.shapes().constraints_serial(cx.shape.constraints);
        if mask.serial != serial {
            *mask = Mask {
                serial,
                ..Mask::default()
            };
        }
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
