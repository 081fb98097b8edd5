//! Objects that the simulated API server holds as a whole, for controllers write them: Testbeds and their slices,
//! BatchJobs, Schedulings, QueueJobs and SchedulingSpecs, and the PodGroups and Jobs that are made for these.

use k8s_openapi::jiff::Timestamp;
use muster_api::crd;
use muster_api::kinds::Identity;
use muster_controllers::{Answer, Deed, ObjectName, Observation, Resource};
use muster_model::units::Time;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What controllers put into a BatchJob's spec: it stays when somebody else applies the rest.
const CLAIM: [&str; 2] = ["activeScheduling", "creationRequest"];

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Wholes {
    objects: BTreeMap<ObjectName, Value>,
    versions: u64,
    uids: u64,
    news: Vec<Observation>,
    changes: Vec<Change>,
}

/// What became of an object: what else is known of it has to follow.
#[derive(Debug)]
pub(super) enum Change {
    /// It is so.
    Is(ObjectName, Value),
    /// It is gone.
    Gone(ObjectName),
}

impl Wholes {
    /// An object as it is now.
    pub(super) fn get(&self, on: &ObjectName) -> Option<&Value> {
        self.objects.get(on)
    }

    /// All objects of a resource, by namespace and name.
    pub(super) fn all(&self, resource: Resource) -> impl Iterator<Item = &Value> {
        let all = self.objects.iter();
        all.filter_map(move |(on, value)| (on.resource == resource).then_some(value))
    }

    /// What a list tells of all of them.
    pub(super) fn list(&self) -> impl Iterator<Item = Observation> {
        let all = self.objects.iter();
        all.filter_map(|(on, value)| Observation::read(on.resource, value.clone()))
    }

    /// What watches would deliver since this was last called.
    pub(super) fn take_news(&mut self) -> Vec<Observation> {
        std::mem::take(&mut self.news)
    }

