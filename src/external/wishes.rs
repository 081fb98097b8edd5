//! What a request asks to be written, and what is wrong with it: the field, what was found, what is allowed.
//!
//! Held to what the CRD of Scheduling allows, so that what passes here the API server takes.

use super::views::{Key, Kind};
use muster_api::crd::{PlacedJob, QueuedJob, SchedulingSpec, SlotBased, SlotMode};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// BatchJobs of a Scheduling, at most.
const MOST_JOBS: usize = 100;
/// Slots of a BatchJob, at most.
const MOST_SLOTS: usize = 1_000;
/// The highest number that a slot may have.
const HIGHEST_SLOT: i64 = 99_999;

/// What is wrong with a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// The field.
    pub field: String,
    /// What was found and what is allowed.
    pub message: String,
}

impl Invalid {
    pub(crate) fn new(field: &str, message: impl Into<String>) -> Self {
        Self {
            field: field.to_owned(),
            message: message.into(),
        }
    }
}

/// A Scheduling that somebody wants.
#[derive(Clone, Debug, PartialEq)]
pub struct Wish {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// What it is to be.
    pub spec: SchedulingSpec,
    /// The version that it replaces, if that matters.
    pub version: Option<String>,
}

impl Wish {
    /// Which object it is about.
    #[must_use]
    pub fn key(&self) -> Key {
        Key::new(Kind::Scheduling, &self.namespace, &self.name)
    }
}

/// What is asked of a store.
#[derive(Clone, Debug, PartialEq)]
pub enum Write {
    /// Make a Scheduling.
    Create(Wish),
    /// Replace what a Scheduling is to be.
    Replace(Wish),
    /// Delete a Scheduling.
    Delete {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// Keep in a BatchJob what a scheduler wants kept.
    Keep {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// A JSON object.
        text: String,
    },
}

/// Reads a body as a JSON object.
///
/// # Errors
/// When it is none.
pub fn object(body: &[u8]) -> Result<Map<String, Value>, Invalid> {
    match serde_json::from_slice(body) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(other) => Err(unlike("", "an object", &other)),
        Err(error) => Err(Invalid::new("", format!("is no JSON: {error}"))),
    }
}

/// Reads the body of a Scheduling; `name` is what the path says.
///
/// # Errors
/// The first field that is wrong.
pub fn scheduling(body: &[u8], namespace: &str, name: Option<&str>) -> Result<Wish, Invalid> {
    let fields = object(body)?;
    let known = [
        "name",
        "testbed",
        "queueBased",
        "slotBased",
        "resourceVersion",
    ];
    only(&fields, "", &known)?;
    let in_body = fields.get("name").filter(|value| !value.is_null());
    let name = match (in_body, name) {
        (Some(found), None) => object_name(found, "name", 253)?,
        (None, Some(of_path)) => of_path.to_owned(),
        (Some(found), Some(of_path)) if found == of_path => of_path.to_owned(),
        (Some(found), Some(of_path)) => {
            let words = format!("is {found}, and the path says {of_path:?}: they must be the same");
            return Err(Invalid::new("name", words));
        }
        (None, None) => return Err(missing("name")),
    };
    let testbed = object_name(need(&fields, "testbed", "testbed")?, "testbed", 63)?;
    let filled = |field: &str| fields.get(field).filter(|value| !value.is_null());
    let (queue_based, slot_based) = match (filled("queueBased"), filled("slotBased")) {
        (Some(queue), None) => (Some(queued(queue)?), None),
        (None, Some(slots)) => (None, Some(placed(slots, "slotBased")?)),
        (Some(_), Some(_)) | (None, None) => {
            let words = "exactly one of queueBased and slotBased is needed";
            return Err(Invalid::new("queueBased", words));
        }
    };
    let version = filled("resourceVersion").map(|value| text(value, "resourceVersion"));
    Ok(Wish {
        namespace: namespace.to_owned(),
        name,
        spec: SchedulingSpec {
            testbed,
            queue_based,
            slot_based,
        },
        version: version.transpose()?,
    })
}

fn queued(value: &Value) -> Result<Vec<QueuedJob>, Invalid> {
    let items = list(value, "queueBased", MOST_JOBS)?;
    let mut jobs = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let at = format!("queueBased[{index}]");
        let fields = fields(item, &at)?;
        only(fields, &at, &["name", "slots"])?;
        let field = format!("{at}.slots");
        let slots = whole(need(fields, "slots", &field)?, &field, 1, 1_000)?;
        let name = job_name(fields, &at)?;
        jobs.push(QueuedJob { name, slots });
    }
    once(jobs.iter().map(|job| job.name.as_str()), "queueBased")?;
    Ok(jobs)
}

