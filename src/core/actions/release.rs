//! Taking a gang off its nodes as a whole, because it could not be completed in time.
//!
//! A release is over when no member holds a node and no bind is on its way. Until then it goes on,
//! however often an eviction is refused: a few are tried again every [`EVICT_AGAIN`], and all of
//! them as soon as one of these is taken.

use super::Cycle;
use super::back_off::back_off_from_release;
use super::claims::{nominated, reserved, returning};
use super::notes::{Note, Release, Stage, StuckRelease};
use super::partial::what_happened;
use super::recall::recall;
use super::terms::note_term;
use crate::state::{
    ClusterState, Eviction, Gang, GangId, Place, Pod, PodId, Setback, Standing, Subgroup,
};
use muster_model::Outcome;
use muster_model::explanation::{Disruption, Lost};
use muster_model::units::{Millis, Time};
use muster_model::{Evict, EvictCause, Why, cut};
use std::sync::Arc;

/// After how long an eviction that was refused is ordered again.
const EVICT_AGAIN: Millis = Millis(1_500);
/// How many of those are tried at once while none of them is taken.
const PROBES: usize = 16;
/// How many nodes are known to have refused a gang that was released.
const MAX_SHUNNED: usize = 256;

/// Starts the release: members that are bound are evicted, binds that are not sent yet are asked
/// back, those on their way follow when their outcome is known.
pub(super) fn release(cx: &mut Cycle<'_>, gang_id: GangId) {
    shun(cx, gang_id);
    let note = cx.agenda.note(gang_id);
    let message = explain(cx.state, &cx.state[gang_id], note);
    begin(cx, gang_id, None, Lost::NotCompleted, &message);
}

/// Notes which nodes refused members. Those who replace them know nothing of that, and the gang would
/// come to the same nodes again and again.
fn shun(cx: &mut Cycle<'_>, gang_id: GangId) {
    let members = cx.state[gang_id].members.iter();
    let pods = members.filter_map(|id| cx.state.pod(*id));
    let refused = pods.flat_map(|pod| pod.avoid.iter().copied());
    let shunned = &mut cx.agenda.note_mut(gang_id).setbacks.shunned;
    shunned.extend(refused);
    while shunned.len() > MAX_SHUNNED {
        shunned.pop_last();
    }
}

/// The same to make room for somebody.
pub(super) fn preempt(
    cx: &mut Cycle<'_>,
    gang_id: GangId,
    beneficiary: GangId,
    lost: Lost,
    message: &str,
) {
    cx.orders.seen.insert(gang_id);
    begin(cx, gang_id, Some(beneficiary), lost, message);
}

/// Notes for whom a gang loses so many of its pods, and why it and not another.
pub(super) fn note_disruption(
    cx: &mut Cycle<'_>,
    gang_id: GangId,
    beneficiary: Option<GangId>,
    why: Lost,
    pods: u32,
) {
    cx.agenda.note_mut(gang_id).history.disruption = Some(Disruption {
        at: cx.now,
        by: beneficiary.map(|id| cx.state.gang_title(id)),
        by_queue: beneficiary.map(|id| cx.state.queue_name(id).to_owned()),
        why,
        pods,
    });
}

fn begin(
    cx: &mut Cycle<'_>,
    gang_id: GangId,
    beneficiary: Option<GangId>,
    lost: Lost,
    message: &str,
) {
    let cause = if beneficiary.is_some() {
        EvictCause::Preemption
    } else {
        EvictCause::Release
    };
    let message: Arc<str> = cut(message).into();
    cx.end_partial(gang_id);
    let for_whom = beneficiary.map(|id| cx.state[id].key.clone());
    let note = cx.agenda.note_mut(gang_id);
    note.ends_its_run();
    note.retry_at = None;
    let why = match cause {
        EvictCause::Release => Why::new("Released", &message),
        EvictCause::Preemption => Why::new("Preempted", &message),
    };
    note.setbacks.disrupted = Some(why.clone());
    note.why = Some(why);
    nominated::give_up(cx, gang_id);
    reserved::cancel(cx, gang_id);
    let release = Release {
        cause,
        beneficiary: for_whom,
        message: Arc::clone(&message),
        stuck: None,
        not_before: Time::ZERO,
    };
    cx.state.give_up_room(gang_id);
    cx.agenda
        .set_stage(cx.state, gang_id, Stage::Releasing(release));
    note_term(cx, gang_id);
    recall(cx.state, &mut cx.orders, gang_id);
    let pods = evict_members(cx, gang_id);
    note_disruption(cx, gang_id, beneficiary, lost, pods);
    cx.decide(gang_id, Outcome::Released { pods, message });
    finish_if_done(cx, gang_id);
}

