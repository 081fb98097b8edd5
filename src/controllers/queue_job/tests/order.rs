//! In which order pods are made, and what a quota that runs out does.

use super::world::{World, over_quota, task};
use crate::{Answer, Deed, Machine, Resource, Write};
use serde_json::{Value, json};

fn important(priority: i32, min: i32, replicas: i32) -> Value {
    let sched = json!({"priority": priority, "minAvailable": min});
    json!({"schedSpec": sched, "taskSpecs": [task("a", replicas)]})
}

/// The pods in the order in which they were made.
fn made(world: &World) -> Vec<String> {
    let all = world.written.iter();
    let made = all.filter(|(on, deed)| on.resource == Resource::Pods && *deed == "create");
    made.map(|(on, _)| on.name.clone()).collect()
}

#[test]
fn minima_go_first_by_priority_then_age_and_then_all_take_turns() {
    let mut world = World::new();
    world.job_in("team", "young", 9, important(0, 1, 3));
    world.job_in("team", "old", 2, important(0, 2, 3));
    world.job_in("team", "high", 30, important(5, 1, 3));
    world.rest();
    let minima = ["high-a-0", "old-a-0", "old-a-1", "young-a-0"];
    let turns = ["high-a-1", "old-a-2", "young-a-1", "high-a-2", "young-a-2"];
    assert_eq!(made(&world), [&minima[..], &turns[..]].concat());
}

#[test]
fn turns_hold_whatever_room_there_is_at_once() {
    let mut world = World::new();
    world.job_in("team", "a", 1, important(0, 0, 3));
    world.job_in("team", "b", 2, important(0, 0, 3));
    for _ in 0..60 {
        world.hear_all();
        for write in world.machine.due(world.now, 1) {
            let answer = world.carry_out(&write);
            let now = world.now;
            world.machine.answered(write.ticket, answer, now);
        }
    }
    assert_eq!(
        made(&world),
        ["a-a-0", "b-a-0", "a-a-1", "b-a-1", "a-a-2", "b-a-2"]
    );
}

#[test]
fn within_a_job_tasks_go_by_the_priority_of_their_templates_then_in_their_order() {
    let mut world = World::new();
    let with = |name: &str, priority: i32| {
        let mut task = task(name, 1);
        task["template"]["spec"]["priority"] = json!(priority);
        task
    };
    let tasks = json!([
        task("plain", 1),
        with("low", -5),
        with("high", 9),
        task("second", 1)
    ]);
    world.tasks("job", None, tasks);
    world.rest();
    assert_eq!(
        made(&world),
        ["job-high-0", "job-plain-0", "job-second-0", "job-low-0"]
    );
}

