//! What it costs to spread pods: over three zones and over hosts, on 5,000 nodes.

mod support;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use muster::core::engine::Scheduler;
use muster::model::Object;
use muster::model::units::Time;
use muster::model::{Event, HOSTNAME, PodLabels, plain};
use std::time::Duration;
use support::{node, place, small};

const NODES: usize = 5_000;
const PODS: usize = 5_000;

/// 5,000 nodes in three zones.
fn cluster() -> Scheduler {
    let mut scheduler = Scheduler::default();
    for index in 0..NODES {
        let mut node = node(index);
        let zone = format!("zone-{}", index % 3);
        node.labels.insert("zone".to_owned(), zone);
        node.labels.insert(HOSTNAME.to_owned(), node.name.clone());
        scheduler.apply(Time::ZERO, Event::is(node));
    }
    assert_eq!(place(&mut scheduler), 0);
    scheduler
}

/// Pods on their own, of which no domain may have more than one more than another.
fn spread_over(key: &str) -> Vec<Event> {
    let (label, app) = ("app".to_owned(), "web".to_owned());
    let labels = PodLabels::new(&[(label.clone(), app.clone())].into());
    let mut pods = small(PODS);
    for event in &mut pods {
        if let Event::Is(Object::Pod(pod)) = event {
            pod.labels = labels.clone();
            let same = plain::who_says(&label, &app);
            pod.shape.spread = vec![plain::evenly(&pod.key.namespace, same, key)];
        }
    }
    pods
}

fn spread(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("spread");
    group.sample_size(10);
    group.measurement_time(Duration::from_secs(8));
    group.throughput(Throughput::Elements(PODS as u64));
    for (name, key) in [
        ("zones", Some("zone")),
        ("hosts", Some(HOSTNAME)),
        ("none", None),
    ] {
        group.bench_function(name, |bencher| {
            bencher.iter_batched(
                || {
                    let mut scheduler = cluster();
                    let pods = key.map_or_else(|| small(PODS), spread_over);
                    for pod in pods {
                        scheduler.apply(Time::ZERO, pod);
                    }
                    scheduler
                },
                |mut scheduler| {
                    assert_eq!(place(&mut scheduler), PODS);
                    scheduler
                },
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, spread);
criterion_main!(benches);
