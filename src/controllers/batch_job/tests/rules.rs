//! The rules, each by its name.

use super::world::{OURS, World, key, plain};
use crate::{Answer, Deed, Machine, Resource, testing};
use muster_api::crd::BatchJobState;
use serde_json::{Value, json};

const BOTH: [&str; 2] = ["PodGroups work", "Jobs work"];

/// A BatchJob that nobody claims.
fn world() -> World {
    let mut world = World::new();
    world.batch("work", plain());
    world.rest();
    assert_eq!(world.state("work"), "Ready");
    world
}

/// One that runs on slots 0 and 3.
fn submitted() -> World {
    let mut world = world();
    world.claim("work", "plan", &[3, 0]);
    world.rest();
    assert_eq!(world.state("work"), "Submitted plan");
    world
}

#[test]
fn a_claim_is_honoured_before_anything_is_made_and_a_request_makes_a_group_and_then_a_job() {
    let mut world = world();
    world.claim("work", "plan", &[]);
    world.rest();
    assert_eq!(world.state("work"), "InQueue plan");
    assert_eq!(world.there(), [] as [&str; 0]);
    world.claim("work", "plan", &[3, 0]);
    world.rest();
    let writes = world.written.iter();
    let made = writes.filter(|(_, word)| *word == "create");
    let made: Vec<Resource> = made.map(|(on, _)| on.resource).collect();
    assert_eq!(made, [Resource::PodGroups, Resource::Jobs]);
    let job = &world.objects[&key(Resource::Jobs, "work")];
    assert_eq!(job["spec"]["parallelism"], 2);
    let pod = &job["spec"]["template"];
    assert_eq!(pod["metadata"]["labels"]["muster.dev/slots"], "0_3");
    let requests = &pod["spec"]["containers"][0]["resources"]["requests"];
    assert_eq!(*requests, json!({"cpu": "4", "memory": "8Gi"}));
    let status = world.status("work");
    assert_eq!(status.application_uid, Some(testing::text(job, "uid")));
    assert_eq!(
        (status.slots, status.testbed.as_deref()),
        (vec![0, 3], Some("lab"))
    );
    let group = &world.objects[&key(Resource::PodGroups, "work")];
    assert_eq!(group["spec"]["minAvailable"], 2);
}

#[test]
fn it_runs_once_all_its_pods_have_and_ends_as_its_job_does() {
    let mut world = submitted();
    world.pods_run("work", 1);
    world.rest();
    assert_eq!(world.state("work"), "Submitted plan");
    world.pods_run("work", 2);
    world.rest();
    assert_eq!(world.state("work"), "Running plan");
    let started = world.status("work").started_at;
    assert!(started.is_some());
    world.remove(&key(Resource::Pods, "work-0"));
    world.rest();
    assert_eq!(world.state("work"), "Running plan", "it has run");
    world.ends("work", "Complete");
    world.rest();
    assert_eq!(world.state("work"), "Completed plan");
    let status = world.status("work");
    assert_eq!(status.started_at, started);
    assert!(status.completed_at.is_some());
    let run = &status.history[0];
    assert_eq!(
        (run.state, run.scheduling.name.as_str()),
        (BatchJobState::Completed, "plan")
    );
    assert_eq!(world.there(), BOTH, "until it is released");
}

#[test]
fn at_rest_nothing_is_written_and_a_new_machine_writes_nothing() {
    let mut world = submitted();
    let count = world.written.len();
    world.rest();
    world.restart();
    world.rest();
    assert_eq!(world.written.len(), count);
}

#[test]
fn releasing_removes_all_and_what_had_not_ended_is_ready() {
    let mut world = submitted();
    world.release("work");
    world.rest();
    assert_eq!(world.state("work"), "Ready");
    assert_eq!(world.there(), [] as [&str; 0]);
    let status = world.status("work");
    assert_eq!(status.history[0].state, BatchJobState::Ready);
    assert_eq!(status.application_uid, None);
}

