//! What a QueueJob asks for, and what its pods are called.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use muster_api::crd::{QueueJobSpec, TaskSpec};
use muster_model::digest::{self, Fnv};
use muster_model::units::Millis;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::hash::Hasher;

/// A name of a pod that is longer is cut: its hostname may not be longer, nor the value of a label.
const LONGEST: usize = 63;
/// How many tasks there may be.
const TASKS: usize = 64;
/// How many pods a task may have.
const REPLICAS: usize = 10_000;

/// What a QueueJob asks for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Asked {
    /// Its tasks, in their order.
    pub(super) tasks: Vec<Task>,
    /// How many pods have to stand at once.
    pub(super) min: usize,
    /// How many pods there are.
    pub(super) total: usize,
    /// How important it is among QueueJobs.
    pub(super) priority: i64,
    /// How many failures there may be.
    pub(super) backoff_limit: i32,
    /// So long after its end it goes.
    pub(super) ttl: Option<Millis>,
    /// The spec of its SchedulingSpec.
    pub(super) sched: Map<String, Value>,
}

/// So many pods of a template.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Task {
    /// Its name, or its place.
    pub(super) label: String,
    /// Of its name and template.
    pub(super) hash: String,
    /// How important its pods are among those of the QueueJob.
    pub(super) priority: i64,
    /// What its pods are called, by their indexes.
    pub(super) names: Vec<String>,
    pub(super) template: Value,
}

impl Asked {
    /// Reads the spec of the QueueJob of this name.
    ///
    /// # Errors
    /// What in it can never be, with its field.
    pub(super) fn read(job: &str, spec: &QueueJobSpec) -> Result<Self, String> {
        let count = spec.task_specs.len();
        if count == 0 || count > TASKS {
            return Err(format!(
                "spec.taskSpecs: {count} items; 1 to {TASKS} are allowed"
            ));
        }
        let mut tasks = Vec::with_capacity(count);
        let mut labels = BTreeSet::new();
        for (place, task) in spec.task_specs.iter().enumerate() {
            let path = format!("spec.taskSpecs[{place}]");
            let read = Task::read(job, place, task).map_err(|words| format!("{path}{words}"))?;
            if !labels.insert(read.label.clone()) {
                let label = &read.label;
                return Err(format!(
                    "{path}.name: another task is called {label:?}, too"
                ));
            }
            if let Some(selector) = &spec.selector
                && !chooses(selector, &read.template)
            {
                return Err(format!(
                    "{path}.template.metadata.labels: spec.selector does not match them"
                ));
            }
            tasks.push(read);
        }
        let total = tasks.iter().map(|task| task.names.len()).sum();
        let min = spec.sched_spec.min_available.map(usize::try_from);
        let min = min.unwrap_or(Ok(total)).ok().filter(|min| *min <= total);
        let Some(min) = min else {
            let found = spec.sched_spec.min_available.unwrap_or_default();
            return Err(format!(
                "spec.schedSpec.minAvailable: {found}; 0 to {total}, the sum of all replicas, are allowed"
            ));
        };
        let priority = spec.sched_spec.priority.map(i64::from);
        let of_templates = tasks.iter().filter_map(|task| priority_of(&task.template));
        Ok(Self {
            min,
            total,
            priority: priority.or_else(|| of_templates.max()).unwrap_or_default(),
            backoff_limit: spec.backoff_limit,
            ttl: spec
                .ttl_seconds_after_finished
                .map(|seconds| Millis(u64::try_from(seconds).unwrap_or_default() * 1_000)),
            sched: sched(spec, min),
            tasks,
        })
    }

    /// The tasks by their places, the most important first.
    pub(super) fn by_priority(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.tasks.len()).collect();
        order.sort_by_key(|place| std::cmp::Reverse(self.tasks[*place].priority));
        order
    }
}

impl Task {
    fn read(job: &str, place: usize, task: &TaskSpec) -> Result<Self, String> {
        let label = task.name.clone().unwrap_or_else(|| place.to_string());
        if task.name.as_deref().is_some_and(|name| !is_label(name)) {
            return Err(format!(
                ".name: {label:?} is not of at most {LONGEST} small letters, digits and dashes, a letter first \
                 and no dash last"
            ));
        }
        let replicas = usize::try_from(task.replicas).ok();
        let Some(replicas) = replicas.filter(|count| *count <= REPLICAS) else {
            let found = task.replicas;
            return Err(format!(".replicas: {found}; 0 to {REPLICAS} are allowed"));
        };
        if !task.template.is_object() {
            return Err(".template: there is none".to_owned());
        }
        let mut hash = Fnv::default();
        hash.write(label.as_bytes());
        feed(&mut hash, &task.template);
        Ok(Self {
            hash: format!("{:016x}", hash.finish()),
            priority: priority_of(&task.template).unwrap_or_default(),
            names: (0..replicas)
                .map(|index| pod_name(job, &label, index))
                .collect(),
            template: task.template.clone(),
            label,
        })
    }
}

