//! Spark applications of BatchJobs on their slots.
//!
//! A stand-in for the operator (`programs/spark_operator.py`) runs spark-submit and keeps the status of SparkApplications,
//! which are defined as the operator defines them: needs what `hack/operator-crds` fetches, too.

use crate::live::{Cluster, Muster, eventually, text, within};
use crate::operators;
use crate::programs::{self, PATIENCE, Program, spark_home};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

const BED: &str = "/apis/muster.dev/v1alpha1/testbeds/bed";
const OURS: &str = "/apis/muster.dev/v1alpha1/namespaces/default";
const APPLICATIONS: &str =
    "/apis/sparkoperator.k8s.io/v1beta2/namespaces/default/sparkapplications";
const PODS: &str = "/api/v1/namespaces/default/pods";

const OBJECTS: &str = "
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: research}
value: 1000
---
apiVersion: muster.dev/v1alpha1
kind: Testbed
metadata: {name: bed}
spec: {nodeLabel: bed, slotsPerNode: 2, resourcesPerSlot: {cpu: '1', memory: 1Gi}}
";

/// Two nodes with two slots each, Muster and its controllers with their own rights, and what Spark needs.
struct Lab {
    // In the order in which they end.
    muster: Muster,
    controllers: Muster,
    _programs: [Program; 2],
    work: PathBuf,
    cluster: Cluster,
}

impl Lab {
    fn start(operator: &[&str]) -> Self {
        let cluster = Cluster::deployed(2, "4", |builder| {
            builder.kwok(false).controller_manager(true)
        });
        cluster.apply(&operators::spark());
        cluster.label(0, "0");
        cluster.label(1, "1");
        let work = cluster.plane.dir().join("spark");
        fs::create_dir(&work).unwrap();
        let home = spark_home();
        let options = [&["--spark-home", home.to_str().unwrap()], operator].concat();
        let programs = [
            Program::kubelet(&cluster, &work, "spark", &home),
            Program::start(&cluster, "spark_operator.py", &work, &options),
        ];
        let controllers = cluster.controllers_by_their_rights("first");
        let muster = cluster.muster_with_ghosts();
        eventually("the objects are taken", || {
            cluster.plane.kubectl_apply_stdin(OBJECTS).is_ok()
        });
        let lab = Self {
            muster,
            controllers,
            _programs: programs,
            work,
            cluster,
        };
        eventually("every slot is held", || lab.is_held());
        lab
    }

    fn get(&self, path: &str) -> Value {
        self.cluster.plane.get(path).unwrap()
    }

    fn items(&self, path: &str) -> Vec<Value> {
        self.get(path)["items"].as_array().cloned().unwrap()
    }

    /// A Scheduling that runs the application on two slots of different nodes.
    fn run(&self) {
        let app = programs::file("spark_sum.py");
        let (go, result) = (self.work.join("go"), self.work.join("result"));
        let batch = json!({
            "apiVersion": "muster.dev/v1alpha1", "kind": "BatchJob", "metadata": {"name": "sum"},
            "spec": {"sparkApplication": {
                "type": "Python", "mode": "cluster", "image": "spark", "sparkVersion": "4.3.0",
                "mainApplicationFile": format!("local://{}", app.display()),
                "arguments": [go, result],
                "restartPolicy": {"type": "Never"},
                "batchSchedulerOptions": {"priorityClassName": "research"},
                "sparkConf": {
                    "spark.ui.enabled": "false",
                    "spark.scheduler.minRegisteredResourcesRatio": "1",
                    "spark.scheduler.maxRegisteredResourcesWaitingTime": "1h",
                },
                "driver": {"cores": 1, "coreRequest": "500m", "memory": "512m"},
                "executor": {"cores": 1},
            }},
        });
        let path = format!("{OURS}/batchjobs");
        self.cluster.plane.post(&path, &batch).unwrap();
        self.plan("once");
    }

    fn plan(&self, name: &str) {
        let scheduling = json!({
            "apiVersion": "muster.dev/v1alpha1", "kind": "Scheduling", "metadata": {"name": name},
            "spec": {
                "testbed": "bed",
                "slotBased": {"mode": "strict", "jobs": [{"name": "sum", "slots": [1, 2]}]},
            },
        });
        let path = format!("{OURS}/schedulings");
        self.cluster.plane.post(&path, &scheduling).unwrap();
    }

    fn is_over(&self, scheduling: &str, state: &str) -> bool {
        let scheduling = self.get(&format!("{OURS}/schedulings/{scheduling}"));
        text(&scheduling, "/status/state") == state && self.is_clean()
    }

    /// Tells the application to go on; with words, to fail with them.
    fn tell_it_to_go(&self, words: &str) {
        // It is there with all its words.
        let (new, go) = (self.work.join("go.new"), self.work.join("go"));
        fs::write(&new, words).unwrap();
        fs::rename(&new, &go).unwrap();
    }

