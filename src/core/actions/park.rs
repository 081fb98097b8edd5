//! Putting aside a gang that found no place.

use super::Cycle;
use super::agenda::{Likeness, Want};
use super::claims::reserved;
use super::company::note_hope;
use super::order::order_key;
use super::reservation;
use crate::state::{Closeness, Counts, Gang, GangId, Subgroup, View};
use muster_model::Why;

/// Puts a gang aside, until something changes that could help it, for a reason of its own.
pub(super) fn park(cx: &mut Cycle<'_>, gang_id: GangId, why: Why) {
    reserved::cancel(cx, gang_id);
    put_aside(cx, gang_id, why);
}

/// The same for a gang that found no room, as no other with its want will.
pub(super) fn park_without_room(cx: &mut Cycle<'_>, gang_id: GangId, want: Option<Want>, why: Why) {
    cx.agenda.found_no_room(gang_id, want);
    put_aside(cx, gang_id, why);
}

fn put_aside(cx: &mut Cycle<'_>, gang_id: GangId, mut why: Why) {
    if let Some(gang) = cx.state.gang(gang_id) {
        for plugin in &cx.profiles.of(cx.state, gang).post_filter {
            let waiting = &mut cx.claims.waiting;
            if let Some(more) = plugin.post_filter(cx.state, gang, waiting) {
                why = Why::new(why.reason, &format!("{} {more}", why.message));
            }
        }
    }
    let (key, likeness) = (order_key(cx, gang_id), likeness_of(cx, gang_id));
    let mark = cx.state.nodes().mark();
    let note = cx.agenda.note_mut(gang_id);
    note.why = Some(why);
    note.tried.words_mark = mark;
    note_hope(cx, gang_id, likeness.map(|one| one.shape));
    cx.agenda.park(cx.state, key, likeness);
}

/// What a gang wants that may take so much of the room; `None` for one like no other.
pub(super) fn want_of(cx: &Cycle<'_>, gang_id: GangId, view: View) -> Option<Want> {
    Some(likeness_of(cx, gang_id)?.with(view))
}

/// What a gang wants, where its members to place are all equal and nothing but their shape says
/// which nodes suit them.
fn likeness_of(cx: &Cycle<'_>, gang_id: GangId) -> Option<Likeness> {
    let gang = &cx.state[gang_id];
    let subgroup = only_subgroup(gang)?;
    let admitted = cx.agenda.note(gang_id).admitted;
    let claims = &cx.claims;
    let held = claims.nominated.contains(&gang_id) || claims.reserved.contains_key(&gang_id);
    let held = held || claims.moves.holds_for(gang_id) || cx.state.held_for(gang_id).is_some();
    let profile = cx.profile_of(gang_id);
    if held || !admitted || !profile.gang_domains.is_empty() {
        return None;
    }
    // Who runs in part has to be near those who run.
    let near = cx.state.closeness(gang, subgroup).ok()?;
    let limit = near.and_then(Closeness::limit);
    let alone = limit.is_some() && !subgroup.on.is_empty();
    if alone || cx.state.closeness_of_all(gang) != Ok(None) {
        return None;
    }
    let shape = gang.pending.only_class()?.shape;
    if !profile.is_confined(cx.state.shapes().get(shape)?) {
        return None;
    }
    Some(Likeness {
        shape,
        size: gang.missing().max(1),
        tier: reservation::tier_of(cx, gang_id),
        stay: reservation::stay_of(cx, gang_id),
        limit,
    })
}

/// The only subgroup that has members, or needs some.
fn only_subgroup(gang: &Gang) -> Option<&Subgroup> {
    let counts = |one: &&Subgroup| one.min > 0 || one.counts != Counts::default();
    match gang.subgroups.as_slice() {
        [only] => Some(only),
        many => {
            let mut counting = many.iter().filter(counts);
            counting.next().filter(|_| counting.next().is_none())
        }
    }
}
