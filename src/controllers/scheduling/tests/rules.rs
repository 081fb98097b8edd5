//! The rules, each by its name.

use super::world::{World, bed_key, job_key, plan_key, queue, slots};
use crate::{Answer, Deed, Machine, Resource};
use muster_model::units::Millis;
use serde_json::{Value, json};

#[test]
fn a_scheduling_claims_starts_and_gives_back_what_has_ended() {
    let mut world = World::with(4, &["a", "b"]);
    world.plan("first", queue(&[("a", 2), ("b", 2)]));
    world.rest();
    assert_eq!(
        world.says("first"),
        "AwaitCompletion: a Scheduled [0, 1], b Scheduled [2, 3]"
    );
    assert_eq!(
        world.accepted("first"),
        "True Accepted: nothing is in its way"
    );
    assert!(world.status("first").started_at.is_some());
    world.ends("a", "Completed");
    world.rest();
    assert_eq!(
        world.says("first"),
        "AwaitCompletion: a Completed [0, 1], b Scheduled [2, 3]"
    );
    assert_eq!(world.claim_of("a").as_deref(), Some("first"));
    world.ends("b", "Completed");
    world.rest();
    let ended = "Completed: a Completed [0, 1], b Completed [2, 3]";
    assert_eq!(world.says("first"), ended);
    assert_eq!((world.claim_of("a"), world.claim_of("b")), (None, None));
    assert!(world.status("first").completed_at.is_some());
    // What it came to stays, whatever becomes of its jobs.
    world.remove(&job_key("a"));
    world.remove(&bed_key("lab"));
    world.rest();
    assert_eq!(world.says("first"), ended);
}

#[test]
fn at_rest_nothing_is_written_and_a_new_machine_writes_nothing() {
    let mut world = World::with(2, &["a", "b", "c"]);
    world.plan("first", queue(&[("a", 2), ("b", 1)]));
    world.plan("second", slots("relaxed", &[("c", &[0]), ("x", &[1])]));
    world.rest();
    let count = world.written.len();
    world.rest();
    world.restart();
    world.rest();
    assert_eq!(world.written.len(), count);
}

#[test]
fn every_state_is_told_on_the_way() {
    let mut world = World::with(1, &["a"]);
    world.plan("first", queue(&[("a", 1)]));
    let mut told = Vec::new();
    for _ in 0..40 {
        world.hear_all();
        let writes = world.machine_writes();
        let state = world.status("first").state;
        if told.last() != Some(&state) {
            told.push(state);
        }
        if writes == 0 {
            world.play();
        }
    }
    let told: Vec<String> = told
        .iter()
        .flatten()
        .map(|state| format!("{state:?}"))
        .collect();
    let all = [
        "Acquire",
        "Submission",
        "Confirmation",
        "AwaitCompletion",
        "Completed",
    ];
    assert_eq!(told, all);
}

#[test]
fn queued_jobs_get_free_slots_in_order_of_position_and_none_goes_before_another() {
    let mut world = World::with(4, &["a", "b", "c"]);
    world.occupy(1);
    world.plan("first", queue(&[("a", 2), ("b", 2), ("c", 1)]));
    world.rest();
    // Slot 3 is free, and c asks for one; b stands before it.
    assert_eq!(
        world.says("first"),
        "Confirmation: a Scheduled [0, 2], b InQueue, c InQueue"
    );
    let waits = "True Waiting: BatchJob b waits for 2 free slots of Testbed lab";
    assert_eq!(world.accepted("first"), waits);
    world.ends("a", "Completed");
    world.rest();
    assert_eq!(
        world.says("first"),
        "AwaitCompletion: a Completed [0, 2], b Scheduled [0, 2], c Scheduled [3]"
    );
}

#[test]
fn slots_are_free_again_when_the_testbed_says_so_and_not_when_the_job_does() {
    let mut world = World::with(1, &["a", "b"]);
    world.plan("first", queue(&[("a", 1), ("b", 1)]));
    world.rest();
    world.ends("a", "Completed");
    world.occupy(0);
    world.rest();
    assert_eq!(
        world.says("first"),
        "Confirmation: a Completed [0], b InQueue"
    );
    world.vacate(0);
    world.rest();
    assert_eq!(
        world.says("first"),
        "AwaitCompletion: a Completed [0], b Scheduled [0]"
    );
}

