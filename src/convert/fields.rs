//! Field by field: what each becomes, or what is said of it.

use crate::Converted;
use muster_api::convert::{amounts_of_queues, says_nothing};
use serde_json::{Map, Value};

/// The fields of an object that say something.
pub(crate) fn said(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let fields = value.as_object().into_iter().flatten();
    let fields = fields.map(|(key, value)| (key.as_str(), value));
    fields.filter(|(_, value)| !says_nothing(value))
}

/// Amounts of resources, those left out that are none for a queue of ours.
pub(crate) fn quantities(
    subject: &str,
    path: &str,
    value: &Value,
    out: &mut Converted,
) -> Map<String, Value> {
    let mut without = Vec::new();
    let amounts = amounts_of_queues(path, value, &mut without);
    for (path, why) in without {
        out.note(subject, &format!("{path}: {why}"));
    }
    amounts
}
