//! From a bind to a whole gang, or to its release.

use super::*;
use crate::state::MAX_SETBACKS;

#[test]
fn a_member_that_is_refused_is_tried_on_another_node() {
    let mut story = Story::new();
    story.node("n1", 1);
    story.node("n2", 1);
    story.pod("p", None);
    let first = story.binds();
    story.refused(&first[0]);
    let second = story.binds();
    assert_eq!(second.len(), 1);
    assert_ne!(first[0].node, second[0].node);
}

#[test]
fn a_bind_that_nobody_answered_is_not_said_to_be_refused_and_needs_no_other_node() {
    let mut story = Story::new();
    story.node("n1", 1);
    story.group("g", 1);
    story.pod("p", Some("g"));
    for _ in 0..MAX_SETBACKS {
        let binds = story.binds();
        assert_eq!(binds[0].node, "n1");
        story.unanswered(&binds[0]);
    }
    assert_eq!(story.binds(), []);
    let said = story.status("g").conditions;
    let scheduled = said.iter().find(|one| one.kind == "Scheduled").unwrap();
    assert_eq!(
        (&*scheduled.reason, scheduled.message.as_str()),
        ("BindFailed", "binding pod p failed: no answer")
    );
}

#[test]
fn a_gang_with_a_member_refused_for_good_is_released_and_says_who() {
    let mut story = Story::new();
    for index in 0..8 {
        story.node(&format!("n{index}"), 1);
    }
    story.group("g", 3);
    for name in ["p0", "p1", "p2"] {
        story.pod(name, Some("g"));
    }
    let mut evicted = Vec::new();
    for _ in 0..100 {
        let (binds, evictions) = story.step();
        for bind in binds {
            if bind.pod.name == "p1" {
                story.refused(&bind);
            } else {
                story.bound(&bind);
            }
        }
        evicted.extend(evictions);
        if !evicted.is_empty() {
            break;
        }
        story.pass(100);
    }
    assert!(story.now <= Time(9_000), "released at {:?}", story.now);
    let mut gone: Vec<_> = evicted
        .iter()
        .map(|evict| evict.pod.name.as_str())
        .collect();
    gone.sort_unstable();
    assert_eq!(gone, ["p0", "p2"]);
    let disrupted = "only 2 of 3 members could be bound; pod p1: denied by policy";
    assert!(
        evicted.iter().all(|evict| *evict.message == *disrupted),
        "{evicted:?}"
    );
    let conditions = story.status("g").conditions;
    assert!(
        conditions
            .iter()
            .any(|one| one.kind == "Disrupted" && one.message == disrupted)
    );
}

#[test]
fn what_gets_bound_during_a_release_is_evicted_too() {
    let mut story = Story::new();
    story.node("n", 3);
    story.group("g", 3);
    for name in ["p0", "p1", "p2"] {
        story.pod(name, Some("g"));
    }
    let binds = story.binds();
    story.bound(&binds[0]);
    story.tell(Event::Gone(ObjectKey::Pod(binds[1].pod.clone())));
    story.step();
    story.pass(9_000);
    let (_, evictions) = story.step();
    assert_eq!(evictions.len(), 1);
    story.bound(&binds[2]);
    let (_, evictions) = story.step();
    assert_eq!(evictions[0].pod, binds[2].pod);
}

#[test]
fn a_released_gang_backs_off_before_it_is_tried_again() {
    let mut story = Story::new();
    story.node("n", 2);
    story.group("g", 2);
    let lost = story.pod("p0", Some("g"));
    story.pod("p1", Some("g"));
    story.run();
    story.tell(Event::Gone(ObjectKey::Pod(lost)));
    story.step();
    story.pass(5_000);
    let (_, evictions) = story.step();
    for evict in evictions {
        story.tell(Event::EvictResult(
            evict.pod.clone(),
            EvictOutcome::Accepted,
        ));
        story.tell(Event::Gone(ObjectKey::Pod(evict.pod)));
    }
    for name in ["q0", "q1"] {
        story.pod(name, Some("g"));
    }
    assert_eq!(story.run(), []);
    story.pass(10_000);
    assert_eq!(story.run().len(), 2);
}

