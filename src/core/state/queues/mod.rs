//! Queues, those that exist and those that are only named: their tree, and their books.

mod account;
mod tree;

pub use account::{Account, Charge, Flow, Holdings};
pub use tree::{MAX_DEPTH, Misplaced};

use super::ids::{GangId, QueueId, Slab};
use muster_model::resources::{Dimension, Request, Tally, Weights};
use muster_model::units::{Millis, Time};
use muster_model::{Amounts, DEFAULT_QUEUE, Lifetime, QueueSpec};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A queue. One that a gang names and nobody declared has no `spec`.
#[derive(Clone, Debug, Default)]
pub struct Queue {
    /// Its name.
    pub name: Arc<str>,
    /// What it was declared as. `default` has one even when nobody declared it.
    pub spec: Option<QueueSpec>,
    /// The most that it may hold, by resource.
    pub limit: Vec<(Dimension, i64)>,
    /// What others leave free for it, by resource.
    pub guaranteed: Vec<(Dimension, i64)>,
    /// The gangs that name it.
    pub gangs: BTreeSet<GangId>,
    /// Those of them that have members who have not ended, or that ask for room for such as are not there yet.
    workers: BTreeSet<GangId>,
    /// The queue above it; `None`: right below the cluster, or misplaced.
    pub parent: Option<QueueId>,
    /// The queues below it.
    pub children: BTreeSet<QueueId>,
    /// Why it has no place in the tree.
    pub misplaced: Option<Misplaced>,
    /// Its books.
    pub account: Account,
    /// The flow that an earlier process remembered, until the tree is made.
    saved_flow: Option<(u64, Time)>,
    /// What is reserved of each resource by the queues right below it.
    reserved_below: Tally,
    /// Its holdings changed since they were last settled.
    unsettled: bool,
}

impl Queue {
    /// What its gangs with an unlimited lifetime hold, or are guaranteed, of a resource: the
    /// larger, and of the queues below it the sum of that.
    #[must_use]
    pub fn reserve(&self, dimension: Dimension) -> i64 {
        self.reserve_with(dimension, 0)
    }

    /// The same with so much more held below it.
    #[must_use]
    pub fn reserve_with(&self, dimension: Dimension, more: i64) -> i64 {
        let guaranteed = self.guaranteed.iter().find(|(one, _)| *one == dimension);
        let floor = guaranteed.map_or(0, |(_, amount)| *amount);
        let held = self.account.own.unlimited.get(dimension);
        let below = self.reserved_below.get(dimension);
        held.saturating_add(below).saturating_add(more).max(floor)
    }

    /// What it reserves of every resource.
    fn reserves(&self) -> Vec<(Dimension, i64)> {
        let held = self
            .account
            .own
            .unlimited
            .iter()
            .chain(self.reserved_below.iter());
        let all = held.chain(self.guaranteed.iter().copied());
        let dimensions: BTreeSet<Dimension> = all.map(|(dimension, _)| dimension).collect();
        let reserve = |dimension| (dimension, self.reserve(dimension));
        dimensions.into_iter().map(reserve).collect()
    }

    /// Whether one of those that name it has work for it.
    pub(super) fn has_work_of(&self, gang: GangId) -> bool {
        self.workers.contains(&gang)
    }

    /// Whether it takes part in the shares: it was declared, or has work.
    fn has_a_share(&self) -> bool {
        let declared = self.spec.as_ref().is_some_and(|spec| !spec.uid.is_empty());
        self.spec.is_some() && (declared || !self.workers.is_empty() || !self.children.is_empty())
    }
}

/// In whose books something changed that may let somebody start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Eased {
    /// A queue, or `None`, the cluster, holds less than before.
    Use(Option<QueueId>),
    /// A queue's share is larger, or it was declared anew: it may hold more than ever before.
    Terms(QueueId),
}

/// An amount that is added, or taken away.
const fn signed(amount: i64, more: bool) -> i64 {
    if more { amount } else { -amount }
}

/// The half-life of flows where nothing else is configured.
pub const DEFAULT_HALF_LIFE: Millis = Millis(3_600_000);

