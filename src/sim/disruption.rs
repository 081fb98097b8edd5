//! The simulated disruption controller: how many pods of a PodDisruptionBudget may go.

use super::scenario::{BudgetPlan, Needed};
use muster_model::{PodPhase, PodSpec, label_in};

/// How many may go now, of a budget that does not say so itself (source: Kubernetes'
/// `pkg/controller/disruption`). The simulated API server knows no scale of controllers: as many pods
/// are expected as there are.
pub(super) fn allowed<'a>(budget: &BudgetPlan, pods: impl Iterator<Item = &'a PodSpec>) -> u32 {
    let Some(needed) = budget.needed else {
        return budget.spec.allowed;
    };
    let selector = &budget.spec.selector;
    let (mut expected, mut healthy) = (0_u32, 0_u32);
    for pod in pods {
        let labels = pod.labels.text();
        let chosen = pod.key.namespace == budget.spec.namespace
            && !pod.phase.is_terminal()
            && selector.matches_with(|key| label_in(labels, key));
        if chosen {
            expected += 1;
            healthy += u32::from(pod.phase == PodPhase::Running && !pod.terminating);
        }
    }
    let desired = match needed {
        Needed::Available(amount) => amount.of(expected),
        Needed::Unavailable(amount) => expected.saturating_sub(amount.of(expected)),
    };
    if expected == 0 {
        return 0;
    }
    healthy.saturating_sub(desired)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Amount;
    use muster_model::{LabelCondition, LabelRequirement, LabelSelector, PodLabels};

    #[test]
    fn as_many_may_go_as_there_are_more_healthy_ones_than_needed() {
        let pod = |phase, terminating| {
            let mut pod = PodSpec {
                phase,
                terminating,
                labels: PodLabels::new(&[("app".to_owned(), "db".to_owned())].into()),
                ..PodSpec::default()
            };
            pod.key.namespace = "n".to_owned();
            pod
        };
        let running = || pod(PodPhase::Running, false);
        let pods = [
            running(),
            running(),
            running(),
            pod(PodPhase::Pending, false),
            pod(PodPhase::Running, true),
            pod(PodPhase::Succeeded, false),
        ];
        let allowed = |needed| {
            let mut budget = BudgetPlan {
                needed: Some(needed),
                ..BudgetPlan::default()
            };
            budget.spec.namespace = "n".to_owned();
            budget.spec.selector = LabelSelector {
                requirements: vec![LabelRequirement {
                    key: "app".to_owned(),
                    holds: LabelCondition::Exists,
                }],
            };
            super::allowed(&budget, pods.iter())
        };
        // Five are expected, and three of them are well.
        assert_eq!(allowed(Needed::Available(Amount::Count(2))), 1);
        assert_eq!(allowed(Needed::Available(Amount::Percent(50))), 0);
        assert_eq!(allowed(Needed::Unavailable(Amount::Count(3))), 1);
        assert_eq!(allowed(Needed::Unavailable(Amount::Percent(41))), 1);
    }
}
