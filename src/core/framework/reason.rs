//! Why a node does not suit a pod: typed, and in kube-scheduler's words.

use crate::state::{ClusterState, NodeId, PodId};
use muster_model::resources::{Dimension, Dimensions};

/// Why a node does not suit a pod.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// Too little is left of this resource.
    Insufficient(Dimension),
    /// No node has this resource.
    Unknown(String),
    /// It has as many pods as it may have.
    TooManyPods,
    /// It is cordoned.
    Unschedulable,
    /// It has a taint that the pod does not tolerate.
    Taint,
    /// Its labels do not match the pod's selector or affinity.
    NodeAffinity,
    /// Every term of the pod's affinity names nodes, and not this one.
    NotNamed,
    /// The pod's affinity names nodes by lists that exclude each other. So it is for every node.
    AffinityConflict,
    /// Its kubelet does not declare what the pod needs.
    Features,
    /// It does not match the affinity that the profile adds to every pod's.
    EnforcedAffinity,
    /// Its labels do not match the gang's node selector, or it lacks the one by whose values the gang's topology is. Of that
    /// no gang ever says so: what it says is of the nodes in one domain.
    GangSelector,
    /// It is another gang's alone, or the pod's gang wants it alone and others are there.
    Exclusive,
    /// A host port is taken.
    Ports,
    /// One more pod would be too many in its domain.
    Spread,
    /// It lacks the label by which the pod is to be spread.
    NoSpreadDomain,
    /// It is not with pods that the pod has to be with.
    PodAffinity,
    /// It is with pods that the pod keeps away.
    PodAntiAffinity,
    /// It is with pods that keep the pod away.
    OthersAntiAffinity,
    /// A bind to it was refused lately.
    BindRefused,
    /// A bound volume is not reached from it.
    VolumeNodeAffinity,
    /// It has no volume for a claim, and none can be made.
    NoVolumeToBind,
    /// It has too little room for a new volume.
    NoStorage,
    /// A claim is bound to a volume that is not there.
    VolumeGone,
    /// It is in another zone than a bound volume.
    VolumeZone,
    /// A disk is in use there.
    DiskConflict,
    /// Another pod uses a claim that is for one pod at a time.
    ClaimInUse,
    /// It has as many volumes of a driver as it may have.
    TooManyVolumes,
    /// It does not have this CSI driver.
    DriverMissing(String),
    /// The pod claims slots of a testbed, and may not have those here: why.
    Slot(String),
    /// What a plugin says.
    Other(String),
}

impl Reason {
    /// Whether it is about the pod, and so what every node answers: its words are not counted.
    #[must_use]
    pub const fn is_of_the_pod(&self) -> bool {
        matches!(self, Self::AffinityConflict)
    }

    /// Whether it may not be so any more once others have left the node (what kube-scheduler calls
    /// `Unschedulable`, not `UnschedulableAndUnresolvable`).
    #[must_use]
    pub fn may_be_helped(&self, state: &ClusterState, node: NodeId, pod: PodId) -> bool {
        match self {
            Self::Insufficient(dimension) => {
                let request = state
                    .shape_of(pod)
                    .map(|shape| shape.request.get(*dimension));
                let offered = state.nodes().allocatable(node, *dimension);
                request.is_none_or(|request| request <= offered)
            }
            Self::TooManyPods
            | Self::Exclusive
            | Self::Ports
            | Self::Spread
            | Self::PodAntiAffinity
            | Self::OthersAntiAffinity
            | Self::DiskConflict
            | Self::ClaimInUse
            | Self::TooManyVolumes
            | Self::DriverMissing(_)
            | Self::Slot(_)
            | Self::Other(_) => true,
            Self::Unschedulable
            | Self::Taint
            | Self::NodeAffinity
            | Self::NotNamed
            | Self::AffinityConflict
            | Self::Features
            | Self::NoSpreadDomain
            | Self::PodAffinity
            | Self::VolumeNodeAffinity
            | Self::NoVolumeToBind
            | Self::NoStorage
            | Self::VolumeGone
            | Self::VolumeZone
            | Self::EnforcedAffinity
            | Self::GangSelector
            | Self::Unknown(_)
            | Self::BindRefused => false,
        }
    }

    /// The words that kubectl, autoscalers and people know.
    #[must_use]
    pub fn describe(&self, dimensions: &Dimensions) -> String {
        let fixed = match self {
            Self::Insufficient(dimension) => {
                return format!("Insufficient {}", dimensions.name(*dimension));
            }
            Self::Unknown(name) => return format!("Insufficient {name}"),
            Self::DriverMissing(driver) => {
                return format!("{driver} CSI driver is not installed on the node");
            }
            Self::Slot(words) | Self::Other(words) => return words.clone(),
            Self::TooManyPods => "Too many pods",
            Self::Unschedulable => "node(s) were unschedulable",
            Self::Taint => "node(s) had untolerated taint(s)",
            Self::NodeAffinity => "node(s) didn't match Pod's node affinity/selector",
            Self::NotNamed => "node(s) didn't satisfy plugin(s) [NodeAffinity]",
            Self::AffinityConflict => "pod affinity terms conflict",
            Self::Features => "node(s) didn't match Pod's required features",
            Self::EnforcedAffinity => "node(s) didn't match scheduler-enforced node affinity",
            Self::GangSelector => "node(s) didn't match PodGroup's node selector",
            Self::Exclusive => "node(s) were not free for one PodGroup alone",
            Self::Ports => "node(s) didn't have free ports for the requested pod ports",
            Self::Spread => "node(s) didn't match pod topology spread constraints",
            Self::NoSpreadDomain => {
                "node(s) didn't match pod topology spread constraints (missing required label)"
            }
            Self::PodAffinity => "node(s) didn't match pod affinity rules",
            Self::PodAntiAffinity => "node(s) didn't match pod anti-affinity rules",
            Self::OthersAntiAffinity => "node(s) didn't satisfy existing pods anti-affinity rules",
            Self::VolumeNodeAffinity => "node(s) didn't match PersistentVolume's node affinity",
            Self::NoVolumeToBind => "node(s) didn't find available persistent volumes to bind",
            Self::NoStorage => "node(s) did not have enough free storage",
            Self::VolumeGone => {
                "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
            }
            Self::VolumeZone => "node(s) had no available volume zone",
            Self::DiskConflict => "node(s) had no available disk",
            Self::ClaimInUse => {
                "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode \
                 already in-use by another pod"
            }
            Self::TooManyVolumes => "node(s) exceed max volume count",
            Self::BindRefused => "node(s) refused the binding",
        };
        fixed.to_owned()
    }
}
