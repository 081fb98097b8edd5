//! What claims to room cost those who have none: an event on a full cluster with 10,000 places that are
//! nominated (victims are asked to go, and do not) or held at Permit, with 10,000 PodGroups that ask for more room
//! than there is, and with a blocked head in each of 1,000 queues, against the same cluster with none of them; and
//! what one claim costs that is made and ended.
//!
//! One element is one event, or one claim.

#![expect(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "it measures, and a benchmark that cannot go on has failed"
)]

mod support;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use muster::core::engine::Scheduler;
use muster::core::framework::{Permit, PermitVerdict, Plugin, Spots, WaitingGangs};
use muster::model::units::{Millis, Time};
use muster::model::{Event, GangSpec, NodeSpec, Object, ObjectKey, PodSpec};
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::{Clock, bound_to, claimants, halves, node, place, queues, small, wholes};

/// Nodes that are full, each with two pods.
const NODES: usize = 5_000;
/// Places.
const PODS: usize = 2 * NODES;
/// Nodes beside them, with room for what comes and goes, and for nobody who claims something.
const SPARE: usize = 200;
const HOUR: Millis = Millis(3_600_000);
/// How many gangs of a queue are made room for at once.
const HEADS: usize = 8;
/// How many queues have a blocked head.
const QUEUES: usize = 1_000;

/// Has gangs wait whose name says so.
struct Door;

impl Plugin for Door {
    fn name(&self) -> &'static str {
        "Door"
    }
}

impl Permit for Door {
    fn permit(&self, spots: &Spots<'_>, _: Time, _: &mut WaitingGangs) -> PermitVerdict {
        let group = spots.state.gang(spots.gang).map(|gang| &gang.key.name);
        if group.is_some_and(|name| name.starts_with("claims")) {
            PermitVerdict::Wait(HOUR)
        } else {
            PermitVerdict::Allow
        }
    }
}

/// A scheduler with these nodes, and what claims there are.
struct World {
    scheduler: Scheduler,
    clock: Clock,
    draw: usize,
}

impl World {
    fn empty(has_door: bool) -> Self {
        let mut policy = support::trusting();
        if has_door {
            policy.profile.permit.push(Arc::new(Door));
        }
        let mut scheduler = Scheduler::new(policy);
        for index in 0..NODES {
            scheduler.apply(Time::ZERO, Event::is(node(index)));
        }
        for index in 0..SPARE {
            let spare = NodeSpec {
                name: format!("spare-{index}"),
                allocatable: vec![
                    ("cpu".to_owned(), 16_000),
                    ("memory".to_owned(), 64 << 30),
                    ("pods".to_owned(), 110),
                ],
                ..NodeSpec::default()
            };
            scheduler.apply(Time::ZERO, Event::is(spare));
        }
        assert_eq!(place(&mut scheduler), 0);
        Self {
            scheduler,
            clock: Clock(2_000),
            draw: 0,
        }
    }

    /// Every large node is full, of pods that stay so long.
    fn full(lifetime: Option<Millis>) -> Self {
        let mut world = Self::empty(false);
        let fillers = halves(PODS)
            .into_iter()
            .map(|event| lasting(event, lifetime));
        world.runs(fillers.collect());
        world
    }

    /// The same, where all but so many of those who run are as important as whoever claims something.
    fn full_of_equals(others: usize) -> Self {
        let mut world = Self::empty(false);
        let fillers = halves(PODS).into_iter().enumerate();
        let fillers = fillers.map(|(index, event)| match event {
            Event::Is(Object::Pod(spec)) if index >= others => Event::is(PodSpec {
                priority: Some(9),
                ..*spec
            }),
            other => other,
        });
        world.runs(fillers.collect());
        world
    }

    fn runs(&mut self, pods: Vec<Event>) {
        let binds = self.clock.hear(&mut self.scheduler, pods);
        assert_eq!(binds.len(), PODS);
        self.clock.confirm(&mut self.scheduler, binds);
    }

