//! What is made of BatchJobs, against golden files; and what is refused, in which words.
#![expect(clippy::needless_pass_by_value, reason = "json! reads best as it is")]

use super::*;
use muster_api::crd::{BatchJob, Testbed};

/// A BatchJob `work` of namespace `team` with this spec, on slots of these resources; and what is made.
fn make(spec: Value, slot: Value) -> Result<Wanted, Problem> {
    let mut spec = spec;
    if spec.get("creationRequest").is_none() {
        spec["creationRequest"] = json!({"replication": 2, "testbed": "lab", "slots": [5, 0, 3]});
    }
    let batch = json!({"metadata": {"name": "work"}, "spec": spec});
    let batch: BatchJob = serde_json::from_value(batch).unwrap();
    let bed = json!({"nodeLabel": "lab", "slotsPerNode": 1, "resourcesPerSlot": slot});
    let bed = json!({"metadata": {"name": "lab"}, "spec": bed});
    let bed: Testbed = serde_json::from_value(bed).unwrap();
    let slot = Slot {
        resources: bed.spec.resources_per_slot.clone(),
        asked: slots::asked(&bed),
    };
    let of = For {
        namespace: "team",
        name: "work",
        uid: "uid-7",
        request: batch.spec.creation_request.as_ref().unwrap(),
        run: "run-1",
        slot: &slot,
        settings: &Settings::default(),
    };
    wanted(&batch.spec, of)
}

/// The reason and the words of what is wrong.
fn refused(spec: Value, slot: Value) -> (&'static str, String) {
    let problem = make(spec, slot).unwrap_err();
    (problem.reason, problem.message)
}

fn big() -> Value {
    json!({"cpu": "4", "memory": "8Gi"})
}

/// A golden file: a spec and a slot, and what is made of them. With `BLESS` in the environment it is written anew.
fn golden(name: &str) {
    let path = format!(
        "{}/batch_job/golden/{name}.json",
        env!("CARGO_MANIFEST_DIR")
    );
    let text = std::fs::read_to_string(&path).unwrap();
    let mut file: Value = serde_json::from_str(&text).unwrap();
    let made = make(file["spec"].clone(), file["slot"].clone()).unwrap();
    if std::env::var_os("BLESS").is_some() {
        file["podGroup"] = made.group;
        file["application"] = made.application;
        let text = serde_json::to_string_pretty(&file).unwrap();
        std::fs::write(&path, text + "\n").unwrap();
        return;
    }
    assert_eq!(made.group, file["podGroup"], "{name}: the PodGroup");
    assert_eq!(
        made.application, file["application"],
        "{name}: the application"
    );
}

#[test]
fn a_plain_job_fills_its_slots() {
    golden("plain");
}

#[test]
fn a_plain_job_of_several_containers_keeps_its_requests() {
    golden("plain-several");
}

#[test]
fn executors_of_a_spark_application_fill_their_slots() {
    golden("spark");
}

#[test]
fn executors_of_a_python_application_leave_more_beside_the_heap() {
    golden("spark-python");
}

#[test]
fn task_managers_of_a_flink_deployment_fill_their_slots() {
    golden("flink");
}

#[test]
fn containers_that_exceed_the_slot_together_are_refused() {
    let container = |cpu: &str| json!({"name": "a", "resources": {"requests": {"cpu": cpu}}});
    let pod = json!({"containers": [container("3"), container("1500m")]});
    let job = json!({"job": {"spec": {"template": {"spec": pod}}}});
    let (reason, words) = refused(job, big());
    assert_eq!(reason, "PodsTooLarge");
    let wanted =
        "spec.job.spec.template.spec: a pod asks for 4500m cpu; a slot of testbed lab has 4000m";
    assert_eq!(words, wanted);
}

#[test]
fn a_limit_below_the_slot_is_refused_and_one_of_what_the_slot_has_not_is_too() {
    let job = |limits: Value| {
        let container = json!({"name": "a", "resources": {"limits": limits}});
        json!({"job": {"spec": {"template": {"spec": {"containers": [container]}}}}})
    };
    let (reason, words) = refused(job(json!({"cpu": "3500m"})), big());
    assert_eq!(reason, "Invalid");
    let wanted = "spec.job.spec.template.spec.containers[0].resources.limits.cpu: 3500m is below the slot's 4, which \
        the container asks for";
    assert_eq!(words, wanted);
    let (reason, words) = refused(job(json!({"example.com/gpu": 1})), big());
    assert_eq!(reason, "PodsTooLarge");
    assert!(words.contains("asks for 1 example.com/gpu"), "{words}");
    assert!(make(job(json!({"cpu": 4})), big()).is_ok());
    let (_, words) = refused(job(json!({"cpu": "x"})), big());
    assert!(
        words.contains("limits.cpu: \"x\" is no quantity"),
        "{words}"
    );
}

#[test]
fn what_may_not_be_promised_twice_has_its_limit_written() {
    let job = json!({"job": {"spec": {"template": {"spec": {"containers": [{"name": "a"}]}}}}});
    let made = make(job, json!({"cpu": "1", "example.com/gpu": "2"})).unwrap();
    let resources = &made.application["spec"]["template"]["spec"]["containers"][0]["resources"];
    assert_eq!(resources["limits"], json!({"example.com/gpu": "2"}));
}

