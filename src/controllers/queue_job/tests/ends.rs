//! Pods that fail, vanish and succeed, and how a QueueJob ends.

use super::world::{World, key, task};
use crate::Resource;
use serde_json::json;

/// One with three pods that run, of which so many have to.
fn running(min: i32, limit: i32) -> World {
    let mut world = World::new();
    let sched = json!({"minAvailable": min});
    world.job(
        "job",
        json!({"schedSpec": sched, "taskSpecs": [task("a", 3)], "backoffLimit": limit}),
    );
    world.rest();
    world.run_all();
    world.rest();
    assert_eq!(world.counts("job"), [0, 3, 0, 0]);
    world
}

fn uids(world: &World) -> Vec<String> {
    world.pods().iter().map(|pod| world.uid(pod)).collect()
}

#[test]
fn a_pod_that_fails_at_or_above_the_minimum_is_made_anew_alone_after_a_while() {
    let mut world = running(2, 6);
    let before = uids(&world);
    world.phase("job-a-1", "Failed");
    let failed_at = world.now;
    while world.pods().len() == 3 {
        world.rest_one();
    }
    assert_eq!(
        world.pods(),
        ["job-a-0", "job-a-2"],
        "it is counted, and goes"
    );
    while world.pods().len() == 2 {
        world.rest_one();
    }
    let waited = world.now.0 - failed_at.0;
    assert!((9_000..=11_000).contains(&waited), "{waited} ms");
    world.rest();
    let after = uids(&world);
    assert_eq!((&after[0], &after[2]), (&before[0], &before[2]));
    assert_ne!(after[1], before[1]);
    assert_eq!(world.counts("job"), [1, 2, 0, 1]);
    let status = world.status("job");
    assert_eq!(
        (status.failures, status.restarts, status.counted_pods.len()),
        (1, 0, 0)
    );
}

#[test]
fn pods_that_fail_below_the_minimum_have_all_made_anew_as_one_gang() {
    let mut world = running(3, 6);
    world.phase("job-a-0", "Succeeded");
    world.rest();
    let before = uids(&world);
    world.phase("job-a-1", "Failed");
    world.phase("job-a-2", "Failed");
    world.rest();
    let after = uids(&world);
    assert_eq!(after[0], before[0], "what has succeeded stays");
    assert!(after[1] != before[1] && after[2] != before[2]);
    assert_eq!(world.counts("job"), [2, 0, 1, 2]);
    let status = world.status("job");
    assert_eq!(
        (status.failures, status.restarts),
        (1, 1),
        "one failure, however many failed"
    );
    assert_eq!(status.running_since, None);
    assert!(status.last_restart_time.is_some() && status.last_failure_time.is_some());
    assert_eq!(
        world.pod("job-a-1")["metadata"]["labels"]["muster.dev/restart"],
        "1"
    );
    // Before it has run in full again, who fails is made anew alone.
    let two = world.uid("job-a-2");
    world.phase("job-a-1", "Failed");
    world.rest();
    assert_eq!(
        (world.status("job").restarts, world.uid("job-a-2")),
        (1, two)
    );
    assert_eq!(world.status("job").failures, 2);
}

#[test]
fn waits_double_from_ten_seconds_to_six_minutes() {
    let mut world = running(3, 20);
    let mut waits = Vec::new();
    for _ in 0..8 {
        world.phase("job-a-0", "Failed");
        while world.status("job").restarts == i32::try_from(waits.len()).unwrap() {
            world.rest_one();
        }
        let failed_at = world.status("job").last_failure_time.unwrap().0.as_second();
        while world.pods().is_empty() || world.pod("job-a-0")["status"]["phase"] == "Failed" {
            world.rest_one();
        }
        waits.push(i64::try_from(world.now.0 / 1_000).unwrap() - failed_at);
        world.rest();
        world.run_all();
        world.rest();
    }
    let least = [10, 20, 40, 80, 160, 320, 360, 360];
    for (wait, least) in waits.iter().zip(least) {
        assert!((least..=least + 1).contains(wait), "{waits:?}");
    }
    assert_eq!(world.status("job").restarts, 8);
}

