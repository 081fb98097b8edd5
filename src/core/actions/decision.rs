//! What was decided, as it is said of a gang.

use crate::state::{ClusterState, GangId};
use muster_model::{Decision, Outcome};

/// What was decided on a gang.
pub(crate) fn decision_on(state: &ClusterState, id: GangId, outcome: Outcome) -> Decision {
    let gang = state.gang(id).filter(|gang| !gang.is_single());
    Decision {
        gang: state.gang_title(id),
        group: gang.map(|gang| gang.key.clone()),
        queue: state.queue_name(id).to_owned(),
        outcome,
    }
}
