//! What `kubectl get` shows of an object: its columns, and what stands in them.

use jsonpath_rust::JsonPath;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinitionVersion;
use k8s_openapi::jiff::Timestamp;
use muster_model::units::Time;
use serde_json::{Value, json};

/// A column.
#[derive(Debug)]
pub(crate) struct Column {
    name: String,
    kind: String,
    /// Above zero: with `-o wide` only.
    priority: i32,
    cell: Cell,
}

/// What stands in a column.
#[derive(Debug)]
enum Cell {
    /// What is at a path.
    At(String),
    /// How long ago the time at a path was.
    Since(String),
    /// What follows from the object.
    Of(fn(&Value) -> Value),
}

/// What is nowhere to be found.
const NONE: &str = "<none>";

impl Column {
    fn new(name: &str, kind: &str, cell: Cell) -> Self {
        Self {
            name: name.to_owned(),
            kind: kind.to_owned(),
            priority: 0,
            cell,
        }
    }

    fn text(name: &str, of: fn(&Value) -> Value) -> Self {
        Self::new(name, "string", Cell::Of(of))
    }

    fn at(name: &str, path: &str) -> Self {
        Self::new(name, "string", Cell::At(format!("${path}")))
    }

    fn wide(self) -> Self {
        Self {
            priority: 1,
            ..self
        }
    }

    fn name() -> Self {
        Self::at("Name", ".metadata.name")
    }

    fn age() -> Self {
        Self::new(
            "Age",
            "string",
            Cell::Since("$.metadata.creationTimestamp".to_owned()),
        )
    }

    /// As a Table defines it.
    pub(crate) fn definition(&self) -> Value {
        let format = if self.name == "Name" { "name" } else { "" };
        json!({
            "name": self.name, "type": self.kind, "format": format, "description": "", "priority": self.priority,
        })
    }

    /// What stands in it for an object.
    pub(crate) fn cell(&self, object: &Value, now: Time) -> Value {
        match &self.cell {
            Cell::At(path) => first(object, path).unwrap_or(Value::Null),
            Cell::Since(path) => match first(object, path) {
                Some(Value::String(date)) => json!(ago(&date, now)),
                _ => Value::Null,
            },
            Cell::Of(of) => of(object),
        }
    }
}

/// The first of what a path leads to.
fn first(object: &Value, path: &str) -> Option<Value> {
    let found = object.query(path).ok()?;
    found.into_iter().find(|one| !one.is_null()).cloned()
}

/// The columns of a resource: those of its definition, those of Kubernetes' own kinds, or name and age.
pub(crate) fn columns_of(
    plural: &str,
    defined: Option<&CustomResourceDefinitionVersion>,
) -> Vec<Column> {
    let defined = defined.and_then(|version| version.additional_printer_columns.as_ref());
    if let Some(columns) = defined.filter(|columns| !columns.is_empty()) {
        let columns = columns.iter().map(|one| {
            let path = format!("${}", one.json_path);
            let is_date = one.type_ == "date";
            Column {
                name: one.name.clone(),
                kind: one.type_.clone(),
                priority: one.priority.unwrap_or_default(),
                cell: if is_date {
                    Cell::Since(path)
                } else {
                    Cell::At(path)
                },
            }
        });
        return std::iter::once(Column::name()).chain(columns).collect();
    }
    let own = match plural {
        "pods" => vec![
            Column::text("Ready", ready),
            Column::text("Status", pod_status),
            Column::text("Restarts", |_| json!(0)),
            Column::age(),
            Column::text("IP", |_| json!(NONE)).wide(),
            Column::text("Node", |pod| or_none(&pod["spec"]["nodeName"])).wide(),
            Column::text("Nominated Node", |pod| {
                or_none(&pod["status"]["nominatedNodeName"])
            })
            .wide(),
        ],
        "nodes" => vec![
            Column::text("Status", node_status),
            Column::text("Roles", |_| json!(NONE)),
            Column::age(),
            Column::at("Version", ".status.nodeInfo.kubeletVersion"),
        ],
        "namespaces" => vec![Column::at("Status", ".status.phase"), Column::age()],
        "priorityclasses" => vec![Column::at("Value", ".value"), Column::age()],
        "jobs" => vec![
            Column::text("Status", job_status),
            Column::text("Completions", completions),
            Column::age(),
        ],
        "poddisruptionbudgets" => vec![
            Column::at("Min Available", ".spec.minAvailable"),
            Column::at("Max Unavailable", ".spec.maxUnavailable"),
            Column::age(),
        ],
        "persistentvolumeclaims" => vec![
            Column::at("Status", ".status.phase"),
            Column::at("Volume", ".spec.volumeName"),
            Column::at("StorageClass", ".spec.storageClassName"),
            Column::age(),
        ],
        "events" => {
            return vec![
                Column::new(
                    "Last Seen",
                    "string",
                    Cell::Since("$.lastTimestamp".to_owned()),
                ),
                Column::at("Type", ".type"),
                Column::at("Reason", ".reason"),
                Column::text("Object", involved),
                Column::at("Message", ".message"),
                Column::name().wide(),
            ];
        }
        _ => vec![Column::age()],
    };
    std::iter::once(Column::name()).chain(own).collect()
}

fn or_none(value: &Value) -> Value {
    match value.as_str() {
        Some(text) if !text.is_empty() => json!(text),
        _ => json!(NONE),
    }
}

fn ready(pod: &Value) -> Value {
    let all = pod["spec"]["containers"].as_array().map_or(0, Vec::len);
    let statuses = pod["status"]["containerStatuses"].as_array();
    let ready = statuses
        .into_iter()
        .flatten()
        .filter(|one| one["ready"] == true);
    json!(format!("{}/{all}", ready.count()))
}

