//! Objects as they are shown: as they were written, with what became of them.

use crate::resources::Id;
use crate::roles::{Role, role};
use k8s_openapi::jiff::Timestamp;
use muster_api::convert::Reading;
use muster_api::names;
use muster_api::status::Status;
use muster_controllers::{ObjectName, Resource as Controlled};
use muster_model::units::Time;
use muster_model::{ClaimKey, GangKey, Object, ObjectKey, PodPhase, Source};
use muster_sim::driver::Driver;
use muster_sim::server::Pod;
use serde_json::{Map, Value, json};

/// An object as it is now, of what it was before; `None`: it is gone.
pub(crate) fn shown(
    id: &Id,
    before: Option<Value>,
    driver: &Driver,
    reading: &Reading,
) -> Option<Value> {
    let server = driver.server();
    let mut value = match role(id.resource) {
        Role::Stored => before?,
        Role::Pod => {
            let found = server.pod_named(&id.namespace, &id.name)?;
            let made = || driver.made(&id.namespace, &id.name).cloned();
            pod(found, before.or_else(made)?, driver.now(), reading)
        }
        Role::Whole(resource) => whole(id, resource, before, driver)?,
        Role::Gang(Source::Muster) if whole_of(id, Controlled::PodGroups, driver).is_some() => {
            whole(id, Controlled::PodGroups, before, driver)?
        }
        Role::Gang(source) => {
            let key = GangKey {
                namespace: id.namespace.clone(),
                space: source.space(),
                name: id.name.clone(),
            };
            written(before?, server.object(&ObjectKey::Gang(key, source))?)
        }
        Role::Queue => written(before?, server.object(&ObjectKey::Queue(id.name.clone()))?),
        Role::Topology => {
            let key = ObjectKey::Topology(id.name.clone());
            written(before?, server.object(&key)?)
        }
        Role::Claim => claim(id, before, driver)?,
    };
    let resource = id.kind();
    value["apiVersion"] = json!(resource.api_version());
    value["kind"] = json!(resource.kind);
    Some(value)
}

/// A time as objects have it.
pub(crate) fn date(at: Time) -> String {
    let seconds = i64::try_from(at.0 / 1_000).ok();
    let at = seconds.and_then(|at| Timestamp::from_second(at).ok());
    at.unwrap_or_default().to_string()
}

/// Writes what the scheduler says into an object.
pub(crate) fn write(value: &mut Value, status: &Status, now: Time) {
    let mut patch = status.patch();
    if let Status::Pod(_) = status {
        let held = condition(value, "PodScheduled");
        let new = &mut patch["status"]["conditions"][0];
        if new["lastTransitionTime"].is_null() {
            let since = held.map(|one| one["lastTransitionTime"].clone());
            new["lastTransitionTime"] = since.unwrap_or_else(|| json!(date(now)));
        }
    }
    json_patch::merge(value, &patch);
}

fn condition<'a>(value: &'a Value, kind: &str) -> Option<&'a Value> {
    let conditions = value["status"]["conditions"].as_array();
    conditions
        .into_iter()
        .flatten()
        .find(|one| one["type"] == kind)
}

/// What the simulator gave an object that is as it was written.
fn written(mut value: Value, object: &Object) -> Value {
    let (uid, generation) = match object {
        Object::Gang(one) => (&one.uid, one.generation),
        Object::Queue(one) => (&one.uid, one.generation),
        Object::Topology(one) => (&one.uid, one.generation),
        _ => return value,
    };
    if value["metadata"]["uid"] != uid.as_str() {
        // The one before said that.
        remove(&mut value, "status");
    }
    value["metadata"]["uid"] = json!(uid);
    value["metadata"]["generation"] = json!(generation);
    value
}

fn remove(value: &mut Value, field: &str) {
    if let Some(object) = value.as_object_mut() {
        object.remove(field);
    }
}

fn whole_of<'a>(id: &Id, resource: Controlled, driver: &'a Driver) -> Option<&'a Value> {
    let on = ObjectName {
        resource,
        namespace: id.namespace.clone(),
        name: id.name.clone(),
    };
    driver.server().whole(&on)
}

/// An object that controllers write; the scheduler may say something on it, too.
fn whole(id: &Id, resource: Controlled, before: Option<Value>, driver: &Driver) -> Option<Value> {
    let mut value = whole_of(id, resource, driver)?.clone();
    if let (Value::Null, Some(before)) = (&value["status"], before)
        && before["metadata"]["uid"] == value["metadata"]["uid"]
    {
        value["status"] = before["status"].clone();
    }
    if value["status"].is_null() {
        remove(&mut value, "status");
    }
    Some(value)
}

