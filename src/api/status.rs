//! What the core says of a gang, as a merge patch of `status` for the kind it came from.

use super::names;
use super::upstream::INITIALLY_SCHEDULED;
use jiff::Timestamp;
use muster_model::Source;
use muster_model::resources::CORE;
use muster_model::units::Time;
use muster_model::{Condition, GangPhase, GangStatus, QueueStatus, TopologyStatus};
use serde_json::{Value, json};

/// Says since when a condition of this type has had this status.
pub type SinceOf<'a> = &'a dyn Fn(&str, bool) -> Timestamp;

/// The JSON merge patch `{"status": ...}` for the object that defines the gang. Volcano's kind has
/// no status subresource: there the patch goes to the object itself.
#[must_use]
pub fn patch(status: &GangStatus, since: SinceOf<'_>) -> Value {
    let fields = match status.source {
        Source::Muster => muster(status, since),
        Source::Volcano => volcano(status, since),
        Source::Upstream => upstream(status, since),
    };
    json!({ "status": fields })
}

/// The counts of a Queue, in the order of [`QUEUE_FIELDS`].
#[must_use]
pub fn queue_counts(status: &QueueStatus) -> [u32; QUEUE_FIELDS.len()] {
    let gangs = |phase: GangPhase| status.gangs[phase as usize];
    [
        gangs(GangPhase::Pending),
        gangs(GangPhase::Inqueue),
        gangs(GangPhase::Running) + gangs(GangPhase::Scheduling),
        gangs(GangPhase::Unknown),
        gangs(GangPhase::Finished),
        gangs(GangPhase::Failed),
    ]
}

/// What a Queue's status counts.
pub const QUEUE_FIELDS: [&str; 6] = [
    "pending", "inqueue", "running", "unknown", "finished", "failed",
];

/// What a Queue's status says of its books, as texts and numbers of the API.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct QueueBooks {
    /// `usage`.
    pub usage: String,
    /// `flow`.
    pub flow: String,
    /// `flowTime`, in milliseconds since 1970.
    pub flow_at: i64,
    /// `fairShare`.
    pub share: String,
    /// `budgetLeft`, in core-minutes.
    pub budget_left: i64,
    /// The condition `Ready`: its status, reason, message and generation.
    pub ready: (bool, String, String, i64),
}

/// The books of a Queue as the API has them.
#[must_use]
pub fn queue_books(status: &QueueStatus) -> QueueBooks {
    let ready = &status.ready;
    QueueBooks {
        usage: cores(status.usage),
        flow: cores(status.flow),
        flow_at: i64::try_from(status.flow_at.0).unwrap_or(i64::MAX),
        share: cores(status.share),
        budget_left: i64::try_from(status.budget_left / 60_000).unwrap_or(i64::MAX),
        ready: (
            ready.status,
            ready.reason.to_owned(),
            ready.message.clone(),
            status.observed_generation,
        ),
    }
}

/// Worth as a quantity of cores, to the thousandth.
fn cores(worth: u64) -> String {
    let milli = worth / (CORE / 1_000);
    if milli.is_multiple_of(1_000) {
        (milli / 1_000).to_string()
    } else {
        format!("{milli}m")
    }
}

/// The JSON merge patch `{"status": ...}` of a Queue: how many of its gangs are where, and its books.
#[must_use]
pub fn queue_patch(status: &QueueStatus, since: SinceOf<'_>) -> Value {
    let counts = QUEUE_FIELDS.into_iter().zip(queue_counts(status));
    let mut fields: serde_json::Map<String, Value> = counts
        .map(|(field, count)| (field.to_owned(), json!(count)))
        .collect();
    let books = queue_books(status);
    let at = Timestamp::from_millisecond(books.flow_at).unwrap_or_default();
    let (is_true, reason, message, generation) = &books.ready;
    let texts = [
        ("usage", json!(books.usage)),
        ("flow", json!(books.flow)),
        (
            "flowTime",
            json!(at.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()),
        ),
        ("fairShare", json!(books.share)),
        ("budgetLeft", json!(books.budget_left)),
        (
            "conditions",
            json!([{
                "type": "Ready",
                "status": if *is_true { "True" } else { "False" },
                "reason": reason,
                "message": message,
                "lastTransitionTime": stamp(since("Ready", *is_true)),
                "observedGeneration": generation,
            }]),
        ),
    ];
    fields.extend(texts.map(|(field, value)| (field.to_owned(), value)));
    json!({ "status": fields })
}

