//! Schedulings of plain BatchJobs on a real API server, with Kubernetes' own controller of Jobs: they run to their
//! end on their slots, also when the controllers die on the way, and leave nothing when they are deleted.
//!
//! Needs what `hack/build-control-plane` builds.

use crate::live::{Cluster, Muster, eventually, text};
use serde_json::{Value, json};

const TESTBEDS: &str = "/apis/muster.dev/v1alpha1/testbeds";
const OURS: &str = "/apis/muster.dev/v1alpha1/namespaces/default";
const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";
const PODS: &str = "/api/v1/namespaces/default/pods";

/// Two nodes with two slots of one CPU each, Muster, and its controllers with the rights of `deploy/`.
fn cluster() -> (Cluster, Muster, Muster) {
    let cluster = Cluster::deployed(2, "4", |builder| builder.controller_manager(true));
    cluster.label(0, "0");
    cluster.label(1, "1");
    let controllers = cluster.controllers_by_their_rights("first");
    let muster = cluster.muster_with_ghosts();
    let testbed = json!({
        "apiVersion": "muster.dev/v1alpha1", "kind": "Testbed", "metadata": {"name": "bed"},
        "spec": {"nodeLabel": "bed", "slotsPerNode": 2, "resourcesPerSlot": {"cpu": "1"}},
    });
    eventually("the Testbed is taken", || {
        cluster.plane.post(TESTBEDS, &testbed).is_ok()
    });
    eventually("every slot is held", || {
        let bed = cluster.plane.get(&format!("{TESTBEDS}/bed")).unwrap();
        text(&bed, "/status/conditions/0/reason") == "Held"
    });
    (cluster, muster, controllers)
}

fn batch_job(name: &str, duration: &str) -> Value {
    json!({
        "apiVersion": "muster.dev/v1alpha1", "kind": "BatchJob", "metadata": {"name": name},
        "spec": {"job": {"spec": {"template": {
            "metadata": {"annotations": {"simulate.muster.dev/duration": duration}},
            "spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "none"}]},
        }}}},
    })
}

fn scheduling(jobs: &Value) -> Value {
    json!({
        "apiVersion": "muster.dev/v1alpha1", "kind": "Scheduling", "metadata": {"name": "night"},
        "spec": {"testbed": "bed", "queueBased": jobs},
    })
}

impl Cluster {
    fn of_ours(&self, plural: &str, name: &str) -> Value {
        self.plane.get(&format!("{OURS}/{plural}/{name}")).unwrap()
    }

    fn state(&self, plural: &str, name: &str) -> String {
        text(&self.of_ours(plural, name), "/status/state")
    }

    fn count(&self, path: &str) -> usize {
        let list = self.plane.get(path).unwrap();
        list["items"].as_array().map_or(0, Vec::len)
    }

    fn is_clean(&self) -> bool {
        self.count(JOBS) == 0
            && self.count(PODS) == 0
            && self.count(&format!("{OURS}/podgroups")) == 0
    }
}

#[test]
fn a_scheduling_runs_to_its_end_whoever_dies_on_the_way() {
    let (cluster, muster, first) = cluster();
    for (name, duration) in [("a", "3s"), ("b", "6s"), ("c", "2s")] {
        let job = batch_job(name, duration);
        cluster
            .plane
            .post(&format!("{OURS}/batchjobs"), &job)
            .unwrap();
    }
    let jobs = json!([
        {"name": "a", "slots": 2}, {"name": "b", "slots": 2}, {"name": "c", "slots": 3},
    ]);
    let plan = scheduling(&jobs);
    cluster
        .plane
        .post(&format!("{OURS}/schedulings"), &plan)
        .unwrap();
    eventually("the first two run", || {
        ["a", "b"]
            .iter()
            .all(|name| cluster.state("batchjobs", name) == "Running")
    });
    assert_eq!(
        cluster.of_ours("batchjobs", "a")["status"]["slots"],
        json!([0, 1])
    );
    assert_eq!(
        cluster.of_ours("batchjobs", "b")["status"]["slots"],
        json!([2, 3])
    );
    assert_ne!(
        cluster.state("batchjobs", "c"),
        "Running",
        "there are no slots left"
    );
    first.crash();
    let second = cluster.controllers_by_their_rights("second");
    eventually("all have ended", || {
        cluster.state("schedulings", "night") == "Completed"
    });
    let night = cluster.of_ours("schedulings", "night");
    let states = night["status"]["jobs"].as_array().unwrap().iter();
    let states: Vec<String> = states.map(|job| text(job, "/state")).collect();
    assert_eq!(states, ["Completed"; 3]);
    eventually("claims are given back, and nothing is left", || {
        let free =
            |name: &&str| cluster.of_ours("batchjobs", name)["spec"]["activeScheduling"].is_null();
        ["a", "b", "c"].iter().all(free) && cluster.is_clean()
    });
    for name in ["a", "b", "c"] {
        let job = cluster.of_ours("batchjobs", name);
        assert_eq!(text(&job, "/status/state"), "Completed");
        assert_eq!(
            job["status"]["history"].as_array().unwrap().len(),
            1,
            "{job}"
        );
    }
    assert_eq!(second.health.problems(), [""; 0]);
    assert_eq!(second.health.remarks(), [""; 0]);
    muster.stop();
    second.stop();
}

#[test]
fn a_scheduling_that_is_deleted_gives_back_all() {
    let (cluster, muster, controllers) = cluster();
    let job = batch_job("long", "1h");
    cluster
        .plane
        .post(&format!("{OURS}/batchjobs"), &job)
        .unwrap();
    let plan = scheduling(&json!([{"name": "long", "slots": 4}]));
    cluster
        .plane
        .post(&format!("{OURS}/schedulings"), &plan)
        .unwrap();
    eventually("it runs", || {
        cluster.state("batchjobs", "long") == "Running"
    });
    let delete = ["delete", "msched", "night", "--timeout=30s"];
    cluster.plane.kubectl(&delete).unwrap();
    eventually("nothing is left, and it is ready for another", || {
        cluster.is_clean() && cluster.state("batchjobs", "long") == "Ready"
    });
    eventually("every slot is held again", || {
        let bed = cluster.plane.get(&format!("{TESTBEDS}/bed")).unwrap();
        bed["status"]["free"] == 4 && text(&bed, "/status/conditions/0/reason") == "Held"
    });
    muster.stop();
    controllers.stop();
}
