//! The kinds of objects that are watched, and which of them Muster cannot do without.

/// A watched kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// v1 Pod.
    Pods,
    /// v1 Node.
    Nodes,
    /// v1 Namespace.
    Namespaces,
    /// `scheduling.k8s.io/v1` PriorityClass.
    PriorityClasses,
    /// `policy/v1` PodDisruptionBudget.
    PodDisruptionBudgets,
    /// `muster.dev/v1alpha1` PodGroup.
    PodGroups,
    /// `muster.dev/v1alpha1` Queue.
    Queues,
    /// `scheduling.volcano.sh/v1beta1` PodGroup, where it is served.
    VolcanoPodGroups,
    /// `scheduling.k8s.io/v1beta1` PodGroup, where it is served.
    UpstreamPodGroups,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 9] = [
        Self::Pods,
        Self::Nodes,
        Self::Namespaces,
        Self::PriorityClasses,
        Self::PodDisruptionBudgets,
        Self::PodGroups,
        Self::Queues,
        Self::VolcanoPodGroups,
        Self::UpstreamPodGroups,
    ];

    /// Its name as `kubectl` knows it: the plural and the group.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pods => "pods",
            Self::Nodes => "nodes",
            Self::Namespaces => "namespaces",
            Self::PriorityClasses => "priorityclasses.scheduling.k8s.io",
            Self::PodDisruptionBudgets => "poddisruptionbudgets.policy",
            Self::PodGroups => "podgroups.muster.dev",
            Self::Queues => "queues.muster.dev",
            Self::VolcanoPodGroups => "podgroups.scheduling.volcano.sh",
            Self::UpstreamPodGroups => "podgroups.scheduling.k8s.io",
        }
    }

    /// Whether a cluster may do without it.
    #[must_use]
    pub const fn is_optional(self) -> bool {
        matches!(self, Self::VolcanoPodGroups | Self::UpstreamPodGroups)
    }

    /// Whether it is installed by `kubectl apply -f crds/`.
    #[must_use]
    pub const fn is_ours(self) -> bool {
        matches!(self, Self::PodGroups | Self::Queues)
    }
}
