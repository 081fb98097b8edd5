//! When what is said. What changed is given out once; what may be over in a moment only when it
//! has lasted.
//!
//! A gang's status leaves with the cycle that changed it: whoever writes it gathers. Why pods
//! wait, and the log's line about it, wait for [`LASTS`], and while only numbers in them change
//! they are said again after [`AGAIN`] at the earliest. Positions follow every [`LINES`].

use super::census::Census;
use super::untold::Untold;
use super::{topology_words, words};
use crate::actions::decision_on;
use crate::actions::{AGAIN, Agenda, Claims, Stage};
use crate::state::{ClusterState, Gang, GangId, PodId, QueueId, Standing};
use muster_model::SHOWN_POSITIONS;
use muster_model::units::{Millis, Time};
use muster_model::{Decision, Outcome};
use muster_model::{Effect, GangStatus};
use muster_model::{PodWaits, Why, digest};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A reason to wait is said on pods once it has held for so long.
pub(super) const LASTS: Millis = Millis(1_000);
/// How often positions in changed lines are looked at.
const LINES: Millis = Millis(1_000);

/// What was given out about one gang.
#[derive(Debug, Default)]
struct Spoken {
    /// A digest of its status.
    status: Option<u64>,
    /// A digest of the kind of reason it has, and since when.
    kind: u64,
    since: Time,
    /// A digest of the reason last said on pods, of what kind, and when.
    told: Option<(u64, u64, Time)>,
    /// How many members had joined it by then, and how many of all waited.
    members: (u64, u32),
    /// When its pods are spoken of again.
    due: Option<Time>,
    position: Option<u32>,
}

/// The memory of what was given out.
#[derive(Debug, Default)]
pub(super) struct Voice {
    spoken: BTreeMap<GangId, Spoken>,
    due: BTreeSet<(Time, GangId)>,
    lines_due: Option<Time>,
    untold: Untold,
    /// Topologies are other than they were.
    topologies: bool,
    /// What was said to be odd about the topologies of others.
    doubts: BTreeMap<String, String>,
    pub(super) census: Census,
}

/// Where what is said goes.
pub(super) struct Outlet<'a> {
    pub(super) effects: &'a mut Vec<Effect>,
    pub(super) decisions: &'a mut Vec<Decision>,
}

impl Voice {
    /// Forgets a gang that is gone.
    pub(super) fn forget(&mut self, gang: GangId) {
        if let Some(Spoken { due: Some(at), .. }) = self.spoken.remove(&gang) {
            self.due.remove(&(at, gang));
        }
        self.untold.note(gang, None);
        self.census.forget(gang);
    }

    /// Of how many gangs it is known what was given out.
    pub(super) fn spoken(&self) -> usize {
        self.spoken.len()
    }

    /// Something of a topology is another than it was.
    pub(super) const fn note_topologies(&mut self) {
        self.topologies = true;
    }

    /// When something is to be said although nothing happens.
    pub(super) fn next_due(&self) -> Option<Time> {
        let pods = self.due.first().map(|(at, _)| *at);
        let others = [self.lines_due, self.untold.due()];
        pods.into_iter().chain(others.into_iter().flatten()).min()
    }

    /// Says what is new about the gangs on which something happened, and what is due.
    pub(super) fn speak(
        &mut self,
        state: &ClusterState,
        agenda: &mut Agenda,
        claims: &Claims,
        seen: &mut BTreeSet<GangId>,
        now: Time,
        outlet: &mut Outlet<'_>,
    ) {
        self.look_at_lines(agenda, now, seen);
        self.look_at_untold(agenda, now, seen);
        for id in seen.iter() {
            self.status_of(state, agenda, claims, *id, outlet);
            let why = words::why(state, agenda, *id);
            self.plan_words(state, *id, why.as_deref(), now);
        }
        while let Some((at, id)) = self.due.first().copied()
            && at <= now
        {
            self.due.pop_first();
            let why = words::why(state, agenda, id);
            let nominates = agenda.note(id).history.nominates;
            self.tell_pods(state, id, why.as_deref(), now, nominates, outlet);
        }
        let queues = self.census.take_news(state);
        let effects = queues.into_iter().map(Effect::QueueStatus);
        outlet.effects.extend(effects);
        if std::mem::take(&mut self.topologies) {
            let topologies = topology_words::statuses(state);
            let effects = topologies.into_iter().map(Effect::TopologyStatus);
            outlet.effects.extend(effects);
            let doubts = topology_words::doubts(state, &mut self.doubts);
            let effects = doubts.into_iter().map(Effect::TopologyDoubt);
            outlet.effects.extend(effects);
        }
    }

    /// Adds the gangs whose position is another one by now, if it is time to look.
    fn look_at_lines(&mut self, agenda: &mut Agenda, now: Time, seen: &mut BTreeSet<GangId>) {
        if agenda.has_changed_lines() && self.lines_due.is_none() {
            self.lines_due = Some(now + LINES);
        }
        if self.lines_due.is_none_or(|due| due > now) {
            return;
        }
        self.lines_due = None;
        for queue in agenda.take_changed_lines() {
            self.look_at_line(agenda, queue, seen);
        }
    }