#[test]
fn strict_goes_in_order_and_relaxed_skips_what_does_not_fit() {
    for (mode, says) in [
        (
            "strict",
            "Confirmation: a Scheduled [0, 1], b InQueue, c InQueue",
        ),
        (
            "relaxed",
            "Confirmation: a Scheduled [0, 1], b InQueue, c Scheduled [3]",
        ),
    ] {
        let mut world = World::with(4, &["a", "b", "c"]);
        let jobs: [(&str, &[i32]); 3] = [("a", &[0, 1]), ("b", &[1, 2]), ("c", &[3])];
        world.plan("first", slots(mode, &jobs));
        world.rest();
        assert_eq!(world.says("first"), says);
        let waits = "True Waiting: BatchJob b waits for slot 1 of Testbed lab";
        assert_eq!(world.accepted("first"), waits);
        world.ends("a", "Completed");
        world.rest();
        assert_eq!(
            world.says("first"),
            "AwaitCompletion: a Completed [0, 1], b Scheduled [1, 2], c Scheduled [3]"
        );
    }
}

#[test]
fn those_behind_a_failed_one_run_and_the_scheduling_has_failed() {
    let mut world = World::with(1, &["a", "b"]);
    let jobs: [(&str, &[i32]); 2] = [("a", &[0]), ("b", &[0])];
    world.plan("first", slots("strict", &jobs));
    world.rest();
    world.ends("a", "Failed");
    world.rest();
    assert_eq!(
        world.says("first"),
        "AwaitCompletion: a Failed [0], b Scheduled [0]"
    );
    world.ends("b", "Completed");
    world.rest();
    assert_eq!(world.says("first"), "Failed: a Failed [0], b Completed [0]");
    assert_eq!(world.claim_of("a"), None);
}

#[test]
fn a_job_that_has_ended_runs_again_for_the_next_scheduling() {
    let mut world = World::with(1, &["a"]);
    world.plan("first", queue(&[("a", 1)]));
    world.plan("second", queue(&[("a", 1)]));
    world.rest();
    assert_eq!(world.says("second"), "Acquire: a Acquiring");
    let waits = "True Waiting: waits for BatchJob a, which Scheduling first has";
    assert_eq!(world.accepted("second"), waits);
    world.rest_and_end();
    assert_eq!(world.says("first"), "Completed: a Completed [0]");
    assert_eq!(world.says("second"), "Completed: a Completed [0]");
    assert_eq!(world.started(), ["a", "a"]);
}

#[test]
fn all_are_claimed_or_none() {
    let mut world = World::with(4, &["a", "b", "c"]);
    world.plan("first", queue(&[("a", 1)]));
    world.rest();
    world.plan("second", queue(&[("b", 1), ("a", 1)]));
    world.rest();
    assert_eq!(world.claim_of("b"), None);
    assert_eq!(world.says("second"), "Acquire: b Acquiring, a Acquiring");
    // What an earlier one wants, no later one takes, though the earlier cannot have it yet.
    world.plan("third", queue(&[("b", 1), ("c", 1)]));
    world.rest();
    let waits = "True Waiting: waits for BatchJob b, which Scheduling second wants first";
    assert_eq!(world.accepted("third"), waits);
    assert_eq!((world.claim_of("b"), world.claim_of("c")), (None, None));
    world.rest_and_end();
    assert_eq!(world.started(), ["a", "a", "b", "b", "c"]);
}

#[test]
fn one_that_nothing_but_somebody_can_help_is_in_nobodys_way() {
    let mut world = World::with(2, &["a", "b"]);
    world.plan("first", queue(&[("a", 3), ("b", 1)]));
    world.plan("second", queue(&[("a", 1), ("b", 1)]));
    world.rest_and_end();
    assert_eq!(world.says("first"), "Initial: a Acquiring, b Acquiring");
    let says = "False NoSlots: BatchJob a asks for 3 slots; Testbed lab has 2";
    assert_eq!(world.accepted("first"), says);
    assert_eq!(
        world.says("second"),
        "Completed: a Completed [0], b Completed [1]"
    );
    world.plan("first", queue(&[("a", 2), ("b", 1)]));
    world.rest_and_end();
    assert_eq!(
        world.says("first"),
        "Completed: a Completed [0, 1], b Completed [0]"
    );
}

