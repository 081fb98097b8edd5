//! A real control plane with Muster's kinds, and Muster on it, in this process.

use muster::api::Reading;
use muster::cluster::client;
use muster::cluster::lanes::Answerers;
use muster::cluster::lease::LeaseOptions;
use muster::cluster::{Explanations, Fence, Health, Metrics};
use muster::config::SchedulerConfiguration;
use muster::controllers::testbed::Settings;
use muster::core::engine::{Policy, Priorities};
use muster::live::{self, Options, controllers};
use muster_devcluster::{ControlPlane, fake_node};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// How long anything may take on a busy machine.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);
/// How long an answer may take to begin.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// Several tests at once are more than a small machine should carry.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A control plane with kwok's kubelets.
pub(crate) struct Cluster {
    pub(crate) plane: Arc<ControlPlane>,
    _turn: Option<MutexGuard<'static, ()>>,
}

impl Cluster {
    /// Without Muster's kinds.
    pub(crate) fn bare() -> Self {
        Self::of(|builder| builder)
    }

    /// With more than kwok.
    pub(crate) fn of(
        choose: impl FnOnce(muster_devcluster::Builder) -> muster_devcluster::Builder,
    ) -> Self {
        let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        Self {
            _turn: Some(turn),
            ..Self::beside_others(choose)
        }
    }

    /// The same without waiting for its turn: for one test that has several.
    pub(crate) fn beside_others(
        choose: impl FnOnce(muster_devcluster::Builder) -> muster_devcluster::Builder,
    ) -> Self {
        let plane = choose(ControlPlane::builder().kwok(true)).start().unwrap();
        Self {
            plane: Arc::new(plane),
            _turn: None,
        }
    }

    /// With Muster's kinds.
    pub(crate) fn start() -> Self {
        let cluster = Self::bare();
        cluster.apply_folder("crds");
        cluster
    }

