//! Other names for all names in objects, the same for the same name wherever it stands: so what refers to what, who is
//! chosen by which label, and who comes before whom by number stay as they were.
//!
//! What is not known to be a word of Kubernetes or a number counts as a name.

use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The names that were replaced.
#[derive(Debug, Default)]
pub struct Names {
    numbers: BTreeMap<String, usize>,
}

/// Fields whose values are words of Kubernetes or of ours, and of a scheduler's names.
const WORDS: [&str; 39] = [
    "accessModes",
    "action",
    "apiVersion",
    "completionMode",
    "conditionType",
    "declaredFeatures",
    "disruptionPolicy",
    "effect",
    "finalizers",
    "kind",
    "launcherCreationPolicy",
    "mode",
    "nodeAffinityPolicy",
    "nodeTaintsPolicy",
    "onDisruption",
    "operator",
    "order",
    "persistentVolumeReclaimPolicy",
    "phase",
    "podManagementPolicy",
    "policy",
    "preemption",
    "preemptionPolicy",
    "protocol",
    "reason",
    "repair",
    "reservation",
    "restartPolicy",
    "schedulerName",
    "severity",
    "slotMode",
    "state",
    "status",
    "tier",
    "type",
    "uid",
    "volumeBindingMode",
    "volumeMode",
    "whenUnsatisfiable",
];

/// Labels whose values are words of a controller: pods are in their order.
const ROLES: [&str; 4] = [
    "ray.io/node-type",
    "spark-role",
    "training.kubeflow.org/replica-type",
    "muster.dev/scheduler-name",
];

/// How annotations begin that say how a pod behaves in a simulation.
const SIMULATED: &str = "simulate.muster.dev/";

/// Names that mean something by themselves.
const MEANT: [&str; 24] = [
    "",
    "default",
    "root",
    "kueue",
    "kai",
    "kube-system",
    "kube-public",
    "kube-node-lease",
    "muster-system",
    "metadata.name",
    "system-node-critical",
    "system-cluster-critical",
    "true",
    "false",
    "True",
    "False",
    "*",
    "count",
    "count/pods",
    "cpu",
    "memory",
    "ephemeral-storage",
    "pods",
    "storage",
];

/// Labels of controllers that have no domain.
const LABELS: [&str; 8] = [
    "job-name",
    "controller-uid",
    "pod-group-name",
    "pod-group.scheduling.sigs.k8s.io",
    "spark-app-selector",
    "spark-role",
    "applicationId",
    "queue",
];

/// Whose labels, annotations, taints and resources are known to everybody.
const DOMAINS: [&str; 15] = [
    "kubernetes.io",
    "k8s.io",
    "x-k8s.io",
    "muster.dev",
    "volcano.sh",
    "kubeflow.org",
    "ray.io",
    "yunikorn.apache.org",
    "kai.scheduler",
    "nvidia.com",
    "amd.com",
    "intel.com",
    "habana.ai",
    "google.com",
    "amazonaws.com",
];

/// Maps whose keys are names.
const KEYED_BY_NAMES: [&str; 3] = ["labels", "matchLabels", "nodeSelector"];

/// Maps of amounts, whose keys are resources or tasks.
const AMOUNTS: [&str; 10] = [
    "allocatable",
    "capacity",
    "guaranteed",
    "limit",
    "limits",
    "minResources",
    "minTaskMember",
    "overhead",
    "requests",
    "resourcesPerSlot",
];

/// Text that people read, and which may say anything.
const PROSE: [&str; 2] = ["message", "description"];

impl Names {
    /// Replaces the names in an object.
    pub fn replace(&mut self, object: &mut Value) {
        self.value(object, "");
    }

