//! Who is on the way off a node already.

use crate::actions::Agenda;
use crate::state::{ClusterState, Eviction, PodId};
use std::collections::BTreeSet;

/// The pods that take room on a node and are on their way off it.
pub(in crate::actions) fn leaving(state: &ClusterState, agenda: &Agenda) -> BTreeSet<PodId> {
    let released = agenda.releasing().filter_map(|gang| state.gang(gang));
    let released = released.flat_map(|gang| gang.members.iter().copied());
    let goes = |id: &PodId| {
        let Some(pod) = state.pod(*id).filter(|pod| pod.room().is_some()) else {
            return false;
        };
        pod.terminating || !matches!(pod.eviction, Eviction::CameBack(_))
    };
    released.chain(state.departing()).filter(goes).collect()
}