/// The JSON merge patch `{"status": ...}` of a Topology.
#[must_use]
pub fn topology_patch(status: &TopologyStatus, since: SinceOf<'_>) -> Value {
    let ready = &status.ready;
    json!({ "status": {
        "nodes": status.nodes,
        "nodesOutside": status.outside,
        "domains": status.domains,
        "conditions": [{
            "type": ready.kind,
            "status": if ready.status { "True" } else { "False" },
            "reason": ready.reason,
            "message": ready.message,
            "lastTransitionTime": stamp(since(ready.kind, ready.status)),
            "observedGeneration": status.observed_generation,
        }],
    }})
}

fn muster(status: &GangStatus, since: SinceOf<'_>) -> Value {
    let condition = |found: &Condition| {
        let since = since(found.kind, found.status);
        condition(status, found, since)
    };
    json!({
        "phase": status.phase.as_str(),
        "minAvailable": status.min_available,
        "bound": status.bound,
        "selector": selector(&status.gang.name),
        "running": status.running,
        "succeeded": status.succeeded,
        "failed": status.failed,
        "position": status.position,
        "estimatedStart": status.estimated_start.map(|at| stamp(timestamp(at))),
        "maxHops": status.max_hops,
        "conditions": status.conditions.iter().map(condition).collect::<Vec<_>>(),
    })
}

/// Which pods carry a gang's label, as the scale subresource has it. No label can have a name that is
/// longer than 63 characters.
#[must_use]
pub fn selector(name: &str) -> Option<String> {
    (name.len() <= 63).then(|| format!("{}={name}", names::POD_GROUP))
}

/// Volcano's clients know fewer phases.
#[must_use]
pub fn volcano_phase(phase: GangPhase) -> &'static str {
    match phase {
        GangPhase::Scheduling => "Inqueue",
        GangPhase::Finished | GangPhase::Failed => "Completed",
        phase => phase.as_str(),
    }
}

/// Volcano's clients know that a gang is not scheduled by a condition of its own type.
#[must_use]
pub const fn volcano_condition(scheduled: bool) -> &'static str {
    if scheduled {
        "Scheduled"
    } else {
        "Unschedulable"
    }
}

fn volcano(status: &GangStatus, since: SinceOf<'_>) -> Value {
    let condition = |found: &Condition| {
        let kind = volcano_condition(found.status);
        let since = since(kind, true);
        json!({
            "type": kind,
            "status": "True",
            "transitionID": format!("{}-{}", status.uid, since.as_millisecond()),
            "lastTransitionTime": stamp(since),
            "reason": found.reason,
            "message": found.message,
        })
    };
    json!({
        "phase": volcano_phase(status.phase),
        "running": status.running,
        "succeeded": status.succeeded,
        "failed": status.failed,
        "conditions": scheduled(status).map(condition).into_iter().collect::<Vec<_>>(),
    })
}

/// The one condition that upstream knows. Once a gang runs it says `True`, whatever the gang lacks
/// since: `True` never reverts. `None` while nothing is known.
#[must_use]
pub fn upstream_condition(status: &GangStatus) -> Option<Condition> {
    let found = scheduled(status);
    let has_run = match status.phase {
        GangPhase::Running | GangPhase::Unknown | GangPhase::Finished | GangPhase::Failed => true,
        GangPhase::Pending | GangPhase::Inqueue | GangPhase::Scheduling => false,
    };
    let is_true = has_run || found.is_some_and(|one| one.status);
    if found.is_none() && !is_true {
        return None;
    }
    let reason = if is_true {
        "Scheduled"
    } else {
        "Unschedulable"
    };
    Some(Condition {
        kind: INITIALLY_SCHEDULED,
        status: is_true,
        reason,
        message: found.map_or_else(String::new, |one| one.message.clone()),
    })
}