#[test]
fn schedulings_whose_slots_meet_wait_in_order_and_others_do_not() {
    let mut world = World::with(3, &["a", "b", "c", "d"]);
    let one = |job: &'static str, on: &'static [i32]| slots("strict", &[(job, on)]);
    world.plan("first", one("a", &[0]));
    world.rest();
    world.plan("second", one("b", &[0, 1]));
    world.plan("third", one("c", &[1]));
    world.plan("fourth", one("d", &[2]));
    world.rest();
    // Slot 1 is free, and second wants it before third.
    assert_eq!(world.started(), ["a", "d"]);
    assert_eq!(world.says("third"), "Confirmation: c InQueue");
    world.ends("a", "Completed");
    world.rest();
    assert_eq!(world.says("second"), "AwaitCompletion: b Scheduled [0, 1]");
    assert_eq!(world.says("third"), "Confirmation: c InQueue");
    world.rest_and_end();
    assert_eq!(world.started(), ["a", "d", "b", "c"]);
}

/// Has two Schedulings come at once, of which the finalizer of the second is there before that of the first.
fn the_second_is_answered_first(jobs: &[&str], first: Value, second: Value) -> World {
    let mut world = World::with(2, jobs);
    world.plan("first", first);
    world.plan("second", second);
    world.hear_all();
    let writes = world.due();
    assert_eq!(writes.len(), 2, "a finalizer each: {writes:?}");
    for write in writes.iter().rev() {
        world.answer(write);
        world.hear_all();
        for next in world.due() {
            world.answer(&next);
        }
    }
    world
}

#[test]
fn of_two_that_come_at_once_the_first_has_what_both_want_whoever_is_answered_first() {
    let both = [queue(&[("a", 2), ("b", 2)]), queue(&[("b", 2), ("a", 2)])];
    let [first, second] = both;
    let mut world = the_second_is_answered_first(&["a", "b"], first, second);
    world.rest();
    assert_eq!(world.claim_of("a").as_deref(), Some("first"));
    assert_eq!(world.claim_of("b").as_deref(), Some("first"));
    let [first, second] = [queue(&[("a", 2)]), queue(&[("b", 2)])];
    let mut world = the_second_is_answered_first(&["a", "b"], first, second);
    world.rest();
    assert_eq!(world.started(), ["a"]);
    world.rest_and_end();
    assert_eq!(world.started(), ["a", "b"]);
}

#[test]
fn one_that_is_not_given_its_finalizer_is_in_nobodys_way() {
    let message = "no finalizers here".to_owned();
    for answer in [Answer::Lost, Answer::Refused { message }] {
        let mut world = World::with(1, &["a"]);
        world.plan("first", queue(&[("a", 1)]));
        world.plan("second", queue(&[("a", 1)]));
        world.hear_all();
        let writes = world.due();
        let now = world.now;
        world.machine.answered(writes[0].ticket, answer, now);
        world.answer(&writes[1]);
        for _ in 0..9 {
            world.hear_all();
            for write in world.due() {
                assert!(write.on.name != "first", "it is tried again at once");
                world.answer(&write);
            }
        }
        assert_eq!(world.claim_of("a").as_deref(), Some("second"));
    }
}

