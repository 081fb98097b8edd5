//! How fast the core decides, on one thread, through its public border.
//!
//! What is timed is all of it: `apply` for every pod and PodGroup, then `cycle` until nothing is
//! left to decide. The cluster is prepared beforehand. One element is one placement.

#![expect(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "it measures, and a benchmark that cannot go on has failed"
)]

mod support;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use muster::core::engine::Scheduler;
use muster::model::Bind;
use muster::model::Event;
use muster::model::ObjectKey;
use muster::model::units::Time;
use std::collections::VecDeque;
use std::time::{Duration, Instant};
use support::{
    Clock, HOST, bound_to, cluster, fillers, gang_of, gangs, gpu_cluster, gpu_gang, gpu_jobs,
    labelled_cluster, passer, place, queues, selecting, singles, slot_fillers, waiters,
};

/// Pods in a wave.
const WAVE: usize = 10_000;
/// Nodes of the curve.
const NODES: [usize; 4] = [1_000, 5_000, 20_000, 50_000];

/// What a scheduler does with a wave of news; it is handed back so that dropping it costs nothing.
fn wave((mut scheduler, events): (Scheduler, Vec<Event>)) -> (usize, Scheduler) {
    for event in events {
        scheduler.apply(Time::ZERO, event);
    }
    (place(&mut scheduler), scheduler)
}

fn placements(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("placements");
    group
        .throughput(Throughput::Elements(WAVE as u64))
        .sample_size(10)
        .measurement_time(Duration::from_secs(5));
    for nodes in NODES {
        for (name, events) in [
            ("singles", singles(WAVE)),
            ("gangs-of-8", gangs(WAVE / 8, 8)),
            ("gangs-of-500", gangs(WAVE / 500, 500)),
        ] {
            let (placed, _) = wave((cluster(nodes), events.clone()));
            assert_eq!(placed, WAVE, "{name} on {nodes} nodes");
            group.bench_with_input(BenchmarkId::new(name, nodes), &events, |bench, events| {
                let prepare = || (cluster(nodes), events.clone());
                bench.iter_batched(prepare, wave, BatchSize::PerIteration);
            });
        }
    }
    group.finish();
}

