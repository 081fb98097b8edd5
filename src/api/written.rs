//! What a spec of ours says in types that Kubernetes has for everybody: lists of amounts, and selectors.

use super::requests::{Reader, in_core_units};
use super::slim::{self, Text};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1;
use muster_model::{Amounts, LabelCondition, LabelRequirement, LabelSelector};
use std::collections::BTreeMap;

/// Amounts in the core's units, zeros included; what cannot be read is a problem.
pub(crate) fn amounts(
    field: &str,
    amounts: &BTreeMap<String, Quantity>,
    problems: &mut Vec<String>,
) -> Amounts {
    let texts = amounts.iter();
    let texts = texts.map(|(name, quantity)| (name.clone(), Text(quantity.0.clone())));
    let mut reader = Reader::default();
    let bag = reader.bag(field, &texts.collect());
    problems.extend(reader.finish());
    let mut all = in_core_units(&bag);
    // Here nothing is something: a limit of none.
    for name in bag.keys() {
        if !all.iter().any(|(one, _)| one == name) {
            all.push((name.clone(), 0));
        }
    }
    all
}

/// A selector; what cannot be read is a problem.
pub(crate) fn selector_of(
    selector: &v1::LabelSelector,
    problems: &mut Vec<String>,
) -> LabelSelector {
    let labels = selector.match_labels.iter().flatten();
    let equal = labels.map(|(key, value)| LabelRequirement {
        key: key.clone(),
        holds: LabelCondition::In(vec![value.clone()]),
    });
    let mut requirements: Vec<LabelRequirement> = equal.collect();
    for one in selector.match_expressions.iter().flatten() {
        let values = one.values.clone().unwrap_or_default();
        let holds = match one.operator.as_str() {
            "In" => LabelCondition::In(values),
            "NotIn" => LabelCondition::NotIn(values),
            "Exists" => LabelCondition::Exists,
            "DoesNotExist" => LabelCondition::DoesNotExist,
            other => {
                problems.push(format!(
                    "spec.namespaceSelector: operator {other:?} is none of In, NotIn, Exists, \
                     DoesNotExist"
                ));
                continue;
            }
        };
        let key = one.key.clone();
        requirements.push(LabelRequirement { key, holds });
    }
    LabelSelector { requirements }
}

/// What a node offers, in the core's units: its capacity where nothing is said to be allocatable. Amounts that cannot
/// be read, or are negative, count as nothing.
pub(crate) fn offered(node: &slim::Node) -> Amounts {
    let status = &node.status;
    let offered = if status.allocatable.is_empty() {
        &status.capacity
    } else {
        &status.allocatable
    };
    in_core_units(&Reader::default().bag("status.allocatable", offered))
}
