//! QueueJobs on a real API server, with the rights of `deploy/` and `deploy/queue-jobs/`, and a real ResourceQuota: they run as gangs to their
//! end, are made anew as a gang or pod by pod, and what a quota leaves goes to the most important.
//!
//! Needs what `hack/build-control-plane` builds.

use crate::live::{Cluster, Muster, eventually, text};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::thread::sleep;
use std::time::Duration;

const OURS: &str = "/apis/muster.dev/v1alpha1/namespaces/default";
const PODS: &str = "/api/v1/namespaces/default/pods";
const QUOTAS: &str = "/api/v1/namespaces/default/resourcequotas";

/// With one node of so many CPUs.
fn cluster(cpu: &str) -> (Cluster, Muster, Muster) {
    let cluster = Cluster::deployed(1, cpu, |builder| builder.controller_manager(true));
    cluster.apply_folder("deploy/queue-jobs");
    let controllers = cluster.controllers_by_their_rights("first");
    let muster = cluster.muster_with_ghosts();
    (cluster, muster, controllers)
}

/// One whose pods run for three seconds.
fn queue_job(name: &str, priority: i32, workers: u32, spec: &Value) -> Value {
    let mut job = json!({
        "apiVersion": "muster.dev/v1alpha1", "kind": "QueueJob", "metadata": {"name": name},
        "spec": {
            "schedSpec": {"priority": priority},
            "taskSpecs": [{
                "name": "worker", "replicas": workers,
                "template": {
                    "metadata": {"annotations": {"simulate.muster.dev/duration": "3s"}},
                    "spec": {"containers": [
                        {"name": "a", "image": "none", "resources": {"requests": {"cpu": "1"}}},
                    ]},
                },
            }],
        },
    });
    for (key, value) in spec.as_object().unwrap() {
        job["spec"][key] = value.clone();
    }
    job
}

impl Cluster {
    fn make_queue_job(&self, job: &Value) {
        let path = format!("{OURS}/queuejobs");
        eventually("the QueueJob is taken", || {
            self.plane.post(&path, job).is_ok()
        });
    }

    fn queue_job(&self, name: &str) -> Value {
        self.plane.get(&format!("{OURS}/queuejobs/{name}")).unwrap()
    }

    /// The reason of a condition of a QueueJob.
    fn reason(&self, name: &str, kind: &str) -> String {
        let job = self.queue_job(name);
        let all = job["status"]["conditions"].as_array();
        let one = all.into_iter().flatten().find(|one| one["type"] == kind);
        one.map_or_else(String::new, |one| text(one, "/reason"))
    }

    /// What its status says under these names.
    fn counts<const N: usize>(&self, name: &str, fields: [&str; N]) -> [u64; N] {
        let job = self.queue_job(name);
        fields.map(|field| job["status"][field].as_u64().unwrap_or_default())
    }

    /// Has a pod fail, as its kubelet would say it.
    fn fails(&self, pod: &str) {
        let failed = r#"{"status": {"phase": "Failed"}}"#;
        let status = ["--subresource=status", "--type=merge", "-p", failed];
        let patch = [&["patch", "pod", pod], &status[..]].concat();
        self.plane.kubectl(&patch).unwrap();
    }

    /// The uids of the pods of a QueueJob that run, by their names.
    fn running(&self, name: &str) -> BTreeMap<String, String> {
        let list = self.plane.get(PODS).unwrap();
        let all = list["items"].as_array().unwrap().iter();
        let of = all.filter(|pod| pod["metadata"]["labels"]["muster.dev/queue-job"] == name);
        of.filter(|pod| text(pod, "/status/phase") == "Running")
            .map(|pod| (text(pod, "/metadata/name"), text(pod, "/metadata/uid")))
            .collect()
    }

