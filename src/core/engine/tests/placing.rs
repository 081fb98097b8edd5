//! Who gets a place, and in which order.

use super::*;
use crate::framework::{Permit, PermitVerdict, Plugin, Reason, Refusal, Spots, WaitingGangs};

#[test]
fn a_gang_starts_whole_or_not_at_all() {
    let mut story = Story::new();
    story.node("n", 2);
    story.group("g", 3);
    for name in ["p0", "p1", "p2"] {
        story.pod(name, Some("g"));
    }
    assert_eq!(story.binds(), []);
    assert_eq!(
        story.why("g"),
        "Unschedulable: 2 of 3 members fit; pod p2: 0/1 nodes are available: 1 Insufficient cpu. \
         (closest is node n, short of 1 cpu)"
    );
    story.node("m", 1);
    assert_eq!(story.run().len(), 3);
    assert_eq!(story.status("g").phase, GangPhase::Running);
}

#[test]
fn the_group_may_come_before_between_or_after_its_pods() {
    for position in 0..=2 {
        let mut story = Story::new();
        story.node("n", 2);
        for (index, name) in ["p0", "p1"].into_iter().enumerate() {
            if index == position {
                story.group("g", 2);
            }
            story.pod(name, Some("g"));
            assert_eq!(
                story.binds().len(),
                usize::from(index == 1 && position < 2) * 2
            );
        }
        if position == 2 {
            assert_eq!(
                story.why("g"),
                "PodGroupNotFound: PodGroup a/g does not exist"
            );
            story.group("g", 2);
            assert_eq!(story.binds().len(), 2);
        }
    }
}

#[test]
fn members_beyond_the_minimum_never_hold_it_back() {
    let mut story = Story::new();
    story.node("n", 3);
    story.group("g", 3);
    for name in ["p0", "p1", "p2"] {
        story.pod(name, Some("g"));
    }
    story.submit(pod("huge", Some("g"), 64));
    assert_eq!(names(&story.run()), ["p0", "p1", "p2"]);
    assert_eq!(story.status("g").phase, GangPhase::Running);
    story.node("large", 64);
    assert_eq!(names(&story.run()), ["huge"]);
}

#[test]
fn surplus_waits_behind_minima_of_equal_priority() {
    let mut story = Story::new();
    story.node("n", 4);
    story.group("elastic", 1);
    for index in 0..5 {
        story.pod(&format!("e{index}"), Some("elastic"));
    }
    story.define(GangSpec {
        min_available: 2,
        created: Time(9),
        ..group("later")
    });
    for index in 0..2 {
        let spec = pod(&format!("l{index}"), Some("later"), 1);
        story.submit(PodSpec {
            created: Time(9),
            ..spec
        });
    }
    let binds = story.run();
    assert_eq!(names(&binds), ["e0", "l0", "l1", "e1"]);
}

#[test]
fn every_subgroup_needs_its_minimum_and_none_exceeds_its_maximum() {
    let mut story = Story::new();
    story.node("n", 10);
    let subgroups = vec![
        SubgroupSpec {
            name: "driver".into(),
            min: 1,
            max: Some(1),
            ..SubgroupSpec::default()
        },
        SubgroupSpec {
            name: "worker".into(),
            min: 2,
            max: Some(3),
            ..SubgroupSpec::default()
        },
    ];
    story.define(GangSpec {
        min_available: 3,
        subgroups,
        ..group("g")
    });
    let member = |story: &mut Story, name: &str, subgroup: &str| {
        let spec = pod(name, Some("g"), 1);
        story.submit(PodSpec {
            subgroup: Some(subgroup.into()),
            ..spec
        });
    };
    for index in 0..5 {
        member(&mut story, &format!("w{index}"), "worker");
    }
    assert_eq!(story.run(), []);
    assert_eq!(
        story.why("g"),
        "NotEnoughPods: 0 of 1 pods of subgroup driver exist"
    );
    member(&mut story, "d0", "driver");
    member(&mut story, "d1", "driver");
    let mut bound = story.run();
    bound.extend(story.run());
    let mut bound = names(&bound);
    bound.sort_unstable();
    assert_eq!(bound, ["d0", "w0", "w1", "w2"]);
}

