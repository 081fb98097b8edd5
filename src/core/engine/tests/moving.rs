//! Gangs that are moved so that another has room.

use super::jobs::story;
use super::*;
use muster_model::Reservation;
use proptest::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

fn limits() -> MoveLimits {
    MoveLimits {
        max_pods: 4,
        interval: Millis(60_000),
        rest: Millis(600_000),
        after: Millis(1_000),
        hold: Millis(30_000),
    }
}

impl Story {
    /// The queue `default`, whose gangs may be moved or not.
    fn movable(&mut self, movable: Option<bool>) {
        self.tell(Event::is(QueueSpec {
            name: "default".into(),
            uid: "default".into(),
            over_share: 1_000_000,
            movable,
            ..QueueSpec::default()
        }));
    }

    /// A gang of so many pods of so many CPUs, all of which have to run.
    fn sized(&mut self, name: &str, pods: u32, cpus: i64) {
        self.define(GangSpec {
            min_available: pods,
            created: self.now,
            ..group(name)
        });
        self.members(name, pods, cpus);
    }

    fn members(&mut self, name: &str, pods: u32, cpus: i64) {
        for index in 0..pods {
            self.submit(PodSpec {
                created: self.now,
                labels: PodLabels::new(&[("app".to_owned(), "moved".to_owned())].into()),
                ..pod(&format!("{name}-{index}"), Some(name), cpus)
            });
        }
    }

    fn moved(&mut self) -> Vec<String> {
        let (_, evictions) = self.step();
        evictions.iter().map(|one| one.pod.name.clone()).collect()
    }

    fn moves(&self) -> (u64, u64, u64) {
        let counts = self.scheduler.stats().moves;
        (counts.plans, counts.gangs, counts.late)
    }
}

/// On each of two nodes of four CPUs runs a gang of one pod of one CPU: `a` and `b`. A gang that needs
/// a whole node, `large`, waits for a second.
fn fragmented(moves: Option<MoveLimits>, movable: Option<bool>) -> Story {
    let mut story = Story {
        scheduler: Scheduler::new(Policy {
            moves,
            ..Policy::default()
        }),
        now: Time::ZERO,
    };
    story.movable(movable);
    for name in ["a", "b"] {
        story.node(&format!("n-{name}"), 4);
        // Others of the node are still to come: the first has it to itself.
        story.sized(name, 1, 1);
        let filler = PodSpec {
            ours: false,
            node: Some(format!("n-{name}")),
            ..pod(&format!("filler-{name}"), None, 3)
        };
        assert_eq!(story.run().len(), 1);
        story.submit(filler);
    }
    for name in ["a", "b"] {
        story.tell(Event::Gone(ObjectKey::Pod(
            story.key(&format!("filler-{name}")),
        )));
    }
    story.sized("large", 1, 4);
    assert_eq!(story.run().len(), 0);
    story.pass(1_000);
    story
}

#[test]
fn a_gang_is_moved_when_that_lets_another_run_and_runs_again() {
    let mut story = fragmented(Some(limits()), Some(true));
    assert_eq!(story.moved(), ["a-0"]);
    assert_eq!(story.moves(), (1, 1, 0));
    assert_eq!(
        story.why("large"),
        "Preempting: its place on 1 node is held for it until 1 pod of a/a has moved elsewhere"
    );
    assert_eq!(
        story.why("a"),
        "Preempted: moved so that a/large of queue default has room: it fits elsewhere as well, and its \
         place on 1 node is held for it for 30s"
    );
    // Nobody takes its new place meanwhile.
    story.sized("thief", 1, 3);
    assert_eq!(names(&story.run()), [""; 0]);
    story.gone("a-0");
    assert_eq!(names(&story.run()), ["large-0"]);
    story.members("a", 1, 1);
    assert_eq!(names(&story.run()), ["a-0"]);
    let runs = story.key("a-0");
    let on = |story: &Story| {
        let id = story.scheduler.state().find_pod(&runs).unwrap();
        story.scheduler.state().pod(id).unwrap().place.node()
    };
    let other = story.scheduler.state().nodes().find("n-b");
    assert_eq!(on(&story), other);
    // Beside `a` and `b` there is room for two, and not for the three of `thief`.
    assert_eq!(names(&story.run()), [""; 0]);
    assert_eq!(story.moves(), (1, 1, 0));
}

#[test]
fn nobody_is_moved_unless_the_configuration_says_so() {
    let mut story = fragmented(None, Some(true));
    assert_eq!(story.moved(), [""; 0]);
}

