//! What gangs say of plugins in other processes that are slow, or are not there.

use super::{Sentence, read_all, waits};
use crate::live::{Cluster, PODS, pod};
use muster::cluster::remote::Directory;
use muster::config;
use serde_json::json;
use std::net::TcpListener;

/// What they wait for.
pub(crate) const WAITING: &[Sentence] = &[
    waits(
        "AskingPlugins",
        "asking",
        "waits for what plugins say: http://127.0.0.1:",
    ),
    waits("PluginFailed", "failed", "plugin http://127.0.0.1:"),
];

#[test]
fn gangs_say_which_plugin_in_another_process_they_wait_for() {
    let cluster = Cluster::start();
    cluster.nodes(1, "8");
    // One takes connections and says nothing; where the other was nobody is any more.
    let slow = TcpListener::bind("127.0.0.1:0").unwrap();
    let gone = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let extender = |address: std::net::SocketAddr, resource: &str| {
        format!(
            "- {{urlPrefix: 'http://{address}', filterVerb: filter, httpTimeout: 60s, \
             managedResources: [{{name: example.com/{resource}}}]}}\n"
        )
    };
    let text = format!(
        "apiVersion: config.muster.dev/v1alpha1\nkind: SchedulerConfiguration\nextenders:\n{}{}",
        extender(slow.local_addr().unwrap(), "asking"),
        extender(gone, "failed")
    );
    let config = config::parse("muster.yaml", &text).unwrap();
    let muster = cluster.muster_with(&cluster.plane.kubeconfig(), None, |options| {
        options.policy = config.policy().unwrap();
        let directory = Directory::new(&config, options.fence.clock(), &options.metrics);
        directory.unwrap().join(&mut options.answerers);
    });
    for gang in ["asking", "failed"] {
        cluster.gang(gang, 1);
        let mut pod = pod(gang, 0, "1");
        let amounts = json!({"cpu": "1", format!("example.com/{gang}"): "1"});
        let resources = &mut pod["spec"]["containers"][0]["resources"];
        *resources = json!({"requests": amounts, "limits": amounts});
        cluster.plane.post(PODS, &pod).unwrap();
    }
    cluster.gang("welcome", 1);
    cluster.pods("welcome", 1, "1");
    read_all(&cluster, WAITING);
    assert_eq!(cluster.bound("welcome"), 1, "others go on");
    muster.crash();
}