/// The spec of the SchedulingSpec.
fn sched(spec: &QueueJobSpec, min: usize) -> Map<String, Value> {
    let mut sched = match serde_json::to_value(&spec.sched_spec) {
        Ok(Value::Object(fields)) => fields,
        Ok(_) | Err(_) => Map::new(),
    };
    sched.insert("minAvailable".to_owned(), json!(min));
    sched
}

fn priority_of(template: &Value) -> Option<i64> {
    template.get("spec")?.get("priority")?.as_i64()
}

/// Whether a task may have this name: none that is a place.
fn is_label(name: &str) -> bool {
    let fine = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let first = name
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_lowercase());
    first && name.len() <= LONGEST && !name.ends_with('-') && name.bytes().all(fine)
}

/// Whether a selector matches the labels of a template.
fn chooses(selector: &LabelSelector, template: &Value) -> bool {
    let labels = template.get("metadata").and_then(|meta| meta.get("labels"));
    let label = |key: &str| labels.and_then(|all| all.get(key)).and_then(Value::as_str);
    let mut pairs = selector.match_labels.iter().flatten();
    let mut others = selector.match_expressions.iter().flatten();
    pairs.all(|(key, value)| label(key) == Some(value))
        && others.all(|one| {
            let values = one.values.as_deref().unwrap_or_default();
            let found = label(&one.key);
            let is_among = || found.is_some_and(|is| values.iter().any(|value| value == is));
            match one.operator.as_str() {
                "In" => is_among(),
                "NotIn" => !is_among(),
                "Exists" => found.is_some(),
                "DoesNotExist" => found.is_none(),
                // What nobody knows matches nothing.
                _ => false,
            }
        })
}

/// Takes a value into a hash, whatever the order of its fields. A field that is null is none.
fn feed(hash: &mut Fnv, value: &Value) {
    match value {
        Value::Object(fields) => {
            hash.write(b"{");
            let mut fields: Vec<_> = fields
                .iter()
                .filter(|(_, value)| !value.is_null())
                .collect();
            fields.sort_by_key(|(name, _)| *name);
            for (name, value) in fields {
                hash.write(json!(name).to_string().as_bytes());
                hash.write(b":");
                feed(hash, value);
            }
            hash.write(b"}");
        }
        Value::Array(items) => {
            hash.write(b"[");
            for item in items {
                feed(hash, item);
                hash.write(b",");
            }
            hash.write(b"]");
        }
        plain => hash.write(plain.to_string().as_bytes()),
    }
}

/// What a pod of a task is called.
pub(super) fn pod_name(job: &str, label: &str, index: usize) -> String {
    let stem = format!("{job}-{label}");
    let whole = format!("{stem}-{index}");
    if whole.len() <= LONGEST {
        return whole;
    }
    cut(&stem, &format!("-{}-{index}", short_hash(&(job, label))))
}

/// The value of a label that names a QueueJob.
pub(super) fn label_value(job: &str) -> String {
    if job.len() <= LONGEST {
        return job.to_owned();
    }
    cut(job, &format!("-{}", short_hash(job)))
}

fn short_hash(what: &(impl std::hash::Hash + ?Sized)) -> String {
    format!("{:010x}", digest::of(what) >> 24)
}

