//! The kinds of objects that are watched: one table, for what runs on a cluster and what is
//! simulated.
//!
//! A new kind is a row of it, and an `impl` of [`Watchable`] that says what its objects tell the
//! core. What is written of the kinds elsewhere, the rights in `deploy/02-rbac.yaml` and the table
//! in docs/configuration.md, is compared with it by a test.

mod identity;
mod of_storage;
mod selecting;
mod watchable;

pub use super::version::is_older;
pub use identity::{Identity, Subject};
pub use watchable::{Known, Watchable};

use super::{coscheduling, crd, mpi_job, slim, topologies, upstream, volcano};
use k8s_openapi::api::{apps, core, policy, scheduling, storage};
use kube::core::{DeserializeGuard, NamespaceResourceScope};
use schemars::JsonSchema;
use serde_json::Value;
use std::any::TypeId;

/// Makes of the table all that follows from it.
macro_rules! watched_kinds {
    ($(
        $(#[$doc:meta])*
        $kind:ident, $name:literal, $need:ident, $guard:ident $object:ty, $full:ty;
    )+) => {
        /// A watched kind.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Kind {
            $($(#[$doc])* $kind,)+
        }

        impl Kind {
            /// All kinds.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$kind),+];

            /// Its name as `kubectl` knows it: the plural and the group.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)+
                }
            }

            /// Whether a cluster may do without it.
            #[must_use]
            pub const fn is_optional(self) -> bool {
                match self {
                    $(Self::$kind => watched_kinds!(@is_optional $need),)+
                }
            }
        }

        $(
            impl Row for $object {
                type Watched = watched_kinds!(@watched $guard $object);
                type Full = $full;
            }

            const _: () = assert!(
                matches!(<$object as Watchable>::KIND, Kind::$kind),
                "the kind of a row is not that of its type"
            );
        )+

        /// Visits every row of the table.
        pub fn visit(visitor: &mut impl Visitor) {
            $(visitor.visit::<$object>();)+
        }
    };
    (@is_optional needed) => { false };
    (@is_optional optional) => { true };
    (@watched bare $object:ty) => { $object };
    (@watched guarded $object:ty) => { DeserializeGuard<$object> };
}