/// Reads BatchJobs on given slots.
///
/// # Errors
/// The first field that is wrong.
pub fn placed(value: &Value, at: &str) -> Result<SlotBased, Invalid> {
    let all = fields(value, at)?;
    only(all, at, &["mode", "jobs"])?;
    let mode = match all.get("mode").filter(|value| !value.is_null()) {
        None => SlotMode::Strict,
        Some(Value::String(word)) if word == "strict" => SlotMode::Strict,
        Some(Value::String(word)) if word == "relaxed" => SlotMode::Relaxed,
        Some(other) => {
            let words = format!("is {}, must be strict or relaxed", brief(other));
            return Err(Invalid::new(&format!("{at}.mode"), words));
        }
    };
    let field = format!("{at}.jobs");
    let mut jobs = Vec::new();
    let items = list(need(all, "jobs", &field)?, &field, MOST_JOBS)?;
    for (index, item) in items.iter().enumerate() {
        let at = format!("{field}[{index}]");
        let item = fields(item, &at)?;
        only(item, &at, &["name", "slots"])?;
        let name = job_name(item, &at)?;
        let of_slots = format!("{at}.slots");
        let mut slots = Vec::new();
        let numbers = list(need(item, "slots", &of_slots)?, &of_slots, MOST_SLOTS)?;
        for (index, number) in numbers.iter().enumerate() {
            let at = format!("{of_slots}[{index}]");
            let slot = whole(number, &at, 0, HIGHEST_SLOT)?;
            slots.push(slot);
        }
        let mut seen = BTreeSet::new();
        if let Some(twice) = slots.iter().find(|slot| !seen.insert(**slot)) {
            return Err(Invalid::new(&of_slots, format!("has slot {twice} twice")));
        }
        jobs.push(PlacedJob { name, slots });
    }
    once(jobs.iter().map(|job| job.name.as_str()), &field)?;
    Ok(SlotBased { mode, jobs })
}

fn job_name(fields: &Map<String, Value>, at: &str) -> Result<String, Invalid> {
    let field = format!("{at}.name");
    object_name(need(fields, "name", &field)?, &field, 63)
}

fn once<'a>(names: impl Iterator<Item = &'a str>, at: &str) -> Result<(), Invalid> {
    let mut seen = BTreeSet::new();
    for (index, name) in names.enumerate() {
        if !seen.insert(name) {
            let words = format!("is {name:?}, which is in the list already: once is allowed");
            return Err(Invalid::new(&format!("{at}[{index}].name"), words));
        }
    }
    Ok(())
}

fn only(fields: &Map<String, Value>, at: &str, known: &[&str]) -> Result<(), Invalid> {
    match fields.keys().find(|name| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => {
            let dot = if at.is_empty() { "" } else { "." };
            let short: String = name.chars().take(60).collect();
            let words = format!("is not known; allowed are {}", known.join(", "));
            Err(Invalid::new(&format!("{at}{dot}{short}"), words))
        }
    }
}

fn missing(field: &str) -> Invalid {
    Invalid::new(field, "is missing")
}

pub(crate) fn need<'a>(
    fields: &'a Map<String, Value>,
    name: &str,
    field: &str,
) -> Result<&'a Value, Invalid> {
    let value = fields.get(name).filter(|value| !value.is_null());
    value.ok_or_else(|| missing(field))
}

/// A value in a sentence, not all of a long one.
fn brief(value: &Value) -> String {
    let text = value.to_string();
    let mut short: String = text.chars().take(60).collect();
    if short.len() < text.len() {
        short.push_str("...");
    }
    short
}

fn unlike(field: &str, wanted: &str, found: &Value) -> Invalid {
    Invalid::new(field, format!("is {}, must be {wanted}", brief(found)))
}

fn fields<'a>(value: &'a Value, field: &str) -> Result<&'a Map<String, Value>, Invalid> {
    value
        .as_object()
        .ok_or_else(|| unlike(field, "an object", value))
}

fn text(value: &Value, field: &str) -> Result<String, Invalid> {
    let text = value.as_str();
    let text = text.ok_or_else(|| unlike(field, "a string", value))?;
    Ok(text.to_owned())
}

pub(crate) fn list<'a>(value: &'a Value, field: &str, most: usize) -> Result<&'a [Value], Invalid> {
    let items = value.as_array();
    let items = items.ok_or_else(|| unlike(field, "a list", value))?;
    if items.is_empty() || items.len() > most {
        let words = format!("has {} items, must have between 1 and {most}", items.len());
        return Err(Invalid::new(field, words));
    }
    Ok(items)
}

fn whole(value: &Value, field: &str, least: i64, most: i64) -> Result<i32, Invalid> {
    // To JSON 3.0 is a whole number, too.
    let whole = |number: &f64| number.fract() == 0.0 && number.abs() < 1e9;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "it has no fraction, and few digits"
    )]
    let written_as_one = || value.as_f64().filter(whole).map(|number| number as i64);
    let number = value.as_i64().or_else(written_as_one);
    let number = number.filter(|number| (least..=most).contains(number));
    let number = number.and_then(|number| i32::try_from(number).ok());
    let wanted = || format!("a whole number between {least} and {most}");
    number.ok_or_else(|| unlike(field, &wanted(), value))
}

pub(crate) fn object_name(value: &Value, field: &str, longest: usize) -> Result<String, Invalid> {
    let name = text(value, field)?;
    if is_name(&name, longest) {
        return Ok(name);
    }
    let wanted = format!(
        "a name: at most {longest} small letters, digits, - and ., with a letter or digit at both ends"
    );
    Err(unlike(field, &wanted, value))
}