#[test]
fn nobody_is_moved_who_may_not_be() {
    for movable in [None, Some(false)] {
        let mut story = fragmented(Some(limits()), movable);
        assert_eq!(story.moved(), [""; 0]);
        story.movable(Some(true));
        story.pass(30_000);
        assert_eq!(story.moved(), ["a-0"], "its queue says so now");
    }
}

#[test]
fn nobody_is_moved_where_that_would_not_help() {
    let mut story = fragmented(Some(limits()), Some(true));
    // On the other node there is no room for `a` or `b` now.
    for name in ["a", "b"] {
        story.submit(PodSpec {
            ours: false,
            node: Some(format!("n-{name}")),
            ..pod(&format!("other-{name}"), None, 3)
        });
    }
    assert_eq!(story.moved(), [""; 0]);
    assert_eq!(story.moves(), (0, 0, 0));
}

#[test]
fn no_more_pods_are_moved_than_the_limit_says() {
    let mut story = fragmented(
        Some(MoveLimits {
            max_pods: 1,
            ..limits()
        }),
        Some(true),
    );
    assert_eq!(story.moved(), ["a-0"]);
    let mut story = Story {
        scheduler: Scheduler::new(Policy {
            moves: Some(MoveLimits {
                max_pods: 1,
                ..limits()
            }),
            ..Policy::default()
        }),
        now: Time::ZERO,
    };
    story.movable(Some(true));
    story.node("n", 4);
    story.sized("pair", 2, 1);
    assert_eq!(story.run().len(), 2);
    story.node("m", 2);
    story.sized("large", 1, 4);
    story.run();
    story.pass(1_000);
    assert_eq!(
        story.moved(),
        [""; 0],
        "a gang goes as a whole, and it has two pods"
    );
}

#[test]
fn a_gang_that_was_moved_or_for_which_others_were_rests() {
    let mut story = fragmented(Some(limits()), Some(true));
    assert_eq!(story.moved(), ["a-0"]);
    story.gone("a-0");
    assert_eq!(names(&story.run()), ["large-0"]);
    story.members("a", 1, 1);
    assert_eq!(names(&story.run()), ["a-0"]);
    // Another node for four, and another gang for it in whose way `a` and `b` would be.
    story.pass(60_000);
    story.tell(Event::Gone(ObjectKey::Pod(story.key("large-0"))));
    story.tell(Event::Gone(ObjectKey::Gang(
        key("large"),
        muster_model::Source::Muster,
    )));
    story.submit(PodSpec {
        ours: false,
        node: Some("n-a".into()),
        ..pod("other", None, 2)
    });
    story.sized("next", 1, 4);
    story.run();
    story.pass(1_000);
    assert_eq!(
        story.moved(),
        [""; 0],
        "`a` was moved already, and all would have to go"
    );
    story.pass(600_000);
    assert_eq!(story.moved(), ["a-0", "b-0"]);
}

#[test]
fn who_is_not_back_in_time_loses_its_new_place() {
    let mut story = fragmented(Some(limits()), Some(true));
    assert_eq!(story.moved(), ["a-0"]);
    story.gone("a-0");
    assert_eq!(names(&story.run()), ["large-0"]);
    story.sized("thief", 1, 3);
    assert_eq!(names(&story.run()), [""; 0]);
    story.pass(30_000);
    assert_eq!(names(&story.run()), ["thief-0"]);
    assert_eq!(story.moves(), (1, 1, 1));
}

#[test]
fn a_disruption_budget_that_does_not_allow_it_is_a_wall() {
    let mut story = fragmented(Some(limits()), Some(true));
    story.budget("all", "moved", 0);
    assert_eq!(story.moved(), [""; 0]);
}

#[test]
fn who_is_thought_off_its_nodes_is_there_again_when_the_statement_is_dropped() {
    let mut story = story();
    story.movable(Some(true));
    story.node("n", 4);
    story.sized("g", 3, 1);
    assert_eq!(story.run().len(), 3);
    let state = story.scheduler.state().clone();
    let pods: Vec<_> = state.pods().map(|(id, _)| id).collect();
    let mut state = state;
    let before = format!("{:?}", state.find_gang(&key("g")).map(|id| &state[id]));
    {
        let mut statement = crate::transaction::Statement::new(&mut state);
        for pod in &pods {
            statement.displace(*pod);
        }
        let gang = statement.state().find_gang(&key("g")).unwrap();
        assert_eq!(statement.state()[gang].missing(), 3);
        statement.state().audit().unwrap();
    }
    state.audit().unwrap();
    let after = format!("{:?}", state.find_gang(&key("g")).map(|id| &state[id]));
    assert_eq!(before, after);
}

