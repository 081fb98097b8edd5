//! What is said, and when.

use super::*;

#[test]
fn a_gang_that_cannot_be_tried_is_a_decision_once() {
    let mut story = Story::new();
    story.node("n", 4);
    story.group("g", 3);
    let mut reasons = Vec::new();
    for name in ["p0", "p1", "p2"] {
        story.pod(name, Some("g"));
        for decision in story.later(1_000).decisions {
            reasons.push(match decision.outcome {
                Outcome::Waits { reason, .. } => reason,
                _ => Code::new("placed"),
            });
        }
    }
    assert_eq!(reasons, ["NotEnoughPods", "placed"]);
}

#[test]
fn a_gang_whose_minimum_succeeded_runs_although_surplus_still_waits() {
    let mut story = Story::new();
    story.node("n", 1);
    story.group("g", 1);
    let first = story.pod("first", Some("g"));
    assert_eq!(names(&story.run()), ["first"]);
    story.submit(pod("huge", Some("g"), 64));
    let mut ended = pod("first", Some("g"), 1);
    ended.node = Some("n".into());
    ended.phase = PodPhase::Succeeded;
    assert_eq!(ended.key, first);
    story.submit(ended);
    assert_eq!(story.binds(), []);
    assert_eq!(story.status("g").phase, GangPhase::Running);
}

#[test]
fn a_pod_that_uses_what_is_not_supported_waits_and_names_the_field() {
    let mut story = Story::new();
    story.node("n", 1);
    let unsupported = vec!["spec.resourceClaims".to_owned()];
    story.submit(PodSpec {
        unsupported,
        ..pod("p", None, 1)
    });
    story.step();
    assert_eq!(
        told(&story.later(1_000)),
        ["not supported: spec.resourceClaims"]
    );
}

#[test]
fn nothing_is_said_twice_and_an_idle_scheduler_wants_nothing() {
    let mut story = Story::new();
    story.node("n", 1);
    story.submit(pod("p", None, 2));
    assert_eq!(story.scheduler.cycle(story.now).effects, []);
    assert_eq!(story.later(1_000).effects.len(), 1);
    assert!(!story.scheduler.wants_cycle());
    let again = pod("p", None, 2);
    story.submit(again);
    assert!(
        !story.scheduler.wants_cycle(),
        "an event without news costs no cycle"
    );
    assert_eq!(story.scheduler.cycle(story.now).effects, []);
}

#[test]
fn positions_follow_when_somebody_ahead_leaves() {
    let mut story = Story::new();
    let names: Vec<String> = (0..60).map(|index| format!("g{index:02}")).collect();
    for name in &names {
        story.group(name, 1);
        story.pod(name, Some(name));
    }
    let mut shown: std::collections::BTreeMap<String, Option<u32>> = Default::default();
    let mut written = 0;
    let mut hear = |plan: &Plan| {
        for effect in &plan.effects {
            if let Effect::GangStatus(status) = effect {
                shown.insert(status.gang.name.clone(), status.position);
                written += 1;
            }
        }
        (shown.clone(), std::mem::take(&mut written))
    };
    hear(&story.scheduler.cycle(story.now));
    hear(&story.later(1_000));
    for gone in 1..4 {
        let pod = pod(&names[gone - 1], None, 1).key;
        story.tell(Event::Gone(ObjectKey::Pod(pod)));
        hear(&story.scheduler.cycle(story.now));
        let (shown, written) = hear(&story.later(1_000));
        assert!(written <= 51, "{written} statuses because one left");
        for (index, name) in names.iter().enumerate().skip(gone) {
            let place = u32::try_from(index - gone + 1).unwrap();
            let wanted = (place <= SHOWN_POSITIONS).then_some(place);
            assert_eq!(shown[name], wanted, "{name} after {gone} left");
            assert_eq!(story.status(name).position, Some(place), "when asked for");
        }
    }
}

#[test]
fn the_words_of_a_gang_are_its_own() {
    let mut story = Story::new();
    story.node("n", 2);
    for name in ["a", "b"] {
        story.group(name, 3);
        for member in 0..3 {
            story.pod(&format!("{name}{member}"), Some(name));
        }
    }
    story.step();
    for name in ["a", "b"] {
        let why = story.why(name);
        let own = format!("Unschedulable: 2 of 3 members fit; pod {name}");
        assert!(why.starts_with(&own), "{why}");
    }
}

#[test]
fn what_will_be_true_for_a_moment_is_not_said() {
    let mut story = Story::new();
    story.node("n", 200);
    story.group("g", 100);
    let mut said = Vec::new();
    for index in 0..100 {
        story.pod(&format!("p{index}"), Some("g"));
        said.extend(told(&story.later(9)));
    }
    assert_eq!(said, Vec::<String>::new());
    assert_eq!(story.status("g").phase, GangPhase::Scheduling);
}

