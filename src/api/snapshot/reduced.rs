//! What Muster reads of an object, and nothing else of it.
//!
//! Of a watched kind that is what its type reads: the type is asked, while it decodes, what it passes over. So
//! there is no list of fields here that could grow old. Of pod templates the same is left as of pods.

use crate::kinds::{self, Row, Visitor};
use crate::slim::{self, annotation_is_read};
use serde::de::DeserializeOwned;
use serde_ignored::Path;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Why an object is left out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unread {
    /// Muster does not read this kind.
    #[error("kind {0:?} is not read")]
    Kind(String),
    /// It does not fit its type, and Muster leaves it out as well.
    #[error("{0}")]
    Object(String),
}

type Reduce = fn(&mut Value) -> Result<(), Unread>;

/// Reduces objects.
#[derive(Debug)]
pub struct Reducer {
    /// By API version and kind.
    kinds: BTreeMap<(String, String), Reduce>,
}

impl Default for Reducer {
    fn default() -> Self {
        let mut all = All(BTreeMap::new());
        kinds::visit(&mut all);
        for kind in ["BatchJob", "Scheduling", "QueueJob"] {
            let of = ("muster.dev/v1alpha1".to_owned(), kind.to_owned());
            all.0.insert(of, with_templates);
        }
        all.0.insert(("batch/v1".to_owned(), "Job".to_owned()), job);
        Self { kinds: all.0 }
    }
}

struct All(BTreeMap<(String, String), Reduce>);

impl Visitor for All {
    fn visit<R: Row>(&mut self) {
        let of = (R::api_version(&()).into_owned(), R::kind(&()).into_owned());
        self.0.insert(of, reduce::<R>);
    }
}

impl Reducer {
    /// Leaves of an object what is read of it.
    ///
    /// # Errors
    /// When nothing is.
    pub fn reduce(&self, object: &mut Value) -> Result<(), Unread> {
        let text = |field: &str| object[field].as_str().unwrap_or_default().to_owned();
        let of = (text("apiVersion"), text("kind"));
        let Some(reduce) = self.kinds.get(&of) else {
            return Err(Unread::Kind(of.1));
        };
        reduce(object)?;
        object["apiVersion"] = of.0.into();
        object["kind"] = of.1.into();
        Ok(())
    }
}

/// What a type reads.
fn reduce<T: DeserializeOwned>(object: &mut Value) -> Result<(), Unread> {
    metadata(&mut object["metadata"]);
    leave_read::<T>(object)
}

fn leave_read<T: DeserializeOwned>(object: &mut Value) -> Result<(), Unread> {
    let mut passed_over = Vec::new();
    let read: Result<T, _> = serde_ignored::deserialize(&*object, |path| {
        passed_over.extend(keys(&path));
    });
    read.map_err(|error| Unread::Object(error.to_string()))?;
    for keys in passed_over {
        remove(object, &keys);
    }
    Ok(())
}

/// The way to a field that is passed over. Of what is only known to be there or not, that is left.
fn keys(path: &Path<'_>) -> Option<Vec<String>> {
    let mut keys = Vec::new();
    let mut path = path;
    if matches!(path, Path::Some { .. } | Path::Seq { .. }) {
        return None;
    }
    loop {
        path = match path {
            Path::Root => break,
            Path::Seq { parent, index } => {
                keys.push(index.to_string());
                parent
            }
            Path::Map { parent, key } => {
                keys.push(key.clone());
                parent
            }
            Path::Some { parent }
            | Path::NewtypeStruct { parent }
            | Path::NewtypeVariant { parent } => parent,
        };
    }
    keys.reverse();
    Some(keys)
}

fn remove(object: &mut Value, keys: &[String]) {
    let Some((last, parents)) = keys.split_last() else {
        return;
    };
    let mut found = object;
    for key in parents {
        let inner = match found {
            Value::Object(fields) => fields.get_mut(key),
            Value::Array(items) => key.parse::<usize>().ok().and_then(|at| items.get_mut(at)),
            _ => None,
        };
        match inner {
            Some(inner) => found = inner,
            None => return,
        }
    }
    if let Value::Object(fields) = found {
        fields.remove(last);
    }
}

/// What is read of any object's metadata.
const METADATA: [&str; 10] = [
    "name",
    "namespace",
    "uid",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
];

fn metadata(metadata: &mut Value) {
    let Some(fields) = metadata.as_object_mut() else {
        return;
    };
    fields.retain(|name, _| METADATA.contains(&name.as_str()));
    if let Some(Value::Object(annotations)) = fields.get_mut("annotations") {
        annotations.retain(|key, _| annotation_is_read(key));
        if annotations.is_empty() {
            fields.remove("annotations");
        }
    }
    if let Some(Value::Array(owners)) = fields.get_mut("ownerReferences") {
        owners.retain(|owner| owner["controller"] == true);
    }
}

/// What a Job says of how many pods it makes, and of which.
const OF_A_JOB: [&str; 6] = [
    "parallelism",
    "completions",
    "completionMode",
    "suspend",
    "activeDeadlineSeconds",
    "template",
];

/// What it says of how far it is.
const OF_ITS_STATUS: [&str; 5] = [
    "active",
    "succeeded",
    "failed",
    "completedIndexes",
    "conditions",
];

fn job(object: &mut Value) -> Result<(), Unread> {
    metadata(&mut object["metadata"]);
    only(object, &["metadata", "spec", "status"]);
    only(&mut object["spec"], &OF_A_JOB);
    only(&mut object["status"], &OF_ITS_STATUS);
    let conditions = object["status"]["conditions"].as_array_mut();
    for condition in conditions.into_iter().flatten() {
        only(condition, &["type", "status", "lastTransitionTime"]);
    }
    templates(object)
}

/// An object of ours that has templates of pods somewhere.
fn with_templates(object: &mut Value) -> Result<(), Unread> {
    metadata(&mut object["metadata"]);
    only(object, &["metadata", "spec", "status"]);
    if let Some(spec) = object["spec"].as_object_mut() {
        // What is in these is not read: a BatchJob that has one says so, and is not played.
        for other in ["sparkApplication", "flinkDeployment"] {
            if spec.contains_key(other) {
                spec.insert(other.to_owned(), json!({}));
            }
        }
    }
    templates(object)
}

/// Reduces the pod templates in an object.
fn templates(value: &mut Value) -> Result<(), Unread> {
    match value {
        Value::Array(items) => items.iter_mut().try_for_each(templates),
        Value::Object(fields) => {
            for (name, field) in fields {
                let is_template = name == "template" && field["spec"]["containers"].is_array();
                if is_template {
                    only(field, &["metadata", "spec"]);
                    metadata(&mut field["metadata"]);
                    leave_read::<slim::PodSpec>(&mut field["spec"])?;
                } else {
                    templates(field)?;
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn only(value: &mut Value, names: &[&str]) {
    if let Some(fields) = value.as_object_mut() {
        fields.retain(|name, _| names.contains(&name.as_str()));
    }
}
