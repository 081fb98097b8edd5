//! What is not defined by an object of its own kind, and is all the same: gangs that no PodGroup defines but
//! their pods or a PodDisruptionBudget, subgroups that follow from labels, minima without those who are made later,
//! topologies that are the values of a label, and queues of Volcano's; and what is written and means nothing here:
//! amounts of what no node has.
//!
//! This stands before everybody who hears of events: for them a gang and a queue are defined, by whatever.

mod budgets;
mod gangs;
mod launchers;
mod levels;
mod queues;
mod subgroups;
mod unprovided;

use budgets::BudgetsOfGangs;
pub use gangs::ImpliedGangs;
use launchers::LateLaunchers;
use levels::WishedLevels;
use muster_model::units::Time;
use muster_model::{Event, GangKey, Object};
use queues::ImpliedQueues;
use subgroups::SubgroupsByLabels;
use unprovided::UnprovidedAmounts;

/// All definitions that are made of other news.
#[derive(Clone, Debug, Default)]
pub struct Implied {
    gangs: ImpliedGangs,
    budgets: BudgetsOfGangs,
    launchers: LateLaunchers,
    queues: ImpliedQueues,
    subgroups: SubgroupsByLabels,
    levels: WishedLevels,
    unprovided: UnprovidedAmounts,
}

impl Implied {
    /// Takes what news implies out of it; returns what is news besides, to be heard after it. `has_one` says for which
    /// gangs there is a PodGroup so far, `is_on_a_node` which labels nodes have.
    pub fn hear(
        &mut self,
        event: &mut Event,
        now: Time,
        has_one: impl Fn(&GangKey) -> bool,
        is_on_a_node: impl Fn(&str) -> bool,
    ) -> Vec<Event> {
        if let Event::Is(Object::Gang(gang)) = event
            && gang.one_by_one
            && gang.recalled.was_scheduled
        {
            gang.min_available = 0;
        }
        let by_labels = self.subgroups.hear(event, has_one);
        let queue = self.queues.hear(event);
        let by_budgets = self.budgets.hear(event);
        let mut events = self.launchers.hear(event);
        events.extend(self.gangs.hear(event, now));
        events.extend(queue.into_iter().chain(by_budgets).chain(by_labels));
        let mut by_nodes = self.unprovided.hear(event);
        for event in &mut events {
            by_nodes.extend(self.unprovided.hear(event));
        }
        events.extend(by_nodes);
        let mut topologies = self.levels.hear(event, &is_on_a_node);
        for event in &mut events {
            topologies.extend(self.levels.hear(event, &is_on_a_node));
        }
        events.extend(topologies);
        events
    }

    /// When [`fire`](Self::fire) has something to do.
    #[must_use]
    pub fn due(&self) -> Option<Time> {
        self.gangs.due()
    }

    /// The PodGroups that nobody waits for any more, now that all lists are read; `has_one` says for which gangs
    /// there is one.
    pub fn fire(&mut self, now: Time, has_one: impl Fn(&GangKey) -> bool) -> Vec<Event> {
        // They wish nothing: their pods are placed one by one.
        self.gangs.fire(now, has_one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_model::{GangSpec, Recalled};

    #[test]
    fn a_minimum_that_counts_at_first_ends_with_the_first_scheduling() {
        let minimum = |one_by_one, was_scheduled| {
            let mut event = Event::is(GangSpec {
                min_available: 3,
                one_by_one,
                recalled: Recalled {
                    was_scheduled,
                    ..Recalled::default()
                },
                ..GangSpec::default()
            });
            Implied::default().hear(&mut event, Time(0), |_| false, |_| false);
            match event {
                Event::Is(Object::Gang(gang)) => gang.min_available,
                _ => panic!("{event:?}"),
            }
        };
        assert_eq!([minimum(true, false), minimum(true, true)], [3, 0]);
        assert_eq!(minimum(false, true), 3);
    }
}