#[test]
fn what_has_ended_stays_so_after_its_release_and_runs_again_for_the_next_claim() {
    for how in ["Complete", "Failed"] {
        let mut world = submitted();
        world.ends("work", how);
        world.rest();
        world.release("work");
        world.rest();
        let state = if how == "Complete" {
            "Completed"
        } else {
            "Failed"
        };
        assert_eq!(world.state("work"), state);
        assert_eq!(world.there(), [] as [&str; 0]);
        let first = world.status("work").application_uid;
        world.claim("work", "next", &[1]);
        world.rest();
        assert_eq!(world.state("work"), "Submitted next");
        assert_ne!(world.status("work").application_uid, first);
        assert_eq!(world.status("work").history.len(), 1);
        assert_eq!(world.status("work").completed_at, None);
    }
}

#[test]
fn released_between_its_group_and_its_job_it_leaves_nothing() {
    let mut world = world();
    world.claim("work", "plan", &[0]);
    for _ in 0..50 {
        world.hear_all();
        for write in world.due(9) {
            let made = matches!(write.deed, Deed::Create(_));
            assert_ne!(write.on.resource, Resource::Jobs, "it is released by then");
            let answer = world.carry_out(&write);
            if made {
                world.release("work");
            }
            let now = world.now;
            world.machine.answered(write.ticket, answer, now);
        }
    }
    world.rest();
    assert_eq!(world.state("work"), "Ready");
    assert_eq!(world.there(), [] as [&str; 0]);
}

#[test]
fn a_job_of_which_nobody_knows_whether_it_was_made_goes_when_it_is_found_after_the_release() {
    let mut world = world();
    world.claim("work", "plan", &[0]);
    let mut late = None;
    for _ in 0..50 {
        world.hear_all();
        for write in world.due(9) {
            let is_job = write.on.resource == Resource::Jobs;
            let answer = if is_job {
                late.get_or_insert(write.clone());
                Answer::Lost
            } else {
                world.carry_out(&write)
            };
            let now = world.now;
            world.machine.answered(write.ticket, answer, now);
        }
    }
    world.release("work");
    world.rest();
    assert_eq!(world.state("work"), "Ready");
    world.carry_out(&late.unwrap());
    assert_eq!(world.there(), ["Jobs work"]);
    world.rest();
    assert_eq!(world.there(), [] as [&str; 0]);
    assert_eq!(world.state("work"), "Ready");
}

#[test]
fn a_job_and_a_group_of_what_was_asked_before_are_replaced() {
    let mut world = world();
    world.claim("work", "plan", &[0]);
    let mut late = None;
    while late.is_none() {
        world.hear_all();
        for write in world.due(9) {
            let is_job = write.on.resource == Resource::Jobs;
            let answer = if is_job {
                late = Some(write.clone());
                Answer::Lost
            } else {
                world.carry_out(&write)
            };
            let now = world.now;
            world.machine.answered(write.ticket, answer, now);
        }
    }
    world.claim("work", "plan", &[1, 2]);
    world.carry_out(&late.unwrap());
    world.rest();
    assert_eq!(world.state("work"), "Submitted plan");
    assert_eq!(world.status("work").slots, [1, 2]);
    let job = &world.objects[&key(Resource::Jobs, "work")];
    let labels = &job["spec"]["template"]["metadata"]["labels"];
    assert_eq!(labels["muster.dev/slots"], "1_2");
    assert_eq!(
        world.objects[&key(Resource::PodGroups, "work")]["spec"]["minAvailable"],
        2
    );
    assert_eq!(world.status("work").history.len(), 0);
}

#[test]
fn who_claims_it_next_waits_until_nothing_of_the_last_is_there() {
    let mut world = submitted();
    world.claim("work", "next", &[1]);
    world.hear_all();
    let writes = world.due(9);
    let deletes = writes
        .iter()
        .filter(|one| matches!(one.deed, Deed::Delete { .. }));
    assert_eq!(deletes.count(), 2);
    for write in writes {
        let answer = world.carry_out(&write);
        let now = world.now;
        world.machine.answered(write.ticket, answer, now);
    }
    assert_eq!(world.accepted("work").0, "ClaimedByAnother");
    world.rest();
    assert_eq!(world.state("work"), "Submitted next");
    assert_eq!(world.accepted("work").0, "Accepted");
    assert_eq!(world.status("work").history.len(), 1);
}

