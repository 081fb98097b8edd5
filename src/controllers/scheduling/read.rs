//! What is read of Schedulings, BatchJobs and Testbeds, as plain data.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time as Date};
use muster_api::crd::{
    BatchJob, BatchJobState, CreationRequest, ScheduledJob, ScheduledJobState, Scheduling,
    SchedulingReference, SchedulingStatus, Slot, SlotMode, SlotState, Testbed,
};
use muster_api::slices::Sizes;
use muster_model::units::Time;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// What holds a Scheduling until its claims are given back.
pub(super) const FINALIZER: &str = "muster.dev/scheduling";

/// An object in its namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Name {
    pub(super) namespace: String,
    pub(super) name: String,
}

impl Name {
    pub(super) fn new(namespace: &str, name: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    pub(super) fn of(meta: &ObjectMeta) -> Self {
        Self {
            namespace: meta.namespace.clone().unwrap_or_default(),
            name: meta.name.clone().unwrap_or_default(),
        }
    }

    /// Another object of the same namespace.
    pub(super) fn beside(&self, name: &str) -> Self {
        Self::new(&self.namespace, name)
    }
}

impl From<&SchedulingReference> for Name {
    fn from(one: &SchedulingReference) -> Self {
        Self::new(&one.namespace, &one.name)
    }
}

/// Who is asked before whom.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    pub(super) created: Option<Timestamp>,
    pub(super) name: Name,
}

/// In which order the BatchJobs of a Scheduling go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// One after the other, on whichever slots are free.
    Queue,
    /// One after the other, each on its slots.
    Strict,
    /// Whichever fits, each on its slots.
    Relaxed,
}

/// Which slots a BatchJob is to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ask {
    /// So many.
    Any(i32),
    /// These.
    These(Vec<i32>),
}

/// A BatchJob of a Scheduling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) name: String,
    pub(super) ask: Ask,
}

/// A Scheduling.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) uid: String,
    pub(super) version: String,
    pub(super) generation: i64,
    pub(super) created: Option<Timestamp>,
    pub(super) terminating: bool,
    pub(super) finalizers: Vec<String>,
    pub(super) testbed: String,
    pub(super) order: Order,
    pub(super) items: Vec<Item>,
    pub(super) said: Option<SchedulingStatus>,
}

impl Plan {
    pub(super) fn read(scheduling: &Scheduling) -> Self {
        let meta = &scheduling.metadata;
        let spec = &scheduling.spec;
        let (order, items) = match (&spec.queue_based, &spec.slot_based) {
            (Some(jobs), None) => {
                let items = jobs.iter().map(|one| Item {
                    name: one.name.clone(),
                    ask: Ask::Any(one.slots),
                });
                (Order::Queue, items.collect())
            }
            (None, Some(based)) => {
                let order = match based.mode {
                    SlotMode::Strict => Order::Strict,
                    SlotMode::Relaxed => Order::Relaxed,
                };
                let items = based.jobs.iter().map(|one| Item {
                    name: one.name.clone(),
                    ask: Ask::These(one.slots.clone()),
                });
                (order, items.collect())
            }
            // The API server refuses it.
            (Some(_), Some(_)) | (None, None) => (Order::Strict, Vec::new()),
        };
        Self {
            uid: meta.uid.clone().unwrap_or_default(),
            version: meta.resource_version.clone().unwrap_or_default(),
            generation: meta.generation.unwrap_or_default(),
            created: meta.creation_timestamp.as_ref().map(|at| at.0),
            terminating: meta.deletion_timestamp.is_some(),
            finalizers: meta.finalizers.clone().unwrap_or_default(),
            testbed: spec.testbed.clone(),
            order,
            items: first_of_each(items),
            said: scheduling.status.clone(),
        }
    }

    pub(super) fn rank(&self, name: &Name) -> Rank {
        Rank {
            created: self.created,
            name: name.clone(),
        }
    }

    /// Where the finalizer stands in its list.
    pub(super) fn finalizer(&self) -> Option<usize> {
        self.finalizers.iter().position(|one| one == FINALIZER)
    }

