//! The rules of gangs, told as short stories: events in, plans out.

use super::*;
use crate::core::model::{
    EvictOutcome, GangRef, GangSpace, GangSpec, NodeSpec, PodKey, PodPhase, PodSpec, QueueSpec,
    ShapeSpec, SubgroupSpec,
};

/// A scheduler with short words for what tests say often.
struct Story {
    scheduler: Scheduler,
    now: Time,
}

impl Story {
    fn new() -> Self {
        Self {
            scheduler: Scheduler::default(),
            now: Time::ZERO,
        }
    }

    fn node(&mut self, name: &str, cpus: i64) {
        let allocatable = vec![("cpu".to_owned(), cpus * 1000), ("pods".to_owned(), 110)];
        self.tell(Event::Node(NodeSpec {
            name: name.into(),
            allocatable,
            ..NodeSpec::default()
        }));
    }

    fn group(&mut self, name: &str, min: u32) {
        self.define(GangSpec {
            min_available: min,
            ..group(name)
        });
    }

    fn define(&mut self, spec: GangSpec) {
        self.tell(Event::Gang(Box::new(spec)));
    }

    /// A pod of one CPU, of a group or on its own.
    fn pod(&mut self, name: &str, group: Option<&str>) -> PodKey {
        self.submit(pod(name, group, 1))
    }

    fn submit(&mut self, spec: PodSpec) -> PodKey {
        let key = spec.key.clone();
        self.tell(Event::Pod(Box::new(spec)));
        key
    }

    fn tell(&mut self, event: Event) {
        self.scheduler.apply(event);
        self.scheduler.state().audit().unwrap();
    }

    fn bound(&mut self, bind: &Bind) {
        let outcome = BindOutcome::Bound {
            node: bind.node.clone(),
        };
        self.tell(Event::BindResult(bind.pod.clone(), outcome));
    }

    fn refused(&mut self, bind: &Bind) {
        let outcome = BindOutcome::Refused {
            message: "denied by policy".into(),
        };
        self.tell(Event::BindResult(bind.pod.clone(), outcome));
    }

    /// One cycle; its binds and evictions.
    fn step(&mut self) -> (Vec<Bind>, Vec<Evict>) {
        let plan = self.scheduler.cycle(self.now);
        self.scheduler.state().audit().unwrap();
        let (mut binds, mut evictions) = (Vec::new(), Vec::new());
        for effect in plan.effects {
            match effect {
                Effect::Bind(bind) => binds.push(bind),
                Effect::Evict(evict) => evictions.push(evict),
                _ => {}
            }
        }
        (binds, evictions)
    }

    fn binds(&mut self) -> Vec<Bind> {
        self.step().0
    }

    fn run(&mut self) -> Vec<Bind> {
        let binds = self.binds();
        for bind in &binds {
            self.bound(bind);
        }
        binds
    }

    fn pass(&mut self, ms: u64) {
        self.now = self.now + Millis(ms);
    }

    fn why(&self, name: &str) -> String {
        let why = self.scheduler.why(&key(name));
        why.map_or_else(String::new, |(reason, message)| {
            format!("{reason}: {message}")
        })
    }

    fn status(&self, name: &str) -> GangStatus {
        self.scheduler.gang_status(&key(name)).unwrap()
    }
}

fn key(name: &str) -> GangKey {
    GangKey {
        namespace: "a".into(),
        space: GangSpace::Named,
        name: name.into(),
    }
}

fn group(name: &str) -> GangSpec {
    GangSpec {
        key: key(name),
        uid: format!("group-{name}"),
        ..GangSpec::default()
    }
}

fn pod(name: &str, group: Option<&str>, cpus: i64) -> PodSpec {
    let gang = group.map_or(GangRef::Own, |name| GangRef::Named {
        space: GangSpace::Named,
        name: name.to_owned(),
    });
    let requests = vec![("cpu".to_owned(), cpus * 1000)];
    PodSpec {
        key: PodKey {
            namespace: "a".into(),
            name: name.into(),
            uid: format!("uid-{name}"),
        },
        ours: true,
        gang,
        shape: ShapeSpec {
            requests,
            ..ShapeSpec::default()
        },
        ..PodSpec::default()
    }
}

