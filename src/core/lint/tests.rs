//! The linter finds what it is there to find: each rule is broken once.

use super::*;
use muster_core::engine::Scheduler;
use muster_model::units::Millis;
use muster_model::{
    Bind, BindOutcome, GangKey, GangRef, GangSpec, NamespaceChoice, NamespaceSpec, NodeFeatures,
    NodeSpec, ObjectKey, PodKey, PodLabels, PodPhase, PodQuery, PodSpec, PodWaits, Source,
    SpreadRule, SubgroupSpec, Taint,
};
use muster_model::{Decision, Outcome, QueueSpec};
use muster_model::{Effect, Evict, EvictCause, GangPhase, GangStatus};
use muster_model::{GhostOf, SlotClaim, SlotSpec, TestbedSpec};
use muster_model::{HeldPlace, OntoKept};

/// A gang of two on a node for two, and a foreign pod beside it.
struct World {
    linter: Linter,
    scheduler: Scheduler,
}

fn key(name: &str) -> PodKey {
    PodKey {
        namespace: "a".into(),
        name: name.into(),
        uid: format!("uid-{name}"),
    }
}

fn gang() -> GangKey {
    GangKey {
        namespace: "a".into(),
        name: "g".into(),
        ..GangKey::default()
    }
}

fn pod(name: &str) -> PodSpec {
    let mut spec = PodSpec {
        key: key(name),
        ours: true,
        gang: GangRef::Named {
            space: gang().space,
            name: "g".into(),
        },
        ..PodSpec::default()
    };
    spec.shape.requests = vec![("cpu".into(), 1_000)];
    spec
}

impl World {
    fn new() -> Self {
        let mut world = Self {
            linter: Linter::default(),
            scheduler: Scheduler::default(),
        };
        world.tell(Event::is(NodeSpec {
            name: "n".into(),
            allocatable: vec![("cpu".into(), 2_000), ("pods".into(), 10)],
            ..NodeSpec::default()
        }));
        world.tell(Event::is(GangSpec {
            key: gang(),
            min_available: 2,
            ..GangSpec::default()
        }));
        for name in ["p0", "p1"] {
            world.tell(Event::is(pod(name)));
        }
        let foreign = PodSpec {
            key: key("foreign"),
            node: Some("n".into()),
            ..PodSpec::default()
        };
        world.tell(Event::is(foreign));
        world
    }

    fn tell(&mut self, event: Event) {
        self.linter.hear(&event);
        self.scheduler.apply(Time::ZERO, event);
    }

    /// A plan that the scheduler made.
    fn plan(&mut self) -> Plan {
        self.scheduler.cycle(Time::ZERO)
    }

    fn look(&mut self, effects: Vec<Effect>) -> Vec<Note> {
        let plan = Plan {
            effects,
            ..Plan::default()
        };
        self.linter.look(&plan, Time::ZERO)
    }

    fn bound(&mut self, name: &str) {
        let outcome = BindOutcome::Bound { node: "n".into() };
        self.tell(Event::BindResult(key(name), outcome));
    }
}

fn bind(name: &str, node: &str) -> Effect {
    Effect::Bind(Bind {
        pod: key(name),
        node: node.into(),
        slot: None,
        completes: false,
        asks: None,
    })
}

fn evict(name: &str) -> Effect {
    Effect::Evict(Evict {
        pod: key(name),
        cause: EvictCause::Release,
        beneficiary: None,
        message: "because".into(),
        again: false,
    })
}

#[track_caller]
fn found(notes: &[Note], words: &str) {
    assert!(notes.iter().any(|note| note.contains(words)), "{notes:?}");
}

#[test]
fn a_plan_of_the_schedulers_is_clean() {
    let mut world = World::new();
    let plan = world.plan();
    assert!(!plan.effects.is_empty());
    assert_eq!(world.linter.look(&plan, Time::ZERO), Vec::<Note>::new());
}

#[test]
fn a_gang_bound_in_part_is_found() {
    let notes = World::new().look(vec![bind("p0", "n")]);
    found(&notes, "bound in part: 1 of 2");
}

