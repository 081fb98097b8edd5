//! What kubectl prints of a cluster, and what `muster snapshot` writes of it, plays on, and who waits there waits in the
//! order that the scheduler on the cluster says.

use crate::live::{Cluster, LIMIT, eventually, text, within};
use crate::process::Process;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

/// Two queues, a Job and a Deployment, whose pods are Muster's, and things that mean nothing to a scheduler.
const LOAD: &str = r#"
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: muster-ghost}
value: -1000000000
preemptionPolicy: Never
---
apiVersion: muster.dev/v1alpha1
kind: Queue
metadata: {name: science}
spec: {weight: 3, overShareFactor: 1000}
---
apiVersion: muster.dev/v1alpha1
kind: Queue
metadata: {name: humanities}
spec: {weight: 1, overShareFactor: 1000}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {password: SECRET}
---
apiVersion: v1
kind: Secret
metadata: {name: keys}
stringData: {key: SECRET}
---
apiVersion: batch/v1
kind: Job
metadata: {name: sweep}
spec:
  completions: 6
  parallelism: 2
  template:
    metadata: {labels: {muster.dev/queue: humanities}}
    spec:
      schedulerName: muster
      restartPolicy: Never
      containers: [{name: main, image: work, command: [SECRET], env: [{name: KEY, value: SECRET}], resources: {requests: {cpu: "1"}}}]
---
apiVersion: muster.dev/v1alpha1
kind: QueueJob
metadata: {name: pair}
spec:
  taskSpecs:
  - name: worker
    replicas: 2
    template:
      metadata: {labels: {muster.dev/queue: humanities}}
      spec:
        schedulerName: muster
        containers: [{name: main, image: work, command: [SECRET], resources: {requests: {cpu: 500m}}}]
---
apiVersion: muster.dev/v1alpha1
kind: Testbed
metadata: {name: lab}
spec: {nodeLabel: kubernetes.io/hostname, slotsPerNode: 1, resourcesPerSlot: {cpu: 500m}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web, muster.dev/queue: science}, annotations: {acme.example/token: SECRET}}
    spec:
      schedulerName: muster
      containers: [{name: main, image: work, args: [SECRET], resources: {requests: {cpu: "1"}}}]
"#;

/// A gang of pods that ask for so many CPUs.
fn gang(name: &str, pods: usize, cpu: &str, queue: &str, priority: i32) -> String {
    let mut text = format!(
        "apiVersion: muster.dev/v1alpha1\nkind: PodGroup\nmetadata: {{name: {name}}}\n\
         spec: {{minAvailable: {pods}, queue: {queue}, priority: {priority}}}\n"
    );
    for index in 0..pods {
        text += &format!(
            "---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: {name}-{index}\n  labels: {{muster.dev/pod-group: \
             {name}}}\nspec:\n  schedulerName: muster\n  terminationGracePeriodSeconds: 0\n  containers: [{{name: \
             main, image: work, resources: {{requests: {{cpu: \"{cpu}\"}}}}}}]\n"
        );
    }
    text
}

fn pod_groups(cluster: &Cluster) -> Vec<Value> {
    let path = "/apis/muster.dev/v1alpha1/namespaces/default/podgroups";
    let list = cluster.plane.get(path).unwrap();
    list["items"].as_array().unwrap().clone()
}

/// Who waits in which queue, in the order of the positions that are said of them.
fn order(groups: &[Value], [name, queue, position]: [&str; 3]) -> Vec<String> {
    let waits = groups.iter().filter_map(|group| {
        let position = group.pointer(position)?.as_u64()?;
        let name = group.pointer(name)?.to_string();
        Some(((text(group, queue), position), name.replace('"', "")))
    });
    let waits: BTreeMap<(String, u64), String> = waits.collect();
    let named = waits.into_iter();
    named
        .map(|((queue, position), name)| format!("{queue} {position}: {name}"))
        .collect()
}

