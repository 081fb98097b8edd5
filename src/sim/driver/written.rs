//! Pods as controllers read them: as they were made, or else as far as they are known.

use muster_api::names;
use muster_model::{Amounts, PodPhase, PodSpec};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// An object as a watch has it.
pub(super) fn observed<T: for<'de> Deserialize<'de>>(value: &Value) -> Option<T> {
    T::deserialize(value).ok()
}

/// Amounts of the core as quantities.
pub(super) fn quantities(amounts: &Amounts) -> Map<String, Value> {
    let quantity = |(name, amount): &(String, i64)| {
        let milli = if name == "cpu" { "m" } else { "" };
        (name.clone(), Value::String(format!("{amount}{milli}")))
    };
    amounts.iter().map(quantity).collect()
}

/// A pod of this version, as it was made, or else as far as controllers read one; whether it was told to go.
pub(super) fn pod(spec: &PodSpec, made: Option<&Value>, version: u64, told: bool) -> Value {
    let mut pod = made.cloned().unwrap_or_else(|| known(spec));
    pod["metadata"]["uid"] = json!(spec.key.uid);
    pod["metadata"]["resourceVersion"] = json!(version.to_string());
    if spec.terminating {
        pod["metadata"]["deletionTimestamp"] = json!("1970-01-01T00:00:00Z");
    }
    pod["spec"]["nodeName"] = json!(spec.node.as_deref().unwrap_or_default());
    pod["status"] = json!({
        "phase": phase(spec.phase),
        "nominatedNodeName": spec.nominated.as_deref().unwrap_or_default(),
    });
    if told {
        let (kind, reason) = (names::DISRUPTION_TARGET, names::PREEMPTION);
        let told = json!({"type": kind, "status": "True", "reason": reason});
        pod["status"]["conditions"] = json!([told]);
    }
    pod
}

/// What controllers read of a pod that they have not made.
fn known(spec: &PodSpec) -> Value {
    let mut metadata = json!({"namespace": spec.key.namespace, "name": spec.key.name});
    if let Some(claim) = &spec.shape.claim {
        let positions: Vec<String> = claim.positions.iter().map(u32::to_string).collect();
        metadata["labels"] = json!({
            names::TESTBED: claim.testbed, names::SLOTS: positions.join("_"),
        });
    }
    if let Some(slot) = spec.slot {
        metadata["annotations"] = json!({names::SLOT: slot.to_string()});
    }
    if let Some(of) = &spec.ghost_of {
        metadata["ownerReferences"] = json!([{
            "apiVersion": "muster.dev/v1alpha1", "kind": "Testbed", "name": "", "uid": of.testbed,
            "controller": true,
        }]);
    }
    let requests = quantities(&spec.shape.requests);
    json!({
        "metadata": metadata,
        "spec": {
            "containers": [{"name": "c", "resources": {"requests": requests}}],
        },
    })
}

const fn phase(phase: PodPhase) -> &'static str {
    match phase {
        PodPhase::Pending => "Pending",
        PodPhase::Running => "Running",
        PodPhase::Succeeded => "Succeeded",
        PodPhase::Failed => "Failed",
    }
}