#[test]
fn gates_hold_a_pod_back() {
    let mut story = Story::new();
    story.node("n", 2);
    story.group("g", 2);
    story.pod("p0", Some("g"));
    let gated = PodSpec {
        gates: vec!["example.com/wait".into()],
        ..pod("p1", Some("g"), 1)
    };
    story.submit(gated);
    assert_eq!(story.run(), []);
    assert_eq!(
        story.why("g"),
        "SchedulingGated: pod p1 is held back by scheduling gate example.com/wait"
    );
    story.pod("p1", Some("g"));
    assert_eq!(story.run().len(), 2);
}

#[test]
fn a_gang_waits_for_its_queue_and_says_so() {
    let mut story = Story::new();
    story.node("n", 1);
    story.define(GangSpec {
        min_available: 1,
        queue: Some("team".into()),
        ..group("g")
    });
    story.pod("p", Some("g"));
    assert_eq!(story.run(), []);
    assert_eq!(
        story.why("g"),
        "QueueNotFound: queue \"team\" does not exist"
    );
    assert_eq!(story.status("g").phase, GangPhase::Pending);
    story.tell(Event::is(QueueSpec {
        name: "team".into(),
        ..QueueSpec::default()
    }));
    assert_eq!(story.run().len(), 1);
}

#[test]
fn higher_tiers_then_higher_priorities_then_earlier_submissions_go_first() {
    let mut story = Story::new();
    story.tell(Event::is(QueueSpec {
        name: "top".into(),
        tier: 1,
        weight: 1_000,
        over_share: 1_000_000,
        ..QueueSpec::default()
    }));
    story.tell(Event::is(QueueSpec {
        over_share: 1_000_000,
        ..QueueSpec::default()
    }));
    let mut member = |name: &str, queue: Option<&str>, priority: i32, created: u64| {
        let queue = queue.map(str::to_owned);
        let created = Time(created);
        story.submit(PodSpec {
            queue,
            priority: Some(priority),
            created,
            ..pod(name, None, 1)
        });
    };
    member("late", None, 0, 2);
    member("early", None, 0, 1);
    member("urgent", None, 5, 3);
    member("tier", Some("top"), -5, 4);
    story.node("n", 4);
    assert_eq!(names(&story.run()), ["tier", "urgent", "early", "late"]);
}

#[test]
fn of_equal_gangs_the_one_heard_of_first_goes_first_whatever_its_name_was_used_for() {
    let mut story = Story::new();
    for name in ["used", "other"] {
        story.group(name, 1);
    }
    // The id of "used" is free again, and goes to the next gang.
    story.tell(Event::Gone(ObjectKey::Gang(
        key("used"),
        muster_model::Source::Muster,
    )));
    story.step();
    for name in ["first", "second", "used"] {
        story.group(name, 1);
        story.pod(name, Some(name));
    }
    story.step();
    story.node("n", 1);
    assert_eq!(names(&story.binds()), ["first"]);
    for (name, position) in [("second", 1), ("used", 2)] {
        assert_eq!(story.status(name).position, Some(position));
    }
}

#[test]
fn assumptions_outlive_time_and_stale_news() {
    let mut story = Story::new();
    story.node("n", 1);
    story.pod("p", None);
    assert_eq!(story.binds().len(), 1);
    story.pod("p", None);
    story.pod("q", None);
    story.pass(3_600_000);
    assert_eq!(story.binds(), []);
}