#[test]
fn schedulings_of_all_namespaces_share_a_testbed_in_order() {
    let mut world = World::with(1, &["a", "b"]);
    world.plan("first", queue(&[("a", 1)]));
    // Of the same name as one of the other namespace, which it does not touch.
    for (resource, name, spec) in [
        (Resource::BatchJobs, "a", json!({"job": {}})),
        (Resource::Schedulings, "first", queue(&[("a", 1)])),
    ] {
        let meta = json!({"namespace": "other", "name": name});
        world.put(resource, json!({"metadata": meta, "spec": spec}));
    }
    let others = (
        Resource::Schedulings,
        "other".to_owned(),
        "first".to_owned(),
    );
    // The BatchJobs of the other namespace follow here by hand.
    let job = (Resource::BatchJobs, "other".to_owned(), "a".to_owned());
    world.rest();
    let claim = json!({"namespace": "other", "name": "first"});
    assert_eq!(world.objects[&job]["spec"]["activeScheduling"], claim);
    world.edit(&job, |job| {
        let generation = job["metadata"]["generation"].clone();
        job["status"] = json!({
            "state": "InQueue", "activeScheduling": claim, "observedGeneration": generation,
        });
    });
    world.rest();
    let waits = &world.objects[&others]["status"]["conditions"][0]["message"];
    let words = "BatchJob a waits for 1 free slot of Testbed lab";
    assert_eq!(waits, &json!(words));
    world.rest_and_end();
    let slots = &world.objects[&job]["spec"]["creationRequest"]["slots"];
    assert_eq!(slots, &json!([0]));
}

#[test]
fn a_queue_that_waits_keeps_free_slots_from_later_ones() {
    let mut world = World::with(2, &["a", "b", "c"]);
    world.occupy(0);
    world.plan("first", queue(&[("a", 2)]));
    world.rest();
    world.plan("second", queue(&[("b", 1)]));
    world.rest();
    assert_eq!(world.started(), [""; 0]);
    world.vacate(0);
    world.rest_and_end();
    assert_eq!(world.started(), ["a", "b"]);
}

#[test]
fn what_is_missing_is_said_and_relaxed_goes_on_with_the_rest() {
    let mut world = World::with(2, &["a", "b"]);
    let jobs: [(&str, &[i32]); 3] = [("a", &[0]), ("x", &[1]), ("b", &[1, 7, 8])];
    let says = "False NoBatchJob: there is no BatchJob x; \
        BatchJob b: Testbed lab has no slots 7, 8";
    world.plan("strict", slots("strict", &jobs));
    world.rest();
    assert_eq!(world.accepted("strict"), says);
    assert_eq!(world.started(), [""; 0]);
    world.plan("relaxed", slots("relaxed", &jobs));
    world.rest_and_end();
    assert_eq!(world.accepted("relaxed"), says);
    assert_eq!(
        world.says("relaxed"),
        "Acquire: a Completed [0], x Acquiring, b Acquiring"
    );
    assert_eq!(world.claim_of("a"), None, "it is not kept from others");
    world.job("x");
    world.bed("lab", 9);
    world.rest_and_end();
    let all = "Completed: a Completed [0], x Completed [1], b Completed [1, 7, 8]";
    assert_eq!(world.says("relaxed"), all);
    assert_eq!(world.says("strict"), all);
}

#[test]
fn a_testbed_that_is_not_there_is_waited_for() {
    let mut world = World::with(1, &["a"]);
    world.remove(&bed_key("lab"));
    world.plan("first", queue(&[("a", 1)]));
    world.rest();
    let says = "False NoTestbed: there is no Testbed lab";
    assert_eq!(world.accepted("first"), says);
    world.bed("lab", 0);
    world.rest();
    let says = "False NoSlots: Testbed lab has no slots; \
        BatchJob a asks for 1 slot; Testbed lab has 0";
    assert_eq!(world.accepted("first"), says);
    world.bed("lab", 1);
    world.rest_and_end();
    assert_eq!(world.says("first"), "Completed: a Completed [0]");
}

#[test]
fn a_batch_job_that_cannot_do_what_its_spec_says_is_waited_for() {
    let mut world = World::with(1, &["a", "b"]);
    let condition = json!({"type": "Accepted", "status": "False", "message": "job: no template"});
    world.edit(&job_key("a"), |job| {
        job["status"] = json!({"conditions": [condition]});
    });
    world.plan("first", queue(&[("a", 1), ("b", 1)]));
    world.rest();
    let says = "False BatchJobFault: BatchJob a: job: no template";
    assert_eq!(world.accepted("first"), says);
    assert_eq!(world.claim_of("b"), None);
    world.edit(&job_key("a"), |job| job["status"]["conditions"] = json!([]));
    world.rest();
    assert_eq!(
        world.says("first"),
        "Confirmation: a Scheduled [0], b InQueue"
    );
}