    /// Applies every manifest of a folder of this repository.
    pub(crate) fn apply_folder(&self, folder: &str) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let mut files: Vec<_> = fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|end| end == "yaml"))
            .collect();
        files.sort();
        for file in files {
            self.apply(&fs::read_to_string(file).unwrap());
        }
    }

    /// Applies manifests.
    pub(crate) fn apply(&self, yaml: &str) {
        self.plane.kubectl_apply_stdin(yaml).unwrap();
    }

    /// Creates `count` nodes `node-0` ... with so many CPUs.
    pub(crate) fn nodes(&self, count: usize, cpu: &str) {
        let node = |i| fake_node(&format!("node-{i}"), &[("cpu", cpu), ("memory", "64Gi")]);
        self.plane.create_nodes(count, node).unwrap();
    }

    /// Creates one of our PodGroups in `default`.
    pub(crate) fn gang(&self, name: &str, min: u32) {
        let object = json!({
            "apiVersion": "muster.dev/v1alpha1",
            "kind": "PodGroup",
            "metadata": {"name": name},
            "spec": {"minAvailable": min},
        });
        let path = "/apis/muster.dev/v1alpha1/namespaces/default/podgroups";
        // A kind that was just defined is served a moment later.
        eventually("the PodGroup is taken", || {
            self.plane.post(path, &object).is_ok()
        });
    }

    /// Creates `count` pods `NAME-0` ... of a gang in `default`.
    pub(crate) fn pods(&self, gang: &str, count: usize, cpu: &str) {
        for i in 0..count {
            self.plane.post(PODS, &pod(gang, i, cpu)).unwrap();
        }
    }

    /// The same, several at a time.
    pub(crate) fn pods_at_once(&self, gang: &str, count: usize, cpu: &str) {
        let threads = 16;
        scope(|scope| {
            for first in 0..threads {
                scope.spawn(move || {
                    for i in (first..count).step_by(threads) {
                        self.plane.post(PODS, &pod(gang, i, cpu)).unwrap();
                    }
                });
            }
        });
    }

    /// Deletes a pod of `default` without grace.
    pub(crate) fn delete_now(&self, pod: &str) {
        let at_once = ["--force", "--grace-period=0", "--wait=false"];
        let arguments = [&["delete", "pod", pod], &at_once[..]].concat();
        self.plane.kubectl(&arguments).unwrap();
    }

    /// Waits until a policy refuses to bind a pod, which does not exist yet, with these words.
    pub(crate) fn refuses_to_bind(&self, pod: &str, node: &str, words: &str) {
        let probe = json!({
            "apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        });
        eventually("the policy is in force", || {
            let answer = self.plane.post(&format!("{PODS}/{pod}/binding"), &probe);
            answer.is_err_and(|error| error.to_string().contains(words))
        });
    }

    /// A pod of `default`.
    pub(crate) fn pod(&self, name: &str) -> Value {
        self.plane.get(&format!("{PODS}/{name}")).unwrap()
    }

    /// The node of every pod of `default` whose name begins so.
    pub(crate) fn placed(&self, prefix: &str) -> BTreeMap<String, Option<String>> {
        let list = self.plane.get(PODS).unwrap();
        list["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|pod| (text(pod, "/metadata/name"), pod.pointer("/spec/nodeName")))
            .filter(|(name, _)| name.starts_with(prefix))
            .map(|(name, node)| (name, node.and_then(Value::as_str).map(str::to_owned)))
            .collect()
    }

    /// How many pods whose name begins so are bound.
    pub(crate) fn bound(&self, prefix: &str) -> usize {
        self.placed(prefix).values().flatten().count()
    }

    /// A PodGroup of `default`.
    pub(crate) fn status_of(&self, gang: &str) -> Value {
        let path = format!("/apis/muster.dev/v1alpha1/namespaces/default/podgroups/{gang}");
        self.plane.get(&path).unwrap()["status"].clone()
    }

    /// The events about a pod of `default`: `reason: note`.
    pub(crate) fn events(&self, pod: &str) -> Vec<String> {
        let path = "/apis/events.k8s.io/v1/namespaces/default/events";
        let list = self.plane.get(path).unwrap();
        list["items"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|event| text(event, "/regarding/name") == pod)
            .map(|event| format!("{}: {}", text(event, "/reason"), text(event, "/note")))
            .collect()
    }

    /// Starts Muster as the admin, without a lease.
    pub(crate) fn muster(&self) -> Muster {
        self.muster_as(&self.plane.kubeconfig(), None)
    }

    /// Starts Muster as somebody.
    pub(crate) fn muster_as(&self, kubeconfig: &Path, lease: Option<LeaseOptions>) -> Muster {
        self.muster_with(kubeconfig, lease, |_| {})
    }

    /// Starts the controllers as somebody.
    pub(crate) fn controllers_as(&self, kubeconfig: &Path, lease: Option<LeaseOptions>) -> Muster {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let config = runtime
            .block_on(client::kube_config(Some(kubeconfig)))
            .unwrap();
        let health = Arc::new(Health::of(controllers::WATCHED));
        let metrics = Arc::new(Metrics::new().unwrap());
        let (stop, stopped) = oneshot::channel::<()>();
        let task = {
            let _inside = runtime.enter();
            let fence = if lease.is_some() {
                Fence::shut()
            } else {
                Fence::open()
            };
            let options = controllers::Options {
                reader: client::reader(&config, ANSWER_WITHIN).unwrap(),
                writer: client::writer(&config, ANSWER_WITHIN, &fence).unwrap(),
                fence,
                lease: lease.map(|lease| (client::lease(&config).unwrap(), lease)),
                settings: Settings::default(),
                in_flight: 16,
                health: Arc::clone(&health),
                metrics: Arc::clone(&metrics),
            };
            runtime.spawn(controllers::run(options, async {
                let _ = stopped.await;
            }))
        };
        Muster {
            health,
            metrics,
            stop,
            task,
            runtime,
        }
    }

    /// Starts Muster as somebody, with other options than usual.
    pub(crate) fn muster_with(
        &self,
        kubeconfig: &Path,
        lease: Option<LeaseOptions>,
        change: impl FnOnce(&mut Options),
    ) -> Muster {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let config = runtime
            .block_on(client::kube_config(Some(kubeconfig)))
            .unwrap();
        let (health, metrics) = (
            Arc::new(Health::default()),
            Arc::new(Metrics::new().unwrap()),
        );
        let (stop, stopped) = oneshot::channel::<()>();
        let task = {
            let _inside = runtime.enter();
            let fence = if lease.is_some() {
                Fence::shut()
            } else {
                Fence::open()
            };
            let mut options = Options {
                reader: client::reader(&config, ANSWER_WITHIN).unwrap(),
                writer: client::writer(&config, ANSWER_WITHIN, &fence).unwrap(),
                fence,
                // What PodGroups say of their priority counts, whatever their pods have.
                policy: Policy {
                    priorities: Priorities::AsGiven,
                    ..Policy::default()
                },
                reading: Reading {
                    scheduler_names: vec!["muster".to_owned()],
                    ..Reading::default()
                },
                lease: lease.map(|lease| (client::lease(&config).unwrap(), lease)),
                answerers: Answerers::default(),
                binds_in_flight: SchedulerConfiguration::default().bind_concurrency.get() as usize,
                instance: "muster-test".to_owned(),
                health: Arc::clone(&health),
                metrics: Arc::clone(&metrics),
                explanations: Arc::new(Explanations::default()),
                recording: None,
            };
            change(&mut options);
            runtime.spawn(live::run(options, async {
                let _ = stopped.await;
            }))
        };
        Muster {
            health,
            metrics,
            stop,
            task,
            runtime,
        }
    }
}

/// Muster, running.
pub(crate) struct Muster {
    pub(crate) health: Arc<Health>,
    pub(crate) metrics: Arc<Metrics>,
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), live::Error>>,
    runtime: Runtime,
}

impl Muster {
    /// Stops it in good order.
    pub(crate) fn stop(self) {
        let _ = self.stop.send(());
        self.runtime.block_on(self.task).unwrap().unwrap();
    }

    /// Ends it wherever it is, as a crash would.
    pub(crate) fn crash(self) {
        self.task.abort();
        self.runtime.shutdown_background();
    }
}

/// A policy that lets an operation on a resource through only where the rule holds, and else says
/// so.
pub(crate) fn deny(
    name: &str,
    operation: &str,
    resource: &str,
    rule: &str,
    message: &str,
) -> String {
    format!(
        r#"
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {{name: {name}}}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - {{apiGroups: [''], apiVersions: [v1], operations: [{operation}], resources: [{resource}]}}
  validations:
  - expression: "{rule}"
    message: {message}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {{name: {name}}}
spec: {{policyName: {name}, validationActions: [Deny]}}
"#
    )
}

/// A webhook on an operation on a resource, where the rule holds, that takes connections and says nothing
/// for eight seconds.
pub(crate) fn hang(
    cluster: &Cluster,
    name: &str,
    operation: &str,
    resource: &str,
    rule: &str,
) -> TcpListener {
    let deaf = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = deaf.local_addr().unwrap().port();
    cluster.apply(&format!(
        r#"
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {{name: {name}}}
webhooks:
- name: {name}.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  timeoutSeconds: 8
  failurePolicy: Fail
  clientConfig: {{url: "https://127.0.0.1:{port}/"}}
  matchConditions:
  - {{name: rule, expression: "{rule}"}}
  rules:
  - {{apiGroups: [''], apiVersions: [v1], operations: [{operation}], resources: [{resource}]}}
"#
    ));
    deaf
}

/// The pods of `default`.
pub(crate) const PODS: &str = "/api/v1/namespaces/default/pods";

/// The `i`-th pod of a gang.
pub(crate) fn pod(gang: &str, i: usize, cpu: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": format!("{gang}-{i}"),
            "annotations": {"scheduling.k8s.io/group-name": gang},
        },
        "spec": {
            "schedulerName": "muster",
            "containers": [{
                "name": "main",
                "image": "none",
                "resources": {"requests": {"cpu": cpu}},
            }],
        },
    })
}

/// The text at a place of an object, or nothing.
pub(crate) fn text(object: &Value, pointer: &str) -> String {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

/// A condition of a pod or a PodGroup's status.
pub(crate) fn condition<'a>(status: &'a Value, kind: &str) -> Option<&'a Value> {
    status["conditions"]
        .as_array()?
        .iter()
        .find(|condition| condition["type"] == kind)
}

/// Waits until `check` holds; says how long it took.
pub(crate) fn eventually(what: &str, check: impl FnMut() -> bool) -> Duration {
    within(LIMIT, what, check)
}

/// The same, where it may take longer than anything of ours.
#[expect(
    clippy::disallowed_methods,
    reason = "waits for other processes, in real time"
)]
pub(crate) fn within(limit: Duration, what: &str, mut check: impl FnMut() -> bool) -> Duration {
    let start = Instant::now();
    while !check() {
        assert!(start.elapsed() < limit, "{what}: not within {limit:?}");
        sleep(Duration::from_millis(25));
    }
    start.elapsed()
}