    /// Room for eight gangs of 1,250 is held, whose victims do not leave.
    fn nominated() -> Self {
        let mut world = Self::full(None);
        let gangs = claimants(HEADS, PODS / HEADS, Some(9));
        let evictions = world.clock.evictions(&mut world.scheduler, gangs);
        assert_eq!(evictions, PODS);
        world
    }

    /// 1,250 gangs of eight have their places and wait at Permit.
    fn held() -> Self {
        let mut world = Self::empty(true);
        let gangs = claimants(PODS / 8, 8, None);
        let binds = world.clock.hear(&mut world.scheduler, gangs);
        assert_eq!(binds.len(), 0);
        world
    }

    /// The head of each queue wants a whole node, and has a place when somebody has ended, as far as there
    /// are reservations.
    fn reserved() -> Self {
        let mut world = Self::full(Some(HOUR));
        let (clock, scheduler) = (&mut world.clock, &mut world.scheduler);
        clock.hear(scheduler, queues(QUEUES));
        let heads = wholes(QUEUES).into_iter();
        let heads = heads.map(|event| lasting(event, Some(HOUR)));
        let evictions = clock.evictions(scheduler, heads.collect());
        assert_eq!(evictions, 0);
        assert_eq!(scheduler.stats().waiting, QUEUES as u64);
        world
    }

    /// So many PodGroups ask for more room than there is before they have pods.
    fn asking() -> Self {
        let mut world = Self::full(None);
        let asks = (0..PODS).map(|index| {
            let Event::Is(Object::Gang(spec)) = support::claimant(index, 1, None).remove(0) else {
                panic!("a PodGroup");
            };
            Event::is(GangSpec {
                min_resources: vec![("cpu".to_owned(), 100_000_000)],
                ..*spec
            })
        });
        let binds = world.clock.hear(&mut world.scheduler, asks.collect());
        assert_eq!(binds.len(), 0);
        assert_eq!(world.scheduler.stats().waiting, PODS as u64);
        world
    }

    /// What the core says again and again costs nothing.
    fn hears_nothing_new(&mut self) -> Duration {
        let again = bound_to(small(1).remove(0), "spare-0");
        self.clock.hear(&mut self.scheduler, vec![again.clone()]);
        let start = Instant::now();
        self.clock.apply(&mut self.scheduler, vec![again]);
        let took = start.elapsed();
        assert!(!self.scheduler.wants_cycle(), "nothing is to be decided");
        took
    }

    /// A pod that takes little comes, is bound and goes: three events.
    fn lets_one_pass(&mut self) -> Duration {
        let pod = self.next_small();
        let key = key_of(&pod);
        let start = Instant::now();
        let binds = self.clock.hear(&mut self.scheduler, vec![pod]);
        assert_eq!(binds.len(), 1, "it has a place");
        self.clock.confirm(&mut self.scheduler, binds);
        self.clock.hear(&mut self.scheduler, vec![key]);
        start.elapsed() / 3
    }

    /// One of the pods that fill the nodes ends, and whoever gets its place ends, too: what a change costs that
    /// could help everybody. So much for each event.
    fn one_ends(&mut self) -> Duration {
        self.draw += 1;
        let gone = halves(self.draw % PODS + 1).pop().expect("a pod");
        let start = Instant::now();
        let binds = self.clock.hear(&mut self.scheduler, vec![key_of(&gone)]);
        let events = 1 + binds.len();
        self.clock.confirm(&mut self.scheduler, binds);
        start.elapsed() / u32::try_from(events).expect("few")
    }

    fn next_small(&mut self) -> Event {
        self.draw += 1;
        let Event::Is(Object::Pod(mut spec)) = small(1).remove(0) else {
            panic!("a pod");
        };
        spec.key.name = format!("passes-{}", self.draw);
        spec.key.uid = format!("uid-of-passes-{}", self.draw);
        // Whatever its queue has: it stands in nobody's way.
        spec.lifetime = Some(Millis(0));
        Event::is(*spec)
    }