#[test]
fn jobs_are_appended_reordered_and_taken_off_while_it_runs() {
    let mut world = World::with(2, &["a", "b", "c", "d"]);
    world.plan("first", queue(&[("a", 2), ("b", 2), ("c", 1)]));
    world.rest();
    let version = |world: &World| world.status("first").observed_generation;
    assert_eq!(version(&world), Some(1));
    world.plan("first", queue(&[("c", 2), ("d", 1), ("a", 2)]));
    world.rest();
    assert_eq!(version(&world), Some(2));
    assert_eq!(world.claim_of("b"), None);
    assert_eq!(
        world.says("first"),
        "Confirmation: c InQueue, d InQueue, a Scheduled [0, 1]"
    );
    // Taken off while it runs: its run ends, and its slots are free.
    world.plan("first", queue(&[("c", 2), ("d", 1)]));
    world.rest();
    assert_eq!(world.claim_of("a"), None);
    assert_eq!(
        world.says("first"),
        "Confirmation: c Scheduled [0, 1], d InQueue"
    );
    // What has started keeps its slots, whatever is asked now.
    world.plan("first", queue(&[("c", 1), ("d", 2)]));
    world.rest();
    assert_eq!(world.slots_of("c"), Some(vec![0, 1]));
    world.rest_and_end();
    assert_eq!(
        world.says("first"),
        "Completed: c Completed [0, 1], d Completed [0, 1]"
    );
    // One that has ended goes on when something is appended.
    world.plan("first", queue(&[("c", 1), ("d", 2), ("b", 1)]));
    world.rest();
    assert_eq!(
        world.says("first"),
        "AwaitCompletion: c Completed [0, 1], d Completed [0, 1], b Scheduled [0]"
    );
    assert_eq!(world.status("first").completed_at, None);
    world.rest_and_end();
    assert_eq!(world.started(), ["a", "c", "d", "b"]);
}

#[test]
fn who_lacks_an_appended_job_holds_nothing_back_but_what_runs() {
    let mut world = World::with(2, &["a", "b", "c", "d"]);
    world.plan("first", queue(&[("a", 2), ("b", 1)]));
    world.plan("second", queue(&[("c", 1)]));
    world.rest();
    world.plan("first", queue(&[("a", 2), ("b", 1), ("c", 1)]));
    world.rest();
    assert_eq!(world.claim_of("a").as_deref(), Some("first"));
    assert_eq!(world.claim_of("b"), None);
    let waits = "True Waiting: waits for BatchJob c, which Scheduling second has";
    assert_eq!(world.accepted("first"), waits);
    world.rest_and_end();
    assert_eq!(world.started(), ["a", "c", "b", "c"]);
}

#[test]
fn deletion_releases_everything_and_then_the_finalizer_goes() {
    let mut world = World::with(2, &["a", "b", "c"]);
    world.plan("first", queue(&[("a", 1), ("b", 1), ("c", 1)]));
    world.rest();
    assert_eq!(
        world.objects[&plan_key("first")]["metadata"]["finalizers"],
        json!(["muster.dev/scheduling"])
    );
    // The job and the testbed are gone already, and the controller starts anew in the middle.
    world.remove(&job_key("b"));
    world.remove(&bed_key("lab"));
    world.delete(&plan_key("first"));
    world.hear_all();
    let writes = world.due();
    world.carry_out(&writes[0]);
    world.restart();
    world.rest();
    assert!(!world.objects.contains_key(&plan_key("first")));
    assert_eq!((world.claim_of("a"), world.claim_of("c")), (None, None));
    assert_eq!(world.slots_of("a"), None);
}

