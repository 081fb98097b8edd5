//! The books of queues as time goes on: what gangs hold is counted in their queues, and flows follow
//! it at the time at which it changed, whenever a cycle looks.

use super::ClusterState;
use super::ids::{GangId, QueueId};
use super::queues::Eased;
use muster_model::Lifetime;
use muster_model::resources::{Weights, Worth};
use muster_model::units::{Millis, Time};
use std::collections::BTreeSet;

impl ClusterState {
    /// Sets what amounts are worth, and how long flows remember.
    pub fn set_worth(&mut self, worth: Worth, half_life: Millis) {
        self.worth = worth;
        self.weighed = None;
        self.queues.set_half_life(half_life);
    }

    /// Leaves it to others whether nodes have these resources: they are no part of requests. Before any news.
    pub fn leave_unchecked<'a>(&mut self, names: impl IntoIterator<Item = &'a String>) {
        for name in names {
            self.dimensions.leave_unchecked(name);
        }
    }

    /// Has no default queue but one that somebody declares.
    pub fn do_without_default_queue(&mut self) {
        self.queues.do_without_default();
    }

    /// What amounts are worth.
    #[must_use]
    pub const fn weights(&self) -> &Weights {
        &self.weights
    }

    /// The latest time it has heard of.
    #[must_use]
    pub const fn now(&self) -> Time {
        self.now
    }

    /// Time goes on: what changed until now counts from now.
    pub(super) fn go_on(&mut self, now: Time) {
        if now > self.now {
            self.settle();
            self.now = now;
        }
    }

    /// Brings the books of the queues up to what is held now.
    pub fn settle(&mut self) {
        let offered = self.nodes.offer_version();
        if self.weighed != Some(offered) {
            self.weighed = Some(offered);
            let nodes = &self.nodes;
            let weights = Weights::new(&self.worth, &self.dimensions, |one| nodes.total(one));
            if weights != self.weights {
                self.weights = weights;
                self.queues.reweigh();
            }
        }
        self.queues.settle(&self.weights, self.now);
        self.changes.queues.extend(self.queues.take_news());
    }

    /// A gang's own lifetime, else its pod's, else its queue's.
    pub(super) fn resolve_lifetime(&mut self, id: GangId) {
        let gang = &self.gangs[id];
        let pod = gang.members.first().filter(|_| gang.is_single());
        let of_pod = pod.and_then(|pod| self.pods.get(*pod)?.facts.lifetime);
        let own = gang.definition().map_or(of_pod, |spec| spec.lifetime);
        let queue = gang
            .queue
            .and_then(|queue| self.queues.get(queue)?.spec.as_ref());
        let lifetime = own.or(queue.and_then(|queue| queue.default_lifetime));
        let lifetime = Lifetime::of(lifetime);
        if gang.account.is_some() && gang.lifetime == lifetime {
            return;
        }
        self.close_account(id);
        let gang = &mut self.gangs[id];
        gang.lifetime = lifetime;
        if let Some(queue) = gang.queue {
            self.open_account(id, queue, lifetime);
        }
    }

    /// Takes what a gang holds into the books.
    pub(super) fn open_account(&mut self, id: GangId, queue: QueueId, lifetime: Lifetime) {
        self.gangs[id].account = Some((queue, lifetime));
        let (all, nominated) = (self.holdings(id), self.nominated_for(id));
        self.queues
            .count_all(queue, lifetime, (&all, &nominated), true);
    }

    /// Takes what a gang holds out of the books.
    pub(super) fn close_account(&mut self, id: GangId) -> Option<(QueueId, Lifetime)> {
        let account = self.gangs[id].account.take()?;
        let (all, nominated) = (self.holdings(id), self.nominated_for(id));
        self.queues
            .count_all(account.0, account.1, (&all, &nominated), false);
        Some(account)
    }

    /// Charges a gang against its queue's budget, in worth times milliseconds.
    pub fn charge_budget(&mut self, id: GangId, amount: u128) {
        if let Some(queue) = self.gangs[id].queue {
            self.queues.charge(queue, id, amount);
        }
    }

    /// Gives a gang's charge back: it holds nothing any more.
    pub fn give_back_budget(&mut self, id: GangId) {
        if let Some(queue) = self.gangs[id].queue {
            self.queues.give_back(queue, id);
        }
    }

    /// In whose books something changed that may let somebody start.
    pub fn take_eased(&mut self) -> BTreeSet<Eased> {
        self.queues.take_eased()
    }

    /// Derives the books from scratch and compares.
    pub(super) fn audit_books(&self) -> Result<(), String> {
        for (id, queue) in self.queues.iter() {
            let mut sum = super::Holdings::default();
            for (gang_id, gang) in self.gangs.iter() {
                if let Some((_, lifetime)) = gang.account.filter(|(one, _)| *one == id) {
                    let (all, nominated) = (self.holdings(gang_id), self.nominated_for(gang_id));
                    sum.change_by(lifetime, (&all, &nominated), true);
                }
            }
            if sum != queue.account.own {
                let (name, own) = (&queue.name, &queue.account.own);
                return Err(format!("queue {name}: holds {own:?}, not {sum:?}"));
            }
            // Of gangs that are not resolved yet nobody knows.
            let known = |gang: &&GangId| !self.changes.gangs.contains(gang);
            let wrong = |gang: &&GangId| queue.has_work_of(**gang) != self.has_work(**gang);
            if let Some(gang) = queue.gangs.iter().filter(known).find(wrong) {
                let (name, key) = (&queue.name, &self[*gang].key);
                let counted = queue.has_work_of(*gang);
                return Err(format!("queue {name}: has work of gang {key}: {counted}"));
            }
        }
        self.queues.audit()
    }
}
