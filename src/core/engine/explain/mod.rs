//! The engine's own record of its decisions, as data: why a gang is where it is, and who holds what
//! of a queue. Made from the state and from what the actions noted when they decided; nothing here
//! tries anything again, and nothing is decided by it.
//!
//! Lists are bounded, and how many there are is said beside them. Words are made elsewhere.

mod books;
mod gang;
mod news;
mod not_ours;
mod queue;
mod running;
mod slots;
mod waiting;

pub(super) use news::News;

use super::Scheduler;
use crate::actions::{Asker, Judge, Sight};
use muster_model::explanation::{GangExplanation, QueueExplanation, TestbedExplanation};
use muster_model::units::Time;
use muster_model::{GangKey, GangSpace};

/// So many names of a kind are told at most.
pub(super) const NAMES: usize = 5;

/// What there is to see, and the rules that choose victims on behalf of whoever might ask. What these
/// find out about the queues is the same for all.
#[derive(Debug)]
pub(super) struct Eyes<'a> {
    sight: Sight<'a>,
    judge: Option<Judge<'a>>,
}

impl<'a> Eyes<'a> {
    const fn new(sight: Sight<'a>) -> Self {
        Self { sight, judge: None }
    }

    /// What the rules say to somebody.
    fn judge_for(&mut self, asker: Asker) -> &mut Judge<'a> {
        let new = || Judge::on_behalf_of(self.sight, asker.clone());
        let judge = self.judge.get_or_insert_with(new);
        judge.turn_to(asker);
        judge
    }
}

impl Scheduler {
    fn sight(&self, now: Time) -> Sight<'_> {
        Sight {
            now,
            state: &self.state,
            agenda: &self.agenda,
            claims: &self.claims,
            profiles: self.policy.profiles(),
        }
    }

    /// Why a gang is where it is. Its position is told if it is not behind so many others.
    #[must_use]
    pub fn explain_gang(&self, key: &GangKey, now: Time, at_most: u32) -> Option<GangExplanation> {
        match self.state.find_gang(key) {
            Some(id) => Some(gang::explain(&mut Eyes::new(self.sight(now)), id, at_most)),
            None => not_ours::explain(&self.state, key, now),
        }
    }

    /// Who holds what of a queue, and who waits in it.
    #[must_use]
    pub fn explain_queue(&self, name: &str, now: Time) -> Option<QueueExplanation> {
        let (id, queue) = self.state.queues().find(name)?;
        Some(queue::explain(&mut Eyes::new(self.sight(now)), id, queue))
    }

    /// Who has which slot of a testbed, and who waits. Looks at all gangs.
    #[must_use]
    pub fn explain_testbed(&self, name: &str, now: Time) -> Option<TestbedExplanation> {
        self.state.testbeds().find(|one| *one == name)?;
        let waiters = slots::Waiters::find(&self.state);
        Some(slots::testbed(self.sight(now), name, &waiters))
    }

    /// The gang that people call so: by its PodGroup, whoever's kind that is.
    #[must_use]
    pub fn gang_named(&self, namespace: &str, name: &str) -> Option<GangKey> {
        let key = |space| GangKey {
            namespace: namespace.to_owned(),
            space,
            name: name.to_owned(),
        };
        let defined = |key: &GangKey| {
            let gang = self.state.find_gang(key).and_then(|id| self.state.gang(id));
            gang.is_some_and(|gang| gang.definition().is_some())
        };
        let spaces = GangSpace::BY_NAME.map(key);
        let known = |key: &&GangKey| self.state.find_gang(key).is_some();
        let theirs = |key: &&GangKey| self.state.definition_of_others(key).is_some();
        let found = spaces.iter().find(|key| defined(key));
        let found = found.or_else(|| spaces.iter().find(known));
        found.or_else(|| spaces.iter().find(theirs)).cloned()
    }

    /// The pod of this name that is a gang of its own. Looks at all gangs.
    #[must_use]
    pub fn pod_named(&self, namespace: &str, name: &str) -> Option<GangKey> {
        let called = |gang: &crate::state::Gang| {
            let pod = gang.members.first().and_then(|id| self.state.pod(*id));
            gang.is_single() && pod.is_some_and(|pod| pod.key.name == name)
        };
        let mut gangs = self.state.gangs().map(|(_, gang)| gang);
        let found = gangs.find(|gang| gang.key.namespace == namespace && called(gang));
        found.map(|gang| gang.key.clone())
    }
}
