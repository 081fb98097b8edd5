//! A cluster whose external interface is used as others use it: BatchJobs, a Testbed, and somebody with a token.

use crate::live::{Cluster, eventually, text};
use crate::process::Process;
use serde_json::json;

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

/// Two nodes with two slots each, and these BatchJobs, whose pods run so long.
pub(crate) fn cluster(jobs: &[(&str, &str)]) -> Cluster {
    let cluster = Cluster::deployed(2, "4", |builder| builder.controller_manager(true));
    cluster.label(0, "0");
    cluster.label(1, "1");
    eventually("the objects are taken", || {
        cluster.plane.kubectl_apply_stdin(OBJECTS).is_ok()
    });
    for (name, duration) in jobs {
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
    cluster
}

/// Where a process serves the interface.
pub(crate) fn address(process: &Process) -> String {
    let mut address = String::new();
    eventually("it is served", || {
        let said = process.said("serving the external interface");
        address = said.map_or_else(String::new, |fields| text(&fields, "/address"));
        !address.is_empty()
    });
    format!("http://{address}")
}

/// A token of who may.
pub(crate) fn token(cluster: &Cluster) -> String {
    let audience = "--audience=muster.dev/external";
    let token = cluster
        .plane
        .kubectl(&["create", "token", "planner", audience]);
    token.unwrap().trim().to_owned()
}
