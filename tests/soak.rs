//! Nothing grows for ever: days of virtual time in which unlike pods, gangs, queues, nodes and all that goes with
//! them come and go. At the end of each day what was there at its beginning is there, and so is what the scheduler
//! keeps: all that it has, down to the last list, is counted and compared.
//!
//! What is counted is the text that `Debug` makes of the scheduler, the linter and the words: so what somebody
//! adds later is counted without a line here. Lists that only grow up to a bound of their own are [`BOUNDED`].

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use muster::api::convert::Reading;
use muster::core::engine::Policy;
use muster::model::Table;
use muster::model::units::{Millis, Time};
use muster::sim::driver::Driver;
use muster::sim::network::Network;
use muster::sim::scenario::{Source, load};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// How many days; `hack/soak` has more of them played.
const DAYS: u64 = 5;
/// After so many all has been as full as it gets.
const WARM: u64 = 2;
const DAY: Millis = Millis(86_400_000);
/// The last hours of a day are for what is still on its way.
const HOURS: u64 = 20;

/// A list that is indexed by some number is as long as the number was large. So many lines more or less, in all days
/// together, are no growth; what is left by one thing an hour is five times as much on the second day.
const SLACK: i64 = 8;

/// What only grows until it is full, by the field: logs, which end at 131,072 entries (`core/state/log.rs`).
const BOUNDED: [&str; 1] = ["log"];

/// Objects, one after the other.
#[derive(Default)]
struct Objects(String);

impl Objects {
    fn add(&mut self, yaml: &str) {
        let _ = writeln!(self.0, "---\n{}", yaml.trim());
    }
}

/// What is there for ever.
fn residents(objects: &mut Objects) {
    for node in 0..12 {
        objects.add(&format!(
            "
apiVersion: v1
kind: Node
metadata: {{name: stays-{node}, labels: {{kubernetes.io/hostname: stays-{node}, rack: r{}, lab: '{node}'}}}}
status: {{allocatable: {{cpu: '64', memory: 256Gi, pods: '500'}}}}",
            node % 3
        ));
    }
    objects.add(
        "
apiVersion: muster.dev/v1alpha1
kind: Topology
metadata: {name: fabric}
spec: {levels: [{nodeLabel: rack}, {nodeLabel: kubernetes.io/hostname}]}",
    );
    objects.add(
        "
apiVersion: v1
kind: Pod
metadata: {name: stays, labels: {app: stays}}
spec: {schedulerName: muster, containers: [{name: c, image: x, resources: {requests: {cpu: '1'}}}]}",
    );
    objects.add(
        "
apiVersion: v1
kind: Pod
metadata: {name: waits}
spec: {schedulerName: muster, nodeSelector: {nobody: has}, containers: [{name: c, image: x, resources: {requests: {cpu: '1'}}}]}",
    );
}

