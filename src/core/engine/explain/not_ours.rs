//! A group that is not ours: whose it is, and nothing else.

use crate::state::ClusterState;
use muster_model::explanation::{GangExplanation, NotOurs};
use muster_model::units::Time;
use muster_model::{Code, GangKey};

/// Explains a group that is defined and not ours; `None` where there is none.
pub(super) fn explain(state: &ClusterState, key: &GangKey, now: Time) -> Option<GangExplanation> {
    let source = state.definition_of_others(key)?.source;
    let by_pods = state.other_scheduler(key).map(|(_, scheduler)| scheduler);
    let scheduler = by_pods.or_else(|| source.scheduler()).unwrap_or_default();
    Some(GangExplanation {
        kind: Code::new("PodGroup"),
        namespace: key.namespace.clone(),
        name: key.name.clone(),
        as_of: now,
        not_ours: Some(NotOurs {
            scheduler: scheduler.to_owned(),
            by_pods: by_pods.is_some(),
        }),
        ..GangExplanation::default()
    })
}