    fn batch(&self) -> Value {
        self.get(&format!("{OURS}/batchjobs/sum"))["status"].clone()
    }

    fn state(&self) -> String {
        text(&self.batch(), "/state")
    }

    /// The pods of this role.
    fn pods(&self, role: &str) -> Vec<Value> {
        self.items(&format!("{PODS}?labelSelector=spark-role={role}"))
    }

    /// Of each slot its node, its state, and who sits there.
    fn slots(&self) -> Vec<String> {
        let status = &self.get(BED)["status"];
        let slots = status["slots"].as_array().into_iter().flatten();
        let words = slots.map(|slot| {
            let (node, state) = (text(slot, "/nodeName"), text(slot, "/state"));
            let who = (state == "Occupied").then(|| text(slot, "/podName"));
            format!("{node} {state} {}", who.unwrap_or_default())
        });
        words.collect()
    }

    /// Waits until these sit on slots 1 and 2, and ghosts on the others.
    fn has_on_slots(&self, first: &str, second: &str) {
        let wanted = [
            "node-0 Free ".to_owned(),
            format!("node-1 Occupied {first}"),
            format!("node-0 Occupied {second}"),
            "node-1 Free ".to_owned(),
        ];
        let mut seen = Vec::new();
        // The Testbed says it a little later than the pods do.
        eventually("they sit on their slots", || {
            let now = self.slots();
            if now != seen {
                println!("{now:?}");
                seen.clone_from(&now);
            }
            now == wanted
        });
    }

    /// Whether a ghost is on every slot.
    fn is_held(&self) -> bool {
        let status = &self.get(BED)["status"];
        status["free"] == 4 && text(status, "/conditions/0/reason") == "Held"
    }

    fn is_clean(&self) -> bool {
        let groups = format!("{OURS}/podgroups");
        [PODS, APPLICATIONS, &groups]
            .iter()
            .all(|path| self.items(path).is_empty())
    }

    fn stop(self) {
        self.muster.stop();
        self.controllers.stop();
    }
}

#[test]
fn an_application_runs_to_its_end_on_its_slots_also_when_it_loses_an_executor() {
    let lab = Lab::start(&[]);
    lab.run();
    let mut states = Vec::new();
    let took = within(PATIENCE, "it runs", || {
        let state = lab.state();
        if !state.is_empty() && states.last() != Some(&state) {
            states.push(state);
        }
        states.last().is_some_and(|state| state == "Running")
    });
    println!("running after {took:?}");
    assert!(states.contains(&"Submitted".to_owned()), "{states:?}");
    assert_eq!(lab.batch()["slots"], json!([1, 2]));
    assert_eq!(text(&lab.batch(), "/conditions/0/reason"), "Accepted");

    let executors = lab.pods("executor");
    let mut placed = BTreeMap::new();
    for executor in &executors {
        let slot = text(executor, "/metadata/annotations/muster.dev~1slot");
        let node = if slot == "1" { "node-1" } else { "node-0" };
        assert_eq!(executor["spec"]["nodeName"], node);
        placed.insert(slot, text(executor, "/metadata/name"));
        let requests = &executor["spec"]["containers"][0]["resources"]["requests"];
        assert_eq!(requests, &json!({"cpu": "1", "memory": "1Gi"}));
    }
    let slots: Vec<&str> = placed.keys().map(String::as_str).collect();
    assert_eq!(slots, ["1", "2"], "a slot for each");
    let drivers = lab.pods("driver");
    assert_eq!(drivers.len(), 1);
    let mark = "/metadata/annotations/muster.dev~1slot";
    assert_eq!(drivers[0].pointer(mark), None, "it has no slot");
    // As the operator's recorded: a driver is its application's, an executor its driver's, and its application's beside.
    let owners = |pod: &Value| {
        let owners = pod["metadata"]["ownerReferences"].as_array().unwrap();
        let each = owners.iter().map(|one| {
            let controls = one["controller"] == json!(true);
            (text(one, "/kind"), text(one, "/name"), controls)
        });
        each.collect::<Vec<_>>()
    };
    let of = |kind: &str, name: &str, controls| (kind.to_owned(), name.to_owned(), controls);
    assert_eq!(owners(&drivers[0]), [of("SparkApplication", "sum", true)]);
    let both = [
        of("SparkApplication", "sum", false),
        of("Pod", "sum-driver", true),
    ];
    assert!(executors.iter().all(|executor| owners(executor) == both));
    for pod in drivers.iter().chain(&executors) {
        assert_eq!(pod["spec"]["schedulerName"], "muster");
        assert_eq!(pod["spec"]["priority"], 1_000);
    }
    lab.has_on_slots(&placed["1"], &placed["2"]);
    let groups = lab.items(&format!("{OURS}/podgroups"));
    let names: Vec<String> = groups
        .iter()
        .map(|group| text(group, "/metadata/name"))
        .collect();
    assert_eq!(names, ["sum"]);
    assert_eq!(groups[0]["spec"]["minAvailable"], 1);
    assert_eq!(text(&groups[0], "/status/phase"), "Running");
    let application = lab.get(&format!("{APPLICATIONS}/sum"));
    let states = application["status"]["executorState"].as_object().unwrap();
    let known: BTreeSet<&String> = states.keys().collect();
    assert_eq!(known, placed.values().collect());

    // Its application makes another, which is given the slot that has become free.
    let lost = &placed["2"];
    let delete = ["delete", "pod", lost, "--wait=false"];
    lab.cluster.plane.kubectl(&delete).unwrap();
    let mut third = String::new();
    within(PATIENCE, "another is there", || {
        let executors = lab.pods("executor");
        let mut names = executors.iter().map(|one| text(one, "/metadata/name"));
        third = names.next_back().unwrap_or_default();
        third.ends_with("exec-3") && executors.len() == 2
    });
    lab.has_on_slots(&placed["1"], &third);
    assert_eq!(lab.state(), "Running");

    lab.tell_it_to_go("");
    let took = within(PATIENCE, "it ends", || lab.state() == "Completed");
    println!("completed after {took:?}");
    let result = fs::read_to_string(lab.work.join("result")).unwrap();
    let result: Value = serde_json::from_str(&result).unwrap();
    assert_eq!(result, json!({"sum": 500_500, "executors": ["1", "3"]}));
    let said = fs::read_to_string(lab.work.join("spark_operator.py.log")).unwrap();
    let states = ["SUBMITTED", "RUNNING", "SUCCEEDING", "COMPLETED"];
    let said: Vec<&str> = said.lines().collect();
    assert_eq!(said, states.map(|state| format!("sum is {state}")));
    let status = lab.batch();
    assert_eq!(status["history"].as_array().unwrap().len(), 1);
    assert_eq!(status["history"][0]["slots"], json!([1, 2]));
    eventually("the Scheduling has ended and nothing is left", || {
        lab.is_over("once", "Completed")
    });
    eventually("every slot is held again", || lab.is_held());
    assert_eq!(lab.controllers.health.problems(), [""; 0]);
    assert_eq!(lab.controllers.health.remarks(), [""; 0]);
    lab.stop();
}

