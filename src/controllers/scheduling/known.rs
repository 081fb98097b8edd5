//! What is known of Schedulings, BatchJobs and Testbeds, and who has to do with whom.

use super::read::{Bed, Job, Name, Plan, Rank};
use std::collections::{BTreeMap, BTreeSet};

/// What is known.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    pub(super) plans: BTreeMap<Name, Plan>,
    pub(super) jobs: BTreeMap<Name, Job>,
    pub(super) beds: BTreeMap<String, Bed>,
    /// BatchJobs whose claim or start the API server has refused, and why.
    pub(super) refused: BTreeMap<Name, String>,
    /// Schedulings to which the API server did not give the finalizer: they are in nobody's way until it does.
    pub(super) not_bound: BTreeSet<Name>,
    /// Of each namespace the Schedulings that have something to do, in their order.
    live: BTreeMap<String, BTreeSet<Rank>>,
    /// The same, of each Testbed.
    on_bed: BTreeMap<String, BTreeSet<Rank>>,
    /// Of each namespace, who claims which of its BatchJobs.
    claims: BTreeMap<String, BTreeMap<Name, BTreeSet<String>>>,
    /// The BatchJobs that have slots of each Testbed.
    users: BTreeMap<String, BTreeSet<Name>>,
}

impl Known {
    /// A Scheduling is so, or is not there any more.
    pub(super) fn set_plan(&mut self, name: &Name, plan: Option<Plan>) {
        if let Some(before) = self.plans.remove(name) {
            let rank = before.rank(name);
            take_out(&mut self.live, &name.namespace, &rank);
            take_out(&mut self.on_bed, &before.testbed, &rank);
        }
        if plan.as_ref().is_none_or(Plan::is_bound) {
            self.not_bound.remove(name);
        }
        if let Some(plan) = plan {
            self.plans.insert(name.clone(), plan);
            self.rank(name);
        }
    }

    /// Has a Scheduling stand among those that have something to do, or not.
    fn rank(&mut self, name: &Name) {
        let Some(plan) = self.plans.get(name) else {
            return;
        };
        let claims = self
            .claims
            .get(&name.namespace)
            .and_then(|of| of.get(name))
            .is_some_and(|jobs| !jobs.is_empty());
        let rank = plan.rank(name);
        if plan.is_over() && !claims && !plan.terminating {
            take_out(&mut self.live, &name.namespace, &rank);
            take_out(&mut self.on_bed, &plan.testbed, &rank);
        } else {
            let live = self.live.entry(name.namespace.clone()).or_default();
            live.insert(rank.clone());
            let on_bed = self.on_bed.entry(plan.testbed.clone()).or_default();
            on_bed.insert(rank);
        }
    }

    /// A BatchJob is so, or is not there any more.
    pub(super) fn set_job(&mut self, name: &Name, job: Option<Job>) {
        if let Some(before) = self.jobs.remove(name) {
            for bed in before.testbeds() {
                take_out(&mut self.users, bed, name);
            }
            if let Some(claim) = before.claim()
                && let Some(of) = self.claims.get_mut(&name.namespace)
            {
                take_out(of, claim, &name.name);
                if of.is_empty() {
                    self.claims.remove(&name.namespace);
                }
                self.rank(claim);
            }
        }
        if let Some(job) = job {
            for bed in job.testbeds() {
                let users = self.users.entry(bed.clone()).or_default();
                users.insert(name.clone());
            }
            if let Some(claim) = job.claim() {
                let of = self.claims.entry(name.namespace.clone()).or_default();
                let jobs = of.entry(claim.clone()).or_default();
                jobs.insert(name.name.clone());
                self.rank(&claim.clone());
            }
            self.jobs.insert(name.clone(), job);
        }
    }

    /// The Schedulings of a namespace that have something to do, in their order.
    pub(super) fn live(&self, namespace: &str) -> impl Iterator<Item = (&Name, &Plan)> {
        self.of(self.live.get(namespace))
    }

    /// The Schedulings of a Testbed that have something to do, in their order.
    pub(super) fn on_bed(&self, bed: &str) -> impl Iterator<Item = (&Name, &Plan)> {
        self.of(self.on_bed.get(bed))
    }

    fn of<'a>(
        &'a self,
        ranks: Option<&'a BTreeSet<Rank>>,
    ) -> impl Iterator<Item = (&'a Name, &'a Plan)> {
        let names = ranks.into_iter().flatten().map(|rank| &rank.name);
        names.filter_map(|name| Some((name, self.plans.get(name)?)))
    }

    /// Who claims BatchJobs of a namespace, and which.
    pub(super) fn claims(
        &self,
        namespace: &str,
    ) -> impl Iterator<Item = (&Name, &BTreeSet<String>)> {
        self.claims.get(namespace).into_iter().flatten()
    }

    /// The BatchJobs that a Scheduling claims, in its own namespace.
    pub(super) fn claimed_by(&self, scheduling: &Name) -> impl Iterator<Item = &String> {
        let of = self.claims.get(&scheduling.namespace);
        of.and_then(|of| of.get(scheduling)).into_iter().flatten()
    }

    /// The slots of a Testbed that are free and promised to nobody.
    pub(super) fn free_slots(&self, name: &str) -> BTreeSet<i32> {
        let slots = self.beds.get(name).into_iter().flat_map(|bed| &bed.slots);
        let free = slots.filter(|(_, free)| **free);
        let mut free: BTreeSet<i32> = free.map(|(slot, _)| *slot).collect();
        let users = self.users.get(name).into_iter().flatten();
        for slot in users
            .filter_map(|user| self.jobs.get(user))
            .flat_map(|job| job.takes(name))
        {
            free.remove(&slot);
        }
        free
    }
}

/// Takes one out of a set of a map, and the set with its last.
fn take_out<K: Ord, V: Ord>(map: &mut BTreeMap<K, BTreeSet<V>>, key: &K, value: &V) {
    if let Some(set) = map.get_mut(key) {
        set.remove(value);
        if set.is_empty() {
            map.remove(key);
        }
    }
}
