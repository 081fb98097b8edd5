//! What is next for a gang that is neither held nor released: the queue, news, or nothing.

use super::Cycle;
use super::admit;
use super::claims::{nominated, reserved};
use super::notes::Stage;
use super::order::queue;
use super::recall::recall;
use crate::state::{Gang, GangId, Standing};
use muster_model::resources::Tally;
use muster_model::{Why, counted};

/// Puts a gang into the queue if it has something to place and nothing holds it back.
pub(super) fn queue_or_wait(cx: &mut Cycle<'_>, gang_id: GangId) {
    let gang = &cx.state[gang_id];
    if let Some(why) = held_back(cx, gang, true) {
        cx.state.give_up_room(gang_id);
        let note = cx.agenda.note_mut(gang_id);
        note.admitted = false;
        if cx.state[gang_id].available() == 0 {
            note.let_in_on = None;
        }
        note.not_admitted = Some(why.clone());
        return wait(cx, gang_id, why);
    }
    if asks_as_pods(cx, gang_id) {
        if !cx.agenda.note(gang_id).admitted {
            // What others were leaving for it they leave for its members.
            nominated::give_up(cx, gang_id);
        }
        admit::let_in(cx, gang_id);
        if cx.state[gang_id].min_resources.is_empty() {
            cx.state.give_up_room(gang_id);
        }
    } else if cx.state[gang_id].available() > 0 && !cx.agenda.note(gang_id).admitted {
        admit::admit_who_has_begun(cx, gang_id);
    } else if has_lost_room(cx, gang_id) {
        cx.agenda.note_mut(gang_id).admitted = false;
    }
    let gang = &cx.state[gang_id];
    if !cx.agenda.note(gang_id).admitted {
        return queue(cx, gang_id);
    }
    let missing = gang.missing();
    let can_grow = can_grow(gang);
    if missing == 0 {
        nominated::give_up(cx, gang_id);
        reserved::cancel(cx, gang_id);
        nominated::note_refusals(cx, gang_id);
    }
    if missing == 0 && !can_grow {
        cx.state.forget_advice(gang_id);
        cx.agenda.note_mut(gang_id).why = at_its_maximum(&cx.state[gang_id]);
        let agenda = &mut *cx.agenda;
        return agenda.set_stage(cx.state, gang_id, Stage::Settled);
    }
    let gang = &cx.state[gang_id];
    let why = held_back(cx, gang, false);
    let why = why.or_else(|| held_back_growth(cx, gang).filter(|_| missing == 0));
    match why {
        Some(why) => {
            if missing > 0 {
                // Without news it will not be whole: what is not bound yet need not be.
                recall(cx.state, &mut cx.orders, gang_id);
            }
            wait(cx, gang_id, why);
        }
        None => queue(cx, gang_id),
    }
}

/// Whether a gang asks for no room but that of its members that are there, or comes back to a place that is
/// held for it.
fn asks_as_pods(cx: &Cycle<'_>, gang_id: GangId) -> bool {
    cx.state.room_for_others_of(gang_id).is_empty() || cx.claims.moves.holds_for(gang_id)
}

/// Whether less is held for a gang, of which nobody has a node yet, than it was admitted on: a node is gone, or
/// it asks for more.
fn has_lost_room(cx: &Cycle<'_>, gang_id: GangId) -> bool {
    if cx.state[gang_id].available() > 0 {
        return false;
    }
    let wanted = cx.state.room_wanted(gang_id);
    cx.state.beyond_what_is_held(gang_id, wanted) != Tally::default()
}

/// Has a gang wait for news.
pub(super) fn wait(cx: &mut Cycle<'_>, gang_id: GangId, why: Why) {
    nominated::give_up(cx, gang_id);
    reserved::cancel(cx, gang_id);
    let note = cx.agenda.note_mut(gang_id);
    note.forget_try();
    note.why = Some(why);
    cx.agenda.set_stage(cx.state, gang_id, Stage::Waiting);
}

/// What the plugins say that guard admission, or the others.
pub(super) fn held_back(cx: &Cycle<'_>, gang: &Gang, admission: bool) -> Option<Why> {
    let plugins = cx.profiles.of(cx.state, gang).pre_enqueue.iter();
    let mut plugins = plugins.filter(|plugin| plugin.guards_admission() == admission);
    plugins.find_map(|plugin| plugin.holds_back(cx.state, gang))
}

/// What the plugins say that keep it from getting members beyond its minimum.
fn held_back_growth(cx: &Cycle<'_>, gang: &Gang) -> Option<Why> {
    let mut plugins = cx.profiles.of(cx.state, gang).pre_enqueue.iter();
    plugins.find_map(|plugin| plugin.holds_back_growth(cx.state, gang))
}

/// Whether a member could be placed beyond the minimum.
fn can_grow(gang: &Gang) -> bool {
    let mut subgroups = gang.subgroups.iter();
    subgroups.any(|one| one.counts.of(Standing::Pending) > 0 && gang.room_to_grow(one) > 0)
}

/// Why members wait of a gang that has all it may have.
fn at_its_maximum(gang: &Gang) -> Option<Why> {
    let mut subgroups = gang.subgroups.iter();
    let full = subgroups.find(|one| one.counts.of(Standing::Pending) > 0)?;
    let message = match gang.definition().and_then(|spec| spec.replicas) {
        Some(most) if full.room() > 0 => {
            let most = counted(most as usize, "member");
            format!("the PodGroup's replicas let {most} run at once")
        }
        _ => format!(
            "at most {} members of subgroup {} may run at once",
            full.max, full.name
        ),
    };
    Some(Why::new("AtMaximum", &message))
}
