//! YuniKorn's applications with task groups: the first pods of an application say which pods it will need.
//!
//! YuniKorn holds room for them by placeholder pods. Here the application is a gang that starts with its first
//! pod once there is room for all, as if a PodGroup said so with `minResources`; its further pods take of
//! that room as they come.

use super::{Convention, Defined};
use crate::names;
use crate::requests::{Reader, in_core_units};
use crate::slim::{Pod, Text, Texts};
use muster_model::{Amounts, GangSpace, Implied};
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::BTreeMap;

pub(super) const CONVENTION: Convention = Convention {
    mark: "annotations `yunikorn.apache.org/task-group-name` and `yunikorn.apache.org/task-groups`, of the application by \
           label or annotation `yunikorn.apache.org/app-id`, label `applicationId` or label `spark-app-selector`",
    space: GangSpace::Pods,
    defined: Defined::ByPods(implied),
    name: |pod| {
        application(pod)
            .filter(|_| has_task_groups(pod))
            .map(Cow::from)
    },
};

/// A task group, of which a pod says more than is read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TaskGroup {
    name: String,
    min_member: i64,
    #[serde(default)]
    min_resource: BTreeMap<String, Text>,
}

fn has_task_groups(pod: &Pod) -> bool {
    let says = |key| names::filled_annotation(&pod.metadata, key).is_some();
    says(names::TASK_GROUP) || says(names::TASK_GROUPS)
}

fn application(pod: &Pod) -> Option<&str> {
    let meta = &pod.metadata;
    let all = [
        names::label(meta, names::APPLICATION),
        names::annotation(meta, names::APPLICATION),
        names::label(meta, "applicationId"),
        names::label(meta, "spark-app-selector"),
    ];
    all.into_iter().flatten().find(|name| !name.is_empty())
}

/// The queue by its path; ours have no common root.
fn queue(pod: &Pod) -> Option<String> {
    let meta = &pod.metadata;
    let all = [
        names::label(meta, names::APPLICATION_QUEUE),
        names::annotation(meta, names::APPLICATION_QUEUE),
        names::label(meta, "queue"),
    ];
    let path = all.into_iter().flatten().find(|path| !path.is_empty())?;
    Some(path.strip_prefix("root.").unwrap_or(path).to_owned())
}

fn implied(pod: &Pod) -> Implied {
    let text = names::filled_annotation(&pod.metadata, names::TASK_GROUPS);
    let needed = text.map(needed).transpose();
    Implied {
        // One that only belongs to a group knows of no other.
        min_available: u32::from(text.is_some()),
        queue: queue(pod),
        min_resources: needed.as_ref().ok().cloned().flatten().unwrap_or_default(),
        invalid: needed.err(),
        ..Implied::default()
    }
}

/// What all task groups need, or what is wrong with them.
fn needed(text: &str) -> Result<Amounts, String> {
    let path = format!("metadata.annotations[{}]", names::TASK_GROUPS);
    let groups: Vec<TaskGroup> =
        serde_json::from_str(text).map_err(|error| format!("{path}: {error}"))?;
    let mut sum: BTreeMap<String, i64> = BTreeMap::new();
    for group in groups {
        let (name, members) = (&group.name, group.min_member);
        if members < 0 {
            return Err(format!(
                "{path}: minMember of {name}: {members} is negative"
            ));
        }
        let mut reader = Reader::default();
        let texts: Texts = group.min_resource.into_iter().collect();
        let bag = reader.bag(&format!("{path}: minResource of {name}"), &texts);
        if let Some(problem) = reader.finish().into_iter().next() {
            return Err(problem);
        }
        let of_one = in_core_units(&bag).into_iter();
        for (resource, amount) in of_one.chain([("pods".to_owned(), 1)]) {
            let of_all = amount.saturating_mul(members);
            let sum = sum.entry(resource).or_default();
            *sum = sum.saturating_add(of_all);
        }
    }
    Ok(sum.into_iter().collect())
}
