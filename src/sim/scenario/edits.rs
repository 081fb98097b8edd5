//! What of an object the API server lets one change.
//!
//! Sources: the validation of updates in kube-apiserver 1.37 for Pod, PriorityClass and
//! `scheduling.k8s.io/v1beta1` PodGroup. Of all other kinds that are played, everything may change.

use super::behaviour::{Behaviour, PREFIX};
use super::kinds::{self, Kind};
use super::path::Path;
use muster_api::kinds::Kind as Watched;
use serde_json::Value;

/// What cannot be edited, and in words what can.
pub(super) type Refusal = (Path, &'static str);

const OF_A_POD: &str = "cannot be edited; what can be: labels, annotations, images, \
                        schedulingGates (removed), tolerations (added), nodeSelector (added to \
                        while the pod is gated), activeDeadlineSeconds (set or lowered)";
const OF_A_CLASS: &str = "cannot be edited: delete the class and create it again";
const OF_A_SCHEDULING: &str = "the Testbed of a Scheduling stays";
const OF_UPSTREAM: &str =
    "cannot be edited; of this kind's spec only schedulingPolicy.gang.minCount can";
const OF_A_JOB: &str = "a Job cannot be edited in a scenario: delete it and create it again";
const OF_BEHAVIOUR: &str = "an edit does not change how a pod behaves";

/// The first thing in an edit that is refused; `first` is the object as it was created.
pub(super) fn refusal(kind: Kind, first: &Value, before: &Value, after: &Value) -> Option<Refusal> {
    let found = match kind {
        Kind::Job => Some((Path::default(), OF_A_JOB)),
        Kind::Watched(Watched::Pods) => changed(before, after, "spec", &pod_allows(before))
            .or_else(|| changed_status(first, after))
            .map(|path| (path, OF_A_POD)),
        Kind::Watched(Watched::PriorityClasses) => changed(before, after, "value", &nothing)
            .or_else(|| changed(before, after, "preemptionPolicy", &nothing))
            .map(|path| (path, OF_A_CLASS)),
        Kind::Scheduling => {
            changed(before, after, "spec", &scheduling_allows).map(|path| (path, OF_A_SCHEDULING))
        }
        Kind::Watched(Watched::UpstreamPodGroups) => {
            changed(before, after, "spec", &upstream_allows).map(|path| (path, OF_UPSTREAM))
        }
        _ => None,
    };
    found.or_else(|| changed_behaviour(first, after))
}

/// Why an API server refuses an edit of an object, each as it has it; `None`: it does not.
#[must_use]
pub fn refused_edit(before: &Value, after: &Value) -> Option<String> {
    let text = |field: &str| after[field].as_str().unwrap_or_default();
    let known = kinds::find(text("apiVersion"), text("kind")).ok()?;
    // Whoever plays Jobs takes edits of them.
    if known.kind == Kind::Job {
        return None;
    }
    let (path, words) = refusal(known.kind, before, before, after)?;
    Some(format!("{path}: {words}"))
}

/// What is allowed of a field, by its keys and its values before and after.
type Allows<'a> = dyn Fn(&[&str], &Value, &Value) -> bool + 'a;

const fn nothing(_: &[&str], _: &Value, _: &Value) -> bool {
    false
}

fn pod_allows(pod: &Value) -> impl Fn(&[&str], &Value, &Value) -> bool + use<> {
    let gated = !is_empty(&pod["spec"]["schedulingGates"]);
    move |keys, before, after| match keys {
        ["spec", "containers" | "initContainers", "image"] => true,
        ["spec", "schedulingGates"] => contains(before, after),
        ["spec", "tolerations"] => contains(after, before),
        ["spec", "nodeSelector", _] => gated && before.is_null(),
        ["spec", "nodeSelector"] => gated && is_empty(before),
        ["spec", "activeDeadlineSeconds"] => match (before.as_i64(), after.as_i64()) {
            (None, Some(_)) => true,
            (Some(before), Some(after)) => after <= before,
            (_, None) => false,
        },
        _ => false,
    }
}

fn scheduling_allows(keys: &[&str], _: &Value, _: &Value) -> bool {
    keys.len() > 1 && keys != ["spec", "testbed"]
}

fn upstream_allows(keys: &[&str], _: &Value, after: &Value) -> bool {
    keys == ["spec", "schedulingPolicy", "gang", "minCount"] && !after.is_null()
}

/// A status is not the user's: saying nothing of it changes nothing.
fn changed_status(first: &Value, after: &Value) -> Option<Path> {
    if is_empty(&after["status"]) {
        return None;
    }
    changed(first, after, "status", &nothing)
}

/// An edit may leave out what was said of how a pod behaves, or say the same.
fn changed_behaviour(first: &Value, after: &Value) -> Option<Refusal> {
    let (first, after) = (Behaviour::of(first).ok()?, Behaviour::of(after).ok()?);
    let duration = after.duration.is_some() && after.duration != first.duration;
    let end = after.fails.is_some() && after.fails != first.fails;
    let eviction = after.on_eviction.is_some() && after.on_eviction != first.on_eviction;
    let stops = after.stops_in.is_some() && after.stops_in != first.stops_in;
    let changed = [
        (duration, "duration"),
        (end, "ends"),
        (eviction, "on-eviction"),
        (stops, "stops-in"),
    ];
    let (_, name) = changed.into_iter().find(|(changed, _)| *changed)?;
    let path = Path::read("metadata.annotations").join(&format!("{PREFIX}{name}"));
    Some((path, OF_BEHAVIOUR))
}

/// The first field at or below `field` that changed without being allowed to.
fn changed(before: &Value, after: &Value, field: &str, allows: &Allows<'_>) -> Option<Path> {
    walk(&before[field], &after[field], Path::read(field), allows)
}

fn walk(before: &Value, after: &Value, path: Path, allows: &Allows<'_>) -> Option<Path> {
    let keys: Vec<&str> = path.keys().collect();
    if same(before, after) || allows(&keys, before, after) {
        return None;
    }
    match (before, after) {
        (Value::Object(old), Value::Object(new)) => {
            let added = new.keys().filter(|key| !old.contains_key(*key));
            let mut names = old.keys().chain(added);
            names.find_map(|name| walk(&before[name], &after[name], path.join(name), allows))
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            let mut pairs = old.iter().zip(new).enumerate();
            pairs.find_map(|(index, (old, new))| {
                walk(old, new, path.join(&index.to_string()), allows)
            })
        }
        _ => Some(path),
    }
}

/// Quantities may be written as numbers, and what is empty may be left out.
fn same(one: &Value, other: &Value) -> bool {
    let text = |value: &Value| match value {
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) => Some(text.clone()),
        _ => None,
    };
    one == other
        || (is_empty(one) && is_empty(other))
        || text(one).is_some_and(|one| Some(one) == text(other))
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

fn contains(all: &Value, some: &Value) -> bool {
    let items = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let all = items(all);
    items(some).iter().all(|item| all.contains(item))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const POD: Kind = Kind::Watched(Watched::Pods);
    const CLASS: Kind = Kind::Watched(Watched::PriorityClasses);
    const UPSTREAM: Kind = Kind::Watched(Watched::UpstreamPodGroups);
    const QUEUE: Kind = Kind::Watched(Watched::Queues);

    fn refused(kind: Kind, before: &Value, after: &Value) -> Option<String> {
        refusal(kind, before, before, after).map(|(path, _)| path.to_string())
    }

    fn pod(spec: &Value) -> Value {
        json!({"metadata": {"name": "a"}, "spec": spec})
    }

    #[test]
    fn of_a_pod_only_what_the_api_server_lets_one_edit_may_change() {
        let container = |image: &str, cpu: Value| json!([{"name": "c", "image": image, "resources": {"requests": {"cpu": cpu}}}]);
        let before = pod(&json!({
            "containers": container("old", json!("1")),
            "schedulingGates": [{"name": "a"}, {"name": "b"}],
            "tolerations": [{"key": "x"}],
            "activeDeadlineSeconds": 60,
        }));
        let mut after = pod(&json!({
            "containers": container("new", json!(1)),
            "schedulingGates": [{"name": "b"}],
            "tolerations": [{"key": "y"}, {"key": "x"}],
            "activeDeadlineSeconds": 30,
            "nodeSelector": {"zone": "z"},
        }));
        after["metadata"]["labels"] = json!({"muster.dev/pod-group": "g"});
        assert_eq!(refused(POD, &before, &after), None);

        for (field, value, path) in [
            (
                "schedulingGates",
                json!([{"name": "c"}]),
                "spec.schedulingGates",
            ),
            ("tolerations", json!([]), "spec.tolerations"),
            (
                "activeDeadlineSeconds",
                json!(90),
                "spec.activeDeadlineSeconds",
            ),
            (
                "activeDeadlineSeconds",
                Value::Null,
                "spec.activeDeadlineSeconds",
            ),
            ("nodeName", json!("n"), "spec.nodeName"),
            (
                "containers",
                container("old", json!("2")),
                "spec.containers.0.resources.requests.cpu",
            ),
        ] {
            let mut after = before.clone();
            after["spec"][field] = value;
            assert_eq!(refused(POD, &before, &after).as_deref(), Some(path));
        }
    }

    #[test]
    fn a_pod_without_gates_keeps_its_node_selector_and_nobody_edits_a_phase() {
        let before = pod(&json!({}));
        let after = pod(&json!({"nodeSelector": {"a": "b"}}));
        let found = refused(POD, &before, &after);
        assert_eq!(found.as_deref(), Some("spec.nodeSelector"));
        let mut after = before.clone();
        after["status"]["phase"] = json!("Succeeded");
        let found = refused(POD, &before, &after);
        assert_eq!(found.as_deref(), Some("status"));
        assert_eq!(refused(POD, &after, &before), None);
    }

    #[test]
    fn the_value_of_a_class_and_all_but_the_count_of_an_upstream_group_stay() {
        let class = |value: i32| json!({"value": value, "description": value.to_string()});
        let found = refused(CLASS, &class(1), &class(2));
        assert_eq!(found.as_deref(), Some("value"));
        let group = |count: i32, class: &str| {
            json!({"spec": {"priorityClassName": class,
                "schedulingPolicy": {"gang": {"minCount": count}}}})
        };
        let upstream = |after| refused(UPSTREAM, &group(1, "a"), &after);
        assert_eq!(upstream(group(2, "a")), None);
        let found = upstream(group(1, "b"));
        assert_eq!(found.as_deref(), Some("spec.priorityClassName"));
        assert_eq!(refused(QUEUE, &class(1), &class(2)), None);
    }

    #[test]
    fn how_a_pod_behaves_stays_as_it_was_said_first() {
        let pod = |duration: Option<&str>| json!({"metadata": {"annotations": {"simulate.muster.dev/duration": duration}}});
        let (one, none) = (pod(Some("1m")), json!({}));
        assert_eq!(refused(POD, &one, &none), None);
        assert_eq!(refused(POD, &one, &pod(Some("60s"))), None);
        // Also after an edit that says nothing of it.
        assert_eq!(refusal(POD, &one, &none, &one), None);
        let found = refused(POD, &one, &pod(Some("2m"))).unwrap();
        assert_eq!(found, "metadata.annotations[simulate.muster.dev/duration]");
    }
}
