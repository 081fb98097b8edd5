//! What there is to say of a gang and its pods: functions of the state, without a memory.

use crate::actions::{Agenda, Claims, Note, Refusal, Stage, behind, what_happened};
use crate::fairness;
use crate::placement::amount_in_words;
use crate::state::{ClusterState, Gang, GangId, Pod, Queue, Standing, Subgroup};
use muster_model::RoomNote;
use muster_model::units::Time;
use muster_model::{Code, Condition, GangPhase, GangStatus, PHASES, QueueStatus};
use muster_model::{QueueSpec, Why, cut};
use std::borrow::Cow;
use std::sync::Arc;

/// Why a gang waits: as was found out when it was tried, or because its queue is not.
pub(super) fn why<'a>(
    state: &ClusterState,
    agenda: &'a Agenda,
    id: GangId,
) -> Option<Cow<'a, Why>> {
    if let Some(awaited) = agenda.is_behind(id) {
        return Some(Cow::Owned(behind(state.queue_name(id), awaited)));
    }
    let note = agenda.note(id);
    let why = note.why.as_ref()?;
    let mut message = Cow::Borrowed(&*why.message);
    if note.search.room == Some(RoomNote::CutShort) && why.reason == "Unschedulable" {
        message = format!("{message} {SEARCHED_IN_PART}").into();
    }
    if let Some((pod, scheduler)) = state.other_scheduler(&state[id].key) {
        message = format!("{message}; {}", two_schedulers(pod, scheduler)).into();
    }
    Some(match message {
        Cow::Borrowed(_) => Cow::Borrowed(why),
        Cow::Owned(message) => Cow::Owned(Why::new(why.reason.clone(), &message)),
    })
}

/// Who of a group is left to another scheduler.
fn two_schedulers(pod: &str, scheduler: &str) -> String {
    format!("pod {pod} of this group names scheduler {scheduler} and is left to it")
}

/// What is said where others might have gone for a gang, for all that is known.
const SEARCHED_IN_PART: &str = "Who could make room for it was searched only in part.";

/// The status of a gang as of now.
pub(super) fn status(
    state: &ClusterState,
    agenda: &Agenda,
    claims: &Claims,
    id: GangId,
    position: Option<u32>,
) -> GangStatus {
    let note = agenda.note(id);
    let why = why(state, agenda, id);
    let gang = &state[id];
    let counts = gang.counts();
    let definition = gang.definition();
    GangStatus {
        gang: gang.key.clone(),
        source: definition.map(|spec| spec.source).unwrap_or_default(),
        uid: definition.map(|spec| spec.uid.clone()).unwrap_or_default(),
        observed_generation: definition.map_or(0, |spec| spec.generation),
        phase: phase(gang, note),
        min_available: gang.min_available(),
        bound: counts.holding(),
        running: counts.of(Standing::Running),
        succeeded: counts.of(Standing::Succeeded) + gang.all_retired(),
        failed: counts.of(Standing::Failed),
        position,
        estimated_start: estimated_start(state, claims, id),
        max_hops: state.max_hops(gang),
        granted: state.granted_terms(id),
        let_in: gang.granted.then(|| note.let_in_with()),
        conditions: conditions(gang, note, why.as_deref()),
    }
}

/// The status of a queue as of now.
pub(super) fn queue_status(
    state: &ClusterState,
    queue: &Queue,
    spec: &QueueSpec,
    gangs: [u32; PHASES],
) -> QueueStatus {
    let (account, half_life) = (&queue.account, state.queues().half_life());
    QueueStatus {
        queue: spec.name.clone(),
        uid: spec.uid.clone(),
        observed_generation: spec.generation,
        gangs,
        usage: account.usage,
        flow: account.flow.value(account.flow.at(), half_life),
        flow_at: account.flow.at(),
        share: account.share,
        budget_left: fairness::budget_left(queue),
        ready: ready(state, queue, spec),
    }
}