#[test]
fn nothing_is_claimed_any_more_when_the_finalizer_goes() {
    let mut world = World::with(2, &["a", "b"]);
    world.plan("first", queue(&[("a", 1), ("b", 1)]));
    world.rest();
    world.delete(&plan_key("first"));
    let mut steps = 0;
    while world.objects.contains_key(&plan_key("first")) {
        assert!(steps < 9, "it does not go");
        steps += 1;
        world.hear_all();
        for write in world.machine.due(world.now, 1) {
            world.answer(&write);
        }
    }
    assert_eq!((world.claim_of("a"), world.claim_of("b")), (None, None));
}

#[test]
fn one_that_is_over_is_gone_when_it_is_deleted() {
    let mut world = World::with(1, &["a"]);
    world.plan("first", queue(&[("a", 1)]));
    world.rest();
    world.ends("a", "Completed");
    world.delete(&plan_key("first"));
    world.rest();
    assert!(!world.objects.contains_key(&plan_key("first")));
    world.plan("second", queue(&[("a", 1)]));
    world.rest_and_end();
    world.delete(&plan_key("second"));
    world.rest();
    assert!(!world.objects.contains_key(&plan_key("second")));
}

#[test]
fn what_has_ended_has_ended_whatever_is_written_into_it_since() {
    let mut world = World::with(1, &["a", "b"]);
    world.plan("first", queue(&[("a", 1), ("b", 1)]));
    world.rest();
    world.ends("a", "Failed");
    world.edit(&job_key("a"), |job| {
        job["spec"]["job"] = json!({"spec": {}});
        let spec = job["spec"].as_object_mut().unwrap();
        spec.remove("creationRequest");
    });
    world.rest();
    assert_eq!(
        world.says("first"),
        "AwaitCompletion: a Failed [0], b Scheduled [0]"
    );
}

#[test]
fn a_job_that_was_taken_off_and_comes_back_is_claimed_once_its_last_run_is_gone() {
    let mut world = World::with(1, &["a", "b"]);
    world.plan("first", queue(&[("a", 1), ("b", 1)]));
    world.rest();
    world.ends("a", "Completed");
    world.plan("first", queue(&[("b", 1)]));
    for _ in 0..9 {
        world.hear_all();
        world.machine_writes();
    }
    world.plan("first", queue(&[("b", 1), ("a", 1)]));
    for _ in 0..9 {
        world.hear_all();
        world.machine_writes();
        // Of its end it is told again, and the claim of before still counts.
        world.edit(&job_key("a"), |job| {
            job["status"]["observedGeneration"] = job["metadata"]["generation"].clone();
        });
    }
    assert_eq!(world.claim_of("a"), None);
    assert!(
        world
            .accepted("first")
            .ends_with("whose last run is not gone yet")
    );
    world.rest_and_end();
    assert_eq!(world.started(), ["a", "b", "a"]);
}

#[test]
fn slots_stay_promised_until_what_was_released_is_gone() {
    let mut world = World::with(1, &["a", "b"]);
    world.plan("first", queue(&[("a", 1), ("b", 1)]));
    while world
        .read_job("a")
        .status
        .unwrap_or_default()
        .slots
        .is_empty()
    {
        world.hear_all();
        if world.machine_writes() == 0 {
            world.follow_and_show();
        }
    }
    // Its application is there, and no pod on the slot yet.
    world.plan("first", queue(&[("b", 1)]));
    for _ in 0..9 {
        world.hear_all();
        world.machine_writes();
    }
    assert_eq!(world.claim_of("a"), None);
    assert_eq!(world.slots_of("b"), None);
    world.rest();
    assert_eq!(world.slots_of("b"), Some(vec![0]));
}

#[test]
fn finalizers_of_others_are_left_alone() {
    let mut world = World::with(1, &["a"]);
    world.plan("first", queue(&[("a", 1)]));
    world.edit(&plan_key("first"), |plan| {
        plan["metadata"]["finalizers"] = json!(["example.com/other"]);
    });
    world.rest();
    let finalizers =
        |world: &World| world.objects[&plan_key("first")]["metadata"]["finalizers"].clone();
    let both = json!(["example.com/other", "muster.dev/scheduling"]);
    assert_eq!(finalizers(&world), both);
    world.delete(&plan_key("first"));
    world.rest();
    assert_eq!(finalizers(&world), json!(["example.com/other"]));
    assert_eq!(world.claim_of("a"), None);
}