#[test]
fn a_queue_that_holds_more_than_its_limit_is_found() {
    for (lowered, has_begun) in [(false, false), (true, false), (false, true)] {
        let mut world = World::new();
        let limited = |cpus: i64| {
            Event::is(QueueSpec {
                name: "above".into(),
                limit: vec![("cpu".into(), cpus)],
                ..QueueSpec::default()
            })
        };
        // Who was let in by a higher limit may stay.
        if lowered {
            world.tell(limited(2_000));
        }
        world.tell(limited(1_000));
        world.tell(Event::is(QueueSpec {
            name: "q".into(),
            parent: Some("above".into()),
            ..QueueSpec::default()
        }));
        // Who runs in part has to be completed.
        let places = if has_begun {
            world.tell(Event::is(PodSpec {
                node: Some("n".into()),
                ..pod("p0")
            }));
            vec![bind("p1", "n")]
        } else {
            vec![bind("p0", "n"), bind("p1", "n")]
        };
        let decision = Decision {
            gang: "a/g".into(),
            group: Some(gang()),
            queue: "q".into(),
            outcome: Outcome::Placed {
                pods: 2,
                nodes: 1,
                lost: 0,
                at_least: None,
                ranks: None,
            },
        };
        let plan = Plan {
            effects: places,
            decisions: vec![decision],
            ..Plan::default()
        };
        let notes = world.linter.look(&plan, Time::ZERO);
        if lowered || has_begun {
            assert_eq!(notes, Vec::<Note>::new());
        } else {
            found(&notes, "queue above holds 2000 of at most 1000 cpu");
        }
    }
}

#[test]
fn a_pod_bound_twice_is_found() {
    let mut world = World::new();
    assert!(
        world
            .look(vec![bind("p0", "n"), bind("p1", "n")])
            .is_empty()
    );
    found(&world.look(vec![bind("p0", "n")]), "is on its way already");
    world.bound("p0");
    found(&world.look(vec![bind("p0", "n")]), "is bound already");
}

#[test]
fn a_node_over_its_allocatable_is_found() {
    let mut world = World::new();
    world.tell(Event::is(pod("p2")));
    let all = ["p0", "p1", "p2"].map(|name| bind(name, "n")).into();
    found(&world.look(all), "3000 of 2000 cpu in use");
}

#[test]
fn a_bind_to_nowhere_or_of_nobody_is_found() {
    let mut world = World::new();
    found(
        &world.look(vec![bind("p0", "elsewhere")]),
        "node that does not exist",
    );
    found(
        &world.look(vec![bind("ghost", "n")]),
        "which does not exist",
    );
}

#[test]
fn a_foreign_pod_that_is_touched_is_found() {
    let mut world = World::new();
    found(
        &world.look(vec![bind("foreign", "n")]),
        "another scheduler's",
    );
    found(&world.look(vec![evict("foreign")]), "another scheduler's");
}

#[test]
fn a_pod_that_is_held_back_or_going_is_not_to_be_bound() {
    for change in [
        |pod: &mut PodSpec| pod.gates.push("gate".into()),
        |pod: &mut PodSpec| pod.terminating = true,
    ] {
        let mut world = World::new();
        let mut spec = pod("p0");
        change(&mut spec);
        world.tell(Event::is(spec));
        assert!(
            !world
                .look(vec![bind("p0", "n"), bind("p1", "n")])
                .is_empty()
        );
    }
}

#[test]
fn an_eviction_without_need_of_a_part_or_twice_is_found() {
    let mut world = World::new();
    found(&world.look(vec![evict("p0")]), "holds no node");
    assert!(
        world
            .look(vec![bind("p0", "n"), bind("p1", "n")])
            .is_empty()
    );
    world.bound("p0");
    world.bound("p1");
    found(&world.look(vec![evict("p0")]), "p1 stays");
    found(&world.look(vec![evict("p0")]), "is being evicted already");
}

#[test]
fn a_release_of_a_gang_that_is_whole_is_found() {
    let mut world = World::new();
    world.tell(Event::is(PodSpec {
        node: Some("n".into()),
        ..pod("p2")
    }));
    for name in ["p0", "p1"] {
        assert!(world.look(vec![bind(name, "n")]).len() <= 1);
        world.bound(name);
    }
    found(
        &world.look(vec![evict("p2")]),
        "although it has its minimum",
    );
}