/// Goes on with a release: evicts what got bound meanwhile, and again what was refused.
pub(super) fn proceed(cx: &mut Cycle<'_>, gang_id: GangId) {
    evict_members(cx, gang_id);
    finish_if_done(cx, gang_id);
}

/// Whether a release has lost its reason: the minimum was lowered to what is still bound.
pub(super) fn is_needless(cx: &Cycle<'_>, gang_id: GangId) -> bool {
    let release = cx.agenda.note(gang_id).release();
    if release.is_some_and(|release| release.cause == EvictCause::Preemption) {
        return false;
    }
    let gang = &cx.state[gang_id];
    // Where nothing is asked for, nothing is missing, though nobody be left.
    gang.unsecured() == 0 && (gang.counts().bound() > 0 || gang.min_available() == 0)
}

/// Ends a release that has lost its reason; evictions under way go on.
pub(super) fn call_off(cx: &mut Cycle<'_>, gang_id: GangId) {
    let note = cx.agenda.note_mut(gang_id);
    note.setbacks.disrupted = None;
    note.history.disruption = None;
    returning::drop_hold(cx, gang_id);
    cx.agenda.set_stage(cx.state, gang_id, Stage::Waiting);
}

fn finish_if_done(cx: &mut Cycle<'_>, gang_id: GangId) {
    let counts = cx.state[gang_id].counts();
    if counts.holding() == 0 && counts.of(Standing::Assumed) == 0 {
        if cx.claims.moves.holds_for(gang_id) {
            // Its place is held for it: it does not wait.
            cx.agenda.note_mut(gang_id).retry_at = Some(cx.now);
            cx.agenda.at(cx.now, gang_id);
        } else {
            back_off_from_release(cx, gang_id);
        }
        let note = cx.agenda.note_mut(gang_id);
        note.admitted = false;
        note.let_in_on = None;
        cx.state.forget_loss(gang_id);
        cx.agenda.set_stage(cx.state, gang_id, Stage::BackingOff);
    }
}

/// Orders the evictions that are due; says how many.
fn evict_members(cx: &mut Cycle<'_>, gang_id: GangId) -> u32 {
    let gang = &cx.state[gang_id];
    let Some(release) = cx.agenda.note(gang_id).release() else {
        return 0;
    };
    let message = Arc::clone(&release.message);
    let round = Round::of(cx.state, gang, release.not_before, cx.now);
    for (id, again) in round.orders() {
        if let Some(pod) = cx.state.pod(id) {
            cx.orders.evictions.push(Evict {
                pod: pod.key.clone(),
                cause: release.cause,
                beneficiary: release.beneficiary.clone(),
                message: Arc::clone(&message),
                again,
            });
        }
        cx.state.set_eviction(id, Eviction::Ordered);
    }
    if let Some(at) = round.next {
        cx.agenda.at(at, gang_id);
    }
    let probed = !round.again.is_empty();
    note_setback(cx, gang_id, round.setback, probed);
    u32::try_from(round.first.len() + round.again.len()).unwrap_or(u32::MAX)
}

/// Who is to be evicted now, and who later.
#[derive(Default)]
struct Round {
    first: Vec<PodId>,
    /// Refused before, and due again.
    again: Vec<PodId>,
    /// When more are due.
    next: Option<Time>,
    /// The pod and the answer of the first eviction that came back and was not taken since.
    setback: Option<(String, Setback)>,
}

