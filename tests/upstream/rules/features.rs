//! Features that nodes declare and pods need.

use super::super::case::Case;
use super::super::dice::Dice;
use serde_json::json;

/// Those that pods may need, and some that they do not; the API server wants them in this order.
const FEATURES: [&str; 5] = [
    "InPlacePodLevelResourcesVerticalScaling",
    "RestartAllContainersOnContainerExits",
    "Unheard",
    "UserNamespacesHostNetworkSupport",
    "VolumeBindMountOptions",
];

pub(super) fn add(case: &mut Case, dice: &mut Dice) {
    for node in &mut case.nodes {
        node["status"]["declaredFeatures"] = json!(dice.some_of(&FEATURES, 60));
    }
    let spec = &mut case.pod["spec"];
    let container = match dice.below(3) {
        0 if spec["initContainers"].is_array() => &mut spec["initContainers"][0],
        _ => &mut spec["containers"][0],
    };
    match dice.below(4) {
        0 => {
            let action = dice.one_of(&["RestartAllContainers", "Restart"]);
            dice.note(format!("features: {action}"));
            container["restartPolicy"] = json!("Never");
            container["restartPolicyRules"] = json!([
                {"action": action, "exitCodes": {"operator": "In", "values": [1]}},
            ]);
        }
        1 => {
            dice.note("features: bind mount options");
            container["volumeMounts"] = json!([
                {"name": "v", "mountPath": "/v", "bindMountOptions": ["noexec"]},
            ]);
            spec["volumes"] = json!([{"name": "v", "emptyDir": {}}]);
        }
        _ => {
            let (network, users) = (dice.percent(70), dice.percent(30));
            dice.note(format!(
                "features: host network {network}, its users {users}"
            ));
            spec["hostNetwork"] = json!(network);
            spec["hostUsers"] = json!(users);
        }
    }
}