#[test]
fn a_subgroup_below_its_minimum_or_beyond_its_maximum_is_found() {
    for (min, max, words) in [(2, None, "1 of 2 in subgroup x"), (0, Some(0), "at most 0")] {
        let mut world = World::new();
        let subgroups = [("x", min, max), ("y", 0, None)];
        world.tell(Event::is(GangSpec {
            key: gang(),
            subgroups: subgroups
                .map(|(name, min, max)| SubgroupSpec {
                    name: name.into(),
                    min,
                    max,
                    ..SubgroupSpec::default()
                })
                .into(),
            ..GangSpec::default()
        }));
        for (name, subgroup) in [("p0", "x"), ("p1", "y")] {
            world.tell(Event::is(PodSpec {
                subgroup: Some(subgroup.into()),
                ..pod(name)
            }));
        }
        found(&world.look(vec![bind("p0", "n"), bind("p1", "n")]), words);
    }
}

#[test]
fn a_status_that_is_not_so_is_found() {
    let mut world = World::new();
    let plan = world.plan();
    let status = plan.effects.iter().find_map(|effect| match effect {
        Effect::GangStatus(status) => Some(status.clone()),
        _ => None,
    });
    let status = status.expect("a status");
    let lies: [fn(&mut GangStatus); 3] = [
        |status| status.bound = 7,
        |status| status.phase = GangPhase::Running,
        |status| status.conditions[1].status = true,
    ];
    for lie in lies {
        let mut wrong = status.clone();
        lie(&mut wrong);
        assert_eq!(world.look(vec![Effect::GangStatus(wrong)]).len(), 1);
    }
}

#[test]
fn a_status_on_a_group_that_is_not_ours_is_found() {
    let group = |stands_in| GangSpec {
        key: gang(),
        source: Source::Volcano,
        stands_in,
        ..GangSpec::default()
    };
    let theirs = PodSpec {
        ours: false,
        ..pod("p")
    };
    let gone = |spec: &PodSpec| Event::Gone(ObjectKey::Pod(spec.key.clone()));
    let claim = |claims| {
        Event::is(NamespaceSpec {
            name: "a".into(),
            claims,
            ..NamespaceSpec::default()
        })
    };
    let mut linter = Linter::default();
    let status = GangStatus {
        gang: gang(),
        source: Source::Volcano,
        uid: String::new(),
        observed_generation: 0,
        phase: GangPhase::Pending,
        min_available: 0,
        bound: 0,
        running: 0,
        succeeded: 0,
        failed: 0,
        position: None,
        estimated_start: None,
        max_hops: None,
        granted: None,
        let_in: None,
        conditions: Vec::new(),
    };
    let plan = Plan {
        effects: vec![Effect::GangStatus(status)],
        ..Plan::default()
    };
    let mut is_said_after = |event| {
        linter.hear(&event);
        linter.look(&plan, Time::ZERO).is_empty()
    };
    assert!(!is_said_after(Event::is(group(false))));
    assert!(is_said_after(Event::is(group(true))));
    assert!(!is_said_after(Event::is(theirs.clone())));
    assert!(is_said_after(Event::is(pod("q"))));
    assert!(!is_said_after(gone(&pod("q"))));
    assert!(is_said_after(gone(&theirs)));
    assert!(!is_said_after(Event::is(group(false))));
    assert!(is_said_after(claim(true)));
    assert!(!is_said_after(claim(false)));
}

#[test]
fn nothing_is_remembered_of_a_group_whose_last_pod_of_ours_is_made_again() {
    let mut world = World::new();
    world.tell(Event::is(GangSpec {
        key: GangKey {
            name: "v".into(),
            ..gang()
        },
        source: Source::Volcano,
        min_available: 1,
        ..GangSpec::default()
    }));
    let member = |name: &str| PodSpec {
        gang: GangRef::Named {
            space: gang().space,
            name: "v".into(),
        },
        ..pod(name)
    };
    let done = PodSpec {
        node: Some("n".into()),
        phase: PodPhase::Succeeded,
        ..member("v0")
    };
    world.tell(Event::is(done.clone()));
    world.tell(Event::is(member("v1")));
    world.tell(Event::Gone(ObjectKey::Pod(done.key)));
    let mut again = member("v1");
    again.key.uid = "another".into();
    world.tell(Event::is(again));
    let plan = world.plan();
    assert_eq!(world.linter.look(&plan, Time::ZERO), Vec::<Note>::new());
}

