//! A pod as the core is told of it.

use super::{
    Amounts, Constraints, GangKey, GangSpace, GhostOf, Implied, PodLabels, PodRules, PodVolume,
    Preferences, Rank, SlotClaim, SpreadByDefault, SpreadRule,
};
use crate::units::{Millis, Time};
use std::fmt;
use std::sync::Arc;

/// Where a pod is found: names are unique only while the pod lives, the uid for ever.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PodKey {
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
    /// `metadata.uid`.
    pub uid: String,
}

impl fmt::Display for PodKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// `status.phase`; `Unknown` is read as `Running`, for its room is still taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum PodPhase {
    /// Not started yet (bound or not).
    #[default]
    Pending,
    /// At least one container runs.
    Running,
    /// All containers ended well; the room is free again.
    Succeeded,
    /// All containers ended, one of them badly; the room is free again.
    Failed,
}

impl PodPhase {
    /// Whether the pod has ended and uses no resources any more.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed)
    }
}

/// Which gang a pod says it belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum GangRef {
    /// None: the pod is a gang of its own.
    #[default]
    Own,
    /// The gang of this name in the pod's own namespace. A pod cannot name another namespace's.
    Named {
        /// The kinds among which the name is looked up.
        space: GangSpace,
        /// The gang's name.
        name: String,
    },
}

/// Transport protocol of a host port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Protocol {
    /// The default.
    #[default]
    Tcp,
    /// UDP.
    Udp,
    /// SCTP.
    Sctp,
}

/// A port that a pod takes on its node. An empty `ip` stands for every address, as does
/// `0.0.0.0`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct HostPort {
    /// `hostIP`.
    pub ip: String,
    /// `protocol`.
    pub protocol: Protocol,
    /// `hostPort`, 1..=65535.
    pub port: u16,
}

impl HostPort {
    /// Whether both cannot be served on one node (source: kube-scheduler's NodePorts: same port
    /// and protocol, and one of them on every address or both on the same).
    #[must_use]
    pub fn conflicts(&self, other: &Self) -> bool {
        let wild = |ip: &str| ip.is_empty() || ip == "0.0.0.0";
        self.port == other.port
            && self.protocol == other.protocol
            && (wild(&self.ip) || wild(&other.ip) || self.ip == other.ip)
    }
}

/// All that decides which nodes a pod fits, and how well: pods with equal shapes fit the same nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct ShapeSpec {
    /// Effective requests (without `pods`, which the core counts itself). Sorted by name.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub requests: Amounts,
    /// What it requests besides of what its profile does not look at. Sorted by name.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub ignored: Amounts,
    /// Which nodes are allowed.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub constraints: Constraints,
    /// Host ports of all containers. Sorted.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub host_ports: Vec<HostPort>,
    /// Beside which other pods it has to be, and beside which it may not be.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub pods: PodRules,
    /// Over which domains pods like it have to be spread, as the user ordered them.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub spread: Vec<SpreadRule>,
    /// What scores look at besides.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub preferences: Preferences,
    /// On which slots alone it may run.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub claim: Option<Arc<SlotClaim>>,
}

/// A pod: who it is, what it needs, how far it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct PodSpec {
    /// Namespace, name, uid.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub key: PodKey,
    /// `metadata.creationTimestamp`.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub created: Time,
    /// Whether `spec.schedulerName` is one of ours. Others' pods are usage and never touched.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub ours: bool,
    /// `spec.schedulerName` of a pod that is not ours and names a group; else empty.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub other_scheduler: String,
    /// Whether a DaemonSet controls it: there is one of these on every node, so that it does not make
    /// a node one that is in use.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub daemon: bool,
    /// `spec.nodeName`, once bound.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub node: Option<String>,
    /// `status.nominatedNodeName`: the node that somebody means it to have.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub nominated: Option<String>,
    /// When it was bound, by the API server's clock.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub bound_at: Option<Time>,
    /// `status.phase`.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub phase: PodPhase,
    /// Whether `metadata.deletionTimestamp` is set.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub terminating: bool,
    /// Names of `spec.schedulingGates` still set.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub gates: Vec<String>,
    /// The gang it belongs to.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub gang: GangRef,
    /// What it says of its gang, where no PodGroup defines that. Taken out of the news by
    /// who makes a definition of it.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub implied: Option<Box<Implied>>,
    /// Its subgroup, by label `muster.dev/subgroup`.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub subgroup: Option<String>,
    /// Where it stands in the line of its gang, if whoever made it numbered it.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub rank: Option<Rank>,
    /// Its queue when it is a gang of its own, by label `muster.dev/queue`.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub queue: Option<String>,
    /// Its queue in the words of another scheduler, for a pod whose gang has no PodGroup: it counts as long as there is a
    /// queue of that name.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub queue_if_declared: Option<String>,
    /// `spec.priority`, as admission resolved it.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub priority: Option<i32>,
    /// `spec.priorityClassName`, used where admission has not resolved it.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub priority_class: Option<String>,
    /// Whether `spec.preemptionPolicy` is `Never`, as admission resolved it.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub never_preempts: Option<bool>,
    /// Its labels, by which PodDisruptionBudgets choose.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub labels: PodLabels,
    /// How long it may run from its start when it is a gang of its own: annotation
    /// `muster.dev/lifetime`, or `activeDeadlineSeconds`.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub lifetime: Option<Millis>,
    /// What it needs.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub shape: ShapeSpec,
    /// Of one that has no rules of its own that spread it, where its profile has some for such pods.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub spread_by_default: Option<Box<SpreadByDefault>>,
    /// Its volumes, of those that decide where it may run.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub volumes: Vec<PodVolume>,
    /// Fields it uses that this version cannot honour, by path; it waits while there are any.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub unsupported: Vec<String>,
    /// Whose ghost it is. It is in no gang then, whatever scheduler it names.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub ghost_of: Option<GhostOf>,
    /// Annotation `muster.dev/slot`: where it says that it sits. A word for people; it decides nothing but among
    /// slots that are free to the pod anyway.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub slot: Option<u32>,
}

impl PodSpec {
    /// The key of its gang. A pod without a gang is one, named after its uid.
    #[must_use]
    pub fn gang_key(&self) -> GangKey {
        let (space, name) = match &self.gang {
            GangRef::Own => (GangSpace::Own, self.key.uid.clone()),
            GangRef::Named { space, name } => (*space, name.clone()),
        };
        GangKey {
            namespace: self.key.namespace.clone(),
            space,
            name,
        }
    }
}