#[test]
fn only_schedulings_of_its_own_namespace_count() {
    let mut world = world();
    world.edit(&key(Resource::BatchJobs, "work"), |one| {
        one["spec"]["activeScheduling"] = json!({"namespace": "other", "name": "plan"});
        one["spec"]["creationRequest"] = json!({"replication": 1, "testbed": "lab", "slots": [0]});
    });
    world.rest();
    assert_eq!(world.state("work"), "Ready");
    assert_eq!(world.there(), [] as [&str; 0]);
    let (reason, words) = world.accepted("work");
    assert_eq!(reason, "Invalid");
    let wanted = "spec.activeScheduling.namespace: is other; only Schedulings of team may claim it";
    assert_eq!(words, wanted);
}

#[test]
fn what_somebody_else_has_under_its_name_is_left_alone_and_named() {
    for resource in [Resource::Jobs, Resource::PodGroups] {
        let mut world = world();
        // An owner reference to a BatchJob of that name that is not this one, and is somebody else's.
        let owner = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "u", "controller": true,
        });
        let meta = json!({"namespace": "team", "name": "work", "ownerReferences": [owner]});
        world.put(resource, json!({"metadata": meta, "spec": {}}));
        let before = world.objects[&key(resource, "work")].clone();
        world.claim("work", "plan", &[0]);
        world.rest();
        assert_eq!(world.state("work"), "InQueue plan");
        let (reason, words) = world.accepted("work");
        assert_eq!(reason, "NameTaken");
        let kind = if resource == Resource::Jobs {
            "Job"
        } else {
            "PodGroup"
        };
        let wanted = format!("{kind} work is in the way: it is controlled by Deployment web");
        assert_eq!(words, wanted);
        world.release("work");
        world.rest();
        assert_eq!(world.objects[&key(resource, "work")], before);
        assert_eq!(world.state("work"), "Ready");
        world.remove(&key(resource, "work"));
        world.claim("work", "plan", &[0]);
        world.rest();
        assert_eq!(world.state("work"), "Submitted plan");
    }
}

#[test]
fn without_its_testbed_it_waits_and_says_so() {
    let mut world = world();
    world.remove(&(Resource::Testbeds, String::new(), "lab".to_owned()));
    world.claim("work", "plan", &[0]);
    world.rest();
    assert_eq!(world.state("work"), "InQueue plan");
    assert_eq!(world.accepted("work").0, "TestbedNotFound");
    world.testbed("lab", "2", "1Gi");
    world.rest();
    assert_eq!(world.state("work"), "Submitted plan");
}

#[test]
fn what_the_api_server_refuses_is_said_in_its_words() {
    let mut world = world();
    world.claim("work", "plan", &[0]);
    for _ in 0..50 {
        world.hear_all();
        for write in world.due(9) {
            let answer = match write.on.resource {
                Resource::Jobs => Answer::Refused {
                    message: "exceeded quota".to_owned(),
                },
                _ => world.carry_out(&write),
            };
            let now = world.now;
            world.machine.answered(write.ticket, answer, now);
        }
    }
    let (reason, words) = world.accepted("work");
    assert_eq!(
        (reason.as_str(), words.as_str()),
        ("Refused", "may not make Job work: exceeded quota")
    );
    world.rest();
    assert_eq!(world.state("work"), "Submitted plan");
    assert_eq!(world.accepted("work").0, "Accepted");
}

#[test]
fn an_application_that_somebody_deletes_has_failed() {
    let mut world = submitted();
    world.remove(&key(Resource::Jobs, "work"));
    world.rest();
    assert_eq!(world.state("work"), "Failed plan");
    assert_eq!(world.status("work").history[0].state, BatchJobState::Failed);
}

