//! A queue of Volcano's in our words: for who reads it as it is, and for who writes it anew.

use super::{Reading, queue};
use crate::{crd, volcano};
use muster_model::{Origin, VolcanoQueueSpec};
use serde_json::{Map, Value, json};

/// The queue above all that Volcano's controller makes.
const ROOT: &str = "root";

/// What a queue of Volcano's says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InOurWords {
    /// The `spec` of a Queue of ours.
    pub spec: Map<String, Value>,
    /// The fields for which there is nothing, and why.
    pub without: Vec<(String, &'static str)>,
}

/// Whether the queue of this name is the one above all, which is no queue here.
#[must_use]
pub fn is_volcanos_root(name: &str) -> bool {
    name == ROOT
}

/// What a queue of Volcano's says in our words.
#[must_use]
pub fn volcano_queue_in_our_words(said: &volcano::Queue) -> InOurWords {
    let mut words = InOurWords::default();
    for (field, value) in &said.spec {
        let path = format!("spec.{field}");
        let ours = match field.as_str() {
            _ if says_nothing(value) => None,
            "weight" | "priority" => Some((field.as_str(), value.clone())),
            "parent" if value == ROOT => None,
            "parent" => Some(("parent", value.clone())),
            "capability" => Some(("limit", words.amounts(&path, value))),
            "guarantee" => Some(("guaranteed", words.amounts(&path, &value["resource"]))),
            "reclaimable" if value == true => None,
            other => {
                words.without.push((path, without(other)));
                None
            }
        };
        if let Some((field, value)) = ours {
            words.spec.insert(field.to_owned(), value);
        }
    }
    if matches!(said.status.state.as_str(), "Closed" | "Closing") {
        words.spec.insert("state".to_owned(), "Closed".into());
    }
    words
}

/// A queue of Volcano's as it is read. Nothing is written on it.
///
/// # Errors
/// When a field has another type than Volcano's own definition allows.
pub fn volcano_queue(said: &volcano::Queue, reading: &Reading) -> Result<VolcanoQueueSpec, String> {
    let spec = volcano_queue_in_our_words(said).spec;
    let ours = json!({"metadata": {}, "spec": spec});
    let mut ours: crd::Queue = serde_json::from_value(ours).map_err(|wrong| wrong.to_string())?;
    ours.metadata.clone_from(&said.metadata);
    let mut queue = queue(&ours);
    queue.origin = Origin::Volcano;
    let counts =
        reading.stands_in_for(muster_model::Source::Volcano) || reading.is_claimed(&said.metadata);
    Ok(VolcanoQueueSpec {
        counts: counts && !is_volcanos_root(&queue.name),
        queue,
    })
}

impl InOurWords {
    /// Amounts of resources, without those that are none for a queue of ours.
    fn amounts(&mut self, path: &str, value: &Value) -> Value {
        Value::Object(amounts_of_queues(path, value, &mut self.without))
    }
}

/// Amounts of resources, those left out that are none for a queue of ours: these are noted.
pub fn amounts_of_queues(
    path: &str,
    value: &Value,
    without: &mut Vec<(String, &'static str)>,
) -> Map<String, Value> {
    let mut amounts = Map::new();
    let all = value.as_object().into_iter().flatten();
    for (name, amount) in all.filter(|(_, amount)| !says_nothing(amount)) {
        if name.starts_with("deviceclass/") || name.contains(".deviceclass/") {
            without.push((format!("{path}.{name}"), BY_CLASS));
        } else {
            amounts.insert(name.clone(), amount.clone());
        }
    }
    amounts
}

const BY_CLASS: &str = "queues do not count devices by class";

/// Whether a field says nothing.
#[must_use]
pub fn says_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Why a field has nothing of ours.
fn without(field: &str) -> &'static str {
    match field {
        "deserved" => "a queue's share follows from its weight; what it always has is `guaranteed`",
        "reclaimable" => {
            "whether others take back what is beyond its share is said by the lifetimes of its gangs"
        }
        "affinity" => "a queue has no nodes; PodGroups have `nodeSelector`",
        "dequeueStrategy" => "`order` and `reservation` say who goes first, and who may pass",
        _ => "there is nothing for it",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: Value, scheduler: &str) -> Result<VolcanoQueueSpec, String> {
        let reading = Reading {
            scheduler_names: vec!["muster".to_owned(), scheduler.to_owned()],
            ..Reading::default()
        };
        volcano_queue(&serde_json::from_value(value).unwrap(), &reading)
    }

    fn full() -> Value {
        json!({
            "metadata": {"name": "a", "uid": "u", "generation": 3},
            "spec": {
                "weight": 4, "priority": 2, "parent": "above", "reclaimable": false,
                "capability": {"cpu": "2500m", "deviceclass/gpu": "1"},
                "guarantee": {"resource": {"cpu": 2}}, "deserved": {"cpu": 4},
            },
            "status": {"state": "Closing"},
        })
    }

    #[test]
    fn all_that_there_is_something_for_is_read() {
        let read = read(full(), "volcano").unwrap();
        assert!(read.counts);
        let queue = read.queue;
        assert_eq!((queue.name.as_str(), queue.uid.as_str()), ("a", "u"));
        assert_eq!((queue.weight, queue.tier), (4, 2));
        assert_eq!(queue.parent.as_deref(), Some("above"));
        assert_eq!(queue.limit, [("cpu".to_owned(), 2_500)]);
        assert_eq!(queue.guaranteed, [("cpu".to_owned(), 2_000)]);
        assert_eq!((queue.is_open, queue.origin), (false, Origin::Volcano));
        assert_eq!(queue.invalid, None);
    }

    #[test]
    fn it_counts_where_we_stand_in_for_volcanos_scheduler_or_it_is_claimed() {
        assert!(!read(full(), "other").unwrap().counts);
        let mut claimed = full();
        claimed["metadata"]["labels"] = json!({"muster.dev/scheduler-name": "muster"});
        assert!(read(claimed, "other").unwrap().counts);
    }

    #[test]
    fn the_queue_above_all_is_none() {
        let root = read(json!({"metadata": {"name": "root"}}), "volcano").unwrap();
        assert!(!root.counts);
        let mut below = full();
        below["spec"]["parent"] = "root".into();
        assert_eq!(read(below, "volcano").unwrap().queue.parent, None);
    }

    #[test]
    fn what_nobody_may_write_there_is_said() {
        let mut odd = full();
        odd["spec"]["weight"] = "heavy".into();
        assert!(read(odd, "volcano").unwrap_err().contains("heavy"));
        let mut odd = full();
        odd["spec"]["capability"] = json!({"cpu": "much"});
        let read = read(odd, "volcano").unwrap().queue;
        assert!(read.invalid.unwrap().contains("spec.limit"));
    }
}
