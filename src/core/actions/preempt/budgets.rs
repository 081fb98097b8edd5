//! How much of the PodDisruptionBudgets a set of victims takes, as kube-scheduler counts it: a budget
//! is no wall, but who stays within all of them goes first (source: Kubernetes'
//! `FilterVictimsWithPDBViolation`).

use crate::state::{ClusterState, PodId};
use std::collections::BTreeMap;

/// What is left of each budget while victims are chosen.
#[derive(Debug)]
pub(in crate::actions) struct Spending<'a> {
    state: &'a ClusterState,
    /// By namespace and name, for those of which something was taken.
    left: BTreeMap<(&'a str, &'a str), i64>,
}

impl<'a> Spending<'a> {
    pub(in crate::actions) const fn new(state: &'a ClusterState) -> Self {
        Self {
            state,
            left: BTreeMap::new(),
        }
    }

    /// Whether there is no budget at all.
    pub(in crate::actions) fn is_idle(&self) -> bool {
        !self.state.has_budgets()
    }

    /// Takes these pods away; says which budgets, by namespace and name, have less than nothing left
    /// for them.
    pub(in crate::actions) fn spend(&mut self, pods: &[PodId]) -> Vec<(&'a str, &'a str)> {
        let mut violated = Vec::new();
        for pod in pods.iter().filter_map(|id| self.state.pod(*id)) {
            for budget in self.state.budgets_of(pod) {
                let name = (budget.spec.namespace.as_str(), budget.spec.name.as_str());
                let left = self.left.entry(name).or_insert_with(|| budget.left());
                *left -= 1;
                if *left < 0 && !violated.contains(&name) {
                    violated.push(name);
                }
            }
        }
        violated
    }
}
