//! A world of Testbeds: nodes, ghosts that are bound as by a scheduler, pods that claim slots.

use crate::testbed::{Settings, Testbeds};
use crate::{Deed, Resource, testing};
use muster_api::crd::{SlotState, Testbed, TestbedSlice, TestbedStatus};
use muster_api::slices::{Sizes, Slices};
use serde_json::{Value, json};
use std::collections::BTreeSet;

pub(super) use crate::testing::Key;

/// The node of a ghost in its spec.
const NODE: &str = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution\
    /nodeSelectorTerms/0/matchFields/0/values/0";

const SMALL: Sizes = Sizes {
    status: 3,
    slice: 2,
    most: 100,
};

pub(super) type World = testing::World<Testbeds>;

impl World {
    pub(super) fn new() -> Self {
        Self::with(Settings::default())
    }

    /// One whose Testbeds say three slots themselves, and two in each slice.
    pub(super) fn of_small_parts() -> Self {
        Self::with(Settings {
            sizes: SMALL,
            ..Settings::default()
        })
    }

    pub(super) fn with(settings: Settings) -> Self {
        let mut world = Self::made_by(move || Testbeds::new(settings.clone()));
        // Ghosts that a status has named.
        let mut named = BTreeSet::new();
        world.witnessed(move |write, after| match &write.deed {
            Deed::Create(_) if write.on.resource == Resource::TestbedSlices => {
                named.extend(ghosts_of(after));
            }
            Deed::Create(_) => {
                let name = &write.on.name;
                assert!(named.contains(name), "{name} was made before it was named");
            }
            Deed::PatchStatus { .. } | Deed::Patch { .. } => named.extend(ghosts_of(after)),
            Deed::Delete { .. } => {}
        });
        for namespace in ["muster-system", "team", "other"] {
            let meta = json!({"name": namespace, "labels": {"name": namespace}});
            world.put(Resource::Namespaces, json!({"metadata": meta}));
        }
        world.restart();
        world
    }

    /// Everything is told and carried out, until nothing happens any more. Ghosts are bound as by a scheduler.
    pub(super) fn rest(&mut self) {
        self.rest_with(bind_ghosts);
    }

    /// Binds ghosts whose node has room for them. Whether one was bound.
    pub(super) fn bind_ghosts(&mut self) -> bool {
        bind_ghosts(self)
    }

    /// Binds all ghosts to their nodes, whether there is room or not.
    pub(super) fn bind_all(&mut self) {
        let ghosts = self
            .pods()
            .filter(|(_, pod)| is_ghost(pod) && pod["spec"]["nodeName"].is_null());
        let ghosts: Vec<Key> = ghosts.map(|(key, _)| key.clone()).collect();
        for key in ghosts {
            let node = self.objects[&key].pointer(NODE).unwrap().clone();
            self.edit(&key, |pod| pod["spec"]["nodeName"] = node);
        }
    }

    pub(super) fn pods(&self) -> impl Iterator<Item = (&Key, &Value)> {
        self.of(Resource::Pods)
    }

    /// The names of the ghosts that there are.
    pub(super) fn ghosts(&self) -> Vec<String> {
        let pods = self.pods().filter(|(_, pod)| is_ghost(pod));
        pods.map(|(key, _)| key.2.clone()).collect()
    }

    pub(super) fn node(&mut self, name: &str, id: Option<&str>, cpu: i64) {
        let labels = id.map_or(json!({}), |id| json!({"bed": id}));
        let allocatable = json!({"cpu": cpu.to_string(), "memory": "8Gi", "pods": "110"});
        let status = json!({"allocatable": allocatable});
        let node = json!({"metadata": {"name": name, "labels": labels}, "status": status});
        self.put(Resource::Nodes, node);
    }

    pub(super) fn testbed(&mut self, name: &str, spec: Value) {
        let key = testbed_key(name);
        let status = self.objects.get(&key).map(|one| one["status"].clone());
        let mut testbed = json!({
            "apiVersion": "muster.dev/v1alpha1", "kind": "Testbed",
            "metadata": {"name": name}, "spec": spec,
        });
        if let Some(status) = status.filter(|status| !status.is_null()) {
            testbed["status"] = status;
        }
        self.put(Resource::Testbeds, testbed);
    }

    /// A pod of namespace `team` that claims slots of `bed`.
    pub(super) fn claimant(&mut self, name: &str, slots: &str, node: &str) -> Key {
        let labels = json!({"muster.dev/testbed": "bed", "muster.dev/slots": slots});
        self.put(
            Resource::Pods,
            json!({
                "metadata": {"namespace": "team", "name": name, "labels": labels},
                "spec": {
                    "nodeName": node,
                    "containers": [{"name": "a", "resources": {"requests": {"cpu": "1"}}}],
                },
                "status": {"phase": if node.is_empty() { "Pending" } else { "Running" }},
            }),
        );
        pod_key("team", name)
    }

    /// As the scheduler does: the ghost of a slot goes, and a pod is bound in its place.
    pub(super) fn take(&mut self, name: &str, slot: u32) -> Key {
        let seat = self.slot("bed", slot);
        let ghost = pod_key("muster-system", &seat.ghost);
        self.remove(&ghost);
        let pod = self.claimant(name, &slot.to_string(), &seat.node_name);
        self.edit(&pod, |pod| {
            pod["metadata"]["annotations"] = json!({"muster.dev/slot": slot.to_string()});
        });
        pod
    }

