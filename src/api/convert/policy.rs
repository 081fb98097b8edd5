//! PodDisruptionBudgets.

use super::created;
use crate::{names, slim};
use muster_model::{
    BudgetOfGang, DisruptionBudgetSpec, LabelCondition, LabelRequirement, LabelSelector,
};

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
        gang: gang(budget),
        allowed: u32::try_from(status.disruptions_allowed).unwrap_or(0),
        disrupted: status.disrupted_pods.keys().cloned().collect(),
    }
}

/// One that has a controller and says a number is what a gang of that controller's pods was before there were kinds
/// for it.
fn gang(budget: &slim::PodDisruptionBudget) -> Option<BudgetOfGang> {
    let controller = names::controller(&budget.metadata)?;
    let wanted = budget.spec.min_available.as_ref()?.number()?;
    Some(BudgetOfGang {
        controller: controller.name.clone(),
        min_available: u32::try_from(wanted).ok()?,
        created: created(&budget.metadata),
    })
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
    use serde_json::{Value, json};

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

    #[test]
    fn one_with_a_controller_and_a_number_defines_a_gang() {
        let gang = |min_available: Value, controls: bool| {
            let owner = json!({
                "apiVersion": "example.com/v1", "kind": "Training", "name": "train", "uid": "u",
                "controller": controls,
            });
            let value = json!({
                "metadata": {"namespace": "n", "name": "b", "ownerReferences": [owner]},
                "spec": {"minAvailable": min_available},
            });
            let found = disruption_budget(&serde_json::from_value(value).unwrap()).gang;
            found.map(|gang| (gang.controller, gang.min_available))
        };
        assert_eq!(gang(json!(4), true), Some(("train".to_owned(), 4)));
        for none in [json!("50%"), json!("4"), json!(-1), json!(null)] {
            assert_eq!(gang(none, true), None);
        }
        assert_eq!(gang(json!(4), false), None);
    }
}