/// A gang of two that is found with one of them bound, on a node with so much room.
fn half_bound(room: i64) -> Story {
    let mut story = Story::new();
    story.node("n", room);
    story.group("g", 2);
    story.submit(PodSpec {
        node: Some("n".into()),
        ..pod("p0", Some("g"), 1)
    });
    story.pod("p1", Some("g"));
    story
}

#[test]
fn a_new_scheduler_completes_a_gang_that_the_last_one_left_half_bound() {
    let mut story = half_bound(2);
    // A gang that came first and wants the last room has to wait.
    story.submit(PodSpec {
        priority: Some(100),
        ..pod("other", None, 1)
    });
    assert_eq!(names(&story.run()), ["p1"]);
}

#[test]
fn a_new_scheduler_waits_for_what_it_sent_itself() {
    let mut story = half_bound(2);
    let sent = story.binds();
    assert_eq!(names(&sent), ["p1"]);
    story.pass(2_999);
    assert_eq!(story.step(), (vec![], vec![]));
    story.pass(1);
    assert_eq!(story.step().1.len(), 1, "and no longer than is promised");
}

#[test]
fn a_new_scheduler_releases_a_half_bound_gang_that_cannot_be_completed() {
    let mut story = half_bound(1);
    assert_eq!(story.step(), (vec![], vec![]));
    story.pass(2_000);
    assert_eq!(
        story.step().1.len(),
        1,
        "it was in part for longer than we saw"
    );
}

#[test]
fn a_minimum_raised_is_completed_or_the_gang_goes_as_for_a_member_lost() {
    for room in [4, 3] {
        let mut story = Story::new();
        story.node("n", room);
        story.group("g", 2);
        for index in 0..4 {
            story.pod(&format!("p{index}"), Some("g"));
        }
        story.run();
        story.run();
        story.group("g", 4);
        let completed = story.run().len();
        story.pass(5_000);
        let (_, evictions) = story.step();
        if room == 4 {
            assert_eq!(
                (completed, evictions.len()),
                (0, 0),
                "surplus had its place"
            );
            continue;
        }
        assert_eq!(evictions.len(), 3);
        let message = evictions[0].message.to_string();
        assert!(
            message
                .starts_with("only 3 of 4 members have a node; the minimum was raised from 2 to 4"),
            "{message}"
        );
        assert!(message.contains("pod p3: 0/1 nodes"), "{message}");
    }
}

#[test]
fn a_running_gang_that_lost_its_node_says_which_member_and_why() {
    let mut story = Story::new();
    for name in ["n0", "n1", "n2"] {
        story.node(name, 1);
    }
    story.group("g", 3);
    let pods: Vec<PodKey> = (0..3)
        .map(|i| story.pod(&format!("p{i}"), Some("g")))
        .collect();
    let binds = story.run();
    story.step();
    let lost = &binds.iter().find(|bind| bind.pod == pods[1]).unwrap().node;
    story.tell(Event::Gone(ObjectKey::Node(lost.clone())));
    story.step();
    let status = story.status("g");
    assert_eq!(
        (status.phase, status.bound),
        (GangPhase::Unknown, 3),
        "p1 is bound still"
    );
    story.pass(5_000);
    let (_, evictions) = story.step();
    assert_eq!(evictions.len(), 3);
    let message = format!("only 2 of 3 members are left; pod p1 was on node {lost}, which is gone");
    assert_eq!(*evictions[0].message, *message);
}

#[test]
fn a_wave_that_advances_is_never_cut() {
    let mut story = Story::new();
    story.node("n", 10);
    story.group("g", 10);
    for index in 0..10 {
        story.pod(&format!("p{index}"), Some("g"));
    }
    let binds = story.binds();
    for bind in &binds {
        story.pass(4_900);
        assert_eq!(story.step().1, []);
        story.bound(bind);
    }
    story.step();
    assert_eq!(story.status("g").phase, GangPhase::Running);
}

