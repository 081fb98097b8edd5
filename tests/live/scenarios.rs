//! Plays every file of `tests/scenarios` on a real API server and checks what it expects.
//!
//! What exists at the start exists before Muster does, as on virtual time; each file gets a new
//! Muster. Needs what `hack/build-control-plane` builds. `SCENARIO=part-of-a-name` plays few.

use crate::admin::Admin;
use crate::expect::{Expect, Observed, ObservedGang, ObservedPod, short_name, split};
use crate::facts::Look;
use crate::live::{Cluster, LIMIT, Muster, condition, eventually, text};
use muster::api::{Reading, duration};
use muster::sim::scenario::{Source, stamped};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

/// So many control planes play the files side by side: most of their time is waiting.
const PLANES: usize = 2;
/// So the files begin that need controllers of Kubernetes: those that bind claims, those of Jobs.
const WITH_CONTROLLERS: [&str; 2] = ["volume-", "plan-"];
/// How often is looked.
const LOOK: Duration = Duration::from_millis(50);
/// What never happens has so long to happen after the last thing that the file does, and what
/// holds must hold for so long.
const STILL: Duration = Duration::from_secs(2);

fn files() -> Vec<PathBuf> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scenarios");
    let wanted = std::env::var("SCENARIO").unwrap_or_default();
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "yaml"))
        .filter(|path| path.to_string_lossy().contains(&wanted))
        .collect();
    files.sort();
    files
}