#[test]
fn words_about_nobody_or_without_bound_are_found() {
    let mut world = World::new();
    let waits = |name: &str, reason: &'static str, message: String| {
        Effect::PodWaits(PodWaits {
            pod: key(name),
            reason: reason.into(),
            message: message.into(),
            nominated: None,
        })
    };
    let say =
        |world: &mut World, name, reason, message| world.look(vec![waits(name, reason, message)]);
    found(
        &say(&mut world, "ghost", "Unschedulable", "x".into()),
        "does not exist",
    );
    found(
        &say(&mut world, "foreign", "Unschedulable", "x".into()),
        "not ours",
    );
    found(&say(&mut world, "p0", "not camel", "x".into()), "CamelCase");
    found(
        &say(&mut world, "p0", "Unschedulable", "x".repeat(2_000)),
        "2000 bytes",
    );
    assert!(say(&mut world, "p0", "Unschedulable", "x".into()).is_empty());
}

#[test]
fn what_is_not_on_its_way_cannot_be_asked_back() {
    found(
        &World::new().look(vec![Effect::Recall(key("p0"))]),
        "not on its way",
    );
}

#[test]
fn who_stays_too_long_on_nodes_that_are_kept_whole_is_found() {
    let mut linter = Linter::default();
    let gang = |name: &str| GangKey {
        name: name.into(),
        ..gang()
    };
    let onto = |at, goes_before| Plan {
        onto_kept: vec![OntoKept {
            gang: gang("g"),
            kept_for: gang("alone"),
            at,
            goes_before,
        }],
        ..Plan::default()
    };
    let at = Some(Time(60_000));
    let look = |linter: &mut Linter, lifetime, plan: &Plan| {
        linter.hear(&Event::is(GangSpec {
            key: gang("g"),
            min_available: 1,
            lifetime,
            ..GangSpec::default()
        }));
        linter.look(plan, Time::ZERO)
    };
    let late = [
        (None, at),
        (Some(60_001), at),
        (Some(60_000), Some(Time(59_999))),
        (Some(60_000), None),
    ];
    for (lifetime, at) in late {
        let notes = look(&mut linter, lifetime.map(Millis), &onto(at, false));
        found(&notes, "kept whole for gang a/alone, and stays for longer");
        assert!(look(&mut linter, lifetime.map(Millis), &onto(at, true)).is_empty());
    }
    for (lifetime, at) in [(60_000, at), (0, at), (0, None)] {
        assert!(look(&mut linter, Some(Millis(lifetime)), &onto(at, false)).is_empty());
    }
}

#[test]
fn a_pod_on_a_node_that_its_fields_rule_out_is_found() {
    let on = |change: fn(&mut NodeSpec), wants: fn(&mut PodSpec)| {
        let mut world = World::new();
        let mut node = NodeSpec {
            name: "n".into(),
            allocatable: vec![("cpu".into(), 2_000), ("pods".into(), 10)],
            ..NodeSpec::default()
        };
        change(&mut node);
        world.linter.hear(&Event::is(node));
        for name in ["p0", "p1"] {
            let mut spec = pod(name);
            wants(&mut spec);
            world.linter.hear(&Event::is(spec));
        }
        let binds = ["p0", "p1"].map(|name| {
            Effect::Bind(Bind {
                pod: key(name),
                node: "n".into(),
                slot: None,
                completes: false,
                asks: None,
            })
        });
        let plan = Plan {
            effects: binds.into(),
            ..Plan::default()
        };
        world.linter.look(&plan, Time::ZERO)
    };
    let found = |notes: Vec<Note>, words: &str| {
        assert!(notes.iter().any(|one| one.contains(words)), "{notes:?}");
    };
    assert_eq!(on(|_| {}, |_| {}), [""; 0]);
    found(on(|node| node.unschedulable = true, |_| {}), "a cordon");
    let taint = |node: &mut NodeSpec| node.taints = vec![Taint::default()];
    found(on(taint, |_| {}), "a taint");
    let selects = |pod: &mut PodSpec| {
        pod.shape.constraints.selector = [("disk".into(), "ssd".into())].into();
    };
    found(on(|_| {}, selects), "selector");
    let needs = |pod: &mut PodSpec| {
        pod.shape.constraints.features = NodeFeatures::BIND_MOUNT_OPTIONS;
    };
    found(on(|_| {}, needs), "declare");
    assert_eq!(
        on(
            |node| node.features = NodeFeatures::BIND_MOUNT_OPTIONS,
            needs
        ),
        [""; 0]
    );
}

