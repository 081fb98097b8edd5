//! How fast the core decides where queues share a cluster: fairness, reservations, and what an event
//! costs while many wait.

#![expect(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "it measures, and a benchmark that cannot go on has failed"
)]

mod support;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use muster::core::engine::Scheduler;
use muster::model::Object;
use muster::model::ObjectKey;
use muster::model::units::{Millis, Time};
use muster::model::{Event, GangSpec, PodSpec, QueueSpec};
use std::time::{Duration, Instant};
use support::{Clock, bound_to, cluster, fair_jobs, place, queues, slot_fillers, waiters};

const HOUR: Millis = Millis(3_600_000);

/// 32,000 jobs of one to eight pods in ten queues, until all are placed.
fn filling(criterion: &mut Criterion) {
    const JOBS: usize = 32_000;
    const QUEUES: usize = 10;
    let events = fair_jobs(JOBS, QUEUES);
    let pods = events
        .iter()
        .filter(|one| matches!(one, Event::Is(Object::Pod(_))));
    let pods = pods.count();
    let mut group = criterion.benchmark_group("filling/32000-jobs-in-10-queues");
    group
        .throughput(Throughput::Elements(pods as u64))
        .sample_size(10);
    for nodes in [1_000, 20_000] {
        let prepare = || {
            let mut scheduler = cluster(nodes);
            tell(&mut scheduler, queues(QUEUES));
            (scheduler, events.clone())
        };
        let wave = |(mut scheduler, events)| {
            tell(&mut scheduler, events);
            (place(&mut scheduler), scheduler)
        };
        assert_eq!(wave(prepare()).0, pods, "all are placed");
        group.bench_function(BenchmarkId::new("nodes", nodes), |bench| {
            bench.iter_batched(prepare, wave, BatchSize::PerIteration);
        });
    }
    group.finish();
}

fn tell(scheduler: &mut Scheduler, events: Vec<Event>) {
    for event in events {
        scheduler.apply(Time::ZERO, event);
    }
}

/// Of 200 queues in four levels each has four below it, as far as they go.
fn tree() -> Vec<Event> {
    let in_tree = |(index, event)| match event {
        Event::Is(Object::Queue(spec)) if index >= 4 => Event::is(QueueSpec {
            parent: Some(support::queue_name((index - 4) / 4)),
            ..*spec
        }),
        other => other,
    };
    queues(200).into_iter().enumerate().map(in_tree).collect()
}

/// Gives everybody a lifetime of an hour.
fn lasting(event: Event) -> Event {
    match event {
        Event::Is(Object::Gang(spec)) => Event::is(GangSpec {
            lifetime: Some(HOUR),
            ..*spec
        }),
        Event::Is(Object::Pod(spec)) => Event::is(PodSpec {
            lifetime: Some(HOUR),
            ..*spec
        }),
        other => other,
    }
}

/// What a decision costs when nothing can start: 100,000 gangs wait in the 151 leaves of the tree on a
/// full cluster, and a pod that took little ends.
fn waiting(criterion: &mut Criterion) {
    const ON: usize = 1_000;
    const GANGS: usize = 100_000;
    let leaves = 49..200;
    let mut group = criterion.benchmark_group("waiting/100000-gangs-in-200-queues-of-4-levels");
    group.sample_size(20);
    for (name, lasts) in [("for-ever", false), ("with-lifetimes", true)] {
        let change = |event| if lasts { lasting(event) } else { event };
        let mut scheduler = cluster(ON);
        let mut clock = Clock(2_000);
        // Two of them on each node, so that one gone is not yet a slot more.
        let small: Vec<Event> = support::small(2 * ON)
            .into_iter()
            .enumerate()
            .map(|(index, pod)| bound_to(pod, &format!("node-{}", index % ON)))
            .collect();
        clock.hear(&mut scheduler, small.clone());
        let fillers = slot_fillers(ON).into_iter().map(change).collect();
        let running = clock.hear(&mut scheduler, fillers);
        clock.confirm(&mut scheduler, running);
        clock.hear(&mut scheduler, tree());
        let all = waiters(GANGS, leaves.clone()).into_iter().map(change);
        clock.hear(&mut scheduler, all.collect());
        assert!(scheduler.stats().waiting >= GANGS as u64);
        group.bench_function(BenchmarkId::new("nothing-can-start", name), |bench| {
            bench.iter_custom(|times| {
                let mut took = Duration::ZERO;
                for turn in 0..times {
                    let index = usize::try_from(turn).expect("a few") % ON;
                    let Event::Is(Object::Pod(pod)) = &small[index] else {
                        panic!("a pod");
                    };
                    let gone = Event::Gone(ObjectKey::Pod(pod.key.clone()));
                    let start = Instant::now();
                    let placed = clock.hear(&mut scheduler, vec![gone]);
                    took += start.elapsed();
                    assert_eq!(placed.len(), 0, "nobody fits");
                    clock.hear(&mut scheduler, vec![small[index].clone()]);
                }
                took
            });
        });
    }
    group.finish();
}

criterion_group!(benches, filling, waiting);
criterion_main!(benches);