    /// Whether it may have claims.
    pub(super) fn is_bound(&self) -> bool {
        !self.terminating && self.finalizer().is_some()
    }

    pub(super) fn has(&self, job: &str) -> bool {
        self.items.iter().any(|one| one.name == job)
    }

    /// What its status says of a BatchJob that has ended.
    pub(super) fn recorded(&self, job: &str) -> Option<&ScheduledJob> {
        let said = self.said.as_ref()?;
        let ended = |state| {
            matches!(
                state,
                ScheduledJobState::Completed | ScheduledJobState::Failed
            )
        };
        let mut of = said.jobs.iter().filter(|one| one.name == job);
        of.find(|one| ended(one.state))
    }

    /// Whether its status says of all that they have ended.
    pub(super) fn is_over(&self) -> bool {
        !self.items.is_empty()
            && self
                .items
                .iter()
                .all(|one| self.recorded(&one.name).is_some())
    }
}

/// The API server lets no name stand there twice.
fn first_of_each(items: Vec<Item>) -> Vec<Item> {
    let mut seen = BTreeSet::new();
    let mut items = items;
    items.retain(|one| seen.insert(one.name.clone()));
    items
}

/// What is asked of a BatchJob.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) claim: Option<Name>,
    pub(super) request: Option<CreationRequest>,
}

/// A write that may have happened, and of which nobody has told yet.
#[derive(Clone, Debug)]
pub(super) struct Assumed {
    pub(super) asked: Asked,
    pub(super) operations: Vec<Value>,
    /// When its answer was lost, if it was.
    pub(super) lost: Option<Time>,
}

/// A BatchJob.
#[derive(Clone, Debug, Default)]
pub(super) struct Job {
    pub(super) uid: String,
    pub(super) version: String,
    pub(super) terminating: bool,
    pub(super) known: Asked,
    pub(super) assumed: Option<Assumed>,
    /// Whether its status speaks of its spec as it is.
    pub(super) told: bool,
    pub(super) state: BatchJobState,
    pub(super) active: Option<Name>,
    pub(super) testbed: Option<String>,
    pub(super) slots: Vec<i32>,
    pub(super) completed_at: Option<Date>,
    /// Why it cannot do what its spec says.
    pub(super) fault: Option<String>,
}

impl Job {
    pub(super) fn read(job: &BatchJob) -> Self {
        let meta = &job.metadata;
        let spec = &job.spec;
        let status = job.status.clone().unwrap_or_default();
        let mut conditions = status.conditions.into_iter();
        let fault = conditions.find(|one| one.kind == "Accepted" && one.status == "False");
        Self {
            uid: meta.uid.clone().unwrap_or_default(),
            version: meta.resource_version.clone().unwrap_or_default(),
            terminating: meta.deletion_timestamp.is_some(),
            known: Asked {
                claim: spec.active_scheduling.as_ref().map(Name::from),
                request: spec.creation_request.clone(),
            },
            assumed: None,
            told: status.observed_generation >= meta.generation,
            state: status.state.unwrap_or_default(),
            active: status.active_scheduling.as_ref().map(Name::from),
            testbed: status.testbed,
            slots: status.slots,
            completed_at: status.completed_at,
            fault: fault.map(|one| one.message),
        }
    }

    fn asked(&self) -> &Asked {
        self.assumed
            .as_ref()
            .map_or(&self.known, |assumed| &assumed.asked)
    }

    /// Who has it.
    pub(super) fn claim(&self) -> Option<&Name> {
        self.asked().claim.as_ref()
    }

    /// Where it is to run.
    pub(super) fn request(&self) -> Option<&CreationRequest> {
        self.asked().request.as_ref()
    }

    /// Whether its status speaks of what is asked of it by now.
    pub(super) fn is_told(&self) -> bool {
        self.told && self.assumed.is_none()
    }

    /// Whether its status follows the claim that stands in its spec.
    fn follows(&self) -> bool {
        self.claim().is_some() && self.active.as_ref() == self.claim()
    }

