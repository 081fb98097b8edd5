//! Field by field: what each becomes, or what is said of it.

use crate::Converted;
use serde_json::{Map, Value};

/// Whether a field says nothing.
pub(crate) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The fields of an object that say something.
pub(crate) fn said(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let fields = value.as_object().into_iter().flatten();
    let fields = fields.map(|(key, value)| (key.as_str(), value));
    fields.filter(|(_, value)| !is_empty(value))
}

/// Amounts of resources, those left out that are none for a queue of ours.
pub(crate) fn quantities(
    subject: &str,
    path: &str,
    value: &Value,
    out: &mut Converted,
) -> Map<String, Value> {
    let mut amounts = Map::new();
    for (name, amount) in said(value) {
        if name.starts_with("deviceclass/") || name.contains(".deviceclass/") {
            let words = format!("{path}.{name}: queues do not count devices by class");
            out.note(subject, &words);
        } else {
            amounts.insert(name.to_owned(), amount.clone());
        }
    }
    amounts
}
