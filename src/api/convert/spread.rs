//! `topologySpreadConstraints`: those that are required, and those that are for scores; and who controls a pod
//! that has none.

use super::policy;
use super::unsupported::Unsupported;
use crate::{creation, names, slim};
use muster_model::{
    Counted, LabelSelector, NamespaceChoice, PodQuery, SelectorKind, SpreadByDefault, SpreadRule,
};

const FIELD: &str = "spec.topologySpreadConstraints";
/// What is said of a rule that is for scores.
const SOFT: &str = "ScheduleAnyway";

/// The rules by which a pod is spread as far as that goes. One that cannot be read is no reason to wait.
pub(super) fn preferred(pod: &slim::Pod) -> Vec<SpreadRule> {
    let all = pod.spec.topology_spread_constraints.iter();
    let soft = all.filter(|one| one.when_unsatisfiable == SOFT);
    soft.filter_map(|one| rule(pod, one).ok()).collect()
}

/// Who controls a pod that says nothing of how it is spread, if that is one who chooses pods.
pub(super) fn by_default(pod: &slim::Pod) -> Option<SpreadByDefault> {
    if !pod.spec.topology_spread_constraints.is_empty() {
        return None;
    }
    let controller = names::controller(&pod.metadata).and_then(|owner| {
        let kind = match (owner.api_version.as_str(), owner.kind.as_str()) {
            ("v1", "ReplicationController") => SelectorKind::ReplicationController,
            ("apps/v1", "ReplicaSet") => SelectorKind::ReplicaSet,
            ("apps/v1", "StatefulSet") => SelectorKind::StatefulSet,
            _ => return None,
        };
        Some((kind, owner.name.clone()))
    });
    Some(SpreadByDefault { controller })
}

/// The required rules of a pod.
pub(super) fn rules(pod: &slim::Pod, notes: &mut Unsupported) -> Vec<SpreadRule> {
    let mut rules = Vec::new();
    for (index, one) in pod.spec.topology_spread_constraints.iter().enumerate() {
        match one.when_unsatisfiable.as_str() {
            SOFT => continue,
            "" | "DoNotSchedule" => match rule(pod, one) {
                Ok(rule) => rules.push(rule),
                Err(what) => notes.add(format!("{FIELD}[{index}].{what}")),
            },
            other => notes.add(format!("{FIELD}[{index}].whenUnsatisfiable: {other:?}")),
        }
    }
    rules
}

fn rule(pod: &slim::Pod, found: &slim::SpreadConstraint) -> Result<SpreadRule, String> {
    let at_least_one = |name: &str, number: i32| {
        let positive = u32::try_from(number).ok().filter(|number| *number > 0);
        positive.ok_or_else(|| format!("{name}: {number} is less than 1"))
    };
    let honors = |name: &str, policy: &Option<String>, default: bool| match policy.as_deref() {
        None | Some("") => Ok(default),
        Some("Honor") => Ok(true),
        Some("Ignore") => Ok(false),
        Some(other) => Err(format!("{name}: {other:?}")),
    };
    let selector = selector(pod, found)?;
    let everybody = selector.requirements.is_empty();
    let labels = pod.metadata.labels.clone().unwrap_or_default();
    Ok(SpreadRule {
        key: found.topology_key.clone(),
        max_skew: at_least_one("maxSkew", found.max_skew)?,
        min_domains: at_least_one("minDomains", found.min_domains.unwrap_or(1))?,
        counts_itself: selector.matches(&labels),
        // One that chooses everybody counts nobody (source: kube-scheduler's `countPodsMatchSelector`).
        pods: (found.label_selector.is_some() && !everybody).then(|| PodQuery {
            namespaces: vec![NamespaceChoice::only(
                pod.metadata.namespace.as_deref().unwrap_or_default(),
            )],
            selector,
            counted: Counted::Staying,
        }),
        honors_affinity: honors("nodeAffinityPolicy", &found.node_affinity_policy, true)?,
        honors_taints: honors("nodeTaintsPolicy", &found.node_taints_policy, false)?,
        label_optional: false,
    })
}