#[test]
fn a_claim_of_a_scheduling_that_is_not_there_is_given_back() {
    let mut world = World::with(1, &["a", "b"]);
    for (job, namespace) in [("a", "team"), ("b", "other")] {
        world.edit(&job_key(job), |one| {
            one["spec"]["activeScheduling"] = json!({"namespace": namespace, "name": "nobody"});
            let request = json!({"replication": 1, "testbed": "lab", "slots": [0]});
            one["spec"]["creationRequest"] = request;
        });
    }
    // News of it may be on its way.
    world.hear_all();
    assert_eq!(world.machine_writes(), 0);
    world.rest();
    assert_eq!((world.claim_of("a"), world.claim_of("b")), (None, None));
    assert_eq!((world.slots_of("a"), world.slots_of("b")), (None, None));
}

#[test]
fn a_claim_that_is_lost_on_the_way_releases_all() {
    let mut world = World::with(2, &["a", "b", "c"]);
    world.plan("other", queue(&[("c", 1)]));
    world.rest();
    world.plan("first", queue(&[("a", 1), ("b", 1)]));
    while world.claim_of("a").is_none() {
        world.hear_all();
        let writes = world.due();
        for write in writes.iter().filter(|write| write.on.name != "b") {
            world.answer(write);
        }
    }
    // Somebody else is faster with b.
    world.edit(&job_key("b"), |job| {
        job["spec"]["activeScheduling"] = json!({"namespace": "team", "name": "other"});
    });
    world.plan("other", queue(&[("c", 1), ("b", 1)]));
    world.hear_all();
    world.machine_writes();
    assert_eq!(world.claim_of("a"), None);
    assert_eq!(world.claim_of("b").as_deref(), Some("other"));
}

#[test]
fn what_is_refused_is_said_tried_less_and_less_often_and_held_by_nobody() {
    let mut world = World::with(2, &["a", "b"]);
    world.plan("first", queue(&[("a", 1), ("b", 1)]));
    let begin = world.now;
    let (mut refused, mut free) = (0, 0);
    for _ in 0..600 {
        world.hear_all();
        for write in world.due() {
            let starts = matches!(&write.deed, Deed::Patch { operations, .. }
                if operations[0]["path"] == json!("/spec/creationRequest")
                    && operations[0]["op"] == json!("add"));
            if starts && write.on.name == "b" {
                refused += 1;
                let message = "no quota".to_owned();
                let (ticket, now) = (write.ticket, world.now);
                let answer = Answer::Refused { message };
                world.machine.answered(ticket, answer, now);
            } else {
                world.answer(&write);
            }
        }
        if !world.follow_and_show() {
            world.now = world.now + Millis(1_000);
            free += u32::from(world.claim_of("b").is_none());
        }
    }
    assert!(free > 200, "{free} seconds");
    assert!(world.now > begin + Millis(200_000));
    assert!((3..30).contains(&refused), "{refused} times");
    let says = "False Refused: BatchJob b: no quota";
    assert_eq!(world.accepted("first"), says);
    assert_eq!(world.claim_of("a").as_deref(), Some("first"), "it runs");
}

#[test]
fn news_of_a_slot_looks_at_what_has_to_do_with_it() {
    let mut world = World::with(4, &["a"]);
    world.plan("first", queue(&[("a", 1)]));
    world.rest();
    world.occupy(3);
    world.hear_all();
    assert!(world.machine.marked.namespaces.is_empty());
    assert_eq!(world.machine.marked.beds.len(), 1);
}

#[test]
fn many_schedulings_that_are_over_cost_nothing() {
    let mut world = World::with(2, &["a"]);
    for index in 0..50 {
        world.plan(&format!("plan-{index}"), queue(&[("a", 1)]));
    }
    world.rest_and_end();
    assert_eq!(world.started().len(), 50);
    assert_eq!(world.machine.known.live("team").count(), 0);
    assert_eq!(world.machine.standings.len(), 0);
}
