//! Gangs that a PodDisruptionBudget defines: before there were kinds for it, one with the controller of the pods said
//! how many of them run, or none. It counts for pods that have to have a SchedulingSpec, where there is none.

use muster_model::{
    BudgetOfGang, DisruptionBudgetSpec, Event, GangKey, GangSpace, GangSpec, Object, ObjectKey,
    Source,
};
use std::collections::BTreeMap;

/// The PodDisruptionBudgets that define gangs.
#[derive(Clone, Debug, Default)]
pub(super) struct BudgetsOfGangs {
    /// Those of each gang by their names: the first counts.
    of_gangs: BTreeMap<GangKey, BTreeMap<String, BudgetOfGang>>,
    /// The gang of each, by namespace and name.
    gangs: BTreeMap<(String, String), GangKey>,
}

impl BudgetsOfGangs {
    /// What the news means besides.
    pub(super) fn hear(&mut self, event: &Event) -> Vec<Event> {
        match event {
            Event::Is(Object::DisruptionBudget(budget)) => self.take(budget),
            Event::Gone(ObjectKey::DisruptionBudget(namespace, name)) => {
                let gone = self.forget(&(namespace.clone(), name.clone()));
                gone.into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    fn take(&mut self, budget: &DisruptionBudgetSpec) -> Vec<Event> {
        let id = (budget.namespace.clone(), budget.name.clone());
        let Some(gang) = &budget.gang else {
            return self.forget(&id).into_iter().collect();
        };
        let key = GangKey {
            namespace: budget.namespace.clone(),
            space: GangSpace::SchedulingSpec,
            name: gang.controller.clone(),
        };
        let is_another = self.gangs.get(&id).is_some_and(|before| *before != key);
        let left = is_another.then(|| self.forget(&id)).flatten();
        let joined = self.change(&key, |budgets| {
            budgets.insert(budget.name.clone(), gang.clone());
        });
        self.gangs.insert(id, key);
        left.into_iter().chain(joined).collect()
    }

    fn forget(&mut self, id: &(String, String)) -> Option<Event> {
        let gang = self.gangs.remove(id)?;
        self.change(&gang, |budgets| _ = budgets.remove(&id.1))
    }

    /// Changes the budgets of a gang; returns how it is defined now, if that is another.
    fn change(
        &mut self,
        key: &GangKey,
        change: impl FnOnce(&mut BTreeMap<String, BudgetOfGang>),
    ) -> Option<Event> {
        let budgets = self.of_gangs.entry(key.clone()).or_default();
        let before = budgets.values().next().cloned();
        change(budgets);
        let now = budgets.values().next().cloned();
        if budgets.is_empty() {
            self.of_gangs.remove(key);
        }
        (before != now).then(|| match now {
            Some(says) => Event::is(GangSpec {
                key: key.clone(),
                source: Source::Implied,
                created: says.created,
                min_available: says.min_available,
                ..GangSpec::default()
            }),
            None => Event::Gone(ObjectKey::Gang(key.clone(), Source::Implied)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(name: &str, gang: Option<(&str, u32)>) -> Event {
        Event::is(DisruptionBudgetSpec {
            namespace: "n".into(),
            name: name.into(),
            gang: gang.map(|(controller, min_available)| BudgetOfGang {
                controller: controller.into(),
                min_available,
                ..BudgetOfGang::default()
            }),
            ..DisruptionBudgetSpec::default()
        })
    }

    fn gone(name: &str) -> Event {
        Event::Gone(ObjectKey::DisruptionBudget("n".into(), name.into()))
    }

    /// The gangs that are told of, with their minima; without one it is gone.
    fn told(budgets: &mut BudgetsOfGangs, event: &Event) -> Vec<(String, Option<u32>)> {
        let told = budgets.hear(event).into_iter();
        told.map(|event| match event {
            Event::Is(Object::Gang(gang)) => (gang.key.name, Some(gang.min_available)),
            Event::Gone(ObjectKey::Gang(key, Source::Implied)) => (key.name, None),
            other => panic!("{other:?}"),
        })
        .collect()
    }

    fn is(gang: &str, min_available: u32) -> (String, Option<u32>) {
        (gang.to_owned(), Some(min_available))
    }

    fn is_not(gang: &str) -> (String, Option<u32>) {
        (gang.to_owned(), None)
    }

    #[test]
    fn a_budget_with_a_controller_defines_its_gang_until_it_goes() {
        let mut budgets = BudgetsOfGangs::default();
        assert_eq!(told(&mut budgets, &budget("b", None)), []);
        assert_eq!(
            told(&mut budgets, &budget("b", Some(("j", 2)))),
            [is("j", 2)]
        );
        assert_eq!(told(&mut budgets, &budget("b", Some(("j", 2)))), []);
        assert_eq!(
            told(&mut budgets, &budget("b", Some(("j", 3)))),
            [is("j", 3)]
        );
        let moved = [is_not("j"), is("k", 3)];
        assert_eq!(told(&mut budgets, &budget("b", Some(("k", 3)))), moved);
        assert_eq!(told(&mut budgets, &budget("b", None)), [is_not("k")]);
        assert_eq!(told(&mut budgets, &gone("b")), []);
        assert!(budgets.of_gangs.is_empty() && budgets.gangs.is_empty());
    }

    #[test]
    fn of_two_the_first_by_name_counts() {
        let mut budgets = BudgetsOfGangs::default();
        assert_eq!(
            told(&mut budgets, &budget("y", Some(("j", 2)))),
            [is("j", 2)]
        );
        assert_eq!(
            told(&mut budgets, &budget("x", Some(("j", 5)))),
            [is("j", 5)]
        );
        assert_eq!(told(&mut budgets, &gone("y")), []);
        assert_eq!(told(&mut budgets, &gone("x")), [is_not("j")]);
        assert!(budgets.of_gangs.is_empty() && budgets.gangs.is_empty());
    }
}