impl Round {
    fn of(state: &ClusterState, gang: &Gang, not_before: Time, now: Time) -> Self {
        let mut round = Self::default();
        let mut refused: Vec<(Time, PodId)> = Vec::new();
        for id in &gang.members {
            let Some(pod) = state.pod(*id).filter(|pod| pod.holds_node()) else {
                continue;
            };
            match pod.eviction {
                _ if pod.terminating => {}
                Eviction::None => round.first.push(*id),
                Eviction::CameBack(at) => refused.push((at, *id)),
                Eviction::Ordered | Eviction::Accepted => {}
            }
            let stands = !pod.terminating && pod.eviction != Eviction::Accepted;
            if let Some(setback) = pod.setback.as_ref().filter(|_| stands) {
                let of_pod = || (pod.key.name.clone(), setback.clone());
                round.setback.get_or_insert_with(of_pod);
            }
        }
        refused.sort_unstable();
        let (most, not_before) = if gang.yields {
            (usize::MAX, Time::ZERO)
        } else {
            (PROBES, not_before)
        };
        let due_at = |at: Time| (at + EVICT_AGAIN).max(not_before);
        let due = |(at, _): &&(Time, PodId)| due_at(*at) <= now;
        let due = refused.iter().take_while(due).take(most);
        round.again = due.map(|(_, id)| *id).collect();
        let pause = if round.again.is_empty() {
            Millis(0)
        } else {
            EVICT_AGAIN
        };
        let left = refused.get(round.again.len());
        round.next = left.map(|(at, _)| due_at(*at).max(now + pause));
        round
    }

    fn orders(&self) -> impl Iterator<Item = (PodId, bool)> {
        let first = self.first.iter().map(|id| (*id, false));
        let again = self.again.iter().map(|id| (*id, true));
        first.chain(again)
    }
}

/// Keeps the release's word on what does not go: since the first setback, until none stands.
fn note_setback(
    cx: &mut Cycle<'_>,
    gang_id: GangId,
    setback: Option<(String, Setback)>,
    probed: bool,
) {
    let now = cx.now;
    let Some(release) = cx.agenda.note_mut(gang_id).release_mut() else {
        return;
    };
    if probed {
        release.not_before = now + EVICT_AGAIN;
    }
    let since = release.stuck.as_ref().map_or(now, |stuck| stuck.since);
    let beneficiary = release.beneficiary.clone().filter(|_| setback.is_some());
    release.stuck = setback.map(|(pod, setback)| StuckRelease {
        since,
        pod,
        setback,
    });
    // Who waits for its room looks for another.
    if let Some(beneficiary) = beneficiary.and_then(|key| cx.state.find_gang(&key)) {
        cx.agenda.at(cx.now, beneficiary);
    }
}

/// Says how incomplete the gang is, and why: who was lost, what was raised, who is to blame.
fn explain(state: &ClusterState, gang: &Gang, note: &Note) -> String {
    let short = gang.shortfall(Subgroup::secured);
    let members = gang.members.iter().filter_map(|id| state.pod(*id));
    let unplaced = |pod: &&Pod| pod.place == Place::None && state.standing(pod) != Standing::Failed;
    let unplaced: Vec<&Pod> = members.filter(unplaced).collect();
    let blamed = unplaced
        .iter()
        .find_map(|pod| Some((pod, pod.setback.as_ref()?)));
    let mut message = match note.run.ran_with {
        Some(_) if gang.loss.is_some() => format!("only {short} are left"),
        None if blamed.is_some() => format!("only {short} could be bound"),
        // Of those that have none nothing was tried that came to nothing.
        Some(_) | None => format!("only {short} have a node"),
    };
    message.push_str(&what_happened(gang, note));
    if let Some((pod, setback)) = blamed {
        message.push_str(&format!("; pod {}: {}", pod.key.name, setback.message));
    } else if let Some(why) = note.why.as_ref().filter(|_| !unplaced.is_empty()) {
        message.push_str(&format!("; {}", why.message));
    }
    message
}
