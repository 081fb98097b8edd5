//! YuniKorn: the queues of `queues.yaml`, called by their paths without the root.

use crate::fields::{quantities, said};
use crate::{Converted, queue as queue_of_ours};
use serde_json::{Map, Value};

/// All partitions of a file; a cluster of Muster's has one.
pub(crate) fn queues(file: &Value, out: &mut Converted) {
    for partition in file["partitions"].as_array().into_iter().flatten() {
        let name = partition["name"].as_str().unwrap_or("default");
        let subject = format!("partition {name}");
        if name != "default" {
            out.note(&subject, "is not converted: there is one cluster");
            continue;
        }
        for (field, value) in said(partition) {
            match field {
                "name" => {}
                "queues" => of_list(value, None, out),
                "placementrules" => out.note(
                    &subject,
                    "placementrules: a pod's queue is its label `muster.dev/queue`, else the annotation of its namespace",
                ),
                "nodesortpolicy" => {
                    out.note(&subject, "nodesortpolicy: `profile.score` orders nodes");
                }
                _ => out.note(&subject, &format!("{field}: there is nothing for it")),
            }
        }
    }
}

fn of_list(list: &Value, parent: Option<&str>, out: &mut Converted) {
    for queue in list.as_array().into_iter().flatten() {
        let name = queue["name"].as_str().unwrap_or_default();
        match parent {
            None if name == "root" => root(queue, out),
            None => of_ours(queue, name, None, out),
            Some(parent) => of_ours(queue, &format!("{parent}.{name}"), Some(parent), out),
        }
    }
}

fn root(queue: &Value, out: &mut Converted) {
    for (field, value) in said(queue) {
        match field {
            "name" | "parent" => {}
            "queues" => of_list(value, None, out),
            _ => out.note(
                "queue root",
                &format!("{field}: queues without a parent are below the cluster"),
            ),
        }
    }
}

fn of_ours(queue: &Value, path: &str, parent: Option<&str>, out: &mut Converted) {
    let subject = format!("queue {path}");
    let mut spec = Map::new();
    if let Some(parent) = parent {
        spec.insert("parent".to_owned(), parent.into());
    }
    let mut below = &Value::Null;
    for (field, value) in said(queue) {
        match field {
            "name" | "parent" => {}
            "queues" => below = value,
            "resources" => {
                for (field, ours) in [("guaranteed", "guaranteed"), ("max", "limit")] {
                    let path = format!("resources.{field}");
                    let amounts = quantities(&subject, &path, &value[field], out);
                    let amounts = amounts.into_iter().map(in_our_words);
                    let amounts: Map<String, Value> = amounts.collect();
                    if !amounts.is_empty() {
                        spec.insert(ours.to_owned(), amounts.into());
                    }
                }
            }
            "properties" => properties(&subject, value, &mut spec, out),
            "submitacl" | "adminacl" => out.note(
                &subject,
                &format!("{field}: `namespaceSelector` says which namespaces may use a queue"),
            ),
            _ => out.note(&subject, &format!("{field}: there is nothing for it")),
        }
    }
    out.add(queue_of_ours(path, Value::Object(spec)));
    of_list(below, Some(path), out);
}

/// A resource as Kubernetes calls it.
fn in_our_words((name, amount): (String, Value)) -> (String, Value) {
    let name = if name == "vcore" { "cpu".into() } else { name };
    (name, amount)
}

fn properties(
    subject: &str,
    properties: &Value,
    spec: &mut Map<String, Value>,
    out: &mut Converted,
) {
    for (name, value) in said(properties) {
        match (name, value.as_str().unwrap_or_default()) {
            ("application.sort.policy", "fifo") => {
                spec.insert("order".to_owned(), "FIFO".into());
            }
            ("application.sort.policy", _) => out.note(
                subject,
                "application.sort.policy: inside a queue it is by priority or first come, first served",
            ),
            _ => out.note(
                subject,
                &format!("properties.{name}: there is nothing for it"),
            ),
        }
    }
}