    /// Adds gangs of which nobody knew what becomes of them, and whose queue is blocked since.
    fn look_at_untold(&mut self, agenda: &mut Agenda, now: Time, seen: &mut BTreeSet<GangId>) {
        self.untold.note_blocked(agenda.take_blocked());
        let found = self.untold.look(now).into_iter();
        seen.extend(found.filter(|id| agenda.is_behind(*id).is_some()));
    }

    fn look_at_line(&self, agenda: &Agenda, queue: QueueId, seen: &mut BTreeSet<GangId>) {
        // One more than is shown: it may just have been pushed out of sight.
        let line = agenda.line(queue).zip(1..=SHOWN_POSITIONS + 1);
        for (gang, place) in line {
            let shown = (place <= SHOWN_POSITIONS).then_some(place);
            let said = self.spoken.get(&gang).and_then(|one| one.position);
            if said != shown {
                seen.insert(gang);
            }
        }
    }

    fn status_of(
        &mut self,
        state: &ClusterState,
        agenda: &Agenda,
        claims: &Claims,
        id: GangId,
        outlet: &mut Outlet<'_>,
    ) {
        let Some(gang) = state.gang(id) else { return };
        let in_queue = match agenda.note(id).stage() {
            Stage::Queued(key) => Some(key.queue),
            _ => None,
        };
        let untold = in_queue.filter(|_| words::why(state, agenda, id).is_none());
        self.untold.note(id, untold);
        if let Some(queue) = gang.queue {
            let phase = words::phase(gang, agenda.note(id));
            self.census.note(id, queue, phase);
        }
        let spoken = self.spoken.entry(id).or_default();
        if gang.definition().is_none() {
            spoken.status = None;
            return;
        }
        spoken.position = agenda.position(id, SHOWN_POSITIONS);
        let status: GangStatus = words::status(state, agenda, claims, id, spoken.position);
        let digest = digest::of(&status);
        if spoken.status != Some(digest) {
            spoken.status = Some(digest);
            outlet.effects.push(Effect::GangStatus(status));
        }
    }

    /// Sets the time at which a gang's pods are spoken of, if there is something new about them.
    fn plan_words(&mut self, state: &ClusterState, id: GangId, why: Option<&Why>, now: Time) {
        let Some(gang) = state.gang(id) else { return };
        let spoken = self.spoken.entry(id).or_default();
        let (kind, text) = match why {
            Some(why) => (
                digest::of_kind(&why.reason, &why.message),
                digest::of(&why.message),
            ),
            None => (0, 0),
        };
        if kind != spoken.kind {
            (spoken.kind, spoken.since) = (kind, now);
        }
        let waits = why.is_some() || gang.counts().of(Standing::Unsupported) > 0;
        if !waits {
            spoken.told = None;
        }
        let news = match spoken.told {
            None => Some(spoken.since + LASTS),
            Some(_) if members(gang) != spoken.members => Some(now + LASTS),
            Some((told, _, _)) if told == text => None,
            Some((_, told_kind, _)) if told_kind != kind => Some(spoken.since + LASTS),
            Some((_, _, at)) => Some(at + AGAIN),
        };
        let due = news.filter(|_| waits).map(|at| at.max(now));
        // What is due already stays due then, whatever changes meanwhile.
        let due = match (spoken.due, due) {
            (Some(before), Some(new)) => Some(before.min(new)),
            (_, new) => new,
        };
        if due != spoken.due {
            if let Some(before) = spoken.due {
                self.due.remove(&(before, id));
            }
            if let Some(at) = due {
                self.due.insert((at, id));
            }
            spoken.due = due;
        }
    }

    /// Says on every member without a place why it has none, and in the log why the gang waits.
    fn tell_pods(
        &mut self,
        state: &ClusterState,
        id: GangId,
        why: Option<&Why>,
        now: Time,
        nominates: bool,
        outlet: &mut Outlet<'_>,
    ) {
        let (Some(gang), Some(spoken)) = (state.gang(id), self.spoken.get_mut(&id)) else {
            return;
        };
        spoken.due = None;
        let (kind, text) = why.map_or((0, 0), |why| (spoken.kind, digest::of(&why.message)));
        let before = spoken.told.replace((text, kind, now));
        spoken.members = members(gang);
        if let Some(why) = why.filter(|_| before.is_none_or(|(_, before, _)| before != kind)) {
            outlet.decisions.push(waits(state, id, why));
        }
        for pod in gang.members.iter().filter_map(|id: &PodId| state.pod(*id)) {
            if let Some(message) = words::on_pod(state, pod, why) {
                let node = pod.nominated.map_or("", |node| state.nodes().name(node));
                outlet.effects.push(Effect::PodWaits(PodWaits {
                    pod: pod.key.clone(),
                    reason: words::reason_on_pod(why),
                    message,
                    nominated: nominates.then(|| node.into()),
                }));
            }
        }
    }
}

/// How many members ever joined a gang, and how many wait.
fn members(gang: &Gang) -> (u64, u32) {
    let waiting = [Standing::Pending, Standing::GivenUp, Standing::Unsupported];
    let counts = gang.counts();
    let waiting = waiting.into_iter().map(|one| counts.of(one)).sum();
    (gang.joined, waiting)
}

fn waits(state: &ClusterState, id: GangId, why: &Why) -> Decision {
    let outcome = Outcome::Waits {
        reason: why.reason.clone(),
        message: Arc::clone(&why.message),
    };
    decision_on(state, id, outcome)
}
