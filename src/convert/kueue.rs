//! Kueue: ClusterQueues and cohorts as queues. Its flavours are one there, for queues count resources; and a share
//! follows from a weight, so that nominal quotas become weights against each other.

use crate::fields::said;
use crate::{Converted, name_of, queue as queue_of_ours};
use muster_api::convert::says_nothing;
use muster_model::units::{Quantity, thousandths_in_text};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// What a ClusterQueue says of a resource over all flavours, in thousandths.
#[derive(Default)]
struct Quota {
    nominal: i64,
    /// How much may be borrowed; `None` is as much as there is.
    borrows: Option<i64>,
    /// How much is not lent.
    keeps: i64,
}

/// A ClusterQueue.
pub(crate) fn cluster_queue(object: &Value, out: &mut Converted) {
    let name = name_of(object);
    let subject = format!("ClusterQueue {name}");
    let mut spec = Map::new();
    let mut quotas = BTreeMap::new();
    for (field, value) in said(&object["spec"]) {
        match field {
            "cohort" | "cohortName" => {
                let cohort = value.as_str().unwrap_or_default();
                spec.insert("parent".to_owned(), cohort.into());
                out.add(queue_of_ours(cohort, json!({})));
            }
            "resourceGroups" => quotas = quotas_of(&subject, value, out),
            "fairSharing" => weight(&subject, &value["weight"], &mut spec, out),
            "queueingStrategy" => {
                let reservation = if value == "StrictFIFO" {
                    "strict"
                } else {
                    "none"
                };
                spec.insert("order".to_owned(), "FIFO".into());
                spec.insert("reservation".to_owned(), reservation.into());
            }
            "stopPolicy" if value == "None" => {}
            "stopPolicy" => _ = spec.insert("state".to_owned(), "Closed".into()),
            "namespaceSelector" => _ = spec.insert(field.to_owned(), value.clone()),
            other => out.note(&subject, &format!("spec.{other}: {}", without(other))),
        }
    }
    // There nothing is chosen without a selector, and everything by an empty one; here without one.
    if object["spec"]["namespaceSelector"].is_null() {
        let words =
            "spec.namespaceSelector: without one Kueue lets nobody in, and Muster everybody";
        out.note(&subject, words);
    }
    let alone = spec.get("parent").is_none_or(says_nothing);
    let mut limit = Map::new();
    let mut guaranteed = Map::new();
    for (resource, quota) in &quotas {
        let borrows = if alone { Some(0) } else { quota.borrows };
        if let Some(borrows) = borrows {
            let most = quota.nominal.saturating_add(borrows);
            limit.insert(resource.clone(), amount(most));
        }
        if quota.keeps > 0 {
            guaranteed.insert(resource.clone(), amount(quota.keeps));
        }
    }
    for (field, amounts) in [("limit", limit), ("guaranteed", guaranteed)] {
        if !amounts.is_empty() {
            spec.insert(field.to_owned(), amounts.into());
        }
    }
    if let Some(quota) = quotas.get("cpu").filter(|_| !spec.contains_key("weight")) {
        let cores = quota.nominal.div_euclid(1_000).clamp(1, 65_535);
        spec.insert("weight".to_owned(), cores.into());
    }
    out.add(queue_of_ours(&name, Value::Object(spec)));
}

/// Why a field of a ClusterQueue has nothing of ours.
fn without(field: &str) -> &'static str {
    match field {
        "preemption" => "inside a queue priorities decide, between queues shares and lifetimes",
        "flavorFungibility" => "there are no flavours",
        "admissionChecks" | "admissionChecksStrategy" => "nobody else is asked",
        _ => "there is nothing for it",
    }
}

/// A whole number, as near as there is one.
fn weight(subject: &str, value: &Value, spec: &mut Map<String, Value>, out: &mut Converted) {
    let Some(wanted) = quantity(value) else {
        return;
    };
    let whole = wanted.div_euclid(1_000).clamp(1, 65_535);
    if whole.checked_mul(1_000) != Some(wanted) {
        let words = format!("spec.fairSharing.weight: {value} becomes {whole}");
        out.note(subject, &words);
    }
    spec.insert("weight".to_owned(), whole.into());
}