#[test]
fn a_pod_made_again_under_its_name_inherits_nothing() {
    let mut story = Story::new();
    story.node("n", 1);
    let old = story.pod("p", None);
    assert_eq!(story.run().len(), 1);
    let mut again = pod("p", None, 1);
    again.key.uid = "another".into();
    story.submit(again);
    assert_eq!(story.run().len(), 1, "the old pod's room is free again");
    story.tell(Event::Gone(ObjectKey::Pod(old)));
    assert_eq!(
        story.scheduler.state().pods().count(),
        1,
        "late news of the old one is ignored"
    );
}

#[test]
fn pods_of_other_schedulers_are_usage_and_never_touched() {
    let mut story = Story::new();
    story.node("n", 1);
    let foreign = PodSpec {
        ours: false,
        node: Some("n".into()),
        ..pod("f", Some("g"), 1)
    };
    story.submit(foreign);
    story.pod("p", None);
    assert_eq!(story.step(), (vec![], vec![]));
    assert!(story.why("g").is_empty());
}

#[test]
fn a_sweep_rescues_nobody_when_hints_are_right() {
    let mut story = Story::new();
    story.node("n", 1);
    story.submit(pod("large", None, 8));
    story.step();
    let plan = story.later(1_000);
    assert_eq!(plan.wake_at, Some(Time(300_000)));
    story.pass(299_000);
    story.step();
    let stats = story.scheduler.stats();
    assert_eq!((stats.sweeps, stats.sweep_rescues), (1, 0));
}

#[test]
fn a_slot_that_gets_free_is_tried_by_the_first_of_each_kind_and_the_next_only_if_that_was_seated() {
    let mut story = Story::new();
    story.node("n", 3);
    let runs = ["r0", "r1", "r2"].map(|name| story.pod(name, None));
    story.run();
    for index in 0..100 {
        story.pod(&format!("w{index:02}"), None);
        story.submit(pod(&format!("x{index:02}"), None, 2));
    }
    story.run();
    let attempts = |story: &Story| story.scheduler.stats().attempts;
    let before = attempts(&story);
    story.tell(Event::Gone(ObjectKey::Pod(runs[0].clone())));
    assert_eq!(names(&story.run()), ["w00"]);
    // The first of each kind, and the next of the kind that was seated: that is refused.
    assert!(
        attempts(&story) - before <= 4,
        "{}",
        attempts(&story) - before
    );
    let before = attempts(&story);
    story.node("m", 3);
    assert_eq!(names(&story.run()), ["x00", "w01"]);
    assert!(
        attempts(&story) - before <= 6,
        "{}",
        attempts(&story) - before
    );
    story.scheduler.audit().unwrap();
}

#[test]
fn a_kind_goes_on_after_its_first_was_refused_for_a_reason_of_its_own() {
    let mut story = Story::new();
    story.node("n", 1);
    let runs = story.pod("runs", None);
    story.run();
    for name in ["first", "second"] {
        story.group(name, 1);
        story.pod(name, Some(name));
    }
    story.run();
    // What was first is of another kind by the time there is room.
    story.group("first", 3);
    story.tell(Event::Gone(ObjectKey::Pod(runs)));
    assert_eq!(names(&story.run()), ["second"]);
}

/// Both of a kind fit on the new node: the first is woken, the second after it. That the second was
/// about to be tried for its words' sake makes it no rescue.
#[test]
fn who_is_tried_for_its_words_when_its_turn_has_come_is_not_rescued() {
    let mut story = Story::new();
    story.node("n", 1);
    for name in ["p", "q"] {
        story.submit(pod(name, None, 2));
    }
    assert_eq!(story.binds(), []);
    story.node("x", 1);
    assert_eq!(story.binds(), []);
    story.node("m", 4);
    story.pass(12_000);
    assert_eq!(names(&story.binds()), ["p", "q"]);
    assert_eq!(story.scheduler.stats().sweep_rescues, 0);
}

/// Lets nobody through whose name says so.
#[derive(Debug)]
struct Doorman;

impl Plugin for Doorman {
    fn name(&self) -> &'static str {
        "Doorman"
    }
}

