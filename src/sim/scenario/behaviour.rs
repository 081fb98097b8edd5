//! The annotations `simulate.muster.dev/*`: when an object exists, how its pods behave, and how
//! many copies there are.

use super::model::{OnEviction, Run};
use muster_api::duration;
use muster_model::units::{Millis, Time};
use serde_json::Value;

pub(super) const PREFIX: &str = "simulate.muster.dev/";

const ALLOWED: &str = "at, delete-at, duration, ends, on-eviction, replicas, stops-in";

/// More copies than this of one object are taken for a slip.
const MAX_REPLICAS: usize = 1_000_000;

/// What the annotations of one object say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Behaviour {
    pub(super) at: Time,
    pub(super) delete_at: Option<Time>,
    pub(super) duration: Option<Millis>,
    pub(super) fails: Option<bool>,
    pub(super) on_eviction: Option<OnEviction>,
    pub(super) stops_in: Option<Millis>,
}

impl Behaviour {
    /// Reads them off an object.
    pub(super) fn of(object: &Value) -> Result<Self, String> {
        let mut found = Self::default();
        let Some(annotations) = object["metadata"]["annotations"].as_object() else {
            return Ok(found);
        };
        for (key, value) in annotations {
            let Some(name) = key.strip_prefix(PREFIX) else {
                continue;
            };
            let text = value.as_str().unwrap_or_default();
            let span = || duration::parse(text).map_err(|error| format!("{key}: {error}"));
            match name {
                "at" => found.at = Time::ZERO + span()?,
                "delete-at" => found.delete_at = Some(Time::ZERO + span()?),
                "duration" => found.duration = Some(span()?),
                "ends" => found.fails = Some(fails(key, text)?),
                "on-eviction" => found.on_eviction = Some(on_eviction(key, text)?),
                "replicas" => {}
                "stops-in" => found.stops_in = Some(span()?),
                _ => return Err(format!("annotation {key} is not known; known: {ALLOWED}")),
            }
        }
        match found.delete_at {
            Some(end) if end < found.at => Err(format!(
                "{PREFIX}delete-at: {} is before the object is created, at {}",
                end.since(Time::ZERO),
                found.at.since(Time::ZERO)
            )),
            _ => Ok(found),
        }
    }

    /// How a pod with these annotations behaves; `owner` is what its job's say.
    pub(super) fn run(&self, owner: Option<&Self>) -> Run {
        let owner = owner.copied().unwrap_or_default();
        Run {
            duration: self.duration.or(owner.duration),
            fails: self.fails.or(owner.fails).unwrap_or_default(),
            on_eviction: self.on_eviction.or(owner.on_eviction).unwrap_or_default(),
            stops_in: self.stops_in.or(owner.stops_in).unwrap_or_default(),
        }
    }
}

fn on_eviction(key: &str, text: &str) -> Result<OnEviction, String> {
    match text {
        "requeue" => Ok(OnEviction::Requeue),
        "gone" => Ok(OnEviction::Gone),
        _ => Err(format!("{key}: {text:?} is neither requeue nor gone")),
    }
}

fn fails(key: &str, text: &str) -> Result<bool, String> {
    match text {
        "Succeeded" => Ok(false),
        "Failed" => Ok(true),
        _ => Err(format!("{key}: {text:?} is neither Succeeded nor Failed")),
    }
}

/// How many copies are asked for; `None`: the object itself.
pub(super) fn replicas(object: &Value) -> Result<Option<usize>, String> {
    let key = format!("{PREFIX}replicas");
    let value = &object["metadata"]["annotations"][&key];
    let Some(text) = value.as_str() else {
        return Ok(None);
    };
    match text.parse::<usize>() {
        Ok(count) if count <= MAX_REPLICAS => Ok(Some(count)),
        _ => Err(format!(
            "{key}: {text:?} is not a number from 0 to {MAX_REPLICAS}"
        )),
    }
}

const INDEX: &str = "$(INDEX)";

/// One copy: `$(INDEX)` is its number wherever it is written, and a name without it gets the
/// number at its end.
pub(super) fn stamp(object: &Value, index: usize) -> Value {
    let number = index.to_string();
    let mut copy = object.clone();
    if let Some(Value::String(name)) = copy.pointer_mut("/metadata/name")
        && !name.contains(INDEX)
    {
        name.push('-');
        name.push_str(&number);
    }
    fill(&mut copy, &number);
    copy
}

fn fill(value: &mut Value, number: &str) {
    match value {
        Value::String(text) if text.contains(INDEX) => *text = text.replace(INDEX, number),
        Value::Array(items) => items.iter_mut().for_each(|item| fill(item, number)),
        Value::Object(fields) => fields.values_mut().for_each(|field| fill(field, number)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn with(key: &str, value: &str) -> Value {
        json!({"metadata": {"name": "a", "annotations": {key: value}}})
    }

    #[test]
    fn annotations_are_read() {
        let object = json!({"metadata": {"annotations": {
            "simulate.muster.dev/at": "90s",
            "simulate.muster.dev/delete-at": "2m",
            "simulate.muster.dev/duration": "10m",
            "simulate.muster.dev/ends": "Failed",
            "simulate.muster.dev/on-eviction": "gone",
            "simulate.muster.dev/stops-in": "80s",
            "other/thing": "ignored",
        }}});
        let found = Behaviour::of(&object).unwrap();
        assert_eq!(found.at, Time::from_secs(90));
        assert_eq!(found.delete_at, Some(Time::from_secs(120)));
        let run = found.run(None);
        assert_eq!(run.duration, Some(Millis::from_secs(600)));
        assert!(run.fails);
        assert_eq!(run.on_eviction, OnEviction::Gone);
        assert_eq!(run.stops_in, Millis::from_secs(80));
    }

    #[test]
    fn bad_values_are_refused_with_what_is_allowed() {
        let refused = |key: &str, value: &str, part: &str| {
            let object = with(key, value);
            let error = replicas(&object).and(Behaviour::of(&object)).unwrap_err();
            assert!(error.contains(part), "{error}");
        };
        refused("simulate.muster.dev/at", "soon", "90s");
        refused(
            "simulate.muster.dev/on-eviction",
            "stay",
            "requeue nor gone",
        );
        refused("simulate.muster.dev/ends", "badly", "Succeeded nor Failed");
        refused("simulate.muster.dev/replicas", "-1", "0 to 1000000");
        refused("simulate.muster.dev/replicas", "2000000", "0 to 1000000");
        refused("simulate.muster.dev/dration", "1s", ALLOWED);
    }

    #[test]
    fn copies_are_numbered_in_names_labels_and_annotations() {
        let object = json!({"metadata": {"name": "a", "labels": {"x": "g-$(INDEX)"}}});
        let copy = stamp(&object, 7);
        assert_eq!(copy["metadata"]["name"], "a-7");
        assert_eq!(copy["metadata"]["labels"]["x"], "g-7");
        let object = json!({"metadata": {"name": "a-$(INDEX)-b"}});
        assert_eq!(stamp(&object, 7)["metadata"]["name"], "a-7-b");
    }
}