#[test]
fn pods_that_vanish_are_no_failure_but_below_the_minimum_all_start_anew() {
    let mut world = running(2, 0);
    let before = uids(&world);
    world.remove(&key(Resource::Pods, "job-a-2"));
    world.rest();
    assert_eq!(uids(&world)[..2], before[..2], "enough run on");
    world.run_all();
    world.rest();
    world.remove(&key(Resource::Pods, "job-a-0"));
    world.edit(&key(Resource::Pods, "job-a-1"), |pod| {
        pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    });
    world.rest();
    assert_eq!(
        world.pods(),
        ["job-a-1"],
        "nothing is made while one is still to go"
    );
    world.phase("job-a-1", "Failed");
    world.rest();
    world.remove(&key(Resource::Pods, "job-a-1"));
    world.rest();
    let status = world.status("job");
    assert_eq!((status.restarts, status.failures, status.failed), (1, 0, 0));
    assert_eq!(world.counts("job"), [3, 0, 0, 0]);
    assert!(uids(&world).iter().all(|uid| !before.contains(uid)));
    assert_eq!(world.condition("job", "Failed").0, "");
}

#[test]
fn a_pod_that_is_evicted_and_fails_of_it_is_no_failure() {
    let mut world = running(2, 0);
    world.edit(&key(Resource::Pods, "job-a-2"), |pod| {
        let told =
            json!({"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet"});
        pod["status"] = json!({"phase": "Failed", "conditions": [told]});
    });
    world.rest();
    assert_eq!(world.counts("job"), [1, 2, 0, 0]);
    assert_eq!(
        (
            world.status("job").failures,
            world.condition("job", "Failed").0.as_str()
        ),
        (0, "")
    );
}

#[test]
fn with_more_failures_than_its_limit_it_has_failed_and_who_runs_goes() {
    let mut world = running(1, 1);
    world.phase("job-a-0", "Failed");
    world.rest();
    world.phase("job-a-1", "Succeeded");
    world.phase("job-a-0", "Failed");
    world.rest();
    let (reason, _) = world.condition("job", "Failed");
    assert_eq!(reason, "BackoffLimitExceeded");
    assert_eq!(
        world.pods(),
        ["job-a-0", "job-a-1"],
        "those that have ended stay"
    );
    assert_eq!(world.counts("job"), [0, 0, 1, 2]);
    assert_eq!(world.status("job").completion_time, None);
    world.edit_job("job", |spec| spec["backoffLimit"] = json!(9));
    world.pass(900);
    world.rest();
    assert_eq!(world.pods().len(), 2, "it makes nothing any more");
    let mut world = running(3, 0);
    world.phase("job-a-0", "Failed");
    world.rest();
    assert_eq!(world.condition("job", "Failed").0, "BackoffLimitExceeded");
    assert_eq!(
        (world.pods(), world.status("job").restarts),
        (vec!["job-a-0".to_owned()], 0)
    );
}

#[test]
fn a_limit_that_is_lowered_below_what_was_counted_ends_it() {
    let mut world = running(1, 6);
    world.phase("job-a-0", "Failed");
    world.rest();
    assert_eq!(world.condition("job", "Failed").0, "");
    world.edit_job("job", |spec| spec["backoffLimit"] = json!(0));
    world.rest();
    assert_eq!(world.condition("job", "Failed").0, "BackoffLimitExceeded");
    assert_eq!(world.counts("job"), [0, 0, 0, 1]);
}

#[test]
fn it_is_complete_when_all_have_succeeded_though_some_are_gone() {
    let mut world = running(2, 6);
    world.phase("job-a-1", "Succeeded");
    world.rest();
    world.remove(&key(Resource::Pods, "job-a-1"));
    world.restart();
    world.rest();
    assert_eq!(world.pods(), ["job-a-0", "job-a-2"], "it is not run again");
    assert_eq!(world.status("job").tasks[0].completed_indexes, "1");
    world.phase("job-a-0", "Succeeded");
    world.rest();
    assert_eq!(world.condition("job", "Complete").0, "", "one runs");
    world.phase("job-a-2", "Succeeded");
    world.rest();
    assert_eq!(world.condition("job", "Complete").0, "CompletionsReached");
    assert!(world.status("job").completion_time.is_some());
    assert_eq!(world.counts("job"), [0, 0, 3, 0]);
    let count = world.written.len();
    world.edit_job("job", |spec| spec["taskSpecs"][0]["replicas"] = json!(5));
    world.remove(&key(Resource::SchedulingSpecs, "job"));
    world.remove(&key(Resource::Pods, "job-a-0"));
    world.rest();
    assert_eq!(world.written.len(), count, "it makes nothing any more");
}