#[test]
fn every_scenario_comes_out_as_it_expects() {
    let wrong = Mutex::new(Vec::new());
    let (controlled, others): (Vec<_>, Vec<_>) = files().into_iter().partition(|path| {
        let name = path.file_name().unwrap().to_string_lossy();
        WITH_CONTROLLERS.iter().any(|one| name.starts_with(one))
    });
    let planes = PLANES.min(others.len());
    let (others, controlled) = (
        Mutex::new(others.into_iter()),
        Mutex::new(controlled.into_iter()),
    );
    let tell = |lines| wrong.lock().unwrap().extend::<Vec<String>>(lines);
    scope(|scope| {
        for _ in 0..planes {
            scope.spawn(|| play(false, || others.lock().unwrap().next(), tell));
        }
        if controlled.lock().unwrap().len() > 0 {
            scope.spawn(|| play(true, || controlled.lock().unwrap().next(), tell));
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Plays one file after the other on a control plane of its own, with the controllers of Kubernetes or
/// without, and tells what does not hold.
fn play(controllers: bool, next: impl Fn() -> Option<PathBuf>, tell: impl Fn(Vec<String>)) {
    let cluster = Cluster::beside_others(|builder| {
        let builder = builder.upstream_pod_groups(true);
        builder.controller_manager(controllers)
    });
    cluster.apply_folder("crds");
    cluster.apply_folder("deploy/compat");
    cluster.apply(include_str!("../support/topologies-of-others.yaml"));
    cluster.apply(include_str!("../support/mpi-jobs.yaml"));
    let admin = Admin::of(&cluster.plane);
    while let Some(path) = next() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let found = play_file(&cluster, &admin, &path, &name).unwrap_or_else(|error| vec![error]);
        let wrong: Vec<String> = found.iter().map(|line| format!("{name}: {line}")).collect();
        if wrong.is_empty() {
            eprintln!("ok    {name}");
        }
        for line in &wrong {
            eprintln!("WRONG {line}");
        }
        tell(wrong);
    }
}

/// Plays one file; says what does not hold.
fn play_file(
    cluster: &Cluster,
    admin: &Admin,
    path: &Path,
    name: &str,
) -> Result<Vec<String>, String> {
    let text = std::fs::read_to_string(path).unwrap();
    let (scenario, expect) = split(&text)?;
    let reading = expect.reading()?;
    Ok(Play::new(cluster, admin, name, scenario, &reading)?.run(&expect))
}

/// Something a file does.
struct Act {
    at: Duration,
    object: Value,
    deletes: bool,
}

/// One file on its way.
struct Play<'a> {
    cluster: &'a Cluster,
    admin: &'a Admin,
    start: Instant,
    acts: Vec<Act>,
    /// Created, with their paths; pods that we did not delete come back when evicted.
    created: BTreeMap<String, Value>,
    namespaces: BTreeSet<String>,
    seen: Observed,
    /// Of what was seen, by kind and name.
    uids: BTreeMap<String, String>,
}

impl<'a> Play<'a> {
    #[expect(clippy::disallowed_methods, reason = "plays in real time")]
    fn new(
        cluster: &'a Cluster,
        admin: &'a Admin,
        name: &str,
        scenario: &str,
        reading: &Reading,
    ) -> Result<Self, String> {
        let source = Source {
            name: name.to_owned(),
            text: scenario.to_owned(),
        };
        let mut objects = stamped(&[source], reading).map_err(|error| error.to_string())?;
        // Of one name the earlier life ends before the next begins.
        objects.sort_by_key(|object| time(object, "at"));
        let mut acts = Vec::new();
        for object in objects {
            if let Some(at) = time(&object, "delete-at") {
                let object = object.clone();
                let deletes = true;
                acts.push(Act {
                    at,
                    object,
                    deletes,
                });
            }
            let at = time(&object, "at").unwrap_or_default();
            let deletes = false;
            acts.push(Act {
                at,
                object,
                deletes,
            });
        }
        acts.sort_by_key(|act| act.at);
        let namespaces = acts.iter().map(|act| namespace(&act.object));
        Ok(Self {
            cluster,
            admin,
            start: Instant::now(),
            namespaces: namespaces.chain(["default".to_owned()]).collect(),
            acts,
            created: BTreeMap::new(),
            seen: Observed::default(),
            uids: BTreeMap::new(),
        })
    }

    /// The controllers, if the file has anything for them to do.
    fn controllers(&self) -> Option<Muster> {
        let kinds = self.acts.iter().map(|act| &act.object["kind"]);
        let has_some = kinds.into_iter().any(|kind| kind == "Testbed");
        has_some.then(|| {
            self.cluster.apply(FOR_GHOSTS);
            let kubeconfig = self.cluster.plane.kubeconfig();
            self.cluster.controllers_as(&kubeconfig, None)
        })
    }

    /// Plays the file; says what does not hold.
    #[expect(clippy::disallowed_methods, reason = "plays in real time")]
    fn run(mut self, expect: &Expect) -> Vec<String> {
        let controllers = self.controllers();
        let mut acts = std::mem::take(&mut self.acts).into_iter().peekable();
        while let Some(act) = acts.next_if(|act| act.at.is_zero()) {
            self.act(&act);
        }
        let kubeconfig = self.cluster.plane.kubeconfig();
        let (policy, reading) = (expect.policy().unwrap(), expect.reading().unwrap());
        let muster = self.cluster.muster_with(&kubeconfig, None, |options| {
            (options.policy, options.reading) = (policy, reading);
        });
        eventually("Muster is ready", || muster.health.problems().is_empty());
        self.start = Instant::now();
        let limit = Duration::from_secs(expect.within_seconds);
        let mut quiet_since = self.start;
        let mut wrong;
        loop {
            while let Some(act) = acts.next_if(|act| act.at <= self.start.elapsed()) {
                self.act(&act);
                quiet_since = Instant::now();
            }
            self.provision();
            self.look();
            if controllers.is_some() {
                self.look_at_slots(self.now());
            }
            wrong = expect.check(&self.seen);
            if !wrong.is_empty() {
                quiet_since = Instant::now();
            }
            let held = acts.peek().is_none() && quiet_since.elapsed() > STILL;
            if held || self.start.elapsed() > limit + STILL {
                break;
            }
            sleep(LOOK);
        }
        if let Some(controllers) = controllers {
            self.end_schedulings();
            controllers.stop();
            self.let_ghosts_go();
        }
        muster.stop();
        self.clean_up();
        wrong
    }

    fn act(&mut self, act: &Act) {
        let path = format!(
            "{}/{}",
            path(&act.object),
            text(&act.object, "/metadata/name")
        );
        if act.deletes {
            self.created.remove(&path);
            return self.admin.delete(&path);
        }
        match act.object["kind"].as_str() {
            Some("Namespace") => self.admin.apply(&path, &act.object),
            Some("Node") if self.created.contains_key(&path) => self.edit_node(&path, &act.object),
            Some("Node") => {
                let node = |_| act.object.clone();
                self.cluster.plane.create_nodes(1, node).unwrap();
            }
            Some("PodDisruptionBudget") => self.apply_with_status(&path, &act.object),
            Some("Queue") if act.object["apiVersion"] == "scheduling.volcano.sh/v1beta1" => {
                self.apply_with_status(&path, &act.object);
            }
            _ => self.apply(&path, &act.object),
        }
        self.created.insert(path, act.object.clone());
    }

    /// Creates or edits an object. Admission knows what was just created a moment later.
    fn apply(&self, path: &str, object: &Value) {
        eventually(&format!("{path} is taken"), || {
            let refused = self.admin.try_apply(path, object).err();
            if let Some(refused) = &refused {
                eprintln!("{refused}");
            }
            refused.is_none()
        });
    }

    /// With what a controller that does not run here would write.
    fn apply_with_status(&self, path: &str, object: &Value) {
        self.apply(path, object);
        if !object["status"].is_null() {
            let mut found = self.cluster.plane.get(path).unwrap();
            found["status"] = object["status"].clone();
            self.admin.replace(&format!("{path}/status"), &found);
        }
    }

    /// A node was not applied but created, and what it offers is its status.
    fn edit_node(&self, path: &str, object: &Value) {
        let mut node = self.cluster.plane.get(path).unwrap();
        // kwok writes too, and never what is written here.
        node["metadata"]["resourceVersion"] = Value::Null;
        node["metadata"]["labels"] = object["metadata"]["labels"].clone();
        node["spec"] = object["spec"].clone();
        self.admin.replace(path, &node);
        if !object["status"].is_null() {
            for field in ["allocatable", "capacity"] {
                node["status"][field] = object["status"][field].clone();
            }
            self.admin.replace(&format!("{path}/status"), &node);
        }
    }

    /// Makes volumes, as a provisioner would: for claims of whose class somebody does, and for which a
    /// node was chosen if their class waits for that.
    fn provision(&self) {
        let classes = self.created.values();
        let classes: Vec<&Value> = (classes.filter(|one| one["kind"] == "StorageClass"))
            .filter(|class| class["provisioner"] != "kubernetes.io/no-provisioner")
            .collect();
        if classes.is_empty() {
            return;
        }
        for claim in self.list(CLAIMS) {
            let spec = &claim["spec"];
            let name = &spec["storageClassName"];
            let mut classes = classes.iter();
            let Some(class) = classes.find(|one| one["metadata"]["name"] == *name) else {
                continue;
            };
            let chosen = &claim["metadata"]["annotations"]["volume.kubernetes.io/selected-node"];
            let waits = class["volumeBindingMode"] == "WaitForFirstConsumer" && chosen.is_null();
            if waits || !spec["volumeName"].is_null() {
                continue;
            }
            let (meta, uid) = (&claim["metadata"], text(&claim, "/metadata/uid"));
            let name = format!("pvc-{uid}");
            let volume = json!({
                "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
                "spec": {
                    "capacity": {"storage": spec["resources"]["requests"]["storage"]},
                    "accessModes": spec["accessModes"],
                    "storageClassName": spec["storageClassName"],
                    "persistentVolumeReclaimPolicy": "Retain",
                    "csi": {"driver": class["provisioner"], "volumeHandle": uid},
                    "claimRef": {
                        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "uid": uid,
                        "namespace": meta["namespace"], "name": meta["name"],
                    },
                },
            });
            let path = format!("{VOLUMES}/{name}");
            if self.cluster.plane.get(&path).is_err() {
                self.apply(&path, &volume);
            }
        }
    }

    /// How long it has been played, in milliseconds.
    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap()
    }

    fn look(&mut self) {
        let now = self.now();
        let mut there = BTreeSet::new();
        for namespace in self.namespaces.clone() {
            let base = format!("/namespaces/{namespace}");
            for mut pod in self.list(&format!("/api/v1{base}/pods")) {
                (pod["apiVersion"], pod["kind"]) = ("v1".into(), "Pod".into());
                there.insert(self.look_at_pod(&pod, now));
            }
            for (group, kind, plural) in GANGS {
                for mut gang in self.list(&format!("/apis/{group}{base}/{plural}")) {
                    // The items of a list do not say what they are.
                    (gang["apiVersion"], gang["kind"]) = (group.into(), kind.into());
                    self.look_at_gang(&gang, now);
                }
            }
        }
        let gone: Vec<String> = self.seen.pods.keys().cloned().collect();
        for name in gone.into_iter().filter(|name| !there.contains(name)) {
            self.look_for_lost_pod(&name, now);
        }
    }

    /// Looks at what the controllers write, if they are there.
    fn look_at_slots(&mut self, now: u64) {
        let mut look = Look::default();
        for (kind, path) in OF_SLOTS {
            for object in self.list(path) {
                look.see(kind, &object);
            }
        }
        self.seen.facts.add(look, now);
    }

    fn list(&self, path: &str) -> Vec<Value> {
        let list = self.cluster.plane.get(path).unwrap();
        list["items"].as_array().cloned().unwrap_or_default()
    }

    fn look_at_pod(&mut self, pod: &Value, now: u64) -> String {
        let name = full_name(pod);
        let is_new = self.is_new(pod);
        let seen = self.seen.pods.entry(name.clone()).or_default();
        if is_new {
            *seen = ObservedPod::default();
        }
        seen.gang = gang_of(pod);
        seen.node = pod["spec"]["nodeName"].as_str().map(str::to_owned);
        if seen.node.is_some() {
            seen.bound_at.get_or_insert(now);
        }
        if matches!(
            pod["status"]["phase"].as_str(),
            Some("Succeeded" | "Failed")
        ) {
            seen.ended_at.get_or_insert(now);
        }
        seen.message = condition(&pod["status"], "PodScheduled")
            .filter(|found| found["status"] == "False")
            .map(|found| text(found, "/message"));
        name
    }

    /// Whether an object is another one than was last seen under its kind and name.
    fn is_new(&mut self, object: &Value) -> bool {
        let name = format!("{} {}", path(object), text(object, "/metadata/name"));
        let uid = text(object, "/metadata/uid");
        self.uids.insert(name, uid.clone()) != Some(uid)
    }

    fn look_at_gang(&mut self, gang: &Value, now: u64) {
        let name = full_name(gang);
        let (minimum, is_new) = (minimum_of(gang), self.is_new(gang));
        let members = self
            .seen
            .pods
            .values()
            .filter(|pod| pod.gang.as_ref() == Some(&name));
        let bound = members.filter(|pod| pod.bound_at.is_some()).count() as u64;
        let seen: &mut ObservedGang = self.seen.gangs.entry(name).or_default();
        if is_new {
            *seen = ObservedGang::default();
        }
        if minimum > 0 && bound >= minimum {
            seen.scheduled_at.get_or_insert(now);
        }
        seen.phase = gang["status"]["phase"].as_str().map(str::to_owned);
        let hops = gang["status"]["maxHops"].as_u64();
        seen.hops = hops.and_then(|hops| u32::try_from(hops).ok()).or(seen.hops);
        let conditions = gang["status"]["conditions"].as_array();
        let says =
            |found: &Value| format!("{}: {}", text(found, "/reason"), text(found, "/message"));
        let open = |found: &&Value| {
            let kind = found["type"].as_str();
            found["status"] == "False" || matches!(kind, Some("Unschedulable" | "Disrupted"))
        };
        let open = conditions.into_iter().flatten().filter(open);
        seen.says = open.map(says).collect::<Vec<_>>().join("\n");
    }

    /// A pod that is gone has ended; if nobody but Muster deleted it, it is made again.
    fn look_for_lost_pod(&mut self, name: &str, now: u64) {
        let Some(seen) = self.seen.pods.get_mut(name) else {
            return;
        };
        if seen.bound_at.is_some() {
            seen.ended_at.get_or_insert(now);
        }
        let ours = |object: &&Value| object["kind"] == "Pod" && full_name(object) == name;
        let back = self.created.iter().find(|(_, object)| ours(object));
        if let Some((path, object)) = back.filter(|(_, object)| returns(object)) {
            *seen = ObservedPod::default();
            self.apply(path, object);
        }
    }

    /// Schedulings give back what they have as long as their controllers run.
    fn end_schedulings(&self) {
        let of_a_plan = ["BatchJob", "Scheduling"];
        let plans = self.created.iter();
        for (path, _) in plans.filter(|(_, object)| {
            let kind = object["kind"].as_str();
            kind.is_some_and(|kind| of_a_plan.contains(&kind))
        }) {
            self.admin.delete(path);
        }
        for path in [SCHEDULINGS, BATCH_JOBS, "/apis/batch/v1/jobs"] {
            eventually(&format!("nothing is left in {path}"), || {
                self.list(path).is_empty()
            });
        }
    }

    /// Nobody collects garbage here.
    fn let_ghosts_go(&self) {
        for ghost in self.list(GHOSTS) {
            self.admin
                .delete(&format!("{GHOSTS}/{}", text(&ghost, "/metadata/name")));
        }
    }

    fn clean_up(&self) {
        for (path, object) in &self.created {
            if object["kind"] == "Namespace" {
                let name = &object["metadata"]["name"];
                let bare =
                    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
                self.admin.apply(path, &bare);
            } else {
                if object["apiVersion"] == UPSTREAM {
                    // In a cluster its controller does that, once its pods are gone.
                    self.admin.let_go(path);
                }
                self.admin.delete(path);
            }
        }
        for volume in self.list(VOLUMES) {
            self.admin
                .delete(&format!("{VOLUMES}/{}", text(&volume, "/metadata/name")));
        }
        // What one file leaves behind takes part in the next.
        let groups = GANGS.map(|(group, _, plural)| format!("/apis/{group}/{plural}"));
        let others = ["/api/v1/pods", "/api/v1/nodes"].into_iter();
        let others = others.chain(QUEUES).map(str::to_owned);
        let topologies = TOPOLOGIES.map(str::to_owned);
        let storage = STORAGE.map(str::to_owned);
        let all = groups.into_iter().chain(others).chain(topologies);
        for path in all.chain(storage) {
            let took = eventually(&format!("nothing is left in {path}"), || {
                self.list(&path).is_empty()
            });
            assert!(took < LIMIT);
        }
    }
}

/// Where Kubernetes has PodGroups of its own.
const UPSTREAM: &str = "scheduling.k8s.io/v1beta1";

/// The kinds of objects that define gangs: group and version, kind, and what it is called in paths.
const GANGS: [(&str, &str, &str); 5] = [
    ("muster.dev/v1alpha1", "PodGroup", "podgroups"),
    ("muster.dev/v1alpha1", "SchedulingSpec", "schedulingspecs"),
    ("scheduling.volcano.sh/v1beta1", "PodGroup", "podgroups"),
    ("scheduling.x-k8s.io/v1alpha1", "PodGroup", "podgroups"),
    (UPSTREAM, "PodGroup", "podgroups"),
];

/// Where claims and volumes are, and what nodes can attach.
const STORAGE: [&str; 6] = [
    CLAIMS,
    VOLUMES,
    "/apis/storage.k8s.io/v1/csinodes",
    "/apis/storage.k8s.io/v1/csidrivers",
    "/apis/storage.k8s.io/v1/csistoragecapacities",
    "/apis/storage.k8s.io/v1/volumeattachments",
];
const CLAIMS: &str = "/api/v1/persistentvolumeclaims";
const VOLUMES: &str = "/api/v1/persistentvolumes";

/// What has to be there before ghosts are; the rest of `deploy/` is of no use here.
const FOR_GHOSTS: &str = "
apiVersion: v1
kind: Namespace
metadata: {name: muster-system}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: muster-ghost}
value: -1000000000
preemptionPolicy: Never
";
const GHOSTS: &str = "/api/v1/namespaces/muster-system/pods";

