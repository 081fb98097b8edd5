//! Kubernetes objects into the core's model.
//!
//! Nothing fails here: what cannot be read or honoured becomes words on the spec, and the pod or
//! gang waits with them. Points in time are milliseconds since 1970; a driver with another epoch
//! sets them itself.

mod cluster;
mod gang;
mod pod;
mod policy;
mod preferences;
mod queue;
mod selector;
mod spread;
mod storage;
mod term;
mod testbed;
mod topologies;
mod topology;
mod unsupported;
mod volcano_queue;
mod volcano_subgroups;
mod volumes;

pub use cluster::{namespace, node, priority_class, unreadable_amounts};
pub use gang::{
    coscheduling_gang, muster_gang, said_of_gang, scheduling_spec_gang, upstream_gang, volcano_gang,
};
pub use pod::pod;
pub use policy::disruption_budget;
pub use queue::queue;
pub use selector::{replica_set, replication_controller, service, stateful_set};
pub use storage::{
    attachment, capacity, claim, csi_driver, csi_node, storage_class, unreadable_sizes, volume,
};
pub use testbed::{testbed, testbed_slice};
pub use topologies::{hyper_node, name_of_others, topology_of_others};
pub use topology::topology;
pub use volcano_queue::{
    InOurWords, amounts_of_queues, is_volcanos_root, says_nothing, volcano_queue,
    volcano_queue_in_our_words,
};

use super::conventions::Workload;
use super::slices::Sizes;
use super::{names, requests, slim};
use k8s_openapi::apimachinery::pkg::apis::meta::{self, v1::ObjectMeta};
use muster_model::units::{Millis, Time};
use muster_model::{ProfileId, Reads, Source};
use std::collections::BTreeMap;

/// What conversion has to know of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Pods of these `schedulerName`s are ours.
    pub scheduler_names: Vec<String>,
    /// By which profile those of some of these names are scheduled; the others by the first.
    pub profiles: BTreeMap<String, ProfileId>,
    /// What each profile looks at beyond what all filters do.
    pub reads: Vec<Reads>,
    /// The profiles in which others go for a pod as kube-scheduler would have them go.
    pub as_upstream: Vec<ProfileId>,
    /// The resources at which each profile does not look.
    pub ignored: Vec<Ignored>,
    /// For how long a PodGroup is waited for that a client of another scheduler names; `None` is for ever.
    pub missing_pod_group_timeout: Option<Millis>,
    /// Pods of ours that are in no other gang wait for a SchedulingSpec.
    pub require_scheduling_spec: bool,
    /// Pods of ours that no mark says a gang of are one by the labels of these workloads.
    pub gangs_by_labels: Vec<Workload>,
    /// The namespace of the pods that stand for slots.
    pub ghost_namespace: String,
    /// How many slots are in the status of a Testbed, and in a slice.
    pub sizes: Sizes,
}

/// Resources of which it makes no difference how much the pods of a profile request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ignored {
    /// By name.
    pub names: Vec<String>,
    /// By the domain before the name.
    pub groups: Vec<String>,
}

impl Ignored {
    /// Whether a resource is one of these; only extended ones are (source: kube-scheduler's `fitsRequest`).
    fn has(&self, resource: &str) -> bool {
        let Some((group, _)) = resource.split_once('/') else {
            return false;
        };
        let named = self.names.iter().any(|one| one == resource);
        let named = named || self.groups.iter().any(|one| one == group);
        named && requests::is_extended(resource)
    }
}

impl Reading {
    /// By which profile pods of a `schedulerName` are scheduled.
    #[must_use]
    pub fn profile(&self, scheduler_name: &str) -> ProfileId {
        let profile = self.profiles.get(scheduler_name);
        profile.copied().unwrap_or_default()
    }

    /// Whether a PodGroup of upstream's means what it means there: the scheduler that it is for, else kube-scheduler, is by
    /// such a profile.
    fn is_as_upstream(&self, meta: &ObjectMeta) -> bool {
        let claimed = names::label(meta, names::SCHEDULER_NAME);
        let scheduler = claimed.or(Source::Upstream.scheduler()).unwrap_or_default();
        self.as_upstream.contains(&self.profile(scheduler))
    }

    /// Whether anybody looks at who chooses pods: Services and controllers.
    #[must_use]
    pub fn reads_selectors(&self) -> bool {
        self.any().selectors
    }

    /// At what a profile does not look.
    fn ignored_by(&self, profile: ProfileId) -> Option<&Ignored> {
        self.ignored.get(usize::from(profile.0))
    }

    /// What a profile looks at.
    fn of(&self, profile: ProfileId) -> Reads {
        let reads = self.reads.get(usize::from(profile.0));
        reads.copied().unwrap_or_default()
    }

    /// What any profile looks at.
    fn any(&self) -> Reads {
        self.reads.iter().copied().fold(Reads::default(), Reads::or)
    }

    /// Whether a pod is ours to schedule.
    #[must_use]
    pub fn is_ours(&self, pod: &slim::Pod) -> bool {
        self.has(scheduler_of(pod))
    }

    /// Whether a scheduler name is one of ours.
    fn has(&self, scheduler: &str) -> bool {
        self.scheduler_names.iter().any(|name| name == scheduler)
    }

    /// Whether we stand in for the scheduler of PodGroups of a kind: ours have its name.
    fn stands_in_for(&self, source: Source) -> bool {
        source.scheduler().is_some_and(|name| self.has(name))
    }

    /// Whether the label of an object claims it, or what is in it, for a scheduler of ours.
    fn is_claimed(&self, meta: &ObjectMeta) -> bool {
        names::label(meta, names::SCHEDULER_NAME).is_some_and(|name| self.has(name))
    }
}

/// The scheduler that a pod names.
fn scheduler_of(pod: &slim::Pod) -> &str {
    match pod.spec.scheduler_name.as_str() {
        "" => "default-scheduler",
        name => name,
    }
}

fn created(meta: &ObjectMeta) -> Time {
    let stamp = meta.creation_timestamp.as_ref();
    stamp.map_or(Time::ZERO, millis)
}

/// A date as the core counts time.
fn millis(at: &meta::v1::Time) -> Time {
    Time(u64::try_from(at.0.as_millisecond()).unwrap_or(0))
}

/// A number of pods or groups. One that is negative is a problem.
fn count(path: &str, found: i32, problems: &mut Vec<String>) -> u32 {
    u32::try_from(found).unwrap_or_else(|_| {
        problems.push(format!("{path}: {found} is negative"));
        0
    })
}

/// Absent and empty texts mean the same in Kubernetes.
fn filled(text: Option<&String>) -> Option<String> {
    text.filter(|text| !text.is_empty()).cloned()
}