#[test]
fn a_job_without_containers_and_a_name_that_no_label_holds_are_refused() {
    let empty = json!({"job": {"spec": {"template": {"spec": {"containers": []}}}}});
    assert!(refused(empty, big()).1.contains("containers: is empty"));
    assert!(
        refused(json!({"job": {}}), big())
            .1
            .contains("containers: is missing")
    );
    assert!(
        refused(json!({"job": 7}), big())
            .1
            .contains("containers: is missing")
    );
    let odd = json!({"job": {"spec": {"template": {"spec": {"containers": [7]}}}}});
    assert!(make(odd, big()).is_ok(), "the API server refuses it");
    let group = json!({"podGroupTemplate": {"queue": "q"}, "job": {}});
    let words = refused(group, big()).1;
    assert!(
        words.starts_with("spec.podGroupTemplate.queue: "),
        "{words}"
    );
}

#[test]
fn slots_that_fit_into_no_label_are_refused() {
    let slots: Vec<u32> = (0..60).map(|one| one * 3).collect();
    let request = json!({"replication": 2, "testbed": "lab", "slots": slots});
    let pod = json!({"containers": [{"name": "a"}]});
    let job = json!({"spec": {"template": {"spec": pod}}});
    let words = refused(json!({"job": job, "creationRequest": request}), big()).1;
    let wanted = "spec.creationRequest.slots: 60 slots do not fit into a label of 63 characters, even as ranges";
    assert_eq!(words, wanted);
    let slots: Vec<u32> = (0..900).collect();
    let request = json!({"replication": 900, "testbed": "lab", "slots": slots});
    let made = make(json!({"job": job, "creationRequest": request}), big()).unwrap();
    let labels = &made.application["spec"]["template"]["metadata"]["labels"];
    assert_eq!(labels["muster.dev/slots"], "0-899");
}

#[test]
fn what_would_say_otherwise_than_the_slots_is_refused() {
    let spark = |spec: Value| json!({"sparkApplication": spec});
    for (spec, words) in [
        (
            json!({"dynamicAllocation": {"enabled": true}}),
            "dynamicAllocation.enabled",
        ),
        (
            json!({"sparkConf": {"spark.executor.instances": "7"}}),
            "spark.executor.instances",
        ),
        (
            json!({"executor": {"coreLimit": "1"}}),
            "executor.coreLimit: 1 is below the slot's 4",
        ),
        (
            json!({"executor": {"memoryOverhead": "8g"}}),
            "executor.memoryOverhead: \"8g\"",
        ),
    ] {
        let (reason, found) = refused(spark(spec), big());
        assert_eq!(reason, "Invalid");
        assert!(found.contains(words), "{found}");
    }
    let sidecar = json!({"name": "a", "resources": {"requests": {"cpu": "100m"}}});
    let (reason, _) = refused(spark(json!({"executor": {"sidecars": [sidecar]}})), big());
    assert_eq!(reason, "PodsTooLarge");
    let (reason, words) = refused(spark(json!({})), json!({"cpu": "1", "memory": "400Mi"}));
    assert_eq!(reason, "PodsTooLarge");
    assert!(words.contains("at least 450Mi memory"), "{words}");
    let (reason, words) = refused(json!({"flinkDeployment": {}}), big());
    assert_eq!(reason, "Invalid");
    assert!(words.contains("job: is missing"), "{words}");
    let conf = json!({"taskmanager.memory.process.size": "1g"});
    let flink = json!({"flinkDeployment": {"job": {}, "flinkConfiguration": conf}});
    assert!(
        refused(flink, big())
            .1
            .contains("taskmanager.memory.process.size")
    );
}

#[test]
fn whatever_a_template_is_it_panics_nowhere() {
    let odd = [
        json!(null),
        json!(7),
        json!([]),
        json!({"a": []}),
        json!("x"),
    ];
    let paths = [
        "/job",
        "/job/spec",
        "/job/spec/template",
        "/job/spec/template/metadata/labels",
        "/job/spec/template/spec/containers",
        "/podGroupTemplate/spec",
        "/sparkApplication",
        "/sparkApplication/driver",
        "/sparkApplication/executor",
        "/sparkApplication/sparkConf",
        "/sparkApplication/executor/labels",
        "/sparkApplication/executor/sidecars",
        "/flinkDeployment",
        "/flinkDeployment/job",
        "/flinkDeployment/podTemplate",
        "/flinkDeployment/taskManager",
        "/flinkDeployment/taskManager/podTemplate/metadata",
        "/flinkDeployment/flinkConfiguration",
    ];
    let pod = json!({"spec": {"containers": [{"name": "a"}]}});
    for path in paths {
        for value in &odd {
            let kind = path.split('/').nth(1).unwrap();
            let mut spec = match kind {
                "sparkApplication" => json!({"sparkApplication": {}}),
                "flinkDeployment" => json!({"flinkDeployment": {"job": {}}}),
                _ => json!({"job": {"spec": {"template": pod.clone()}}}),
            };
            let keys: Vec<&str> = path.split('/').skip(1).collect();
            let (last, parents) = keys.split_last().unwrap();
            at(&mut spec, parents).insert((*last).to_owned(), value.clone());
            _ = make(spec, big());
        }
    }
}
