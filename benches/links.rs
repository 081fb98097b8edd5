//! What a Topology of links costs: to be measured when it is declared, and to be searched for a gang.

#![expect(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "it measures, and a benchmark that cannot go on has failed"
)]

mod support;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use muster::core::engine::Scheduler;
use muster::model::Object;
use muster::model::ObjectKey;
use muster::model::units::Time;
use muster::model::{Event, Link, NodeSpec, TopologySpec, TopologyWish};
use std::time::{Duration, Instant};
use support::{Clock, bound_to, cluster, fillers, gang_of, place};

/// Members of the gang, each of which wants most of a node.
const SIZE: usize = 64;
const CORES: i64 = 40_000;

fn link(a: String, b: String) -> Link {
    Link { a, b, cost: 1 }
}

fn host(index: usize) -> String {
    format!("node-{index}")
}

/// A number drawn by a fixed rule.
fn draw(seed: &mut u64) -> usize {
    *seed = seed
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    usize::try_from(*seed >> 33).expect("31 bits")
}

/// 5,000 hosts on 500 leaves in 20 pods, 80 switches above these, 20 spines.
fn fat_tree() -> Vec<Link> {
    let mut links = Vec::new();
    for leaf in 0..500 {
        let hosts = (0..10).map(|one| host(leaf * 10 + one));
        links.extend(hosts.map(|host| link(format!("leaf-{leaf}"), host)));
        let above = (0..4).map(|one| format!("pod-{}-{one}", leaf / 25));
        links.extend(above.map(|above| link(format!("leaf-{leaf}"), above)));
    }
    for pod in 0..20 {
        for one in 0..4 {
            let spines = (0..20).map(|spine| format!("spine-{spine}"));
            links.extend(spines.map(|spine| link(format!("pod-{pod}-{one}"), spine)));
        }
    }
    links
}

/// 5,000 hosts on 500 of 600 switches, each of which is linked to about eight others by lot: nothing of
/// a tree.
fn by_lot() -> Vec<Link> {
    let mut seed = 7;
    let mut links: Vec<Link> = (0..5_000)
        .map(|one| link(format!("switch-{}", one / 10), host(one)))
        .collect();
    for switch in 0..600 {
        for _ in 0..4 {
            let other = draw(&mut seed) % 600;
            links.push(link(format!("switch-{switch}"), format!("switch-{other}")));
        }
    }
    links
}

/// 4,913 hosts in a torus of 17 x 17 x 17, each linked to six others, without any switch.
fn torus() -> Vec<Link> {
    const SIDE: usize = 17;
    let at = |x: usize, y: usize, z: usize| host((x % SIDE * SIDE + y % SIDE) * SIDE + z % SIDE);
    let mut links = Vec::new();
    for index in 0..SIDE * SIDE * SIDE {
        let (x, y, z) = (index / SIDE / SIDE, index / SIDE % SIDE, index % SIDE);
        links.push(link(at(x, y, z), at(x + 1, y, z)));
        links.push(link(at(x, y, z), at(x, y + 1, z)));
        links.push(link(at(x, y, z), at(x, y, z + 1)));
    }
    links
}

fn topology(links: Vec<Link>) -> Event {
    Event::is(TopologySpec {
        name: "net".to_owned(),
        uid: "uid-of-net".to_owned(),
        links,
        ..TopologySpec::default()
    })
}

/// Five thousand nodes, of which so many of a thousand are in use, by lot.
fn world(links: &[Link], in_use: usize) -> Scheduler {
    let mut scheduler = cluster(5_000);
    scheduler.apply(Time::ZERO, topology(links.to_vec()));
    let mut seed = 11;
    for (index, filler) in fillers(5_000).into_iter().enumerate() {
        if draw(&mut seed) % 1_000 < in_use {
            scheduler.apply(Time::ZERO, bound_to(filler, &host(index)));
        }
    }
    assert_eq!(place(&mut scheduler), 0);
    scheduler
}

/// The gang, and its end.
fn gang(most: u32) -> (Vec<Event>, Vec<Event>) {
    let mut come = gang_of(SIZE, CORES);
    for event in &mut come {
        if let Event::Is(Object::Gang(spec)) = event {
            spec.topology = Some(TopologyWish {
                max_hops: Some(most),
                ..TopologyWish::default()
            });
        }
    }
    let go = come.iter().filter_map(|event| match event {
        Event::Is(Object::Pod(pod)) => Some(Event::Gone(ObjectKey::Pod(pod.key.clone()))),
        Event::Is(Object::Gang(gang)) => {
            Some(Event::Gone(ObjectKey::Gang(gang.key.clone(), gang.source)))
        }
        _ => None,
    });
    let go = go.collect();
    (come, go)
}

fn graph(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("topology graph");
    group.sample_size(10);
    for (name, links) in [
        ("fat-tree", fat_tree()),
        ("by-lot", by_lot()),
        ("torus", torus()),
    ] {
        group.bench_function(format!("{name}/is-declared"), |bench| {
            let prepare = || (cluster(5_000), topology(links.clone()));
            let declare = |(mut scheduler, event): (Scheduler, Event)| {
                scheduler.apply(Time::ZERO, event);
                scheduler
            };
            bench.iter_batched(prepare, declare, BatchSize::PerIteration);
        });
        let mut scheduler = world(&links, 500);
        group.bench_function(format!("{name}/a-node-goes-and-comes"), |bench| {
            bench.iter(|| {
                scheduler.apply(Time::ZERO, Event::Gone(ObjectKey::Node(host(0))));
                let node = NodeSpec {
                    name: host(0),
                    ..NodeSpec::default()
                };
                scheduler.apply(Time::ZERO, Event::is(node));
            });
        });
        for (words, in_use, most, fits) in [
            ("64-among-half-full-nodes", 500, 12, true),
            ("64-among-nearly-full-nodes", 940, 40, true),
            ("64-cannot", 900, 3, false),
        ] {
            let mut scheduler = world(&links, in_use);
            let mut clock = Clock(2_000);
            group.bench_function(format!("{name}/{words}"), |bench| {
                bench.iter_custom(|times| {
                    let mut took = Duration::ZERO;
                    for _ in 0..times {
                        let (come, go) = gang(most);
                        let start = Instant::now();
                        let binds = clock.hear(&mut scheduler, come);
                        took += start.elapsed();
                        assert_eq!(binds.len(), if fits { SIZE } else { 0 }, "{name} {words}");
                        clock.hear(&mut scheduler, go);
                    }
                    took
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, graph);
criterion_main!(benches);
