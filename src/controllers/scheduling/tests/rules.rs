//! The rules, each by its name.

use super::world::{World, bed_key, job_key, plan_key, queue, slots};
use serde_json::json;

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
