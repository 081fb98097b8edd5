//! Schedulings: BatchJobs that are claimed all or none, and started on slots of a Testbed in the order that
//! somebody chose.
//!
//! News marks namespaces, of which is worked out anew who claims which BatchJobs, and Testbeds, of which the
//! slots are dealt anew. What is to be written is what follows from both, compared with what is there.

mod claims;
mod deal;
mod deeds;
mod known;
mod phase;
mod problems;
mod read;
mod status;

use super::flights::Flights;
use super::room::InTurn;
use super::{Answer, Machine, Observation, Resource, Room, Ticket, Write};
use claims::Standing;
use deal::Dealt;
use deeds::Sent;
use known::Known;
use muster_api::crd;
use muster_api::kinds::{Identity, is_older};
use muster_api::slices::{Sizes, Slices};
use muster_model::units::{Millis, Time};
use read::{Bed, Job, Name, Plan};
use std::collections::{BTreeMap, BTreeSet};

/// A claim of a Scheduling that is not there is given back after this time: news of it may be on its way.
const ORPHANED: Millis = Millis(5_000);

const NEEDS: [Resource; 4] = [
    Resource::Schedulings,
    Resource::BatchJobs,
    Resource::Testbeds,
    Resource::TestbedSlices,
];

/// What is written, or looked at: of each object one write at most is in flight.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Target {
    Job(Name),
    Scheduling(Name),
    /// Whether what was refused of this BatchJob may be tried again. Nothing is in flight of it.
    Refusal(Name),
}

impl Target {
    fn namespace(&self) -> &str {
        let (Self::Job(name) | Self::Scheduling(name) | Self::Refusal(name)) = self;
        &name.namespace
    }
}

/// What is to be worked out anew.
#[derive(Debug, Default)]
struct Marked {
    /// Who claims what in these namespaces.
    namespaces: BTreeSet<String>,
    /// Who has which slots of these Testbeds.
    beds: BTreeSet<String>,
}

/// What a BatchJob is wanted to be.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Want {
    Claimed(Name),
    Released,
}

/// The machine of all Schedulings.
#[derive(Debug)]
pub struct Schedulings {
    unsynced: BTreeSet<Resource>,
    known: Known,
    sizes: Sizes,
    slices: Slices,
    standings: BTreeMap<Name, Standing>,
    dealt: BTreeMap<String, Dealt>,
    /// Of each namespace, what is wanted of its BatchJobs.
    wants: BTreeMap<String, BTreeMap<Name, Want>>,
    /// Since when BatchJobs are claimed by who is not there.
    orphans: BTreeMap<Name, Time>,
    flights: Flights<Target, Sent>,
    alarms: BTreeSet<(Time, Target)>,
    marked: Marked,
    /// Objects that may have to be written.
    queue: InTurn<Target>,
}

impl Default for Schedulings {
    fn default() -> Self {
        Self::with(Sizes::default())
    }
}

impl Schedulings {
    /// A machine that knows nothing yet, for Testbeds whose parts are so large.
    #[must_use]
    pub fn with(sizes: Sizes) -> Self {
        Self {
            unsynced: NEEDS.into(),
            known: Known::default(),
            sizes,
            slices: Slices::new(sizes),
            standings: BTreeMap::new(),
            dealt: BTreeMap::new(),
            wants: BTreeMap::new(),
            orphans: BTreeMap::new(),
            flights: Flights::default(),
            alarms: BTreeSet::new(),
            marked: Marked::default(),
            queue: InTurn::default(),
        }
    }