/// Whom a rule is about: with the pod's own values of its `matchLabelKeys`, as the API server merges them.
/// Its order does not matter, and it is the same whether that was done before or not.
fn selector(pod: &slim::Pod, found: &slim::SpreadConstraint) -> Result<LabelSelector, String> {
    let Some(selector) = &found.label_selector else {
        return Ok(LabelSelector::nothing());
    };
    let mut merged = selector.clone();
    if let Some(labels) = &pod.metadata.labels {
        creation::merge(&mut merged, &found.match_label_keys, "In", labels);
    }
    let mut read = policy::selector(&merged).ok_or("labelSelector: it has an unknown operator")?;
    read.requirements.sort_unstable();
    read.requirements.dedup();
    Ok(read)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::needless_pass_by_value, reason = "json! reads best as it is")]

    use super::*;
    use serde_json::{Value, json};

    /// The rules of a pod, and what cannot be honoured.
    fn read(constraint: Value) -> (Vec<SpreadRule>, Vec<String>) {
        let pod: slim::Pod = serde_json::from_value(json!({
            "metadata": {"namespace": "ns", "labels": {"app": "db", "hash": "7"}},
            "spec": {"topologySpreadConstraints": [constraint]},
        }))
        .unwrap();
        let mut notes = Unsupported::default();
        (rules(&pod, &mut notes), notes.paths)
    }

    fn with(more: Value) -> SpreadRule {
        let mut constraint = json!({
            "maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
        });
        for (key, value) in more.as_object().unwrap() {
            constraint[key] = value.clone();
        }
        let (rules, notes) = read(constraint);
        assert_eq!(notes, [""; 0]);
        rules.into_iter().next().unwrap()
    }

    #[test]
    fn what_is_left_out_is_filled_in() {
        let rule = with(json!({"labelSelector": {"matchLabels": {"app": "db"}}}));
        assert_eq!((rule.max_skew, rule.min_domains), (1, 1));
        assert_eq!((rule.honors_affinity, rule.honors_taints), (true, false));
        assert!(rule.counts_itself);
        let pods = rule.pods.unwrap();
        assert_eq!(pods.namespaces, [NamespaceChoice::only("ns")]);
        let rule = with(json!({
            "nodeAffinityPolicy": "Ignore", "nodeTaintsPolicy": "Honor", "minDomains": 3,
            "labelSelector": {"matchLabels": {"app": "web"}},
        }));
        assert_eq!((rule.honors_affinity, rule.honors_taints), (false, true));
        assert_eq!((rule.min_domains, rule.counts_itself), (3, false));
    }

    #[test]
    fn a_selector_that_is_absent_chooses_nobody_and_an_empty_one_counts_nobody_but_the_pod() {
        let nobody = with(json!({}));
        assert_eq!((nobody.pods, nobody.counts_itself), (None, false));
        let everybody = with(json!({"labelSelector": {}}));
        assert_eq!((everybody.pods, everybody.counts_itself), (None, true));
        let of_own_labels = with(json!({"labelSelector": {}, "matchLabelKeys": ["hash"]}));
        assert!(of_own_labels.pods.is_some());
    }

    #[test]
    fn label_keys_are_the_same_merged_or_not() {
        let keys = json!(["hash", "absent"]);
        let own = json!({"key": "hash", "operator": "In", "values": ["7"]});
        let selector = json!({"matchLabels": {"app": "db"}});
        let merged = json!({"matchLabels": {"app": "db"}, "matchExpressions": [own]});
        let before = with(json!({"labelSelector": selector, "matchLabelKeys": keys}));
        let after = with(json!({"labelSelector": merged, "matchLabelKeys": keys}));
        assert_eq!(before, after);
        assert_eq!(before.pods.unwrap().selector.requirements.len(), 2);
    }

    #[test]
    fn a_pod_without_constraints_says_who_controls_it() {
        let pod = |constraints: Value, version: &str, kind: &str| {
            let owner = json!({
                "apiVersion": version, "kind": kind, "name": "x", "uid": "u", "controller": true,
            });
            let pod: slim::Pod = serde_json::from_value(json!({
                "metadata": {"namespace": "ns", "ownerReferences": [owner]},
                "spec": {"topologySpreadConstraints": constraints},
            }))
            .unwrap();
            by_default(&pod)
        };
        let none = json!([]);
        for (version, kind, found) in [
            ("apps/v1", "ReplicaSet", Some(SelectorKind::ReplicaSet)),
            ("apps/v1", "StatefulSet", Some(SelectorKind::StatefulSet)),
            (
                "v1",
                "ReplicationController",
                Some(SelectorKind::ReplicationController),
            ),
            ("extensions/v1beta1", "ReplicaSet", None),
            ("batch/v1", "Job", None),
        ] {
            let controller = pod(none.clone(), version, kind).unwrap().controller;
            assert_eq!(controller, found.map(|kind| (kind, "x".to_owned())));
        }
        let own = json!([{
            "maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway",
        }]);
        assert_eq!(pod(own, "apps/v1", "ReplicaSet"), None);
    }

    #[test]
    fn what_is_only_preferred_is_no_rule() {
        let preferred = json!({
            "maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway",
        });
        assert_eq!(read(preferred), (Vec::new(), Vec::new()));
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        for (field, value) in [
            ("whenUnsatisfiable", json!("Perhaps")),
            ("maxSkew", json!(0)),
            ("minDomains", json!(-1)),
            ("nodeAffinityPolicy", json!("Perhaps")),
            ("nodeTaintsPolicy", json!("Perhaps")),
            (
                "labelSelector",
                json!({"matchExpressions": [{"key": "a", "operator": "Like"}]}),
            ),
        ] {
            let mut constraint = json!({"maxSkew": 1, "topologyKey": "zone"});
            constraint[field] = value;
            let (rules, notes) = read(constraint);
            assert!(rules.is_empty());
            let path = format!("spec.topologySpreadConstraints[0].{field}: ");
            assert!(notes[0].starts_with(&path), "{notes:?}");
        }
    }
}
