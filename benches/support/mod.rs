//! Clusters and pods for the benchmarks of the core. Everything is drawn from a fixed seed.

#![expect(
    clippy::expect_used,
    reason = "a benchmark that cannot go on has failed"
)]
#![allow(dead_code, reason = "each benchmark uses a part of it")]

use muster::core::engine::{Policy, Priorities, Scheduler};
use muster::model::Object;
use muster::model::ObjectKey;
use muster::model::plain::{self, amounts, member_of};
use muster::model::units::Time;
use muster::model::{Bind, Effect};
use muster::model::{BindOutcome, Event, GangKey, GangRef, GangSpec, NodeSpec, PodKey, PodSpec};
use std::ops::Range;

/// What PodGroups say of their priority counts, whatever their pods have.
pub(crate) fn trusting() -> Policy {
    Policy {
        priorities: Priorities::AsGiven,
        ..Policy::default()
    }
}

const GIB: i64 = 1 << 30;
/// What every node offers.
const NODE_CPU: i64 = 64_000;
const NODE_MEMORY: i64 = 256 * GIB;
const NODE_PODS: i64 = 110;

/// Requests as they are met in the field: thousandths of a core, and memory in GiB. Fifty of a
/// random mix fit a node.
const MIX: [(i64, i64); 8] = [
    (100, 1),
    (250, 1),
    (500, 2),
    (500, 4),
    (1_000, 2),
    (1_000, 8),
    (2_000, 4),
    (4_000, 16),
];

/// A scheduler that knows this many empty nodes, and has nothing left to do.
pub(crate) fn cluster(nodes: usize) -> Scheduler {
    let mut scheduler = Scheduler::new(trusting());
    for index in 0..nodes {
        scheduler.apply(Time::ZERO, Event::is(node(index)));
    }
    assert_eq!(place(&mut scheduler), 0);
    scheduler
}

/// An empty node.
pub(crate) fn node(index: usize) -> NodeSpec {
    let offers = [
        ("cpu", NODE_CPU),
        ("memory", NODE_MEMORY),
        ("pods", NODE_PODS),
    ];
    plain::node(format!("node-{index}"), amounts(offers))
}

/// What GPUs are called.
const GPU: &str = "nvidia.com/gpu";

/// The same with eight GPUs a node.
pub(crate) fn gpu_cluster(nodes: usize) -> Scheduler {
    let mut scheduler = Scheduler::new(trusting());
    for index in 0..nodes {
        let offers = amounts([("cpu", NODE_CPU), (GPU, 8), ("pods", NODE_PODS)]);
        let node = plain::node(format!("node-{index}"), offers);
        scheduler.apply(Time::ZERO, Event::is(node));
    }
    assert_eq!(place(&mut scheduler), 0);
    scheduler
}

/// Pods on their own of a GPU each.
pub(crate) fn gpu_jobs(count: usize) -> Vec<Event> {
    (0..count)
        .map(|index| gpu_pod(index, 1, GangRef::Own))
        .collect()
}

/// A gang of higher priority, each member of which wants all GPUs of a node.
pub(crate) fn gpu_gang(size: usize) -> Vec<Event> {
    let name = "large".to_owned();
    let spec = GangSpec {
        priority: Some(9),
        ..group_spec(&name, size)
    };
    let mut events = vec![Event::is(spec)];
    events.extend((0..size).map(|member| gpu_pod(2_000_000 + member, 8, member_of(&name))));
    events
}

fn gpu_pod(index: usize, gpus: i64, gang: GangRef) -> Event {
    let Event::Is(Object::Pod(mut spec)) = pod(index, (gpus * 4_000, 0), gang) else {
        panic!("a pod");
    };
    spec.shape.requests = vec![("cpu".to_owned(), gpus * 4_000), (GPU.to_owned(), gpus)];
    Event::is(*spec)
}

/// Pods on their own, of mixed sizes.
pub(crate) fn singles(count: usize) -> Vec<Event> {
    let mut draw = Draw(1);
    (0..count)
        .map(|index| pod(index, draw.request(), GangRef::Own))
        .collect()
}

/// Gangs of equal pods, of mixed sizes from gang to gang: each PodGroup, then its pods.
pub(crate) fn gangs(count: usize, size: usize) -> Vec<Event> {
    let mut draw = Draw(2);
    let gang = |gang| {
        let name = format!("gang-{gang}");
        let request = draw.request();
        let mut events = vec![group(&name, size)];
        events.extend((0..size).map(|member| pod(gang * size + member, request, member_of(&name))));
        events
    };
    (0..count).flat_map(gang).collect()
}

/// Pods on their own, each with a node selector of its own: one value of a label after the other.
pub(crate) fn selecting(count: usize, label: &str, value: &str) -> Vec<Event> {
    let mut pods = singles(count);
    for (index, event) in pods.iter_mut().enumerate() {
        let Event::Is(Object::Pod(spec)) = event else {
            panic!("a pod");
        };
        let value = format!("{value}{index}");
        let selector = &mut spec.shape.constraints.selector;
        selector.insert(label.to_owned(), value);
    }
    pods
}

