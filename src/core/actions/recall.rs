//! Asking binds back that were ordered and may not be sent yet.

use super::Orders;
use crate::state::{ClusterState, GangId, PodId};

/// Asks back the binds of a gang that are on their way. Each is still answered: as given back
/// unsent where it was not sent, else by what became of it.
pub(super) fn recall(state: &mut ClusterState, orders: &mut Orders, gang_id: GangId) {
    let gang = &state[gang_id];
    let unasked = |id: &PodId| state.pod(*id).is_some_and(|pod| !pod.recalled);
    let mut pods: Vec<PodId> = state.assumed_members(gang);
    pods.retain(unasked);
    for id in pods {
        if let Some(pod) = state.pod(id) {
            orders.recalls.push(pod.key.clone());
        }
        state.set_recalled(id);
    }
}
