//! Queues, jobs and configuration of other schedulers, written as ours, as far as there is something of ours for
//! them; what there is not is named, with the reason. Nothing is looked up but what is given.

mod fields;
mod kueue;
mod volcano;
mod yunikorn;

use muster_api::yaml::{self, Wrong};
use serde_json::{Value, json};

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Converted {
    /// Objects of ours, to be applied in this order.
    pub objects: Vec<Value>,
    /// What was not converted, of which object, and why.
    pub notes: Vec<String>,
}

impl Converted {
    fn note(&mut self, subject: &str, words: &str) {
        self.notes.push(format!("{subject}: {words}"));
    }

    /// Adds an object, unless there is one of its kind and name.
    fn add(&mut self, object: Value) {
        let identity = |one: &Value| {
            let meta = &one["metadata"];
            (
                one["kind"].clone(),
                meta["namespace"].clone(),
                meta["name"].clone(),
            )
        };
        let is_new = |one: &Value| identity(one) != identity(&object);
        if self.objects.iter().all(is_new) {
            self.objects.push(object);
        }
    }
}

/// Converts what is in a text of YAML or JSON.
///
/// # Errors
/// When it cannot be read: where, and what was expected.
pub fn convert(text: &str) -> Result<Converted, Wrong> {
    let mut out = Converted::default();
    for (first_line, document) in yaml::documents(text) {
        let value: Value = yaml::read(document).map_err(|wrong| Wrong {
            line: wrong.line + first_line - 1,
            ..wrong
        })?;
        object(&value, &mut out)?;
    }
    Ok(out)
}

/// Converts one object, or those of a list.
fn object(value: &Value, out: &mut Converted) -> Result<(), Wrong> {
    let kind = value["kind"].as_str().unwrap_or_default();
    let version = value["apiVersion"].as_str().unwrap_or_default();
    let group = version.split_once('/').map_or("", |(group, _)| group);
    if let Some(items) = value["items"].as_array().filter(|_| kind.ends_with("List")) {
        return items.iter().try_for_each(|item| object(item, out));
    }
    let subject = format!("{kind} {}", name_of(value));
    match (group, kind) {
        ("", "ConfigMap") => return config_map(value, out),
        ("", "") if value.get("partitions").is_some() => yunikorn::queues(value, out),
        ("", "") if value.get("actions").is_some() => volcano::configuration(value, out),
        ("scheduling.volcano.sh", "Queue") => volcano::queue(value, out),
        ("batch.volcano.sh", "Job") => volcano::job(value, out),
        ("kueue.x-k8s.io", "ClusterQueue") => kueue::cluster_queue(value, out),
        ("kueue.x-k8s.io", "Cohort") => kueue::cohort(value, out),
        ("kueue.x-k8s.io", "LocalQueue") => kueue::local_queue(value, out),
        ("kueue.x-k8s.io", "WorkloadPriorityClass") => kueue::priority_class(value, out),
        ("scheduling.volcano.sh" | "scheduling.x-k8s.io" | "scheduling.k8s.io", "PodGroup")
        | ("topology.volcano.sh", "HyperNode")
        | ("kueue.x-k8s.io", "Topology") => out.note(&subject, "is read as it is"),
        _ => out.note(&subject, "is not converted"),
    }
    Ok(())
}

/// The files in a ConfigMap that other schedulers read.
fn config_map(value: &Value, out: &mut Converted) -> Result<(), Wrong> {
    let files = value["data"].as_object().into_iter().flatten();
    let read = |key: &str| key == "queues.yaml" || key.ends_with(".conf");
    let mut found = false;
    for (_, text) in files.filter(|(key, _)| read(key)) {
        let inner = convert(text.as_str().unwrap_or_default())?;
        inner.objects.into_iter().for_each(|one| out.add(one));
        out.notes.extend(inner.notes);
        found = true;
    }
    if !found {
        out.note(
            &format!("ConfigMap {}", name_of(value)),
            "is not converted: it has neither queues.yaml nor a file *.conf",
        );
    }
    Ok(())
}

/// Its name, with its namespace where it has one.
fn name_of(object: &Value) -> String {
    let meta = &object["metadata"];
    let name = meta["name"].as_str().unwrap_or("without a name");
    match meta["namespace"].as_str() {
        Some(namespace) => format!("{namespace}/{name}"),
        None => name.to_owned(),
    }
}

/// A Queue of ours.
fn queue(name: &str, spec: Value) -> Value {
    let mut queue = json!({
        "apiVersion": "muster.dev/v1alpha1",
        "kind": "Queue",
        "metadata": {"name": name},
    });
    queue["spec"] = spec;
    queue
}

#[cfg(test)]
mod tests;