/// A scheduler that knows this many empty nodes with a dozen labels each, their own names among them.
pub(crate) fn labelled_cluster(nodes: usize) -> Scheduler {
    let mut scheduler = Scheduler::new(trusting());
    for index in 0..nodes {
        let mut node = node(index);
        let labels = (0..11).map(|label| (format!("example.com/label-{label}"), "same".to_owned()));
        node.labels.extend(labels);
        node.labels.insert(HOST.to_owned(), node.name.clone());
        scheduler.apply(Time::ZERO, Event::is(node));
    }
    assert_eq!(place(&mut scheduler), 0);
    scheduler
}

/// The label with the node's name.
pub(crate) const HOST: &str = "kubernetes.io/hostname";

/// For each node a pod that takes nearly all of it.
pub(crate) fn fillers(nodes: usize) -> Vec<Event> {
    let filler = (NODE_CPU - 500, 1);
    let pod = |index| pod(1_000_000 + index, filler, GangRef::Own);
    (0..nodes).map(pod).collect()
}

/// Queues with names by number.
pub(crate) fn queues(count: usize) -> Vec<Event> {
    let queue = |index| Event::is(plain::queue(queue_name(index)));
    (0..count).map(queue).collect()
}

pub(crate) fn queue_name(index: usize) -> String {
    format!("queue-{index}")
}

/// How many pods of four cores fit a node.
const SLOTS: usize = 16;
const SLOT_CPU: i64 = NODE_CPU / 16;

/// For each slot of each node a pod that takes it.
pub(crate) fn slot_fillers(nodes: usize) -> Vec<Event> {
    let filler = (SLOT_CPU, 1);
    let pod = |index| pod(1_000_000 + index, filler, GangRef::Own);
    (0..nodes * SLOTS).map(pod).collect()
}

/// The same pod, as the API server shows it once it runs.
pub(crate) fn bound_to(event: Event, node: &str) -> Event {
    match event {
        Event::Is(Object::Pod(mut pod)) => {
            pod.node = Some(node.to_owned());
            Event::is(*pod)
        }
        other => other,
    }
}

/// Gangs of one pod that want a slot and memory of eight sizes, spread over queues.
pub(crate) fn waiters(count: usize, queues: Range<usize>) -> Vec<Event> {
    let queue = |index| queues.start + index % queues.len();
    (0..count)
        .flat_map(|index| waiter(index, queue(index), 0))
        .collect()
}

/// Gangs of one to eight small pods, spread over queues.
pub(crate) fn fair_jobs(count: usize, queues: usize) -> Vec<Event> {
    const SIZES: [usize; 8] = [1, 1, 1, 2, 1, 4, 2, 8];
    let mut draw = Draw(3);
    let mut pods = 0;
    let mut events = Vec::new();
    for index in 0..count {
        let (size, request) = (SIZES[draw.next()], MIX[draw.next() % 4]);
        let name = format!("job-{index}");
        let spec = GangSpec {
            queue: Some(queue_name(index % queues)),
            ..group_spec(&name, size)
        };
        events.push(Event::is(spec));
        events
            .extend((pods..pods + size).map(|pod_index| pod(pod_index, request, member_of(&name))));
        pods += size;
    }
    events
}

/// Pods that take little.
pub(crate) fn small(count: usize) -> Vec<Event> {
    let pod = |index| pod(4_000_000 + index, (100, 0), GangRef::Own);
    (0..count).map(pod).collect()
}

/// Pods on their own that take half a node each.
pub(crate) fn halves(count: usize) -> Vec<Event> {
    let pod = |index| pod(1_000_000 + index, HALF, GangRef::Own);
    (0..count).map(pod).collect()
}

const HALF: (i64, i64) = (NODE_CPU / 2, 1);

/// Gangs whose members want half a node each, in one queue.
pub(crate) fn claimants(count: usize, size: usize, priority: Option<i32>) -> Vec<Event> {
    let gangs = (0..count).flat_map(|index| claimant(index, size, priority));
    gangs.collect()
}

/// One of them.
pub(crate) fn claimant(index: usize, size: usize, priority: Option<i32>) -> Vec<Event> {
    let name = format!("claims-{index}");
    let spec = GangSpec {
        priority,
        ..group_spec(&name, size)
    };
    let mut events = vec![Event::is(spec)];
    let first = 10_000_000 + index * size;
    events.extend((first..first + size).map(|index| pod(index, HALF, member_of(&name))));
    events
}

/// For each queue a gang that wants a whole node.
pub(crate) fn wholes(queues: usize) -> Vec<Event> {
    let gang = |index: usize| {
        let name = format!("whole-{index}");
        let spec = GangSpec {
            queue: Some(queue_name(index)),
            ..group_spec(&name, 1)
        };
        let pod = pod(5_000_000 + index, (NODE_CPU, 1), member_of(&name));
        [Event::is(spec), pod]
    };
    (0..queues).flat_map(gang).collect()
}

