//! What machines say in statuses: dates, words of bounded length, conditions, and the patch from what is said to
//! what has to be.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time as Date;
use muster_api::condition::Condition;
use muster_model::units::Time;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// How long a message may be.
const WORDS: usize = 1_000;

/// No more of a message than is written.
pub(crate) fn bounded(words: &str) -> String {
    words.chars().take(WORDS).collect()
}

/// A time in whole seconds, as conditions have it.
pub(crate) fn date(at: Time) -> Date {
    let seconds = i64::try_from(at.0 / 1_000).ok();
    let at = seconds.and_then(|at| Timestamp::from_second(at).ok());
    Date(at.unwrap_or(Timestamp::MAX))
}

/// The condition of this type, with the time since when it is so or not: that of the one before, unless its status was
/// another.
pub(crate) fn condition(
    kind: &str,
    is_so: bool,
    (reason, message): (&str, &str),
    generation: Option<i64>,
    before: &[Condition],
    now: Time,
) -> Condition {
    let status = if is_so { "True" } else { "False" };
    let before = before.iter().find(|one| one.kind == kind);
    let since = before.filter(|one| one.status == status);
    let since = since.and_then(|one| one.last_transition_time.clone());
    Condition {
        kind: kind.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: bounded(message),
        last_transition_time: Some(since.unwrap_or_else(|| date(now))),
        observed_generation: generation,
        transition_id: None,
    }
}

/// The operations that make of a status, as it is, what it has to be. Fields that nobody names here are left alone; a
/// field that has to be nothing goes.
pub(crate) fn operations(is: &Value, to_be: &Map<String, Value>) -> Vec<Value> {
    let there = to_be.iter().filter(|(_, value)| !value.is_null());
    let Some(is) = is.as_object() else {
        let all: Map<String, Value> = there
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        if all.is_empty() {
            return Vec::new();
        }
        return vec![json!({"op": "add", "path": "/status", "value": all})];
    };
    let mut operations = Vec::new();
    for (name, value) in to_be {
        let path = format!("/status/{name}");
        match (is.get(name).filter(|before| !before.is_null()), value) {
            (None, Value::Null) => {}
            (Some(_), Value::Null) => operations.push(json!({"op": "remove", "path": path})),
            (Some(before), value) if before == value => {}
            (_, value) => operations.push(json!({"op": "add", "path": path, "value": value})),
        }
    }
    operations
}

/// The same between two statuses as a whole: what the second does not say any more goes.
pub(crate) fn between<S: Serialize>(said: Option<&S>, wanted: &S) -> Vec<Value> {
    let fields = |status: &S| match serde_json::to_value(status) {
        Ok(Value::Object(fields)) => fields,
        Ok(_) | Err(_) => Map::new(),
    };
    let mut wanted = fields(wanted);
    let Some(said) = said.map(fields) else {
        return operations(&Value::Null, &wanted);
    };
    for name in said.keys() {
        wanted.entry(name).or_insert(Value::Null);
    }
    operations(&Value::Object(said), &wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_written_and_what_is_not_named_is_left_alone() {
        let fields = |value: Value| value.as_object().cloned().unwrap();
        let to_be = fields(json!({"a": 1, "b": null, "c": 3, "d": null}));
        let is = json!({"a": 1, "b": 2, "x": 7});
        let found = operations(&is, &to_be);
        let remove = json!({"op": "remove", "path": "/status/b"});
        let add = json!({"op": "add", "path": "/status/c", "value": 3});
        assert_eq!(found, [remove, add]);
        let all = json!({"op": "add", "path": "/status", "value": {"a": 1, "c": 3}});
        assert_eq!(operations(&Value::Null, &to_be), [all]);
        assert_eq!(
            operations(&Value::Null, &fields(json!({"a": null}))),
            [] as [Value; 0]
        );
    }

    #[test]
    fn a_condition_keeps_its_time_while_it_is_as_true_as_before() {
        let at = |seconds| Time::from_secs(seconds);
        let first = condition("Good", true, ("A", "a"), None, &[], at(5));
        let before = [first.clone()];
        let same = condition("Good", true, ("B", "b"), None, &before, at(9));
        assert_eq!(same.last_transition_time, first.last_transition_time);
        let other = condition("Good", false, ("B", "b"), None, &before, at(9));
        assert_eq!(other.last_transition_time, Some(date(at(9))));
    }
}
