//! A pod as the API server makes it of what a user wrote: whatever defaulting, admission and
//! PrepareForCreate of kube-apiserver 1.37 add that decides where it may run. For readers of pods that
//! no API server has seen; done again, it changes nothing.
//!
//! Left out is what needs other objects: a RuntimeClass's overhead and nodes, a LimitRange's defaults.
//! Pod-level limits are not filled in, for nobody schedules by them.

use super::requests;
use super::slim::{Container, LabelSelector, Pod, Requirement, Resources, Text, Toleration};
use std::collections::BTreeMap;

/// Completes a pod that is created.
pub fn complete(pod: &mut Pod) {
    tolerate_what_passes(pod);
    merge_label_keys(pod);
    fill_pod_level(pod);
}

/// Adds the two tolerations of admission plugin DefaultTolerationSeconds, each unless the pod has one
/// for it. For how long they hold is of no interest here.
fn tolerate_what_passes(pod: &mut Pod) {
    const EVICTS: &str = "NoExecute";
    for key in [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    ] {
        let covers = |one: &Toleration| {
            (one.key == key || one.key.is_empty())
                && (one.effect == EVICTS || one.effect.is_empty())
        };
        if !pod.spec.tolerations.iter().any(covers) {
            pod.spec.tolerations.push(Toleration {
                key: key.to_owned(),
                operator: "Exists".to_owned(),
                effect: EVICTS.to_owned(),
                ..Toleration::default()
            });
        }
    }
}

/// Whom a rule counts, with the pod's own values of some labels. A selector that is absent chooses
/// nobody, and stays so.
fn merge_label_keys(pod: &mut Pod) {
    let Some(labels) = &pod.metadata.labels else {
        return;
    };
    let affinity = &mut pod.spec.affinity;
    let both = [&mut affinity.pod_affinity, &mut affinity.pod_anti_affinity];
    let terms = both.into_iter().flat_map(|terms| {
        let preferred = terms.preferred.iter_mut();
        let preferred = preferred.map(|one| &mut one.pod_affinity_term);
        terms.required.iter_mut().chain(preferred)
    });
    for term in terms {
        if let Some(selector) = &mut term.label_selector {
            merge(selector, &term.match_label_keys, "In", labels);
            merge(selector, &term.mismatch_label_keys, "NotIn", labels);
        }
    }
    for one in &mut pod.spec.topology_spread_constraints {
        if let Some(selector) = &mut one.label_selector {
            merge(selector, &one.match_label_keys, "In", labels);
        }
    }
}

/// Adds the requirement that these labels have (`In`) or have not (`NotIn`) the pod's own values, for
/// those that it has (source: `applyLabelKeysToLabelSelector` of pkg/registry/core/pod).
pub(super) fn merge(
    selector: &mut LabelSelector,
    keys: &[String],
    operator: &str,
    labels: &BTreeMap<String, String>,
) {
    for (key, value) in keys.iter().filter_map(|key| labels.get_key_value(key)) {
        let own = Requirement {
            key: key.clone(),
            operator: operator.to_owned(),
            values: vec![value.clone()],
        };
        if !selector.match_expressions.contains(&own) {
            selector.match_expressions.push(own);
        }
    }
}

