//! What is made for a run: a PodGroup and an application, whose pods claim slots. What all kinds of applications have in
//! common is here, and what they differ in in a file each.

mod flink;
mod plain;
mod spark;

use super::Settings;
use crate::testbed::ghosts::is_exclusive;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use muster_api::crd::{BatchJobSpec, CreationRequest, SchedulingReference};
use muster_api::slots::{self, Asked};
use muster_api::{names, slim};
use muster_model::units::Quantity as Amount;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Annotation of what is made for a run: which run, by who claims and what is asked.
pub(super) const RUN: &str = "muster.dev/run";
/// The longest name whose pods can have it in a label.
const LABEL: usize = 63;

/// For what something is made.
#[derive(Clone, Copy)]
pub(super) struct For<'a> {
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
    pub(super) uid: &'a str,
    pub(super) request: &'a CreationRequest,
    /// Which run it is.
    pub(super) run: &'a str,
    /// What a slot holds.
    pub(super) slot: &'a Slot,
    pub(super) settings: &'a Settings,
}

/// What a slot of a Testbed holds: as it is written, and in the core's units.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Slot {
    pub(super) resources: BTreeMap<String, Quantity>,
    pub(super) asked: Asked,
}

/// What is made.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Wanted {
    pub(super) group: Value,
    pub(super) application: Value,
}

/// Why it cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    /// The reason of the condition.
    pub(super) reason: &'static str,
    /// In words.
    pub(super) message: String,
}

/// Something in the spec that can never be.
fn invalid<T>(message: String) -> Result<T, Problem> {
    let reason = "Invalid";
    Err(Problem { reason, message })
}

/// What a run is known by: who claims, and what is asked.
pub(super) fn run_of(claim: &SchedulingReference, request: &CreationRequest) -> String {
    let slots = slots_of(request);
    let words = json!([claim, request.testbed, request.replication, slots]).to_string();
    // FNV-1a: it only has to differ where these differ, and nothing hangs on its being hard to meet.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in words.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    format!("{hash:016x}")
}

/// The slots that are asked for, each once, in order.
pub(super) fn slots_of(request: &CreationRequest) -> BTreeSet<u32> {
    let slots = request.slots.iter();
    slots.filter_map(|one| u32::try_from(*one).ok()).collect()
}

/// What is made for a run of this spec, or why it cannot be.
pub(super) fn wanted(spec: &BatchJobSpec, of: For<'_>) -> Result<Wanted, Problem> {
    if of.name.len() > LABEL {
        return invalid(format!(
            "metadata.name: has {} characters, and pods name it in a label, which may have {LABEL}",
            of.name.len()
        ));
    }
    let replication = usize::try_from(of.request.replication).unwrap_or(0);
    let slots = slots_of(of.request).len();
    if replication == 0 || slots < replication {
        return invalid(format!(
            "spec.creationRequest.slots: {slots} slots are too few for {replication} pods"
        ));
    }
    if let Some(problem) = of.slot.asked.problems.first() {
        let testbed = &of.request.testbed;
        return invalid(format!("testbed {testbed} has no slots: {problem}"));
    }
    match (&spec.job, &spec.spark_application, &spec.flink_deployment) {
        (Some(job), None, None) => plain::wanted(job, spec.pod_group_template.as_ref(), of),
        (None, Some(spark), None) => spark::wanted(spark, of),
        (None, None, Some(flink)) => flink::wanted(flink, of),
        _ => invalid(
            "spec: needs exactly one of job, sparkApplication and flinkDeployment".to_owned(),
        ),
    }
}

/// The metadata of what is made for a run, over what a template says.
fn metadata(of: For<'_>, template: Option<&Value>) -> Value {
    let part = |field: &str| object(template.and_then(|one| one.get(field)));
    let mut annotations = part("annotations");
    annotations.insert(RUN.to_owned(), json!(of.run));
    let mut metadata = json!({
        "namespace": of.namespace,
        "name": of.name,
        "annotations": annotations,
        "ownerReferences": [{
            "apiVersion": "muster.dev/v1alpha1",
            "kind": "BatchJob",
            "name": of.name,
            "uid": of.uid,
            "controller": true,
            "blockOwnerDeletion": false,
        }],
    });
    let labels = part("labels");
    if !labels.is_empty() {
        metadata["labels"] = json!(labels);
    }
    metadata
}

/// A PodGroup of the run.
fn group(of: For<'_>, template: Option<&Value>, spec: &Map<String, Value>) -> Value {
    json!({
        "apiVersion": "muster.dev/v1alpha1",
        "kind": "PodGroup",
        "metadata": metadata(of, template),
        "spec": spec,
    })
}