fn upstream(status: &GangStatus, since: SinceOf<'_>) -> Value {
    match upstream_condition(status) {
        Some(found) => {
            let since = since(found.kind, found.status);
            json!({ "conditions": [condition(status, &found, since)] })
        }
        None => json!({}),
    }
}

/// The condition `Scheduled` of a status.
#[must_use]
pub fn scheduled(status: &GangStatus) -> Option<&Condition> {
    status.conditions.iter().find(|one| one.kind == "Scheduled")
}

/// A condition as Kubernetes writes them.
fn condition(status: &GangStatus, found: &Condition, since: Timestamp) -> Value {
    json!({
        "type": found.kind,
        "status": if found.status { "True" } else { "False" },
        "reason": found.reason,
        "message": found.message,
        "lastTransitionTime": stamp(since),
        "observedGeneration": status.observed_generation,
    })
}

/// Kubernetes' times are in whole seconds.
fn stamp(at: Timestamp) -> String {
    let seconds = Timestamp::from_second(at.as_second());
    seconds.unwrap_or(at).to_string()
}

/// A time of the core as one of the API.
#[must_use]
pub fn timestamp(at: Time) -> Timestamp {
    let milliseconds = i64::try_from(at.0).ok();
    let at = milliseconds.and_then(|at| Timestamp::from_millisecond(at).ok());
    at.unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn since(kind: &str, _: bool) -> Timestamp {
        let seconds = if kind == "Admitted" { 1 } else { 61 };
        Timestamp::from_second(seconds).unwrap()
    }

    fn status(source: Source, phase: GangPhase, scheduled: bool) -> GangStatus {
        GangStatus {
            gang: muster_model::GangKey {
                name: "g".to_owned(),
                ..Default::default()
            },
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
            estimated_start: None,
            max_hops: None,
            conditions: vec![
                Condition {
                    kind: "Admitted",
                    status: true,
                    reason: "RoomFree",
                    message: String::new(),
                },
                Condition {
                    kind: "Scheduled",
                    status: scheduled,
                    reason: "NotEnoughResources",
                    message: "why".to_owned(),
                },
            ],
        }
    }

    #[test]
    fn our_status_has_every_field_and_clears_what_is_unknown() {
        let found = patch(&status(Source::Muster, GangPhase::Inqueue, false), &since);
        assert_eq!(
            found,
            json!({"status": {
                "phase": "Inqueue", "minAvailable": 3, "bound": 2,
                "selector": "muster.dev/pod-group=g", "running": 1, "succeeded": 5,
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
    fn a_name_that_no_label_can_have_has_no_selector() {
        assert_eq!(selector(&"x".repeat(63)).map(|text| text.len()), Some(84));
        assert_eq!(selector(&"x".repeat(64)), None);
    }

    #[test]
    fn our_status_is_one_that_our_definition_reads() {
        let found = patch(&status(Source::Muster, GangPhase::Running, true), &since);
        let read: crate::crd::PodGroupStatus =
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
            let found = patch(&status(Source::Volcano, phase, true), &since);
            assert_eq!(found["status"]["phase"], word);
        }
    }

    #[test]
    fn volcano_reads_counts_and_one_condition() {
        let found = patch(&status(Source::Volcano, GangPhase::Inqueue, false), &since);
        assert_eq!(
            found["status"],
            json!({
                "phase": "Inqueue", "running": 1, "succeeded": 5, "failed": 6,
                "conditions": [{
                    "type": "Unschedulable", "status": "True", "transitionID": "u-61000",
                    "reason": "NotEnoughResources", "message": "why",
                    "lastTransitionTime": "1970-01-01T00:01:01Z",
                }],
            })
        );
        let found = patch(&status(Source::Volcano, GangPhase::Running, true), &since);
        assert_eq!(found["status"]["conditions"][0]["type"], "Scheduled");
    }

    #[test]
    fn upstreams_condition_stays_true_once_the_gang_has_run() {
        let of = |phase, scheduled| {
            let found = patch(&status(Source::Upstream, phase, scheduled), &since);
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
        assert_eq!(patch(&silent, &since), json!({"status": {}}));
    }
}