#[test]
fn a_quota_that_runs_out_hits_the_least_important_and_is_said_once() {
    let mut world = World::new();
    world.job_in("team", "low", 1, important(0, 2, 2));
    world.job_in("team", "high", 9, important(5, 3, 4));
    world.job_in("team", "middle", 9, important(3, 2, 2));
    world.job_in("other", "elsewhere", 9, important(-9, 2, 3));
    world.rest_within(4);
    assert_eq!(
        world.pods(),
        [
            "elsewhere-a-0",
            "elsewhere-a-1",
            "elsewhere-a-2",
            "high-a-0",
            "high-a-1",
            "high-a-2",
            "middle-a-0"
        ]
    );
    let (reason, words) = world.condition("middle", "Accepted");
    assert_eq!(reason, "ExceededQuota");
    assert!(words.contains("exceeded quota: q"), "{words}");
    // Who stands behind it says so, also of what is beyond a minimum.
    let waits = |world: &World, who: &str, behind: &str| {
        let words = format!("QueueJob {behind} comes before it, and a quota leaves no room");
        let wanted = ("WaitsInLine".to_owned(), words);
        assert_eq!(world.condition(who, "Accepted"), wanted, "{who}");
    };
    waits(&world, "low", "middle");
    waits(&world, "high", "middle");
    // It is tried again and again, and the words have numbers that change; nothing is written of it.
    let count = world.written.len();
    for used in 5..9 {
        world.pass(60);
        world.hear_all();
        let due = world.machine.due(world.now, 9);
        assert_eq!(due.len(), 1, "the line stands: {due:?}");
        assert_eq!(due[0].on.name, "middle-a-1");
        let now = world.now;
        world.machine.answered(due[0].ticket, over_quota(used), now);
        assert_eq!(world.machine.due(now, 9), []);
    }
    assert_eq!(world.written.len(), count);
    // Who comes before it goes on, and once there is room, all do in their order.
    world.job_in("team", "first", 9, important(9, 1, 1));
    world.rest_within(5);
    assert!(world.pods().contains(&"first-a-0".to_owned()));
    assert_eq!(world.accepted("middle"), "ExceededQuota");
    assert_eq!(world.accepted("first"), "Accepted");
    world.restart();
    world.rest_within(5);
    waits(&world, "low", "middle");
    assert_eq!(
        world.accepted("middle"),
        "ExceededQuota",
        "who starts anew says the same"
    );
    world.pass(60);
    world.rest();
    for job in ["first", "high", "middle", "low"] {
        assert_eq!(world.accepted(job), "Accepted", "{job}");
    }
    let made = made(&world);
    assert_eq!(
        made[made.len() - 4..],
        ["middle-a-1", "low-a-0", "low-a-1", "high-a-3"]
    );
}

#[test]
fn who_is_refused_for_another_reason_stops_nobody() {
    let mut world = World::new();
    world.job_in("team", "high", 1, important(5, 1, 1));
    world.job_in("team", "low", 1, important(0, 1, 1));
    for _ in 0..20 {
        world.hear_all();
        for write in world.machine.due(world.now, 9) {
            let makes = write.on.name == "high-a-0" && matches!(write.deed, Deed::Create(_));
            let answer = if makes {
                let message = "admission webhook denied the request".to_owned();
                Answer::Refused { message }
            } else {
                world.carry_out(&write)
            };
            let now = world.now;
            world.machine.answered(write.ticket, answer, now);
        }
    }
    assert_eq!(world.pods(), ["low-a-0"]);
    let (reason, words) = world.condition("high", "Accepted");
    assert_eq!(
        (reason.as_str(), words.as_str()),
        ("Refused", "admission webhook denied the request")
    );
    world.pass(60);
    world.rest();
    assert_eq!(
        (world.accepted("high").as_str(), world.pods().len()),
        ("Accepted", 2)
    );
}

/// What is due is carried out, but what is of pods: that is on its way.
fn carry_out_but_pods(world: &mut World) -> Vec<Write> {
    let due = world.machine.due(world.now, 9);
    let of_pods = |write: &Write| write.on.resource == Resource::Pods;
    let (flying, others): (Vec<_>, Vec<_>) = due.into_iter().partition(of_pods);
    for write in others {
        let answer = world.carry_out(&write);
        let now = world.now;
        world.machine.answered(write.ticket, answer, now);
    }
    flying
}

#[test]
fn who_is_less_important_waits_for_answers_to_who_is_more() {
    let mut world = World::new();
    world.job_in("team", "high", 1, important(5, 2, 2));
    world.job_in("team", "low", 1, important(0, 1, 1));
    let mut flying = Vec::new();
    for _ in 0..6 {
        world.hear_all();
        flying.extend(carry_out_but_pods(&mut world));
    }
    let names: Vec<&str> = flying.iter().map(|one| one.on.name.as_str()).collect();
    assert_eq!(names, ["high-a-0", "high-a-1"]);
    let now = world.now;
    world.machine.answered(flying[0].ticket, Answer::Lost, now);
    let answer = world.carry_out(&flying[1]);
    world.machine.answered(flying[1].ticket, answer, now);
    world.hear_all();
    let due = world.machine.due(now, 9);
    let pods = due.iter().filter(|one| one.on.resource == Resource::Pods);
    assert_eq!(pods.count(), 0, "{due:?}");
}

