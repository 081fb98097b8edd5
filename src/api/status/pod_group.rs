//! The status of a PodGroup.

use super::{count, timestamp, v1};
use crate::condition::Condition;
use crate::{crd, names};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use muster_model::units::thousandths_in_text;
use muster_model::{GangStatus, GrantedTerms, LetIn, Lifetime, Source};
use std::collections::BTreeMap;

impl From<&GangStatus> for crd::PodGroupStatus {
    fn from(status: &GangStatus) -> Self {
        let condition = |one| Condition::of(one, status.observed_generation);
        Self {
            phase: Some(status.phase.as_str().to_owned()),
            min_available: Some(count(status.min_available)),
            bound: Some(count(status.bound)),
            selector: selector(&status.gang.name).filter(|_| status.source == Source::Muster),
            running: Some(count(status.running)),
            succeeded: Some(count(status.succeeded)),
            failed: Some(count(status.failed)),
            position: status.position.map(count),
            estimated_start: status.estimated_start.map(|at| v1::Time(timestamp(at))),
            max_hops: status.max_hops.map(count),
            granted: status
                .granted
                .as_ref()
                .map(|terms| granted(terms, status.let_in.as_ref())),
            conditions: status.conditions.iter().map(condition).collect(),
        }
    }
}

fn granted(terms: &GrantedTerms, let_in: Option<&LetIn>) -> crd::Granted {
    let lifetime = match terms.lifetime {
        Lifetime::Unlimited => None,
        Lifetime::Limited(span) => Some(span.to_string()),
    };
    crd::Granted {
        queue: Some(terms.queue.clone()),
        lifetime,
        min_available: let_in.map(|one| count(one.min_available)),
        min_resources: let_in.map_or_else(BTreeMap::new, |one| quantities(&one.min_resources)),
    }
}

/// Amounts in core units as people write them.
fn quantities(amounts: &[(String, i64)]) -> BTreeMap<String, Quantity> {
    let text = |name: &str, amount: i64| match name {
        "cpu" => thousandths_in_text(amount),
        _ => amount.to_string(),
    };
    let amounts = amounts.iter();
    let quantities = amounts.map(|(name, amount)| (name.clone(), Quantity(text(name, *amount))));
    quantities.collect()
}

/// Which pods carry a gang's label, as the scale subresource has it. No label can have a name that is
/// longer than 63 characters.
fn selector(name: &str) -> Option<String> {
    (name.len() <= 63).then(|| format!("{}={name}", names::POD_GROUP))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_no_label_can_have_has_no_selector() {
        assert_eq!(selector(&"x".repeat(63)).map(|text| text.len()), Some(84));
        assert_eq!(selector(&"x".repeat(64)), None);
    }
}
