//! How fast the core decides, on one thread, through its public border.
//!
//! What is timed is all of it: `apply` for every pod and PodGroup, then `cycle` until nothing is
//! left to decide. The cluster is prepared beforehand. One element is one placement.

mod support;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use muster::core::engine::Scheduler;
use muster::core::model::Event;
use muster::core::units::Time;
use std::time::Duration;
use support::{cluster, fillers, gang_of, gangs, place, singles};

/// Pods in a wave.
const WAVE: usize = 10_000;
/// Nodes of the curve.
const NODES: [usize; 3] = [1_000, 5_000, 20_000];
const GANG: usize = 8;

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
            ("gangs-of-8", gangs(WAVE / GANG, GANG)),
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

criterion_group!(benches, placements, cannot);
criterion_main!(benches);
