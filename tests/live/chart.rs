//! The Helm chart, rendered, installed and upgraded by Helm itself, beside what is in `deploy/`.
//!
//! Needs what `hack/build-control-plane` and `hack/helm` build.

use crate::live::{Cluster, PODS, eventually, pod};
use muster::cluster::lease::{Identity, LeaseOptions};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const ACCOUNT: &str = "system:serviceaccount:muster-system:muster";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn chart() -> PathBuf {
    root().join("deploy/helm/muster")
}

/// Runs Helm, with folders of its own below this one.
fn helm(folder: &Path, arguments: &[&str]) -> Output {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let helm = target.join("tools/bin/helm");
    assert!(
        helm.exists(),
        "{} is missing: hack/helm builds it",
        helm.display()
    );
    let mut command = Command::new(helm);
    for (variable, name) in [("CACHE", "cache"), ("CONFIG", "config"), ("DATA", "data")] {
        command.env(format!("HELM_{variable}_HOME"), folder.join(name));
    }
    command.args(arguments).output().unwrap()
}

/// What Helm says where it succeeds.
fn helm_says(folder: &Path, arguments: &[&str]) -> String {
    let output = helm(folder, arguments);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "helm {arguments:?}: {complaint}");
    String::from_utf8(output.stdout).unwrap()
}

/// The chart's manifests with some more arguments.
fn rendered(arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let chart = chart();
    let usual = [
        "template",
        "muster",
        chart.to_str().unwrap(),
        "--namespace=muster-system",
    ];
    helm_says(folder.path(), &[&usual[..], arguments].concat())
}

/// The objects in some manifests by kind, namespace and name.
fn objects(manifests: &str) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    for manifest in format!("\n{manifests}").split("\n---\n") {
        let Ok(object) = serde_saphyr::from_str::<Value>(manifest) else {
            panic!("cannot be read: {manifest}");
        };
        if object.is_null() {
            continue;
        }
        let text = |field: &str| {
            object["metadata"][field]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        let key = format!(
            "{} {}/{}",
            object["kind"].as_str().unwrap(),
            text("namespace"),
            text("name")
        );
        assert!(found.insert(key.clone(), object).is_none(), "{key} twice");
    }
    found
}

/// What is in the files of these folders.
fn of_folders(folders: &[&str]) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    for folder in folders {
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|end| end == "yaml") {
                found.extend(objects(&fs::read_to_string(path).unwrap()));
            }
        }
    }
    found
}

/// Compares object by object, and says which differs.
fn same(found: &BTreeMap<String, Value>, wanted: &BTreeMap<String, Value>) {
    assert_eq!(Vec::from_iter(found.keys()), Vec::from_iter(wanted.keys()));
    for (key, object) in wanted {
        assert_eq!(&found[key], object, "{key}");
    }
}

#[test]
fn with_its_default_values_the_chart_is_what_is_in_crds_and_deploy() {
    let mut found = objects(&rendered(&[]));
    let mut wanted = of_folders(&["crds", "deploy"]);
    // Helm makes the namespace of a release, and is told to keep definitions.
    assert!(wanted.remove("Namespace /muster-system").is_some());
    let mut kept = 0;
    for (_, crd) in found
        .iter_mut()
        .filter(|(key, _)| key.starts_with("CustomResourceDefinition"))
    {
        let metadata = crd["metadata"].as_object_mut().unwrap();
        let annotations = metadata["annotations"].as_object_mut().unwrap();
        assert_eq!(
            annotations.remove("helm.sh/resource-policy").unwrap(),
            "keep"
        );
        if annotations.is_empty() {
            metadata.remove("annotations");
        }
        kept += 1;
    }
    assert!(kept > 5);
    same(&found, &wanted);
}

#[test]
fn the_base_for_kustomize_is_what_is_in_crds_and_deploy() {
    let cluster = Cluster::start();
    let built = cluster
        .plane
        .kubectl(&["kustomize", root().to_str().unwrap()])
        .unwrap();
    same(&objects(&built), &of_folders(&["crds", "deploy"]));
}

#[test]
fn lint_has_nothing_to_say() {
    let folder = tempfile::tempdir().unwrap();
    let chart = chart();
    helm_says(
        folder.path(),
        &["lint", "--strict", chart.to_str().unwrap()],
    );
}

#[test]
fn a_value_that_makes_no_sense_is_refused_with_its_field() {
    let folder = tempfile::tempdir().unwrap();
    let chart = chart();
    for (value, field) in [
        ("scheduler.replicas=0", "/scheduler/replicas"),
        ("scheduler.replicas=two", "/scheduler/replicas"),
        ("image.pullPolicy=Sometimes", "/image/pullPolicy"),
        ("image.tga=1", "'tga' not allowed"),
        ("monitoring.rules=7", "/monitoring/rules"),
        ("admission.longestLifetime=2d", "/admission/longestLifetime"),
        ("admission.action=Refuse", "/admission/action"),
        ("scheduler.extraArgs={listen}", "/scheduler/extraArgs/0"),
        ("config.kind=Other", "/config"),
        ("unknown=1", "'unknown' not allowed"),
    ] {
        let output = helm(
            folder.path(),
            &["template", chart.to_str().unwrap(), "--set", value],
        );
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{value} is taken");
        assert!(complaint.contains(field), "{value}: {complaint}");
    }
}

