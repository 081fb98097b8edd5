//! What is made of a QueueJob, and what becomes of it when it is edited.

use super::world::{World, key, task};
use crate::testing;
use crate::{Answer, Deed, Machine, Resource};
use serde_json::{Value, json};
use std::cell::Cell;
use std::rc::Rc;

#[test]
fn pods_are_made_of_their_templates_and_are_the_queue_jobs_own() {
    let mut world = World::new();
    let mut second = task("b", 1);
    second.as_object_mut().unwrap().remove("name");
    second["template"]["spec"]["schedulerName"] = json!("other");
    second["template"]["spec"]["restartPolicy"] = json!("OnFailure");
    second["template"]["metadata"]["annotations"] = json!({"note": "kept"});
    world.tasks("job", Some(2), json!([task("a", 2), second]));
    world.rest();
    assert_eq!(world.pods(), ["job-1-0", "job-a-0", "job-a-1"]);
    let pod = world.pod("job-a-1");
    let meta = &pod["metadata"];
    let uid = testing::text(&world.objects[&key(Resource::QueueJobs, "job")], "uid");
    let owner = json!({
        "apiVersion": "muster.dev/v1alpha1", "kind": "QueueJob", "name": "job", "uid": uid,
        "controller": true, "blockOwnerDeletion": false,
    });
    assert_eq!(meta["ownerReferences"], json!([owner]));
    let labels = &meta["labels"];
    assert_eq!(
        (&labels["app"], &labels["muster.dev/queue-job"]),
        (&json!("x"), &json!("job"))
    );
    assert_eq!(
        (&labels["muster.dev/task"], &labels["muster.dev/restart"]),
        (&json!("a"), &json!("0"))
    );
    assert_eq!(
        labels["muster.dev/template-hash"].as_str().unwrap().len(),
        16
    );
    let spec = &pod["spec"];
    assert_eq!(
        (&spec["schedulerName"], &spec["restartPolicy"]),
        (&json!("muster"), &json!("Never"))
    );
    assert_eq!(spec["containers"][0]["name"], "a");
    let other = world.pod("job-1-0");
    assert_eq!(other["spec"]["schedulerName"], "other");
    assert_eq!(other["spec"]["restartPolicy"], "OnFailure");
    assert_eq!(other["metadata"]["annotations"], json!({"note": "kept"}));
    assert_eq!(other["metadata"]["labels"]["muster.dev/task"], "1");
    let count = world.written.len();
    world.restart();
    world.rest();
    assert_eq!(world.written.len(), count, "who starts anew finds all done");
}

#[test]
fn a_status_says_how_far_it_is() {
    let mut world = World::new();
    world.tasks("job", Some(2), json!([task("a", 3)]));
    world.rest();
    world.run_all();
    world.phase("job-a-1", "Succeeded");
    world.rest();
    let mut status = world.objects[&key(Resource::QueueJobs, "job")]["status"].clone();
    let hash = status["tasks"][0]["templateHash"].take();
    assert_eq!(
        hash,
        world.pod("job-a-0")["metadata"]["labels"]["muster.dev/template-hash"]
    );
    let at = "2023-11-14T22:13:20Z";
    let accepted = json!({
        "type": "Accepted", "status": "True", "reason": "Accepted", "message": "",
        "lastTransitionTime": at, "observedGeneration": 1,
    });
    let wanted = json!({
        "observedGeneration": 1, "minAvailable": 2, "pending": 0, "running": 2, "succeeded": 1,
        "failed": 0, "failures": 0, "restarts": 0, "startTime": at, "runningSince": at,
        "tasks": [{"name": "a", "templateHash": null, "completedIndexes": "1"}],
        "conditions": [accepted],
    });
    assert_eq!(status, wanted);
}