#[test]
fn a_wave_that_stops_is_cut_nine_seconds_after_its_last_bind() {
    let mut story = Story::new();
    story.node("n", 3);
    story.group("g", 3);
    for index in 0..3 {
        story.pod(&format!("p{index}"), Some("g"));
    }
    let binds = story.binds();
    story.pass(3_000);
    story.bound(&binds[0]);
    story.step();
    story.pass(8_999);
    assert_eq!(story.step().1, []);
    story.pass(1);
    let plan = story.scheduler.cycle(story.now);
    let recalled: Vec<_> = plan
        .effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Recall(pod) => Some(pod.name.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(
        recalled,
        ["p1", "p2"],
        "what may not be sent yet is asked back"
    );
    let lengths: Vec<_> = plan
        .spans
        .iter()
        .map(|span| (span.kind, span.length))
        .collect();
    assert_eq!(lengths, [(SpanKind::PartlyBound, Millis(9_000))]);
}

#[test]
fn of_two_binds_that_nobody_answers_the_second_is_waited_for() {
    let mut story = Story::new();
    story.node("n", 2);
    story.group("g", 2);
    for name in ["p0", "p1"] {
        story.pod(name, Some("g"));
    }
    let binds = story.binds();
    story.bound(&binds[0]);
    story.step();
    story.pass(4_000);
    story.unanswered(&binds[1]);
    let again = story.binds();
    assert_eq!(names(&again), ["p1"]);
    story.pass(4_000);
    assert_eq!(story.step().1, []);
    story.unanswered(&again[0]);
    assert_eq!(
        story.step().1.len(),
        1,
        "nothing is on its way, and its time is up"
    );
}

#[test]
fn a_wave_stops_as_soon_as_its_minimum_cannot_be_met() {
    let mut story = Story::new();
    story.node("n", 3);
    story.group("g", 3);
    let pods: Vec<PodKey> = (0..3)
        .map(|i| story.pod(&format!("p{i}"), Some("g")))
        .collect();
    let binds = story.binds();
    story.bound(&binds[0]);
    story.tell(Event::Gone(ObjectKey::Pod(pods[1].clone())));
    let plan = story.scheduler.cycle(story.now);
    assert!(plan.effects.contains(&Effect::Recall(pods[2].clone())));
    assert_eq!(recalls(&story.scheduler.cycle(story.now)), 0, "asked once");
    story.tell(Event::BindResult(pods[2].clone(), BindOutcome::Unsent));
    assert_eq!(story.step(), (vec![], vec![]), "nothing more is bound");
    story.pass(3_000);
    story.pod("again", Some("g"));
    let mut names = names(&story.run())
        .into_iter()
        .map(str::to_owned)
        .collect::<Vec<_>>();
    names.sort();
    assert_eq!(names, ["again", "p2"], "a new member in time completes it");
}

#[test]
fn a_bind_given_back_unsent_is_decided_anew_without_a_setback() {
    let mut story = Story::new();
    story.node("n", 1);
    let pod = story.pod("p", None);
    for _ in 0..5 {
        assert_eq!(story.binds().len(), 1);
        story.tell(Event::BindResult(pod.clone(), BindOutcome::Unsent));
    }
    assert_eq!(story.binds().len(), 1);
}

#[test]
fn a_refused_release_goes_on_until_it_is_done_and_says_who_refuses_since_when() {
    let mut story = Story::new();
    story.node("n", 40);
    story.group("g", 40);
    for index in 0..40 {
        story.pod(&format!("p{index:02}"), Some("g"));
    }
    let binds = story.run();
    story.step();
    story.tell(Event::Gone(ObjectKey::Pod(binds[0].pod.clone())));
    story.step();
    story.pass(5_000);
    let (_, mut open) = story.step();
    assert_eq!(open.len(), 39);
    assert!(open.iter().all(|order| !order.again));
    // DELETE is refused for fifty seconds.
    let mut orders = 0;
    let begin = story.now;
    while story.now < begin + Millis(50_000) {
        orders += open.len();
        for evict in open {
            let message = "denied by policy \"keep\"".to_owned();
            story.tell(Event::EvictResult(
                evict.pod,
                EvictOutcome::Refused { message },
            ));
        }
        open = story.step().1;
        let status = story.status("g");
        assert_eq!((status.phase, status.bound), (GangPhase::Unknown, 39));
        let refused = status
            .conditions
            .iter()
            .find(|one| one.kind == "ReleaseRefused");
        let words = "pod p01 may not be deleted: denied by policy \"keep\"";
        let said = refused.map(|one| (&*one.reason, one.message.as_str()));
        assert_eq!(said, Some(("DeleteRefused", words)));
        story.pass(500);
    }
    assert!(orders < 39 + 40 * 16, "{orders} orders in 50 s");
    // Now it is allowed: within two seconds everything goes.
    let begin = story.now;
    let mut gone = 0;
    while gone < 39 {
        for evict in open {
            let key = evict.pod.clone();
            story.tell(Event::EvictResult(evict.pod, EvictOutcome::Accepted));
            story.tell(Event::Gone(ObjectKey::Pod(key)));
            gone += 1;
        }
        open = story.step().1;
        assert!(open.iter().all(|order| order.again));
        story.pass(100);
        assert!(story.now.since(begin) < Millis(3_000), "{gone} gone");
    }
    story.step();
    assert_eq!(story.status("g").bound, 0);
}

#[test]
fn a_bind_that_was_refused_is_no_reason_once_somebody_else_has_bound_the_pod() {
    let mut story = Story::new();
    for name in ["n1", "n2"] {
        story.node(name, 1);
    }
    story.group("g", 2);
    for name in ["p0", "p1"] {
        story.pod(name, Some("g"));
    }
    let binds = story.binds();
    story.refused(&binds[0]);
    story.bound(&binds[1]);
    story.submit(PodSpec {
        node: Some(binds[0].node.clone()),
        ..pod(&binds[0].pod.name, Some("g"), 1)
    });
    story.step();
    story.tell(Event::Gone(ObjectKey::Pod(binds[1].pod.clone())));
    story.step();
    story.pass(5_000);
    let (_, evictions) = story.step();
    assert_eq!(evictions.len(), 1);
    let message = &evictions[0].message;
    assert!(!message.contains("denied"), "{message}");
    let conditions = story.status("g").conditions;
    let refused = conditions.iter().find(|one| one.kind == "ReleaseRefused");
    assert_eq!(refused, None);
}

#[test]
fn a_release_is_over_when_no_member_holds_a_node() {
    let mut story = Story::new();
    story.node("n", 2);
    story.group("g", 2);
    let lost = story.pod("p0", Some("g"));
    let left = story.pod("p1", Some("g"));
    story.run();
    story.step();
    story.tell(Event::Gone(ObjectKey::Pod(lost)));
    story.step();
    story.pass(5_000);
    assert_eq!(story.step().1.len(), 1);
    story.tell(Event::EvictResult(left.clone(), EvictOutcome::Accepted));
    story.pass(20_000);
    story.step();
    assert_eq!(story.status("g").bound, 1, "its kubelet is slow");
    for name in ["q0", "q1"] {
        story.pod(name, Some("g"));
    }
    assert_eq!(story.binds(), []);
    story.tell(Event::Gone(ObjectKey::Pod(left)));
    story.step();
    story.pass(10_000);
    assert_eq!(
        story.binds().len(),
        2,
        "after the back-off, which begins now"
    );
}

#[test]
fn of_a_gang_of_which_nothing_was_tried_it_is_not_said_that_it_could_not_be_bound() {
    let mut story = Story::new();
    story.node("n1", 1);
    story.group("g", 3);
    let found = PodSpec {
        node: Some("n1".to_owned()),
        phase: PodPhase::Running,
        ..pod("p0", Some("g"), 1)
    };
    story.submit(found);
    story.pod("p1", Some("g"));
    story.pod("p2", Some("g"));
    let mut evicted = Vec::new();
    while evicted.is_empty() && story.now < Time(20_000) {
        let (binds, evictions) = story.step();
        assert_eq!(binds, []);
        evicted.extend(evictions);
        story.pass(100);
    }
    let words: Vec<&str> = evicted.iter().map(|one| &*one.message).collect();
    assert_eq!(words.len(), 1);
    assert!(
        words[0].starts_with("only 1 of 3 members have a node"),
        "{words:?}"
    );
}
