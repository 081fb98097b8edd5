//! PodDisruptionBudgets, and what of them is spent that their status does not say yet.

use super::ClusterState;
use super::ids::PodId;
use super::pods::Pod;
use indexmap::IndexSet;
use muster_model::{DisruptionBudgetSpec, label_in};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A budget.
#[derive(Clone, Debug, Default)]
pub struct DisruptionBudget {
    /// As the API shows it.
    pub spec: DisruptionBudgetSpec,
    /// Pods whose eviction is under way, and that its status may not count yet.
    spent: BTreeSet<PodId>,
}

impl DisruptionBudget {
    /// How many more pods may be taken.
    #[must_use]
    pub fn left(&self) -> i64 {
        let spent = i64::try_from(self.spent.len()).unwrap_or(i64::MAX);
        i64::from(self.spec.allowed).saturating_sub(spent)
    }

    fn covers(&self, pod: &Pod) -> bool {
        let selector = &self.spec.selector;
        let chosen = !selector.requirements.is_empty()
            && !pod.labels.is_empty()
            && selector.matches_with(|key| label_in(&pod.labels, key));
        chosen && !self.spec.disrupted.contains(&pod.key.name)
    }
}

/// All budgets, by namespace and name.
pub(super) type Budgets = BTreeMap<String, BTreeMap<String, DisruptionBudget>>;

/// The labels of pods, equal ones kept once: those of a gang are, but for an index.
#[derive(Clone, Debug, Default)]
pub(super) struct LabelTexts(IndexSet<Arc<str>>);

impl LabelTexts {
    pub(super) fn acquire(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.0.get(text) {
            return Arc::clone(known);
        }
        let new: Arc<str> = text.into();
        self.0.insert(Arc::clone(&new));
        new
    }

    /// One user less; the last takes it along.
    pub(super) fn release(&mut self, text: &Arc<str>) {
        // Its own, the one that is given back, and nobody else's.
        if Arc::strong_count(text) == 2 {
            self.0.swap_remove(text);
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

impl ClusterState {
    /// Whether there is any budget.
    #[must_use]
    pub fn has_budgets(&self) -> bool {
        !self.budgets.is_empty()
    }

    /// The budgets of which a pod that goes takes something.
    pub fn budgets_of<'a>(&'a self, pod: &'a Pod) -> impl Iterator<Item = &'a DisruptionBudget> {
        let here = self.budgets.get(&pod.key.namespace);
        let budgets = here.into_iter().flat_map(BTreeMap::values);
        budgets.filter(|budget| budget.covers(pod))
    }

    pub(super) fn upsert_budget(&mut self, spec: DisruptionBudgetSpec) {
        let here = self.budgets.entry(spec.namespace.clone()).or_default();
        let budget = here.entry(spec.name.clone()).or_default();
        let reselected = budget.spec.selector != spec.selector;
        budget.spec = spec;
        // What it says now counts those whose deletion had begun before.
        let (pods, spec) = (&self.pods, &budget.spec);
        let going = |pod: &Pod| pod.terminating || spec.disrupted.contains(&pod.key.name);
        budget
            .spent
            .retain(|id| !reselected && pods.get(*id).is_some_and(|pod| !going(pod)));
    }

    pub(super) fn remove_budget(&mut self, namespace: &str, name: &str) {
        if let Some(here) = self.budgets.get_mut(namespace) {
            here.remove(name);
            if here.is_empty() {
                self.budgets.remove(namespace);
            }
        }
    }

    /// Notes that the eviction of a pod begins, or that it comes to nothing or to an end.
    pub(super) fn spend_budgets(&mut self, id: PodId, begins: bool) {
        let Some(pod) = self.pods.get(id) else { return };
        let Some(here) = self.budgets.get_mut(&pod.key.namespace) else {
            return;
        };
        for budget in here.values_mut() {
            if !begins {
                budget.spent.remove(&id);
            } else if budget.covers(pod) {
                budget.spent.insert(id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_labels_are_kept_once_and_go_with_the_last_pod() {
        let mut texts = LabelTexts::default();
        let (one, two) = (texts.acquire("a=b"), texts.acquire("a=b"));
        assert!(Arc::ptr_eq(&one, &two));
        texts.release(&one);
        drop(one);
        assert_eq!(texts.len(), 1);
        texts.release(&two);
        assert_eq!(texts.len(), 0);
    }
}
