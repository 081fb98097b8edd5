//! A place in the future for the gang that heads its queue and does not fit (source: mission,
//! "Backfill").
//!
//! Others may run ahead of it only if they do not delay it: they end before it starts, they leave its
//! place alone, or they give way at any time. What of its place is free now is kept ([`Kept`]); the
//! rest is free once those who hold it have reached the end of their lifetime. Where nobody knows
//! when that will be, a place is held only after the gang has waited for its queue's `reserveAfter`.
//!
//! Who reserved first is bound by nobody who reserved after it. A reservation is made anew whenever
//! its gang is tried again in vain, and that is when nodes change or others leave at another time.

mod onto;
mod search;

use muster_model::explanation::KeptFor;
use muster_model::units::Doubling;
pub(super) use onto::onto_kept;

use super::Cycle;
use super::claims::reserved::cancel;
use super::claims::{Claimant, Renewal, Reserved, Stay};
use super::heads::patience;
use super::notes::{Restless, Stage};
use super::order::{order_key, queue};
use super::terms::GRACE;
use crate::state::{GangId, Kept, NodeId, PodId, SLOTS, ShapeId, Standing, View};
use muster_model::resources::Tally;
use muster_model::units::{Millis, Time};
use muster_model::{Lifetime, Reservation as Policy, counted};
use search::Found;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A reservation whose time has come, and whose place is not free yet, is looked at again after this.
const OVERDUE: Millis = Millis(10_000);
/// An earlier time for a place that is not free now is looked for so often.
const PACE: Millis = Millis(1_000);
/// So often a reservation may change while the nodes stay as they are; then it rests,
const CHANGES: u32 = 16;
/// for so long, longer each time;
const RESTS: Doubling = Doubling {
    first: Millis(1_000),
    longest: Millis(300_000),
};
/// and after so long without a change that is forgotten.
const FORGOTTEN: Millis = Millis(600_000);

/// What a gang may take of the room that is free.
pub(super) fn view_of(cx: &Cycle<'_>, gang_id: GangId) -> View {
    if cx.claims.reserved.is_empty() && cx.claims.moves.holds.is_empty() {
        return View::OPEN;
    }
    cx.claims.views(cx.now).of(Claimant {
        key: order_key(cx, gang_id),
        tier: tier_of(cx, gang_id),
        stay: stay_of(cx, gang_id),
    })
}

/// For how long a gang would hold what it asks for.
pub(super) fn stay_of(cx: &Cycle<'_>, gang_id: GangId) -> Stay {
    let gang = &cx.state[gang_id];
    if gang.has_to_be_completed() {
        Stay::Completes
    } else if gang.lifetime.is_zero() {
        Stay::GivesWay
    } else if gang.missing() == 0 && cx.agenda.note(gang_id).admitted {
        Stay::Grows(cx.agenda.term(gang_id).and_then(|term| term.end))
    } else {
        Stay::Starts(match gang.lifetime {
            Lifetime::Limited(span) => Some(span),
            Lifetime::Unlimited => None,
        })
    }
}

/// A gang found no room: if it heads its queue its place is reserved, where there is one to be had.
pub(super) fn renew(cx: &mut Cycle<'_>, gang_id: GangId) {
    cx.agenda.note_mut(gang_id).search.hopeless = false;
    let Some(patience) = patience(cx.state, cx.agenda, gang_id) else {
        return cancel(cx, gang_id);
    };
    if let Some(at) = rests_until(cx, gang_id) {
        cx.agenda.at(at, gang_id);
        return cancel(cx, gang_id);
    }
    let Some(slot) = slot_for(cx, gang_id) else {
        cx.orders.unreserved += 1;
        return;
    };
    if let Some(found) = search::by_known_ends(cx, gang_id) {
        return keep(cx, gang_id, slot, found);
    }
    let waits_since = cx.state[gang_id].submitted.unwrap_or(cx.now);
    if cx.now.since(waits_since) < patience {
        cx.agenda.at(waits_since + patience, gang_id);
        return cancel(cx, gang_id);
    }
    if stands(cx, gang_id)
        && let Some(held) = cx.claims.reserved.get_mut(&gang_id)
        && held.at.is_none()
    {
        held.found_at = cx.now;
        return;
    }
    match search::whenever(cx, gang_id) {
        Some(found) => keep(cx, gang_id, slot, found),
        None => {
            cx.agenda.note_mut(gang_id).search.hopeless = true;
            cancel(cx, gang_id);
        }
    }
}