/// What is written by the controllers.
const OF_SLOTS: [(&str, &str); 4] = [
    ("BatchJob", BATCH_JOBS),
    ("Scheduling", SCHEDULINGS),
    ("Testbed", "/apis/muster.dev/v1alpha1/testbeds"),
    ("TestbedSlice", "/apis/muster.dev/v1alpha1/testbedslices"),
];
const BATCH_JOBS: &str = "/apis/muster.dev/v1alpha1/batchjobs";
const SCHEDULINGS: &str = "/apis/muster.dev/v1alpha1/schedulings";

const QUEUES: [&str; 2] = [
    "/apis/muster.dev/v1alpha1/queues",
    "/apis/scheduling.volcano.sh/v1beta1/queues",
];
const TOPOLOGIES: [&str; 4] = [
    "/apis/muster.dev/v1alpha1/topologies",
    "/apis/kueue.x-k8s.io/v1beta2/topologies",
    "/apis/kai.scheduler/v1alpha1/topologies",
    "/apis/topology.volcano.sh/v1alpha1/hypernodes",
];

/// Where objects of this kind and namespace are.
fn path(object: &Value) -> String {
    let version = text(object, "/apiVersion");
    let base = match version.as_str() {
        "v1" => "/api/v1".to_owned(),
        version => format!("/apis/{version}"),
    };
    let scoped = |kind: &str| format!("{base}/namespaces/{}/{kind}", namespace(object));
    match object["kind"].as_str().unwrap() {
        "Node" => format!("{base}/nodes"),
        "Namespace" => format!("{base}/namespaces"),
        "PriorityClass" => format!("{base}/priorityclasses"),
        "Queue" => format!("{base}/queues"),
        "Testbed" => format!("{base}/testbeds"),
        "Topology" => format!("{base}/topologies"),
        "HyperNode" => format!("{base}/hypernodes"),
        "Pod" => scoped("pods"),
        "PodGroup" => scoped("podgroups"),
        "SchedulingSpec" => scoped("schedulingspecs"),
        "BatchJob" => scoped("batchjobs"),
        "MPIJob" => scoped("mpijobs"),
        "Scheduling" => scoped("schedulings"),
        "PodDisruptionBudget" => scoped("poddisruptionbudgets"),
        "PersistentVolumeClaim" => scoped("persistentvolumeclaims"),
        "PersistentVolume" => format!("{base}/persistentvolumes"),
        "StorageClass" => format!("{base}/storageclasses"),
        "CSINode" => format!("{base}/csinodes"),
        "CSIDriver" => format!("{base}/csidrivers"),
        "CSIStorageCapacity" => scoped("csistoragecapacities"),
        "VolumeAttachment" => format!("{base}/volumeattachments"),
        kind => panic!("no scenario uses {kind} yet"),
    }
}

