//! `GangMembers`: a gang waits until enough of its members exist and may be scheduled.

use crate::framework::{Plugin, PreEnqueue};
use crate::state::{ClusterState, Counts, Gang, Standing, Subgroup};
use muster_model::Why;

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
            let useful = subgroup.available() + subgroup.counts.of(Standing::Pending);
            let part = Part {
                name: &subgroup.name,
                counts: subgroup.counts,
                useful,
                min: subgroup.min,
            };
            return Some(explain(state, gang, &part));
        }
        let counts = gang.counts();
        if gang.missing() > counts.of(Standing::Pending) {
            let part = Part {
                name: "",
                counts,
                useful: gang.available() + counts.of(Standing::Pending),
                min: gang.min_available(),
            };
            return Some(explain(state, gang, &part));
        }
        None
    }
}

/// The gang or the subgroup that lacks members.
struct Part<'a> {
    /// Empty for the whole gang.
    name: &'a str,
    counts: Counts,
    /// Members that count, or could.
    useful: u32,
    min: u32,
}

/// Says what holds back the members that are missing.
fn explain(state: &ClusterState, gang: &Gang, part: &Part<'_>) -> Why {
    let counts = gang.counts();
    let mut members = gang.members.iter().filter_map(|id| state.pod(*id));
    if counts.of(Standing::GivenUp) > 0 {
        let came_back = members
            .clone()
            .filter(|pod| state.standing(pod) == Standing::GivenUp);
        let setbacks = came_back.filter_map(|pod| Some((&pod.key.name, pod.setback.as_ref()?)));
        // Who was refused can do something about it.
        if let Some((name, setback)) = setbacks.min_by_key(|(_, setback)| !setback.refused) {
            let message = &setback.message;
            return match setback.refused {
                true => Why::new(
                    "BindRefused",
                    &format!("binding pod {name} was refused: {message}"),
                ),
                false => Why::new(
                    "BindFailed",
                    &format!("binding pod {name} failed: {message}"),
                ),
            };
        }
    }
    if counts.of(Standing::Gated) > 0 {
        let gated = members.find(|pod| state.standing(pod) == Standing::Gated);
        let name = gated.map_or("", |pod| &pod.key.name);
        let gate = gated
            .and_then(|pod| pod.facts.gates.first().cloned())
            .unwrap_or_default();
        let message = format!("pod {name} is held back by scheduling gate {gate}");
        return Why::new("SchedulingGated", &message);
    }
    Why::new("NotEnoughPods", &too_few(part))
}

/// `2 of 4 pods exist`, with what became of those that exist and do not count.
fn too_few(part: &Part<'_>) -> String {
    let of = if part.name.is_empty() {
        String::new()
    } else {
        format!(" of subgroup {}", part.name)
    };
    let counts = part.counts;
    let lost: Vec<String> = [
        (Standing::Leaving, "leaving"),
        (Standing::Going, "being deleted"),
        (Standing::Failed, "failed"),
        (Standing::Unsupported, "not supported"),
    ]
    .into_iter()
    .filter(|(standing, _)| counts.of(*standing) > 0)
    .map(|(standing, what)| format!("{} {what}", counts.of(standing)))
    .collect();
    let (useful, min) = (part.useful, part.min);
    if lost.is_empty() {
        return format!("{useful} of {min} pods{of} exist");
    }
    format!(
        "{useful} of {min} pods{of} can run; the others: {}",
        lost.join(", ")
    )
}