// What it is called, here and by kubectl; whether a cluster may do without it; what is read of an
// object, bare or guarded (see `Row::Watched`); and the full type, or `Value`: see `Row::Full`.
watched_kinds! {
    /// `v1` Pod.
    Pods, "pods", needed, bare slim::Pod, core::v1::Pod;
    /// `v1` Node.
    Nodes, "nodes", needed, bare slim::Node, core::v1::Node;
    /// `v1` Namespace.
    Namespaces, "namespaces", needed, bare slim::Namespace, core::v1::Namespace;
    /// `scheduling.k8s.io/v1` PriorityClass.
    PriorityClasses, "priorityclasses.scheduling.k8s.io", needed,
        bare slim::PriorityClass, scheduling::v1::PriorityClass;
    /// `policy/v1` PodDisruptionBudget.
    PodDisruptionBudgets, "poddisruptionbudgets.policy", needed,
        bare slim::PodDisruptionBudget, policy::v1::PodDisruptionBudget;
    /// `v1` PersistentVolumeClaim.
    PersistentVolumeClaims, "persistentvolumeclaims", needed,
        bare slim::PersistentVolumeClaim, core::v1::PersistentVolumeClaim;
    /// `v1` PersistentVolume.
    PersistentVolumes, "persistentvolumes", needed,
        bare slim::PersistentVolume, core::v1::PersistentVolume;
    /// `storage.k8s.io/v1` StorageClass.
    StorageClasses, "storageclasses.storage.k8s.io", needed,
        bare slim::StorageClass, storage::v1::StorageClass;
    /// `storage.k8s.io/v1` CSINode.
    CsiNodes, "csinodes.storage.k8s.io", needed, bare slim::CSINode, storage::v1::CSINode;
    /// `storage.k8s.io/v1` CSIDriver.
    CsiDrivers, "csidrivers.storage.k8s.io", needed,
        bare slim::CSIDriver, storage::v1::CSIDriver;
    /// `storage.k8s.io/v1` CSIStorageCapacity.
    CsiStorageCapacities, "csistoragecapacities.storage.k8s.io", needed,
        bare slim::CSIStorageCapacity, storage::v1::CSIStorageCapacity;
    /// `storage.k8s.io/v1` VolumeAttachment.
    VolumeAttachments, "volumeattachments.storage.k8s.io", needed,
        bare slim::VolumeAttachment, storage::v1::VolumeAttachment;
    /// `v1` Service.
    Services, "services", optional, bare slim::Service, core::v1::Service;
    /// `v1` ReplicationController.
    ReplicationControllers, "replicationcontrollers", optional,
        bare slim::ReplicationController, core::v1::ReplicationController;
    /// `apps/v1` ReplicaSet.
    ReplicaSets, "replicasets.apps", optional, bare slim::ReplicaSet, apps::v1::ReplicaSet;
    /// `apps/v1` StatefulSet.
    StatefulSets, "statefulsets.apps", optional, bare slim::StatefulSet, apps::v1::StatefulSet;
    /// `muster.dev/v1alpha1` PodGroup.
    PodGroups, "podgroups.muster.dev", needed, guarded crd::PodGroup, crd::PodGroup;
    /// `muster.dev/v1alpha1` SchedulingSpec.
    SchedulingSpecs, "schedulingspecs.muster.dev", needed,
        guarded crd::JobSchedulingSpec, crd::JobSchedulingSpec;
    /// `muster.dev/v1alpha1` Queue.
    Queues, "queues.muster.dev", needed, guarded crd::Queue, crd::Queue;
    /// `muster.dev/v1alpha1` Topology.
    Topologies, "topologies.muster.dev", needed, guarded crd::Topology, crd::Topology;
    /// `muster.dev/v1alpha1` Testbed.
    Testbeds, "testbeds.muster.dev", needed, guarded crd::Testbed, crd::Testbed;
    /// `muster.dev/v1alpha1` TestbedSlice.
    TestbedSlices, "testbedslices.muster.dev", needed,
        guarded crd::TestbedSlice, crd::TestbedSlice;
    /// `scheduling.volcano.sh/v1beta1` PodGroup, where it is served.
    VolcanoPodGroups, "podgroups.scheduling.volcano.sh", optional,
        guarded volcano::PodGroup, Value;
    /// `scheduling.volcano.sh/v1beta1` Queue, where it is served.
    VolcanoQueues, "queues.scheduling.volcano.sh", optional, guarded volcano::Queue, Value;
    /// `scheduling.k8s.io/v1beta1` PodGroup, where it is served.
    UpstreamPodGroups, "podgroups.scheduling.k8s.io", optional,
        guarded upstream::PodGroup, scheduling::v1beta1::PodGroup;
    /// `scheduling.x-k8s.io/v1alpha1` PodGroup, where it is served.
    CoschedulingPodGroups, "podgroups.scheduling.x-k8s.io", optional,
        guarded coscheduling::PodGroup, Value;
    /// `kubeflow.org/v2beta1` MPIJob, where it is served.
    MpiJobs, "mpijobs.kubeflow.org", optional, guarded mpi_job::MpiJob, Value;
    /// `topology.volcano.sh/v1alpha1` HyperNode, where it is served.
    HyperNodes, "hypernodes.topology.volcano.sh", optional, guarded topologies::HyperNode, Value;
    /// `kueue.x-k8s.io/v1beta2` Topology, where it is served.
    KueueTopologies, "topologies.kueue.x-k8s.io", optional,
        guarded topologies::KueueTopology, Value;
    /// `kai.scheduler/v1alpha1` Topology, where it is served.
    KaiTopologies, "topologies.kai.scheduler", optional, guarded topologies::KaiTopology, Value;
}

impl Kind {
    /// Whether it is installed by `kubectl apply -f crds/`.
    #[must_use]
    pub fn is_ours(self) -> bool {
        self.name().ends_with(".muster.dev")
    }
}

/// A row of the table, by what is read of an object.
pub trait Row: Watchable {
    /// As what it is watched: in a guard where the API server may have objects that do not fit the
    /// type, as it has of kinds whose definition somebody else may have installed; else bare, for a
    /// guard takes time.
    type Watched: Watchable;