fn waiter(index: usize, queue: usize, priority: i32) -> [Event; 2] {
    let name = format!("waits-{index}");
    let spec = GangSpec {
        queue: Some(queue_name(queue)),
        priority: Some(priority),
        ..group_spec(&name, 1)
    };
    let memory = 1 + i64::try_from(index % 8).expect("less than eight");
    let pod = pod(3_000_000 + index, (SLOT_CPU, memory), member_of(&name));
    [Event::is(spec), pod]
}

/// A gang that comes to some place of some line, its key, and its end.
pub(crate) fn passer(draw: usize, queues: usize) -> (Vec<Event>, GangKey, Vec<Event>) {
    let index = 1_000_000 + draw;
    let priority = i32::try_from(draw % 3).expect("less than three") - 1;
    let come = waiter(index, draw * 7 % queues, priority);
    let [Event::Is(Object::Gang(gang)), Event::Is(Object::Pod(pod))] = &come else {
        panic!("a gang and its pod");
    };
    let key = gang.key.clone();
    let go = vec![
        Event::Gone(ObjectKey::Pod(pod.key.clone())),
        Event::Gone(ObjectKey::Gang(key.clone(), gang.source)),
    ];
    (come.to_vec(), key, go)
}

/// A scheduler's clock: each cycle is a little later than the one before.
pub(crate) struct Clock(pub(crate) u64);

impl Clock {
    fn tick(&mut self) -> Time {
        self.0 += 1;
        Time(self.0)
    }

    pub(crate) fn apply(&self, scheduler: &mut Scheduler, events: Vec<Event>) {
        let now = Time(self.0);
        for event in events {
            scheduler.apply(now, event);
        }
    }

    /// Hears news, and decides until nothing is left to decide.
    pub(crate) fn hear(&mut self, scheduler: &mut Scheduler, events: Vec<Event>) -> Vec<Bind> {
        self.apply(scheduler, events);
        let mut binds = Vec::new();
        loop {
            let plan = scheduler.cycle(self.tick());
            let bind = |effect| match effect {
                Effect::Bind(bind) => Some(bind),
                _ => None,
            };
            binds.extend(plan.effects.into_iter().filter_map(bind));
            if !plan.more {
                return binds;
            }
        }
    }

    /// Hears news, and decides until nothing is left to decide; how many are to go for that.
    pub(crate) fn evictions(&mut self, scheduler: &mut Scheduler, events: Vec<Event>) -> usize {
        self.apply(scheduler, events);
        let mut evictions = 0;
        loop {
            let plan = scheduler.cycle(self.tick());
            let evicts = |effect: &&Effect| matches!(effect, Effect::Evict(_));
            evictions += plan.effects.iter().filter(evicts).count();
            if !plan.more {
                return evictions;
            }
        }
    }

    /// Has binds succeed.
    pub(crate) fn confirm(&mut self, scheduler: &mut Scheduler, binds: Vec<Bind>) {
        let bound =
            |bind: Bind| Event::BindResult(bind.pod, BindOutcome::Bound { node: bind.node });
        self.hear(scheduler, binds.into_iter().map(bound).collect());
    }
}

/// One gang that asks for this many cores a pod.
pub(crate) fn gang_of(size: usize, cpu: i64) -> Vec<Event> {
    let name = "large".to_owned();
    let mut events = vec![group(&name, size)];
    events.extend((0..size).map(|member| pod(2_000_000 + member, (cpu, 1), member_of(&name))));
    events
}

/// Runs cycles until nothing is left to decide. Says how many pods got a node.
pub(crate) fn place(scheduler: &mut Scheduler) -> usize {
    let mut placed = 0;
    loop {
        let plan = scheduler.cycle(Time::from_secs(1));
        placed += plan
            .effects
            .iter()
            .filter(|effect| matches!(effect, Effect::Bind(_)))
            .count();
        if !plan.more {
            return placed;
        }
    }
}

fn group(name: &str, size: usize) -> Event {
    Event::is(group_spec(name, size))
}

fn group_spec(name: &str, size: usize) -> GangSpec {
    let size = u32::try_from(size).expect("a gang of this size");
    plain::group(plain::key("bench", name), size)
}

fn pod(index: usize, (cpu, memory_gib): (i64, i64), gang: GangRef) -> Event {
    let requests = amounts([("cpu", cpu), ("memory", memory_gib * GIB)]);
    let plain = plain::pod("bench", format!("pod-{index}"), requests);
    Event::is(PodSpec {
        key: PodKey {
            // As long as those of a cluster are.
            uid: format!("00000000-0000-0000-0000-{index:012}"),
            ..plain.key.clone()
        },
        gang,
        priority: Some(0),
        ..plain
    })
}

/// A linear congruential generator: the same pods on every machine and in every version.
struct Draw(u64);

impl Draw {
    fn request(&mut self) -> (i64, i64) {
        MIX[self.next()]
    }

    /// A number below eight.
    fn next(&mut self) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 61).expect("three bits")
    }
}