    /// The names of the pods of a QueueJob, and on which of them there is a node.
    fn pods_of(&self, name: &str) -> Vec<(String, bool)> {
        let list = self.plane.get(PODS).unwrap();
        let all = list["items"].as_array().unwrap().iter();
        let of = all.filter(|pod| pod["metadata"]["labels"]["muster.dev/queue-job"] == name);
        of.map(|pod| {
            let bound = pod["spec"]["nodeName"].is_string();
            (text(pod, "/metadata/name"), bound)
        })
        .collect()
    }
}

#[test]
fn a_queue_job_is_a_gang_that_runs_to_its_end_and_goes_after_its_time() {
    let (cluster, _muster, _controllers) = cluster("4");
    // Four have room, and five do not: none of them is bound.
    cluster.make_queue_job(&queue_job("large", 0, 5, &json!({})));
    eventually("all pods of the large one are there", || {
        cluster.pods_of("large").len() == 5
    });
    let ends = json!({"ttlSecondsAfterFinished": 1});
    cluster.make_queue_job(&queue_job("train", 0, 3, &ends));
    eventually("it has run, and is gone with all that it made", || {
        let path = format!("{OURS}/queuejobs/train");
        cluster.plane.get(&path).is_err()
            && cluster.pods_of("train").is_empty()
            && cluster
                .plane
                .get(&format!("{OURS}/schedulingspecs/train"))
                .is_err()
    });
    let large = cluster.pods_of("large");
    assert!(large.iter().all(|(_, bound)| !bound), "{large:?}");
    let spec = cluster.plane.get(&format!("{OURS}/schedulingspecs/large"));
    assert_eq!(spec.unwrap()["spec"]["minAvailable"], 5);
}

#[test]
fn what_a_quota_leaves_goes_to_the_most_important() {
    let (cluster, _muster, _controllers) = cluster("4");
    let quota = json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few"},
        "spec": {"hard": {"pods": "3"}},
    });
    cluster.plane.post(QUOTAS, &quota).unwrap();
    eventually("the quota counts", || {
        let quota = cluster.plane.get(&format!("{QUOTAS}/few")).unwrap();
        quota["status"]["hard"]["pods"] == "3"
    });
    // One that waits for a quota may not be overtaken; the more important one comes later and goes first.
    cluster.make_queue_job(&queue_job("low", 1, 4, &json!({})));
    eventually("the quota stops the less important one", || {
        cluster.reason("low", "Accepted") == "ExceededQuota"
    });
    assert_eq!(cluster.pods_of("low").len(), 3);
    cluster.make_queue_job(&lasting("high", 9, 2, &json!({})));
    eventually("the quota stops the more important one", || {
        cluster.reason("high", "Accepted") == "ExceededQuota"
    });
    let places = |hard: u32| {
        let more = format!(r#"{{"spec": {{"hard": {{"pods": "{hard}"}}}}}}"#);
        let patch = ["patch", "resourcequota", "few", "--type=merge", "-p", &more];
        cluster.plane.kubectl(&patch).unwrap();
    };
    // Of two further places, given one by one, it has both; the other has none, though it could begin with the first.
    let there = || [cluster.pods_of("low").len(), cluster.pods_of("high").len()];
    places(4);
    eventually("the first further place is taken", || there() != [3, 0]);
    assert_eq!(there(), [3, 1]);
    eventually("the less important one waits behind it", || {
        cluster.reason("low", "Accepted") == "WaitsInLine"
    });
    places(5);
    eventually("the more important one runs", || {
        cluster.running("high").len() == 2
    });
    eventually("the quota stops the less important one again", || {
        cluster.reason("low", "Accepted") == "ExceededQuota"
    });
    // It is tried again and again meanwhile.
    sleep(Duration::from_secs(2));
    assert_eq!(there(), [3, 2]);
    let low = cluster.pods_of("low");
    assert!(low.iter().all(|(_, bound)| !bound), "{low:?}");
    let delete = ["delete", "queuejob", "high", "--wait=false"];
    cluster.plane.kubectl(&delete).unwrap();
    eventually("then the less important one runs to its end", || {
        cluster.reason("low", "Complete") == "CompletionsReached"
    });
}

