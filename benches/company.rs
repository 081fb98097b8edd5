//! How fast pods are placed that keep each other away or want to be near each other.
//!
//!     cargo bench --bench company

mod support;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use muster::core::engine::Scheduler;
use muster::model::Object;
use muster::model::units::Time;
use muster::model::{Event, Labels, NodeSpec, PodLabels, PodTerm, plain};
use std::time::Duration;
use support::{HOST, node, place, singles};

const NODES: usize = 5_000;
const ZONE: &str = "topology.kubernetes.io/zone";
const RACK: &str = "example.com/rack";

/// Nodes with names as labels, in 5 zones and 250 racks.
fn cluster() -> Scheduler {
    let mut scheduler = Scheduler::default();
    for index in 0..NODES {
        let plain = node(index);
        let labels = [
            (HOST, plain.name.clone()),
            (ZONE, (index % 5).to_string()),
            (RACK, (index % 250).to_string()),
        ];
        let labels = labels.map(|(key, value)| (key.to_owned(), value));
        let spec = NodeSpec {
            labels: labels.into(),
            ..plain
        };
        scheduler.apply(Time::ZERO, Event::is(spec));
    }
    assert_eq!(place(&mut scheduler), 0);
    scheduler
}

fn about(app: &str, key: &str) -> PodTerm {
    plain::beside("bench", plain::who_says("app", app), key)
}

/// Pods of one application with terms of affinity and of anti-affinity, as many as there are events.
fn with_terms(events: Vec<Event>, app: &str, near: &[PodTerm], apart: &[PodTerm]) -> Vec<Event> {
    let labels = PodLabels::new(&Labels::from([("app".to_owned(), app.to_owned())]));
    let change = |event| {
        let Event::Is(Object::Pod(mut spec)) = event else {
            return event;
        };
        spec.labels = labels.clone();
        spec.shape.requests = vec![("cpu".to_owned(), 500)];
        spec.shape.pods.affinity = near.to_vec();
        spec.shape.pods.anti_affinity = apart.to_vec();
        Event::is(*spec)
    };
    events.into_iter().map(change).collect()
}

fn wave((mut scheduler, events): (Scheduler, Vec<Event>)) -> (usize, Scheduler) {
    for event in events {
        scheduler.apply(Time::ZERO, event);
    }
    (place(&mut scheduler), scheduler)
}

/// Placements a second: of pods that are alone on their nodes, of pods that are all in one zone, and, to
/// compare, of the same pods without rules.
fn placements(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("company/5000-pods-on-5000-nodes");
    group
        .throughput(Throughput::Elements(NODES as u64))
        .sample_size(10)
        .measurement_time(Duration::from_secs(5));
    for (name, near, apart) in [
        ("no-rules", vec![], vec![]),
        ("apart-by-host", vec![], vec![about("x", HOST)]),
        ("near-by-zone", vec![about("x", ZONE)], vec![]),
        (
            "near-by-zone-apart-by-host-others",
            vec![about("x", ZONE)],
            vec![about("y", HOST)],
        ),
    ] {
        let events = with_terms(singles(NODES), "x", &near, &apart);
        let (placed, _) = wave((cluster(), events.clone()));
        assert_eq!(placed, NODES, "{name}");
        group.bench_function(name, |bench| {
            let prepare = || (cluster(), events.clone());
            bench.iter_batched(prepare, wave, BatchSize::PerIteration);
        });
    }
    group.finish();
}

/// One pod of a new shape with affinity, where many others are: a pass of the filters over all nodes, and
/// the count of all pods there are.
fn new_shape(criterion: &mut Criterion) {
    let full = || {
        let events = with_terms(singles(NODES), "x", &[], &[about("x", HOST)]);
        let (placed, scheduler) = wave((cluster(), events));
        assert_eq!(placed, NODES);
        scheduler
    };
    let mut group = criterion.benchmark_group("company/a-new-shape-on-5000-nodes");
    group.sample_size(20);
    for (name, near, apart) in [
        ("near-by-rack", vec![about("x", RACK)], vec![]),
        (
            "near-by-zone-apart-by-host",
            vec![about("x", ZONE)],
            vec![about("z", HOST)],
        ),
    ] {
        let one = with_terms(singles(NODES + 1).split_off(NODES), "y", &near, &apart);
        let (placed, _) = wave((full(), one.clone()));
        assert_eq!(placed, 1, "{name}");
        group.bench_function(name, |bench| {
            bench.iter_batched(|| (full(), one.clone()), wave, BatchSize::PerIteration);
        });
    }
    group.finish();
}

criterion_group!(benches, placements, new_shape);
criterion_main!(benches);