    pub(super) fn status(&self, testbed: &str) -> TestbedStatus {
        let object = self.objects[&testbed_key(testbed)].clone();
        let testbed: Testbed = serde_json::from_value(object).unwrap();
        let mut slices = Slices::new(self.machine.settings.sizes);
        for slice in self.slices() {
            slices.is(&slice);
        }
        slices.whole(&testbed).status.unwrap()
    }

    /// All slices.
    pub(super) fn slices(&self) -> Vec<TestbedSlice> {
        let all = self.of(Resource::TestbedSlices);
        all.map(|(_, one)| serde_json::from_value(one.clone()).unwrap())
            .collect()
    }

    /// The names of the slices that there are, and how many slots each has.
    pub(super) fn sizes_of_slices(&self) -> Vec<(String, usize)> {
        let all = self.slices().into_iter();
        all.map(|one| (one.metadata.name.unwrap(), one.spec.slots.len()))
            .collect()
    }

    pub(super) fn slot(&self, testbed: &str, number: u32) -> muster_api::crd::Slot {
        let slots = self.status(testbed).slots;
        let mut found = slots
            .into_iter()
            .filter(|one| one.position == number.cast_signed());
        found.next().unwrap()
    }

    /// The slots in short: `0 node-a/0 Free`, with the pod of those that are not free.
    pub(super) fn slots(&self, testbed: &str) -> Vec<String> {
        let slots = self.status(testbed).slots;
        let words = slots.iter().map(|one| {
            let who = one
                .pod_name
                .clone()
                .filter(|_| one.state != SlotState::Free);
            let (at, on) = (&one.node_name, one.node_position);
            let words = format!(
                "{} {at}/{on} {:?} {}",
                one.position,
                one.state,
                who.unwrap_or_default()
            );
            words.trim_end().to_owned()
        });
        words.collect()
    }

    /// Reason and message of the condition Ready.
    pub(super) fn ready(&self, testbed: &str) -> (String, String) {
        let status = self.status(testbed);
        let one = &status.conditions[0];
        (one.reason.clone(), one.message.clone())
    }
}

pub(super) fn spec(per_node: u32, cpu: &str) -> Value {
    json!({"nodeLabel": "bed", "slotsPerNode": per_node, "resourcesPerSlot": {"cpu": cpu}})
}

pub(super) fn node_key(name: &str) -> Key {
    (Resource::Nodes, String::new(), name.to_owned())
}

pub(super) fn testbed_key(name: &str) -> Key {
    (Resource::Testbeds, String::new(), name.to_owned())
}

pub(super) fn slice_key(name: &str) -> Key {
    (Resource::TestbedSlices, String::new(), name.to_owned())
}

/// The ghosts that an object names.
fn ghosts_of(object: Option<&Value>) -> Vec<String> {
    let slots = ["/status/slots", "/spec/slots"].map(|path| object?.pointer(path)?.as_array());
    let slots = slots.into_iter().flatten().flatten();
    let ghosts = slots.filter_map(|one| one["ghost"].as_str());
    ghosts.map(str::to_owned).collect()
}

pub(super) fn pod_key(namespace: &str, name: &str) -> Key {
    (Resource::Pods, namespace.to_owned(), name.to_owned())
}

pub(super) fn is_ghost(pod: &Value) -> bool {
    pod["metadata"]["namespace"] == json!("muster-system")
        && pod.pointer("/metadata/ownerReferences/0/kind") == Some(&json!("Testbed"))
}

fn cpu_of(pod: &Value) -> i64 {
    let requests = &pod["spec"]["containers"][0]["resources"]["requests"];
    requests["cpu"].as_str().unwrap_or("0").parse().unwrap()
}

/// Binds ghosts whose node has room for them. Whether one was bound.
fn bind_ghosts(world: &mut World) -> bool {
    let ghosts = world.of(Resource::Pods).filter(|(_, pod)| is_ghost(pod));
    let ghosts: Vec<Key> = ghosts.map(|(key, _)| key.clone()).collect();
    let mut some = false;
    for key in ghosts {
        let pod = &world.objects[&key];
        if !pod["spec"]["nodeName"].is_null() {
            continue;
        }
        let node = pod.pointer(NODE).unwrap().as_str().unwrap().to_owned();
        if world.objects.contains_key(&node_key(&node)) && free_on(world, &node) >= cpu_of(pod) {
            world.edit(&key, |pod| pod["spec"]["nodeName"] = json!(node));
            some = true;
        }
    }
    some
}

/// CPUs that are free on a node.
fn free_on(world: &World, node: &str) -> i64 {
    let has = &world.objects[&node_key(node)]["status"]["allocatable"]["cpu"];
    let has: i64 = has.as_str().unwrap().parse().unwrap();
    let here = world.of(Resource::Pods);
    let here = here.filter(|(_, pod)| pod["spec"]["nodeName"] == json!(node));
    let here = here.filter(|(_, pod)| pod["status"]["phase"] != json!("Succeeded"));
    has - here.map(|(_, pod)| cpu_of(pod)).sum::<i64>()
}
