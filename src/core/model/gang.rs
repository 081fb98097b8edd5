//! A gang as its PodGroup describes it.

use super::{Amounts, LabelSelector, Labels, PodLabels, TopologyWish, label_in};
use crate::units::{Millis, Time};
use std::fmt;

/// Among which kinds a gang's name is looked up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum GangSpace {
    /// Our PodGroup of that name, else Volcano's: what the label `muster.dev/pod-group` and the
    /// annotation `scheduling.k8s.io/group-name` mean.
    #[default]
    Named,
    /// Upstream's `scheduling.k8s.io` PodGroup, by `spec.schedulingGroup.podGroupName`.
    Upstream,
    /// Coscheduling's `scheduling.x-k8s.io` PodGroup, by the label `scheduling.x-k8s.io/pod-group`.
    Coscheduling,
    /// Our SchedulingSpec of that name, which is that of who controls the pods.
    SchedulingSpec,
    /// No kind: the pods that name it say all that is said of it.
    Pods,
    /// A pod without a gang; the name is its uid.
    Own,
}

impl GangSpace {
    /// Those in which people name gangs, in the order in which a name is looked up that says no more.
    pub const BY_NAME: [Self; 5] = [
        Self::Named,
        Self::Upstream,
        Self::Coscheduling,
        Self::SchedulingSpec,
        Self::Pods,
    ];

    /// The kind of objects that define gangs here; of pods by themselves their own.
    #[must_use]
    pub const fn kind(self) -> &'static str {
        match self {
            Self::Named | Self::Upstream | Self::Coscheduling | Self::Pods => "PodGroup",
            Self::SchedulingSpec => "SchedulingSpec",
            Self::Own => "Pod",
        }
    }
}

/// Identifies a gang. Always keyed by the pod's own namespace: gangs do not cross namespaces.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct GangKey {
    /// Namespace of the PodGroup and of its pods.
    pub namespace: String,
    /// Among which kinds `name` is meant.
    pub space: GangSpace,
    /// Name of the PodGroup, or the uid of a pod on its own.
    pub name: String,
}

impl fmt::Display for GangKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// The kind of object a gang's definition comes from. Where two define one gang, the first in
/// this order counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Source {
    /// `muster.dev/v1alpha1` PodGroup.
    #[default]
    Muster,
    /// `scheduling.volcano.sh/v1beta1` PodGroup.
    Volcano,
    /// `scheduling.k8s.io/v1beta1` PodGroup.
    Upstream,
    /// `scheduling.x-k8s.io/v1alpha1` PodGroup, of scheduler-plugins' coscheduling.
    Coscheduling,
    /// `muster.dev/v1alpha1` SchedulingSpec.
    SchedulingSpec,
    /// No object that is made for that: what its pods say of it, as [`Implied`], or a PodDisruptionBudget.
    Implied,
}

impl Source {
    /// All kinds of objects, in order.
    pub const KINDS: [Self; 5] = [
        Self::Muster,
        Self::Volcano,
        Self::Upstream,
        Self::Coscheduling,
        Self::SchedulingSpec,
    ];

    /// Among which names it defines a gang.
    #[must_use]
    pub const fn space(self) -> GangSpace {
        match self {
            Self::Muster | Self::Volcano => GangSpace::Named,
            Self::Upstream => GangSpace::Upstream,
            Self::Coscheduling => GangSpace::Coscheduling,
            Self::SchedulingSpec => GangSpace::SchedulingSpec,
            Self::Implied => GangSpace::Pods,
        }
    }
}

/// What a pod says of its gang, for a gang that no PodGroup defines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct Implied {
    /// How many pods must run; zero for no gang: its pods are placed one by one.
    pub min_available: u32,
    /// The queue; absent, the namespace's or the default one.
    pub queue: Option<String>,
    /// Room that must be free before the gang is admitted.
    pub min_resources: Amounts,
    /// How long it is protected from its start; `None` is for ever.
    pub lifetime: Option<Millis>,
    /// How close together the pods have to be that are in the same subgroup as this one.
    pub topology: Option<TopologyWish>,
    /// Why what the pod says cannot be valid, in words.
    pub invalid: Option<String>,
    /// It counts once the gang's PodGroup has been missing for so long; `None` where there is none to wait for.
    pub after: Option<Millis>,
}

/// How long a gang is protected from its start: until then nobody takes it off its nodes for the
/// sake of fairness.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Lifetime {
    /// For so long; zero is not at all.
    Limited(Millis),
    /// For ever.
    #[default]
    Unlimited,
}

impl Lifetime {
    /// `None` is for ever.
    #[must_use]
    pub const fn of(span: Option<Millis>) -> Self {
        match span {
            None => Self::Unlimited,
            Some(span) => Self::Limited(span),
        }
    }

    /// Whether it is not protected at any time.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        matches!(self, Self::Limited(Millis(0)))
    }
}

/// A set of pods of a gang with a minimum and a maximum of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct SubgroupSpec {
    /// What pods say in their label `muster.dev/subgroup`; empty for one that takes all who name none
    /// of the others.
    pub name: String,
    /// How many must run.
    pub min: u32,
    /// How many may run; `None` is no limit.
    pub max: Option<u32>,
    /// How close together its pods have to be.
    pub topology: Option<TopologyWish>,
    /// Whether no pod of another gang may be on the nodes of its pods.
    pub exclusive: bool,
}