    fn value(&mut self, value: &mut Value, field: &str) {
        match value {
            Value::String(text) => self.text(text, field),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item, field)),
            Value::Object(fields) => self.fields(fields, field),
            _ => {}
        }
    }

    fn fields(&mut self, fields: &mut Map<String, Value>, field: &str) {
        fields.retain(|name, _| !PROSE.contains(&name.as_str()));
        let texts = fields.values().all(Value::is_string);
        let by_names = KEYED_BY_NAMES.contains(&field) && texts;
        if by_names || AMOUNTS.contains(&field) {
            let before = std::mem::take(fields);
            for (key, mut value) in before {
                if !ROLES.contains(&key.as_str()) {
                    self.value(&mut value, "");
                }
                fields.insert(self.key(&key), value);
            }
            return;
        }
        for (name, value) in fields {
            // How a pod behaves in a simulation is in words and numbers.
            let is_kept = ROLES.contains(&name.as_str()) || name.starts_with(SIMULATED);
            if !is_kept {
                self.value(value, name);
            }
        }
    }

    /// Another key for one of a map.
    fn key(&mut self, key: &str) -> String {
        let mut key = key.to_owned();
        self.text(&mut key, "");
        key
    }

    fn text(&mut self, text: &mut String, field: &str) {
        if WORDS.contains(&field) {
            return;
        }
        // Some conventions have JSON in annotations.
        if text.starts_with(['[', '{'])
            && let Ok(mut inner) = serde_json::from_str(text)
        {
            self.value(&mut inner, "");
            *text = inner.to_string();
            return;
        }
        // Selectors are written as texts in statuses.
        let pieces = text.split_inclusive(['=', ',', ' ']);
        *text = pieces.map(|piece| self.piece(piece)).collect();
    }

    fn piece(&mut self, piece: &str) -> String {
        let text = piece.trim_end_matches(['=', ',', ' ']);
        if is_meant(text) || is_number(text) {
            return piece.to_owned();
        }
        if is_address(text) {
            return self.part(text) + &piece[text.len()..];
        }
        let parts = text.split_inclusive(['/', '.', ':']);
        let parts: String = parts.map(|part| self.part(part)).collect();
        parts + &piece[text.len()..]
    }

    /// The name for a part of a name, and what it ended with: a number, and a dot, a slash or a colon.
    fn part(&mut self, part: &str) -> String {
        let name = part.trim_end_matches(['/', '.', ':']);
        let stop = &part[name.len()..];
        if is_meant(name) || is_number(name) {
            return part.to_owned();
        }
        let stem = name.trim_end_matches(|one: char| one.is_ascii_digit());
        let stem = stem.strip_suffix('-').unwrap_or(stem);
        let end = &name[stem.len()..];
        if stem.is_empty() {
            return part.to_owned();
        }
        let next = self.numbers.len() + 1;
        let number = self.numbers.entry(stem.to_owned()).or_insert(next);
        format!("x{number}x{end}{stop}")
    }
}

/// Whether a name says nothing of whose it is.
fn is_meant(text: &str) -> bool {
    let domain = text.split_once('/').map_or("", |(domain, _)| domain);
    if text.contains(['=', ',', ' ']) {
        return false;
    }
    let known = |one: &&str| -> bool {
        let rest = domain.strip_suffix(*one);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    // Quotas call amounts so.
    let of_quota = |prefix: &&str| text.strip_prefix(*prefix).is_some_and(is_meant);
    MEANT.contains(&text)
        || LABELS.contains(&text)
        || DOMAINS.iter().any(known)
        || ["requests.", "limits."].iter().any(of_quota)
        || text.starts_with("hugepages-")
}

/// Units of amounts, spans and dates.
const UNITS: [&str; 24] = [
    "", "m", "k", "M", "G", "T", "P", "E", "n", "u", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "h", "s",
    "ms", "hm", "hms", "TZ", "e", "hs",
];

/// Whether a text is a number, an amount, a span, a date, or several numbers. The address of a machine is none.
fn is_number(text: &str) -> bool {
    let begins = text.starts_with(|one: char| one.is_ascii_digit() || "+-.".contains(one));
    let unit: String = text
        .chars()
        .filter(|one| !one.is_ascii_digit() && !"+-._,%:".contains(*one))
        .collect();
    begins && !is_address(text) && UNITS.contains(&unit.as_str())
}

/// Whether a text is all digits, with points or colons as those of an address.
fn is_address(text: &str) -> bool {
    let digits = |one: char| one.is_ascii_hexdigit() || ".:".contains(one);
    text.matches(['.', ':']).count() > 1 && text.chars().all(digits)
}