fn pod_status(pod: &Value) -> Value {
    let (metadata, status) = (&pod["metadata"], &pod["status"]);
    let conditions = status["conditions"].as_array();
    let is_gated = |one: &Value| one["reason"] == "SchedulingGated";
    let phase = status["phase"].as_str().unwrap_or("Unknown");
    json!(match phase {
        "Succeeded" => "Completed",
        "Failed" => "Error",
        _ if !metadata["deletionTimestamp"].is_null() => "Terminating",
        _ if conditions.into_iter().flatten().any(is_gated) => "SchedulingGated",
        phase => phase,
    })
}

fn node_status(node: &Value) -> Value {
    let conditions = node["status"]["conditions"].as_array();
    let ready = |one: &Value| one["type"] == "Ready" && one["status"] == "True";
    let is_ready = conditions.into_iter().flatten().any(ready);
    let mut text = if is_ready { "Ready" } else { "NotReady" }.to_owned();
    if node["spec"]["unschedulable"] == true {
        text += ",SchedulingDisabled";
    }
    json!(text)
}

fn job_status(job: &Value) -> Value {
    let conditions = job["status"]["conditions"].as_array();
    let is = |kind: &str| {
        let mut conditions = conditions.into_iter().flatten();
        conditions.any(|one| one["type"] == kind && one["status"] == "True")
    };
    let kinds = ["Failed", "Complete", "Suspended"];
    json!(kinds.into_iter().find(|kind| is(kind)).unwrap_or("Running"))
}

fn completions(job: &Value) -> Value {
    let (spec, done) = (&job["spec"], job["status"]["succeeded"].as_u64());
    let of = spec["completions"]
        .as_u64()
        .or(spec["parallelism"].as_u64());
    json!(format!("{}/{}", done.unwrap_or(0), of.unwrap_or(1)))
}

fn involved(event: &Value) -> Value {
    let of = &event["involvedObject"];
    let text = |field: &str| of[field].as_str().unwrap_or_default();
    json!(format!("{}/{}", text("kind").to_lowercase(), text("name")))
}

/// How long ago a date was.
fn ago(date: &str, now: Time) -> String {
    let at = date.parse::<Timestamp>().ok();
    let at = at.and_then(|at| u64::try_from(at.as_millisecond()).ok());
    at.map_or_else(
        || "<invalid>".to_owned(),
        |at| span(now.since(Time(at)).0 / 1_000),
    )
}

/// A span in at most two units, the coarser the longer it is, as kubectl's users know it.
fn span(seconds: u64) -> String {
    const MINUTE: u64 = 60;
    const HOUR: u64 = 60 * MINUTE;
    const DAY: u64 = 24 * HOUR;
    const YEAR: u64 = 365 * DAY;
    let both = |unit: u64, name: char, part: u64, part_name: char| {
        let (units, parts) = (seconds / unit, seconds % unit / part);
        if parts == 0 {
            return format!("{units}{name}");
        }
        format!("{units}{name}{parts}{part_name}")
    };
    match seconds {
        0..120 => format!("{seconds}s"),
        120..600 => both(MINUTE, 'm', 1, 's'),
        600..10_800 => format!("{}m", seconds / MINUTE),
        10_800..28_800 => both(HOUR, 'h', MINUTE, 'm'),
        28_800..172_800 => format!("{}h", seconds / HOUR),
        172_800..691_200 => both(DAY, 'd', HOUR, 'h'),
        691_200..63_072_000 => format!("{}d", seconds / DAY),
        63_072_000..252_288_000 => both(YEAR, 'y', DAY, 'd'),
        _ => format!("{}y", seconds / YEAR),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::ALL;

    #[test]
    fn spans_are_told_as_kubectl_tells_them() {
        let told = [
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (3_599, "59m"),
            (10_860, "3h1m"),
            (90_000, "25h"),
            (180_000, "2d2h"),
            (864_000, "10d"),
            (70_000_000, "2y80d"),
        ];
        for (seconds, text) in told {
            assert_eq!(span(seconds), text);
        }
    }

    #[test]
    fn every_path_of_a_column_can_be_read() {
        let object = json!({"metadata": {"name": "a"}});
        let columns = ALL.iter().flat_map(|one| &one.columns);
        let mut count = 0;
        for column in columns {
            if let Cell::At(path) | Cell::Since(path) = &column.cell {
                assert!(object.query(path).is_ok(), "{path}");
                count += 1;
            }
        }
        assert!(count > 30, "{count}");
    }

    #[test]
    fn a_column_finds_the_condition_that_it_asks_for() {
        let group = json!({"status": {"conditions": [
            {"type": "Admitted", "reason": "A"}, {"type": "Scheduled", "reason": "NotEnoughRoom"},
        ]}});
        let path = "$.status.conditions[?(@.type==\"Scheduled\")].reason";
        assert_eq!(first(&group, path), Some(json!("NotEnoughRoom")));
        assert_eq!(first(&json!({}), path), None);
    }

    #[test]
    fn a_pod_says_how_far_it_is() {
        let pod = |status: Value, metadata: Value| {
            pod_status(&json!({"metadata": metadata, "status": status}))
        };
        assert_eq!(pod(json!({"phase": "Succeeded"}), json!({})), "Completed");
        assert_eq!(pod(json!({"phase": "Running"}), json!({})), "Running");
        let going = json!({"deletionTimestamp": "x"});
        assert_eq!(pod(json!({"phase": "Running"}), going), "Terminating");
        let gated = json!({"phase": "Pending", "conditions": [{"reason": "SchedulingGated"}]});
        assert_eq!(pod(gated, json!({})), "SchedulingGated");
    }
}
