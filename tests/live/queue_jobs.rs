//! QueueJobs on a real API server, with the rights of `deploy/` and `deploy/queue-jobs/`, and a real ResourceQuota: they run as gangs to their
//! end, and what a quota leaves goes to the most important.
//!
//! Needs what `hack/build-control-plane` builds.

use crate::live::{Cluster, Muster, eventually, text};
use serde_json::{Value, json};

const OURS: &str = "/apis/muster.dev/v1alpha1/namespaces/default";
const PODS: &str = "/api/v1/namespaces/default/pods";
const QUOTAS: &str = "/api/v1/namespaces/default/resourcequotas";

fn cluster() -> (Cluster, Muster, Muster) {
    let cluster = Cluster::deployed(1, "4", |builder| builder.controller_manager(true));
    cluster.apply_folder("deploy/queue-jobs");
    let controllers = cluster.controllers_by_their_rights("first");
    let muster = cluster.muster_with_ghosts();
    (cluster, muster, controllers)
}

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
    let (cluster, _muster, _controllers) = cluster();
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
    let (cluster, _muster, _controllers) = cluster();
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
    cluster.make_queue_job(&queue_job("high", 9, 2, &json!({})));
    let more = r#"{"spec": {"hard": {"pods": "5"}}}"#;
    let patch = ["patch", "resourcequota", "few", "--type=merge", "-p", more];
    cluster.plane.kubectl(&patch).unwrap();
    eventually("the more important one runs to its end", || {
        cluster.reason("high", "Complete") == "CompletionsReached"
    });
}
