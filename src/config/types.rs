//! The fields of the configuration file, with their defaults.
//!
//! A field that is not known is refused. What a field may hold is a matter of its type: `values`.

use super::profiles::{NamedProfile, few};
use super::remote::{Extender, RemotePlugin};
use super::values::{
    Address, Bounded, CoresWorth, Entry, FilterPoint, ObjectName, PluginName, Point,
    QueueSortPoint, SchedulerName, ScorePoint, Span, filled, unique,
};
use muster_api::conventions::Workload;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How Muster runs on a cluster, and how it decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SchedulerConfiguration {
    /// The version of this format.
    pub api_version: ApiVersion,
    /// The kind of this file.
    pub kind: Kind,
    /// Whose pods are scheduled: values of `spec.schedulerName`.
    #[serde(default = "scheduler_names", deserialize_with = "filled")]
    #[schemars(length(min = 1), extend("uniqueItems" = true))]
    pub scheduler_names: Vec<SchedulerName>,
    /// Binds in flight at once.
    #[serde(default)]
    pub bind_concurrency: Bounded<1, 512, 128>,
    /// How often every waiting gang is looked at again, whether anything changed or not.
    #[serde(default)]
    pub sweep_interval: Span<1, 86_400, 300>,
    /// How amounts of several resources count together in a queue's usage.
    #[serde(default)]
    pub usage: Usage,
    /// What a unit of a resource is worth in cores.
    #[serde(default)]
    pub usage_weights: BTreeMap<String, CoresWorth>,
    /// Whether there is a queue `default` that nobody declared.
    #[serde(default = "yes")]
    pub default_queue: bool,
    /// How far the priority counts that a PodGroup gives itself.
    #[serde(default)]
    pub pod_group_priority: PodGroupPriority,
    /// After how long half of what a queue used beyond what it uses now is forgotten.
    #[serde(default)]
    pub half_life: Span<1, 31_536_000, 3_600>,
    /// Whether running gangs are moved to other nodes so that another has room.
    #[serde(default)]
    pub defragmentation: Defragmentation,
    /// For how long a PodGroup is waited for that pods name in a way of other schedulers' clients, before
    /// they are placed one by one; zero is for ever.
    #[serde(default)]
    pub missing_pod_group_timeout: Span<0, 86_400, 30>,
    /// Whether pods that are in no gang wait until there is a SchedulingSpec of who controls them.
    #[serde(default)]
    pub require_scheduling_spec: bool,
    /// The workloads whose pods are a gang by the labels that their controllers put on them.
    #[serde(default, deserialize_with = "unique")]
    #[schemars(extend("uniqueItems" = true))]
    pub gangs_by_labels: Vec<Workload>,
    /// How long binding the claims of a gang's pods may take before it is placed anew.
    #[serde(default)]
    pub volume_bind_timeout: Span<1, 3_600, 600>,
    /// Where the pods are that stand for the slots of Testbeds.
    #[serde(default = "ObjectName::of_ghosts")]
    pub ghost_namespace: ObjectName,
    /// Where metrics and health are served.
    #[serde(default)]
    pub listen: Address,
    /// Who decides when several instances run.
    #[serde(default)]
    pub leader_election: LeaderElection,
    /// The plugins.
    #[serde(default)]
    pub profile: Profile,
    /// Other plugins for pods of some `schedulerName`s.
    #[serde(default, deserialize_with = "few")]
    pub profiles: Vec<NamedProfile>,
    /// Plugins in other processes.
    #[serde(default, deserialize_with = "unique")]
    pub remote_plugins: Vec<RemotePlugin>,
    /// Extenders of kube-scheduler.
    #[serde(default, deserialize_with = "unique")]
    pub extenders: Vec<Extender>,
}

impl Entry for Workload {
    fn key(&self) -> &str {
        self.name()
    }
}

/// How amounts of several resources count together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Usage {
    /// Their weighted sum.
    #[default]
    Weighted,
    /// The one that is the largest part of the cluster's.
    Dominant,
}

/// How far the priority counts that a PodGroup gives itself, by number or by class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PodGroupPriority {
    /// Up to the highest that its pods have.
    #[default]
    UpToPods,
    /// As it is given.
    AsGiven,
}