#[test]
fn pods_that_are_spread_less_evenly_than_they_ask_for_are_found() {
    let mut world = World::new();
    for zone in ["a", "b"] {
        world.tell(Event::is(NodeSpec {
            name: zone.into(),
            labels: [("zone".into(), zone.into())].into(),
            allocatable: vec![("cpu".into(), 8_000), ("pods".into(), 10)],
            ..NodeSpec::default()
        }));
    }
    let app = [("app".to_owned(), "web".to_owned())];
    for name in ["s0", "s1"] {
        let mut pod = pod(name);
        pod.gang = GangRef::Own;
        pod.labels = PodLabels::new(&app.clone().into());
        pod.shape.spread = vec![SpreadRule {
            key: "zone".into(),
            max_skew: 1,
            min_domains: 1,
            pods: Some(PodQuery {
                namespaces: vec![NamespaceChoice::only("a")],
                ..PodQuery::default()
            }),
            counts_itself: true,
            ..SpreadRule::default()
        }];
        world.tell(Event::is(pod));
    }
    found(&world.look(vec![bind("s0", "n")]), "it has no label zone");
    world.tell(Event::BindResult(key("s0"), BindOutcome::Unsent));
    let both = |first, second| vec![bind("s0", first), bind("s1", second)];
    let notes = world.look(both("a", "a"));
    found(
        &notes,
        "a/s1 gets a place on a: 2 in zone=a, which is more than 1 ahead of 0",
    );
    for name in ["s0", "s1"] {
        world.tell(Event::BindResult(key(name), BindOutcome::Unsent));
    }
    assert!(world.look(both("a", "b")).is_empty());
}

#[test]
fn where_a_decision_waits_is_judged_once_and_counts_for_others() {
    let mut world = World::new();
    let zones = [("x", "x"), ("y", "y"), ("y2", "y")];
    for (name, zone) in zones {
        world.tell(Event::is(NodeSpec {
            name: name.into(),
            labels: [("zone".into(), zone.into())].into(),
            allocatable: vec![("cpu".into(), 8_000), ("pods".into(), 10)],
            ..NodeSpec::default()
        }));
    }
    let app = [("app".to_owned(), "web".to_owned())];
    for name in ["s0", "s1", "s2"] {
        let mut pod = pod(name);
        pod.gang = GangRef::Own;
        pod.labels = PodLabels::new(&app.clone().into());
        pod.shape.spread = vec![SpreadRule {
            key: "zone".into(),
            max_skew: 1,
            min_domains: 1,
            pods: Some(PodQuery {
                namespaces: vec![NamespaceChoice::only("a")],
                ..PodQuery::default()
            }),
            counts_itself: true,
            ..SpreadRule::default()
        }];
        world.tell(Event::is(pod));
    }
    let held = |pod, node: Option<&str>, after| HeldPlace {
        pod: key(pod),
        node: node.map(str::to_owned),
        after,
    };
    let mut look = |held, effects| {
        let plan = Plan {
            held,
            effects,
            ..Plan::default()
        };
        world.linter.look(&plan, Time::ZERO)
    };
    assert!(look(vec![held("s0", Some("y"), 0)], vec![]).is_empty());
    // It is in y, although it is not bound.
    found(
        &look(vec![held("s1", Some("y2"), 0)], vec![]),
        "2 in zone=y",
    );
    // Between these two, s1 leaves y.
    let moves = vec![held("s1", None, 0), held("s1", Some("x"), 0)];
    assert!(look(moves, vec![]).is_empty());
    assert!(look(vec![], vec![bind("s2", "y2")]).is_empty());
    // It would be one too many in y now, and was not when it got its place.
    assert!(look(vec![], vec![bind("s0", "y")]).is_empty());
    // To another node than was held, it is a new decision.
    found(&look(vec![], vec![bind("s1", "y2")]), "3 in zone=y");
}

