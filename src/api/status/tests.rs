//! What is written is what is read back, and what each kind's clients read.

use super::*;
use crate::{coscheduling, slim, upstream, volcano};
use muster_model::{Condition, GangKey, GangPhase, PodWaits, QueueStatus};

fn condition(kind: &'static str, status: bool, message: &str) -> Condition {
    Condition {
        kind: kind.into(),
        status,
        reason: "Reason".into(),
        message: message.to_owned(),
    }
}

fn status(source: Source, phase: GangPhase, scheduled: bool) -> GangStatus {
    GangStatus {
        gang: GangKey {
            name: "g".to_owned(),
            ..GangKey::default()
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
        granted: None,
        let_in: None,
        conditions: vec![
            condition("Admitted", true, ""),
            condition("Scheduled", scheduled, "why \u{e4}"),
        ],
    }
}

fn statuses(source: Source) -> Vec<GangStatus> {
    let mut all = Vec::new();
    for phase in GangPhase::ALL {
        for position in [None, Some(3)] {
            for scheduled in [false, true] {
                all.push(GangStatus {
                    position,
                    estimated_start: position.map(|_| Time(1_700_000_000_000)),
                    max_hops: position,
                    ..status(source, phase, scheduled)
                });
            }
        }
    }
    all
}

fn at(kind: &str, _: bool) -> Timestamp {
    Timestamp::from_second(if kind == "Admitted" { 1 } else { 61 }).unwrap()
}

fn patch(status: &GangStatus) -> Value {
    Status::of_gang(status).unwrap().stamped(at).patch()
}

/// What the API server holds after a merge patch on an object without a status.
fn stored(patch: &Value) -> Value {
    let mut status = patch["status"].clone();
    status
        .as_object_mut()
        .unwrap()
        .retain(|_, value| !value.is_null());
    json!({
        "apiVersion": "v1", "kind": "PodGroup", "status": status,
        "metadata": {"name": "g", "namespace": "n"}, "spec": {},
    })
}

fn read(source: Source, object: Value) -> Option<Status> {
    match source {
        Source::Muster => {
            let read: crd::PodGroup = serde_json::from_value(object).unwrap();
            read.status.map(Status::PodGroup)
        }
        Source::Volcano => {
            let read: volcano::PodGroup = serde_json::from_value(object).unwrap();
            Some(Status::Volcano(read.status))
        }
        Source::Upstream => {
            let read: upstream::PodGroup = serde_json::from_value(object).unwrap();
            Status::read_upstream(&read)
        }
        Source::Coscheduling => {
            let read: coscheduling::PodGroup = serde_json::from_value(object).unwrap();
            Some(Status::Coscheduling(read.status))
        }
        Source::SchedulingSpec => {
            let read: crd::JobSchedulingSpec = serde_json::from_value(object).unwrap();
            read.status.map(Status::PodGroup)
        }
        Source::Implied => None,
    }
}

#[test]
fn what_is_written_is_what_is_read_back() {
    for source in Source::KINDS {
        for status in statuses(source) {
            let seen = read(source, stored(&patch(&status))).unwrap().said();
            let wanted = Status::of_gang(&status).unwrap();
            assert_eq!(wanted.clone().said().text, seen.text, "{status:?}");
            for one in wanted.conditions() {
                let since = seen.since(&one.kind, one.is_true());
                assert_eq!(since, Some(at(&one.kind, one.is_true())), "{one:?}");
            }
        }
    }
}

#[test]
fn a_status_that_differs_in_anything_but_times_is_another_one() {
    let all = statuses(Source::Muster);
    let digest = |status| Status::of_gang(status).unwrap().said().text;
    let digests: std::collections::BTreeSet<u64> = all.iter().map(digest).collect();
    assert_eq!(digests.len(), all.len());
}

#[test]
fn our_status_has_every_field_and_clears_what_is_unknown() {
    let found = patch(&status(Source::Muster, GangPhase::Inqueue, false));
    assert_eq!(
        found,
        json!({"status": {
            "phase": "Inqueue", "minAvailable": 3, "bound": 2,
            "selector": "muster.dev/pod-group=g", "running": 1, "succeeded": 5,
            "failed": 6, "position": null, "estimatedStart": null, "maxHops": null,
            "conditions": [
                {"type": "Admitted", "status": "True", "reason": "Reason", "message": "",
                 "lastTransitionTime": "1970-01-01T00:00:01Z", "observedGeneration": 4},
                {"type": "Scheduled", "status": "False", "reason": "Reason",
                 "message": "why \u{e4}", "lastTransitionTime": "1970-01-01T00:01:01Z",
                 "observedGeneration": 4},
            ],
        }})
    );
    let mut found = status(Source::Muster, GangPhase::Pending, false);
    found.conditions.clear();
    found.estimated_start = Some(Time(1_700_000_000_999));
    let found = patch(&found);
    assert_eq!(found["status"]["conditions"], json!([]));
    assert_eq!(found["status"]["estimatedStart"], "2023-11-14T22:13:20Z");
}

#[test]
fn a_topology_without_levels_has_no_domains_any_more() {
    let status = muster_model::TopologyStatus {
        nodes: 2,
        ready: condition("Ready", true, ""),
        ..Default::default()
    };
    let found = Status::from(&status).stamped(at).patch();
    assert_eq!(
        found,
        json!({"status": {"nodes": 2, "nodesOutside": 0, "domains": [], "conditions": [
            {"type": "Ready", "status": "True", "reason": "Reason", "message": "",
             "lastTransitionTime": "1970-01-01T00:01:01Z", "observedGeneration": 0},
        ]}})
    );
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
        let found = patch(&status(Source::Volcano, phase, true));
        assert_eq!(found["status"]["phase"], word);
    }
}