/// Where the place of a gang would be kept: where it is already, or where no other queue's is.
fn slot_for(cx: &Cycle<'_>, gang_id: GangId) -> Option<usize> {
    if let Some(own) = cx.claims.reserved.get(&gang_id) {
        return Some(own.slot);
    }
    let queue = cx.state.queue_of(gang_id);
    let reserved = cx.claims.reserved.values();
    let others = reserved.filter(|one| one.key.queue != queue);
    let taken: BTreeSet<usize> = others.map(|one| one.slot).collect();
    (0..SLOTS).find(|slot| !taken.contains(slot))
}

/// Whether everybody for whom a place is held still waits for it, on nodes that are there.
fn stands(cx: &Cycle<'_>, gang_id: GangId) -> bool {
    let Some(held) = cx.claims.reserved.get(&gang_id) else {
        return false;
    };
    let present = cx.state.nodes().present();
    let waits = |pod: &PodId| {
        let pod = cx.state.pod(*pod).filter(|pod| pod.gang == Some(gang_id));
        pod.is_some_and(|pod| cx.state.standing(pod) == Standing::Pending)
    };
    held.place.members.iter().all(|(pod, _)| waits(pod))
        && held
            .place
            .nodes()
            .iter()
            .all(|node| present.contains(*node))
}

/// Keeps what is free of a place, instead of what was kept before.
fn keep(cx: &mut Cycle<'_>, gang_id: GangId, slot: usize, found: Found) {
    let before = cx.claims.reserved.remove(&gang_id);
    let queue = cx.state.queue_of(gang_id);
    // A queue has one head.
    let others = cx.claims.reserved.iter();
    let replaced: Vec<GangId> = others
        .filter(|(_, one)| one.key.queue == queue)
        .map(|(id, _)| *id)
        .collect();
    replaced.into_iter().for_each(|id| cancel(cx, id));
    let number = match &before {
        Some(before) => before.number,
        None => cx.claims.next_reservation(),
    };
    let kept = kept_of(cx, number, &found);
    // Who ends before a later time may run ahead who could not before; an unknown time is before all.
    // One that has passed is now, and goes on being now.
    let now = cx.now;
    let later = |one: &Reserved| one.at.map(|at| at.max(now)) < found.at;
    let changed =
        |one: &Reserved| (&one.kept, &one.whole) != (&kept.amounts, &kept.whole) || later(one);
    let changed = before.as_ref().is_none_or(changed);
    let reserved = Reserved {
        at: found.at,
        place: found.place,
        kept: kept.amounts.clone(),
        whole: kept.whole.clone(),
        found_at: cx.now,
        number,
        slot,
        key: order_key(cx, gang_id),
        tier: tier_of(cx, gang_id),
    };
    if let Some(at) = found.at {
        let due = if at > cx.now {
            at + GRACE
        } else {
            cx.now + OVERDUE
        };
        cx.agenda.at(due, gang_id);
    }
    cx.state.keep(slot, Some((gang_id, kept)));
    cx.claims.reserved.insert(gang_id, reserved);
    if changed {
        note_change(cx, gang_id);
        if let Some(before) = before {
            cx.state.note_room(before.kept.into_keys());
        }
        cx.claims.renew_later_ones(number);
    }
}

/// Until when nothing is reserved for a gang whose reservation changed again and again without any node.
fn rests_until(cx: &Cycle<'_>, gang_id: GangId) -> Option<Time> {
    let restless = cx.agenda.note(gang_id).history.restless;
    let until = restless.not_before;
    (restless.mark == cx.state.nodes().mark() && until > cx.now).then_some(until)
}

