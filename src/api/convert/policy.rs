//! PodDisruptionBudgets.

use crate::slim;
use muster_model::{DisruptionBudgetSpec, LabelCondition, LabelRequirement, LabelSelector};

/// A PodDisruptionBudget. One whose selector cannot be read chooses nobody, as in kube-scheduler.
#[must_use]
pub fn disruption_budget(budget: &slim::PodDisruptionBudget) -> DisruptionBudgetSpec {
    let (meta, status) = (&budget.metadata, &budget.status);
    DisruptionBudgetSpec {
        namespace: meta.namespace.clone().unwrap_or_default(),
        name: meta.name.clone().unwrap_or_default(),
        selector: budget
            .spec
            .selector
            .as_ref()
            .and_then(selector)
            .unwrap_or_default(),
        allowed: u32::try_from(status.disruptions_allowed).unwrap_or(0),
        disrupted: status.disrupted_pods.keys().cloned().collect(),
    }
}

pub(super) fn selector(selector: &slim::LabelSelector) -> Option<LabelSelector> {
    let equal = selector.match_labels.iter().map(|(key, value)| {
        Some(LabelRequirement {
            key: key.clone(),
            holds: LabelCondition::In(vec![value.clone()]),
        })
    });
    let others = selector.match_expressions.iter().map(|one| {
        let values = one.values.clone();
        let holds = match one.operator.as_str() {
            "In" => LabelCondition::In(values),
            "NotIn" => LabelCondition::NotIn(values),
            "Exists" => LabelCondition::Exists,
            "DoesNotExist" => LabelCondition::DoesNotExist,
            _ => return None,
        };
        let key = one.key.clone();
        Some(LabelRequirement { key, holds })
    });
    let requirements = equal.chain(others).collect::<Option<Vec<_>>>()?;
    Some(LabelSelector { requirements })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_budget_is_whom_it_chooses_and_how_many_may_go() {
        let read = |operator: &str| {
            let value = json!({
                "metadata": {"namespace": "n", "name": "b"},
                "spec": {
                    "minAvailable": "50%",
                    "selector": {
                        "matchLabels": {"app": "db"},
                        "matchExpressions": [{"key": "x", "operator": operator}],
                    },
                },
                "status": {
                    "disruptionsAllowed": 2, "currentHealthy": 3, "desiredHealthy": 1,
                    "expectedPods": 3, "disruptedPods": {"p": "2026-01-01T00:00:00Z"},
                },
            });
            disruption_budget(&serde_json::from_value(value).unwrap())
        };
        let found = read("Exists");
        assert_eq!((found.namespace.as_str(), found.name.as_str()), ("n", "b"));
        assert_eq!(found.allowed, 2);
        assert!(found.disrupted.contains("p"));
        assert_eq!(found.selector.requirements.len(), 2);
        assert_eq!(read("Like").selector, LabelSelector::default());
    }
}