#[test]
fn of_a_batch_job_that_is_gone_nothing_stays_also_across_a_restart() {
    for restart in [false, true] {
        let mut world = submitted();
        world.remove(&key(Resource::BatchJobs, "work"));
        if restart {
            world.restart();
        }
        world.rest();
        assert_eq!(world.there(), [] as [&str; 0]);
    }
}

#[test]
fn of_ten_runs_it_is_told_how_they_ended() {
    let mut world = world();
    for run in 0..13 {
        world.claim("work", &format!("plan-{run}"), &[0]);
        world.rest();
        world.ends("work", "Failed");
        world.rest();
        world.release("work");
        world.rest();
    }
    let history = world.status("work").history;
    let names: Vec<&str> = history
        .iter()
        .map(|one| one.scheduling.name.as_str())
        .collect();
    assert_eq!((names.len(), names[0], names[9]), (10, "plan-3", "plan-12"));
}

#[test]
fn a_spark_application_goes_by_what_its_operator_says_and_pods_without_a_webhook_are_noticed() {
    let mut world = World::new();
    let spark = json!({"type": "Scala", "driver": {}, "executor": {}});
    world.batch("work", json!({"sparkApplication": spark}));
    world.claim("work", "plan", &[0, 1]);
    world.rest();
    assert_eq!(world.there(), ["PodGroups work", "SparkApplications work"]);
    assert_eq!(world.state("work"), "Submitted plan");
    let spark = key(Resource::SparkApplications, "work");
    let uid = testing::text(&world.objects[&spark], "uid");
    let driver = ("SparkApplication", "work", uid.as_str());
    let driver = world.pod("work-driver", driver, "muster");
    world.rest();
    assert_eq!(world.accepted("work").0, "Accepted");
    let executor = ("Pod", "work-driver", driver.as_str());
    world.pod("work-exec-1", executor, "default-scheduler");
    world.rest();
    let (reason, words) = world.accepted("work");
    assert_eq!(reason, "OperatorMissing");
    let wanted = "pod team/work-exec-1 came with schedulerName \"default-scheduler\" instead of \
        \"muster\": does the webhook of the Spark operator run?";
    assert_eq!(words, wanted);
    world.edit(&spark, |one| {
        let executors = json!({"a": "RUNNING", "b": "RUNNING"});
        one["status"] =
            json!({"applicationState": {"state": "RUNNING"}, "executorState": executors});
    });
    world.rest();
    assert_eq!(world.state("work"), "Running plan");
    world.edit(&spark, |one| {
        one["status"]["applicationState"]["state"] = json!("COMPLETED");
    });
    world.rest();
    assert_eq!(world.state("work"), "Completed plan");
    world.release("work");
    world.rest();
    assert!(OURS.iter().all(|resource| world.of(*resource).count() == 0));
}

#[test]
fn a_driver_that_came_without_an_owner_is_noticed_too() {
    let mut world = World::new();
    let spark = json!({"type": "Scala", "driver": {}, "executor": {}});
    for name in ["work", "other"] {
        world.batch(name, json!({"sparkApplication": spark}));
    }
    world.claim("work", "plan", &[0, 1]);
    world.claim("other", "plan", &[2]);
    world.rest();
    let driver = |owners: Value| {
        let labels =
            json!({"muster.dev/pod-group": "work", "sparkoperator.k8s.io/app-name": "work"});
        json!({
            "metadata": {
                "namespace": "team", "name": "work-driver", "labels": labels, "ownerReferences": owners,
            },
            "spec": {"schedulerName": "default-scheduler", "containers": []},
        })
    };
    // Whoever controls it counts, and not what it says.
    let stranger =
        json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "work", "uid": "1"});
    let mut controlled = stranger.clone();
    controlled["controller"] = json!(true);
    world.put(Resource::Pods, driver(json!([controlled])));
    world.rest();
    assert_eq!(world.accepted("work").0, "Accepted");
    world.put(Resource::Pods, driver(json!([stranger])));
    world.rest();
    let (reason, words) = world.accepted("work");
    assert_eq!(reason, "OperatorMissing");
    assert!(
        words.starts_with("pod team/work-driver came with"),
        "{words}"
    );
    assert_eq!(world.accepted("other").0, "Accepted");
    world.remove(&key(Resource::Pods, "work-driver"));
    world.rest();
    assert_eq!(world.accepted("work").0, "Accepted");
}