#[test]
fn volcano_reads_counts_and_one_condition() {
    let found = patch(&status(Source::Volcano, GangPhase::Inqueue, false));
    assert_eq!(
        found["status"],
        json!({
            "phase": "Inqueue", "running": 1, "succeeded": 5, "failed": 6,
            "conditions": [{
                "type": "Unschedulable", "status": "True", "transitionID": "u-61000",
                "reason": "Reason", "message": "why \u{e4}",
                "lastTransitionTime": "1970-01-01T00:01:01Z",
            }],
        })
    );
    let found = patch(&status(Source::Volcano, GangPhase::Running, true));
    assert_eq!(found["status"]["conditions"][0]["type"], "Scheduled");
}

#[test]
fn upstreams_condition_stays_true_once_the_gang_has_run() {
    let of = |phase, scheduled| {
        let found = patch(&status(Source::Upstream, phase, scheduled));
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
    assert_eq!(Status::of_gang(&silent), None);
}

#[test]
fn a_queue_without_counts_does_not_say_zero() {
    let wanted = Status::from(&QueueStatus::default());
    let read = |status: Value| {
        let queue: crd::Queue = serde_json::from_value(json!({
            "apiVersion": "muster.dev/v1alpha1", "kind": "Queue",
            "metadata": {"name": "q"}, "spec": {}, "status": status,
        }))
        .unwrap();
        Status::read_queue(&queue).map(|status| status.said().text)
    };
    let mut zero = wanted.clone().stamped(at).patch()["status"].clone();
    assert_eq!(zero["flowTime"], "1970-01-01T00:00:00.000000Z");
    let text = Some(wanted.said().text);
    assert_eq!(read(zero.clone()), text);
    assert_ne!(read(json!({})), text);
    assert_ne!(read(Value::Null), text);
    // What others say beside it is theirs.
    let theirs = json!({"type": "Theirs", "status": "True"});
    zero["conditions"].as_array_mut().unwrap().push(theirs);
    assert_eq!(read(zero), text);
}

#[test]
fn why_a_pod_waits_is_read_from_its_condition() {
    let wanted = |nominated: Option<&str>| {
        Status::from(&PodWaits {
            pod: Default::default(),
            reason: "Unschedulable".into(),
            message: "0/3 nodes".into(),
            nominated: nominated.map(Into::into),
        })
        .said()
    };
    let pod = |status: &str| -> slim::Pod {
        serde_json::from_value(
            json!({"metadata": {"name": "p"}, "status": {"conditions": [{
                "type": "PodScheduled", "status": status, "reason": "Unschedulable",
                "message": "0/3 nodes",
            }]}}),
        )
        .unwrap()
    };
    let seen = Status::read_pod(&pod("False")).unwrap().said();
    assert!(seen.says(&wanted(None)));
    assert_eq!(Status::read_pod(&pod("True")), None);
    // Where nobody is to be named, somebody else's word stays; else it has to be ours.
    assert!(seen.says(&wanted(Some(""))));
    assert!(!seen.says(&wanted(Some("n1"))));
    let mut pod = pod("False");
    pod.status.nominated_node_name = "n1".to_owned();
    let seen = Status::read_pod(&pod).unwrap().said();
    assert!(seen.says(&wanted(None)));
    assert!(seen.says(&wanted(Some("n1"))));
    assert!(!seen.says(&wanted(Some(""))));
}

#[test]
fn on_a_pod_only_a_node_that_was_named_is_unnamed() {
    let patch = |nominated: Option<&str>| {
        Status::from(&PodWaits {
            pod: Default::default(),
            reason: "Unschedulable".into(),
            message: "why".into(),
            nominated: nominated.map(Into::into),
        })
        .patch()
    };
    let conditions = json!([
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "why"},
    ]);
    assert_eq!(patch(None), json!({"status": {"conditions": conditions}}));
    assert_eq!(
        patch(Some("")),
        json!({"status": {"conditions": conditions, "nominatedNodeName": null}})
    );
    assert_eq!(patch(Some("n"))["status"]["nominatedNodeName"], "n");
}
