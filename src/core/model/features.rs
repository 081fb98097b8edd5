//! What a pod may need of its node beyond amounts and labels: features that the kubelet declares.

/// A set of features of nodes. Of all that nodes declare only those count that a pod may need (source:
/// Kubernetes' `component-helpers/nodedeclaredfeatures` of 1.37; its other features are about pods that
/// have a node already).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct NodeFeatures(u8);

impl NodeFeatures {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// A container's end may restart all of its pod.
    pub const RESTART_ALL_CONTAINERS: Self = Self(1);
    /// A pod on the node's network may have users of its own.
    pub const USERS_ON_HOST_NETWORK: Self = Self(1 << 1);
    /// Volumes may be mounted with further options.
    pub const BIND_MOUNT_OPTIONS: Self = Self(1 << 2);

    /// The feature that a node declares by this name, if a pod may need it.
    #[must_use]
    pub fn named(name: &str) -> Self {
        match name {
            "RestartAllContainersOnContainerExits" => Self::RESTART_ALL_CONTAINERS,
            "UserNamespacesHostNetworkSupport" => Self::USERS_ON_HOST_NETWORK,
            "VolumeBindMountOptions" => Self::BIND_MOUNT_OPTIONS,
            _ => Self::NONE,
        }
    }

    /// Those of both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// This, if that is so.
    #[must_use]
    pub const fn when(self, is_so: bool) -> Self {
        if is_so { self } else { Self::NONE }
    }

    /// Whether all of the other's are here.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_has_what_it_declares() {
        let declared = ["VolumeBindMountOptions", "SomethingElse"];
        let node = declared.iter().fold(NodeFeatures::NONE, |all, one| {
            all.and(NodeFeatures::named(one))
        });
        assert_eq!(node, NodeFeatures::BIND_MOUNT_OPTIONS);
        assert!(node.has(NodeFeatures::NONE) && node.has(NodeFeatures::BIND_MOUNT_OPTIONS));
        assert!(!node.has(NodeFeatures::RESTART_ALL_CONTAINERS));
        assert!(
            !node.has(NodeFeatures::BIND_MOUNT_OPTIONS.and(NodeFeatures::RESTART_ALL_CONTAINERS))
        );
        assert_eq!(
            NodeFeatures::USERS_ON_HOST_NETWORK.when(false),
            NodeFeatures::NONE
        );
    }
}