    /// What became of objects since this was last called.
    pub(super) fn take_changes(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.changes)
    }

    /// Creates an object, or changes the one of its name but for its status and what controllers wrote.
    pub(super) fn put(&mut self, resource: Resource, mut value: Value, now: Time) {
        let on = name_of(resource, &value);
        if let Some(object) = value.as_object_mut() {
            object.remove("status");
        }
        let Some(before) = self.objects.get(&on).cloned() else {
            return self.make(on, value, now);
        };
        for field in [
            "uid",
            "creationTimestamp",
            "finalizers",
            "deletionTimestamp",
            "generation",
        ] {
            set(&mut value["metadata"], field, &before["metadata"][field]);
        }
        set(&mut value, "status", &before["status"]);
        // Who applies an object without a word of owners takes none away.
        if value["metadata"]["ownerReferences"].is_null() {
            let owners = &before["metadata"]["ownerReferences"];
            set(&mut value["metadata"], "ownerReferences", owners);
        }
        for field in CLAIM {
            if resource == Resource::BatchJobs && value["spec"][field].is_null() {
                set(&mut value["spec"], field, &before["spec"][field]);
            }
        }
        grow(&mut value);
        self.write(on, value);
    }

    /// Takes an object as it was on a cluster, with its uid, its age and its status.
    pub(super) fn keep(&mut self, resource: Resource, value: Value) {
        self.write(name_of(resource, &value), value);
    }

    /// `POST`.
    ///
    /// # Errors
    /// The name is taken, or the object cannot be read.
    pub(super) fn create(
        &mut self,
        on: &ObjectName,
        value: Value,
        now: Time,
    ) -> Result<(), Answer> {
        if self.objects.contains_key(on) {
            return Err(Answer::AlreadyExists);
        }
        if Observation::read(on.resource, value.clone()).is_none() {
            return Err(refused(&"it cannot be read"));
        }
        self.make(on.clone(), value, now);
        Ok(())
    }

    /// `PATCH`, of a status or of the rest; the one leaves the other as it is.
    ///
    /// # Errors
    /// What is answered where the patch does not apply.
    pub(super) fn patch(&mut self, on: &ObjectName, deed: &Deed) -> Result<(), Answer> {
        let before = self.objects.get(on).ok_or(Answer::NotFound)?;
        let (Deed::PatchStatus {
            uid,
            version,
            operations,
        }
        | Deed::Patch {
            uid,
            version,
            operations,
        }) = deed
        else {
            return Err(refused(&"it is no patch"));
        };
        let metadata = &before["metadata"];
        if metadata["uid"] != uid.as_str() || metadata["resourceVersion"] != version.as_str() {
            return Err(Answer::Conflict);
        }
        let mut value = before.clone();
        let patch = Deed::json_patch(uid, version, operations);
        let patch: json_patch::Patch =
            Deserialize::deserialize(patch).map_err(|error| refused(&error))?;
        json_patch::patch(&mut value, &patch).map_err(|_| Answer::Conflict)?;
        if matches!(deed, Deed::PatchStatus { .. }) {
            let mut whole = before.clone();
            set(&mut whole, "status", &value["status"]);
            value = whole;
        } else {
            set(&mut value, "status", &before["status"]);
            if value["spec"] != before["spec"] {
                grow(&mut value);
            }
        }
        problems(on.resource, &value)?;
        if value == *before {
            return Ok(());
        }
        let is_held = |value: &Value| {
            let held = value["metadata"]["finalizers"].as_array();
            held.is_some_and(|held| !held.is_empty())
        };
        if !value["metadata"]["deletionTimestamp"].is_null() && !is_held(&value) {
            self.remove(on);
        } else {
            self.write(on.clone(), value);
        }
        Ok(())
    }

    /// `DELETE`, with a uid as precondition where there is one. An object with finalizers is only marked.
    ///
    /// # Errors
    /// There is no such object.
    pub(super) fn delete(
        &mut self,
        on: &ObjectName,
        uid: Option<&str>,
        now: Time,
    ) -> Result<(), Answer> {
        let mut value = self.objects.get(on).cloned().ok_or(Answer::NotFound)?;
        let metadata = &value["metadata"];
        if uid.is_some_and(|uid| metadata["uid"] != uid) {
            return Err(Answer::Conflict);
        }
        let held = metadata["finalizers"].as_array();
        if held.is_none_or(Vec::is_empty) {
            self.remove(on);
        } else if metadata["deletionTimestamp"].is_null() {
            value["metadata"]["deletionTimestamp"] = date(now);
            self.write(on.clone(), value);
        }
        Ok(())
    }

    fn make(&mut self, on: ObjectName, mut value: Value, now: Time) {
        self.uids += 1;
        value["metadata"]["uid"] = json!(format!("whole-{:08}", self.uids));
        value["metadata"]["generation"] = json!(1);
        value["metadata"]["creationTimestamp"] = date(now);
        set(&mut value["metadata"], "deletionTimestamp", &Value::Null);
        self.write(on, value);
    }

    fn write(&mut self, on: ObjectName, mut value: Value) {
        self.versions += 1;
        value["metadata"]["resourceVersion"] = json!(self.versions.to_string());
        let news = Observation::read(on.resource, value.clone());
        self.news.extend(news);
        self.changes.push(Change::Is(on.clone(), value.clone()));
        self.objects.insert(on, value);
    }

    /// An object is gone, and with it what belongs to it.
    fn remove(&mut self, on: &ObjectName) {
        let Some(value) = self.objects.remove(on) else {
            return;
        };
        let uid = value["metadata"]["uid"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        self.news.push(Observation::Gone(
            on.resource,
            Identity {
                namespace: on.namespace.clone(),
                name: on.name.clone(),
                uid: uid.clone(),
            },
        ));
        self.changes.push(Change::Gone(on.clone()));
        let belongs = |value: &Value| {
            let mut owners = value["metadata"]["ownerReferences"]
                .as_array()
                .into_iter()
                .flatten();
            owners.any(|owner| owner["uid"] == uid.as_str())
        };
        let owned = self.objects.iter().filter(|(_, value)| belongs(value));
        let owned: Vec<ObjectName> = owned.map(|(on, _)| on.clone()).collect();
        for on in owned {
            self.remove(&on);
        }
    }
}