/// A reservation has changed. Several that take each other's places, and are taken theirs, have to be slow
/// at it: ever slower, while the nodes stay as they are.
fn note_change(cx: &mut Cycle<'_>, gang_id: GangId) {
    let (mark, now) = (cx.state.nodes().mark(), cx.now);
    let restless = &mut cx.agenda.note_mut(gang_id).history.restless;
    if restless.mark != mark || now.since(restless.last) > FORGOTTEN {
        *restless = Restless {
            mark,
            ..Restless::default()
        };
    }
    restless.changes = restless.changes.saturating_add(1);
    restless.last = now;
    if let Some(more) = restless.changes.checked_sub(CHANGES) {
        restless.not_before = now + RESTS.after(more);
    }
}

/// What of a place has to be kept: all of the nodes that are wanted whole, for whoever came onto one
/// would be in the way; of the others what it needs beyond what becomes free there in time, with what
/// those need who reserved before.
fn kept_of(cx: &Cycle<'_>, number: u64, found: &Found) -> Kept {
    let mut kept = Kept::default();
    for (node, amounts) in &found.place.held {
        kept.amounts.entry(*node).or_default().add_all(amounts);
    }
    for (pod, node) in &found.place.members {
        if let Some(shape) = cx.state.shape_of(*pod) {
            kept.amounts.entry(*node).or_default().add(&shape.request);
            let ports = shape.ports.iter().cloned();
            kept.ports.extend(ports.map(|port| (*node, port, *pod)));
            if cx.state.shapes().is_exclusive(shape) {
                kept.whole.insert(*node);
            }
        }
    }
    let earlier: Vec<&Reserved> = cx.claims.reserved.values().collect();
    for (node, amounts) in &mut kept.amounts {
        let mut needed = std::mem::take(amounts);
        for one in earlier.iter().filter(|one| one.number < number) {
            if let Some(amounts) = one.place.held.get(node) {
                needed.add_all(amounts);
            }
            let there = one.place.members.iter().filter(|(_, at)| at == node);
            for shape in there.filter_map(|(pod, _)| cx.state.shape_of(*pod)) {
                needed.add(&shape.request);
            }
            if let Some(already) = one.kept.get(node) {
                needed.subtract_all(already);
            }
        }
        if let Some(freed) = found.freed.get(node) {
            needed.subtract_all(freed);
        }
        for (dimension, amount) in needed.iter().filter(|(_, amount)| *amount > 0) {
            amounts.add_amount(dimension, amount);
        }
    }
    kept
}

/// A gang heads its queue, and is held back there: what was reserved for those behind it when they were
/// its head is theirs no more, or they would start ahead of it.
pub(super) fn cancel_behind(cx: &mut Cycle<'_>, gang_id: GangId) {
    let head = order_key(cx, gang_id);
    let reserved = cx.claims.reserved.iter();
    let behind = reserved.filter(|(_, one)| one.key.queue == head.queue && one.key > head);
    for gang in behind.map(|(gang, _)| *gang).collect::<Vec<_>>() {
        cancel(cx, gang);
    }
}

/// Nodes have changed: who has reserved is tried again, before all others, as what became free may be
/// part of its place; but not where none of them can help.
pub(super) fn wake(cx: &mut Cycle<'_>, changed: &BTreeSet<NodeId>) {
    let numbers = who_might_be_helped(cx, changed);
    if !numbers.is_empty() {
        let changed = Arc::new(changed.clone());
        let might = |one: &Reserved| numbers.contains(&one.number);
        cx.claims.renew(might, &Renewal::If(changed));
    }
}