/// What comes in an hour of a day, and is gone some hours later. No two hours have a name, a request or a label in
/// common.
fn an_hour(objects: &mut Objects, day: u64, hour: u64) {
    let begin = day * 86_400 + hour * 3_600;
    let n = day * HOURS + hour;
    let at = |after: u64, for_seconds: u64| {
        let (from, to) = (begin + after, begin + after + for_seconds);
        format!("simulate.muster.dev/at: {from}s, simulate.muster.dev/delete-at: {to}s")
    };
    let pod = |name: &str, after: u64, labels: &str, more: &str, requests: &str| {
        let life = at(after, 5_400);
        format!(
            "
apiVersion: v1
kind: Pod
metadata: {{name: {name}, namespace: ns-{n}, labels: {{{labels}}}, annotations: {{{life}}}}}
spec: {{schedulerName: muster, {more} containers: [{{name: c, image: x, resources: {{requests: {{{requests}}}}}}}]}}"
        )
    };
    let life = at(0, 7_000);
    objects.add(&format!(
        "
apiVersion: v1
kind: Namespace
metadata: {{name: ns-{n}, labels: {{team: t{n}}}, annotations: {{{life}}}}}"
    ));
    objects.add(&format!(
        "
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {{name: class-{n}, annotations: {{{life}}}}}
value: {n}"
    ));
    objects.add(&format!(
        "
apiVersion: v1
kind: Node
metadata: {{name: goes-{n}, labels: {{kubernetes.io/hostname: goes-{n}, rack: r-{n}, of-{n}: 'yes'}}, annotations: {{{life}}}}}
spec: {{taints: [{{key: for-{n}, value: some, effect: PreferNoSchedule}}]}}
status: {{allocatable: {{cpu: '16', memory: 64Gi, pods: '100', example.com/kind-{n}: '4'}}}}"
    ));
    for queue in [format!("parent-{n}"), format!("child-{n}")] {
        let parent = if queue.starts_with('c') {
            format!("parent: parent-{n}, ")
        } else {
            String::new()
        };
        objects.add(&format!(
            "
apiVersion: muster.dev/v1alpha1
kind: Queue
metadata: {{name: {queue}, annotations: {{{life}}}}}
spec: {{{parent}weight: 2, limit: {{cpu: '2{n}'}}}}"
        ));
    }
    objects.add(&format!(
        "
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {{name: pdb-{n}, namespace: ns-{n}, annotations: {{{life}}}}}
spec: {{minAvailable: 1, selector: {{matchLabels: {{app: a-{n}}}}}}}"
    ));
    let cpu = 100 + n;
    for index in 0..4 {
        let requests = format!("cpu: {cpu}{index}m, memory: {}Mi", 100 + n);
        let selector = format!("nodeSelector: {{of-{n}: 'yes'}},");
        objects.add(&pod(
            &format!("selects-{n}-{index}"),
            60,
            &format!("app: a-{n}"),
            &selector,
            &requests,
        ));
        let nowhere = format!("nodeSelector: {{nobody-{n}-{index}: has}},");
        objects.add(&pod(
            &format!("nowhere-{n}-{index}"),
            90,
            "",
            &nowhere,
            &requests,
        ));
        objects.add(&pod(
            &format!("tolerates-{n}-{index}"),
            120,
            "",
            &format!("tolerations: [{{key: t-{n}-{index}, operator: Exists}}],"),
            &requests,
        ));
        let apart = format!(
            "affinity: {{podAntiAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{{topologyKey: kubernetes.io/hostname, labelSelector: {{matchLabels: {{apart: a-{n}}}}}}}]}}}},"
        );
        objects.add(&pod(
            &format!("apart-{n}-{index}"),
            150,
            &format!("apart: a-{n}"),
            &apart,
            &requests,
        ));
        let spread = format!(
            "topologySpreadConstraints: [{{maxSkew: 1, topologyKey: rack, whenUnsatisfiable: DoNotSchedule, labelSelector: {{matchLabels: {{spread: s-{n}}}}}}}],"
        );
        objects.add(&pod(
            &format!("spread-{n}-{index}"),
            180,
            &format!("spread: s-{n}"),
            &spread,
            &requests,
        ));
        let device = format!("{requests}, example.com/kind-{n}: '1'");
        objects.add(&pod(&format!("device-{n}-{index}"), 210, "", "", &device));
        let invented = format!("{requests}, example.com/invented-{n}-{index}: '1'");
        objects.add(&pod(
            &format!("invents-{n}-{index}"),
            240,
            "",
            "",
            &invented,
        ));
        let queued = format!("muster.dev/queue: child-{n}");
        objects.add(&pod(
            &format!("inqueue-{n}-{index}"),
            270,
            &queued,
            &format!("priorityClassName: class-{n},"),
            &requests,
        ));
        let nobody = format!("muster.dev/queue: nobody-{n}-{index}");
        objects.add(&pod(
            &format!("lost-{n}-{index}"),
            300,
            &nobody,
            "",
            &requests,
        ));
        // Where no node is, by another scheduler.
        objects.add(&format!(
            "
apiVersion: v1
kind: Pod
metadata: {{name: theirs-{n}-{index}, namespace: ns-{n}, annotations: {{{}}}}}
spec: {{schedulerName: default-scheduler, nodeName: unknown-{n}-{index}, containers: [{{name: c, image: x, resources: {{requests: {{{requests}}}}}}}]}}",
            at(10, 4_000)
        ));
    }
    gangs(objects, n, &at, &pod);
    of_ours(objects, n, &at);
    storage(objects, n, &at(0, 6_000), &pod);
}