fn claim(id: &Id, before: Option<Value>, driver: &Driver) -> Option<Value> {
    let key = ClaimKey {
        namespace: id.namespace.clone(),
        name: id.name.clone(),
    };
    let found = driver.server().storage().claim(&key)?;
    let mut value = before.unwrap_or_else(|| {
        json!({"metadata": {"namespace": key.namespace, "name": key.name}, "spec": {"storageClassName": found.class}})
    });
    value["metadata"]["uid"] = json!(found.uid);
    let is_bound = found.bind_completed && !found.volume.is_empty();
    value["status"]["phase"] = json!(if is_bound { "Bound" } else { "Pending" });
    if !found.volume.is_empty() {
        value["spec"]["volumeName"] = json!(found.volume);
    }
    Some(value)
}

/// A pod, with what its kubelet would say.
fn pod(found: &Pod, mut value: Value, now: Time, reading: &Reading) -> Value {
    let spec = &found.spec;
    if value["metadata"]["uid"] != spec.key.uid.as_str() {
        // It is another one of this name.
        remove(&mut value, "status");
        remove(&mut value["metadata"], "deletionTimestamp");
    }
    let metadata = &mut value["metadata"];
    metadata["uid"] = json!(spec.key.uid);
    metadata["creationTimestamp"] = json!(date(spec.created));
    if spec.terminating && metadata["deletionTimestamp"].is_null() {
        metadata["deletionTimestamp"] = json!(date(now));
    }
    if let Some(slot) = spec.slot {
        metadata["annotations"][names::SLOT] = json!(slot.to_string());
    }
    match &spec.node {
        Some(node) => value["spec"]["nodeName"] = json!(node),
        None => remove(&mut value["spec"], "nodeName"),
    }
    let scheduler = &mut value["spec"]["schedulerName"];
    if let (Value::Null, Some(name)) = (&*scheduler, reading.scheduler_names.first()) {
        *scheduler = json!(name);
    }
    if !spec.gates.is_empty() {
        let gates = spec.gates.iter().map(|name| json!({"name": name}));
        value["spec"]["schedulingGates"] = gates.collect();
    } else {
        remove(&mut value["spec"], "schedulingGates");
    }
    value["status"] = pod_status(found, &value, now);
    value
}

fn pod_status(found: &Pod, value: &Value, now: Time) -> Value {
    let spec = &found.spec;
    let bound_at = spec.bound_at.map(date);
    let (phase, ready) = match spec.phase {
        PodPhase::Pending => ("Pending", None),
        PodPhase::Running => ("Running", Some(("True", None))),
        PodPhase::Succeeded => ("Succeeded", Some(("False", Some("PodCompleted")))),
        PodPhase::Failed => ("Failed", Some(("False", Some("PodFailed")))),
    };
    let mut conditions = Vec::new();
    if bound_at.is_some() {
        conditions.push(
            json!({"type": "PodScheduled", "status": "True", "lastTransitionTime": bound_at}),
        );
    } else if !spec.gates.is_empty() {
        let message = "Scheduling is blocked due to non-empty scheduling gates";
        conditions.push(json!({
            "type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "message": message,
            "lastTransitionTime": date(spec.created),
        }));
    } else if let Some(waits) = condition(value, "PodScheduled") {
        conditions.push(waits.clone());
    }
    let before = &value["status"];
    let since =
        condition(value, "Ready").filter(|one| one["status"] == ready.map_or("", |one| one.0));
    let since = since.map_or_else(|| json!(date(now)), |one| one["lastTransitionTime"].clone());
    if let Some((is_ready, reason)) = ready {
        for kind in ["Initialized", "ContainersReady", "Ready"] {
            let status = if kind == "Initialized" {
                "True"
            } else {
                is_ready
            };
            let mut one = json!({"type": kind, "status": status, "lastTransitionTime": since});
            if let (Some(reason), "False") = (reason, status) {
                one["reason"] = json!(reason);
            }
            conditions.push(one);
        }
    }
    let mut status = json!({"phase": phase, "conditions": conditions});
    if ready.is_some() {
        status["startTime"] = json!(bound_at);
        let containers = value["spec"]["containers"].as_array();
        let one = |container: &Value| {
            container_status(spec.phase, container, bound_at.as_deref(), &since)
        };
        status["containerStatuses"] = containers.into_iter().flatten().map(one).collect();
    }
    if let (None, Some(node)) = (&spec.node, before["nominatedNodeName"].as_str()) {
        status["nominatedNodeName"] = json!(node);
    }
    status
}

fn container_status(
    phase: PodPhase,
    container: &Value,
    started: Option<&str>,
    ended: &Value,
) -> Value {
    let mut state = Map::new();
    if phase.is_terminal() {
        let (code, reason) = match phase {
            PodPhase::Failed => (1, "Error"),
            _ => (0, "Completed"),
        };
        let terminated = json!({
            "exitCode": code, "reason": reason, "startedAt": started, "finishedAt": ended,
        });
        state.insert("terminated".to_owned(), terminated);
    } else {
        state.insert("running".to_owned(), json!({"startedAt": started}));
    }
    json!({
        "name": container["name"], "image": container["image"], "imageID": "", "restartCount": 0,
        "ready": phase == PodPhase::Running, "started": phase == PodPhase::Running, "state": state,
    })
}