fn quotas_of(subject: &str, groups: &Value, out: &mut Converted) -> BTreeMap<String, Quota> {
    let mut quotas: BTreeMap<String, Quota> = BTreeMap::new();
    let mut flavours = Vec::new();
    let groups = groups.as_array().into_iter().flatten();
    for flavour in groups.flat_map(|group| group["flavors"].as_array().into_iter().flatten()) {
        flavours.push(flavour["name"].as_str().unwrap_or_default());
        for resource in flavour["resources"].as_array().into_iter().flatten() {
            let name = resource["name"].as_str().unwrap_or_default();
            let Some(nominal) = quantity(&resource["nominalQuota"]) else {
                let found = &resource["nominalQuota"];
                let path = format!("nominalQuota of {name}");
                out.note(subject, &format!("{path}: {found} is no quantity"));
                continue;
            };
            let borrows = quantity(&resource["borrowingLimit"]);
            let lends = quantity(&resource["lendingLimit"]).unwrap_or(nominal);
            let is_first = !quotas.contains_key(name);
            let quota = quotas.entry(name.to_owned()).or_default();
            quota.borrows = match (is_first, quota.borrows, borrows) {
                (true, _, borrows) => borrows,
                (false, Some(before), Some(more)) => Some(before.saturating_add(more)),
                (false, ..) => None,
            };
            quota.nominal = quota.nominal.saturating_add(nominal);
            quota.keeps = quota.keeps.saturating_add((nominal - lends).max(0));
        }
    }
    if flavours.len() > 1 {
        let words = format!(
            "the quotas of its flavours are added up: {}",
            flavours.join(", ")
        );
        out.note(subject, &words);
    }
    quotas
}

/// A Cohort: a queue that has others below it.
pub(crate) fn cohort(object: &Value, out: &mut Converted) {
    let name = name_of(object);
    let subject = format!("Cohort {name}");
    let mut spec = Map::new();
    for (field, value) in said(&object["spec"]) {
        match field {
            "parent" | "parentName" => {
                let parent = value.as_str().unwrap_or_default();
                spec.insert("parent".to_owned(), parent.into());
                out.add(queue_of_ours(parent, json!({})));
            }
            "fairSharing" => weight(&subject, &value["weight"], &mut spec, out),
            other => out.note(&subject, &format!("spec.{other}: there is nothing for it")),
        }
    }
    // A ClusterQueue may have named it before.
    out.objects
        .retain(|one| one["kind"] != "Queue" || one["metadata"]["name"] != *name);
    out.add(queue_of_ours(&name, Value::Object(spec)));
}

/// A LocalQueue: its namespace may have a default.
pub(crate) fn local_queue(object: &Value, out: &mut Converted) {
    let namespace = object["metadata"]["namespace"].as_str();
    let queue = object["spec"]["clusterQueue"].as_str().unwrap_or_default();
    let words = format!(
        "is not converted: its pods get the label muster.dev/queue={queue}, or namespace {} the annotation \
         muster.dev/queue={queue}",
        namespace.unwrap_or("default")
    );
    out.note(&format!("LocalQueue {}", name_of(object)), &words);
}

/// A WorkloadPriorityClass: there is one sort of classes.
pub(crate) fn priority_class(object: &Value, out: &mut Converted) {
    let mut class = json!({
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": object["metadata"]["name"]},
        "value": object["value"],
    });
    if let Some(text) = object["description"].as_str() {
        class["description"] = text.into();
    }
    out.add(class);
}

/// In thousandths.
fn quantity(value: &Value) -> Option<i64> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    Some(Quantity::parse(&text).ok()?.milli_value())
}

/// As a quantity is written.
fn amount(thousandths: i64) -> Value {
    thousandths_in_text(thousandths).into()
}