/// A QueueJob whose pods run until they are told otherwise.
fn lasting(name: &str, priority: i32, workers: u32, spec: &Value) -> Value {
    let mut job = queue_job(name, priority, workers, spec);
    job["spec"]["taskSpecs"][0]["template"]["metadata"] = json!({});
    job
}

#[test]
fn pods_that_fail_are_made_anew_alone_or_as_a_gang_until_that_was_once_too_often() {
    let (cluster, _muster, _controllers) = cluster("8");
    let spare = json!({"schedSpec": {"minAvailable": 2}});
    cluster.make_queue_job(&lasting("spare", 0, 3, &spare));
    cluster.make_queue_job(&lasting("tight", 0, 3, &json!({})));
    let never = json!({"backoffLimit": 0});
    cluster.make_queue_job(&lasting("brittle", 0, 2, &never));
    eventually("all run, and it is said", || {
        let are = |name: &str, pods: u64| {
            cluster.counts(name, ["running"]) == [pods]
                && !text(&cluster.queue_job(name), "/status/runningSince").is_empty()
        };
        are("spare", 3) && are("tight", 3) && are("brittle", 2)
    });
    let [spare, tight] = ["spare", "tight"].map(|name| cluster.running(name));
    for pod in ["spare-worker-1", "tight-worker-1", "brittle-worker-1"] {
        cluster.fails(pod);
    }

    // No failure is allowed: what has not ended goes, and what failed can be looked at.
    eventually("one failure is too many", || {
        cluster.reason("brittle", "Failed") == "BackoffLimitExceeded"
    });
    eventually("its other pod is gone", || {
        let names = cluster.pods_of("brittle").into_iter();
        names.map(|(name, _)| name).eq(["brittle-worker-1"])
    });
    assert_eq!(
        text(&cluster.pod("brittle-worker-1"), "/status/phase"),
        "Failed"
    );
    // Two of three are the minimum of the first: the others run on. All three are that of the second: none stays.
    eventually("none is left of the gang", || {
        cluster.pods_of("tight").is_empty()
    });
    let others = |name: &str| {
        let mut now = cluster.running(name);
        now.remove("spare-worker-1");
        now
    };
    let mut stay = spare;
    let failed = stay.remove("spare-worker-1").unwrap();
    assert_eq!(others("spare"), stay);
    eventually("both run as before", || {
        cluster.running("spare").len() == 3 && cluster.running("tight").len() == 3
    });
    assert_eq!(others("spare"), stay);
    assert_ne!(cluster.running("spare")["spare-worker-1"], failed);
    let again = cluster.running("tight");
    assert!(tight.iter().all(|(name, uid)| again[name] != *uid));
    let fields = ["restarts", "failures", "failed"];
    assert_eq!(cluster.counts("spare", fields), [0, 1, 1]);
    assert_eq!(cluster.counts("tight", fields), [1, 1, 1]);

    // An edit of a template makes the pods of its task anew, and is neither a failure nor a restart.
    let edit = r#"[{"op": "add", "path": "/spec/taskSpecs/0/template/metadata/labels", "value": {"version": "2"}}]"#;
    let patch = ["patch", "queuejob", "tight", "--type=json", "-p", edit];
    cluster.plane.kubectl(&patch).unwrap();
    eventually("all pods are of the new template", || {
        let path = format!("{PODS}?labelSelector=version%3D2");
        let list = cluster.plane.get(&path).unwrap();
        let running = cluster.running("tight");
        list["items"].as_array().unwrap().len() == 3 && running.len() == 3
    });
    let edited = cluster.running("tight");
    assert!(again.iter().all(|(name, uid)| edited[name] != *uid));
    assert_eq!(cluster.counts("tight", fields), [1, 1, 1]);
    assert_eq!(others("spare"), stay, "the other one is left alone");
}