#[test]
fn without_the_operators_webhook_it_says_so_and_can_be_taken_back() {
    let lab = Lab::start(&["--no-webhook"]);
    lab.run();
    within(PATIENCE, "it says what is missing", || {
        text(&lab.batch(), "/conditions/0/reason") == "OperatorMissing"
    });
    let words = text(&lab.batch(), "/conditions/0/message");
    let expected = "pod default/sum-driver came with schedulerName \"default-scheduler\" instead of \"muster\": does \
                    the webhook of the Spark operator run?";
    assert_eq!(words, expected);
    assert_eq!(lab.state(), "Submitted");
    let drivers = lab.pods("driver");
    assert_eq!(drivers[0]["metadata"]["ownerReferences"], Value::Null);
    assert_eq!(drivers[0]["spec"]["nodeName"], Value::Null);
    assert!(lab.is_held(), "no slot is given away");
    let delete = ["delete", "msched", "once", "--timeout=60s"];
    lab.cluster.plane.kubectl(&delete).unwrap();
    eventually("nothing is left", || {
        lab.is_clean() && lab.state() == "Ready"
    });
    lab.stop();
}

#[test]
fn an_application_that_fails_gives_its_slots_back_and_can_be_run_again() {
    let lab = Lab::start(&[]);
    lab.run();
    within(PATIENCE, "it runs", || lab.state() == "Running");
    lab.tell_it_to_go("there is nothing to add");
    within(PATIENCE, "it fails", || lab.state() == "Failed");
    eventually("the Scheduling says so and nothing is left", || {
        lab.is_over("once", "Failed")
    });
    eventually("every slot is held again", || lab.is_held());
    let ends = || {
        let status = lab.batch();
        let history = status["history"].as_array().into_iter().flatten();
        history
            .map(|run| text(run, "/state"))
            .collect::<Vec<String>>()
    };
    assert_eq!(ends(), ["Failed"]);

    fs::remove_file(lab.work.join("go")).unwrap();
    lab.plan("again");
    within(PATIENCE, "it runs again", || lab.state() == "Running");
    lab.tell_it_to_go("");
    within(PATIENCE, "it ends", || lab.state() == "Completed");
    eventually("the second Scheduling has ended", || {
        lab.is_over("again", "Completed")
    });
    assert_eq!(ends(), ["Failed", "Completed"]);
    eventually("every slot is held again", || lab.is_held());
    lab.stop();
}