    /// A gang of this size gets a claim, and is gone; how long that took for each place.
    fn makes_a_claim(&mut self, size: usize, priority: Option<i32>) -> Duration {
        self.draw += 1;
        let number = 1_000_000 + self.draw;
        let comes = support::claimant(number, size, priority);
        let goes: Vec<Event> = comes.iter().rev().map(key_of).collect();
        let start = Instant::now();
        let binds = self.clock.hear(&mut self.scheduler, comes);
        self.clock.hear(&mut self.scheduler, goes);
        let took = start.elapsed();
        assert_eq!(binds.len(), 0, "it only has a claim");
        took / u32::try_from(size).expect("a small gang")
    }
}

/// The news that something is gone.
fn key_of(event: &Event) -> Event {
    Event::Gone(match event {
        Event::Is(Object::Pod(pod)) => ObjectKey::Pod(pod.key.clone()),
        Event::Is(Object::Gang(gang)) => ObjectKey::Gang(gang.key.clone(), gang.source),
        other => panic!("{other:?}"),
    })
}

fn lasting(event: Event, lifetime: Option<Millis>) -> Event {
    match event {
        Event::Is(Object::Pod(spec)) => Event::is(PodSpec { lifetime, ..*spec }),
        Event::Is(Object::Gang(spec)) => Event::is(GangSpec { lifetime, ..*spec }),
        other => other,
    }
}

fn events(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("claims/an-event-on-5000-nodes");
    group.sample_size(20);
    for (name, make) in [
        ("none", (|| World::full(None)) as fn() -> World),
        ("none-with-lifetimes", || World::full(Some(HOUR))),
        ("10000-nominated", World::nominated),
        ("10000-held", World::held),
        ("10000-asking", World::asking),
        ("1000-heads", World::reserved),
    ] {
        let mut world = make();
        group.bench_function(BenchmarkId::new("changes-nothing", name), |bench| {
            bench.iter_custom(|times| (0..times).map(|_| world.hears_nothing_new()).sum());
        });
        group.bench_function(BenchmarkId::new("a-pod-passes", name), |bench| {
            bench.iter_custom(|times| (0..times).map(|_| world.lets_one_pass()).sum());
        });
        if name != "10000-held" {
            group.bench_function(
                BenchmarkId::new("one-of-those-who-run-ends", name),
                |bench| {
                    bench.iter_custom(|times| (0..times).map(|_| world.one_ends()).sum());
                },
            );
        }
    }
    group.finish();
}

fn one_claim(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("claims/made-and-ended-on-5000-nodes");
    group.sample_size(20);
    let nominated = |_| World::full(None);
    let few = |_| World::full_of_equals(100);
    // Nothing but what it needs: what is left is not the search.
    let just_enough = World::full_of_equals;
    // What is known of nodes for a shape is kept as long as there is a pod of it.
    let held = |_| {
        let mut world = World::empty(true);
        let first = claimants(1, 1, None);
        world.clock.hear(&mut world.scheduler, first);
        world
    };
    for (name, make, priority) in [
        ("nominated", &nominated as &dyn Fn(usize) -> World, Some(9)),
        ("nominated-of-100", &few, Some(9)),
        ("nominated-of-as-many", &just_enough, Some(9)),
        ("held", &held, None),
    ] {
        for size in [1, 100] {
            let mut world = make(size);
            group.bench_function(BenchmarkId::new(name, size), |bench| {
                let mut makes = || world.makes_a_claim(size, priority);
                bench.iter_custom(|times| (0..times).map(|_| makes()).sum());
            });
        }
    }
    group.finish();
}

criterion_group!(benches, events, one_claim);
criterion_main!(benches);