#[test]
fn an_edit_of_the_request_waits_for_the_next_run_and_its_removal_ends_this_one() {
    let mut world = submitted();
    world.claim("work", "plan", &[1, 2]);
    world.rest();
    assert_eq!(world.status("work").slots, [0, 3]);
    assert_eq!(world.state("work"), "Submitted plan");
    world.claim("work", "plan", &[]);
    world.rest();
    assert_eq!(world.state("work"), "InQueue plan");
    assert_eq!(world.there(), [] as [&str; 0]);
    world.claim("work", "plan", &[1, 2]);
    world.rest();
    assert_eq!(world.status("work").slots, [1, 2]);
}

#[test]
fn a_run_that_was_edited_into_another_kind_is_removed_all_the_same() {
    let mut world = submitted();
    let status = world.status("work");
    let spec = world.objects[&key(Resource::BatchJobs, "work")]["spec"].clone();
    let mut other = json!({"flinkDeployment": {"job": {}}});
    other["activeScheduling"] = spec["activeScheduling"].clone();
    other["creationRequest"] = spec["creationRequest"].clone();
    world.batch("work", other);
    world.rest();
    assert_eq!(world.status("work").application_uid, status.application_uid);
    world.release("work");
    world.rest();
    assert_eq!(world.there(), [] as [&str; 0]);
    world.claim("work", "plan", &[0]);
    world.rest();
    assert_eq!(world.there(), ["PodGroups work", "FlinkDeployments work"]);
}

impl World {
    fn due(&mut self, most: usize) -> Vec<crate::Write> {
        let now = self.now;
        self.machine.due(now, most)
    }
}

#[test]
fn a_kind_that_the_api_server_does_not_know_is_said_and_it_goes_on_once_it_does() {
    for (field, resource, named) in [
        (
            "sparkApplication",
            Resource::SparkApplications,
            "SparkApplication (sparkoperator.k8s.io/v1beta2)",
        ),
        (
            "flinkDeployment",
            Resource::FlinkDeployments,
            "FlinkDeployment (flink.apache.org/v1beta1)",
        ),
    ] {
        let mut world = world();
        world.not_served(resource);
        let spec = match resource {
            Resource::SparkApplications => json!({"type": "Scala", "driver": {}, "executor": {}}),
            _ => json!({
                "flinkVersion": "v2_3",
                "flinkConfiguration": {"taskmanager.numberOfTaskSlots": "2"},
                "job": {"jarURI": "local:///wc.jar", "parallelism": 4, "upgradeMode": "stateless"},
                "jobManager": {"resource": {"cpu": 0.5, "memory": "1024m"}},
            }),
        };
        world.batch("other", json!({ field: spec }));
        world.rest();
        assert_eq!(world.accepted("other").0, "Accepted", "nobody asks for it");
        world.claim("other", "plan", &[0, 1]);
        world.claim("work", "plan", &[2]);
        world.rest();
        let words = format!("the API server does not serve {named}: is its operator installed?");
        let expected = ("OperatorMissing".to_owned(), words);
        assert_eq!(world.accepted("other"), expected);
        assert_eq!(world.state("other"), "InQueue plan");
        assert_eq!(
            world.there(),
            BOTH,
            "nothing is made for it; others are not held up"
        );
        let count = world.written.len();
        world.rest();
        assert_eq!(world.written.len(), count, "and nothing is tried");
        world.list(resource);
        world.rest();
        assert_eq!(world.accepted("other").0, "Accepted");
        assert_eq!(world.state("other"), "Submitted plan");
        assert!(world.of(resource).count() == 1);
        // It is taken away with all that there was of it.
        world.not_served(resource);
        world.now = world.now + muster_model::units::Millis(6_000);
        world.rest();
        assert_eq!(world.state("other"), "Failed plan");
        assert_eq!(world.accepted("other").0, "Accepted", "it has ended");
    }
}
