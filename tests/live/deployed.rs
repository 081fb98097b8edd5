//! A cluster with what is in `deploy/`, and Muster's controllers on it by the rights that stand there: what the tests of
//! slots have in common.

use crate::live::{Cluster, Muster};
use muster::cluster::lease::{Identity, LeaseOptions};
use muster_devcluster::Builder;

/// Who the controllers are in `deploy/`.
pub(crate) const CONTROLLERS: &str = "system:serviceaccount:muster-system:muster-controllers";

impl Cluster {
    /// With all of `crds/` and `deploy/` but its Deployments, somebody who is [`CONTROLLERS`], and nodes `node-0` ... with
    /// so many CPUs.
    pub(crate) fn deployed(
        nodes: usize,
        cpu: &str,
        choose: impl FnOnce(Builder) -> Builder,
    ) -> Self {
        let cluster = Self::of(|builder| {
            let groups = ["system:serviceaccounts", "system:authenticated"];
            choose(builder.user(CONTROLLERS, &groups))
        });
        cluster.apply_folder("crds");
        cluster.apply_folder("deploy");
        let all = ["delete", "deployments", "--all", "-n", "muster-system"];
        cluster.plane.kubectl(&all).unwrap();
        cluster.nodes(nodes, cpu);
        cluster
    }

    /// Gives `node-N` the label `bed`, or takes it away where there is no value.
    pub(crate) fn label(&self, node: usize, value: &str) {
        let change = if value.is_empty() {
            "bed-".to_owned()
        } else {
            format!("bed={value}")
        };
        let node = format!("node-{node}");
        let label = ["label", "--overwrite", "node", &node, &change];
        self.plane.kubectl(&label).unwrap();
    }

    /// Starts the controllers by their own rights, under a lease.
    pub(crate) fn controllers_by_their_rights(&self, identity: &str) -> Muster {
        let lease = LeaseOptions {
            namespace: "muster-system".to_owned(),
            name: "muster-controllers".to_owned(),
            identity: Identity::of_process(identity),
        };
        let kubeconfig = self.plane.kubeconfig_of(CONTROLLERS).unwrap();
        self.controllers_as(&kubeconfig, Some(lease))
    }

    /// Starts Muster as the admin; it binds the ghosts of these controllers.
    pub(crate) fn muster_with_ghosts(&self) -> Muster {
        self.muster_with(&self.plane.kubeconfig(), None, |options| {
            options.reading.ghost_namespace = "muster-system".to_owned();
        })
    }
}
