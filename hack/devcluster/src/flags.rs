//! The flags of each component, and why they are set.

use std::path::Path;

use crate::files;
use crate::nodes;
use crate::options::Options;
use crate::pki::Pki;

/// The controllers that the tests' objects need.
const CONTROLLERS: [&str; 16] = [
    "garbage-collector-controller",
    "job-controller",
    "replicaset-controller",
    "deployment-controller",
    "statefulset-controller",
    "daemonset-controller",
    "namespace-controller",
    "serviceaccount-controller",
    "pod-garbage-collector-controller",
    "disruption-controller",
    "resourcequota-controller",
    // Claims are bound, and made for pods; what provisions volumes is not there.
    "persistentvolume-binder-controller",
    "persistentvolume-protection-controller",
    "persistentvolumeclaim-protection-controller",
    "ephemeral-volume-controller",
    // Without it, the roles view, edit and admin are empty.
    "clusterrole-aggregation-controller",
];

/// These take a node without heartbeats for lost, so they run only with them.
const NODE_CONTROLLERS: [&str; 2] = ["node-lifecycle-controller", "taint-eviction-controller"];

/// Kubernetes' end-to-end tests make ReplicationControllers, and delete PodGroups, whose finalizer somebody has to take off.
const END_TO_END_CONTROLLERS: [&str; 2] = [
    "replicationcontroller-controller",
    "podgroup-protection-controller",
];

/// The feature gates that are not at their default.
fn feature_gates(options: &Options) -> Option<String> {
    let of_jobs = options.pod_groups_of_jobs;
    let gates = if of_jobs { ",WorkloadWithJob=true" } else { "" };
    let on = options.upstream_pod_groups;
    on.then(|| {
        format!("--feature-gates=GenericWorkload=true,TopologyAwareWorkloadScheduling=true{gates}")
    })
}

/// A `--name=path` flag.
fn path_flag(name: &str, path: &Path) -> String {
    format!("--{name}={}", path.display())
}

fn owned<const N: usize>(flags: [&str; N]) -> impl Iterator<Item = String> {
    flags.into_iter().map(str::to_owned)
}

pub(crate) fn etcd(data: &Path, client_port: u16, peer_port: u16) -> Vec<String> {
    let client = format!("http://127.0.0.1:{client_port}");
    vec![
        path_flag("data-dir", data),
        format!("--listen-client-urls={client}"),
        format!("--advertise-client-urls={client}"),
        format!("--listen-peer-urls=http://127.0.0.1:{peer_port}"),
        "--unsafe-no-fsync=true".to_owned(), // the data dies with the test
        "--log-level=warn".to_owned(),
    ]
}

pub(crate) fn api_server(
    options: &Options,
    dir: &Path,
    pki: &Pki,
    etcd_port: u16,
    port: u16,
) -> Vec<String> {
    let mut flags = vec![
        format!("--etcd-servers=http://127.0.0.1:{etcd_port}"),
        format!("--secure-port={port}"),
        path_flag("cert-dir", dir),
        path_flag("tls-cert-file", &pki.server_cert),
        path_flag("tls-private-key-file", &pki.server_key),
        path_flag("token-auth-file", &dir.join("tokens.csv")),
        path_flag("service-account-key-file", &pki.service_account_pub),
        path_flag("service-account-signing-key-file", &pki.service_account_key),
    ];
    flags.extend(owned([
        "--bind-address=127.0.0.1",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--allow-privileged=true",
        "--authorization-mode=RBAC",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--endpoint-reconciler-type=none",
        // Without ServiceAccount, pods need no account in their namespace;
        // without TaintNodesByCondition, a new node takes pods at once.
        "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
        // A benchmark shall meet the server's speed, not its manners.
        "--max-requests-inflight=0",
        "--max-mutating-requests-inflight=0",
        "--enable-priority-and-fairness=false",
    ]));
    if let Some(gates) = feature_gates(options) {
        flags.push(gates);
        flags.push("--runtime-config=scheduling.k8s.io/v1beta1=true".to_owned());
    }
    if options.audit {
        flags.push(path_flag(
            "audit-policy-file",
            &dir.join(files::AUDIT_POLICY),
        ));
        flags.push(path_flag("audit-log-path", &dir.join(files::AUDIT_LOG)));
        // Not some time later, in a batch.
        flags.push("--audit-log-mode=blocking".to_owned());
    }
    flags.extend(options.api_server_flags.iter().cloned());
    flags
}

pub(crate) fn controller_manager(
    options: &Options,
    dir: &Path,
    pki: &Pki,
    port: u16,
) -> Vec<String> {
    let mut controllers = CONTROLLERS.to_vec();
    if options.node_lifecycle {
        controllers.extend(NODE_CONTROLLERS);
    }
    if options.end_to_end {
        controllers.extend(END_TO_END_CONTROLLERS);
    }
    let mut flags = client(options, dir, port);
    flags.push(path_flag(
        "service-account-private-key-file",
        &pki.service_account_key,
    ));
    flags.push(format!("--controllers={}", controllers.join(",")));
    flags.extend(owned([
        "--use-service-account-credentials=false",
        "--kube-api-qps=1000",
        "--kube-api-burst=2000",
        "--pvclaimbinder-sync-period=1s",
    ]));
    flags
}

pub(crate) fn scheduler(options: &Options, dir: &Path, port: u16) -> Vec<String> {
    let mut flags = client(options, dir, port);
    flags.extend(owned(["--kube-api-qps=5000", "--kube-api-burst=5000"]));
    flags
}

/// What the controller manager and the scheduler have in common.
fn client(options: &Options, dir: &Path, port: u16) -> Vec<String> {
    let mut flags = vec![
        path_flag("kubeconfig", &dir.join("kubeconfig")),
        format!("--secure-port={port}"),
    ];
    flags.extend(owned(["--bind-address=127.0.0.1", "--leader-elect=false"]));
    flags.extend(feature_gates(options));
    flags
}

pub(crate) fn kwok(dir: &Path, stages: &Path, port: u16) -> Vec<String> {
    let (annotation, value) = nodes::FAKE;
    vec![
        path_flag("kubeconfig", &dir.join("kubeconfig")),
        path_flag("config", stages),
        format!("--server-address=127.0.0.1:{port}"),
        format!("--manage-nodes-with-annotation-selector={annotation}={value}"),
        "--manage-all-nodes=false".to_owned(),
        // Heartbeats go into the node's status; leases would be writes as well.
        "--node-lease-duration-seconds=0".to_owned(),
    ]
}
