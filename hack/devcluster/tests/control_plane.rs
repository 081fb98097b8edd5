//! The control plane starts, serves, survives the loss of its parts and leaves
//! nothing behind. Needs what `hack/build-control-plane` builds.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use std::{fs, io};

use muster_devcluster::{ControlPlane, Role, fake_node};
use serde_json::{Value, json};

const LIMIT: Duration = Duration::from_secs(60);

#[expect(
    clippy::disallowed_methods,
    reason = "tests other processes, in real time"
)]
fn eventually(what: &str, mut check: impl FnMut() -> bool) -> Duration {
    let start = Instant::now();
    while !check() {
        assert!(start.elapsed() < LIMIT, "{what}: not within {LIMIT:?}");
        sleep(Duration::from_millis(20));
    }
    start.elapsed()
}

#[expect(clippy::disallowed_methods, reason = "measures a real start")]
fn timed<T>(what: &str, run: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = run();
    eprintln!("{what}: {:.2} s", start.elapsed().as_secs_f64());
    result
}

/// Whether a process runs. A zombie does not.
fn alive(pid: u32) -> bool {
    let state = Command::new("ps")
        .args(["-o", "stat=", "-p", &pid.to_string()])
        .output()
        .unwrap();
    let state = String::from_utf8(state.stdout).unwrap();
    !state.trim().is_empty() && !state.trim().starts_with('Z')
}

fn pod(name: &str, node: Option<&str>, annotations: &Value) -> Value {
    let mut pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "annotations": annotations},
        "spec": {"schedulerName": "muster", "containers": [{"name": "main", "image": "none"}]},
    });
    if let Some(node) = node {
        pod["spec"]["nodeName"] = json!(node);
    }
    pod
}

