//! The status of a PodGroup.

use super::{count, timestamp, v1};
use crate::condition::Condition;
use crate::{crd, names};
use muster_model::{GangStatus, GrantedTerms, Lifetime, Source};

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
            granted: status.granted.as_ref().map(granted),
            conditions: status.conditions.iter().map(condition).collect(),
        }
    }
}

fn granted(terms: &GrantedTerms) -> crd::Granted {
    let lifetime = match terms.lifetime {
        Lifetime::Unlimited => None,
        Lifetime::Limited(span) => Some(span.to_string()),
    };
    crd::Granted {
        queue: Some(terms.queue.clone()),
        lifetime,
    }
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
