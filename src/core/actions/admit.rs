//! Admission: a gang that says how much room it needs for members that are not there yet is let in when
//! that much is free, and has it from then on.

use super::Cycle;
use super::asks::members_to_come;
use super::claims::held;
use crate::placement::{amount_in_words, fits, room_for};
use crate::state::{ClusterState, GangId, RoomOn};
use crate::transaction::Statement;
use muster_model::Why;
use muster_model::resources::{Dimension, Tally};

/// Admits a gang if there is room for what it asks for beyond its members, which is held for it then.
///
/// # Errors
/// Which resource is short, and by how much.
pub(super) fn admit(cx: &mut Cycle<'_>, gang_id: GangId) -> Result<(), Why> {
    let wanted = cx.state.room_wanted(gang_id);
    match find(cx, gang_id, &wanted) {
        Ok(on) => {
            held::hold(cx, gang_id, on);
            let_in(cx, gang_id);
            let definition = cx.state[gang_id].definition();
            let amounts = definition.map(|spec| spec.min_resources.clone());
            cx.agenda.note_mut(gang_id).let_in_on = Some(amounts.unwrap_or_default());
            Ok(())
        }
        Err(free) => Err(short(cx, gang_id, &wanted, &free)),
    }
}

/// Admits a gang without more ado: what it asks for its members ask as pods, or it has begun, by whoever's
/// leave. What is free of what it asks for is held for it all the same.
pub(super) fn admit_who_has_begun(cx: &mut Cycle<'_>, gang_id: GangId) {
    let wanted = cx.state.room_wanted(gang_id);
    let_in(cx, gang_id);
    if !cx.state.has_room_held(gang_id)
        && let Ok(on) = find(cx, gang_id, &wanted)
    {
        held::hold(cx, gang_id, on);
    }
}

/// It takes part from now on.
pub(super) fn let_in(cx: &mut Cycle<'_>, gang_id: GangId) {
    cx.state.begin_to_have(gang_id);
    let note = cx.agenda.note_mut(gang_id);
    note.admitted = true;
    note.let_in_on.get_or_insert_default();
    note.not_admitted = None;
}

/// Room for it: where it is held already, if it is free there by now.
fn find(cx: &mut Cycle<'_>, gang_id: GangId, wanted: &Tally) -> Result<RoomOn, Tally> {
    let members = members_to_come(cx.state, gang_id);
    let mut statement = Statement::new(cx.state);
    let held = statement.lift_claims(gang_id);
    let state = statement.state();
    match held {
        Some(held) if held.sum() == *wanted && fits(state, gang_id, &held.on) => Ok(held.on),
        _ => room_for(state, gang_id, wanted, members),
    }
}

/// ` (10 cpu held for other gangs)`, of what a gang lacks; nothing where that is not so.
pub(super) fn held_in_words(
    state: &ClusterState,
    gang_id: GangId,
    lacks: impl IntoIterator<Item = Dimension>,
) -> String {
    let held = lacks.into_iter().filter_map(|dimension| {
        let held = state.held_for_others(gang_id, dimension);
        (held > 0).then(|| amount_in_words(state, dimension, held))
    });
    let held: Vec<String> = held.collect();
    match held.as_slice() {
        [] => String::new(),
        held => format!(" ({} held for other gangs)", held.join(", ")),
    }
}

/// In words what is short.
fn short(cx: &Cycle<'_>, gang_id: GangId, wanted: &Tally, free: &Tally) -> Why {
    let lacks = |(dimension, amount): &(Dimension, i64)| free.get(*dimension) < *amount;
    let Some((dimension, wanted)) = wanted.iter().find(lacks) else {
        return Why::new("NotEnoughResources", "minResources: no node may be used");
    };
    let amount = |amount| amount_in_words(cx.state, dimension, amount);
    let (wanted, free) = (amount(wanted), amount(free.get(dimension)));
    let held = held_in_words(cx.state, gang_id, [dimension]);
    let message = format!("minResources: {wanted} wanted, {free} free{held}");
    Why::new("NotEnoughResources", &message)
}