    /// The full type, by whose schema a typo is found even in a field that is not read; `Value`
    /// where it is not at hand.
    type Full: JsonSchema;

    /// Whether its objects live in a namespace.
    #[must_use]
    fn is_namespaced() -> bool {
        TypeId::of::<Self::Scope>() == TypeId::of::<NamespaceResourceScope>()
    }
}

/// Does something for every row of the table.
pub trait Visitor {
    /// Does it for this one.
    fn visit<R: Row>(&mut self);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reading;
    use kube::Resource;
    use muster_model::ObjectKind;
    use serde_json::json;

    /// What the types say of each kind.
    #[derive(Default)]
    struct Types(Vec<(Kind, String, bool)>);

    impl Visitor for Types {
        fn visit<R: Row>(&mut self) {
            let (plural, group) = (R::plural(&()), R::group(&()));
            let name = format!("{plural}.{group}");
            let name = name.trim_end_matches('.').to_owned();
            self.0.push((R::KIND, name, R::is_namespaced()));
            let watched = R::Watched::url_path(&(), None);
            assert_eq!(watched, R::url_path(&(), None), "{:?}", R::KIND);
            let in_protobuf = R::Watched::PROTOBUF.is_some();
            assert_eq!(in_protobuf, R::PROTOBUF.is_some(), "{:?}", R::KIND);
        }
    }

    #[test]
    fn the_types_of_the_rows_have_their_names() {
        let mut types = Types::default();
        visit(&mut types);
        let found = types.0.iter().map(|(kind, name, _)| (*kind, name.as_str()));
        let found: Vec<_> = found.collect();
        assert_eq!(found, Kind::ALL.map(|kind| (kind, kind.name())));
        let of_the_cluster = types.0.iter().filter(|(.., namespaced)| !namespaced);
        let of_the_cluster: Vec<Kind> = of_the_cluster.map(|(kind, ..)| *kind).collect();
        assert_eq!(
            of_the_cluster,
            [
                Kind::Nodes,
                Kind::Namespaces,
                Kind::PriorityClasses,
                Kind::PersistentVolumes,
                Kind::StorageClasses,
                Kind::CsiNodes,
                Kind::CsiDrivers,
                Kind::VolumeAttachments,
                Kind::Queues,
                Kind::Topologies,
                Kind::Testbeds,
                Kind::TestbedSlices,
                Kind::VolcanoQueues,
                Kind::HyperNodes,
                Kind::KueueTopologies,
                Kind::KaiTopologies
            ]
        );
    }

    /// Of what kind the objects of each row are for the core.
    #[derive(Default)]
    struct ToldAs(Vec<ObjectKind>);

    impl Visitor for ToldAs {
        fn visit<R: Row>(&mut self) {
            let meta = json!({"namespace": "of", "name": "one", "uid": "1"});
            // What a Testbed and its slices cannot be without.
            let spec = json!({
                "nodeLabel": "l", "slotsPerNode": 1, "resourcesPerSlot": {}, "testbed": "t",
            });
            let value = json!({"metadata": meta, "spec": spec});
            let object = serde_json::from_value::<R>(value).unwrap();
            let gone = R::gone(Identity::of(object.meta()));
            let object = object.exists(&Reading::default()).unwrap();
            assert_eq!(object.key(), gone, "{:?}", R::KIND);
            self.0.push(gone.kind());
        }
    }

    #[test]
    fn each_row_is_an_object_of_the_core_and_what_is_gone_is_what_was_there() {
        let mut told = ToldAs::default();
        visit(&mut told);
        told.0.sort_unstable();
        told.0.dedup();
        assert_eq!(told.0, ObjectKind::ALL, "an object that no row makes");
    }

    #[test]
    fn ours_are_those_whose_definitions_we_have() {
        let ours = Kind::ALL.into_iter().filter(|kind| kind.is_ours());
        assert_eq!(
            Vec::from_iter(ours),
            [
                Kind::PodGroups,
                Kind::SchedulingSpecs,
                Kind::Queues,
                Kind::Topologies,
                Kind::Testbeds,
                Kind::TestbedSlices
            ]
        );
    }
}
