//! The nodes that a set of constraints allows, kept between placements.
//!
//! Filters that look only at a node's facts are asked once per constraints and node; a node is
//! asked about again when its facts changed.

use crate::core::framework::{Context, Filter, Scope, Verdict};
use crate::core::model::Constraints;
use crate::core::state::{Id, NodeId, NodeSet};
use std::sync::Arc;

/// Verdicts for one set of constraints.
#[derive(Debug, Default)]
struct Mask {
    nodes: NodeSet,
    /// The nodes' version up to which it is right.
    version: u64,
    /// The constraints it is about: ids are given out again.
    meaning: Option<Constraints>,
}

/// Verdicts by constraints.
#[derive(Debug, Default)]
pub struct Masks {
    masks: Vec<Mask>,
}

impl Masks {
    /// The nodes that the pod's constraints allow, present or not.
    pub fn allowed(&mut self, filters: &[Arc<dyn Filter>], cx: &Context<'_>) -> &NodeSet {
        let index = cx.shape.constraints.index();
        if self.masks.len() <= index {
            self.masks.resize_with(index + 1, Mask::default);
        }
        let mask = &mut self.masks[index];
        let meaning = cx.state.shapes().constraints(cx.shape.constraints);
        if mask.meaning.as_ref() != meaning {
            *mask = Mask {
                meaning: meaning.cloned(),
                ..Mask::default()
            };
        }
        let nodes = cx.state.nodes();
        if mask.version < nodes.version() {
            for node in (0..nodes.len()).map(NodeId::from_index) {
                if nodes.facts_version(node) > mask.version {
                    mask.nodes.set(node, fits(filters, cx, node));
                }
            }
            mask.version = nodes.version();
        }
        &mask.nodes
    }
}

fn fits(filters: &[Arc<dyn Filter>], cx: &Context<'_>, node: NodeId) -> bool {
    let mut lasting = filters.iter().filter(|one| one.scope() == Scope::NodeFacts);
    lasting.all(|one| one.check(cx, node) == Verdict::Fit)
}
