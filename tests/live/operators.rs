//! What BatchJobs make of Spark and Flink applications, and the examples of other workloads, held against what their
//! operators publish.

use crate::live::{Cluster, eventually};
use serde_json::{Value, json};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// The definitions that `hack/operator-crds` fetched, by the operator's name and version.
fn published(operator: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let folder = target.join("operator-crds");
    let found = fs::read_dir(&folder).unwrap_or_else(|_| {
        panic!("{} is not there: run hack/operator-crds", folder.display());
    });
    let of_it = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.starts_with(&format!("{operator}-")) && name.ends_with(".yaml")
    };
    let mut all: Vec<_> = found.map(|one| one.unwrap().path()).filter(of_it).collect();
    all.sort();
    all
}

/// The newest definition of SparkApplications, for who wants one on a cluster.
pub(crate) fn spark() -> String {
    let all = published("spark");
    let newest = all.last().unwrap();
    fs::read_to_string(newest).unwrap()
}

/// Whether the API server takes what is made, where it refuses every field that it does not know.
fn is_taken(cluster: &Cluster, path: &str, application: &Value) -> Result<(), String> {
    let path = format!("{path}?dryRun=All&fieldValidation=Strict");
    let answer = cluster.plane.post(&path, application);
    answer.map(drop).map_err(|error| error.to_string())
}

/// What the unit tests say is made of a BatchJob.
fn application(golden: &str) -> Value {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("src/controllers/batch_job/golden")
        .join(golden);
    let file: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    file["application"].clone()
}

/// Every published version takes every golden file, and refuses one with a field of nobody.
fn every_version_takes(operator: &str, path: &str, goldens: &[&str], least: usize) {
    let cluster = Cluster::start();
    cluster
        .plane
        .kubectl(&["create", "namespace", "team"])
        .unwrap();
    let versions = published(operator);
    assert!(versions.len() >= least, "{versions:?}");
    for version in versions {
        let text = fs::read_to_string(&version).unwrap();
        cluster.apply(&text);
        let url = format!("{path}?limit=1");
        eventually("the kind is served", || cluster.plane.get(&url).is_ok());
        for golden in goldens {
            let mut application = application(golden);
            let taken = is_taken(&cluster, path, &application);
            assert_eq!(taken, Ok(()), "{golden}, {}", version.display());
            application["spec"]["nobodyKnows"] = json!(1);
            let refused = is_taken(&cluster, path, &application).unwrap_err();
            assert!(refused.contains("nobodyKnows"), "{refused}");
        }
        println!("{} takes {goldens:?}", version.display());
    }
}

#[test]
fn spark_applications_are_as_their_operator_publishes_them() {
    let path = "/apis/sparkoperator.k8s.io/v1beta2/namespaces/team/sparkapplications";
    every_version_takes("spark", path, &["spark.json", "spark-python.json"], 2);
}

/// Without Maven there are none to hold them against, which `hack/operator-crds` says.
#[test]
fn flink_deployments_are_as_their_operator_publishes_them() {
    let path = "/apis/flink.apache.org/v1beta1/namespaces/team/flinkdeployments";
    every_version_takes("flink", path, &["flink.json"], 0);
}

/// The manifests of `examples/workloads`, each named as its kind's definition is here.
#[test]
fn the_examples_of_workloads_are_as_their_operators_publish_them() {
    let cluster = Cluster::start();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/workloads");
    let files = fs::read_dir(folder).unwrap().map(|one| one.unwrap().path());
    let manifests = files.filter(|path| path.extension().is_some_and(|end| end == "yaml"));
    let mut taken = 0;
    for file in manifests {
        let name = file.file_stem().unwrap().to_str().unwrap();
        let versions = published(name);
        assert!(!versions.is_empty(), "nobody publishes {name}");
        let text = fs::read_to_string(&file).unwrap();
        let mut manifest: Value = serde_saphyr::from_str(&text).unwrap();
        for version in versions {
            let definition = fs::read_to_string(&version).unwrap();
            cluster.apply(&definition);
            let definition: Value = serde_saphyr::from_str(&definition).unwrap();
            let version = &version.display();
            assert_eq!(
                definition["spec"]["names"]["kind"], manifest["kind"],
                "{version}"
            );
            let plural = definition["spec"]["names"]["plural"].as_str().unwrap();
            let api_version = manifest["apiVersion"].as_str().unwrap();
            let path = format!("/apis/{api_version}/namespaces/default/{plural}");
            let url = format!("{path}?limit=1");
            eventually("the kind is served", || cluster.plane.get(&url).is_ok());
            assert_eq!(is_taken(&cluster, &path, &manifest), Ok(()), "{version}");
            manifest["spec"]["nobodyKnows"] = json!(1);
            let refused = is_taken(&cluster, &path, &manifest).unwrap_err();
            assert!(refused.contains("nobodyKnows"), "{refused}");
            manifest["spec"]
                .as_object_mut()
                .unwrap()
                .remove("nobodyKnows");
            taken += 1;
        }
    }
    assert_eq!(taken, 5);
}