/// Whether it may be the name of an object.
#[must_use]
pub fn is_name(name: &str, longest: usize) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let label = |label: &str| {
        let bytes = label.as_bytes();
        let ends = [bytes.first(), bytes.last()];
        ends.iter().all(|end| end.is_some_and(|byte| plain(*byte)))
            && bytes.iter().all(|byte| plain(*byte) || *byte == b'-')
    };
    name.len() <= longest && name.split('.').all(label)
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_api::crd::{self, Scheduling};
    use serde_json::json;

    fn read(value: &Value) -> Result<Wish, Invalid> {
        scheduling(value.to_string().as_bytes(), "team", None)
    }

    #[test]
    fn what_passes_here_the_api_server_takes() {
        let job = |name: &str| json!({"name": name, "slots": [0, 99_999]});
        for body in [
            json!({"name": "one", "testbed": "bed", "queueBased": [{"name": "a", "slots": 1000}]}),
            json!({"name": "one", "testbed": "bed", "queueBased": null,
                   "slotBased": {"mode": "relaxed", "jobs": [job("a"), job("b")]}}),
        ] {
            let wish = read(&body).unwrap();
            let found = crd::validate_scheduling(&Scheduling::new(&wish.name, wish.spec));
            assert_eq!(found, Ok(()));
        }
    }

    #[test]
    fn a_number_without_a_fraction_is_whole_however_it_is_written() {
        let body = r#"{"name": "one", "testbed": "bed", "slotBased": {"jobs": [{"name": "a", "slots": [3.0, 2e1, 0]}]}}"#;
        let wish = scheduling(body.as_bytes(), "team", None).unwrap();
        assert_eq!(wish.spec.slot_based.unwrap().jobs[0].slots, [3, 20, 0]);
        for wrong in ["[3.0, 3]", "[1e300]", "[-1.0]", "[0.5]"] {
            let body = body.replace("[3.0, 2e1, 0]", wrong);
            assert!(
                scheduling(body.as_bytes(), "team", None).is_err(),
                "{wrong}"
            );
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_field() {
        let with = |more: Value| {
            let mut body = json!({"name": "one", "testbed": "bed"});
            let fields = more.as_object().unwrap().clone();
            body.as_object_mut().unwrap().extend(fields);
            read(&body).unwrap_err()
        };
        let queue = |item: Value| with(json!({"queueBased": [item]}));
        let slots = |slots: Value| {
            let job = json!({"name": "a", "slots": slots});
            with(json!({"slotBased": {"jobs": [job]}}))
        };
        let long: Vec<i32> = (0..1_001).collect();
        for (found, field, words) in [
            (with(json!({"name": "-one"})), "name", "must be a name"),
            (with(json!({"name": 7})), "name", "is 7, must be a string"),
            (with(json!({"name": null})), "name", "is missing"),
            (with(json!({"testbed": null})), "testbed", "is missing"),
            (with(json!({"more": 1})), "more", "is not known"),
            (with(json!({})), "queueBased", "exactly one of"),
            (
                with(json!({"queueBased": [], "slotBased": {}})),
                "queueBased",
                "exactly one of",
            ),
            (with(json!({"queueBased": []})), "queueBased", "has 0 items"),
            (
                queue(json!({"name": "a", "slots": 0})),
                "queueBased[0].slots",
                "is 0, must be",
            ),
            (
                queue(json!({"name": "a", "slots": 1.5})),
                "queueBased[0].slots",
                "is 1.5",
            ),
            (queue(json!(["a"])), "queueBased[0]", "must be an object"),
            (
                slots(json!([-1])),
                "slotBased.jobs[0].slots[0]",
                "is -1, must be",
            ),
            (
                slots(json!(["0"])),
                "slotBased.jobs[0].slots[0]",
                "is \"0\"",
            ),
            (
                slots(json!([3, 0, 3])),
                "slotBased.jobs[0].slots",
                "has slot 3 twice",
            ),
            (
                slots(json!(long)),
                "slotBased.jobs[0].slots",
                "has 1001 items",
            ),
            (
                with(json!({"slotBased": {"mode": "loose", "jobs": []}})),
                "slotBased.mode",
                "is \"loose\"",
            ),
            (
                with(json!({"queueBased": [{"name": "a", "slots": 1}, {"name": "a", "slots": 2}]})),
                "queueBased[1].name",
                "once is allowed",
            ),
        ] {
            assert_eq!(found.field, field, "{found:?}");
            assert!(found.message.contains(words), "{found:?}");
        }
    }

    #[test]
    fn the_path_and_the_body_name_the_same() {
        let body =
            br#"{"name": "two", "testbed": "bed", "queueBased": [{"name": "a", "slots": 1}]}"#;
        let found = scheduling(body, "team", Some("one")).unwrap_err();
        assert_eq!(found.field, "name");
        assert!(scheduling(body, "team", Some("two")).is_ok());
        assert_eq!(scheduling(b"[]", "team", None).unwrap_err().field, "");
        assert!(object(b"{").unwrap_err().message.contains("is no JSON"));
    }
}