#[test]
fn the_scheduling_spec_comes_first_follows_the_spec_and_comes_back() {
    let mut world = World::new();
    let sched = json!({"priority": 5, "nodeSelector": {"disk": "ssd"}});
    world.job(
        "job",
        json!({"schedSpec": sched, "taskSpecs": [task("a", 2), task("b", 1)]}),
    );
    world.rest();
    let first = world
        .written
        .iter()
        .filter(|(on, _)| on.resource != Resource::QueueJobs);
    let first: Vec<Resource> = first.map(|(on, _)| on.resource).collect();
    assert_eq!(first[..2], [Resource::SchedulingSpecs, Resource::Pods]);
    let spec = key(Resource::SchedulingSpecs, "job");
    let wanted = json!({"minAvailable": 3, "priority": 5, "nodeSelector": {"disk": "ssd"}});
    assert_eq!(world.objects[&spec]["spec"], wanted);
    assert_eq!(
        world.objects[&spec]["metadata"]["ownerReferences"],
        world.pod("job-a-0")["metadata"]["ownerReferences"]
    );
    world.edit_job("job", |spec| {
        spec["schedSpec"] = json!({"minAvailable": 1, "priorityClassName": "x"});
    });
    world.rest();
    assert_eq!(
        world.objects[&spec]["spec"],
        json!({"minAvailable": 1, "priorityClassName": "x"})
    );
    let uids: Vec<String> = world.pods().iter().map(|pod| world.uid(pod)).collect();
    world.remove(&spec);
    world.remove(&key(Resource::Pods, "job-b-0"));
    world.rest();
    assert_eq!(world.objects[&spec]["spec"]["minAvailable"], 1);
    assert_eq!(world.pods().len(), 3);
    assert_eq!(uids[..2], [world.uid("job-a-0"), world.uid("job-a-1")]);
}

#[test]
fn no_pod_is_made_before_the_scheduling_spec_is_told() {
    let mut world = World::new();
    world.tasks("job", None, json!([task("a", 1)]));
    world.hear_all();
    for round in 0..3 {
        for write in world.machine.due(world.now, 9) {
            assert_ne!(write.on.resource, Resource::Pods, "round {round}");
            let answer = world.carry_out(&write);
            let now = world.now;
            world.machine.answered(write.ticket, answer, now);
        }
        world.hear(Resource::QueueJobs);
    }
    world.rest();
    assert_eq!(world.pods(), ["job-a-0"]);
}

#[test]
fn a_patch_that_changes_nothing_is_not_sent_over_and_over() {
    let mut world = World::new();
    world.tasks("job", None, json!([task("a", 1)]));
    world.rest();
    let spec = key(Resource::SchedulingSpecs, "job");
    // Somebody fills in what is not said.
    world.edit(&spec, |one| one["spec"]["priority"] = json!(0));
    let mut sent = 0;
    world.hear_all();
    for _ in 0..50 {
        for write in world.machine.due(world.now, 9) {
            assert!(matches!(write.deed, Deed::Patch { .. }));
            sent += 1;
            let now = world.now;
            world
                .machine
                .answered(write.ticket, Answer::Done(None), now);
        }
        world.pass(1);
    }
    assert_eq!(sent, 1, "once a minute");
}

#[test]
fn a_scheduling_spec_that_is_refused_is_said_until_it_is_made_or_not_wanted() {
    let mut world = World::new();
    world.tasks("job", Some(1), json!([task("a", 2)]));
    world.rest();
    let refuse = |world: &mut World| {
        for _ in 0..3 {
            world.pass(1);
            world.hear_all();
            for write in world.machine.due(world.now, 9) {
                let message = "no".to_owned();
                let answer = match write.on.resource {
                    Resource::SchedulingSpecs => Answer::Refused { message },
                    _ => world.carry_out(&write),
                };
                let now = world.now;
                world.machine.answered(write.ticket, answer, now);
            }
        }
    };
    world.edit_job("job", |spec| spec["schedSpec"]["minAvailable"] = json!(2));
    refuse(&mut world);
    let (reason, words) = world.condition("job", "Accepted");
    assert_eq!(
        (reason.as_str(), words.as_str()),
        ("Refused", "SchedulingSpec: no")
    );
    world.edit_job("job", |spec| spec["schedSpec"]["minAvailable"] = json!(1));
    refuse(&mut world);
    assert_eq!(world.accepted("job"), "Accepted", "as it was before");
    world.edit_job("job", |spec| spec["schedSpec"]["minAvailable"] = json!(2));
    refuse(&mut world);
    assert_eq!(world.accepted("job"), "Refused");
    world.rest();
    assert_eq!(world.accepted("job"), "Accepted");
}

