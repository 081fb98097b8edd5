//! Volcano: queues, Jobs for who leaves its controllers as well, and the scheduler's configuration.

use crate::fields::said;
use crate::{Converted, name_of, queue as queue_of_ours};
use muster_api::convert::{is_volcanos_root, volcano_queue_in_our_words};
use serde_json::{Value, json};

/// A Queue.
pub(crate) fn queue(object: &Value, out: &mut Converted) {
    let name = name_of(object);
    let subject = format!("Queue {name}");
    if is_volcanos_root(&name) {
        return out.note(&subject, "queues without a parent are below the cluster");
    }
    let words = match serde_json::from_value(object.clone()) {
        Ok(queue) => volcano_queue_in_our_words(&queue),
        Err(wrong) => return out.note(&subject, &format!("is not converted: {wrong}")),
    };
    for (path, why) in words.without {
        out.note(&subject, &format!("{path}: {why}"));
    }
    out.add(queue_of_ours(&name, Value::Object(words.spec)));
}

/// A Job: a PodGroup with a subgroup for each task, and a Job of Kubernetes for each.
pub(crate) fn job(object: &Value, out: &mut Converted) {
    let (meta, spec) = (&object["metadata"], &object["spec"]);
    let subject = format!("Job {}", name_of(object));
    let Some(name) = meta["name"].as_str() else {
        return out.note(&subject, "is not converted");
    };
    let tasks: Vec<&Value> = spec["tasks"].as_array().into_iter().flatten().collect();
    let replicas = |task: &Value| task["replicas"].as_i64().unwrap_or(1);
    let minimum = |task: &Value| task["minAvailable"].as_i64().unwrap_or(replicas(task));
    let all: i64 = tasks.iter().map(|task| replicas(task)).sum();
    let minima: i64 = tasks.iter().map(|task| minimum(task)).sum();
    let of_all = spec["minAvailable"].as_i64().unwrap_or(all);
    let subgroup = |(index, task): (usize, &&Value)| {
        // As Volcano has it they do not count where they want more together than the whole.
        let min = if minima > of_all { 0 } else { minimum(task) };
        json!({"name": task_name(task, index), "min": min})
    };
    let subgroups: Vec<Value> = tasks.iter().enumerate().map(subgroup).collect();
    let mut group = json!({"minAvailable": of_all, "subgroups": subgroups});
    for (field, value) in said(spec) {
        match field {
            "queue" | "priorityClassName" => group[field] = value.clone(),
            "tasks" | "minAvailable" | "schedulerName" | "maxRetry" | "ttlSecondsAfterFinished" => {
            }
            _ => {
                let words = format!("spec.{field}: Jobs of Kubernetes have nothing for it");
                out.note(&subject, &words);
            }
        }
    }
    let mut own = json!({"name": name});
    for field in ["namespace", "labels"] {
        if !meta[field].is_null() {
            own[field] = meta[field].clone();
        }
    }
    out.add(json!({
        "apiVersion": "muster.dev/v1alpha1", "kind": "PodGroup", "metadata": own, "spec": group,
    }));
    for (index, task) in tasks.iter().enumerate() {
        let task_name = task_name(task, index);
        for (field, _) in said(task) {
            if !["name", "replicas", "minAvailable", "template"].contains(&field) {
                let path = format!("spec.tasks[{task_name}].{field}");
                out.note(
                    &subject,
                    &format!("{path}: Jobs of Kubernetes have nothing for it"),
                );
            }
        }
        let mut own = own.clone();
        own["name"] = format!("{name}-{task_name}").into();
        let mut job = json!({
            "parallelism": replicas(task), "completions": replicas(task), "completionMode": "Indexed",
            "template": template(&task["template"], name, &task_name),
        });
        for (field, ours) in [
            ("maxRetry", "backoffLimit"),
            ("ttlSecondsAfterFinished", "ttlSecondsAfterFinished"),
        ] {
            if !spec[field].is_null() {
                job[ours] = spec[field].clone();
            }
        }
        out.add(json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": own, "spec": job}));
    }
}

/// As Volcano's controller calls a task without a name.
fn task_name(task: &Value, index: usize) -> String {
    let name = task["name"].as_str().filter(|name| !name.is_empty());
    name.map_or_else(|| format!("default{index}"), str::to_owned)
}

/// A task's template as that of a Job.
fn template(template: &Value, group: &str, task: &str) -> Value {
    let mut template = if template.is_object() {
        template.clone()
    } else {
        json!({})
    };
    for (field, value) in [("pod-group", group), ("subgroup", task)] {
        template["metadata"]["labels"][format!("muster.dev/{field}")] = value.into();
    }
    let spec = &mut template["spec"];
    spec["schedulerName"] = "muster".into();
    if !matches!(spec["restartPolicy"].as_str(), Some("Never" | "OnFailure")) {
        spec["restartPolicy"] = "OnFailure".into();
    }
    template
}

/// The scheduler's configuration: there is little in ours that has to be said.
pub(crate) fn configuration(value: &Value, out: &mut Converted) {
    let subject = "volcano-scheduler.conf";
    let actions = value["actions"].as_str().unwrap_or_default().split(',');
    let tiers = value["tiers"].as_array().into_iter().flatten();
    let plugins = tiers.flat_map(|tier| tier["plugins"].as_array().into_iter().flatten());
    let plugins = plugins.filter_map(|plugin| plugin["name"].as_str());
    for name in actions.map(str::trim).chain(plugins) {
        if let Some(words) = counterpart(name) {
            out.note(subject, &format!("{name}: {words}"));
        }
    }
    out.add(json!({
        "apiVersion": "config.muster.dev/v1alpha1",
        "kind": "SchedulerConfiguration",
        "schedulerNames": ["muster", "volcano"],
    }));
}

/// What there is to know of an action or a plugin; `None` where it is done in any case.
fn counterpart(name: &str) -> Option<&'static str> {
    Some(match name {
        "" | "enqueue" | "allocate" | "backfill" | "preempt" | "reclaim" | "gang" | "priority"
        | "predicates" | "nodeorder" | "conformance" => return None,
        "binpack" => "gangs are packed so that nodes stay whole; `profile.score` says otherwise",
        "proportion" | "capacity" | "drf" => "shares follow from the weights of Queues",
        "overcommit" => "a gang is let in when its room is free, and has it from then on",
        "sla" => "nobody is let in without room; say a `lifetime`",
        "extender" => "`extenders` of the configuration, by kube-scheduler's protocol",
        "rescheduling" | "shuffle" => "`defragmentation` moves gangs so that others have room",
        "network-topology-aware" => "HyperNodes and `networkTopology` are read as they are",
        _ => "there is nothing for it",
    })
}
