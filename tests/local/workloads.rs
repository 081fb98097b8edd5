//! `examples/workloads`: each file is told of, and the pods that operators make of the manifests are gangs.

use crate::simulate_cli::json;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/workloads")
}

/// The files, by their path below the folder, in order.
fn files() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut folders = vec![folder()];
    while let Some(one) = folders.pop() {
        for entry in fs::read_dir(one).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let below = path.strip_prefix(folder()).unwrap();
                found.insert(below.to_str().unwrap().to_owned());
            }
        }
    }
    found
}

fn read(file: &str) -> String {
    fs::read_to_string(folder().join(file)).unwrap()
}

fn manifest(file: &str) -> Value {
    serde_saphyr::from_str(&read(file)).unwrap()
}

fn has_end(file: &str, end: &str) -> bool {
    Path::new(file).extension().is_some_and(|it| it == end)
}

/// So many pods of a template, with the labels that the operator puts on each of a gang.
struct Pods {
    name: String,
    count: u64,
    template: Value,
    labels: Value,
}

/// What the operator makes of a manifest, as recorded from real ones.
fn pods(manifest: &Value) -> Vec<Pods> {
    let name = manifest["metadata"]["name"].as_str().unwrap();
    let spec = &manifest["spec"];
    let of = |role: &str, count: u64, template: &Value, labels: &Value| Pods {
        name: format!("{name}-{role}").to_lowercase(),
        count,
        template: template.clone(),
        labels: labels.clone(),
    };
    let number = |value: &Value| value.as_u64().unwrap();
    let list = |value: &Value| value.as_array().cloned().unwrap();
    match manifest["kind"].as_str().unwrap() {
        "RayJob" => {
            let labels = json!({"ray.io/cluster": format!("{name}-x")});
            let cluster = &spec["rayClusterSpec"];
            let head = &cluster["headGroupSpec"]["template"];
            let workers = list(&cluster["workerGroupSpecs"]);
            let workers = workers.iter().map(|group| {
                of(
                    "worker",
                    number(&group["replicas"]),
                    &group["template"],
                    &labels,
                )
            });
            workers.chain([of("head", 1, head, &labels)]).collect()
        }
        "PyTorchJob" | "MPIJob" => {
            let labels = json!({"training.kubeflow.org/job-name": name});
            let replicas = ["pytorchReplicaSpecs", "mpiReplicaSpecs"];
            let roles = replicas.iter().find_map(|key| spec[*key].as_object());
            let roles = roles.unwrap().iter();
            roles
                .map(|(role, one)| of(role, number(&one["replicas"]), &one["template"], &labels))
                .collect()
        }
        "LeaderWorkerSet" => {
            let template = &spec["leaderWorkerTemplate"];
            let workers = number(&template["size"]) - 1;
            let groups = 0..number(&spec["replicas"]);
            let both = groups.flat_map(|group| {
                let labels = json!({
                    "leaderworkerset.sigs.k8s.io/name": name,
                    "leaderworkerset.sigs.k8s.io/group-index": group.to_string(),
                });
                let (leader, worker) = (&template["leaderTemplate"], &template["workerTemplate"]);
                [
                    of(&format!("{group}-leader"), 1, leader, &labels),
                    of(&format!("{group}-worker"), workers, worker, &labels),
                ]
            });
            both.collect()
        }
        "JobSet" => {
            let labels = json!({
                "jobset.sigs.k8s.io/jobset-name": name, "jobset.sigs.k8s.io/jobset-uid": "u",
                "jobset.sigs.k8s.io/restart-attempt": "0",
            });
            let jobs = list(&spec["replicatedJobs"]);
            let jobs = jobs.iter().map(|job| {
                let each = &job["template"]["spec"];
                let count = number(&job["replicas"]) * number(&each["parallelism"]);
                let role = job["name"].as_str().unwrap();
                of(role, count, &each["template"], &labels)
            });
            jobs.collect()
        }
        kind => panic!("what pods does a {kind} make?"),
    }
}

/// How many of the pods run where there is room for so many.
fn bound(pods: &[Pods], room: u64) -> u64 {
    let mut scenario = format!(
        "apiVersion: v1\nkind: Node\nmetadata: {{name: n}}\n\
         status: {{allocatable: {{cpu: '1000', memory: 1000Gi, pods: '{room}'}}}}\n"
    );
    for one in pods {
        let mut metadata = one.template["metadata"].clone();
        metadata["name"] = json!(one.name);
        metadata["labels"] = one.labels.clone();
        metadata["annotations"]["simulate.muster.dev/replicas"] = json!(one.count.to_string());
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": one.template["spec"],
        });
        scenario += &format!("---\n{pod}\n");
    }
    let report = json(&scenario, &["--until", "60s"]);
    let all = report["pods"].as_array().unwrap();
    let sum: u64 = pods.iter().map(|one| one.count).sum();
    assert_eq!(all.len() as u64, sum);
    all.iter().filter(|pod| pod["node"].is_string()).count() as u64
}

#[test]
fn each_file_is_told_of_and_is_what_it_looks_like() {
    let overview = read("README.md");
    let readme = fs::read_to_string(folder().join("../../README.md")).unwrap();
    assert!(readme.contains("(examples/workloads/README.md)"));
    for file in files() {
        let text = read(&file);
        if has_end(&file, "md") {
            continue;
        }
        let head = text.lines().find(|line| !line.starts_with("#!"));
        assert!(head.unwrap().starts_with("# "), "{file} has no head");
        if has_end(&file, "sh") {
            let script = folder().join(&file);
            let check = Command::new("bash").arg("-n").arg(script).status();
            assert!(check.unwrap().success(), "{file}");
        } else {
            assert!(manifest(&file)["kind"].is_string(), "{file}");
        }
        // What a script reads is told of by the script.
        let folder = file.split_once('/').map(|(folder, _)| folder);
        let is_told = overview.contains(&format!("({file})")) || {
            let name = file.rsplit('/').next().unwrap();
            let scripts = files().into_iter().filter(|one| has_end(one, "sh"));
            let mut beside = scripts.filter(|one| one.split_once('/').map(|(it, _)| it) == folder);
            beside.any(|script| read(&script).contains(name))
        };
        assert!(is_told, "README.md tells nothing of {file}");
    }
}

#[test]
fn the_pods_of_each_manifest_start_together_or_not_at_all() {
    let manifests = files()
        .into_iter()
        .filter(|file| has_end(file, "yaml") && !file.contains('/'));
    let mut played = 0;
    for file in manifests {
        let manifest = manifest(&file);
        let pods = pods(&manifest);
        let sum: u64 = pods.iter().map(|one| one.count).sum();
        let gangs: BTreeSet<String> = pods.iter().map(|one| one.labels.to_string()).collect();
        let size = sum / gangs.len() as u64;
        for one in &pods {
            assert_eq!(one.template["spec"]["schedulerName"], "muster", "{file}");
            let said = &one.template["metadata"]["annotations"]["muster.dev/min-available"];
            assert_eq!(*said, json!(size.to_string()), "{file}: {}", one.name);
        }
        assert_eq!(bound(&pods, sum), sum, "{file}: with room for all");
        assert_eq!(bound(&pods, sum - 1), sum - size, "{file}: with less");
        played += 1;
    }
    assert_eq!(played, 5);
}
