//! Jobs of which Kubernetes' own controller makes a Workload, a PodGroup and pods that name it.

use crate::live::{Cluster, PODS, condition, eventually, text};
use serde_json::{Value, json};

const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";
const GROUPS: &str = "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups";

/// A Job of four pods of a CPU each, of which so many are to run together; without a number, as Jobs are.
fn job(name: &str, together: Option<u32>) -> Value {
    let mut job = json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": name},
        "spec": {
            "parallelism": 4, "completions": 4, "completionMode": "Indexed",
            "template": {"spec": {
                "schedulerName": "muster", "restartPolicy": "Never",
                "containers": [{
                    "name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}},
                }],
            }},
        },
    });
    if let Some(min) = together {
        job["spec"]["scheduling"] = json!({"schedulingPolicy": {"gang": {"minCount": min}}});
    }
    job
}

#[test]
fn a_job_that_says_how_many_of_its_pods_run_together_is_a_gang() {
    let cluster = Cluster::of(|builder| builder.pod_groups_of_jobs(true).controller_manager(true));
    cluster.apply_folder("crds");
    cluster.nodes(1, "6");
    let muster = cluster.muster();
    let list = |path: &str| -> Vec<Value> {
        let list = cluster.plane.get(path).unwrap();
        list["items"].as_array().unwrap().clone()
    };
    let pods_of = |job: &str| -> Vec<Value> {
        let mut pods = list(PODS);
        pods.retain(|pod| text(pod, "/metadata/labels/job-name") == job);
        pods
    };
    let bound = |job: &str| {
        let pods = pods_of(job);
        pods.iter()
            .filter(|pod| !text(pod, "/spec/nodeName").is_empty())
            .count()
    };
    let said = |job: &str| {
        let groups = list(GROUPS);
        let of_job = |group: &&Value| text(group, "/metadata/ownerReferences/0/name") == job;
        let group = groups.iter().find(of_job)?;
        condition(&group["status"], "PodGroupInitiallyScheduled").cloned()
    };

    cluster.plane.post(JOBS, &job("first", Some(4))).unwrap();
    eventually("the first runs whole", || bound("first") == 4);
    eventually("its PodGroup says so", || {
        said("first").is_some_and(|found| found["status"] == "True")
    });

    cluster.plane.post(JOBS, &job("second", Some(4))).unwrap();
    eventually("the second says why it waits", || {
        said("second").is_some_and(|found| text(&found, "/message").contains("Insufficient cpu"))
    });
    assert_eq!((pods_of("second").len(), bound("second")), (4, 0));

    cluster.plane.post(JOBS, &job("plain", None)).unwrap();
    eventually(
        "of a Job that says nothing there are as many as fit",
        || bound("plain") == 2,
    );
    assert_eq!(bound("second"), 0);
    muster.stop();
}