/// The numbers of the reservations that changed nodes may help, whatever becomes free on them in time: what is asked
/// of a shape is asked once for all who have it.
fn who_might_be_helped(cx: &mut Cycle<'_>, changed: &BTreeSet<NodeId>) -> BTreeSet<u64> {
    if cx.claims.reserved.is_empty() {
        return BTreeSet::new();
    }
    cx.state.show(View::OPEN);
    let cx = &*cx;
    let freed = |node: &NodeId| (*node, freed_before(cx, *node, None));
    let most: Vec<(NodeId, Tally)> = changed.iter().map(freed).collect();
    let mut known = BTreeMap::new();
    let mut fits = |shape: ShapeId| {
        *known.entry(shape).or_insert_with(|| {
            let mut most = most.iter();
            most.any(|(node, freed)| fits_with(cx, shape, *node, freed))
        })
    };
    let might = cx.claims.reserved.iter().filter(|(gang_id, reserved)| {
        let mut classes = cx.state[**gang_id].pending.classes();
        concerns(cx, **gang_id, reserved, changed) || classes.any(|(class, _)| fits(class.shape))
    });
    might.map(|(_, reserved)| reserved.number).collect()
}

/// Whether a change of these nodes is one of what a reservation keeps, or of what its gang holds, or whatever changes
/// is asked about.
fn concerns(
    cx: &Cycle<'_>,
    gang_id: GangId,
    reserved: &Reserved,
    changed: &BTreeSet<NodeId>,
) -> bool {
    let held = cx.state.held_for(gang_id);
    let is_its_own = |node: &NodeId| {
        reserved.kept.contains_key(node) || held.is_some_and(|held| held.on.contains_key(node))
    };
    changed.iter().any(is_its_own) || !cx.agenda.note(gang_id).admitted
}

/// Whether what is free on a node, with what becomes free there, is enough for a pod of this shape.
fn fits_with(cx: &Cycle<'_>, shape: ShapeId, node: NodeId, freed: &Tally) -> bool {
    let with = |dimension| {
        let free = cx.state.nodes().free(node, dimension);
        free.saturating_add(freed.get(dimension))
    };
    cx.state.shapes().get(shape).is_some_and(|shape| {
        let mut request = shape.request.iter();
        request.all(|(dimension, amount)| amount <= with(dimension))
    })
}

/// Others leave at another time than was known: everybody who has reserved is tried again.
pub(super) fn wake_all(cx: &mut Cycle<'_>) {
    cx.claims.renew(|_| true, &Renewal::Always);
}

/// Who has reserved and is to be tried again next.
pub(super) fn next(cx: &mut Cycle<'_>) -> Option<GangId> {
    while let Some((rank, (gang_id, renewal))) = cx.claims.to_renew.first_key_value() {
        let (rank, gang_id, renewal) = (*rank, *gang_id, renewal.clone());
        let there = cx.claims.reserved.contains_key(&gang_id);
        match cx.agenda.note(gang_id).stage() {
            Stage::Queued(_) if there => return Some(gang_id),
            Stage::Parked(_) if there => match who_helps(cx, gang_id, &renewal) {
                Help::Now => {
                    queue(cx, gang_id);
                    return Some(gang_id);
                }
                Help::By(time) => cx.agenda.at(time, gang_id),
                Help::No => {}
            },
            _ => {}
        }
        cx.claims.to_renew.remove(&rank);
    }
    None
}

/// Whether looking for a place again may come to something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Help {
    /// Perhaps there is room, or another place is to be kept.
    Now,
    /// Perhaps a place is free earlier than was known: that may wait until then.
    By(Time),
    No,
}

/// Whether a reservation is to be made anew: more of its place is free now, and to be kept; or a member
/// fits one of the changed nodes, now or before the time that is reserved.
fn who_helps(cx: &mut Cycle<'_>, gang_id: GangId, renewal: &Renewal) -> Help {
    let (Renewal::If(nodes), Some(reserved)) = (renewal, cx.claims.reserved.get(&gang_id)) else {
        return Help::Now;
    };
    if concerns(cx, gang_id, reserved, nodes) {
        return Help::Now;
    }
    let (before, again) = (reserved.at, reserved.found_at + PACE);
    cx.state.show(View::OPEN);
    let classes = cx.state[gang_id].pending.classes();
    let shapes: BTreeSet<_> = classes.map(|(class, _)| class.shape).collect();
    let fits = |node: NodeId, freed: &Tally| {
        let mut shapes = shapes.iter();
        shapes.any(|shape| fits_with(cx, *shape, node, freed))
    };
    let nothing = Tally::default();
    if nodes.iter().any(|node| fits(*node, &nothing)) {
        return Help::Now;
    }
    let later = |node: &NodeId| fits(*node, &freed_before(cx, *node, before));
    match nodes.iter().any(later) {
        true if again <= cx.now => Help::Now,
        true => Help::By(again),
        false => Help::No,
    }
}