/// Fills in what pod-level resources leave open, where there are any: huge pages as the containers are
/// limited, other requests as the containers have them, and else as the pod is limited (source:
/// `DefaultPodLevelResources` of pkg/api/pod).
fn fill_pod_level(pod: &mut Pod) {
    let partly = |one: &Resources| !(one.requests.is_empty() && one.limits.is_empty());
    if !pod.spec.resources.as_ref().is_some_and(partly) {
        return;
    }
    let asked = requests::of_all_containers(pod);
    let Some(own) = pod.spec.resources.as_mut() else {
        return;
    };
    for (name, amount) in &asked {
        let huge = name.starts_with(requests::HUGE_PAGES);
        let limited = |one: &Container| one.resources.limits.contains_key(name);
        let containers = &pod.spec.containers;
        let mut all = containers.iter().chain(&pod.spec.init_containers);
        if huge && !own.requests.contains_key(name) && all.any(limited) {
            let text = || Text(amount.to_string());
            own.limits.entry(name.clone()).or_insert_with(text);
        }
    }
    for (name, amount) in &asked {
        if matches!(name.as_str(), "cpu" | "memory") {
            let text = || Text(amount.to_string());
            own.requests.entry(name.clone()).or_insert_with(text);
        }
    }
    for (name, amount) in own.limits.clone() {
        if requests::is_pod_level(&name) {
            own.requests.entry(name).or_insert(amount);
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::needless_pass_by_value, reason = "json! reads best as it is")]

    use super::*;
    use serde_json::{Value, json};

    fn completed(pod: Value) -> Pod {
        let mut pod: Pod = serde_json::from_value(pod).unwrap();
        complete(&mut pod);
        let once = pod.clone();
        complete(&mut pod);
        assert_eq!(pod, once, "done again, it changes nothing");
        pod
    }

    fn of_spec(spec: Value) -> Pod {
        completed(json!({"metadata": {"labels": {"app": "db", "hash": "7"}}, "spec": spec}))
    }

    #[test]
    fn nodes_that_are_lost_for_a_moment_are_tolerated() {
        let keys = |spec: Value| {
            let found = of_spec(spec).spec.tolerations;
            found.into_iter().map(|one| one.key).collect::<Vec<_>>()
        };
        let (lost, gone) = (
            "node.kubernetes.io/not-ready",
            "node.kubernetes.io/unreachable",
        );
        assert_eq!(keys(json!({})), [lost, gone]);
        let own = json!({"key": lost, "operator": "Exists", "effect": "NoExecute"});
        assert_eq!(keys(json!({"tolerations": [own]})), [lost, gone]);
        let other = json!({"key": lost, "operator": "Exists", "effect": "NoSchedule"});
        assert_eq!(keys(json!({"tolerations": [other]})), [lost, lost, gone]);
        assert_eq!(keys(json!({"tolerations": [{"operator": "Exists"}]})), [""]);
    }

    #[test]
    fn label_keys_are_merged_into_the_selector_with_the_pods_own_values() {
        let constraint = |selector: Value| {
            let found = of_spec(json!({"topologySpreadConstraints": [{
                "maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": selector, "matchLabelKeys": ["hash", "absent"],
            }]}));
            found.spec.topology_spread_constraints[0]
                .label_selector
                .clone()
        };
        let merged = constraint(json!({"matchLabels": {"app": "db"}})).unwrap();
        assert_eq!(merged.match_labels.len(), 1);
        let own = Requirement {
            key: "hash".to_owned(),
            operator: "In".to_owned(),
            values: vec!["7".to_owned()],
        };
        assert_eq!(merged.match_expressions, [own]);
        assert_eq!(constraint(Value::Null), None, "nobody stays nobody");
    }

    #[test]
    fn what_pod_level_resources_leave_open_is_filled_in() {
        let requests = |pod_level: Value| {
            let of_container = json!({"requests": {"cpu": "1500m", "memory": "1Gi", "x.y/z": "1"}});
            let huge = json!({"limits": {"hugepages-2Mi": "4Mi"}});
            let found = of_spec(json!({
                "containers": [
                    {"name": "a", "resources": of_container}, {"name": "b", "resources": huge},
                ],
                "resources": pod_level,
            }));
            let resources = found.spec.resources;
            let requests = resources.map(|one| one.requests).unwrap_or_default();
            let text = |(name, amount): (String, Text)| format!("{name}={}", amount.0);
            requests.into_iter().map(text).collect::<Vec<_>>()
        };
        assert_eq!(requests(Value::Null), [""; 0]);
        assert_eq!(requests(json!({})), [""; 0]);
        assert_eq!(
            requests(json!({"requests": {"memory": "3Gi"}})),
            ["cpu=1500m", "hugepages-2Mi=4Mi", "memory=3Gi"]
        );
        assert_eq!(
            requests(json!({"limits": {"cpu": "4", "hugepages-1Gi": "1Gi"}})),
            [
                "cpu=1500m",
                "hugepages-1Gi=1Gi",
                "hugepages-2Mi=4Mi",
                "memory=1Gi"
            ]
        );
    }
}
