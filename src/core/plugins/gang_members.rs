//! `GangMembers`: a gang waits until enough of its members exist and may be scheduled.

use crate::core::framework::{Plugin, PreEnqueue};
use crate::core::state::{ClusterState, Gang, Standing, Subgroup, Why};

/// Holds back gangs of which too few members exist or could be placed.
#[derive(Debug)]
pub(super) struct GangMembers;

impl Plugin for GangMembers {
    fn name(&self) -> &'static str {
        "GangMembers"
    }
}

impl PreEnqueue for GangMembers {
    fn holds_back(&self, state: &ClusterState, gang: &Gang) -> Option<Why> {
        let short = |one: &&Subgroup| one.missing(one.min) > one.counts.of(Standing::Pending);
        if let Some(subgroup) = gang.subgroups.iter().find(short) {
            let exist = subgroup.available() + subgroup.counts.of(Standing::Pending);
            return Some(explain(state, gang, &subgroup.name, exist, subgroup.min));
        }
        let counts = gang.counts();
        if gang.missing() > counts.of(Standing::Pending) {
            let exist = gang.available() + counts.of(Standing::Pending);
            return Some(explain(state, gang, "", exist, gang.min_available()));
        }
        None
    }
}

/// Says what holds back the members that are missing.
fn explain(state: &ClusterState, gang: &Gang, subgroup: &str, exist: u32, of: u32) -> Why {
    let part = if subgroup.is_empty() {
        String::new()
    } else {
        format!(" of subgroup {subgroup}")
    };
    let counts = gang.counts();
    let mut members = gang.members.iter().filter_map(|id| state.pod(*id));
    if counts.of(Standing::Refused) > 0 {
        let refused = members.find(|pod| state.standing(pod) == Standing::Refused);
        let name = refused.map_or("", |pod| &pod.key.name);
        let message = refused
            .and_then(|pod| pod.refusal.clone())
            .unwrap_or_default();
        return Why::new(
            "BindRefused",
            format!("binding pod {name} was refused: {message}"),
        );
    }
    if counts.of(Standing::Gated) > 0 {
        let gated = members.find(|pod| state.standing(pod) == Standing::Gated);
        let name = gated.map_or("", |pod| &pod.key.name);
        let gate = gated
            .and_then(|pod| pod.gates.first().cloned())
            .unwrap_or_default();
        let message = format!("pod {name} is held back by scheduling gate {gate}");
        return Why::new("SchedulingGated", message);
    }
    Why::new("NotEnoughPods", format!("{exist} of {of} pods{part} exist"))
}