const LIVE: [&str; 3] = ["/metadata/name", "/spec/queue", "/status/position"];
const PLAYED: [&str; 3] = ["/name", "/queue", "/position"];

fn live_order(cluster: &Cluster) -> Vec<String> {
    order(&pod_groups(cluster), LIVE)
}

/// Plays a file for two seconds.
fn simulate(file: &Path) -> (Value, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_muster"))
        .arg("simulate")
        .arg(file)
        .args(["--until", "2s", "--output", "json"])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    (serde_json::from_slice(&output.stdout).unwrap(), said)
}

fn snapshot(cluster: &Cluster, file: &Path, more: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_muster"))
        .args(["snapshot", "--kubeconfig"])
        .arg(cluster.plane.kubeconfig())
        .arg("-o")
        .arg(file)
        .args(more)
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    said
}

/// Where the pods of a report are.
fn places(report: &Value) -> BTreeMap<String, String> {
    let pods = report["pods"].as_array().unwrap().iter();
    let bound = pods.filter(|pod| {
        let runs = pod["node"].is_string() && pod["phase"] != "Succeeded";
        runs && pod["namespace"] == "default"
    });
    bound
        .map(|pod| (text(pod, "/name"), text(pod, "/node")))
        .collect()
}

#[test]
fn who_waits_waits_in_a_dump_in_the_order_that_the_live_scheduler_says() {
    let cluster = Cluster::of(|builder| builder.controller_manager(true));
    cluster.apply_folder("crds");
    cluster
        .plane
        .kubectl(&["create", "namespace", "muster-system"])
        .unwrap();
    cluster.nodes(4, "9");
    eventually("the kinds are served", || {
        cluster.plane.kubectl_apply_stdin(LOAD).is_ok()
    });
    let process = Process::start(&cluster, &["--leader-elect=false", "--controllers"]);
    eventually("it leads", || process.said("leading").is_some());
    eventually("the pods of the controllers run", || {
        let ghosts = cluster
            .plane
            .get("/api/v1/namespaces/muster-system/pods")
            .unwrap();
        let ghosts = ghosts["items"].as_array().unwrap().iter();
        let bound = ghosts.filter(|ghost| ghost["spec"]["nodeName"].is_string());
        bound.count() == 4
            && cluster.bound("pair-") == 2
            && cluster.bound("sweep-") >= 2
            && cluster.bound("web-") == 2
    });
    for index in 0..3 {
        cluster.apply(&gang(&format!("runs-{index}"), 4, "2", "science", 0));
    }
    eventually("gangs run", || cluster.bound("runs-") == 12);
    // They come apart: ages are in seconds. Their names are in another order.
    let waiting = [
        ("wide", 5, "science"),
        ("broad", 6, "humanities"),
        ("vast", 7, "science"),
        ("ample", 8, "science"),
        ("roomy", 9, "humanities"),
    ];
    for (name, pods, queue) in waiting {
        cluster.apply(&gang(name, pods, "2", queue, 0));
        sleep(Duration::from_millis(1_100));
    }
    let mut before = Vec::new();
    within(2 * LIMIT, "positions are said and stay", || {
        let now = live_order(&cluster);
        let stays = now == before && now.len() == waiting.len();
        before = now;
        sleep(Duration::from_secs(2));
        stays
    });

    let folder = tempfile::tempdir().unwrap();
    let kinds = "nodes,pods,jobs,deployments,replicasets,configmaps,secrets,namespaces,priorityclasses,\
                 podgroups.muster.dev,queues.muster.dev,queuejobs.muster.dev,testbeds.muster.dev,\
                 testbedslices.muster.dev,schedulingspecs.muster.dev";
    let dump = cluster
        .plane
        .kubectl(&["get", "-A", "-o", "yaml", kinds])
        .unwrap();
    let (file, taken) = (
        folder.path().join("dump.yaml"),
        folder.path().join("taken.gz"),
    );
    fs::write(&file, dump).unwrap();
    let said = snapshot(&cluster, &taken, &[]);
    assert!(said.contains(" objects, "), "{said}");
    let expected = live_order(&cluster);
    assert_eq!(expected, before, "it is still as it was");
    let live: BTreeMap<String, String> = cluster
        .placed("")
        .into_iter()
        .filter_map(|(name, node)| Some((name, node?)))
        .collect();

    for file in [&file, &taken] {
        let (report, said) = simulate(file);
        let groups = report["podGroups"].as_array().unwrap();
        assert_eq!(order(groups, PLAYED), expected, "{said}");
        assert_eq!(places(&report), live, "{said}");
        let ghosts = report["pods"].as_array().unwrap().iter();
        let ghosts = ghosts.filter(|pod| pod["ghost"] == true);
        assert_eq!(ghosts.count(), 4, "none is made twice: {report}");
        assert_eq!(report["metrics"]["evictions"], 0, "{report}");
        let ages = groups
            .iter()
            .map(|group| group["submittedAt"].as_f64().unwrap());
        assert!(
            ages.clone().all(|age| (-600.0..0.0).contains(&age)),
            "{report}"
        );
        assert!(report["violations"].is_null());
    }
    let (_, said) = simulate(&file);
    assert!(said.contains("passed over: "), "{said}");
    assert!(said.contains(" Secret"), "{said}");

    // Nothing is in a snapshot that is not read, and in an anonymous one no name.
    let words = zcat(&taken);
    assert!(
        !words.contains("SECRET") && words.contains("ample"),
        "{words}"
    );
    snapshot(&cluster, &taken, &["--anonymise"]);
    let words = zcat(&taken);
    for name in [
        "SECRET",
        "science",
        "humanities",
        "ample",
        "roomy",
        "sweep",
        "web",
    ] {
        let line = words.lines().find(|line| line.contains(name));
        assert_eq!(line, None, "{name}");
    }
    let (report, said) = simulate(&taken);
    let groups = report["podGroups"].as_array().unwrap();
    // The sizes of these gangs are all different: they tell who is who. Queues are in another order.
    let sizes = |groups: &[Value], fields| -> BTreeSet<String> {
        let named = order(groups, fields).into_iter();
        let rest = named.map(|one| one.split_once(' ').unwrap().1.to_owned());
        rest.collect()
    };
    let live = sizes(
        &pod_groups(&cluster),
        ["/spec/minAvailable", "/spec/queue", "/status/position"],
    );
    assert_eq!(live.len(), waiting.len());
    let played = sizes(groups, ["/minAvailable", "/queue", "/position"]);
    assert_eq!(played, live, "{said}");
}

/// What is in a compressed file.
fn zcat(file: &Path) -> String {
    let bytes = fs::read(file).unwrap();
    let text = muster::api::snapshot::decompressed(&bytes).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn a_snapshot_of_what_cannot_be_read_is_refused_with_the_path() {
    let cluster = Cluster::start();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("taken.gz");
    let nobody = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "users": [{"name": "u", "user": {}}],
    });
    let config = folder.path().join("config");
    fs::write(&config, nobody.to_string()).unwrap();
    let run = |kubeconfig: &Path, output: &Path| {
        let output = Command::new(env!("CARGO_BIN_EXE_muster"))
            .args(["snapshot", "--kubeconfig"])
            .arg(kubeconfig)
            .arg("-o")
            .arg(output)
            .output()
            .unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (code, said) = run(&config, &file);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.starts_with("/api/v1/pods: "), "{said}");
    assert!(!file.exists());
    let (code, said) = run(&cluster.plane.kubeconfig(), Path::new("/nowhere/taken.gz"));
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("there is no directory /nowhere"), "{said}");
    let (code, said) = run(&cluster.plane.kubeconfig(), &file);
    assert_eq!(code, Some(0), "{said}");
    assert!(file.exists());
}