/// Which object this is.
pub(super) fn name_of(resource: Resource, value: &Value) -> ObjectName {
    let text = |field: &str| {
        value["metadata"][field]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    ObjectName {
        resource,
        namespace: text("namespace"),
        name: text("name"),
    }
}

/// What the API server says of objects of our kinds that are not as they may be.
fn problems(resource: Resource, value: &Value) -> Result<(), Answer> {
    fn check<T: for<'de> Deserialize<'de>>(
        value: &Value,
        check: impl FnOnce(&T) -> Result<(), Vec<String>>,
    ) -> Result<(), Answer> {
        let read = T::deserialize(value).map_err(|error| refused(&error))?;
        check(&read).map_err(|found| refused(&found.join("; ")))
    }
    match resource {
        Resource::BatchJobs => check(value, crd::validate_batch_job),
        Resource::Schedulings => check(value, crd::validate_scheduling),
        Resource::QueueJobs => check(value, crd::validate_queue_job),
        Resource::Testbeds => check(value, crd::validate_testbed),
        _ => Ok(()),
    }
}

/// Sets a field, or removes it.
fn set(value: &mut Value, field: &str, to: &Value) {
    if !to.is_null() {
        value[field] = to.clone();
    } else if let Some(object) = value.as_object_mut() {
        object.remove(field);
    }
}

/// Its spec is another one.
fn grow(value: &mut Value) {
    let generation = value["metadata"]["generation"].as_i64().unwrap_or(0);
    value["metadata"]["generation"] = json!(generation + 1);
}

/// A time as objects have it.
fn date(now: Time) -> Value {
    let seconds = i64::try_from(now.0 / 1_000).ok();
    let at = seconds.and_then(|at| Timestamp::from_second(at).ok());
    Value::String(at.unwrap_or_default().to_string())
}

fn refused(error: &impl ToString) -> Answer {
    let message = error.to_string();
    Answer::Refused { message }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(resource: Resource, name: &str) -> ObjectName {
        let (namespace, name) = ("n".to_owned(), name.to_owned());
        ObjectName {
            resource,
            namespace,
            name,
        }
    }

    fn patch(wholes: &Wholes, on: &ObjectName, operations: &Value) -> Deed {
        let metadata = &wholes.get(on).unwrap()["metadata"];
        let text = |field: &str| metadata[field].as_str().unwrap().to_owned();
        Deed::Patch {
            uid: text("uid"),
            version: text("resourceVersion"),
            operations: operations.as_array().unwrap().clone(),
        }
    }

    #[test]
    fn what_has_finalizers_goes_with_the_last_and_takes_along_what_belongs_to_it() {
        let mut wholes = Wholes::default();
        let (owner, owned) = (on(Resource::Jobs, "a"), on(Resource::PodGroups, "b"));
        let held = json!({"metadata": {"namespace": "n", "name": "a", "finalizers": ["x"]}});
        wholes.put(Resource::Jobs, held, Time::ZERO);
        let uid = wholes.get(&owner).unwrap()["metadata"]["uid"].clone();
        let value = json!({"metadata": {"namespace": "n", "name": "b", "ownerReferences": [{
            "apiVersion": "batch/v1", "kind": "Job", "name": "a", "uid": uid}]}});
        wholes.create(&owned, value.clone(), Time::ZERO).unwrap();
        assert!(matches!(
            wholes.create(&owned, value, Time::ZERO),
            Err(Answer::AlreadyExists)
        ));
        let other = wholes.delete(&owner, Some("another"), Time::ZERO);
        assert!(matches!(other, Err(Answer::Conflict)));
        wholes.delete(&owner, None, Time::ZERO).unwrap();
        assert!(wholes.get(&owner).is_some() && wholes.get(&owned).is_some());
        let last = json!([{"op": "remove", "path": "/metadata/finalizers"}]);
        let deed = patch(&wholes, &owner, &last);
        wholes.patch(&owner, &deed).unwrap();
        assert!(wholes.get(&owner).is_none() && wholes.get(&owned).is_none());
        assert!(matches!(wholes.patch(&owner, &deed), Err(Answer::NotFound)));
    }

    #[test]
    fn a_patch_of_a_version_that_is_not_there_any_more_is_a_conflict() {
        let mut wholes = Wholes::default();
        let job = on(Resource::Jobs, "a");
        let value = json!({"metadata": {"namespace": "n", "name": "a"}, "spec": {}});
        wholes.put(Resource::Jobs, value, Time::ZERO);
        let deed = patch(
            &wholes,
            &job,
            &json!([{"op": "add", "path": "/spec/x", "value": 1}]),
        );
        wholes.patch(&job, &deed).unwrap();
        assert_eq!(wholes.get(&job).unwrap()["metadata"]["generation"], 2);
        assert!(matches!(wholes.patch(&job, &deed), Err(Answer::Conflict)));
    }

    #[test]
    fn who_applies_a_batch_job_again_does_not_take_its_claim_away() {
        let mut wholes = Wholes::default();
        let job = on(Resource::BatchJobs, "a");
        let value = json!({"metadata": {"namespace": "n", "name": "a"}, "spec": {"job": {}}});
        wholes.put(Resource::BatchJobs, value.clone(), Time::ZERO);
        let claim = json!({"namespace": "n", "name": "s"});
        let claimed = json!([{"op": "add", "path": "/spec/activeScheduling", "value": claim}]);
        let deed = patch(&wholes, &job, &claimed);
        wholes.patch(&job, &deed).unwrap();
        wholes.put(Resource::BatchJobs, value, Time::ZERO);
        assert_eq!(wholes.get(&job).unwrap()["spec"]["activeScheduling"], claim);
    }
}