    /// A machine that knows nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn scheduling_is(&mut self, scheduling: &crd::Scheduling) {
        let name = Name::of(&scheduling.metadata);
        let plan = Plan::read(scheduling);
        if let Some(before) = self.known.plans.get(&name)
            && before.uid == plan.uid
            && is_older(&scheduling.metadata, &before.version)
        {
            return;
        }
        let before = self.known.plans.get(&name);
        if before.is_none_or(|before| before.version != plan.version) {
            self.flights.settle(&Target::Scheduling(name.clone()));
        }
        self.mark_scheduling(&name);
        self.known.set_plan(&name, Some(plan));
        self.mark_scheduling(&name);
    }

    fn scheduling_gone(&mut self, scheduling: &Identity) {
        let name = Name::new(&scheduling.namespace, &scheduling.name);
        let known = self.known.plans.get(&name);
        if known.is_some_and(|plan| plan.uid == scheduling.uid) {
            self.mark_scheduling(&name);
            self.known.set_plan(&name, None);
        }
    }

    fn mark_scheduling(&mut self, name: &Name) {
        if let Some(plan) = self.known.plans.get(name) {
            self.marked.beds.insert(plan.testbed.clone());
        }
        self.marked.namespaces.insert(name.namespace.clone());
        self.queue(Target::Scheduling(name.clone()));
    }

    fn job_is(&mut self, job: &crd::BatchJob) {
        let name = Name::of(&job.metadata);
        let mut is = Job::read(job);
        if let Some(before) = self.known.jobs.get(&name).filter(|one| one.uid == is.uid) {
            if is_older(&job.metadata, &before.version) {
                return;
            }
            if before.version == is.version {
                // Whether what was sent has happened is still not known.
                is.assumed.clone_from(&before.assumed);
            } else {
                self.flights.settle(&Target::Job(name.clone()));
            }
        }
        self.set_job(&name, Some(is));
    }

    fn job_gone(&mut self, job: &Identity) {
        let name = Name::new(&job.namespace, &job.name);
        let known = self.known.jobs.get(&name);
        if known.is_some_and(|one| one.uid == job.uid) {
            self.set_job(&name, None);
            self.known.refused.remove(&name);
            self.orphans.remove(&name);
            self.queue(Target::Job(name));
        }
    }

    fn set_job(&mut self, name: &Name, job: Option<Job>) {
        self.mark_job(name);
        self.known.set_job(name, job);
        self.mark_job(name);
    }

    fn mark_job(&mut self, name: &Name) {
        if let Some(job) = self.known.jobs.get(name) {
            self.marked.beds.extend(job.testbeds().into_iter().cloned());
        }
        self.marked.namespaces.insert(name.namespace.clone());
    }

    fn testbed_is(&mut self, testbed: &crd::Testbed) {
        let name = testbed.metadata.name.clone().unwrap_or_default();
        let uid = testbed.metadata.uid.as_deref().unwrap_or_default();
        let same = match self.known.beds.get_mut(&name) {
            Some(before) if before.uid == uid => {
                if is_older(&testbed.metadata, &before.version) {
                    return;
                }
                before.update(testbed, self.sizes)
            }
            _ => {
                let mut bed = Bed::read(testbed);
                bed.update(testbed, self.sizes);
                bed.extend(self.slices.beyond(&name, uid));
                self.known.beds.insert(name.clone(), bed);
                false
            }
        };
        self.mark_bed(&name, !same);
    }

    /// A part of a Testbed that is not in its status is another.
    fn part_is(&mut self, changed: Option<(String, u32)>) {
        let Some((name, part)) = changed else {
            return;
        };
        if let Some(bed) = self.known.beds.get_mut(&name) {
            let slots = self.slices.part(&name, &bed.uid, part);
            let same = bed.take(self.sizes.numbers(part), slots.iter());
            self.mark_bed(&name, !same);
        }
    }

    fn testbed_gone(&mut self, testbed: &Identity) {
        let known = self.known.beds.get(&testbed.name);
        if known.is_some_and(|bed| bed.uid == testbed.uid) {
            self.known.beds.remove(&testbed.name);
            self.mark_bed(&testbed.name, true);
        }
    }

    /// Its slots are others, or only taken by others.
    fn mark_bed(&mut self, name: &str, are_others: bool) {
        self.marked.beds.insert(name.to_owned());
        if are_others {
            let namespaces = self.known.on_bed(name);
            let namespaces = namespaces.map(|(scheduling, _)| scheduling.namespace.clone());
            self.marked.namespaces.extend(namespaces);
        }
    }

    fn see(&mut self, news: Observation) {
        match news {
            Observation::Scheduling(one) => self.scheduling_is(&one),
            Observation::BatchJob(one) => self.job_is(&one),
            Observation::Testbed(one) => self.testbed_is(&one),
            Observation::TestbedSlice(one) => {
                let changed = self.slices.is(&one);
                self.part_is(changed);
            }
            Observation::Gone(Resource::Schedulings, one) => self.scheduling_gone(&one),
            Observation::Gone(Resource::BatchJobs, one) => self.job_gone(&one),
            Observation::Gone(Resource::Testbeds, one) => self.testbed_gone(&one),
            Observation::Gone(Resource::TestbedSlices, one) => {
                let changed = self.slices.gone(&one.name, &one.uid);
                self.part_is(changed);
            }
            Observation::Synced(resource) => _ = self.unsynced.remove(&resource),
            // Of these it is not told.
            Observation::Gone(..)
            | Observation::Pod(_)
            | Observation::Node(_)
            | Observation::Namespace(_)
            | Observation::NotServed(_)
            | Observation::QueueJob(_)
            | Observation::Other(..) => {}
        }
    }

    /// Works out anew what is marked: claims first, for slots go to those that have theirs.
    fn settle(&mut self, now: Time) {
        while let Some(namespace) = self.marked.namespaces.pop_first() {
            self.settle_claims(&namespace, now);
        }
        while let Some(bed) = self.marked.beds.pop_first() {
            self.settle_slots(bed);
        }
    }

    fn settle_claims(&mut self, namespace: &str, now: Time) {
        let standings = claims::standings(&self.known, namespace);
        let mut wants = BTreeMap::new();
        for (name, standing) in &standings {
            let released = standing.give.iter().map(|job| (job, Want::Released));
            let claimed = standing.take.iter();
            let claimed = claimed.map(|job| (job, Want::Claimed(name.clone())));
            wants.extend(
                released
                    .chain(claimed)
                    .map(|(job, want)| (name.beside(job), want)),
            );
        }
        for job in self.lost_claims(namespace) {
            let since = *self.orphans.entry(job.clone()).or_insert(now);
            if now < since + ORPHANED {
                self.set_alarm(since + ORPHANED, Target::Job(job));
            } else {
                wants.insert(job, Want::Released);
            }
        }
        for job in wants.keys() {
            self.queue(Target::Job(job.clone()));
        }
        self.wants.remove(namespace);
        if !wants.is_empty() {
            self.wants.insert(namespace.to_owned(), wants);
        }
        let first = Name::new(namespace, "");
        let gone = self.standings.range(first..);
        let gone = gone.take_while(|(name, _)| name.namespace == namespace);
        let gone: Vec<Name> = gone.map(|(name, _)| name.clone()).collect();
        for name in gone {
            self.standings.remove(&name);
        }
        for (name, standing) in standings {
            if let Some(plan) = self.known.plans.get(&name) {
                self.marked.beds.insert(plan.testbed.clone());
            }
            self.queue(Target::Scheduling(name.clone()));
            self.standings.insert(name, standing);
        }
    }

    /// The BatchJobs of a namespace that are claimed by a Scheduling that is not there, or of another namespace.
    fn lost_claims(&mut self, namespace: &str) -> Vec<Name> {
        let lost = self.known.claims(namespace).filter(|(scheduling, _)| {
            scheduling.namespace != namespace || !self.known.plans.contains_key(scheduling)
        });
        let lost = lost.flat_map(|(_, jobs)| jobs);
        let lost: Vec<Name> = lost.map(|job| Name::new(namespace, job)).collect();
        self.orphans
            .retain(|job, _| job.namespace != namespace || lost.contains(job));
        lost
    }

    fn settle_slots(&mut self, bed: String) {
        let dealt = deal::deal(&self.known, &bed, &self.standings);
        let starts = dealt.starts.keys().cloned().map(Target::Job);
        let on_bed = self.known.on_bed(&bed);
        let on_bed = on_bed.map(|(name, _)| Target::Scheduling(name.clone()));
        for target in starts.chain(on_bed).collect::<Vec<_>>() {
            self.queue(target);
        }
        if dealt == Dealt::default() {
            self.dealt.remove(&bed);
        } else {
            self.dealt.insert(bed, dealt);
        }
    }

    /// It may have to be written.
    fn queue(&mut self, target: Target) {
        let namespace = target.namespace().to_owned();
        self.queue.mark(&namespace, target);
    }

    fn set_alarm(&mut self, at: Time, target: Target) {
        self.alarms.insert((at, target));
    }

    /// Looks again at what is to be looked at by now.
    fn wake(&mut self, now: Time) {
        while self.alarms.first().is_some_and(|(at, _)| *at <= now) {
            match self.alarms.pop_first() {
                Some((_, Target::Refusal(job))) => {
                    self.known.refused.remove(&job);
                    self.mark_job(&job);
                }
                Some((_, target)) => {
                    if let Target::Job(job) = &target {
                        self.mark_job(job);
                    }
                    self.queue(target);
                }
                None => return,
            }
        }
    }
}

impl Machine for Schedulings {
    fn needs(&self) -> Vec<Resource> {
        NEEDS.to_vec()
    }

    fn observe(&mut self, news: Observation, _: Time) {
        self.see(news);
    }

    fn due_in(&mut self, room: &mut dyn Room, now: Time) -> Vec<Write> {
        if !self.unsynced.is_empty() {
            return Vec::new();
        }
        self.wake(now);
        self.settle(now);
        self.deeds(now, room)
    }

    fn answered(&mut self, ticket: Ticket, answer: Answer, now: Time) {
        if let Some((target, sent)) = self.flights.land(ticket) {
            self.take(&target, &sent, answer, now);
        }
    }

    fn wakes_at(&self) -> Option<Time> {
        let (at, _) = self.alarms.first()?;
        self.unsynced.is_empty().then_some(*at)
    }
}

#[cfg(test)]
mod tests;
