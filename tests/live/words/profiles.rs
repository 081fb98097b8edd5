//! What gangs say whose pods name schedulers of different profiles.

use super::{Sentence, read_all};
use crate::live::{Cluster, pod};
use muster::config::parse;
use serde_json::json;

/// What they wait for.
pub(crate) const WAITING: &[Sentence] = &[Sentence {
    kind: "Scheduled",
    reason: "MixedProfiles",
    gang: "mixed",
    message: "pod mixed-",
}];

const CONFIGURATION: &str = "apiVersion: config.muster.dev/v1alpha1
kind: SchedulerConfiguration
profiles: [{schedulerName: spreading, base: kubernetes}]
";

#[test]
fn gangs_of_several_profiles_say_so() {
    let cluster = Cluster::start();
    cluster.nodes(1, "8");
    let muster = cluster.muster_with(&cluster.plane.kubeconfig(), None, |options| {
        let configuration = parse("profiles", CONFIGURATION).unwrap();
        options.policy = configuration.policy().unwrap();
        options.reading = configuration.reading(&options.policy);
    });
    cluster.gang("mixed", 2);
    for (index, scheduler) in ["muster", "spreading"].into_iter().enumerate() {
        let mut pod = pod("mixed", index, "1");
        pod["spec"]["schedulerName"] = json!(scheduler);
        cluster.apply(&pod.to_string());
    }
    read_all(&cluster, WAITING);
    cluster.gang("welcome", 1);
    let mut pod = pod("welcome", 0, "1");
    pod["spec"]["schedulerName"] = json!("spreading");
    cluster.apply(&pod.to_string());
    super::eventually("the others are placed", || cluster.bound("welcome") == 1);
    muster.stop();
}