#[test]
fn a_reason_is_said_once_it_lasts_and_its_numbers_not_in_a_hurry() {
    let mut story = Story::new();
    story.group("g", 200);
    story.pod("p", Some("g"));
    story.step();
    assert_eq!(told(&story.later(1_000)), ["1 of 200 pods exist"]);
    let mut said = Vec::new();
    for index in 0..50 {
        story.pod(&format!("p{index}"), Some("g"));
        said.push(told(&story.later(100)).len());
    }
    let rounds = said.iter().filter(|count| **count > 0).count();
    assert!(rounds <= 6, "new members are told once a second: {said:?}");
}

#[test]
fn what_is_said_of_nodes_follows_the_nodes() {
    let mut story = Story::new();
    story.node("small", 1);
    story.submit(pod("p", None, 8));
    story.step();
    let key = GangKey {
        space: GangSpace::Own,
        name: "uid-p".into(),
        ..key("")
    };
    let why = |story: &Story| story.scheduler.why(&key).unwrap().1;
    assert!(
        why(&story).contains("closest is node small, short of 7 cpu"),
        "{}",
        why(&story)
    );
    for name in ["m0", "m1", "m2"] {
        story.node(name, 6);
    }
    story.step();
    story.later(1_000);
    assert!(why(&story).contains("0/4 nodes"), "{}", why(&story));
    assert!(
        why(&story).contains("closest is node m0, short of 2 cpu"),
        "{}",
        why(&story)
    );
    story.submit(pod("q", None, 2));
    story.step();
    story.later(1_000);
    story.later(10_000);
    let closest = why(&story);
    assert!(
        closest.contains("closest is node m1, short of 2"),
        "{closest}"
    );
    assert_eq!(story.scheduler.stats().sweep_rescues, 0);
}

#[test]
fn a_waiting_gang_knows_its_position() {
    let mut story = Story::new();
    for name in ["first", "second"] {
        story.group(name, 1);
        story.pod(name, Some(name));
    }
    story.step();
    assert_eq!(story.status("first").position, Some(1));
    assert_eq!(story.status("second").position, Some(2));
}

#[test]
fn who_asks_for_more_than_its_queue_may_ever_hold_is_told_so_once() {
    let mut story = Story::new();
    story.node("large", 8);
    let other = QueueSpec {
        name: "other".to_owned(),
        uid: "uid-other".to_owned(),
        ..QueueSpec::default()
    };
    story.tell(Event::is(other));
    story.pod("runs", None);
    story.run();
    story.submit(pod("huge", None, 64));
    let told_first = told(&story.later(1_000)).concat() + &told(&story.later(1_000)).concat();
    assert_eq!(
        told_first,
        "it asks for 64 cores' worth, and gangs with an unlimited lifetime may raise the flow of \
         queue default to 4.8"
    );
    // What the queue uses changes nothing about that.
    let mut ended = pod("runs", None, 1);
    (ended.node, ended.phase) = (Some("large".into()), PodPhase::Succeeded);
    story.submit(ended);
    for _ in 0..3 {
        let plan = story.later(15_000);
        assert_eq!(told(&plan), [""; 0]);
        assert_eq!(plan.decisions.len(), 0, "it was not even asked again");
    }
    // A larger share does.
    story.node("larger", 200);
    assert_eq!(names(&story.run()), ["huge"]);
}

#[test]
fn guarantees_beyond_what_the_cluster_has_are_said() {
    let mut story = Story::new();
    let queue = |name: &str, parent: Option<&str>, cpus: i64| {
        Event::is(QueueSpec {
            name: name.to_owned(),
            uid: format!("uid-{name}"),
            parent: parent.map(str::to_owned),
            guaranteed: vec![("cpu".to_owned(), cpus * 1000)],
            ..QueueSpec::default()
        })
    };
    story.node("n", 10);
    // What is guaranteed below one that is guaranteed more is part of that.
    for event in [
        queue("a", None, 6),
        queue("a1", Some("a"), 5),
        queue("b", None, 4),
    ] {
        story.tell(event);
    }
    let said = |plan: &Plan| -> Vec<String> {
        let effects = plan.effects.iter();
        let ready = effects.filter_map(|effect| match effect {
            Effect::QueueStatus(status) => {
                Some(format!("{} {}", status.queue, status.ready.message))
            }
            _ => None,
        });
        ready.filter(|said| said.contains("guaranteed")).collect()
    };
    assert_eq!(said(&story.later(1_000)), [""; 0]);
    story.tell(queue("b", None, 5));
    let plan = story.later(1_000);
    let words = "11 cpu are guaranteed to the queues in all, and the cluster has 10 cpu: what is \
                 beyond that nobody can count on";
    assert_eq!(
        said(&plan),
        ["a", "a1", "b"].map(|queue| format!("{queue} {words}"))
    );
    story.node("more", 1);
    let plan = story.later(1_000);
    assert_eq!(said(&plan), [""; 0], "it grew");
    assert!(!plan.effects.is_empty(), "and that is said");
}