/// The verdict on a gang of 512 when only part of it could fit: on a full cluster, and on one
/// that has room for all members but one, which is the dearest way to find out.
fn cannot(criterion: &mut Criterion) {
    const NODES: usize = 5_000;
    const SIZE: usize = 512;
    let full = || {
        let mut scheduler = cluster(NODES);
        fillers(NODES)
            .into_iter()
            .for_each(|pod| scheduler.apply(Time::ZERO, pod));
        assert_eq!(place(&mut scheduler), NODES);
        scheduler
    };
    let nearly = || {
        let mut scheduler = cluster(NODES);
        fillers(NODES - SIZE + 1)
            .into_iter()
            .for_each(|pod| scheduler.apply(Time::ZERO, pod));
        assert_eq!(place(&mut scheduler), NODES - SIZE + 1);
        scheduler
    };
    let mut group = criterion.benchmark_group("cannot/gang-of-512-on-5000-nodes");
    group.sample_size(10);
    for (name, prepare) in [
        ("full", &full as &dyn Fn() -> Scheduler),
        ("room-for-511", &nearly),
    ] {
        let events = gang_of(SIZE, 40_000);
        let (placed, _) = wave((prepare(), events.clone()));
        assert_eq!(placed, 0, "{name}");
        group.bench_function(name, |bench| {
            bench.iter_batched(
                || (prepare(), events.clone()),
                wave,
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

/// What an event costs while 100,000 gangs of eight sizes wait in 1,000 queues on a full cluster.
fn waiting(criterion: &mut Criterion) {
    const ON: usize = 1_000;
    const GANGS: usize = 100_000;
    const QUEUES: usize = 1_000;
    let mut scheduler = cluster(ON);
    let mut clock = Clock(2_000);
    let mut running: VecDeque<Bind> = clock.hear(&mut scheduler, slot_fillers(ON)).into();
    clock.confirm(&mut scheduler, running.clone().into());
    clock.hear(&mut scheduler, queues(QUEUES));
    clock.hear(&mut scheduler, waiters(GANGS, 0..QUEUES));
    assert_eq!(scheduler.stats().waiting, GANGS as u64);
    let mut group = criterion.benchmark_group("waiting/100000-gangs-in-1000-queues");
    group.sample_size(20);
    group.bench_function("an-event-that-changes-nothing", |bench| {
        let again = slot_fillers(1).remove(0);
        let again = bound_to(again, &running[0].node);
        bench.iter_batched(
            || vec![again.clone()],
            |events| {
                clock.apply(&mut scheduler, events);
                assert!(!scheduler.wants_cycle(), "nothing is to be decided");
            },
            BatchSize::SmallInput,
        );
    });
    group.bench_function("a-slot-is-freed", |bench| {
        bench.iter_custom(|times| {
            let mut took = Duration::ZERO;
            for _ in 0..times {
                let ends = running.pop_back().expect("one that runs");
                let attempts = scheduler.stats().attempts;
                let news = vec![Event::Gone(ObjectKey::Pod(ends.pod))];
                let start = Instant::now();
                let binds = clock.hear(&mut scheduler, news);
                took += start.elapsed();
                assert_eq!(binds.len(), 1, "one gang has a place");
                let tried = scheduler.stats().attempts - attempts;
                assert!(tried <= 20, "{tried} were tried");
                running.extend(binds.clone());
                clock.confirm(&mut scheduler, binds);
            }
            took
        });
    });
    group.bench_function("a-gang-comes-and-another-goes", |bench| {
        let mut draw = 0;
        bench.iter_custom(|times| {
            let mut took = Duration::ZERO;
            for _ in 0..times {
                draw += 1;
                let (comes, gang, goes) = passer(draw, QUEUES);
                let start = Instant::now();
                clock.hear(&mut scheduler, comes);
                let status = scheduler.gang_status(&gang);
                clock.hear(&mut scheduler, goes);
                took += start.elapsed();
                let place = status.and_then(|one| one.position);
                assert!(place.is_some(), "it has a place in its line");
            }
            took / 2
        });
    });
    group.finish();
}

/// Every GPU of 500 nodes runs a job of its own, and a gang of higher priority wants half the nodes
/// whole: whom it has go; and that a gang which wants one node more than there are finds nobody.
fn preemption(criterion: &mut Criterion) {
    const NODES: usize = 500;
    const JOBS: usize = NODES * 8;
    let full = || {
        let mut scheduler = gpu_cluster(NODES);
        let mut clock = Clock(2_000);
        let binds = clock.hear(&mut scheduler, gpu_jobs(JOBS));
        assert_eq!(binds.len(), JOBS);
        clock.confirm(&mut scheduler, binds);
        (scheduler, clock)
    };
    let decide = |(mut scheduler, mut clock, events): (Scheduler, Clock, Vec<Event>)| {
        let evictions = clock.evictions(&mut scheduler, events);
        (evictions, scheduler)
    };
    let mut group = criterion.benchmark_group("preemption/500-nodes-of-8-gpus-4000-jobs");
    group.sample_size(10);
    for (name, size, victims) in [
        ("plan-for-250x8", NODES / 2, JOBS / 2),
        ("cannot-501x8", NODES + 1, 0),
    ] {
        let prepare = || {
            let (scheduler, clock) = full();
            (scheduler, clock, gpu_gang(size))
        };
        let (evictions, _) = decide(prepare());
        assert_eq!(evictions, victims, "{name}");
        group.bench_function(name, |bench| {
            bench.iter_batched(prepare, decide, BatchSize::PerIteration);
        });
    }
    group.finish();
}

/// A thousand pods, no two of which may go to the same nodes: each to one that it names by a label, or to
/// none. All nodes have to be known for each of them, and why they do not suit.
fn selectors(criterion: &mut Criterion) {
    const PODS: usize = 1_000;
    const NODES: usize = 20_000;
    let mut group = criterion.benchmark_group("selectors/1000-on-20000-nodes");
    group
        .throughput(Throughput::Elements(PODS as u64))
        .sample_size(10);
    for (name, value, expected) in [("one-node-each", "node-", PODS), ("no-node", "none-", 0)] {
        let events = selecting(PODS, HOST, value);
        let (placed, _) = wave((labelled_cluster(NODES), events.clone()));
        assert_eq!(placed, expected, "{name}");
        group.bench_function(name, |bench| {
            let prepare = || (labelled_cluster(NODES), events.clone());
            bench.iter_batched(prepare, wave, BatchSize::PerIteration);
        });
    }
    group.finish();
}

criterion_group!(benches, placements, cannot, waiting, preemption, selectors);
criterion_main!(benches);
