//! Asking binds back that were ordered and may not be sent yet.

use super::Cycle;
use crate::state::{GangId, PodId};

/// Asks back the binds of a gang that are on their way. Each is still answered: as given back
/// unsent where it was not sent, else by what became of it.
pub(super) fn recall(cx: &mut Cycle<'_>, gang_id: GangId) {
    let gang = &cx.state[gang_id];
    let unasked = |id: &PodId| cx.state.pod(*id).is_some_and(|pod| !pod.recalled);
    let mut pods: Vec<PodId> = cx.state.assumed_members(gang);
    pods.retain(unasked);
    for id in pods {
        if let Some(pod) = cx.state.pod(id) {
            cx.orders.recalls.push(pod.key.clone());
        }
        cx.state.set_recalled(id);
    }
}
