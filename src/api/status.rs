//! What the core says of a gang, as a merge patch of `status` for the kind it came from.

use super::upstream::INITIALLY_SCHEDULED;
use crate::core::engine::{Condition, GangPhase, GangStatus, QueueStatus};
use crate::core::model::Source;
use crate::core::units::Time;
use jiff::Timestamp;
use serde_json::{Value, json};

/// The JSON merge patch `{"status": ...}` for the object that defines the gang. `wall` turns the
/// core's time into that of the calendar. Volcano's kind has no status subresource: there the
/// patch goes to the object itself.
#[must_use]
pub fn patch(status: &GangStatus, wall: &dyn Fn(Time) -> Timestamp) -> Value {
    let fields = match status.source {
        Source::Muster => muster(status, wall),
        Source::Volcano => volcano(status, wall),
        Source::Upstream => upstream(status, wall),
    };
    json!({ "status": fields })
}

/// The JSON merge patch `{"status": ...}` of a Queue: how many of its gangs are where.
#[must_use]
pub fn queue_patch(status: &QueueStatus) -> Value {
    let gangs = |phase: GangPhase| status.gangs[phase as usize];
    json!({ "status": {
        "pending": gangs(GangPhase::Pending),
        "inqueue": gangs(GangPhase::Inqueue),
        "running": gangs(GangPhase::Running) + gangs(GangPhase::Scheduling),
        "unknown": gangs(GangPhase::Unknown),
        "finished": gangs(GangPhase::Finished),
        "failed": gangs(GangPhase::Failed),
    } })
}

fn muster(status: &GangStatus, wall: &dyn Fn(Time) -> Timestamp) -> Value {
    let condition = |found: &Condition| {
        condition(
            status,
            found.kind,
            found.status,
            found.reason,
            &found.message,
            wall(found.since),
        )
    };
    json!({
        "phase": status.phase.as_str(),
        "minAvailable": status.min_available,
        "bound": status.bound,
        "running": status.running,
        "succeeded": status.succeeded,
        "failed": status.failed,
        "position": status.position,
        "estimatedStart": null,
        "maxHops": null,
        "conditions": status.conditions.iter().map(condition).collect::<Vec<_>>(),
    })
}

/// Volcano's clients know fewer phases, and say "not scheduled" by a condition of its own type.
fn volcano(status: &GangStatus, wall: &dyn Fn(Time) -> Timestamp) -> Value {
    let phase = match status.phase {
        GangPhase::Scheduling => "Inqueue",
        GangPhase::Finished | GangPhase::Failed => "Completed",
        phase => phase.as_str(),
    };
    let condition = |found: &Condition| {
        json!({
            "type": if found.status { "Scheduled" } else { "Unschedulable" },
            "status": "True",
            "transitionID": format!("{}-{}", status.uid, found.since.0),
            "lastTransitionTime": stamp(wall(found.since)),
            "reason": found.reason,
            "message": found.message,
        })
    };
    json!({
        "phase": phase,
        "running": status.running,
        "succeeded": status.succeeded,
        "failed": status.failed,
        "conditions": scheduled(status).map(condition).into_iter().collect::<Vec<_>>(),
    })
}

/// Upstream knows one condition. Once a gang runs it says `True`, whatever the gang lacks since:
/// `True` never reverts.
fn upstream(status: &GangStatus, wall: &dyn Fn(Time) -> Timestamp) -> Value {
    let found = scheduled(status);
    let (since, message) = found.map_or((Time::ZERO, ""), |one| (one.since, one.message.as_str()));
    let has_run = match status.phase {
        GangPhase::Running | GangPhase::Unknown | GangPhase::Finished | GangPhase::Failed => true,
        GangPhase::Pending | GangPhase::Inqueue | GangPhase::Scheduling => false,
    };
    let is_true = has_run || found.is_some_and(|one| one.status);
    if found.is_none() && !is_true {
        return json!({});
    }
    let reason = if is_true {
        "Scheduled"
    } else {
        "Unschedulable"
    };
    let one = condition(
        status,
        INITIALLY_SCHEDULED,
        is_true,
        reason,
        message,
        wall(since),
    );
    json!({ "conditions": [one] })
}

fn scheduled(status: &GangStatus) -> Option<&Condition> {
    status.conditions.iter().find(|one| one.kind == "Scheduled")
}

/// A condition as Kubernetes writes them.
fn condition(
    status: &GangStatus,
    kind: &str,
    is_true: bool,
    reason: &str,
    message: &str,
    since: Timestamp,
) -> Value {
    json!({
        "type": kind,
        "status": if is_true { "True" } else { "False" },
        "reason": reason,
        "message": message,
        "lastTransitionTime": stamp(since),
        "observedGeneration": status.observed_generation,
    })
}

