//! `muster why` on a real control plane: who may read an object is told why it is where it is, and
//! nobody else.
//!
//! Needs what `hack/build-control-plane` builds.

use crate::live::{Cluster, eventually};
use crate::process::Process;
use serde_json::Value;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::NamedTempFile;

/// Two users: one may read everything of Muster's, the other only queues.
const USERS: &str = "
apiVersion: v1
kind: ServiceAccount
metadata: {name: reader, namespace: default}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: stranger, namespace: default}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: why-reader}
rules:
  - {apiGroups: [muster.dev], resources: [podgroups, queues], verbs: [get, list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: why-stranger}
rules:
  - {apiGroups: [muster.dev], resources: [queues], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: why-reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: why-reader}
subjects: [{kind: ServiceAccount, name: reader, namespace: default}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: why-stranger}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: why-stranger}
subjects: [{kind: ServiceAccount, name: stranger, namespace: default}]
---
apiVersion: muster.dev/v1alpha1
kind: Queue
metadata: {name: science}
spec: {overShareFactor: 1000}
";

const CONFIG: &str = "apiVersion: config.muster.dev/v1alpha1
kind: SchedulerConfiguration
podGroupPriority: AsGiven
";

fn gang(name: &str, pods: usize, cpu: &str, priority: i32) -> String {
    let mut text = format!(
        "apiVersion: muster.dev/v1alpha1\nkind: PodGroup\nmetadata: {{name: {name}}}\n\
         spec: {{minAvailable: {pods}, queue: science, priority: {priority}}}\n"
    );
    for index in 0..pods {
        text.push_str(&format!(
            "---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: {name}-{index}\n  labels: \
             {{muster.dev/pod-group: {name}}}\nspec:\n  schedulerName: muster\n  \
             terminationGracePeriodSeconds: 0\n  containers: [{{name: main, image: work, \
             resources: {{requests: {{cpu: \"{cpu}\"}}}}}}]\n"
        ));
    }
    text
}

/// The token of a service account, in a file.
fn token(cluster: &Cluster, account: &str) -> NamedTempFile {
    let mut token = String::new();
    eventually("there is a token", || {
        let made = cluster.plane.kubectl(&["create", "token", account]);
        token = made.unwrap_or_default();
        !token.trim().is_empty()
    });
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(token.as_bytes()).unwrap();
    file
}

/// A user of `muster why`.
struct User<'a> {
    cluster: &'a Cluster,
    server: String,
    token: NamedTempFile,
}