#[test]
fn who_is_placed_on_room_that_another_claims_is_found() {
    // Others of this size stay on a node for four, of which this much is claimed.
    let world = |nominated: Option<&str>, held: i64, leaves: bool| {
        let mut world = World::new();
        world.tell(Event::is(NodeSpec {
            name: "n".into(),
            allocatable: vec![("cpu".into(), 4_000), ("pods".into(), 10)],
            ..NodeSpec::default()
        }));
        for (name, is_there) in [("there", true), ("waits", false), ("comes", false)] {
            let mut one = pod(name);
            one.gang = GangRef::Own;
            one.shape.requests = vec![("cpu".into(), 2_000)];
            one.node = is_there.then(|| "n".to_owned());
            one.terminating = is_there && leaves;
            world.tell(Event::is(one));
        }
        let mut plan = Plan::default();
        if nominated.is_some() {
            let node = nominated.map(str::to_owned);
            plan.claims.nominated = vec![(key("waits"), node)];
        }
        if held > 0 {
            let on = vec![("n".to_owned(), vec![("cpu".to_owned(), held)])];
            plan.claims.held = vec![(gang(), on)];
        }
        assert!(world.linter.look(&plan, Time::ZERO).is_empty());
        world
    };
    let comes = || vec![bind("comes", "n")];
    assert!(world(None, 0, false).look(comes()).is_empty());
    let claimed = "a/comes is placed on n, where 2000 of 4000 cpu are claimed";
    found(&world(Some("n"), 0, false).look(comes()), claimed);
    found(&world(None, 2_000, false).look(comes()), claimed);
    // There is room for both once the other has left, and what is claimed elsewhere is nothing to it.
    assert!(world(Some("n"), 0, true).look(comes()).is_empty());
    assert!(world(Some("m"), 0, false).look(comes()).is_empty());
    // Whoever claims it may have it.
    let own = vec![bind("waits", "n")];
    assert!(world(Some("n"), 0, false).look(own).is_empty());
    // What has ended claims nothing.
    let mut ended = world(None, 2_000, false);
    ended.tell(Event::Gone(ObjectKey::Gang(gang(), Source::default())));
    assert!(ended.look(comes()).is_empty());
    let mut gone = world(Some("n"), 0, false);
    gone.tell(Event::Gone(ObjectKey::Pod(key("waits"))));
    assert!(gone.look(comes()).is_empty());
}

#[test]
fn who_waits_for_a_slot_counts_with_what_is_on_it() {
    let mut world = World::new();
    world.tell(Event::is(NodeSpec {
        name: "n".into(),
        allocatable: vec![("cpu".into(), 4_000), ("pods".into(), 10)],
        ..NodeSpec::default()
    }));
    world.tell(Event::is(TestbedSpec {
        name: "lab".into(),
        uid: "lab-uid".into(),
        request: vec![("cpu".into(), 2_000)],
        slots: vec![SlotSpec {
            node: "n".into(),
            ghost: "ghost".into(),
            ..SlotSpec::default()
        }],
        ..TestbedSpec::default()
    }));
    let mut ghost = pod("ghost");
    let testbed = "lab-uid".to_owned();
    (ghost.ghost_of, ghost.gang) = (Some(GhostOf { testbed }), GangRef::Own);
    let mut claims = pod("claims");
    claims.shape.claim = Some(std::sync::Arc::new(SlotClaim {
        namespace: claims.key.namespace.clone(),
        testbed: "lab".into(),
        positions: vec![0],
    }));
    for mut one in [ghost, claims, pod("fits"), pod("does-not")] {
        one.shape.requests = vec![("cpu".into(), 2_000)];
        one.gang = GangRef::Own;
        world.tell(Event::is(one));
    }
    assert!(world.look(vec![bind("ghost", "n")]).is_empty());
    // A plugin is asked about its place before the ghost goes.
    let held = HeldPlace {
        pod: key("claims"),
        node: Some("n".to_owned()),
        after: 0,
    };
    let plan = Plan {
        held: vec![held],
        ..Plan::default()
    };
    assert!(world.linter.look(&plan, Time::ZERO).is_empty());
    assert!(world.look(vec![bind("fits", "n")]).is_empty());
    found(
        &world.look(vec![bind("does-not", "n")]),
        "6000 of 4000 cpu in use",
    );
}