/// All that the chart can be asked for.
const ALL: [&str; 12] = [
    "--set=image.repository=registry.example/muster,image.tag=v9",
    "--set=imagePullSecrets={pull}",
    "--set=config.bindConcurrency=8,config.schedulerNames={muster,batch}",
    "--set=scheduler.replicas=3,scheduler.extraArgs={--leader-elect=true}",
    "--set=scheduler.resources.requests.cpu=2",
    "--set=scheduler.nodeSelector.disk=ssd,scheduler.tolerations[0].operator=Exists",
    "--set=controllers.queueJobs=true",
    "--set=dryRunRights=true",
    "--set=networkPolicy.enabled=true,networkPolicy.from[0].podSelector.matchLabels.app=prometheus",
    "--set=monitoring.podMonitor=true,monitoring.rules=true,monitoring.dashboard=true",
    "--set=monitoring.labels.release=prometheus",
    "--set=admission.queues=true,admission.priorities=true,admission.longestLifetime=90m,admission.action=Warn",
];

#[test]
fn what_the_values_say_is_in_the_manifests() {
    let found = objects(&rendered(&[&ALL[..], &["--namespace=batch"]].concat()));
    // Neither is an object in another namespace than the release's, nor does one name one there.
    for (key, object) in &found {
        let text = object.to_string();
        assert!(!text.contains(r#""namespace":"muster-system""#), "{key}");
    }
    let scheduler = &found["Deployment batch/muster"]["spec"];
    let pod = &scheduler["template"]["spec"];
    let container = &pod["containers"][0];
    assert_eq!(scheduler["replicas"], 3);
    assert_eq!(container["image"], "registry.example/muster:v9");
    assert_eq!(container["resources"]["requests"]["cpu"], 2);
    let arguments = container["args"].as_array().unwrap();
    assert!(arguments.iter().any(|one| one == "--leader-elect=true"));
    assert_eq!(
        arguments.last().unwrap(),
        "--config=/etc/muster/config.yaml"
    );
    assert_eq!(pod["nodeSelector"]["disk"], "ssd");
    assert_eq!(pod["tolerations"][0]["operator"], "Exists");
    assert_eq!(pod["imagePullSecrets"][0]["name"], "pull");
    let binding = &found["ClusterRoleBinding /muster-queue-jobs"];
    assert_eq!(binding["subjects"][0]["namespace"], "batch");
    let binding = &found["ClusterRoleBinding /muster-dry-run"];
    assert_eq!(binding["subjects"][0]["namespace"], "batch");
    assert!(found.contains_key("ServiceAccount batch/muster-dry-run"));
    assert!(found.contains_key("NetworkPolicy batch/muster"));
    assert!(found.contains_key("NetworkPolicy batch/muster-controllers"));
    let binding = &found["ClusterRoleBinding /muster-use-all"];
    assert_eq!(binding["subjects"][0]["namespace"], "batch");
    for name in ["muster-queues", "muster-priorities", "muster-lifetimes"] {
        let binding = &found[&format!("ValidatingAdmissionPolicyBinding /{name}")]["spec"];
        assert_eq!(binding["validationActions"][0], "Warn");
        assert_eq!(binding["policyName"], name);
        assert!(found.contains_key(&format!("ValidatingAdmissionPolicy /{name}")));
    }
    let lifetimes = &found["ValidatingAdmissionPolicy /muster-lifetimes"]["spec"];
    let variable = |name: &str| {
        let mut variables = lifetimes["variables"].as_array().unwrap().iter();
        variables.find(|one| one["name"] == name).unwrap()["expression"].clone()
    };
    assert_eq!(variable("longest"), "\"90m\"");
    assert_eq!(variable("schedulerNames"), "[\"muster\",\"batch\"]");
    let rule = &found["PrometheusRule batch/muster"];
    assert_eq!(rule["metadata"]["labels"]["release"], "prometheus");
    assert!(rule["spec"]["groups"][0]["rules"].as_array().unwrap().len() > 5);
    assert!(found.contains_key("PodMonitor batch/muster"));
    let dashboard = found["ConfigMap batch/muster-dashboard"]["data"]["muster.json"].as_str();
    let dashboard: Value = serde_json::from_str(dashboard.unwrap()).unwrap();
    assert_eq!(dashboard["title"], "Muster");
    // Muster takes the file, and ghosts are where the controllers may make them.
    let file = found["ConfigMap batch/muster-config"]["data"]["config.yaml"]
        .as_str()
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.yaml");
    fs::write(&path, file).unwrap();
    let configuration = muster::config::load(&path).unwrap();
    assert_eq!(configuration.bind_concurrency.get(), 8);
    assert_eq!(configuration.ghost_namespace.as_str(), "batch");
}

/// The chart as its next version, with one more column in a definition.
fn next_version(folder: &Path) -> PathBuf {
    let next = folder.join("next");
    let copied = Command::new("cp")
        .arg("-r")
        .arg(chart())
        .arg(&next)
        .status()
        .unwrap();
    assert!(copied.success());
    let change = |file: &str, from: &str, to: &str| {
        let path = next.join(file);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{file}: {from}");
        fs::write(path, text.replacen(from, to, 1)).unwrap();
    };
    let version = format!("version: {}", env!("CARGO_PKG_VERSION"));
    change("Chart.yaml", &version, "version: 99.0.0");
    change(
        "files/crds/muster.dev_queues.yaml",
        "    - mq\n",
        "    - mq\n    - mqnext\n",
    );
    next
}

#[test]
fn helm_installs_it_upgrades_it_while_gangs_come_and_keeps_the_definitions() {
    let cluster = Cluster::of(|builder| {
        builder.user(ACCOUNT, &["system:serviceaccounts", "system:authenticated"])
    });
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = cluster.plane.kubeconfig();
    let kubeconfig = format!("--kubeconfig={}", kubeconfig.display());
    let helm = |arguments: &[&str]| {
        let usual = ["--namespace=muster-system", kubeconfig.as_str()];
        helm_says(folder.path(), &[arguments, &usual].concat())
    };
    let chart = chart();
    helm(&[
        "install",
        "muster",
        chart.to_str().unwrap(),
        "--create-namespace",
    ]);
    cluster.nodes(4, "8");
    let lease = |identity: &str| {
        let (namespace, name) = ("muster-system".to_owned(), "muster".to_owned());
        Some(LeaseOptions {
            namespace,
            name,
            identity: Identity::of_process(identity),
        })
    };
    let as_account = cluster.plane.kubeconfig_of(ACCOUNT).unwrap();
    let first = cluster.muster_as(&as_account, lease("first"));
    eventually("it is ready by the rights of the chart", || {
        first.health.problems().is_empty()
    });
    cluster.gang("before", 8);
    cluster.pods("before", 8, "1");
    eventually("a gang is bound", || cluster.bound("before") == 8);
    // What an upgrade does: new definitions and rights, then another instance takes over, while gangs come.
    let next = next_version(folder.path());
    let rest = |gang: &str| {
        for member in 4..8 {
            cluster.plane.post(PODS, &pod(gang, member, "1")).unwrap();
        }
    };
    for gang in ["one", "two"] {
        cluster.gang(gang, 8);
        cluster.pods(gang, 4, "1");
    }
    helm(&[
        "upgrade",
        "muster",
        next.to_str().unwrap(),
        "--set=scheduler.replicas=3",
        "--set=admission.queues=true,admission.priorities=true,admission.longestLifetime=24h",
    ]);
    rest("one");
    let second = cluster.muster_as(&as_account, lease("second"));
    first.stop();
    rest("two");
    for gang in ["one", "two"] {
        eventually("a gang that came meanwhile is bound whole", || {
            cluster.bound(gang) == 8
        });
    }
    assert_eq!(cluster.bound("before"), 8);
    let deployment = "/apis/apps/v1/namespaces/muster-system/deployments/muster";
    assert_eq!(
        cluster.plane.get(deployment).unwrap()["spec"]["replicas"],
        3
    );
    let policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
    for name in ["muster-queues", "muster-priorities", "muster-lifetimes"] {
        let policy = cluster.plane.get(&format!("{policies}/{name}"));
        assert!(policy.is_ok(), "{name}");
    }
    let crd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/queues.muster.dev";
    let names = cluster.plane.get(crd).unwrap()["spec"]["names"]["shortNames"].clone();
    assert!(
        names
            .as_array()
            .unwrap()
            .iter()
            .any(|name| name == "mqnext"),
        "{names}"
    );
    second.stop();
    helm(&["uninstall", "muster"]);
    assert!(cluster.plane.get(deployment).is_err());
    assert!(
        cluster.plane.get(crd).is_ok(),
        "with a definition all its objects would go"
    );
    assert_eq!(cluster.bound("before"), 8);
}

#[test]
fn helm_takes_over_what_kubectl_installed() {
    let cluster = Cluster::bare();
    cluster.apply_folder("crds");
    cluster.apply_folder("deploy");
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = format!("--kubeconfig={}", cluster.plane.kubeconfig().display());
    let chart = chart();
    let install = [
        "install",
        "muster",
        chart.to_str().unwrap(),
        "--namespace=muster-system",
        "--take-ownership",
        "--force-conflicts",
        "--set=image.tag=v9",
        &kubeconfig,
    ];
    helm_says(folder.path(), &install);
    let deployment = "/apis/apps/v1/namespaces/muster-system/deployments/muster";
    let deployment = cluster.plane.get(deployment).unwrap();
    let containers = deployment["spec"]["template"]["spec"]["containers"].clone();
    assert_eq!(containers.as_array().unwrap().len(), 1);
    assert_eq!(containers[0]["image"], "muster:v9");
}
