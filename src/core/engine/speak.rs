//! What is said: the status of PodGroups, and on pods why they wait. Only when it is news.

use super::plan::{Condition, Effect, GangPhase, GangStatus, MAX_MESSAGE};
use super::said::Said;
use crate::core::actions::Agenda;
use crate::core::model::PodWaits;
use crate::core::state::{ClusterState, Gang, GangId, PodId, Progress, Stage, Standing};
use crate::core::units::Time;
use std::collections::{BTreeMap, BTreeSet};

/// Says what is new about the gangs on which something happened.
pub(super) fn speak(
    state: &mut ClusterState,
    agenda: &Agenda,
    said: &mut Said,
    seen: &BTreeSet<GangId>,
    now: Time,
    effects: &mut Vec<Effect>,
) {
    let mut places = None;
    for id in seen {
        let Some(gang) = state.gang(*id) else {
            continue;
        };
        if let Some(queue) = gang.queue {
            said.note_phase(*id, queue, phase(gang, state.progress(*id)));
        }
        if gang.definition().is_some() {
            let waits = is_waiting(state.progress(*id).stage);
            let places = places.get_or_insert_with(|| positions(state, agenda));
            let position = places.get(id).copied().filter(|_| waits);
            let mut new = status(state, *id, position);
            for condition in &mut new.conditions {
                condition.since = known_since(said.status(*id), condition).unwrap_or(now);
            }
            if said.note_status(*id, &new) {
                effects.push(Effect::GangStatus(new));
            }
        }
        tell_pods(state, *id, effects);
    }
    effects.extend(
        said.take_queue_news(state)
            .into_iter()
            .map(Effect::QueueStatus),
    );
}

/// When a condition got the status it has.
fn known_since(old: Option<&GangStatus>, condition: &Condition) -> Option<Time> {
    let mut known = old?.conditions.iter();
    let known = known.find(|one| one.kind == condition.kind && one.status == condition.status)?;
    Some(known.since)
}

const fn is_waiting(stage: Stage) -> bool {
    matches!(stage, Stage::Queued(_) | Stage::Parked(_))
}

/// The place of every waiting gang in its queue, from 1.
pub(super) fn positions(state: &ClusterState, agenda: &Agenda) -> BTreeMap<GangId, u32> {
    let mut ahead = BTreeMap::new();
    let mut places = BTreeMap::new();
    for key in agenda.waiting() {
        let queue = state.gang(key.gang).and_then(|gang| gang.queue);
        let place = ahead.entry(queue).or_insert(0);
        *place += 1;
        places.insert(key.gang, *place);
    }
    places
}

/// The status of a gang as of now. The conditions' times are left at zero.
pub(super) fn status(state: &ClusterState, id: GangId, position: Option<u32>) -> GangStatus {
    let empty = Gang::default();
    let gang = state.gang(id).unwrap_or(&empty);
    let progress = state.progress(id);
    let counts = gang.counts();
    let retired: u32 = gang.subgroups.iter().map(|one| one.retired).sum();
    let definition = gang.definition();
    GangStatus {
        gang: gang.key.clone(),
        source: definition.map(|spec| spec.source).unwrap_or_default(),
        uid: definition.map(|spec| spec.uid.clone()).unwrap_or_default(),
        observed_generation: definition.map_or(0, |spec| spec.generation),
        phase: phase(gang, progress),
        min_available: gang.min_available(),
        bound: counts.bound(),
        running: counts.of(Standing::Running),
        succeeded: counts.of(Standing::Succeeded) + retired,
        failed: counts.of(Standing::Failed),
        position,
        conditions: conditions(gang, progress),
    }
}