fn gangs(
    objects: &mut Objects,
    n: u64,
    at: &impl Fn(u64, u64) -> String,
    pod: &impl Fn(&str, u64, &str, &str, &str) -> String,
) {
    let kinds = [
        ("plain", String::new(), 3),
        ("near", "topology: {requiredLevel: rack}, ".to_owned(), 3),
        ("queued", format!("queue: child-{n}, "), 3),
        ("large", String::new(), 50),
        ("alone", "exclusive: true, ".to_owned(), 2),
        ("short", "lifetime: 0s, ".to_owned(), 3),
    ];
    for (kind, spec, min) in kinds {
        objects.add(&format!(
            "
apiVersion: muster.dev/v1alpha1
kind: PodGroup
metadata: {{name: {kind}-{n}, namespace: ns-{n}, annotations: {{{}}}}}
spec: {{{spec}minAvailable: {min}}}",
            at(400, 6_000)
        ));
        for member in 0..3 {
            let labels = format!("muster.dev/pod-group: {kind}-{n}");
            let requests = format!("cpu: {}m", 1_000 + 10 * n + member);
            objects.add(&pod(
                &format!("{kind}-{n}-{member}"),
                420,
                &labels,
                "",
                &requests,
            ));
        }
    }
    objects.add(&format!(
        "
apiVersion: muster.dev/v1alpha1
kind: PodGroup
metadata: {{name: held-{n}, namespace: ns-{n}, annotations: {{{}}}}}
spec: {{minAvailable: 0, minResources: {{cpu: '{}', example.com/kind-{n}: '1'}}}}",
        at(500, 5_000),
        2 + n % 2
    ));
    for member in 0..2 {
        let labels = format!(
            "pod-group.scheduling.sigs.k8s.io/name: light-{n}, pod-group.scheduling.sigs.k8s.io/min-available: '2'"
        );
        objects.add(&pod(
            &format!("light-{n}-{member}"),
            600,
            &labels,
            "",
            &format!("cpu: {}m", 500 + n),
        ));
        let late = format!("muster.dev/pod-group: never-{n}");
        objects.add(&pod(
            &format!("never-{n}-{member}"),
            600,
            &late,
            "",
            "cpu: '1'",
        ));
    }
}

fn storage(
    objects: &mut Objects,
    n: u64,
    life: &str,
    pod: &impl Fn(&str, u64, &str, &str, &str) -> String,
) {
    objects.add(&format!(
        "
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {{name: made-{n}, annotations: {{{life}}}}}
provisioner: driver-{n}.example.com
volumeBindingMode: WaitForFirstConsumer"
    ));
    objects.add(&format!(
        "
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: data-{n}, namespace: ns-{n}, annotations: {{{life}}}}}
spec: {{storageClassName: made-{n}, accessModes: [ReadWriteOnce], resources: {{requests: {{storage: 1Gi}}}}}}"
    ));
    let volumes = |claim: &str| {
        format!("volumes: [{{name: v, persistentVolumeClaim: {{claimName: {claim}-{n}}}}}],")
    };
    objects.add(&pod(
        &format!("keeps-{n}"),
        700,
        "",
        &volumes("data"),
        "cpu: '1'",
    ));
    objects.add(&pod(
        &format!("without-{n}"),
        700,
        "",
        &volumes("missing"),
        "cpu: '1'",
    ));
}