#[test]
fn without_replicas_it_waits_and_is_not_complete() {
    let mut world = World::new();
    world.tasks("job", None, json!([task("a", 0)]));
    world.rest();
    assert_eq!(world.condition("job", "Complete").0, "");
    world.edit_job("job", |spec| spec["taskSpecs"][0]["replicas"] = json!(1));
    world.rest();
    assert_eq!(world.pods(), ["job-a-0"]);
}

#[test]
fn a_time_after_its_end_it_is_deleted_and_what_it_made() {
    for ttl in [Some(0), Some(30), None] {
        let mut world = World::new();
        let mut spec = json!({"taskSpecs": [task("a", 1)]});
        if let Some(ttl) = ttl {
            spec["ttlSecondsAfterFinished"] = json!(ttl);
        }
        world.job("job", spec);
        world.rest();
        world.phase("job-a-0", "Succeeded");
        world.rest();
        let is_there = |world: &World| world.objects.contains_key(&key(Resource::QueueJobs, "job"));
        assert_eq!(is_there(&world), ttl != Some(0), "{ttl:?}");
        world.pass(28);
        world.restart();
        world.hear_all();
        let due = crate::Machine::due(&mut world.machine, world.now, 9);
        assert_eq!(due.len(), 0, "{ttl:?}: {due:?}");
        world.pass(2);
        world.rest();
        assert_eq!(is_there(&world), ttl.is_none());
        assert_eq!(
            world.objects.is_empty(),
            ttl.is_some(),
            "{:?}",
            world.objects.keys()
        );
    }
}

#[test]
fn one_that_is_told_to_go_deletes_its_pods_and_makes_none() {
    let mut world = running(2, 6);
    world.edit(&key(Resource::QueueJobs, "job"), |job| {
        job["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        job["metadata"]["finalizers"] = json!(["foregroundDeletion"]);
    });
    world.rest();
    assert_eq!(world.pods(), [] as [String; 0]);
}

#[test]
fn a_failed_pod_is_deleted_only_once_its_failure_is_told() {
    let mut world = running(2, 6);
    world.phase("job-a-1", "Failed");
    world.hear_all();
    let writes = crate::Machine::due(&mut world.machine, world.now, 9);
    let on: Vec<Resource> = writes.iter().map(|one| one.on.resource).collect();
    assert_eq!(on, [Resource::QueueJobs]);
    // The status is written, and who wrote it dies.
    world.carry_out(&writes[0]);
    let uid = world.uid("job-a-1");
    assert_eq!(world.status("job").counted_pods, [uid]);
    world.restart();
    world.rest();
    assert_eq!(
        (world.status("job").failed, world.status("job").failures),
        (1, 1),
        "counted once"
    );
    assert_eq!(world.status("job").counted_pods, [] as [String; 0]);
    assert_eq!(world.pods().len(), 3);
}

#[test]
fn who_fails_while_all_are_made_anew_is_counted_and_is_no_failure_of_its_own() {
    let mut world = running(3, 6);
    world.phase("job-a-1", "Failed");
    while world.status("job").restarts == 0 {
        world.rest_one();
    }
    // It is not told to go yet. So is one of a template that is not wanted any more.
    world.phase("job-a-0", "Failed");
    world.rest();
    let status = world.status("job");
    assert_eq!((status.failed, status.failures, status.restarts), (2, 1, 1));
    assert_eq!(status.counted_pods, [] as [String; 0]);
    world.run_all();
    world.rest();
    world.edit_job("job", |spec| {
        spec["taskSpecs"][0]["template"]["spec"]["containers"][0]["name"] = json!("new");
    });
    world.phase("job-a-2", "Failed");
    world.rest();
    let status = world.status("job");
    assert_eq!((status.failed, status.failures, status.restarts), (3, 1, 1));
    assert_eq!(world.pods().len(), 3);
}

#[test]
fn a_clock_that_went_back_does_not_hold_it_for_ever() {
    let mut world = running(2, 6);
    world.edit(&key(Resource::QueueJobs, "job"), |job| {
        job["status"]["failures"] = json!(3);
        job["status"]["lastFailureTime"] = json!("2099-01-01T00:00:00Z");
    });
    world.remove(&key(Resource::Pods, "job-a-0"));
    world.rest();
    assert_eq!(world.pods().len(), 3);
}