fn phase(gang: &Gang, progress: &Progress) -> GangPhase {
    let counts = gang.counts();
    let ended = counts.of(Standing::Succeeded) + counts.of(Standing::Failed);
    let (active, waiting) = (counts.placed(), gang.pending.len());
    if ended > 0 && active == 0 && waiting == 0 && counts.all() == ended {
        let well = counts.of(Standing::Failed) == 0 && gang.missing() == 0;
        return if well {
            GangPhase::Finished
        } else {
            GangPhase::Failed
        };
    }
    if gang.missing() == 0 && gang.available() > 0 {
        // Also where the minimum has succeeded and only a surplus member still waits.
        let bound = gang.available() - counts.of(Standing::Assumed);
        let complete = bound >= gang.min_available() && bound > 0;
        return if complete {
            GangPhase::Running
        } else {
            GangPhase::Scheduling
        };
    }
    if active > 0 || progress.stage == Stage::Releasing {
        let ran = progress.met.is_some() || progress.stage == Stage::Releasing;
        return if ran {
            GangPhase::Unknown
        } else {
            GangPhase::Scheduling
        };
    }
    if progress.admitted {
        GangPhase::Inqueue
    } else {
        GangPhase::Pending
    }
}

fn conditions(gang: &Gang, progress: &Progress) -> Vec<Condition> {
    let condition = |kind, status, reason, message: &str| Condition {
        kind,
        status,
        reason,
        message: cut(message),
        since: Time::ZERO,
    };
    let mut all = Vec::with_capacity(3);
    all.push(match &progress.not_admitted {
        Some(why) if !progress.admitted => condition("Admitted", false, why.reason, &why.message),
        _ if progress.admitted => condition("Admitted", true, "Admitted", ""),
        _ => condition("Admitted", false, "Pending", "not looked at yet"),
    });
    let placed = gang.missing() == 0 && gang.available() > 0;
    all.push(match (&progress.why, placed) {
        (_, true) => {
            let of = gang.min_available();
            condition(
                "Scheduled",
                true,
                "Scheduled",
                &format!("the minimum of {of} has its place"),
            )
        }
        (Some(why), false) => condition("Scheduled", false, why.reason, &why.message),
        (None, false) => condition("Scheduled", false, "Pending", "not looked at yet"),
    });
    if progress.partial_since.is_some() {
        let (have, of) = (gang.available(), gang.min_available());
        let message = format!("{have} of {of} members have a node; completing it or releasing it");
        all.push(condition("Repairing", true, "Partial", &message));
    }
    if let Some(message) = &progress.disrupted {
        all.push(condition("Disrupted", true, "Released", message));
    }
    all
}

/// Says on every member without a place why it has none.
fn tell_pods(state: &mut ClusterState, id: GangId, effects: &mut Vec<Effect>) {
    let Some(gang) = state.gang(id) else { return };
    let why = state.progress(id).why.clone();
    let waiting: Vec<PodId> = gang.members.iter().copied().collect();
    for pod_id in waiting {
        let Some((message, key)) = state.pod(pod_id).and_then(|pod| {
            let standing = state.standing(pod);
            let message = match (standing, pod.unsupported.first()) {
                (Standing::Unsupported, Some(field)) => format!("not supported: {field}"),
                (Standing::Unsupported, None) => unknown_subgroup(pod.subgroup_label.as_deref()),
                (Standing::Pending | Standing::Refused, _) => why.as_ref()?.message.clone(),
                _ => return None,
            };
            Some((cut(&message), pod.key.clone()))
        }) else {
            continue;
        };
        if state.tell(pod_id, digest(&message)) {
            let reason = "Unschedulable";
            effects.push(Effect::PodWaits(PodWaits {
                pod: key,
                reason,
                message,
            }));
        }
    }
}

fn unknown_subgroup(label: Option<&str>) -> String {
    match label {
        Some(name) => format!("its PodGroup has no subgroup \"{name}\""),
        None => "its PodGroup has subgroups: label muster.dev/subgroup is missing".to_owned(),
    }
}

/// Cuts a message to [`MAX_MESSAGE`] bytes, at a character's border.
fn cut(message: &str) -> String {
    if message.len() <= MAX_MESSAGE {
        return message.to_owned();
    }
    let dots = "...";
    let mut end = MAX_MESSAGE - dots.len();
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{dots}", &message[..end])
}

/// FNV-1a: tells messages apart without keeping them.
fn digest(message: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    message.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_messages_are_cut_at_a_characters_border() {
        let long = "ä".repeat(MAX_MESSAGE);
        let short = cut(&long);
        assert!(short.len() <= MAX_MESSAGE && short.ends_with("ä..."));
        assert_eq!(cut("short"), "short");
    }
}