#[test]
fn names_of_strangers_are_left_alone_and_said() {
    let mut world = World::new();
    let stranger =
        json!({"metadata": {"namespace": "team", "name": "job-a-1"}, "spec": {"containers": []}});
    world.put(Resource::Pods, stranger);
    world.tasks("job", None, json!([task("a", 3)]));
    world.rest();
    assert_eq!(world.pods(), ["job-a-0", "job-a-1", "job-a-2"]);
    let (reason, words) = world.condition("job", "Accepted");
    assert_eq!(reason, "NameTaken");
    assert!(words.contains("job-a-1"), "{words}");
    assert!(world.pod("job-a-1")["metadata"]["ownerReferences"].is_null());
    assert_eq!(world.counts("job"), [2, 0, 0, 0]);
    world.remove(&key(Resource::Pods, "job-a-1"));
    world.rest();
    assert_eq!(world.accepted("job"), "Accepted");
    assert!(world.pod("job-a-1")["metadata"]["ownerReferences"].is_array());
    let spec = json!({"metadata": {"namespace": "team", "name": "other"}, "spec": {}});
    world.put(Resource::SchedulingSpecs, spec);
    world.tasks("other", None, json!([task("a", 1)]));
    world.rest();
    let (reason, words) = world.condition("other", "Accepted");
    assert_eq!(
        (reason.as_str(), words.as_str()),
        ("NameTaken", "SchedulingSpec other belongs to somebody else")
    );
    assert_eq!(world.pods().len(), 3, "and no pod is made");
    world.remove(&key(Resource::SchedulingSpecs, "other"));
    world.rest();
    assert_eq!(
        (world.accepted("other").as_str(), world.pods().len()),
        ("Accepted", 4)
    );
}

#[test]
fn a_pod_of_another_queue_job_is_a_stranger_too() {
    let mut world = World::new();
    world.tasks("job-a", None, json!([task("b", 1)]));
    world.tasks("job", None, json!([task("a-b", 1)]));
    world.rest();
    assert_eq!(world.pods(), ["job-a-b-0"]);
    let mut said = [world.accepted("job"), world.accepted("job-a")];
    said.sort();
    assert_eq!(said, ["Accepted", "NameTaken"]);
}

#[test]
fn one_that_asks_for_what_cannot_be_makes_nothing_and_says_why() {
    let mut world = World::new();
    let selector = json!({"matchLabels": {"app": "y"}});
    world.job(
        "job",
        json!({"selector": selector, "taskSpecs": [task("a", 2)]}),
    );
    world.rest();
    let (reason, words) = world.condition("job", "Accepted");
    assert_eq!(reason, "Invalid");
    assert!(
        words.starts_with("spec.taskSpecs[0].template.metadata.labels"),
        "{words}"
    );
    assert_eq!(
        world.pods().len() + world.of(Resource::SchedulingSpecs).count(),
        0
    );
    world.edit_job("job", |spec| {
        spec["selector"]["matchLabels"]["app"] = json!("x");
    });
    world.rest();
    assert_eq!(
        (world.accepted("job").as_str(), world.pods().len()),
        ("Accepted", 2)
    );
    world.edit_job("job", |spec| spec["taskSpecs"] = json!([]));
    world.run_all();
    world.rest();
    assert_eq!(
        (world.accepted("job").as_str(), world.pods().len()),
        ("Invalid", 2)
    );
    assert_eq!(
        world.counts("job")[..2],
        [0, 2],
        "what is there stays, and is counted"
    );
}

#[test]
fn one_that_is_gone_leaves_nothing_and_its_namesake_gets_pods_of_its_own() {
    let mut world = World::new();
    world.tasks("job", None, json!([task("a", 2)]));
    world.rest();
    world.phase("job-a-0", "Succeeded");
    let before = world.uid("job-a-0");
    world.rest();
    world.remove(&key(Resource::QueueJobs, "job"));
    world.tasks("job", None, json!([task("a", 2)]));
    world.rest();
    assert_eq!(world.pods(), ["job-a-0", "job-a-1"]);
    assert_ne!(world.uid("job-a-0"), before);
    let uid = testing::text(&world.objects[&key(Resource::QueueJobs, "job")], "uid");
    let spec = &world.objects[&key(Resource::SchedulingSpecs, "job")];
    assert_eq!(spec["metadata"]["ownerReferences"][0]["uid"], json!(uid));
    world.remove(&key(Resource::QueueJobs, "job"));
    // Whoever starts after it went finds what it left.
    world.restart();
    world.rest();
    assert_eq!(world.objects.len(), 0, "{:?}", world.objects.keys());
}

/// Has the number of pods that are there at once watched.
fn watch_the_most(world: &mut World) -> Rc<Cell<usize>> {
    let (most, there) = (
        Rc::new(Cell::new(0)),
        Rc::new(Cell::new(world.pods().len())),
    );
    let seen = Rc::clone(&most);
    world.witnessed(move |write, _| {
        if write.on.resource == Resource::Pods {
            let now = there.get();
            there.set(if matches!(write.deed, Deed::Create(_)) {
                now + 1
            } else {
                now - 1
            });
            seen.set(seen.get().max(there.get()));
        }
    });
    most
}

