//! `OneProfile`: a gang is scheduled by one profile.

use crate::framework::{Plugin, PreEnqueue};
use crate::state::{ClusterState, Gang};
use muster_model::Why;

/// Holds back gangs whose pods name schedulers of different profiles: which of them would choose their
/// nodes? It runs only where there are several profiles.
#[derive(Debug)]
pub(super) struct OneProfile {
    /// What people know the profiles by, by their numbers.
    pub(super) names: Vec<String>,
}

impl Plugin for OneProfile {
    fn name(&self) -> &'static str {
        "OneProfile"
    }
}

impl PreEnqueue for OneProfile {
    fn holds_back(&self, state: &ClusterState, gang: &Gang) -> Option<Why> {
        let own = state.profile_of(gang);
        let mut members = gang.members.iter();
        let first = state.pod(*gang.members.first()?)?;
        let other = members.find(|pod| state.profile_of_pod(**pod) != own)?;
        let name = |id: u8| self.names.get(usize::from(id)).map_or("", String::as_str);
        let message = format!(
            "pod {} has profile {}, and pod {} has profile {}: all pods of a gang have one \
             (spec.schedulerName chooses it)",
            first.key.name,
            name(own.0),
            state.pod(*other)?.key.name,
            name(state.profile_of_pod(*other).0),
        );
        Some(Why::new("MixedProfiles", &message))
    }
}
