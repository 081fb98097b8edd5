//! The gangs whose decisions wait at Permit: plugins list, approve and reject them.

use super::{Reason, Refusal};
use crate::state::GangId;
use muster_model::AskedPlace;
use muster_model::units::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A gang that has its places and waits at Permit: it is bound when nobody holds it any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingGang {
    /// Its pods that got a place, each with its node.
    pub places: Arc<[AskedPlace]>,
    /// Who holds it, and until when at most.
    held_by: BTreeMap<&'static str, Time>,
}

impl WaitingGang {
    /// The plugins that hold it, and until when each does at most.
    pub fn held_by(&self) -> impl Iterator<Item = (&'static str, Time)> {
        self.held_by.iter().map(|(plugin, until)| (*plugin, *until))
    }

    /// Whether a plugin holds it.
    #[must_use]
    pub fn is_held_by(&self, plugin: &str) -> bool {
        self.held_by.contains_key(plugin)
    }
}

/// Why a gang that waited is not to be bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// The places it had.
    pub places: Arc<[AskedPlace]>,
    /// Who rejects it.
    pub plugin: &'static str,
    /// Because of whom, and why.
    pub refusal: Refusal,
}

/// All gangs whose decisions wait at Permit.
///
/// What plugins say here is carried out by the scheduler, in this cycle or the next: a gang that nobody
/// holds any more goes on, and one that was rejected loses its places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WaitingGangs {
    gangs: BTreeMap<GangId, WaitingGang>,
    rejected: BTreeMap<GangId, Rejection>,
    /// Gangs about which something was said.
    moved: BTreeSet<GangId>,
}

impl WaitingGangs {
    /// The gangs that wait, those with the lowest id first.
    pub fn iter(&self) -> impl Iterator<Item = (GangId, &WaitingGang)> {
        self.gangs.iter().map(|(id, gang)| (*id, gang))
    }

    /// A gang that waits.
    #[must_use]
    pub fn get(&self, gang: GangId) -> Option<&WaitingGang> {
        self.gangs.get(&gang)
    }

    /// Whether nobody waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.gangs.is_empty()
    }

    /// A plugin holds this gang no more. It goes on when no other does.
    pub fn approve(&mut self, gang: GangId, plugin: &str) {
        let Some(waiting) = self.gangs.get_mut(&gang) else {
            return;
        };
        if waiting.held_by.remove(plugin).is_some() && waiting.held_by.is_empty() {
            self.gangs.remove(&gang);
            self.moved.insert(gang);
        }
    }

    /// A plugin does not let this gang be bound: its decision is undone. Of several who say so the first
    /// counts.
    pub fn reject(&mut self, gang: GangId, plugin: &'static str, reason: Reason) {
        let Some(waiting) = self.gangs.get(&gang) else {
            return;
        };
        let rejection = Rejection {
            places: Arc::clone(&waiting.places),
            plugin,
            refusal: Refusal::of_all(reason),
        };
        self.rejected.entry(gang).or_insert(rejection);
        self.moved.insert(gang);
    }

    /// A plugin holds a gang with its places from now on.
    pub(crate) fn hold(
        &mut self,
        gang: GangId,
        places: &Arc<[AskedPlace]>,
        plugin: &'static str,
        until: Time,
    ) {
        let waiting = self.gangs.entry(gang).or_insert_with(|| WaitingGang {
            places: Arc::clone(places),
            held_by: BTreeMap::new(),
        });
        waiting.held_by.insert(plugin, until);
    }

    /// Nobody holds a gang any more, whatever anybody said; who rejected it, if somebody did.
    pub(crate) fn forget(&mut self, gang: GangId) -> Option<Rejection> {
        self.gangs.remove(&gang);
        self.moved.remove(&gang);
        self.rejected.remove(&gang)
    }

    /// Whether a gang was rejected.
    pub(crate) fn is_rejected(&self, gang: GangId) -> bool {
        self.rejected.contains_key(&gang)
    }

    /// Whether something was said about somebody.
    pub(crate) fn has_news(&self) -> bool {
        !self.moved.is_empty()
    }

    /// The gangs about which something was said since this was last asked.
    pub(crate) fn take_news(&mut self) -> BTreeSet<GangId> {
        std::mem::take(&mut self.moved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Id;

    const GANG: usize = 7;

    fn gang() -> GangId {
        GangId::from_index(GANG)
    }

    fn waiting() -> WaitingGangs {
        let mut waiting = WaitingGangs::default();
        waiting.hold(gang(), &Arc::default(), "Door", Time(5));
        waiting
    }

    #[test]
    fn a_gang_has_news_when_nobody_holds_it() {
        let mut waiting = waiting();
        waiting.approve(gang(), "Other");
        assert!(!waiting.has_news() && waiting.get(gang()).is_some());
        waiting.approve(gang(), "Door");
        assert_eq!(waiting.take_news(), BTreeSet::from([gang()]));
        assert!(waiting.is_empty());
    }

    #[test]
    fn every_plugin_that_holds_a_gang_has_to_approve_it() {
        let mut waiting = waiting();
        waiting.hold(gang(), &Arc::default(), "Gate", Time(9));
        waiting.approve(gang(), "Door");
        assert!(!waiting.has_news());
        let until: Vec<_> = waiting.get(gang()).unwrap().held_by().collect();
        assert_eq!(until, [("Gate", Time(9))]);
        waiting.approve(gang(), "Gate");
        assert!(waiting.has_news());
    }

    #[test]
    fn of_several_who_reject_a_gang_the_first_counts() {
        let mut waiting = waiting();
        for (plugin, words) in [("Door", "first"), ("Gate", "second")] {
            waiting.reject(gang(), plugin, Reason::Other(words.to_owned()));
        }
        assert!(waiting.is_rejected(gang()));
        let rejection = waiting.forget(gang()).unwrap();
        assert_eq!(rejection.plugin, "Door");
        assert_eq!(rejection.refusal.reason, Reason::Other("first".to_owned()));
        assert_eq!(waiting, WaitingGangs::default());
    }
}