#[test]
fn fewer_replicas_delete_the_highest_more_are_made_and_the_rest_goes_on() {
    let mut world = World::new();
    world.tasks("job", None, json!([task("a", 3), task("b", 1)]));
    world.rest();
    world.run_all();
    world.rest();
    let uids = [world.uid("job-a-0"), world.uid("job-b-0")];
    world.edit_job("job", |spec| spec["taskSpecs"][0]["replicas"] = json!(1));
    world.rest();
    assert_eq!(world.pods(), ["job-a-0", "job-b-0"]);
    assert_eq!(
        world.objects[&key(Resource::SchedulingSpecs, "job")]["spec"]["minAvailable"],
        2
    );
    world.edit_job("job", |spec| spec["taskSpecs"][0]["replicas"] = json!(4));
    world.rest();
    assert_eq!(world.pods().len(), 5);
    assert_eq!(world.counts("job"), [3, 2, 0, 0]);
    assert_eq!([world.uid("job-a-0"), world.uid("job-b-0")], uids);
    let status = world.status("job");
    assert_eq!(
        (status.restarts, status.running_since),
        (0, None),
        "the new minimum was not reached"
    );
    world.phase("job-a-0", "Failed");
    world.rest();
    world.pass(11);
    world.rest();
    assert_eq!(world.status("job").restarts, 0);
    assert_eq!(
        world.uid("job-b-0"),
        uids[1],
        "so who fails is made anew alone"
    );
}

#[test]
fn another_template_makes_its_task_anew_and_never_are_there_more_than_wanted() {
    let mut world = World::new();
    world.tasks("job", None, json!([task("a", 2), task("b", 1)]));
    world.rest();
    world.run_all();
    world.phase("job-a-1", "Succeeded");
    world.rest();
    let most = watch_the_most(&mut world);
    let (first, other) = (world.uid("job-a-1"), world.uid("job-b-0"));
    world.edit_job("job", |spec| {
        spec["taskSpecs"][0]["template"]["spec"]["containers"][0]["name"] = json!("new");
    });
    world.rest();
    assert_eq!(
        world.counts("job"),
        [2, 1, 0, 0],
        "what had succeeded did so as another"
    );
    assert_ne!(world.uid("job-a-1"), first);
    assert_eq!(world.pod("job-a-1")["spec"]["containers"][0]["name"], "new");
    assert_eq!(
        (world.uid("job-b-0"), world.status("job").restarts),
        (other.clone(), 0)
    );
    world.edit_job("job", |spec| spec["taskSpecs"][0]["name"] = json!("c"));
    world.rest();
    assert_eq!(world.pods(), ["job-b-0", "job-c-0", "job-c-1"]);
    assert_eq!(world.uid("job-b-0"), other);
    assert_eq!(most.get(), 3);
}

#[test]
fn odd_labels_of_its_own_pods_and_odd_owners_do_no_harm() {
    let mut world = World::new();
    world.tasks("job", None, json!([task("a", 1)]));
    world.rest();
    let uid = testing::text(&world.objects[&key(Resource::QueueJobs, "job")], "uid");
    let owned = |name: &str, namespace: &str, kind: &str, controls: bool| {
        let owner = json!({
            "apiVersion": "muster.dev/v1alpha1", "kind": kind, "name": "job", "uid": uid, "controller": controls,
        });
        json!({
            "metadata": {"namespace": namespace, "name": name, "ownerReferences": [owner]},
            "spec": {"containers": []},
        })
    };
    world.put(Resource::Pods, owned("stray", "team", "QueueJob", false));
    world.put(
        Resource::Pods,
        owned("other-kind", "team", "BatchJob", true),
    );
    world.put(Resource::Pods, owned("surplus", "team", "QueueJob", true));
    world.put(
        Resource::Pods,
        owned("elsewhere", "other", "QueueJob", true),
    );
    world.edit(&key(Resource::Pods, "job-a-0"), |pod| {
        pod["metadata"]["labels"] = Value::Null;
    });
    world.rest();
    assert_eq!(
        world.pods(),
        ["job-a-0", "other-kind", "stray"],
        "what is of nobody goes, as the collector has it"
    );
    assert_eq!(
        world.pod("job-a-0")["metadata"]["labels"]["app"],
        "x",
        "made anew"
    );
    assert_eq!(world.counts("job"), [1, 0, 0, 0]);
}