/// What the controllers look after.
fn of_ours(objects: &mut Objects, n: u64, at: &impl Fn(u64, u64) -> String) {
    let cpu = format!("resources: {{requests: {{cpu: {}m}}}}", 200 + n);
    let container = format!("containers: [{{name: c, image: x, {cpu}}}]");
    objects.add(&format!(
        "
apiVersion: muster.dev/v1alpha1
kind: QueueJob
metadata: {{name: job-{n}, namespace: ns-{n}, annotations: {{{}}}}}
spec:
  backoffLimit: 1
  taskSpecs:
  - name: worker
    replicas: 3
    template:
      metadata: {{annotations: {{simulate.muster.dev/duration: {}s}}}}
      spec: {{{container}}}",
        at(800, 4_000),
        600 + n
    ));
    objects.add(&format!(
        "
apiVersion: muster.dev/v1alpha1
kind: Testbed
metadata: {{name: bed-{n}, annotations: {{{}}}}}
spec: {{nodeLabel: lab, slotsPerNode: 1, resourcesPerSlot: {{cpu: '1', memory: {}Mi}}}}",
        at(900, 5_000),
        100 + n
    ));
    objects.add(&format!(
        "
apiVersion: muster.dev/v1alpha1
kind: BatchJob
metadata: {{name: batch-{n}, namespace: ns-{n}, annotations: {{{}}}}}
spec:
  podGroupTemplate: {{minAvailable: 2}}
  job:
    completions: 2
    parallelism: 2
    template:
      metadata: {{annotations: {{simulate.muster.dev/duration: {}s}}}}
      spec: {{restartPolicy: Never, {container}}}",
        at(900, 5_000),
        300 + n
    ));
    objects.add(&format!(
        "
apiVersion: muster.dev/v1alpha1
kind: Scheduling
metadata: {{name: plan-{n}, namespace: ns-{n}, annotations: {{{}}}}}
spec: {{testbed: bed-{n}, queueBased: [{{name: batch-{n}, slots: 2}}]}}",
        at(1_000, 4_000)
    ));
    objects.add(&format!(
        "
apiVersion: v1
kind: Pod
metadata: {{name: sits-{n}, namespace: ns-{n}, labels: {{muster.dev/testbed: bed-{n}, muster.dev/slots: '1_2'}}, annotations: {{{}}}}}
spec: {{schedulerName: muster, {container}}}",
        at(1_000, 3_000)
    ));
}

fn world(days: u64) -> Driver {
    let mut objects = Objects::default();
    residents(&mut objects);
    for day in 0..days {
        for hour in 0..HOURS {
            an_hour(&mut objects, day, hour);
        }
    }
    let source = Source {
        name: "soak.yaml".to_owned(),
        text: objects.0,
    };
    let reading = Reading {
        scheduler_names: vec!["muster".to_owned()],
        ..Reading::default()
    };
    let scenario = load(&[source], &reading).unwrap();
    Driver::new(scenario, Policy::default(), Network::calm(1))
}

/// How many lines there are of what, by the names of the fields that lead there.
type Sizes = BTreeMap<String, usize>;

