//! The plugins of `examples/` on a real API server.
//!
//! Needs what `hack/build-control-plane` builds.

use crate::live::{Cluster, Muster, PODS, deny, eventually, pod, text};
use crate::{gang_by_permit, network_device};
use muster::cli::Extensions;
use muster::config;
use serde_json::{Value, json};

/// Starts Muster with one plugin.
fn with_plugin(cluster: &Cluster, name: &str, extensions: &Extensions) -> Muster {
    let chosen = format!(
        "apiVersion: config.muster.dev/v1alpha1\nkind: SchedulerConfiguration\nprofile: {{plugins: [{name}]}}\n"
    );
    let configuration = config::parse("test", &chosen).unwrap();
    cluster.muster_with(&cluster.plane.kubeconfig(), None, |options| {
        options.policy = extensions.policy(&configuration).unwrap();
        options.answerers = extensions.answerers();
    })
}

fn labelled(mut pod: Value, labels: &Value) -> Value {
    pod["metadata"]["labels"] = labels.clone();
    pod
}

/// A pod without a gang.
fn alone(name: &str, labels: &Value) -> Value {
    let mut one = labelled(pod(name, 0, "1"), labels);
    one["metadata"]
        .as_object_mut()
        .unwrap()
        .remove("annotations");
    one
}

fn message_of(cluster: &Cluster, pod: &str) -> String {
    let pod = cluster.pod(pod);
    let conditions = pod["status"]["conditions"].as_array().cloned();
    let mut conditions = conditions.unwrap_or_default().into_iter();
    let scheduled = conditions.find(|one| one["type"] == "PodScheduled");
    scheduled.map_or_else(String::new, |one| text(&one, "/message"))
}

/// Where devices are attached, as the API server has it: by the pod's name.
fn attached(cluster: &Cluster) -> Vec<(String, String)> {
    let maps = cluster
        .plane
        .get("/api/v1/namespaces/default/configmaps")
        .unwrap();
    let maps = maps["items"].as_array().cloned().unwrap_or_default();
    let devices = maps
        .iter()
        .filter(|map| text(map, "/metadata/name").starts_with("device-"));
    let found = devices.map(|map| {
        let pod = text(map, "/metadata/ownerReferences/0/name");
        (pod, text(map, "/data/node"))
    });
    let mut found: Vec<(String, String)> = found.collect();
    found.sort();
    found
}

#[test]
fn a_device_is_attached_where_its_pod_is_bound_and_nowhere_else() {
    let cluster = Cluster::start();
    cluster.nodes(2, "4");
    // Nobody of `broken` may be bound, and nothing be attached for `apart-1`.
    let (words, no_map) = ("no bind for broken", "no device for apart-1");
    cluster.apply(&deny(
        "no-bind",
        "CREATE",
        "pods/binding",
        "!object.metadata.name.startsWith('broken')",
        words,
    ));
    cluster.apply(&deny(
        "no-device",
        "CREATE",
        "configmaps",
        "!has(object.metadata.ownerReferences) || object.metadata.ownerReferences[0].name != 'apart-1'",
        no_map,
    ));
    cluster.refuses_to_bind("broken-probe", "node-0", words);
    let owner = json!([{"apiVersion": "v1", "kind": "Pod", "name": "apart-1", "uid": "none"}]);
    let probe = json!({"metadata": {"name": "device-probe", "ownerReferences": owner}});
    let maps = "/api/v1/namespaces/default/configmaps?dryRun=All";
    eventually("the policy is in force", || {
        cluster.plane.post(maps, &probe).is_err()
    });
    let muster = with_plugin(&cluster, "NetworkDevice", &network_device::extensions());
    let device = json!({"example.dev/device": "yes"});

    // Two devices: one bind is refused, one attachment; whatever was taken is given back.
    cluster.plane.post(PODS, &alone("broken", &device)).unwrap();
    cluster.gang("apart", 2);
    for i in 0..2 {
        let member = labelled(pod("apart", i, "1"), &device);
        cluster.plane.post(PODS, &member).unwrap();
    }
    eventually("it is said why they wait", || {
        message_of(&cluster, "broken-0").contains(words)
            && message_of(&cluster, "apart-0").contains(no_map)
    });
    assert_eq!(cluster.bound("apart") + cluster.bound("broken"), 0);
    cluster.delete_now("broken-0");
    cluster.delete_now("apart-0");
    cluster.delete_now("apart-1");
    eventually("nothing is attached", || attached(&cluster).is_empty());

    cluster.gang("pair", 2);
    for i in 0..2 {
        let member = labelled(pod("pair", i, "1"), &device);
        cluster.plane.post(PODS, &member).unwrap();
    }
    eventually("both are bound", || cluster.bound("pair") == 2);
    let bound: Vec<(String, String)> = cluster
        .placed("pair")
        .into_iter()
        .filter_map(|(pod, node)| Some((pod, node?)))
        .collect();
    assert_eq!(attached(&cluster), bound);

    // There is no third device, and who needs none goes on.
    cluster.plane.post(PODS, &alone("late", &device)).unwrap();
    cluster
        .plane
        .post(PODS, &alone("plain", &json!({})))
        .unwrap();
    eventually("the other is bound", || cluster.bound("plain") == 1);
    let all_taken = "all 2 network devices are taken";
    eventually("it is said why it waits", || {
        message_of(&cluster, "late-0").contains(all_taken)
    });
    // One that takes over knows who has them.
    muster.crash();
    let muster = with_plugin(&cluster, "NetworkDevice", &network_device::extensions());
    cluster.plane.post(PODS, &alone("later", &device)).unwrap();
    eventually("it is said why it waits", || {
        message_of(&cluster, "later-0").contains(all_taken)
    });
    cluster.delete_now("pair-0");
    cluster.delete_now("pair-1");
    eventually("both have one", || cluster.bound("late") == 2);
    muster.stop();
}

#[test]
fn gangs_by_permit_and_native_ones_come_to_the_same_where_there_is_room() {
    let cluster = Cluster::start();
    cluster.nodes(2, "4");
    let muster = with_plugin(&cluster, "GangByPermit", &gang_by_permit::extensions());
    let labels = |gang: &str| json!({"example.dev/gang": gang, "example.dev/size": "2"});
    cluster
        .plane
        .post(PODS, &alone("lonely", &labels("lonely")))
        .unwrap();
    for name in ["first", "second"] {
        cluster
            .plane
            .post(PODS, &alone(name, &labels("permit")))
            .unwrap();
    }
    cluster.gang("native", 2);
    cluster.pods("native", 2, "1");
    eventually("both gangs are bound", || {
        cluster.bound("native") == 2 && cluster.bound("first") + cluster.bound("second") == 2
    });
    assert_eq!(cluster.bound("lonely"), 0);
    // Its second member comes.
    cluster
        .plane
        .post(PODS, &alone("company", &labels("lonely")))
        .unwrap();
    eventually("it is bound, too", || {
        cluster.bound("lonely") + cluster.bound("company") == 2
    });
    muster.stop();
}
