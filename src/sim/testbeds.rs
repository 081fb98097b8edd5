//! The Testbeds that the simulated API server holds: as whole objects, for their status is written.

use muster_api::crd;
use muster_controllers::Answer;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// All of them, by name.
#[derive(Debug, Default)]
pub(super) struct Testbeds {
    objects: BTreeMap<String, Value>,
    versions: u64,
}

impl Testbeds {
    /// A Testbed as it is now.
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.objects.get(name)
    }

    /// All of them as they are now.
    pub(super) fn all(&self) -> impl Iterator<Item = crd::Testbed> {
        self.objects.values().filter_map(read)
    }

    /// Creates one, or changes the one of its name but for its status. Returns it as it is then.
    pub(super) fn put(
        &mut self,
        mut value: Value,
        uid: impl FnOnce() -> String,
    ) -> Option<crd::Testbed> {
        let name = value["metadata"]["name"].as_str()?.to_owned();
        let before = self.objects.get(&name);
        let (uid, generation, status) = match before {
            Some(before) => (
                before["metadata"]["uid"].clone(),
                before["metadata"]["generation"].as_i64().unwrap_or(0),
                before["status"].clone(),
            ),
            None => (Value::String(uid()), 0, Value::Null),
        };
        value["metadata"]["uid"] = uid;
        value["metadata"]["generation"] = json!(generation + 1);
        match status {
            Value::Null => _ = value.as_object_mut().map(|object| object.remove("status")),
            status => value["status"] = status,
        }
        self.write(&name, value)
    }

    /// `PATCH` of a status.
    ///
    /// # Errors
    /// What is answered where the patch does not apply.
    pub(super) fn patch(
        &mut self,
        name: &str,
        version: &str,
        patch: &Value,
    ) -> Result<Option<crd::Testbed>, Answer> {
        let mut value = self.objects.get(name).cloned().ok_or(Answer::NotFound)?;
        if value["metadata"]["resourceVersion"] != version {
            return Err(Answer::Conflict);
        }
        let patch: json_patch::Patch =
            Deserialize::deserialize(patch).map_err(|error| refused(&error))?;
        json_patch::patch(&mut value, &patch).map_err(|error| refused(&error))?;
        Ok(self.write(name, value))
    }

    /// Deletes one.
    pub(super) fn remove(&mut self, name: &str) {
        self.objects.remove(name);
    }

    fn write(&mut self, name: &str, mut value: Value) -> Option<crd::Testbed> {
        self.versions += 1;
        value["metadata"]["resourceVersion"] = json!(self.versions.to_string());
        let found = read(&value);
        self.objects.insert(name.to_owned(), value);
        found
    }
}

fn read(value: &Value) -> Option<crd::Testbed> {
    crd::Testbed::deserialize(value).ok()
}

fn refused(error: &impl ToString) -> Answer {
    let message = error.to_string();
    Answer::Refused { message }
}