impl Permit for Doorman {
    fn permit(&self, spots: &Spots<'_>, _: Time, _: &mut WaitingGangs) -> PermitVerdict {
        let mut spots = spots.iter();
        match spots.find(|spot| spot.pod.name.starts_with("denied")) {
            Some(spot) => {
                let reason = Reason::Other("not you".to_owned());
                PermitVerdict::Deny(Refusal::of(&spot, reason))
            }
            None => PermitVerdict::Allow,
        }
    }
}

/// Gangs with the same want are woken one after the other; one that fails for a reason of its own
/// makes way for the next, and has had its turn.
#[test]
fn who_is_denied_hides_nobody_behind_it_and_is_not_tried_again_and_again() {
    let mut story = Story::new();
    let mut policy = Policy::default();
    policy.profile.permit.push(Arc::new(Doorman));
    story.scheduler = Scheduler::new(policy);
    for name in ["denied-a", "denied-b", "welcome"] {
        story.pod(name, None);
    }
    assert_eq!(story.binds(), []);
    story.node("n", 1);
    assert_eq!(names(&story.binds()), ["welcome"]);
    assert!(!story.scheduler.wants_cycle());
    assert!(story.scheduler.stats().attempts < 10);
}

/// A configuration cannot name an order twice, so that none is ever left out.
#[test]
fn every_order_has_its_rank() {
    assert!(registry::queue_sorts().len() <= MAX_RANKS);
}

#[test]
#[should_panic(expected = "7 queue-sort plugins, and 6 at most have a rank")]
fn no_order_is_left_out_silently() {
    let mut policy = Policy::default();
    let known = registry::queue_sorts();
    let more = known.iter().cycle().take(MAX_RANKS + 1);
    policy.profile.queue_sort = more.cloned().collect();
    let _ = Scheduler::new(policy);
}

/// Pods of four CPUs, as one gang; on how many nodes they are.
fn nodes_of_a_gang(story: &mut Story, members: u32) -> usize {
    story.group("g", members);
    for index in 0..members {
        story.submit(pod(&format!("p{index}"), Some("g"), 4));
    }
    let binds = story.run();
    assert_eq!(binds.len(), members as usize);
    let nodes: BTreeSet<&str> = binds.iter().map(|bind| bind.node.as_str()).collect();
    nodes.len()
}

#[test]
fn of_placements_that_lose_nothing_the_one_on_the_fewest_nodes_counts() {
    // So many nodes of so many CPUs free, so many members, and on how many nodes these can be.
    let worlds = [
        (vec![(2, 4), (1, 8)], 2, 1),
        (vec![(8, 4), (4, 8), (2, 16)], 8, 2),
        (vec![(8, 4), (4, 8), (1, 16)], 8, 3),
        (vec![(3, 4), (2, 12), (1, 16)], 6, 2),
    ];
    for in_use in [false, true] {
        for others in [0, 300] {
            for (kinds, members, fewest) in &worlds {
                let mut story = Story::new();
                for (count, cpus) in kinds {
                    for index in 0..*count {
                        let name = format!("{cpus}-{index}");
                        story.node(&name, *cpus + i64::from(in_use));
                        if in_use {
                            story.pod_of_others_on(&name);
                        }
                    }
                }
                // No room for any member.
                (0..others).for_each(|index| story.node(&format!("other-{index}"), 3));
                let nodes = nodes_of_a_gang(&mut story, *members);
                assert_eq!(nodes, *fewest, "{kinds:?}, in use: {in_use}, {others} more");
            }
        }
    }
}

#[test]
fn a_node_is_opened_and_filled_where_that_takes_fewer_nodes() {
    let mut story = Story::new();
    for name in ["n", "m"] {
        story.node(name, 5);
        story.pod_of_others_on(name);
    }
    story.node("whole", 8);
    assert_eq!(nodes_of_a_gang(&mut story, 2), 1);
}