/// Whether running gangs are moved to other nodes so that another has room, and how much.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Defragmentation {
    /// Whether any are.
    pub enabled: bool,
    /// How many pods are moved at most for one gang.
    pub max_pods: Bounded<1, 1_000, 32>,
    /// How long a gang waits before others are moved for it.
    pub after: Span<0, 86_400, 30>,
    /// How long it takes at least from one time that gangs are moved to the next.
    pub interval: Span<1, 86_400, 300>,
    /// For how long a gang that was moved, or for which others were, stays where it is.
    pub rest: Span<1, 2_592_000, 3_600>,
    /// How long a moved gang's new place is held at most until its pods have been made again.
    pub hold: Span<1, 3_600, 120>,
}

/// The version of the format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ApiVersion {
    /// The only one there is.
    #[default]
    #[serde(rename = "config.muster.dev/v1alpha1")]
    V1Alpha1,
}

/// The kind of the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Kind {
    /// The only one there is.
    #[default]
    SchedulerConfiguration,
}

/// Who decides when several instances run: the one that holds a Lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct LeaderElection {
    /// Whether only the holder of the Lease schedules.
    pub enabled: bool,
    /// The Lease's name.
    pub lease_name: ObjectName,
    /// The Lease's namespace; by default the pod's own, outside of a cluster `kube-system`.
    pub lease_namespace: Option<ObjectName>,
}

/// Which plugins run, in which order. A list that is given replaces the default whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Profile {
    /// The order of gangs: the first plugin on which two gangs differ decides.
    #[serde(deserialize_with = "unique")]
    pub queue_sort: Vec<PluginName<QueueSortPoint>>,
    /// What makes a node unfit for a pod.
    #[serde(deserialize_with = "unique")]
    pub filter: Vec<PluginName<FilterPoint>>,
    /// Which of the nodes that are fit is the best.
    #[serde(deserialize_with = "unique")]
    pub score: Vec<WeightedPlugin>,
    /// What else runs, at all its points: plugins of a program that has Muster in it.
    #[serde(deserialize_with = "unique")]
    pub plugins: Vec<String>,
}

/// A score plugin and how much it counts against the others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WeightedPlugin {
    /// The plugin.
    pub name: PluginName<ScorePoint>,
    /// How much its score counts.
    #[serde(default)]
    pub weight: Bounded<1, 100, 1>,
}

const fn yes() -> bool {
    true
}

fn scheduler_names() -> Vec<SchedulerName> {
    vec![SchedulerName::default()]
}

impl Default for SchedulerConfiguration {
    fn default() -> Self {
        Self {
            api_version: ApiVersion::default(),
            kind: Kind::default(),
            scheduler_names: scheduler_names(),
            bind_concurrency: Bounded::default(),
            sweep_interval: Span::default(),
            usage: Usage::default(),
            usage_weights: BTreeMap::new(),
            default_queue: yes(),
            pod_group_priority: PodGroupPriority::default(),
            half_life: Span::default(),
            defragmentation: Defragmentation::default(),
            missing_pod_group_timeout: Span::default(),
            require_scheduling_spec: false,
            gangs_by_labels: Vec::new(),
            volume_bind_timeout: Span::default(),
            ghost_namespace: ObjectName::of_ghosts(),
            listen: Address::default(),
            leader_election: LeaderElection::default(),
            profile: Profile::default(),
            profiles: Vec::new(),
            remote_plugins: Vec::new(),
            extenders: Vec::new(),
        }
    }
}

impl Default for LeaderElection {
    fn default() -> Self {
        Self {
            enabled: true,
            lease_name: ObjectName::default(),
            lease_namespace: None,
        }
    }
}

impl Default for Profile {
    fn default() -> Self {
        let score = |name| WeightedPlugin {
            name,
            weight: Bounded::default(),
        };
        Self {
            queue_sort: QueueSortPoint::defaults(),
            filter: FilterPoint::defaults(),
            score: ScorePoint::defaults().into_iter().map(score).collect(),
            plugins: Vec::new(),
        }
    }
}
