//! Admission: a gang that says how much room it needs is let in when that much is free.

use super::Cycle;
use crate::state::GangId;
use muster_model::Why;
use muster_model::resources::Dimension;

/// Admits the gang if its `minResources` fit into what is free and not set aside for others
/// admitted before.
///
/// # Errors
/// Which resource is short, and by how much.
pub(super) fn admit(cx: &mut Cycle<'_>, gang_id: GangId) -> Result<(), Why> {
    let gang = &cx.state[gang_id];
    // Who holds something was let in before, if not by us.
    let asks = if gang.available() > 0 {
        Vec::new()
    } else {
        gang.min_resources.iter().collect()
    };
    for (dimension, wanted) in asks {
        let wanted = wanted.saturating_sub(gang.in_use.get(dimension));
        let free = cx.state.nodes().total_free(dimension);
        let set_aside = cx.state.set_aside_for_others(gang_id, dimension);
        let left = free.saturating_sub(set_aside).max(0);
        if wanted > left {
            let name = cx.state.dimensions().name(dimension);
            let unit = if dimension == Dimension::CPU { "m" } else { "" };
            let message = format!(
                "minResources: {wanted}{unit} {name} wanted, {left}{unit} free \
                 ({set_aside}{unit} set aside for gangs admitted before)"
            );
            return Err(Why::new("NotEnoughResources", &message));
        }
    }
    cx.state.admit(gang_id);
    let progress = cx.agenda.progress_mut(gang_id);
    progress.admitted = true;
    progress.not_admitted = None;
    Ok(())
}