#[test]
fn a_conflict_of_a_quota_is_no_answer_and_lets_nobody_pass() {
    let mut world = World::new();
    world.job_in("team", "high", 1, important(5, 1, 1));
    world.job_in("team", "low", 1, important(0, 1, 1));
    let mut sent = Vec::new();
    for _ in 0..6 {
        world.hear_all();
        for write in world.machine.due(world.now, 9) {
            let answer = if write.on.resource == Resource::Pods {
                sent.push(write.on.name.clone());
                // Operation cannot be fulfilled on resourcequotas: the object has been modified.
                Answer::Conflict
            } else {
                world.carry_out(&write)
            };
            let now = world.now;
            world.machine.answered(write.ticket, answer, now);
        }
    }
    assert_eq!(sent, ["high-a-0"]);
    world.pass(1);
    world.rest();
    assert_eq!(made(&world), ["high-a-0", "low-a-0"]);
}

#[test]
fn what_an_edit_takes_back_while_it_is_made_is_waited_for() {
    let mut world = World::new();
    world.tasks("job", None, json!([task("a", 2)]));
    let mut flying = Vec::new();
    let mut turn = |world: &mut World| {
        world.hear(Resource::QueueJobs);
        world.hear(Resource::SchedulingSpecs);
        flying.extend(carry_out_but_pods(world));
        flying.clone()
    };
    (0..4).for_each(|_| _ = turn(&mut world));
    world.edit_job("job", |spec| spec["taskSpecs"] = json!([task("b", 2)]));
    let sent = (0..4).map(|_| turn(&mut world)).last().unwrap();
    let names: Vec<&str> = sent.iter().map(|one| one.on.name.as_str()).collect();
    assert_eq!(names, ["job-a-0", "job-a-1"], "both are on their way");
    for write in &sent[..2] {
        let answer = world.carry_out(write);
        let now = world.now;
        world.machine.answered(write.ticket, answer, now);
    }
    assert_eq!(
        (0..4).map(|_| turn(&mut world)).last().unwrap().len(),
        2,
        "nor before they are told"
    );
    world.rest();
    assert_eq!(world.pods(), ["job-b-0", "job-b-1"]);
}

#[test]
fn who_was_refused_for_a_quota_waits_behind_who_comes_before_it() {
    let mut world = World::new();
    world.job_in("team", "low", 1, important(0, 1, 1));
    let play = |world: &mut World, says: &dyn Fn(&str) -> Option<Answer>| {
        for _ in 0..8 {
            world.hear_all();
            for write in world.machine.due(world.now, 9) {
                let of_pod = write.on.resource == Resource::Pods;
                let answer = says(&write.on.name).filter(|_| of_pod);
                let answer = answer.unwrap_or_else(|| world.carry_out(&write));
                let now = world.now;
                world.machine.answered(write.ticket, answer, now);
            }
        }
    };
    play(&mut world, &|_| Some(over_quota(3)));
    assert_eq!(world.accepted("low"), "ExceededQuota");
    world.job_in("team", "high", 9, important(5, 2, 2));
    // Of its pods one meets a conflict of the quota, and is made when there is room for one.
    let conflict = |name: &str| (name == "high-a-0").then_some(Answer::Conflict);
    play(&mut world, &|name| {
        conflict(name).or_else(|| Some(over_quota(3)))
    });
    world.pass(60);
    play(&mut world, &|name| {
        (name != "high-a-0").then(|| over_quota(4))
    });
    assert_eq!(world.pods(), ["high-a-0"]);
    assert_eq!(world.accepted("high"), "ExceededQuota");
    assert_eq!(world.accepted("low"), "WaitsInLine");
}
