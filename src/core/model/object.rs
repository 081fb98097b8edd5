//! The objects that the core is told of, each with what names it. Whoever keeps, lists or passes on
//! objects of every kind does it by these two: a new kind is its type, a variant here, its row in the
//! table of watched kinds, and the arms where the state and the linter say what it means.

use super::{
    AttachmentSpec, ClaimKey, ClaimSpec, CsiDriverSpec, CsiNodeSpec, DisruptionBudgetSpec, GangKey,
    GangSpec, HyperNodeSpec, MpiJobSpec, NamespaceSpec, NodeSpec, PodKey, PodSelectorKey,
    PodSelectorSpec, PodSpec, PriorityClassSpec, QueueSpec, SliceSpec, Source, StorageCapacitySpec,
    StorageClassSpec, TestbedSpec, TopologySpec, VolcanoQueueSpec, VolumeSpec,
};

/// What the core is told of objects of one kind.
pub trait Spec: Sized + 'static {
    /// Which kind.
    const KIND: ObjectKind;

    /// That of an object, if it is of this kind.
    fn of(object: &Object) -> Option<&Self>;
}

/// Makes of the list of kinds all that follows from it.
macro_rules! kinds {
    ($(
        $(#[$doc:meta])*
        $kind:ident($spec:ty) by ($($key:ty),+), |$one:ident| ($($name:expr),+);
    )+) => {
        /// An object as the core is told of it.
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        pub enum Object {
            $($(#[$doc])* $kind(Box<$spec>),)+
        }

        /// What names one object among all.
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        pub enum ObjectKey {
            $($(#[$doc])* $kind($($key),+),)+
        }

        /// The kinds of objects.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        pub enum ObjectKind {
            $($(#[$doc])* $kind,)+
        }

        impl ObjectKind {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$kind),+];

            /// An object of this kind of which nothing is said, for tests that go through all kinds.
            #[cfg(any(test, feature = "testing"))]
            #[must_use]
            pub fn empty(self) -> Object {
                match self {
                    $(Self::$kind => <$spec>::default().into(),)+
                }
            }
        }

        impl ObjectKey {
            /// Of which kind what it names is.
            #[must_use]
            pub const fn kind(&self) -> ObjectKind {
                match self {
                    $(Self::$kind(..) => ObjectKind::$kind,)+
                }
            }
        }

        impl Object {
            /// What names it.
            #[must_use]
            pub fn key(&self) -> ObjectKey {
                match self {
                    $(Self::$kind($one) => ObjectKey::$kind($($name),+),)+
                }
            }
        }

        $(impl From<$spec> for Object {
            fn from(spec: $spec) -> Self {
                Self::$kind(Box::new(spec))
            }
        }

        impl Spec for $spec {
            const KIND: ObjectKind = ObjectKind::$kind;

            fn of(object: &Object) -> Option<&Self> {
                match object {
                    Object::$kind(spec) => Some(spec),
                    _ => None,
                }
            }
        })+
    };
}

kinds! {
    /// A node.
    Node(NodeSpec) by (String), |one| (one.name.clone());
    /// A pod.
    Pod(PodSpec) by (PodKey), |one| (one.key.clone());
    /// A PodGroup of any kind.
    Gang(GangSpec) by (GangKey, Source), |one| (one.key.clone(), one.source);
    /// A queue.
    Queue(QueueSpec) by (String), |one| (one.name.clone());
    /// A queue of Volcano's.
    VolcanoQueue(VolcanoQueueSpec) by (String), |one| (one.queue.name.clone());
    /// An MPIJob, by namespace and name.
    MpiJob(MpiJobSpec) by (String, String), |one| (one.namespace.clone(), one.name.clone());
    /// A testbed.
    Testbed(TestbedSpec) by (String), |one| (one.name.clone());
    /// A part of the slots of a testbed.
    TestbedSlice(SliceSpec) by (String), |one| (one.name.clone());
    /// A topology.
    Topology(TopologySpec) by (String), |one| (one.name.clone());
    /// A HyperNode of Volcano.
    HyperNode(HyperNodeSpec) by (String), |one| (one.name.clone());
    /// A priority class.
    PriorityClass(PriorityClassSpec) by (String), |one| (one.name.clone());
    /// A namespace.
    Namespace(NamespaceSpec) by (String), |one| (one.name.clone());
    /// A PodDisruptionBudget, by namespace and name.
    DisruptionBudget(DisruptionBudgetSpec) by (String, String),
        |one| (one.namespace.clone(), one.name.clone());
    /// What chooses pods that belong together: a Service, or a controller.
    PodSelector(PodSelectorSpec) by (PodSelectorKey), |one| (one.key.clone());
    /// A VolumeAttachment.
    VolumeAttachment(AttachmentSpec) by (String), |one| (one.name.clone());
    /// A CSIStorageCapacity.
    StorageCapacity(StorageCapacitySpec) by (ClaimKey), |one| (one.key.clone());
    /// A PersistentVolumeClaim.
    Claim(ClaimSpec) by (ClaimKey), |one| (one.key.clone());
    /// A StorageClass.
    StorageClass(StorageClassSpec) by (String), |one| (one.name.clone());
    /// A CSIDriver.
    CsiDriver(CsiDriverSpec) by (String), |one| (one.name.clone());
    /// A CSINode.
    CsiNode(CsiNodeSpec) by (String), |one| (one.name.clone());
    /// A PersistentVolume.
    Volume(VolumeSpec) by (String), |one| (one.name.clone());
}

impl ObjectKey {
    /// The same without a uid: who has this name, now or later.
    #[must_use]
    pub fn of_name(self) -> Self {
        match self {
            Self::Pod(key) => Self::Pod(PodKey {
                uid: String::new(),
                ..key
            }),
            key => key,
        }
    }
}