/// Kubernetes' times are in whole seconds.
fn stamp(at: Timestamp) -> String {
    let seconds = Timestamp::from_second(at.as_second());
    seconds.unwrap_or(at).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wall(time: Time) -> Timestamp {
        Timestamp::from_millisecond(i64::try_from(time.0).unwrap()).unwrap()
    }

    fn status(source: Source, phase: GangPhase, scheduled: bool) -> GangStatus {
        GangStatus {
            gang: crate::core::model::GangKey::default(),
            source,
            uid: "u".to_owned(),
            observed_generation: 4,
            phase,
            min_available: 3,
            bound: 2,
            running: 1,
            succeeded: 5,
            failed: 6,
            position: None,
            conditions: vec![
                Condition {
                    kind: "Admitted",
                    status: true,
                    reason: "RoomFree",
                    message: String::new(),
                    since: Time(1000),
                },
                Condition {
                    kind: "Scheduled",
                    status: scheduled,
                    reason: "NotEnoughResources",
                    message: "why".to_owned(),
                    since: Time(61_500),
                },
            ],
        }
    }

    #[test]
    fn our_status_has_every_field_and_clears_what_is_unknown() {
        let found = patch(&status(Source::Muster, GangPhase::Inqueue, false), &wall);
        assert_eq!(
            found,
            json!({"status": {
                "phase": "Inqueue", "minAvailable": 3, "bound": 2, "running": 1, "succeeded": 5,
                "failed": 6, "position": null, "estimatedStart": null, "maxHops": null,
                "conditions": [
                    {"type": "Admitted", "status": "True", "reason": "RoomFree", "message": "",
                     "lastTransitionTime": "1970-01-01T00:00:01Z", "observedGeneration": 4},
                    {"type": "Scheduled", "status": "False", "reason": "NotEnoughResources",
                     "message": "why", "lastTransitionTime": "1970-01-01T00:01:01Z",
                     "observedGeneration": 4},
                ],
            }})
        );
    }

    #[test]
    fn our_status_is_one_that_our_definition_reads() {
        let found = patch(&status(Source::Muster, GangPhase::Running, true), &wall);
        let read: crate::api::crd::PodGroupStatus =
            serde_json::from_value(found["status"].clone()).unwrap();
        assert_eq!((read.bound, read.conditions.len()), (Some(2), 2));
    }

    #[test]
    fn volcano_reads_only_its_own_phases() {
        let cases = [
            (GangPhase::Pending, "Pending"),
            (GangPhase::Inqueue, "Inqueue"),
            (GangPhase::Scheduling, "Inqueue"),
            (GangPhase::Running, "Running"),
            (GangPhase::Unknown, "Unknown"),
            (GangPhase::Finished, "Completed"),
            (GangPhase::Failed, "Completed"),
        ];
        for (phase, word) in cases {
            let found = patch(&status(Source::Volcano, phase, true), &wall);
            assert_eq!(found["status"]["phase"], word);
        }
    }

    #[test]
    fn volcano_reads_counts_and_one_condition() {
        let found = patch(&status(Source::Volcano, GangPhase::Inqueue, false), &wall);
        assert_eq!(
            found["status"],
            json!({
                "phase": "Inqueue", "running": 1, "succeeded": 5, "failed": 6,
                "conditions": [{
                    "type": "Unschedulable", "status": "True", "transitionID": "u-61500",
                    "reason": "NotEnoughResources", "message": "why",
                    "lastTransitionTime": "1970-01-01T00:01:01Z",
                }],
            })
        );
        let found = patch(&status(Source::Volcano, GangPhase::Running, true), &wall);
        assert_eq!(found["status"]["conditions"][0]["type"], "Scheduled");
    }

    #[test]
    fn upstreams_condition_stays_true_once_the_gang_has_run() {
        let of = |phase, scheduled| {
            let found = patch(&status(Source::Upstream, phase, scheduled), &wall);
            let one = found["status"]["conditions"][0].clone();
            assert_eq!(one["type"], "PodGroupInitiallyScheduled");
            (one["status"].clone(), one["reason"].clone())
        };
        let waits = (json!("False"), json!("Unschedulable"));
        let runs = (json!("True"), json!("Scheduled"));
        assert_eq!(of(GangPhase::Inqueue, false), waits);
        assert_eq!(of(GangPhase::Scheduling, true), runs);
        assert_eq!(of(GangPhase::Running, true), runs);
        assert_eq!(of(GangPhase::Unknown, false), runs);
    }

    #[test]
    fn upstream_is_told_nothing_while_nothing_is_known() {
        let mut silent = status(Source::Upstream, GangPhase::Pending, false);
        silent.conditions.clear();
        assert_eq!(patch(&silent, &wall), json!({"status": {}}));
    }
}