/// All queues.
#[derive(Clone, Debug)]
pub struct Queues {
    by_name: BTreeMap<String, QueueId>,
    queues: Slab<QueueId, Queue>,
    /// The queues right below the cluster.
    roots: BTreeSet<QueueId>,
    /// The books of the cluster as a whole.
    cluster: Account,
    half_life: Millis,
    /// Whether `default` is there without a declaration.
    has_default: bool,
    /// What is reserved of each resource by the queues right below the cluster.
    reserved: Tally,
    /// How many queues are guaranteed something.
    guarantees: usize,
    /// What is guaranteed of each resource in all: by a queue, or by those below it if that is more.
    guaranteed: Tally,
    /// The tree is not what was declared.
    outdated: bool,
    /// The shares are not those of the tree and of what there is to share.
    reshare: bool,
    /// Queues whose holdings changed since they were last settled.
    unsettled: Vec<QueueId>,
    /// In what somebody may start who could not before.
    eased: BTreeSet<Eased>,
    /// Queues whose books changed.
    news: BTreeSet<QueueId>,
}

impl Default for Queues {
    fn default() -> Self {
        let mut queues = Self {
            by_name: BTreeMap::new(),
            queues: Slab::default(),
            roots: BTreeSet::new(),
            cluster: Account::default(),
            half_life: DEFAULT_HALF_LIFE,
            has_default: true,
            reserved: Tally::default(),
            guarantees: 0,
            guaranteed: Tally::default(),
            outdated: true,
            reshare: true,
            unsettled: Vec::new(),
            eased: BTreeSet::new(),
            news: BTreeSet::new(),
        };
        queues.upsert(QueueSpec::default(), |_| None);
        queues
    }
}

impl Queues {
    /// Declares a queue, or declares it anew; says which, if that changes anything. `number` gives
    /// the numbers of resources.
    pub fn upsert(
        &mut self,
        spec: QueueSpec,
        mut number: impl FnMut(&str) -> Option<Dimension>,
    ) -> Option<QueueId> {
        let id = self.slot(&spec.name);
        let queue = &mut self.queues[id];
        let mut spec = spec;
        let saved = spec.saved_flow.take();
        if queue
            .spec
            .as_ref()
            .is_none_or(|before| before.uid != spec.uid)
        {
            // Another queue of this name: what was used in the one before is not its history.
            queue.account.flow = Flow::default();
            queue.saved_flow = saved;
        }
        if queue.spec.as_ref() == Some(&spec) {
            return None;
        }
        let mut numbered = |amounts: &Amounts| {
            let known = |(name, amount): &(String, i64)| Some((number(name)?, *amount));
            amounts.iter().filter_map(known).collect()
        };
        (queue.limit, queue.guaranteed) = (numbered(&spec.limit), numbered(&spec.guaranteed));
        queue.spec = Some(spec);
        self.outdated = true;
        self.eased.insert(Eased::Terms(id));
        Some(id)
    }

    /// Takes a declaration back. `default` falls back to what it is by itself, if it is anything.
    pub fn remove(&mut self, name: &str) -> Option<QueueId> {
        let id = self.by_name.get(name).copied()?;
        let queue = &mut self.queues[id];
        let is_default = self.has_default && name == DEFAULT_QUEUE;
        queue.spec = is_default.then(QueueSpec::default);
        (queue.limit, queue.guaranteed) = (Vec::new(), Vec::new());
        self.outdated = true;
        self.forget_if_unused(id);
        Some(id)
    }

    /// Notes that a gang names a queue.
    pub fn join(&mut self, name: &str, gang: GangId) -> QueueId {
        let id = self.slot(name);
        self.queues[id].gangs.insert(gang);
        id
    }

    /// Notes whether a gang that names the queue has work for it.
    pub(super) fn note_work(&mut self, id: QueueId, gang: GangId, works: bool) {
        let queue = &mut self.queues[id];
        let had_a_share = queue.has_a_share();
        if works {
            queue.workers.insert(gang);
        } else {
            queue.workers.remove(&gang);
        }
        self.reshare |= queue.has_a_share() != had_a_share;
    }

