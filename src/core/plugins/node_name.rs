//! `NodeName`: a pod that names a node goes there or nowhere.

use crate::core::framework::{Context, Filter, Plugin, Reason, Scope, Verdict};
use crate::core::state::NodeId;

/// Filters by the pod's node name (source: kube-scheduler's plugin of this name).
#[derive(Debug)]
pub(super) struct NodeName;

impl Plugin for NodeName {
    fn name(&self) -> &'static str {
        "NodeName"
    }
}

impl Filter for NodeName {
    fn scope(&self) -> Scope {
        Scope::NodeFacts
    }

    fn check(&self, cx: &Context<'_>, node: NodeId) -> Verdict {
        let wanted = cx.state.shapes().constraints(cx.shape.constraints);
        let wanted = wanted.and_then(|one| one.node_name.as_deref());
        let differs = wanted.is_some_and(|name| name != cx.state.nodes().name(node));
        Verdict::fit_unless(differs, Reason::NodeName)
    }
}
