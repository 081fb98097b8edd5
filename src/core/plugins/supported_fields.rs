//! `SupportedFields`: no pod is scheduled against a field that cannot be honoured.

use crate::framework::{Plugin, PreEnqueue};
use crate::state::{ClusterState, Gang};
use muster_model::Why;

/// Holds back gangs that lack members to their minimum because some use what this version cannot
/// honour, and names the field.
#[derive(Debug)]
pub(super) struct SupportedFields;

impl Plugin for SupportedFields {
    fn name(&self) -> &'static str {
        "SupportedFields"
    }
}

impl PreEnqueue for SupportedFields {
    fn holds_back(&self, state: &ClusterState, gang: &Gang) -> Option<Why> {
        let pending = u32::try_from(gang.pending.len()).unwrap_or(u32::MAX);
        if pending >= gang.missing().max(1) {
            return None;
        }
        let mut members = gang.members.iter().filter_map(|id| state.pod(*id));
        let stuck =
            members.find(|pod| pod.place.node().is_none() && !pod.facts.unsupported.is_empty())?;
        let (pod, field) = (&stuck.key.name, stuck.facts.unsupported.first()?);
        let message = if gang.is_single() {
            format!("not supported: {field}")
        } else {
            format!("pod {pod}: not supported: {field}")
        };
        Some(Why::new("Unsupported", &message))
    }
}