/// As many subgroups of a gang have a name: who is in another is in the one for all others, with which these are as many
/// as a PodGroup of ours may have.
pub const MAX_NAMED_SUBGROUPS: usize = 63;

/// Subgroups that are not listed: each is the pods that have the same values of some labels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct LabelledSubgroups {
    /// How their names begin; what follows are the values.
    pub name: String,
    /// Which pods are in one of them.
    pub selector: LabelSelector,
    /// The labels whose values tell them apart. A pod that lacks one is in none; without any label all are in one.
    pub keys: Vec<String>,
    /// How many of them must run.
    pub min_groups: u32,
    /// How many pods of each of these must.
    pub size: u32,
    /// How close together the pods of each have to be.
    pub topology: Option<TopologyWish>,
}

impl LabelledSubgroups {
    /// The name of the subgroup that a pod with these labels is in.
    #[must_use]
    pub fn name_of(&self, labels: &PodLabels) -> Option<String> {
        let value_of = |key: &str| label_in(labels.text(), key);
        if !self.selector.matches_with(value_of) {
            return None;
        }
        let values = self.keys.iter().map(|key| value_of(key));
        let values = values.collect::<Option<Vec<_>>>()?;
        let parts = std::iter::once(self.name.as_str()).chain(values);
        Some(parts.collect::<Vec<_>>().join("/"))
    }

    /// Whether a subgroup of this name is one of them.
    #[must_use]
    pub fn has(&self, subgroup: &str) -> bool {
        let values = subgroup.strip_prefix(&self.name);
        values.is_some_and(|values| values.is_empty() || values.starts_with('/'))
    }
}

/// What a PodGroup asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct GangSpec {
    /// Namespace, space and name.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub key: GangKey,
    /// The kind of object this was read from.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub source: Source,
    /// `metadata.uid` of that object.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub uid: String,
    /// `metadata.generation` of that object.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub generation: i64,
    /// `metadata.creationTimestamp` of that object.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub created: Time,
    /// Whether it is for us before it has pods: we stand in for the scheduler of its kind, or its label
    /// `muster.dev/scheduler-name` claims it. Of no account for our own kind.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub stands_in: bool,
    /// Whether an MPIJob of its name controls it, which says when one of its members is made: [`MpiJobSpec`](super::MpiJobSpec).
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub of_mpi_job: bool,
    /// How many pods must run, over all subgroups.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub min_available: u32,
    /// The subgroups; without any, all pods are one group with `min_available`.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub subgroups: Vec<SubgroupSpec>,
    /// Subgroups by values of labels, beside these: of several a pod is in the first that chooses it. Who hears of events finds
    /// them among `subgroups`, in which the pods put them that there are.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub labelled: Vec<LabelledSubgroups>,
    /// The queue; absent, the namespace's or the default one.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub queue: Option<String>,
    /// The priority as a number.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub priority: Option<i32>,
    /// The priority by class.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub priority_class: Option<String>,
    /// Labels that every node of the gang must have.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub node_selector: Labels,
    /// How close together all its pods have to be.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub topology: Option<TopologyWish>,
    /// Whether no pod of another gang may be on its nodes.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub exclusive: bool,
    /// Room that must be free before the gang is admitted.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub min_resources: Amounts,
    /// How long it is protected from its start; `None` is for ever.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub lifetime: Option<Millis>,
    /// How many members may be placed at once, over all subgroups; `None` is no limit.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub replicas: Option<u32>,
    /// How long it may be below its minimum, once it has run, while lost members are replaced.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub repair_for: Option<Millis>,
    /// Nobody of its queue takes members of it one by one, not even those beyond its minimum.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub goes_whole: bool,
    /// Its minimum counts until it has been scheduled once; then its pods go and come one by one.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub one_by_one: bool,
    /// What is read otherwise than it is written, and why, in words.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub read_otherwise: Vec<String>,
    /// Why the object cannot be valid, in words; the gang waits while there is a reason.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub invalid: Option<String>,
    /// What its status says that only the process knew which wrote it. Read by one that begins, and not part of
    /// what the object asks for.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub recalled: Recalled,
}

impl GangSpec {
    /// The subgroup by labels that a pod with these is in, and which of `labelled` says so: of several the first.
    #[must_use]
    pub fn labelled_subgroup_of(&self, labels: &PodLabels) -> Option<(usize, String)> {
        let mut all = self.labelled.iter().enumerate();
        all.find_map(|(index, one)| Some((index, one.name_of(labels)?)))
    }
}

/// What the status of a gang keeps for the process that comes after.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Recalled {
    /// On what terms it was granted what it holds.
    pub granted: Option<GrantedTerms>,
    /// What it was let in with.
    pub let_in: Option<LetIn>,
    /// How many of its members have ended well, those that are gone included.
    pub succeeded: u32,
    /// It has been scheduled once.
    pub was_scheduled: bool,
}

/// What of a running gang its queue let in, or what ran in full.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LetIn {
    /// The largest minimum.
    pub min_available: u32,
    /// The `minResources`: nothing where it asked as its pods did.
    pub min_resources: Amounts,
}

/// On what terms a gang was granted what it holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct GrantedTerms {
    /// In which queue.
    pub queue: String,
    /// For how long it is protected.
    pub lifetime: Lifetime,
}