/// When a gang will start at the latest, to the second: what its place is reserved for.
fn estimated_start(state: &ClusterState, claims: &Claims, id: GangId) -> Option<Time> {
    let at = claims.reserved.get(&id)?.at?;
    (at > state.now()).then(|| Time(at.0.div_ceil(1_000) * 1_000))
}

pub(super) fn ready(state: &ClusterState, queue: &Queue, spec: &QueueSpec) -> Condition {
    let not = |reason, message: &str| condition("Ready", false, reason, message);
    match (&queue.misplaced, &spec.invalid) {
        (Some(problem), _) => not("Misplaced", &problem.to_string()),
        (None, Some(problem)) => not("Invalid", problem),
        (None, None) if !spec.is_open => not("Closed", "only what has begun goes on"),
        (None, None) => {
            let doubt = promises_too_much(state, queue).unwrap_or_default();
            condition("Ready", true, "Ready", &doubt)
        }
    }
}

/// A guarantee that the cluster is too small for, with all the others.
fn promises_too_much(state: &ClusterState, queue: &Queue) -> Option<String> {
    let sums = |dimension| {
        let (all, total) = (
            state.queues().guaranteed(dimension),
            state.nodes().total(dimension),
        );
        (dimension, all, total)
    };
    let mut sums = queue.guaranteed.iter().map(|(one, _)| sums(*one));
    let (dimension, all, total) = sums.find(|(_, all, total)| all > total)?;
    let in_words = |amount| amount_in_words(state, dimension, amount);
    let (all, total) = (in_words(all), in_words(total));
    Some(format!(
        "{all} are guaranteed to the queues in all, and the cluster has {total}: what is beyond that \
         nobody can count on"
    ))
}

/// How far a gang is.
pub(super) fn phase(gang: &Gang, note: &Note) -> GangPhase {
    let counts = gang.counts();
    let ended = counts.of(Standing::Succeeded) + counts.of(Standing::Failed);
    let active = counts.holding() + counts.of(Standing::Assumed);
    if ended > 0 && active == 0 && counts.all() == ended {
        let well = counts.of(Standing::Failed) == 0 && gang.missing() == 0;
        return if well {
            GangPhase::Finished
        } else {
            GangPhase::Failed
        };
    }
    let releasing = note.release().is_some();
    if gang.missing() == 0 && gang.available() > 0 && !releasing {
        // Also where the minimum has succeeded and only a surplus member still waits.
        let complete = gang.unsecured() == 0 && gang.secured() > 0;
        return if complete {
            GangPhase::Running
        } else {
            GangPhase::Scheduling
        };
    }
    if active > 0 || releasing {
        return if note.run.ran_with.is_some() || releasing {
            GangPhase::Unknown
        } else {
            GangPhase::Scheduling
        };
    }
    if note.admitted {
        GangPhase::Inqueue
    } else {
        GangPhase::Pending
    }
}

fn conditions(gang: &Gang, note: &Note, why: Option<&Why>) -> Vec<Condition> {
    let mut all = Vec::with_capacity(3);
    all.push(admitted(note, why));
    all.push(scheduled(gang, note, why));
    if note.partial.is_some() && gang.missing() > 0 {
        all.push(repairing(gang, note));
    }
    if let Some(why) = &note.setbacks.disrupted {
        all.push(condition(
            "Disrupted",
            true,
            why.reason.clone(),
            &why.message,
        ));
    }
    if let Some(Refusal { why, .. }) = &note.not_granted {
        let (reason, message) = (why.reason.clone(), &why.message);
        all.push(condition("Granted", false, reason, message));
    }
    let release = note.release();
    if let Some(stuck) = release.and_then(|release| release.stuck.as_ref()) {
        let (pod, setback) = (&stuck.pod, &stuck.setback);
        let (reason, message) = match setback.refused {
            true => (
                "DeleteRefused",
                format!("pod {pod} may not be deleted: {}", setback.message),
            ),
            false => (
                "DeleteFailed",
                format!("pod {pod} could not be deleted: {}", setback.message),
            ),
        };
        all.push(condition("ReleaseRefused", true, reason, &message));
    }
    all
}