fn bind(plane: &ControlPlane, pod: &str, node: &str) {
    let binding = json!({
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": pod},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    });
    plane
        .post(&format!("{PODS}/{pod}/binding"), &binding)
        .unwrap();
}

const PODS: &str = "/api/v1/namespaces/default/pods";

fn phase(plane: &ControlPlane, pod: &str) -> String {
    let pod = plane.get(&format!("{PODS}/{pod}")).unwrap();
    pod["status"]["phase"].as_str().unwrap().to_owned()
}

#[test]
fn kwok_runs_a_bound_pod_and_ends_it_after_its_duration() {
    let plane = timed("start with kwok", || {
        ControlPlane::builder().kwok(true).start()
    })
    .unwrap();
    assert_eq!(plane.kubectl(&["get", "--raw", "/readyz"]).unwrap(), "ok");
    timed("100 nodes", || {
        plane.create_nodes(100, |i| fake_node(&format!("node-{i}"), &[("cpu", "8")]))
    })
    .unwrap();
    let nodes = plane.kubectl(&["get", "nodes", "--no-headers"]).unwrap();
    assert_eq!(
        nodes
            .lines()
            .filter(|line| line.contains(" Ready "))
            .count(),
        100,
        "{nodes}"
    );

    let duration = json!({"simulate.muster.dev/duration": "2s"});
    plane.post(PODS, &pod("short", None, &duration)).unwrap();
    plane.post(PODS, &pod("long", None, &json!({}))).unwrap();
    plane.post(PODS, &pod("waiting", None, &json!({}))).unwrap();
    for pod in ["short", "long"] {
        bind(&plane, pod, "node-7");
    }
    let running = eventually("the pod runs", || phase(&plane, "short") == "Running");
    eprintln!("bound to Running: {:.2} s", running.as_secs_f64());
    // A change meanwhile does not start its time again.
    plane
        .kubectl(&["annotate", "pod", "short", "touched=yes"])
        .unwrap();
    let failing =
        json!({"simulate.muster.dev/duration": "1s", "simulate.muster.dev/ends": "Failed"});
    plane.post(PODS, &pod("failing", None, &failing)).unwrap();
    bind(&plane, "failing", "node-7");
    let ended = eventually("the pod ends", || phase(&plane, "short") == "Succeeded");
    assert!(ended < Duration::from_millis(3500), "ended after {ended:?}");

    eventually("the other fails", || phase(&plane, "failing") == "Failed");

    let long = plane.get(&format!("{PODS}/long")).unwrap();
    assert_eq!(long["status"]["phase"], "Running");
    assert!(long["status"]["podIP"].is_string(), "{long:#}");
    assert_eq!(long["status"]["containerStatuses"][0]["ready"], true);
    let ready = |status: &Value| status["type"] == "Ready" && status["status"] == "True";
    assert!(
        long["status"]["conditions"]
            .as_array()
            .unwrap()
            .iter()
            .any(ready),
        "{long:#}"
    );
    assert_eq!(phase(&plane, "waiting"), "Pending");
    assert_eq!(long["spec"]["nodeName"], "node-7");
}

#[test]
fn kwok_removes_a_deleted_pod_and_its_finalizers() {
    let plane = ControlPlane::builder().kwok(true).start().unwrap();
    plane.create_nodes(1, |_| fake_node("node", &[])).unwrap();
    let mut held = pod("held", Some("node"), &json!({}));
    held["metadata"]["finalizers"] = json!(["example.com/held"]);
    plane.post(PODS, &held).unwrap();
    eventually("the pod runs", || phase(&plane, "held") == "Running");
    plane
        .kubectl(&["delete", "pod", "held", "--wait=false"])
        .unwrap();
    eventually("the pod is gone", || {
        plane.get(&format!("{PODS}/held")).is_err()
    });
}

#[test]
fn for_end_to_end_tests_finalizers_and_sleeping_hooks_hold_pods_and_capacity_becomes_allocatable() {
    let builder = ControlPlane::builder().kwok(true).end_to_end(true);
    let plane = builder.start().unwrap();
    plane.create_nodes(1, |_| fake_node("node", &[])).unwrap();
    let names = ["held", "asleep", "plain"];
    for name in names {
        let mut pod = pod(name, Some("node"), &json!({}));
        if name == "held" {
            pod["metadata"]["finalizers"] = json!(["example.com/held"]);
        }
        if name == "asleep" {
            let hook = json!({"preStop": {"sleep": {"seconds": 2}}});
            pod["spec"]["containers"][0]["lifecycle"] = hook;
            pod["spec"]["terminationGracePeriodSeconds"] = json!(3);
        }
        plane.post(PODS, &pod).unwrap();
        eventually("the pod runs", || phase(&plane, name) == "Running");
    }
    for name in names {
        let delete = ["delete", "pod", name, "--wait=false"];
        plane.kubectl(&delete).unwrap();
    }
    let there = |name: &str| plane.get(&format!("{PODS}/{name}")).is_ok();
    eventually("who has nothing to wait for is gone", || !there("plain"));
    assert!(there("asleep"), "it sleeps");
    let slept = eventually("it has slept", || !there("asleep"));
    assert!(slept > Duration::from_secs(1), "{slept:?}");
    assert!(there("held"), "somebody holds it");

    let patch = |value: &Value| {
        let patch = json!({"status": {"capacity": {"example.com/thing": value}}}).to_string();
        let node = ["patch", "node", "node", "--subresource=status"];
        let args = [&node[..], &["--type=merge", "-p", &patch]].concat();
        plane.kubectl(&args).unwrap();
    };
    let allocatable = || {
        let node = plane.get("/api/v1/nodes/node").unwrap();
        node["status"]["allocatable"]["example.com/thing"].clone()
    };
    patch(&json!("5"));
    eventually("it is allocatable", || allocatable() == "5");
    patch(&Value::Null);
    eventually("it is not any more", || allocatable().is_null());
}

#[test]
fn a_node_goes_down_and_comes_back_by_its_annotation() {
    let plane = ControlPlane::builder()
        .kwok(true)
        .controller_manager(true)
        .node_lifecycle(true)
        .start()
        .unwrap();
    plane
        .create_nodes(1, |_| fake_node("node", &[("cpu", "3")]))
        .unwrap();
    let tainted = || {
        let node = plane.get("/api/v1/nodes/node").unwrap();
        assert_eq!(node["status"]["allocatable"]["cpu"], "3");
        node["spec"]["taints"]
            .to_string()
            .contains("node.kubernetes.io/not-ready")
    };
    plane
        .kubectl(&["annotate", "node", "node", "simulate.muster.dev/down=true"])
        .unwrap();
    eventually("the node is tainted", tainted);
    plane
        .kubectl(&["annotate", "node", "node", "simulate.muster.dev/down-"])
        .unwrap();
    eventually("the taint is gone", || !tainted());
}

#[test]
fn controllers_make_the_pods_of_a_job() {
    let plane = timed("start with kwok and controllers", || {
        ControlPlane::builder()
            .kwok(true)
            .controller_manager(true)
            .kube_scheduler(true)
            .start()
    })
    .unwrap();
    plane
        .create_nodes(2, |i| fake_node(&format!("node-{i}"), &[("cpu", "4")]))
        .unwrap();
    let job = "
apiVersion: batch/v1
kind: Job
metadata: {name: three, namespace: default}
spec:
  completions: 3
  parallelism: 3
  template:
    metadata: {annotations: {simulate.muster.dev/duration: 100ms}}
    spec:
      restartPolicy: Never
      containers: [{name: main, image: none, resources: {requests: {cpu: 1}}}]
";
    plane.kubectl_apply_stdin(job).unwrap();
    eventually("the job completes", || {
        let job = plane
            .get("/apis/batch/v1/namespaces/default/jobs/three")
            .unwrap();
        job["status"]["succeeded"] == 3
    });
}

#[test]
fn upstream_pod_groups_are_served_when_asked_for() {
    let plane = ControlPlane::builder()
        .upstream_pod_groups(true)
        .start()
        .unwrap();
    plane
        .get("/apis/scheduling.k8s.io/v1beta1/podgroups")
        .unwrap();
}

#[test]
fn a_user_may_only_what_rbac_grants() {
    let user = "system:serviceaccount:apps:worker";
    let plane = ControlPlane::builder()
        .user(user, &["team"])
        .start()
        .unwrap();
    let config = plane.kubeconfig_of(user).unwrap();
    let may = |verb: &str| {
        let config = config.to_str().unwrap();
        plane.kubectl(&["--kubeconfig", config, "auth", "can-i", verb, "pods"])
    };
    assert!(may("list").is_err());
    let role = [
        "create",
        "clusterrole",
        "lister",
        "--verb=list",
        "--resource=pods",
    ];
    plane.kubectl(&role).unwrap();
    let binding = [
        "create",
        "clusterrolebinding",
        "b",
        "--clusterrole=lister",
        "--group=team",
    ];
    plane.kubectl(&binding).unwrap();
    eventually("the user may list", || may("list").is_ok());
    assert!(may("delete").is_err());
    assert!(plane.kubeconfig_of("nobody").is_err());
}

#[test]
fn who_wrote_what_is_in_the_audit_log() {
    let plane = ControlPlane::builder().audit(true).start().unwrap();
    plane.create_nodes(1, |_| fake_node("node", &[])).unwrap();
    assert!(plane.create_nodes(1, |_| fake_node("node", &[])).is_err());
    let created = |event: &Value| {
        event["verb"] == "create"
            && event["user"]["username"] == "admin"
            && event["objectRef"]["resource"] == "nodes"
            && event["objectRef"]["name"] == "node"
    };
    let codes = || {
        let log = plane.audit().unwrap();
        let created = log.into_iter().filter(created);
        let codes = created.map(|event| event["responseStatus"]["code"].as_u64());
        codes.flatten().collect::<Vec<_>>()
    };
    eventually("both are in the log", || codes() == [201, 409]);
    let silent = ControlPlane::builder().start().unwrap();
    assert!(silent.audit().is_err());
}

#[test]
fn what_was_written_survives_the_crash_of_every_part() {
    let mut plane = ControlPlane::builder().kwok(true).start().unwrap();
    plane.create_nodes(1, |_| fake_node("node", &[])).unwrap();
    plane.kill(Role::ApiServer).unwrap();
    assert!(plane.get("/readyz").is_err());
    assert_eq!(plane.pid(Role::ApiServer), None);
    plane.kill(Role::Etcd).unwrap();
    plane.restart(Role::Etcd).unwrap();
    timed("restart of the API server", || {
        plane.restart(Role::ApiServer)
    })
    .unwrap();
    plane.restart(Role::Kwok).unwrap();
    plane.get("/api/v1/nodes/node").unwrap();
    plane
        .post(PODS, &pod("p", Some("node"), &json!({})))
        .unwrap();
    eventually("the pod runs", || phase(&plane, "p") == "Running");

    plane.pause(Role::Kwok).unwrap();
    plane
        .post(PODS, &pod("q", Some("node"), &json!({})))
        .unwrap();
    sleep(Duration::from_secs(2));
    assert_eq!(phase(&plane, "q"), "Pending");
    plane.resume(Role::Kwok).unwrap();
    eventually("the pod runs", || phase(&plane, "q") == "Running");
    assert!(plane.kill(Role::Scheduler).is_err());
}

#[test]
fn two_stand_side_by_side_and_leave_nothing() {
    let first = ControlPlane::builder().start().unwrap();
    let second = ControlPlane::builder().start().unwrap();
    assert_ne!(first.url(), second.url());
    first
        .create_nodes(1, |_| fake_node("only-here", &[]))
        .unwrap();
    assert!(second.get("/api/v1/nodes/only-here").is_err());

    let roles = [Role::Etcd, Role::ApiServer];
    let pids = roles.map(|role| first.pid(role).unwrap());
    assert!(pids.into_iter().all(alive));
    let dir = first.dir().to_owned();
    timed("stop", || drop(first));
    assert!(!pids.into_iter().any(alive));
    assert!(!dir.exists());
    second.get("/api/v1/namespaces").unwrap();
    assert!(second.pid(Role::ApiServer).is_some_and(alive));
}

/// A `muster-devcluster up` that is stopped if the test fails.
struct Holder(Child);

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn nothing_outlives_a_holder_that_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    let mut holder = Holder(
        Command::new(env!("CARGO_BIN_EXE_muster-devcluster"))
            .args(["up", "--nodes", "3", "--dir"])
            .arg(dir.path())
            .stdin(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap(),
    );
    let ready = dir.path().join("ready");
    eventually("it is up", || {
        assert_eq!(holder.0.try_wait().unwrap(), None);
        ready.exists()
    });
    let names = ["etcd", "kube-apiserver", "kube-controller-manager", "kwok"];
    let pids = names.map(|name| read_pid(dir.path(), name).unwrap());
    let data = command_line(pids[0]);
    let data = data
        .split(['\0', ' '])
        .find_map(|flag| flag.strip_prefix("--data-dir="))
        .unwrap();
    assert!(Path::new(data).exists());

    // SIGKILL to its whole group, as `timeout` does: nothing of its own runs any more.
    let group = format!("-{}", holder.0.id());
    let kill = Command::new("kill").args(["-KILL", "--", &group]).status();
    assert!(kill.unwrap().success());
    eventually("all are gone", || !pids.into_iter().any(alive));
    eventually("the data is gone", || !Path::new(data).exists());
}

fn read_pid(dir: &Path, name: &str) -> io::Result<u32> {
    let text = fs::read_to_string(dir.join(format!("{name}.pid")))?;
    Ok(text.trim().parse().unwrap())
}

fn command_line(pid: u32) -> String {
    let ps = Command::new("ps")
        .args(["-ww", "-o", "args=", "-p", &pid.to_string()])
        .output();
    String::from_utf8(ps.unwrap().stdout).unwrap()
}