/// What becomes free on a node before a time, or ever where that is not known.
fn freed_before(cx: &Cycle<'_>, node: NodeId, before: Option<Time>) -> Tally {
    let mut freed = Tally::default();
    for pod in cx.state.nodes().pods(node) {
        let Some(known) = cx.state.pod(*pod) else {
            continue;
        };
        let end = known.gang.and_then(|gang| cx.agenda.term(gang)?.end);
        let leaves = known.terminating || known.eviction.is_under_way();
        let in_time = match (end, before) {
            (Some(end), Some(before)) => end < before,
            (end, None) => end.is_some(),
            (None, Some(_)) => false,
        };
        if let Some(shape) = cx.state.shape_of(*pod).filter(|_| leaves || in_time) {
            freed.add(&shape.request);
        }
    }
    freed
}

/// For whom room is kept that a gang may not take.
pub(super) fn kept_for(cx: &Cycle<'_>, gang_id: GangId) -> Option<(GangId, KeptFor)> {
    let view = view_of(cx, gang_id);
    let reserved = cx.claims.reserved.iter();
    let reserved = reserved.map(|(id, one)| (id, one.slot, one.keeps()));
    let held = cx.claims.moves.holds.iter();
    let held = held.map(|(id, one)| (id, one.slot, one.nodes.len()));
    let others = reserved.chain(held);
    let mut others = others.filter(|(_, slot, nodes)| view.has(*slot) && *nodes > 0);
    let (first, _, nodes) = others.next()?;
    let kept_for = KeptFor {
        first: cx.state.gang_title(*first),
        nodes,
        others: others.count(),
    };
    Some((*first, kept_for))
}

/// In words for whom room is kept that a gang may not take, or where its own place is.
pub(super) fn in_words(
    cx: &Cycle<'_>,
    gang_id: GangId,
    kept_for: Option<&(GangId, KeptFor)>,
) -> Option<String> {
    if let Some(own) = cx.claims.reserved.get(&gang_id) {
        let until = if own.at.is_some() {
            "is reserved for it"
        } else {
            "is held for it, and nobody knows when it will be free"
        };
        return Some(format!(
            "a place on {} {until}",
            counted(own.on().len(), "node")
        ));
    }
    let (first, kept_for) = kept_for?;
    let title = cx.state.gang_title_for(gang_id, *first);
    let on = counted(kept_for.nodes, "node");
    let more = match kept_for.others {
        0 => String::new(),
        more => format!(", and for {more} others"),
    };
    Some(format!("room on {on} is kept for {title}{more}"))
}

/// Whether nobody of its queue is tried while a gang waits for room.
pub(super) fn holds_its_queue(cx: &Cycle<'_>, gang_id: GangId) -> bool {
    let gang = &cx.state[gang_id];
    let queue = gang
        .queue
        .and_then(|id| cx.state.queues().get(id)?.spec.as_ref());
    let strict = queue.is_some_and(|queue| queue.reservation == Policy::Strict);
    strict && gang.missing() > 0 && !gang.is_partly_bound()
}

/// The tier of a gang's queue right below the cluster.
pub(super) fn tier_of(cx: &Cycle<'_>, gang_id: GangId) -> i32 {
    let queue = cx.state.queue_of(gang_id);
    let top = cx.state.queues().path(queue).last();
    let spec = top.and_then(|(_, queue)| queue.spec.as_ref());
    spec.map_or(0, |spec| spec.tier)
}