    /// Notes that a gang does not name the queue any more.
    pub fn leave(&mut self, id: QueueId, gang: GangId) {
        self.note_work(id, gang, false);
        self.queues[id].gangs.remove(&gang);
        self.give_back(id, gang);
        self.forget_if_unused(id);
    }

    /// The queue of an id.
    #[must_use]
    pub fn get(&self, id: QueueId) -> Option<&Queue> {
        self.queues.get(id)
    }

    /// The queue of a name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<(QueueId, &Queue)> {
        let id = self.by_name.get(name)?;
        Some((*id, &self.queues[*id]))
    }

    /// Whether somebody declared a queue of this name, or it is there by itself.
    pub(super) fn is_declared(&self, name: &str) -> bool {
        let known = self.find(name);
        known.is_some_and(|(_, queue)| queue.spec.is_some())
    }

    /// The resources of which some queue may hold only so much, or has some for itself, a bit for each.
    pub(super) fn named(&self) -> u32 {
        let amounts = self
            .iter()
            .flat_map(|(_, queue)| [&queue.limit, &queue.guaranteed]);
        let named = amounts.flatten().map(|(one, _)| 1 << one.index());
        named.fold(0, |all, bit: u32| all | bit)
    }

    /// The number of a resource in which nothing counts becomes another's.
    pub(super) fn forget(&mut self, dimension: Dimension) {
        self.cluster.flow.forget(dimension);
        for (_, queue) in self.queues.iter_mut() {
            queue.account.flow.forget(dimension);
        }
    }

    /// Whether a resource counts in any of the books.
    pub(super) fn counts_in(&self, dimension: Dimension) -> bool {
        let counts = |account: &Account| {
            let mut charges = account.charges();
            account.held.all.get(dimension) != 0
                || charges.any(|(_, charge)| charge.of.get(dimension) != 0)
        };
        counts(&self.cluster) || self.iter().any(|(_, queue)| counts(&queue.account))
    }

    /// How many queues there are, those that are only named included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.queues.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.queues.is_empty()
    }

    /// All queues by name.
    pub fn iter(&self) -> impl Iterator<Item = (QueueId, &Queue)> {
        self.by_name
            .values()
            .filter_map(|id| self.queues.get(*id).map(|queue| (*id, queue)))
    }

    /// The books of the cluster as a whole.
    #[must_use]
    pub const fn cluster(&self) -> &Account {
        &self.cluster
    }

    /// The half-life of flows.
    #[must_use]
    pub const fn half_life(&self) -> Millis {
        self.half_life
    }

    /// Has no default queue but one that somebody declares.
    pub(super) fn do_without_default(&mut self) {
        self.has_default = false;
        let (id, default) = (self.slot(DEFAULT_QUEUE), QueueSpec::default());
        if self.queues[id].spec.as_ref() == Some(&default) {
            self.remove(DEFAULT_QUEUE);
        }
    }

    /// Sets the half-life of flows.
    pub const fn set_half_life(&mut self, half_life: Millis) {
        self.half_life = half_life;
    }

    /// Counts what a pod of a gang holds, or what is held for it, or not any more.
    pub(super) fn count(
        &mut self,
        id: QueueId,
        lifetime: Lifetime,
        request: &Request,
        nominated: bool,
        more: bool,
    ) {
        self.change(id, |holdings| {
            holdings.change(lifetime, request, nominated, more);
        });
        if lifetime == Lifetime::Unlimited {
            self.reserve(
                id,
                request
                    .iter()
                    .map(|(dimension, amount)| (dimension, signed(amount, more))),
            );
        }
    }

    /// The same of all that a gang holds, with what of that is only held for it.
    pub(super) fn count_all(
        &mut self,
        id: QueueId,
        lifetime: Lifetime,
        (all, nominated): (&Tally, &Tally),
        more: bool,
    ) {
        self.change(id, |holdings| {
            holdings.change_by(lifetime, (all, nominated), more);
        });
        if lifetime == Lifetime::Unlimited {
            self.reserve(
                id,
                all.iter()
                    .map(|(dimension, amount)| (dimension, signed(amount, more))),
            );
        }
    }

    /// Follows what a queue has come to hold for ever, for all above it.
    fn reserve(&mut self, id: QueueId, changes: impl Iterator<Item = (Dimension, i64)>) {
        if self.outdated || self.guarantees == 0 {
            return;
        }
        for (dimension, mut more) in changes {
            let mut at = Some(id);
            while let Some(queue) = at.and_then(|id| self.queues.get(id)) {
                // What it holds has changed already.
                more = queue.reserve(dimension) - queue.reserve_with(dimension, -more);
                at = queue.parent;
                let above = match at {
                    Some(parent) => &mut self.queues[parent].reserved_below,
                    None => &mut self.reserved,
                };
                above.add_amount(dimension, more);
            }
        }
    }

    /// What is reserved of a resource: what is held for ever or guaranteed.
    #[must_use]
    pub fn reserved(&self, dimension: Dimension) -> i64 {
        self.reserved.get(dimension)
    }

    /// What is guaranteed of a resource in all.
    #[must_use]
    pub fn guaranteed(&self, dimension: Dimension) -> i64 {
        self.guaranteed.get(dimension)
    }

    /// Whether anything is guaranteed to anybody.
    #[must_use]
    pub const fn has_guarantees(&self) -> bool {
        self.guarantees > 0
    }

    fn change(&mut self, id: QueueId, change: impl Fn(&mut Holdings)) {
        change(&mut self.queues[id].account.own);
        if self.outdated {
            // All sums are made anew with the tree.
            return;
        }
        change(&mut self.cluster.held);
        let mut next = Some(id);
        while let Some(id) = next {
            let queue = &mut self.queues[id];
            change(&mut queue.account.held);
            if !std::mem::replace(&mut queue.unsettled, true) {
                self.unsettled.push(id);
            }
            next = queue.parent;
        }
    }

    /// Brings flows up to what is held now. To be called before time goes on.
    pub(super) fn settle(&mut self, weights: &Weights, now: Time) {
        if self.outdated {
            self.rebuild(weights, now);
        }
        if self.reshare {
            self.share_out(weights);
        }
        if self.unsettled.is_empty() {
            return;
        }
        if self.cluster.settle(weights, now, self.half_life) {
            self.eased.insert(Eased::Use(None));
        }
        for id in std::mem::take(&mut self.unsettled) {
            let Some(queue) = self.queues.get_mut(id) else {
                continue;
            };
            queue.unsettled = false;
            if queue.account.settle(weights, now, self.half_life) {
                self.eased.insert(Eased::Use(Some(id)));
            }
            self.news.insert(id);
        }
    }

    /// The queues whose books changed since this was last asked.
    pub(super) fn take_news(&mut self) -> BTreeSet<QueueId> {
        std::mem::take(&mut self.news)
    }

    /// What a unit of a resource is worth has changed, or how much of it there is. What was used until now
    /// was used at what it was worth then.
    pub(super) fn reweigh(&mut self, before: &Weights, weights: &Weights, now: Time) {
        self.settle(before, now);
        self.cluster.revalue(before, weights);
        for (_, queue) in self.queues.iter_mut() {
            queue.account.revalue(before, weights);
        }
        self.outdated = true;
    }

    /// Makes the tree anew, and all sums over it.
    fn rebuild(&mut self, weights: &Weights, now: Time) {
        self.outdated = false;
        self.place_all();
        let ids: Vec<QueueId> = self.by_name.values().copied().collect();
        let mut sum = Holdings::default();
        for id in &ids {
            let account = &mut self.queues[*id].account;
            account.held = account.own.clone();
            sum.add(&account.own);
        }
        self.cluster.held = sum;
        let guaranteed = |id: &&QueueId| !self.queues[**id].guaranteed.is_empty();
        self.guarantees = ids.iter().filter(guaranteed).count();
        self.reserved = Tally::default();
        for id in &ids {
            self.queues[*id].reserved_below = Tally::default();
        }
        for id in self.downwards().into_iter().rev() {
            let queue = &self.queues[id];
            if let Some(parent) = queue.parent {
                let held = queue.account.held.clone();
                self.queues[parent].account.held.add(&held);
            }
            let reserves = self.queues[id].reserves();
            let above = match self.queues[id].parent {
                Some(parent) => &mut self.queues[parent].reserved_below,
                None => &mut self.reserved,
            };
            for (dimension, amount) in reserves {
                above.add_amount(dimension, amount);
            }
        }
        self.sum_up_guarantees();
        self.cluster.settle(weights, now, self.half_life);
        for id in ids {
            let queue = &mut self.queues[id];
            queue.account.settle(weights, now, self.half_life);
            // No flow was ever above what the cluster has, where that is known.
            let known = weights.total() > 0;
            if known && let Some((flow, at)) = queue.saved_flow.take() {
                let flow = flow.min(weights.total());
                queue.account.flow.recall(flow, at, now, self.half_life);
            }
            self.eased.insert(Eased::Terms(id));
            self.news.insert(id);
        }
        self.eased.insert(Eased::Use(None));
        self.reshare = true;
    }

    fn sum_up_guarantees(&mut self) {
        self.guaranteed = Tally::default();
        let mut below: BTreeMap<QueueId, Tally> = BTreeMap::new();
        for id in self.downwards().into_iter().rev() {
            let queue = &self.queues[id];
            let mut floor = below.remove(&id).unwrap_or_default();
            for (dimension, amount) in &queue.guaranteed {
                let more = amount.saturating_sub(floor.get(*dimension));
                floor.add_amount(*dimension, more.max(0));
            }
            let above = match queue.parent {
                Some(parent) => below.entry(parent).or_default(),
                None => &mut self.guaranteed,
            };
            above.add_all(&floor);
        }
    }

    /// Gives every queue its fair share: its weight over the sum of its siblings' weights, of its
    /// parent's share.
    fn share_out(&mut self, weights: &Weights) {
        self.reshare = false;
        self.cluster.share = weights.total();
        // Who has no place in the tree has no share.
        for (id, queue) in self.queues.iter_mut() {
            if queue.misplaced.is_some() && std::mem::take(&mut queue.account.share) > 0 {
                self.news.insert(id);
            }
        }
        self.share_among(&self.roots.clone(), weights.total());
        for id in self.downwards() {
            let (children, share) = {
                let queue = &self.queues[id];
                (queue.children.clone(), queue.account.share)
            };
            self.share_among(&children, share);
        }
    }

    fn share_among(&mut self, siblings: &BTreeSet<QueueId>, share: u64) {
        let weight = |queue: &Queue| match &queue.spec {
            Some(spec) if queue.has_a_share() => u128::from(spec.weight),
            _ => 0,
        };
        let sum: u128 = siblings.iter().map(|id| weight(&self.queues[*id])).sum();
        for id in siblings {
            let queue = &mut self.queues[*id];
            let part = u128::from(share) * weight(queue);
            let part = part.checked_div(sum).unwrap_or(0);
            let part = u64::try_from(part).unwrap_or(u64::MAX);
            let before = std::mem::replace(&mut queue.account.share, part);
            if part > before {
                self.eased.insert(Eased::Terms(*id));
            }
            if part != before {
                self.news.insert(*id);
            }
        }
    }

    /// In what somebody may start who could not before.
    pub fn take_eased(&mut self) -> BTreeSet<Eased> {
        std::mem::take(&mut self.eased)
    }

    /// Whether there is anything of that kind.
    #[must_use]
    pub fn has_eased(&self) -> bool {
        !self.eased.is_empty()
    }

    /// Charges a gang against its queue's budget, or for now not; says what it was charged before.
    pub(super) fn charge(
        &mut self,
        id: QueueId,
        gang: GangId,
        charge: Option<Charge>,
    ) -> Option<Charge> {
        self.queues[id].account.charge(gang, charge)
    }

    /// Gives a gang's charge back.
    pub(super) fn give_back(&mut self, id: QueueId, gang: GangId) {
        if self.charge(id, gang, None).is_some() {
            self.eased.insert(Eased::Use(Some(id)));
        }
    }

    /// Derives the sums over the tree from scratch and compares.
    pub(super) fn audit(&self) -> Result<(), String> {
        if self.outdated {
            return Ok(());
        }
        let mut anew = self.clone();
        anew.outdated = true;
        anew.rebuild(&Weights::default(), Time::ZERO);
        for (id, queue) in self.iter() {
            let (noted, found) = (&queue.account.held, &anew.queues[id].account.held);
            let reserved = &anew.queues[id].reserved_below;
            if self.guarantees > 0 && queue.reserved_below != *reserved {
                let noted = &queue.reserved_below;
                return Err(format!(
                    "queue {}: {noted:?} reserved below it, not {reserved:?}",
                    queue.name
                ));
            }
            if noted != found || queue.parent != anew.queues[id].parent {
                return Err(format!(
                    "queue {}: holds {noted:?}, not {found:?}",
                    queue.name
                ));
            }
        }
        Ok(())
    }

    fn slot(&mut self, name: &str) -> QueueId {
        if let Some(id) = self.by_name.get(name) {
            return *id;
        }
        let id = self.queues.insert(Queue {
            name: name.into(),
            ..Queue::default()
        });
        self.by_name.insert(name.to_owned(), id);
        id
    }

    fn forget_if_unused(&mut self, id: QueueId) {
        let unused = |queue: &Queue| {
            let empty = Holdings::default();
            queue.spec.is_none() && queue.gangs.is_empty() && queue.account.own == empty
        };
        if self.queues.get(id).is_some_and(unused)
            && let Some(queue) = self.queues.remove(id)
        {
            self.by_name.remove(&*queue.name);
            self.roots.remove(&id);
            self.outdated |= !queue.children.is_empty();
            // They may go, too, before the tree is made anew.
            for child in &queue.children {
                if let Some(child) = self.queues.get_mut(*child) {
                    child.parent = None;
                }
            }
            if let Some(parent) = queue.parent {
                self.queues[parent].children.remove(&id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::ids::Id;

    #[test]
    fn the_default_queue_exists_by_itself_and_survives_deletion() {
        let mut queues = Queues::default();
        let declared = |queues: &Queues| queues.iter().any(|(_, queue)| queue.spec.is_some());
        assert!(declared(&queues));
        queues.remove(DEFAULT_QUEUE);
        assert!(declared(&queues));
    }

    #[test]
    fn without_a_default_queue_there_is_one_while_somebody_declares_it() {
        let mut queues = Queues::default();
        queues.do_without_default();
        let declared = |queues: &Queues| queues.iter().any(|(_, queue)| queue.spec.is_some());
        assert!(!declared(&queues));
        queues.upsert(QueueSpec::default(), |_| None);
        assert!(declared(&queues));
        queues.remove(DEFAULT_QUEUE);
        assert!(!declared(&queues));
    }

    #[test]
    fn a_queue_goes_after_the_one_above_it_has() {
        let queue = |name: &str, parent: Option<&str>| QueueSpec {
            name: name.to_owned(),
            parent: parent.map(str::to_owned),
            ..QueueSpec::default()
        };
        let mut queues = Queues::default();
        queues.upsert(queue("above", None), |_| None);
        queues.upsert(queue("below", Some("above")), |_| None);
        queues.settle(&Weights::default(), Time::ZERO);
        // Before the tree is made anew.
        queues.remove("above");
        queues.remove("below");
        queues.settle(&Weights::default(), Time::ZERO);
        assert_eq!(queues.iter().count(), 1);
    }

    #[test]
    fn a_queue_that_is_only_named_is_forgotten_with_its_last_gang() {
        let mut queues = Queues::default();
        let id = queues.join("later", GangId::from_index(0));
        assert!(queues.get(id).is_some_and(|queue| queue.spec.is_none()));
        queues.leave(id, GangId::from_index(0));
        assert!(queues.get(id).is_none());
    }
}