#[test]
fn who_is_past_its_lifetime_may_be_moved_where_no_queue_says_otherwise() {
    for (movable, moved) in [(None, &["a-0"][..]), (Some(false), &[])] {
        let mut story = fragmented(Some(limits()), movable);
        let spec = |name: &str| GangSpec {
            min_available: 1,
            lifetime: Some(Millis(500)),
            ..group(name)
        };
        // Whose place is not reserved has nobody go for it.
        story.tell(Event::is(QueueSpec {
            name: "default".into(),
            uid: "default".into(),
            over_share: 1_000_000,
            excess_budget: Some(u64::MAX),
            reservation: Reservation::None,
            movable,
            ..QueueSpec::default()
        }));
        story.define(spec("a"));
        assert_eq!(story.moved(), moved, "{movable:?}");
    }
}

#[test]
fn nobody_is_moved_who_has_just_started() {
    let mut story = fragmented(Some(limits()), Some(true));
    story.tell(Event::is(QueueSpec {
        name: "default".into(),
        uid: "default".into(),
        over_share: 1_000_000,
        movable: Some(true),
        min_runtime: Some(Millis(40_000)),
        ..QueueSpec::default()
    }));
    assert_eq!(story.moved(), [""; 0]);
    story.pass(30_000);
    assert_eq!(story.moved(), [""; 0]);
    story.pass(30_000);
    assert_eq!(story.moved(), ["a-0"]);
}

/// How many pods were moved in all cases.
static MOVED: AtomicU64 = AtomicU64::new(0);

/// A gang that runs: the CPUs of each pod, and the node of each.
#[derive(Clone, Debug)]
struct Runs {
    cpus: i64,
    on: Vec<usize>,
}

fn runs() -> impl Strategy<Value = Runs> {
    let on = prop::collection::vec(0..5_usize, 1..4);
    (1..3_i64, on).prop_map(|(cpus, on)| Runs { cpus, on })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn whoever_is_moved_runs_again_and_so_does_the_one_for_whom_it_was(
        nodes in prop::collection::vec(2..6_i64, 2..5),
        gangs in prop::collection::vec(runs(), 1..7),
        pods in 1..3_u32,
        cpus in 2..5_i64,
    ) {
        let mut story = Story {
            scheduler: Scheduler::new(Policy {
                moves: Some(MoveLimits { max_pods: 20, ..limits() }),
                ..Policy::default()
            }),
            now: Time::ZERO,
        };
        story.movable(Some(true));
        let mut free = nodes.clone();
        for (index, cpus) in nodes.iter().enumerate() {
            story.node(&format!("n{index}"), *cpus);
        }
        for (index, gang) in gangs.iter().enumerate() {
            let name = format!("g{index}");
            let on: Vec<usize> = gang.on.iter().map(|node| node % nodes.len()).collect();
            let mut left = free.clone();
            on.iter().for_each(|node| left[*node] -= gang.cpus);
            if left.iter().any(|left| *left < 0) {
                continue;
            }
            free = left;
            story.group(&name, u32::try_from(on.len()).unwrap());
            for (member, node) in on.iter().enumerate() {
                story.submit(PodSpec {
                    node: Some(format!("n{node}")),
                    phase: PodPhase::Running,
                    ..pod(&format!("{name}-{member}"), Some(&name), gang.cpus)
                });
            }
        }
        story.run();
        story.sized("large", pods, cpus);
        story.run();
        story.pass(1_000);
        let moved = story.moved();
        let size = |name: &str| {
            let index: usize = name[1..name.find('-').unwrap()].parse().unwrap();
            gangs[index].cpus
        };
        for name in &moved {
            story.gone(name);
        }
        story.run();
        for name in &moved {
            let group = &name[..name.find('-').unwrap()];
            story.submit(PodSpec {
                key: PodKey { uid: format!("{name}-again"), ..pod(name, None, 1).key },
                created: story.now,
                ..pod(name, Some(group), size(name))
            });
        }
        for _ in 0..3 {
            story.run();
            story.pass(100);
        }
        MOVED.fetch_add(moved.len() as u64, Ordering::Relaxed);
        if !moved.is_empty() {
            prop_assert_eq!(story.status("large").bound, pods);
            prop_assert_eq!(story.moves().2, 0);
        }
        let state = story.scheduler.state();
        let waits = |name: &String| {
            let mut pods = state.pods();
            pods.any(|(_, pod)| pod.key.name == *name && pod.place.node().is_none())
        };
        prop_assert_eq!(moved.iter().find(|name| waits(name)), None);
    }
}
