//! What it costs to place gangs near each other, by a Topology of three levels: zones of 1,000 nodes,
//! blocks of 200, racks of 20.

#![expect(
    clippy::disallowed_methods,
    reason = "it measures, and a benchmark that cannot go on has failed"
)]

mod support;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use muster::core::engine::Scheduler;
use muster::model::Object;
use muster::model::ObjectKey;
use muster::model::units::Time;
use muster::model::{Event, Labels, NodeSpec, TopologyWish, plain};
use std::time::{Duration, Instant};
use support::{Clock, bound_to, fillers, gang_of, gangs, node, place};

const LEVELS: [(&str, u32, usize); 3] = [("zone", 6, 1_000), ("block", 4, 200), ("rack", 2, 20)];

/// A node of the tree.
fn at(index: usize) -> NodeSpec {
    let label =
        |(label, _, nodes): (&str, u32, usize)| (label.to_owned(), format!("{}", index / nodes));
    NodeSpec {
        labels: Labels::from_iter(LEVELS.map(label)),
        ..node(index)
    }
}

/// Empty nodes, with a Topology or without one.
fn tree(nodes: usize, with_topology: bool) -> Scheduler {
    let mut scheduler = Scheduler::default();
    if with_topology {
        let levels = LEVELS.map(|(label, hops, _)| (label, hops));
        let spec = plain::levels("tree", levels);
        scheduler.apply(Time::ZERO, Event::is(spec));
    }
    for index in 0..nodes {
        scheduler.apply(Time::ZERO, Event::is(at(index)));
    }
    assert_eq!(place(&mut scheduler), 0);
    scheduler
}

/// The same with every second node nearly full.
fn half_full(nodes: usize) -> Scheduler {
    let mut scheduler = tree(nodes, true);
    for (index, filler) in fillers(nodes).into_iter().enumerate().step_by(2) {
        let filler = bound_to(filler, &format!("node-{index}"));
        scheduler.apply(Time::ZERO, filler);
    }
    assert_eq!(place(&mut scheduler), 0);
    scheduler
}

/// Has all PodGroups ask for one domain of a level.
fn bound_to_level(mut events: Vec<Event>, label: &str) -> Vec<Event> {
    for event in &mut events {
        if let Event::Is(Object::Gang(spec)) = event {
            spec.topology = Some(TopologyWish {
                required_level: Some(label.to_owned()),
                ..TopologyWish::default()
            });
        }
    }
    events
}

/// The search for one gang of 512, eight of which fit a free node; of its news nothing is timed.
fn search(criterion: &mut Criterion) {
    const NODES: usize = 5_000;
    const SIZE: usize = 512;
    let mut group = criterion.benchmark_group("topology/gang-of-512-on-5000-nodes");
    group.sample_size(20);
    for (name, level, fits) in [
        ("within-a-block", "block", true),
        ("cannot-in-a-rack", "rack", false),
    ] {
        let come = bound_to_level(gang_of(SIZE, 8_000), level);
        let go: Vec<Event> = come
            .iter()
            .filter_map(|event| match event {
                Event::Is(Object::Pod(pod)) => Some(Event::Gone(ObjectKey::Pod(pod.key.clone()))),
                Event::Is(Object::Gang(gang)) => {
                    Some(Event::Gone(ObjectKey::Gang(gang.key.clone(), gang.source)))
                }
                _ => None,
            })
            .collect();
        let mut scheduler = half_full(NODES);
        let mut clock = Clock(2_000);
        group.bench_function(name, |bench| {
            bench.iter_custom(|times| {
                let mut took = Duration::ZERO;
                for _ in 0..times {
                    clock.apply(&mut scheduler, come.clone());
                    let start = Instant::now();
                    let binds = clock.hear(&mut scheduler, Vec::new());
                    took += start.elapsed();
                    assert_eq!(binds.len(), if fits { SIZE } else { 0 }, "{name}");
                    clock.hear(&mut scheduler, go.clone());
                }
                took
            });
        });
    }
    group.finish();
}

/// A thousand gangs of eight that each want one rack, beside the same without a Topology.
fn placements(criterion: &mut Criterion) {
    const GANGS: usize = 1_000;
    let mut group = criterion.benchmark_group("topology/1000-gangs-of-8");
    group
        .throughput(Throughput::Elements(GANGS as u64 * 8))
        .sample_size(10)
        .measurement_time(Duration::from_secs(5));
    for nodes in [5_000, 20_000] {
        for (name, with_topology) in [("in-a-rack", true), ("anywhere", false)] {
            let mut events = gangs(GANGS, 8);
            if with_topology {
                events = bound_to_level(events, "rack");
            }
            let wave = |(mut scheduler, events): (Scheduler, Vec<Event>)| {
                for event in events {
                    scheduler.apply(Time::ZERO, event);
                }
                assert_eq!(place(&mut scheduler), GANGS * 8, "{name} on {nodes}");
                scheduler
            };
            group.bench_with_input(BenchmarkId::new(name, nodes), &events, |bench, events| {
                let prepare = || (tree(nodes, with_topology), events.clone());
                bench.iter_batched(prepare, wave, BatchSize::PerIteration);
            });
        }
    }
    group.finish();
}

criterion_group!(benches, search, placements);
criterion_main!(benches);