fn names(binds: &[Bind]) -> Vec<&str> {
    binds.iter().map(|bind| bind.pod.name.as_str()).collect()
}

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
fn a_pod_without_a_group_is_its_own() {
    let mut story = Story::new();
    story.node("n", 1);
    story.pod("p", None);
    assert_eq!(names(&story.binds()), ["p"]);
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
fn of_two_gangs_with_room_for_one_the_first_runs_whole_and_the_other_follows() {
    for order in [["a", "b"], ["b", "a"]] {
        let mut story = Story::new();
        story.node("n", 3);
        for (index, name) in order.into_iter().enumerate() {
            let created = Time::from_secs(index as u64);
            story.define(GangSpec {
                min_available: 2,
                created,
                ..group(name)
            });
            for member in 0..2 {
                let spec = pod(&format!("{name}{member}"), Some(name), 1);
                story.submit(PodSpec { created, ..spec });
            }
        }
        let first = story.run();
        assert_eq!(
            names(&first),
            [format!("{}0", order[0]), format!("{}1", order[0])]
        );
        assert_eq!(story.run(), []);
        for bind in first {
            story.tell(Event::PodDeleted(bind.pod));
        }
        let second = story.run();
        assert_eq!(
            names(&second),
            [format!("{}0", order[1]), format!("{}1", order[1])]
        );
    }
}

#[test]
fn a_gang_that_cannot_be_tried_is_a_decision_once() {
    let mut story = Story::new();
    story.node("n", 4);
    story.group("g", 3);
    let mut reasons = Vec::new();
    for name in ["p0", "p1", "p2"] {
        story.pod(name, Some("g"));
        for decision in story.scheduler.cycle(story.now).decisions {
            reasons.push(match decision.outcome {
                Outcome::Waits { reason, .. } => reason,
                _ => "placed",
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
fn surplus_is_given_in_round_robin() {
    let mut story = Story::new();
    story.node("n", 6);
    for name in ["a", "b"] {
        story.group(name, 1);
        for index in 0..5 {
            story.pod(&format!("{name}{index}"), Some(name));
        }
    }
    assert_eq!(names(&story.run()), ["a0", "b0", "a1", "b1", "a2", "b2"]);
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
        },
        SubgroupSpec {
            name: "worker".into(),
            min: 2,
            max: Some(3),
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
fn succeeded_members_count_even_when_they_are_deleted() {
    let mut story = Story::new();
    story.node("n", 2);
    story.group("g", 2);
    let first = story.pod("p0", Some("g"));
    story.pod("p1", Some("g"));
    story.run();
    let ended = PodSpec {
        phase: PodPhase::Succeeded,
        node: Some("n".into()),
        ..pod("p0", Some("g"), 1)
    };
    story.submit(ended);
    story.tell(Event::PodDeleted(first));
    story.step();
    story.pass(60_000);
    assert_eq!(story.step().1, []);
    assert_eq!(story.status("g").succeeded, 1);
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
    story.tell(Event::Queue(QueueSpec {
        name: "team".into(),
        ..QueueSpec::default()
    }));
    assert_eq!(story.run().len(), 1);
}

#[test]
fn higher_tiers_then_higher_priorities_then_earlier_submissions_go_first() {
    let mut story = Story::new();
    story.tell(Event::Queue(QueueSpec {
        name: "top".into(),
        tier: 1,
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
fn a_gang_that_does_not_fit_is_passed_over() {
    let mut story = Story::new();
    story.node("n", 1);
    story.submit(pod("large", None, 8));
    story.pod("small", None);
    assert_eq!(names(&story.run()), ["small"]);
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
    let plan = story.scheduler.cycle(story.now);
    let told = plan.effects.iter().find_map(|effect| match effect {
        Effect::PodWaits(waits) => Some(waits.message.as_str()),
        _ => None,
    });
    assert_eq!(told, Some("not supported: spec.resourceClaims"));
}

#[test]
fn nothing_is_said_twice_and_an_idle_scheduler_wants_nothing() {
    let mut story = Story::new();
    story.node("n", 1);
    story.submit(pod("p", None, 2));
    let first = story.scheduler.cycle(story.now);
    assert_eq!(first.effects.len(), 1);
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
        evicted.iter().all(|evict| evict.message == disrupted),
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
    story.tell(Event::PodDeleted(binds[1].pod.clone()));
    story.step();
    story.pass(4_000);
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
    story.tell(Event::PodDeleted(lost));
    story.step();
    story.pass(4_000);
    let (_, evictions) = story.step();
    for evict in evictions {
        story.tell(Event::EvictResult(
            evict.pod.clone(),
            EvictOutcome::Accepted,
        ));
        story.tell(Event::PodDeleted(evict.pod));
    }
    for name in ["q0", "q1"] {
        story.pod(name, Some("g"));
    }
    assert_eq!(story.run(), []);
    story.pass(10_000);
    assert_eq!(story.run().len(), 2);
}

#[test]
fn a_new_scheduler_completes_a_gang_that_the_last_one_left_half_bound() {
    let mut story = Story::new();
    story.node("n", 2);
    story.group("g", 2);
    story.submit(PodSpec {
        node: Some("n".into()),
        ..pod("p0", Some("g"), 1)
    });
    story.pod("p1", Some("g"));
    // A gang that came first and wants the last room has to wait.
    story.submit(PodSpec {
        priority: Some(100),
        ..pod("other", None, 1)
    });
    assert_eq!(names(&story.run()), ["p1"]);
}

#[test]
fn a_new_scheduler_releases_a_half_bound_gang_that_cannot_be_completed() {
    let mut story = Story::new();
    story.node("n", 1);
    story.group("g", 2);
    story.submit(PodSpec {
        node: Some("n".into()),
        ..pod("p0", Some("g"), 1)
    });
    story.pod("p1", Some("g"));
    assert_eq!(story.step(), (vec![], vec![]));
    story.pass(4_000);
    assert_eq!(story.step().1.len(), 1);
}

#[test]
fn a_minimum_raised_while_the_gang_runs_disrupts_nothing() {
    let mut story = Story::new();
    story.node("n", 2);
    story.group("g", 2);
    story.pod("p0", Some("g"));
    story.pod("p1", Some("g"));
    story.run();
    story.step();
    story.group("g", 4);
    story.step();
    story.pass(60_000);
    assert_eq!(story.step().1, []);
}

#[test]
fn a_group_without_pods_is_admitted_when_its_room_is_free() {
    let mut story = Story::new();
    story.node("n", 4);
    let room = vec![("cpu".to_owned(), 3000)];
    story.define(GangSpec {
        min_available: 1,
        min_resources: room.clone(),
        ..group("a")
    });
    story.step();
    assert_eq!(story.status("a").phase, GangPhase::Inqueue);
    story.define(GangSpec {
        min_available: 1,
        min_resources: room,
        ..group("b")
    });
    story.step();
    assert_eq!(story.status("b").phase, GangPhase::Pending);
    assert!(
        story
            .why("b")
            .starts_with("NotEnoughResources: minResources: 3000m cpu wanted")
    );
    story.node("m", 4);
    story.step();
    assert_eq!(story.status("b").phase, GangPhase::Inqueue);
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
    story.tell(Event::PodDeleted(old));
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
    let plan = story.scheduler.cycle(story.now);
    assert_eq!(plan.wake_at, Some(Time(300_000)));
    story.pass(300_000);
    story.step();
    let stats = story.scheduler.stats();
    assert_eq!((stats.sweeps, stats.sweep_rescues), (1, 0));
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
