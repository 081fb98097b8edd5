//! The books of queues as time goes on: what gangs hold is counted in their queues, and flows follow
//! it at the time at which it changed, whenever a cycle looks.

use super::ClusterState;
use super::ids::{GangId, QueueId};
use super::queues::{Charge, Eased, Queue};
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
                self.queues.reweigh(&self.weights, &weights, self.now);
                self.weights = weights;
            }
        }
        self.queues.settle(&self.weights, self.now);
        self.changes.queues.extend(self.queues.take_news());
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
            let of = self.gangs[id].in_use.clone();
            self.queues.charge(queue, id, Some(Charge { amount, of }));
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

    /// What a queue's gangs are charged is what is charged to it, and who is charged holds something in it, for a
    /// time that ends.
    fn audit_charges(&self, id: QueueId, queue: &Queue) -> Result<(), String> {
        let mut sum = 0;
        for (gang_id, charge) in queue.account.charges() {
            sum += charge.amount;
            let Some(gang) = self.gang(gang_id) else {
                return Err(format!("queue {}: charges a gang that is gone", queue.name));
            };
            let lasts = !gang.lifetime.is_zero() && gang.lifetime != Lifetime::Unlimited;
            let holds = gang.holding > 0 && lasts;
            // Of gangs that are not looked at yet nobody knows.
            if gang.queue != Some(id) || !(holds || self.changes.gangs.contains(&gang_id)) {
                let (name, key) = (&queue.name, &gang.key);
                return Err(format!("queue {name}: charges gang {key} for nothing"));
            }
        }
        let charged = queue.account.charged();
        if sum == charged {
            return Ok(());
        }
        Err(format!(
            "queue {}: charged {charged}, not {sum}",
            queue.name
        ))
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
            self.audit_charges(id, queue)?;
            // Of gangs that are not resolved yet nobody knows.
            let here = |gang: &&GangId| self[**gang].queue == Some(id);
            let known = |gang: &&GangId| here(gang) && !self.changes.gangs.contains(gang);
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