    /// Whether it waits to be asked to start.
    pub(super) fn is_ready_to_start(&self) -> bool {
        self.is_told() && self.follows() && self.state == BatchJobState::InQueue
    }

    /// Whether its run has ended that belongs to this claim. It is claimed only when the claim of before does not
    /// count any more: so an end that it tells is of this one, whatever else was written into it since.
    pub(super) fn has_ended(&self) -> bool {
        let ended = matches!(self.state, BatchJobState::Completed | BatchJobState::Failed);
        ended && self.follows()
    }

    /// Whether its application is there by now, of what was asked.
    pub(super) fn has_begun(&self) -> bool {
        self.follows() && !matches!(self.state, BatchJobState::Ready | BatchJobState::InQueue)
    }

    /// Whether nobody has it and nothing is left of its last run.
    pub(super) fn is_free(&self) -> bool {
        let rests = matches!(
            self.state,
            BatchJobState::Ready | BatchJobState::Completed | BatchJobState::Failed
        );
        self.claim().is_none() && self.active.is_none() && rests
    }

    /// Where its pods are or may be, of an application that is to go.
    fn remains(&self) -> Option<&String> {
        let there = matches!(
            self.state,
            BatchJobState::Submitted | BatchJobState::Running
        );
        self.testbed.as_ref().filter(|_| there)
    }

    /// The Testbeds on which it has slots.
    pub(super) fn testbeds(&self) -> BTreeSet<&String> {
        let asked = self.request().map(|one| &one.testbed);
        asked.into_iter().chain(self.remains()).collect()
    }

    /// The slots of a Testbed that are promised to it.
    pub(super) fn takes<'a>(&'a self, testbed: &'a str) -> impl Iterator<Item = i32> + 'a {
        let asked = self.request().filter(|_| !self.has_ended());
        let asked = asked.filter(|one| one.testbed == testbed);
        let asked = asked.into_iter().flat_map(|one| one.slots.iter());
        let remains = self.remains().filter(|one| *one == testbed);
        let remains = remains.into_iter().flat_map(|_| self.slots.iter());
        asked.chain(remains).copied()
    }
}

/// A Testbed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Bed {
    pub(super) uid: String,
    pub(super) version: String,
    /// Of each slot, whether it is free.
    pub(super) slots: BTreeMap<i32, bool>,
}

impl Bed {
    /// One of which no slots are known yet.
    pub(super) fn read(testbed: &Testbed) -> Self {
        Self {
            uid: testbed.metadata.uid.clone().unwrap_or_default(),
            ..Self::default()
        }
    }

    /// Takes what its status says; whether it has slots of the same numbers as before.
    pub(super) fn update(&mut self, testbed: &Testbed, sizes: Sizes) -> bool {
        let version = testbed.metadata.resource_version.clone();
        self.version = version.unwrap_or_default();
        let slots = testbed.status.iter().flat_map(|status| &status.slots);
        let slots = slots.filter(|slot| sizes.is_within(0, slot));
        self.take(sizes.numbers(0), slots)
    }

    /// These slots are known besides.
    pub(super) fn extend<'a>(&mut self, slots: impl Iterator<Item = &'a Slot>) {
        let slots = slots.map(|one| (one.position, one.state == SlotState::Free));
        self.slots.extend(slots);
    }

    /// Takes a part of its slots; whether they have the same numbers as before.
    pub(super) fn take<'a>(
        &mut self,
        part: Range<u32>,
        slots: impl Iterator<Item = &'a Slot>,
    ) -> bool {
        let signed = |number: u32| i32::try_from(number).unwrap_or(i32::MAX);
        let part = signed(part.start)..signed(part.end);
        let before = self.slots.extract_if(part.clone(), |_, _| true);
        let before: Vec<i32> = before.map(|(number, _)| number).collect();
        self.extend(slots);
        let now = self.slots.range(part).map(|(number, _)| number);
        before.iter().eq(now)
    }
}
