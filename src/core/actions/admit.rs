//! Admission: a gang that says how much room it needs is let in when that much is free.

use super::Cycle;
use crate::core::resources::Dimension;
use crate::core::state::{ClusterState, GangId, PodId, Why};

/// Admits the gang if its `minResources` fit into what is free and not set aside for others
/// admitted before.
///
/// # Errors
/// Which resource is short, and by how much.
pub(super) fn admit(cx: &mut Cycle<'_>, gang_id: GangId) -> Result<(), Why> {
    let Some(gang) = cx.state.gang(gang_id) else {
        return Ok(());
    };
    for (dimension, wanted) in gang.min_resources.iter() {
        let wanted = wanted.saturating_sub(in_use(cx.state, gang_id, dimension));
        let free = cx.state.nodes().total_free(dimension);
        let others = cx.agenda.admitted.iter().filter(|other| **other != gang_id);
        let set_aside = others
            .map(|other| outstanding(cx.state, *other, dimension))
            .fold(0_i64, i64::saturating_add);
        let left = free.saturating_sub(set_aside).max(0);
        if wanted > left {
            let name = cx.state.dimensions().name(dimension);
            let unit = if dimension == Dimension::CPU { "m" } else { "" };
            let message = format!(
                "minResources: {wanted}{unit} {name} wanted, {left}{unit} free \
                 ({set_aside}{unit} set aside for gangs admitted before)"
            );
            return Err(Why::new("NotEnoughResources", message));
        }
    }
    cx.agenda.admitted.insert(gang_id);
    let progress = cx.state.progress_mut(gang_id);
    progress.admitted = true;
    progress.not_admitted = None;
    Ok(())
}

/// What an admitted gang has not used yet of its `minResources`.
fn outstanding(state: &ClusterState, gang: GangId, dimension: Dimension) -> i64 {
    let wanted = state
        .gang(gang)
        .map_or(0, |gang| gang.min_resources.get(dimension));
    wanted.saturating_sub(in_use(state, gang, dimension)).max(0)
}

/// What the gang's members hold on nodes.
fn in_use(state: &ClusterState, gang: GangId, dimension: Dimension) -> i64 {
    let Some(gang) = state.gang(gang) else {
        return 0;
    };
    let amount = |id: &PodId| {
        let placed = state
            .pod(*id)
            .is_some_and(|pod| pod.place.node().is_some() && pod.uses_room());
        let shape = state.shape_of(*id).filter(|_| placed);
        shape.map_or(0, |shape| shape.request.get(dimension))
    };
    gang.members.iter().map(amount).fold(0, i64::saturating_add)
}