/// The label that puts a pod into the gang.
fn gang(of: For<'_>) -> Map<String, Value> {
    let mut labels = Map::new();
    labels.insert(names::POD_GROUP.to_owned(), json!(of.name));
    labels
}

/// The labels of a pod that claims a slot.
fn claim(of: For<'_>) -> Result<Map<String, Value>, Problem> {
    let numbers = slots_of(of.request);
    let Some(list) = slots::list(&numbers) else {
        return invalid(format!(
            "spec.creationRequest.slots: {} slots do not fit into a label of {LABEL} characters, even as ranges",
            numbers.len()
        ));
    };
    let mut labels = gang(of);
    labels.insert(names::TESTBED.to_owned(), json!(of.request.testbed));
    labels.insert(names::SLOTS.to_owned(), json!(list));
    Ok(labels)
}

/// An object; what is none is empty.
fn object(found: Option<&Value>) -> Map<String, Value> {
    found
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default()
}

/// The object at this path, which is made where there is none.
fn at<'a>(value: &'a mut Value, path: &[&str]) -> &'a mut Map<String, Value> {
    if !value.is_object() {
        *value = json!({});
    }
    match (value, path) {
        (Value::Object(fields), []) => fields,
        (Value::Object(fields), [first, rest @ ..]) => {
            at(fields.entry(*first).or_insert_with(|| json!({})), rest)
        }
        // It was made an object above.
        (other, _) => at(other, path),
    }
}

/// What a template asks for, if all its containers but those named here are as they are, against what a slot has.
fn fits(field: &str, pod_spec: &Value, of: For<'_>) -> Result<(), Problem> {
    let pod = json!({"metadata": {}, "spec": pod_spec});
    let pod: slim::Pod = match serde_json::from_value(pod) {
        Ok(pod) => pod,
        Err(error) => return invalid(format!("{field}: cannot be read as a pod: {error}")),
    };
    let asks = slots::asks_for(&pod);
    let Some(name) = of.slot.asked.lacks(&asks) else {
        return Ok(());
    };
    let amount = |amounts: &muster_model::Amounts| {
        let found = amounts.iter().find(|(one, _)| one == name);
        found.map_or(0, |(_, amount)| *amount)
    };
    let unit = if name == "cpu" { "m" } else { "" };
    let (asked, has) = (amount(&asks), amount(&of.slot.asked.request));
    let testbed = &of.request.testbed;
    Err(Problem {
        reason: "PodsTooLarge",
        message: format!(
            "{field}: a pod asks for {asked}{unit} {name}; a slot of testbed {testbed} has {has}{unit}"
        ),
    })
}

/// Has a container ask for exactly what a slot holds. Its limits stay, if they are not below that.
fn fill(field: &str, container: &mut Value, of: For<'_>) -> Result<(), Problem> {
    let resources = at(container, &["resources"]);
    resources.insert("requests".to_owned(), json!(of.slot.resources));
    let mut limits = object(resources.get("limits"));
    for (name, amount) in &of.slot.resources {
        if is_exclusive(name) {
            limits.insert(name.clone(), json!(amount));
        }
    }
    for (name, limit) in &limits {
        let text = limit
            .as_str()
            .map_or_else(|| limit.to_string(), str::to_owned);
        let Ok(limit) = Amount::parse(&text) else {
            return invalid(format!(
                "{field}.resources.limits.{name}: {text:?} is no quantity"
            ));
        };
        let slot = of.slot.resources.get(name).map(|one| Amount::parse(&one.0));
        if let Some(Ok(slot)) = slot
            && limit < slot
        {
            return invalid(format!(
                "{field}.resources.limits.{name}: {text} is below the slot's {slot}, which the container asks for"
            ));
        }
    }
    if !limits.is_empty() {
        resources.insert("limits".to_owned(), json!(limits));
    }
    Ok(())
}

/// What a slot has of a resource, in the core's units.
fn has(of: For<'_>, resource: &str) -> i64 {
    let mut all = of.slot.asked.request.iter();
    let found = all.find(|(name, _)| name == resource);
    found.map_or(0, |(_, amount)| *amount)
}

/// Keys of a configuration that would say otherwise than the slots do.
fn refuse(field: &str, conf: &Value, keys: &[&str]) -> Result<(), Problem> {
    let there = keys.iter().filter(|key| conf.get(**key).is_some());
    let mut words = String::new();
    for key in there {
        let between = if words.is_empty() { "" } else { ", " };
        _ = write!(words, "{between}{key}");
    }
    if words.is_empty() {
        return Ok(());
    }
    invalid(format!("{field}: may not have {words}: the slots say that"))
}

#[cfg(test)]
mod tests;