impl User<'_> {
    fn ask(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_muster"))
            .arg("why")
            .args(arguments)
            .args(["--server", &self.server, "--kubeconfig"])
            .arg(self.cluster.plane.kubeconfig())
            .arg("--token-file")
            .arg(self.token.path())
            .output()
            .unwrap()
    }

    /// What is said once it contains something.
    fn told(&self, arguments: &[&str], expected: &str) -> String {
        let mut said = String::new();
        eventually(expected, || {
            let output = self.ask(arguments);
            said = text(&output.stdout) + &text(&output.stderr);
            said.contains(expected)
        });
        said
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn who_may_read_an_object_is_told_why_and_nobody_else() {
    let cluster = Cluster::start();
    cluster.nodes(1, "4");
    eventually("the kinds are served", || {
        cluster.plane.kubectl_apply_stdin(USERS).is_ok()
    });
    // What the PodGroups here say of their priority counts, though their pods have none.
    let mut config = NamedTempFile::new().unwrap();
    config.write_all(CONFIG.as_bytes()).unwrap();
    let config = format!("--config={}", config.path().display());
    let process = Process::start(&cluster, &["--leader-elect=false", &config]);
    eventually("it leads", || process.said("leading").is_some());
    let said = process.said("serving /metrics, /healthz, /readyz").unwrap();
    let server = format!("http://{}", said["address"].as_str().unwrap());
    let user = |account: &str| User {
        cluster: &cluster,
        server: server.clone(),
        token: token(&cluster, account),
    };
    let (reader, stranger) = (user("reader"), user("stranger"));
    cluster.apply(&gang("low", 4, "1", 0));

    // Running, then preempted by who is more important, who then runs; and one that cannot.
    let said = reader.told(&["podgroup/low", "-n", "default"], "4 on nodes");
    assert!(said.starts_with("the minimum of 4 is bound\n\n"), "{said}");
    assert!(
        said.contains("everything to gangs of its queue with a higher priority"),
        "{said}"
    );
    cluster.apply(&gang("high", 4, "1", 9));
    let said = reader.told(
        &["podgroup/low", "-n", "default"],
        "for default/high of queue science",
    );
    assert!(said.contains("why it: its priority was lower"), "{said}");
    reader.told(&["podgroup/high", "-n", "default"], "4 on nodes");
    cluster.apply(&gang("wide", 2, "3", 9));
    let said = reader.told(&["podgroup/default/wide"], "Insufficient cpu");
    let condition = || {
        let group = "/apis/muster.dev/v1alpha1/namespaces/default/podgroups/wide";
        let conditions = cluster.plane.get(group).unwrap()["status"]["conditions"].clone();
        let all = conditions.as_array().cloned().unwrap_or_default();
        let found = all.into_iter().find(|one| one["type"] == "Scheduled");
        found.map_or(Value::Null, |one| one["message"].clone())
    };
    eventually("the first sentence is the condition", || {
        condition()
            .as_str()
            .is_some_and(|words| said.starts_with(words))
    });
    assert!(
        said.contains("(default/high): of the same queue, with the same priority"),
        "{said}"
    );

    // The queue, as words and as JSON.
    let said = reader.told(&["queue/science"], "default/high: 4 with 4 pods");
    assert!(said.starts_with("Queue science "), "{said}");
    // Who may not list PodGroups reads no names.
    let said = stranger.told(&["queue/science"], "4 with 4 pods");
    assert!(
        said.contains("a gang of another namespace: 4 with 4 pods"),
        "{said}"
    );
    assert!(!said.contains("default/"), "{said}");
    let json = reader.ask(&["queue/science", "--output", "json"]);
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(
        (&json["kind"], &json["clock"]),
        (&"Queue".into(), &"utc".into())
    );

    // Nobody else, and nothing that is not there.
    let said = stranger.told(&["podgroup/low"], "forbidden");
    let name = "system:serviceaccount:default:stranger";
    assert!(
        said.contains(&format!("{name} may not get podgroups.muster.dev low")),
        "{said}"
    );
    let said = stranger.told(&["podgroup/nobody"], "forbidden");
    assert!(
        !said.contains("knows no"),
        "what is there is nobody's business: {said}"
    );
    assert_eq!(stranger.ask(&["podgroup/low"]).status.code(), Some(1));
    let said = reader.told(&["podgroup/nobody"], "not found");
    assert!(
        said.contains("the scheduler knows no PodGroup default/nobody"),
        "{said}"
    );
    let page = "/debug/why/podgroups/default/low";
    assert!(process.get(page).starts_with("HTTP/1.1 401 "));
    let mut nobody = user("reader");
    nobody.token = NamedTempFile::new().unwrap();
    nobody.token.write_all(b"forged").unwrap();
    nobody.told(&["podgroup/low"], "the API server does not know this token");

    // What is deleted is forgotten.
    cluster
        .plane
        .kubectl(&["delete", "podgroup.muster.dev/wide"])
        .unwrap();
    cluster
        .plane
        .kubectl(&["delete", "pod/wide-0", "pod/wide-1"])
        .unwrap();
    reader.told(&["podgroup/wide"], "not found");
}

#[test]
fn without_a_token_or_a_leader_it_says_what_to_do() {
    let cluster = Cluster::start();
    let text_of = std::fs::read_to_string(cluster.plane.kubeconfig()).unwrap();
    let mut kubeconfig: Value = serde_json::from_str(&text_of).unwrap();
    kubeconfig["users"][0]["user"] = serde_json::json!({});
    let mut nobody = NamedTempFile::new().unwrap();
    nobody.write_all(kubeconfig.to_string().as_bytes()).unwrap();
    let ask = |kubeconfig: &Path, more: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_muster"))
            .args(["why", "queue/default", "--kubeconfig"])
            .arg(kubeconfig)
            .args(more)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1));
        text(&output.stderr)
    };
    let said = ask(nobody.path(), &[]);
    assert!(
        said.contains("shows no token (a certificate, say)"),
        "{said}"
    );
    assert!(said.contains("--token-file"), "{said}");
    let admin = cluster.plane.kubeconfig();
    let said = ask(&admin, &[]);
    assert!(
        said.contains("there is no Lease muster-system/muster: nobody schedules"),
        "{said}"
    );
    let said = ask(&admin, &["--server", "http://127.0.0.1:1"]);
    assert!(said.contains("--server http://127.0.0.1:1"), "{said}");
}
