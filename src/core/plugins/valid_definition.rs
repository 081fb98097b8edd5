//! `ValidDefinition`: a gang needs a PodGroup that can be valid.

use crate::framework::{Plugin, PreEnqueue};
use crate::state::{ClusterState, Gang};
use muster_model::Why;

/// Holds back gangs whose PodGroup does not exist, or cannot be valid.
#[derive(Debug)]
pub(super) struct ValidDefinition;

impl Plugin for ValidDefinition {
    fn name(&self) -> &'static str {
        "ValidDefinition"
    }
}

impl PreEnqueue for ValidDefinition {
    fn guards_admission(&self) -> bool {
        true
    }

    fn holds_back(&self, _state: &ClusterState, gang: &Gang) -> Option<Why> {
        let Some(spec) = gang.definition() else {
            let missing = || format!("{} {} does not exist", gang.key.space.kind(), gang.key);
            return (!gang.is_single()).then(|| Why::new("PodGroupNotFound", &missing()));
        };
        spec.invalid
            .as_ref()
            .map(|message| Why::new("Invalid", message))
    }
}
