//! What slots cost: a pod that claims one among 10,000 in the core, and the reconciler when one of 10,000 pods on
//! slots ends.

#![expect(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "it measures, and a benchmark that cannot go on has failed"
)]

mod support;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use muster::api::kinds::Identity;
use muster::controllers::testbed::{Settings, Testbeds};
use muster::controllers::{Answer, Deed, Machine, Observation, Resource, Write};
use muster::core::engine::Scheduler;
use muster::model::units::{Millis, Time};
use muster::model::{
    Bind, Effect, Event, EvictOutcome, GhostOf, Object, ObjectKey, PodKey, PodSpec, SlotClaim,
    SlotSpec, TestbedSpec,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::{Clock, node, place, small};

/// Nodes.
const NODES: usize = 2_500;
/// Slots.
const SLOTS: usize = 4 * NODES;

/// Pods that end one after the other.
const ENDING: usize = 64;

/// A pod of this name and size.
fn pod(namespace: &str, name: &str, uid: &str, cpu: i64) -> PodSpec {
    let Event::Is(Object::Pod(spec)) = small(1).remove(0) else {
        panic!("a pod");
    };
    let mut spec = *spec;
    spec.key = PodKey {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        uid: uid.to_owned(),
    };
    spec.shape.requests = vec![("cpu".to_owned(), cpu)];
    spec
}

/// The slots of so many testbeds, all held, in the core.
struct Core {
    scheduler: Scheduler,
    clock: Clock,
    testbeds: usize,
    draw: usize,
}

impl Core {
    fn new(testbeds: usize) -> Self {
        let mut scheduler = Scheduler::new(support::trusting());
        for index in 0..NODES {
            scheduler.apply(Time::ZERO, Event::is(node(index)));
        }
        for testbed in 0..testbeds {
            let mine = (0..SLOTS).filter(|slot| slot % testbeds == testbed);
            let slots = mine.map(|slot| SlotSpec {
                position: u32::try_from(slot / testbeds).expect("few"),
                node: format!("node-{}", slot % NODES),
                ghost: format!("ghost-{slot}"),
                occupant: String::new(),
            });
            let name = format!("testbed-{testbed}");
            scheduler.apply(
                Time::ZERO,
                Event::is(TestbedSpec {
                    uid: name.clone(),
                    name,
                    request: vec![("cpu".to_owned(), 4_000)],
                    slots: slots.collect(),
                    ..TestbedSpec::default()
                }),
            );
        }
        let mut core = Self {
            scheduler,
            clock: Clock(2_000),
            testbeds,
            draw: 0,
        };
        let ghosts = (0..SLOTS).map(|slot| core.ghost(slot)).collect();
        let binds = core.clock.hear(&mut core.scheduler, ghosts);
        assert_eq!(binds.len(), SLOTS, "all ghosts are bound");
        core.clock.confirm(&mut core.scheduler, binds);
        assert_eq!(place(&mut core.scheduler), 0);
        core
    }

    /// The ghost of a slot.
    fn ghost(&self, slot: usize) -> Event {
        let uid = format!("ghost-{slot}-{}", self.draw);
        let mut spec = pod("muster-system", &format!("ghost-{slot}"), &uid, 4_000);
        spec.ghost_of = Some(GhostOf {
            testbed: format!("testbed-{}", slot % self.testbeds),
        });
        Event::is(spec)
    }

    /// A pod claims a slot and gets it, ends, and the ghost comes back: how long it takes until its claim is
    /// decided, until it is bound once the ghost has gone, and until the next ghost is bound.
    fn claims(&mut self) -> [Duration; 3] {
        self.draw += 1;
        let slot = self.draw * 7 % SLOTS;
        let name = format!("claims-{}", self.draw);
        let mut spec = pod("team", &name, &name, 4_000);
        spec.shape.claim = Some(Arc::new(SlotClaim {
            namespace: "team".to_owned(),
            testbed: format!("testbed-{}", slot % self.testbeds),
            positions: vec![u32::try_from(slot / self.testbeds).expect("few")],
        }));
        // It stands in nobody's way.
        spec.lifetime = Some(Millis(0));
        let key = spec.key.clone();
        let ghost = self.ghost(slot);
        let start = Instant::now();
        let evicted = self.evicted(Event::is(spec));
        let decided = start.elapsed();
        let gone = evicted.expect("its ghost goes");
        let accepted = Event::EvictResult(gone.clone(), EvictOutcome::Accepted);
        self.clock.hear(&mut self.scheduler, vec![accepted]);
        let gone = Event::Gone(ObjectKey::Pod(gone));
        let (binds, seated) = self.timed(gone);
        assert_eq!(binds.first().map(|bind| &bind.pod), Some(&key));
        self.clock.confirm(&mut self.scheduler, binds);
        self.clock
            .hear(&mut self.scheduler, vec![Event::Gone(ObjectKey::Pod(key))]);
        let (binds, back) = self.timed(ghost);
        assert_eq!(binds.len(), 1, "the ghost is back");
        self.clock.confirm(&mut self.scheduler, binds);
        [decided, seated, back]
    }

    fn timed(&mut self, event: Event) -> (Vec<Bind>, Duration) {
        let start = Instant::now();
        let binds = self.clock.hear(&mut self.scheduler, vec![event]);
        (binds, start.elapsed())
    }

    fn evicted(&mut self, event: Event) -> Option<PodKey> {
        self.clock.apply(&mut self.scheduler, vec![event]);
        self.clock.0 += 1;
        let plan = self.scheduler.cycle(Time(self.clock.0));
        let mut effects = plan.effects.into_iter();
        effects.find_map(|effect| match effect {
            Effect::Evict(evict) => Some(evict.pod),
            _ => None,
        })
    }
}

/// A reconciler whose slots all have a pod, and an API server of a few lines.
struct Reconciler {
    machine: Testbeds,
    /// Testbeds and their slices, by name.
    parts: BTreeMap<String, Value>,
    testbeds: usize,
    versions: u64,
    now: Time,
    draw: usize,
}

impl Reconciler {
    fn new(testbeds: usize) -> Self {
        let mut world = Self {
            machine: Testbeds::new(Settings::default()),
            parts: BTreeMap::new(),
            testbeds,
            versions: 0,
            now: Time(1_700_000_000_000),
            draw: 0,
        };
        for namespace in ["muster-system", "team"] {
            world.tell(
                Resource::Namespaces,
                json!({"metadata": {"name": namespace}}),
            );
        }
        for index in 0..NODES {
            let labels = json!({format!("bed-{}", index % testbeds): index.to_string()});
            let allocatable = json!({"cpu": "64", "memory": "256Gi", "pods": "110"});
            let meta =
                json!({"name": format!("n{index}"), "uid": format!("n{index}"), "labels": labels});
            let node = json!({"metadata": meta, "status": {"allocatable": allocatable}});
            world.tell(Resource::Nodes, node);
        }
        for testbed in 0..testbeds {
            let name = format!("bed-{testbed}");
            let spec = json!({
                "nodeLabel": name, "slotsPerNode": SLOTS / NODES, "resourcesPerSlot": {"cpu": "4"},
            });
            let meta = json!({
                "name": name, "uid": name, "resourceVersion": "1", "generation": 1,
                "creationTimestamp": "2026-01-01T00:00:00Z",
            });
            let testbed = json!({"metadata": meta, "spec": spec});
            world.parts.insert(name, testbed.clone());
            world.tell(Resource::Testbeds, testbed);
        }
        for resource in world.machine.needs() {
            world
                .machine
                .observe(Observation::Synced(resource), world.now);
        }
        world.rest();
        for slot in 0..SLOTS {
            world.occupy(slot);
        }
        world.rest();
        let slots = world.parts.values().flat_map(|part| {
            let lists = ["status", "spec"].map(|one| part[one]["slots"].as_array());
            lists.into_iter().flatten().flatten()
        });
        let occupied = slots
            .filter(|slot| slot["state"] == json!("Occupied"))
            .count();
        assert_eq!(occupied, SLOTS);
        world
    }

    fn tell(&mut self, resource: Resource, object: Value) {
        let news = Observation::read(resource, object).expect("it can be read");
        self.machine.observe(news, self.now);
    }

    /// The pod on a slot of the whole world.
    fn pod_on(&self, slot: usize, phase: &str) -> Value {
        let testbeds = self.testbeds;
        let (testbed, position) = (slot % testbeds, slot / testbeds);
        let of_node = NODES / testbeds;
        let node = position % of_node * testbeds + testbed;
        json!({
            "metadata": {
                "namespace": "team", "name": format!("pod-{slot}"), "uid": format!("pod-{slot}-{}", self.draw),
                "resourceVersion": (self.versions + 1).to_string(),
                "labels": {"muster.dev/testbed": format!("bed-{testbed}"), "muster.dev/slots": position.to_string()},
                "annotations": {"muster.dev/slot": position.to_string()},
            },
            "spec": {
                "nodeName": format!("n{node}"),
                "containers": [{"name": "a", "resources": {"requests": {"cpu": "4"}}}],
            },
            "status": {"phase": phase},
        })
    }

    fn occupy(&mut self, slot: usize) {
        let pod = self.pod_on(slot, "Running");
        self.tell(Resource::Pods, pod);
    }

    fn answer(&mut self, write: &Write) {
        let answer = match &write.deed {
            Deed::Create(body) => {
                self.versions += 1;
                let mut body = body.clone();
                body["metadata"]["uid"] = json!(format!("made-{}", self.versions));
                body["metadata"]["resourceVersion"] = json!(self.versions.to_string());
                if write.on.resource == Resource::TestbedSlices {
                    self.parts.insert(write.on.name.clone(), body.clone());
                }
                let made = |body| Observation::read(write.on.resource, body);
                self.machine
                    .answered(write.ticket, Answer::Done(made(body.clone())), self.now);
                // The watch tells of it, too.
                if let Some(news) = made(body) {
                    self.machine.observe(news, self.now);
                }
                return;
            }
            Deed::PatchStatus { operations, .. } | Deed::Patch { operations, .. } => {
                self.versions += 1;
                let part = self.parts.get_mut(&write.on.name).expect("it is there");
                for operation in operations {
                    patch(part, operation);
                }
                part["metadata"]["resourceVersion"] = json!(self.versions.to_string());
                Answer::Done(Observation::read(write.on.resource, part.clone()))
            }
            Deed::Delete { uid } => {
                let name = &write.on;
                let identity = Identity {
                    namespace: name.namespace.clone(),
                    name: name.name.clone(),
                    uid: uid.clone(),
                };
                let gone = Observation::Gone(name.resource, identity);
                self.machine.observe(gone, self.now);
                Answer::Done(None)
            }
        };
        self.machine.answered(write.ticket, answer, self.now);
    }

    /// All that is due is done.
    fn rest(&mut self) {
        loop {
            let writes = self.machine.due(self.now, 1_000);
            if writes.is_empty() {
                match self.machine.wakes_at() {
                    Some(at) if at < self.now + Millis(60_000) => {
                        self.now = self.now.max(at) + Millis(1);
                    }
                    _ => return,
                }
            }
            for write in writes {
                self.answer(&write);
            }
        }
    }

    /// Pods on slots end one after the other, each with a turn of the reconciler, and others come in their place:
    /// how long it takes on average until a ghost is asked for, with what statuses and slices say of the first ones.
    fn some_end(&mut self) -> Duration {
        let slots: Vec<usize> = (0..ENDING)
            .map(|one| (self.draw + one) * 7 % SLOTS)
            .collect();
        let ended = slots.iter().map(|slot| self.pod_on(*slot, "Succeeded"));
        let news = |ended| Observation::read(Resource::Pods, ended).expect("it can be read");
        let all: Vec<Observation> = ended.map(news).collect();
        let (mut took, mut writes) = (Duration::ZERO, Vec::new());
        for news in all {
            let start = Instant::now();
            self.machine.observe(news, self.now);
            let due = self.machine.due(self.now, 64);
            took += start.elapsed();
            let creates = |one: &&Write| matches!(one.deed, Deed::Create(_));
            assert_eq!(due.iter().filter(creates).count(), 1, "its ghost");
            writes.extend(due);
        }
        let statuses = |one: &&Write| one.on.resource == Resource::Testbeds;
        let statuses = writes.iter().filter(statuses).count();
        assert_eq!(statuses, self.testbeds, "a status each");
        for write in &writes {
            self.answer(write);
        }
        self.rest();
        self.draw += ENDING;
        slots.into_iter().for_each(|slot| self.occupy(slot));
        self.rest();
        took / u32::try_from(ENDING).expect("few")
    }
}

/// One operation of a JSON patch.
fn patch(object: &mut Value, operation: &Value) {
    let path = operation["path"].as_str().expect("a path");
    let value = operation["value"].clone();
    let (parent, last) = path.rsplit_once('/').expect("a path");
    match object.pointer_mut(parent).expect("the parent is there") {
        Value::Object(fields) => _ = fields.insert(last.to_owned(), value),
        Value::Array(items) => items[last.parse::<usize>().expect("an index")] = value,
        other => panic!("{other}"),
    }
}

fn core(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("slots/a-claim-among-10000");
    group.sample_size(20);
    for testbeds in [1, 10] {
        let mut core = Core::new(testbeds);
        for (index, name) in ["decided", "bound", "ghost-back"].into_iter().enumerate() {
            group.bench_function(BenchmarkId::new(name, testbeds), |bench| {
                bench.iter_custom(|times| (0..times).map(|_| core.claims()[index]).sum());
            });
        }
    }
    group.finish();
}

fn reconciler(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("slots/one-of-10000-pods-ends");
    group.sample_size(20);
    for testbeds in [1, 10] {
        let mut world = Reconciler::new(testbeds);
        group.bench_function(BenchmarkId::from_parameter(testbeds), |bench| {
            bench.iter_custom(|times| (0..times).map(|_| world.some_end()).sum());
        });
    }
    group.finish();
}

criterion_group!(benches, core, reconciler);
criterion_main!(benches);
