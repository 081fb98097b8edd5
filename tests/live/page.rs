//! The page of `muster controllers --external` on a real API server, used in a headless Chromium (tests/page/whole.mjs),
//! and its topics, used by clients of STOMP (tests/page/stomp.mjs).
//!
//! Needs what `hack/build-control-plane` builds, Node and a Chromium: `hack/page-test` fetches that, and runs this.

use crate::deployed::CONTROLLERS;
use crate::live::{Cluster, eventually, text};
use crate::process::Process;
use serde_json::json;
use std::process::Command;

const JOBS: [(&str, &str); 3] = [("count", "3s"), ("endless", "1h"), ("sort", "3s")];

/// A Testbed, and somebody who may do what the role `edit` may, and look at Testbeds.
const OBJECTS: &str = "
apiVersion: muster.dev/v1alpha1
kind: Testbed
metadata: {name: bed}
spec: {nodeLabel: bed, slotsPerNode: 2, resourcesPerSlot: {cpu: '1'}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: planner, namespace: default}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: planner-looks}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: muster-view}
subjects: [{kind: ServiceAccount, name: planner, namespace: default}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: planner-edits, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: muster-edit}
subjects: [{kind: ServiceAccount, name: planner, namespace: default}]
";

#[test]
#[ignore = "needs Node and a Chromium: hack/page-test runs it"]
fn whole_schedulings_are_clicked_through() {
    let place = std::env::var("PAGE_TEST").expect("hack/page-test sets PAGE_TEST");
    let cluster = Cluster::deployed(2, "4", |builder| builder.controller_manager(true));
    cluster.label(0, "0");
    cluster.label(1, "1");
    eventually("the objects are taken", || {
        cluster.plane.kubectl_apply_stdin(OBJECTS).is_ok()
    });
    for (name, duration) in JOBS {
        let job = json!({
            "apiVersion": "muster.dev/v1alpha1", "kind": "BatchJob", "metadata": {"name": name},
            "spec": {"job": {"spec": {"template": {
                "metadata": {"annotations": {"simulate.muster.dev/duration": duration}},
                "spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "none"}]},
            }}}},
        });
        let path = "/apis/muster.dev/v1alpha1/namespaces/default/batchjobs";
        cluster.plane.post(path, &job).unwrap();
    }
    let muster = cluster.muster_with_ghosts();
    let kubeconfig = cluster.plane.kubeconfig_of(CONTROLLERS).unwrap();
    let options = ["--leader-elect=false", "--external=127.0.0.1:0"];
    let mut controllers = Process::controllers(&kubeconfig, &options);
    let mut address = String::new();
    eventually("the page is served", || {
        let said = controllers.said("serving the external interface");
        address = said.map_or_else(String::new, |fields| text(&fields, "/address"));
        !address.is_empty()
    });
    let token = [
        "create",
        "token",
        "planner",
        "--audience=muster.dev/external",
    ];
    let token = cluster.plane.kubectl(&token).unwrap();
    for (program, words) in [
        ("stomp.mjs", "clients of STOMP are not served"),
        ("whole.mjs", "the page does not what it is to do"),
    ] {
        let status = Command::new("node")
            .arg(program)
            .current_dir(&place)
            .env("EXTERNAL_URL", format!("http://{address}"))
            .env("EXTERNAL_TOKEN", token.trim())
            .status()
            .unwrap();
        assert!(status.success(), "{words}");
    }
    controllers.signal("-TERM");
    assert!(controllers.ended().success());
    muster.stop();
}