/// Who is missing and how that came, and what becomes of it; `lastTransitionTime` says since when.
fn repairing(gang: &Gang, note: &Note) -> Condition {
    let short = gang.shortfall(Subgroup::available);
    let how = what_happened(gang, note);
    let span = gang.repair_for().filter(|_| note.run.ran_with.is_some());
    let (reason, end) = match span {
        Some(span) => (
            "Repair",
            format!("it is released unless it is whole again within {span}"),
        ),
        None => ("Partial", "it is completed or released".to_owned()),
    };
    let message = format!("{short} have a node{how}; {end}");
    condition("Repairing", true, reason, &message)
}

/// A condition in words of at most the length that is shown.
pub(super) fn condition(
    kind: &'static str,
    status: bool,
    reason: impl Into<Code>,
    message: &str,
) -> Condition {
    Condition {
        kind: kind.into(),
        status,
        reason: reason.into(),
        message: cut(message),
    }
}

fn admitted(note: &Note, why: Option<&Why>) -> Condition {
    match &note.not_admitted {
        _ if note.admitted => condition("Admitted", true, "Admitted", ""),
        Some(why) => condition("Admitted", false, why.reason.clone(), &why.message),
        None => match why {
            Some(why) => condition("Admitted", false, why.reason.clone(), &why.message),
            None => condition("Admitted", false, "Pending", "not looked at yet"),
        },
    }
}

/// Whether the minimum is bound, and why not.
fn scheduled(gang: &Gang, note: &Note, why: Option<&Why>) -> Condition {
    if gang.unsecured() == 0 && gang.secured() > 0 {
        let of = gang.min_available();
        let message = format!("the minimum of {of} is bound");
        return condition("Scheduled", true, "Scheduled", &message);
    }
    if let Stage::Held(_) = note.stage() {
        let message = why.map_or("", |why| &why.message);
        return condition("Scheduled", false, "Held", message);
    }
    if gang.missing() == 0 && gang.available() > 0 {
        let short = gang.shortfall(Subgroup::secured);
        let message = format!("{short} are bound, the others are on their way");
        return condition("Scheduled", false, "Binding", &message);
    }
    match why {
        Some(why) => condition("Scheduled", false, why.reason.clone(), &why.message),
        None => condition("Scheduled", false, "Pending", "not looked at yet"),
    }
}

/// Why a pod waits, if there is something to say on it.
pub(super) fn on_pod(state: &ClusterState, pod: &Pod, why: Option<&Why>) -> Option<Arc<str>> {
    match (state.standing(pod), pod.facts.unsupported.first()) {
        (Standing::Unsupported, Some(field)) => {
            Some(cut(&format!("not supported: {field}")).into())
        }
        (Standing::Unsupported, None) => {
            Some(unknown_subgroup(pod.facts.subgroup_label.as_deref()).into())
        }
        (Standing::Pending | Standing::GivenUp, _) => Some(Arc::clone(&why?.message)),
        _ => None,
    }
}

/// The reason in the condition of a pod that waits. Autoscalers add nodes for what is
/// `Unschedulable`, and no node helps a member that its gang may not have yet.
pub(super) fn reason_on_pod(why: Option<&Why>) -> Code {
    match why {
        Some(why) if why.reason == "AtMaximum" => why.reason.clone(),
        _ => Code::new("Unschedulable"),
    }
}

fn unknown_subgroup(label: Option<&str>) -> String {
    match label {
        Some(name) => format!("its PodGroup has no subgroup \"{name}\""),
        None => "its PodGroup has subgroups: label muster.dev/subgroup is missing".to_owned(),
    }
}