fn namespace(object: &Value) -> String {
    let namespace = object["metadata"]["namespace"].as_str();
    namespace.unwrap_or("default").to_owned()
}

fn full_name(object: &Value) -> String {
    short_name(&namespace(object), &text(object, "/metadata/name"))
}

/// The gang that a pod names, by any convention.
fn gang_of(pod: &Value) -> Option<String> {
    let meta = &pod["metadata"];
    let name = meta["labels"]["muster.dev/pod-group"]
        .as_str()
        .or(pod["spec"]["schedulingGroup"]["podGroupName"].as_str())
        .or(meta["annotations"]["scheduling.k8s.io/group-name"].as_str())
        .or(meta["annotations"]["scheduling.volcano.sh/group-name"].as_str())
        .or(meta["labels"]["scheduling.x-k8s.io/pod-group"].as_str())
        .or(meta["labels"]["pod-group.scheduling.sigs.k8s.io"].as_str())
        .or(meta["annotations"]["pod-group-name"].as_str())
        .or(meta["annotations"]["muster.dev/scheduling-spec"].as_str())?;
    Some(short_name(&namespace(pod), name))
}

fn minimum_of(gang: &Value) -> u64 {
    let spec = &gang["spec"];
    let subgroups = spec["subgroups"].as_array().map(|subgroups| {
        let minima = subgroups.iter().filter_map(|one| one["min"].as_u64());
        minima.sum()
    });
    spec["minAvailable"]
        .as_u64()
        .or(spec["minMember"].as_u64())
        .or(spec["schedulingPolicy"]["gang"]["minCount"].as_u64())
        .or(subgroups)
        .unwrap_or(1)
}

/// Whether a pod is made again when it was evicted.
fn returns(pod: &Value) -> bool {
    mark(pod, "on-eviction") != Some("gone")
}

/// The value of an annotation `simulate.muster.dev/NAME`.
fn mark<'v>(object: &'v Value, name: &str) -> Option<&'v str> {
    object["metadata"]["annotations"][format!("simulate.muster.dev/{name}")].as_str()
}

fn time(object: &Value, name: &str) -> Option<Duration> {
    let span = duration::parse(mark(object, name)?).unwrap();
    Some(Duration::from_millis(span.0))
}