/// Counts the lines of a text that `Debug` made, of each field and all that is in it.
fn sizes(text: &str) -> Sizes {
    let mut sizes = Sizes::new();
    let mut path: Vec<(usize, &str)> = Vec::new();
    for line in text.lines() {
        let trimmed = line.trim_start();
        let depth = line.len() - trimmed.len();
        // The end of a list belongs to it.
        let ends = usize::from(trimmed.starts_with(['}', ']', ')']));
        while path.last().is_some_and(|(of, _)| *of >= depth + ends) {
            path.pop();
        }
        let name = trimmed.split_once(": ").map(|(name, _)| name);
        let is_field = |name: &&str| {
            name.starts_with(|c: char| c.is_ascii_lowercase())
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        if let Some(name) = name.filter(is_field) {
            path.push((depth, name));
        }
        let names: Vec<&str> = path.iter().map(|(_, name)| *name).collect();
        *sizes.entry(names.join(".")).or_default() += 1;
    }
    sizes
}

/// What is larger now, what grew most first.
fn differences(before: &Sizes, now: &Sizes) -> Vec<(i64, String)> {
    let size =
        |of: &Sizes, path: &String| i64::try_from(of.get(path).copied().unwrap_or(0)).unwrap();
    let paths: std::collections::BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let is_bounded = |path: &str| BOUNDED.contains(&path.rsplit('.').next().unwrap_or(""));
    let paths = paths.into_iter().filter(|path| !is_bounded(path));
    let differences = paths.map(|path| (size(now, path) - size(before, path), path.clone()));
    let mut differences: Vec<_> = differences.filter(|(by, _)| *by > SLACK).collect();
    differences.sort_by_key(|(by, _)| -by);
    differences
}

#[test]
fn after_each_day_there_is_as_much_as_after_the_day_before() {
    let days = std::env::var("MUSTER_SOAK_DAYS")
        .ok()
        .and_then(|days| days.parse().ok());
    let days: u64 = days.unwrap_or(DAYS);
    let mut driver = world(days);
    let (mut first, mut placed_before) = (None, 0);
    for day in 1..=days {
        // A moment before the next day.
        driver.run(Time(DAY.0 * day - 1_000), |_| ());
        let brain = driver.brain().unwrap();
        brain.scheduler().audit().unwrap();
        let stats = brain.scheduler().stats();
        let placed = stats.placements - placed_before;
        assert!(placed > HOURS * 30, "day {day}: {stats:?}");
        placed_before = stats.placements;
        let worth = brain.scheduler().state().weights().total();
        for (_, queue) in brain.scheduler().state().queues().iter() {
            let (name, flow) = (&queue.name, &queue.account.flow);
            let flow = flow.value(driver.now(), muster::core::state::DEFAULT_HALF_LIFE);
            assert!(
                flow <= worth,
                "day {day}: the flow of {name} is {flow}, of {worth} that there is"
            );
        }
        assert_eq!(stats.tables.get(Table::Pods), 2, "{:?}", stats.tables);
        let controllers = driver.controllers().unwrap();
        let now = (sizes(&format!("{brain:#?}{controllers:#?}")), stats.tables);
        eprintln!(
            "day {day}: {} lines, {:?}",
            now.0.values().sum::<usize>(),
            now.1
        );
        match &first {
            None if day >= WARM => first = Some((now, placed)),
            None => {}
            Some(((before, tables), placed_then)) => {
                // Nothing that is remembered keeps anybody from a place.
                let few = placed * 20 < *placed_then * 19;
                assert!(!few, "day {day}: {placed} were placed, and {placed_then}");
                let other = differences(before, &now.0);
                assert!(other.is_empty(), "day {day} and day {WARM}: {other:#?}");
                assert_eq!(*tables, now.1);
            }
        }
    }
    assert!(days > WARM, "nothing was compared");
}

#[test]
fn what_grows_is_found() {
    #[derive(Debug, Default)]
    struct Book {
        kept: BTreeMap<u32, Vec<u32>>,
        log: Vec<u32>,
    }
    let mut book = Book::default();
    book.kept.insert(7, vec![1]);
    let before = sizes(&format!("{book:#?}"));
    book.log.extend(1..100);
    assert_eq!(differences(&before, &sizes(&format!("{book:#?}"))), []);
    book.kept.insert(8, vec![1, 2]);
    assert_eq!(differences(&before, &sizes(&format!("{book:#?}"))), []);
    book.kept.insert(9, vec![1, 2]);
    let found = differences(&before, &sizes(&format!("{book:#?}")));
    assert!(
        found.iter().all(|(by, path)| *by > 0 && path == "kept"),
        "{found:?}"
    );
}