/// As much of a text as leaves room for its end, and the end.
fn cut(text: &str, end: &str) -> String {
    let room = LONGEST.saturating_sub(end.len());
    let mut start = String::with_capacity(LONGEST);
    for letter in text.chars() {
        if start.len() + letter.len_utf8() > room {
            break;
        }
        start.push(letter);
    }
    // A part of a name does not end with these.
    format!("{}{end}", start.trim_end_matches(['-', '.']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(value: Value) -> QueueJobSpec {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn pods_are_named_after_job_task_and_index_and_cut_where_that_is_too_long() {
        assert_eq!(pod_name("train", "worker", 12), "train-worker-12");
        let job = "j".repeat(54);
        assert_eq!(
            pod_name(&job, "task", 100),
            format!("{job}-task-100"),
            "63 characters"
        );
        let long = pod_name(&job, "task", 1_000);
        assert_eq!(long.len(), 63);
        assert!(
            long.ends_with("-1000") && long.starts_with(&job[..40]),
            "{long}"
        );
        let other = pod_name(&format!("{job}-x"), "task", 1_000);
        assert_ne!(long, other, "cut alike, and told apart by the hash");
        let dotted = pod_name(&"a.".repeat(100), "b", 0);
        assert!(!dotted.contains(".-") && dotted.len() <= 63, "{dotted}");
        assert_eq!(label_value("train"), "train");
        assert_eq!(label_value(&"x".repeat(64)).len(), 63);
    }

    #[test]
    fn a_hash_is_that_of_name_and_template_whatever_the_order_of_fields() {
        let hash = |name: &str, template: &str| {
            let template: Value = serde_json::from_str(template).unwrap();
            let task = json!({"name": name, "template": template});
            let asked = Asked::read("j", &spec(json!({"taskSpecs": [task]}))).unwrap();
            asked.tasks[0].hash.clone()
        };
        let first = hash("a", r#"{"spec": {"x": 1, "y": [1, 2]}}"#);
        assert_eq!(
            first,
            hash("a", r#"{"spec": {"y": [1, 2], "x": 1, "z": null}}"#)
        );
        assert_ne!(first, hash("b", r#"{"spec": {"x": 1, "y": [1, 2]}}"#));
        assert_ne!(first, hash("a", r#"{"spec": {"x": 1, "y": [12]}}"#));
        assert_ne!(first, hash("a", r#"{"spec": {"x": "1", "y": [1, 2]}}"#));
    }

    #[test]
    fn what_can_never_be_is_named_with_its_field() {
        let task =
            |name: &str, replicas: i32| json!({"name": name, "replicas": replicas, "template": {}});
        let many: Vec<Value> = (0..65).map(|_| json!({"template": {}})).collect();
        let labels = json!({"metadata": {"labels": {"app": "a"}}});
        let selected =
            |selector: Value| json!({"selector": selector, "taskSpecs": [{"template": labels}]});
        let expression = |operator: &str, values: Value| {
            let one = json!({"key": "app", "operator": operator, "values": values});
            selected(json!({"matchExpressions": [one]}))
        };
        let unmatched = "spec.taskSpecs[0].template.metadata.labels: spec.selector";
        for (value, wanted) in [
            (json!({"taskSpecs": []}), "spec.taskSpecs: 0 items"),
            (json!({"taskSpecs": many}), "spec.taskSpecs: 65 items"),
            (
                json!({"taskSpecs": [task("a", 1), task("a", 1)]}),
                "spec.taskSpecs[1].name: another",
            ),
            (
                json!({"taskSpecs": [task("A", 1)]}),
                "spec.taskSpecs[0].name: \"A\"",
            ),
            (
                json!({"taskSpecs": [task("1", 1)]}),
                "spec.taskSpecs[0].name: \"1\"",
            ),
            (
                json!({"taskSpecs": [task("a", -1)]}),
                "spec.taskSpecs[0].replicas: -1",
            ),
            (
                json!({"taskSpecs": [task("a", 10_001)]}),
                "spec.taskSpecs[0].replicas: 10001",
            ),
            (
                json!({"taskSpecs": [{"template": 7}]}),
                "spec.taskSpecs[0].template: ",
            ),
            (
                json!({"taskSpecs": [task("a", 2)], "schedSpec": {"minAvailable": 3}}),
                "spec.schedSpec.minAvailable: 3; 0 to 2",
            ),
            (
                json!({"taskSpecs": [task("a", 2)], "schedSpec": {"minAvailable": -1}}),
                "spec.schedSpec.minAvailable: -1",
            ),
            (selected(json!({"matchLabels": {"app": "b"}})), unmatched),
            (selected(json!({"matchLabels": {"other": "a"}})), unmatched),
            (expression("In", json!(["b"])), unmatched),
            (expression("NotIn", json!(["a"])), unmatched),
            (expression("DoesNotExist", json!(null)), unmatched),
            (expression("Like", json!(["a"])), unmatched),
        ] {
            let words = Asked::read("j", &spec(value.clone())).unwrap_err();
            assert!(words.starts_with(wanted), "{value}: {words}");
        }
        for value in [
            selected(json!({})),
            selected(json!({"matchLabels": {"app": "a"}})),
            expression("In", json!(["b", "a"])),
            expression("NotIn", json!(["b"])),
            expression("Exists", json!(null)),
        ] {
            assert!(Asked::read("j", &spec(value.clone())).is_ok(), "{value}");
        }
    }

    #[test]
    fn a_priority_is_that_of_the_sched_spec_or_the_highest_of_the_templates() {
        let task = |priority: i32| json!({"template": {"spec": {"priority": priority}}});
        let asked = |sched: Value| {
            let tasks = json!([task(-3), task(5), {"template": {}}, task(5)]);
            Asked::read("j", &spec(json!({"schedSpec": sched, "taskSpecs": tasks}))).unwrap()
        };
        assert_eq!(asked(json!({"priority": 2})).priority, 2);
        assert_eq!(asked(json!({"priorityClassName": "high"})).priority, 5);
        assert_eq!(asked(json!({})).by_priority(), [1, 3, 2, 0]);
        assert_eq!(asked(json!({})).min, 4, "all");
    }
}
