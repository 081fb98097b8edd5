//! Disks that a pod names without a claim.

use super::Handle;

/// A disk that a pod names without a claim.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Disk {
    /// `gcePersistentDisk`.
    Gce {
        /// `pdName`.
        name: String,
        /// Mounted for reading only.
        read_only: bool,
    },
    /// `awsElasticBlockStore`.
    Aws {
        /// `volumeID`.
        id: String,
    },
    /// `iscsi`.
    Iscsi {
        /// The target.
        iqn: String,
        /// Mounted for reading only.
        read_only: bool,
    },
    /// `rbd`.
    Rbd {
        /// The monitors.
        monitors: Vec<String>,
        /// The pool.
        pool: String,
        /// The image.
        image: String,
        /// Mounted for reading only.
        read_only: bool,
    },
    /// One of which only the number on a node counts.
    Counted(Handle),
}

impl Disk {
    /// Whether a node cannot have both (source: kube-scheduler's VolumeRestrictions).
    #[must_use]
    pub fn conflicts(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Gce { name, read_only },
                Self::Gce {
                    name: other,
                    read_only: other_only,
                },
            ) => name == other && !(*read_only && *other_only),
            (Self::Aws { id }, Self::Aws { id: other }) => id == other,
            (
                Self::Iscsi { iqn, read_only },
                Self::Iscsi {
                    iqn: other,
                    read_only: other_only,
                },
            ) => iqn == other && !(*read_only && *other_only),
            (
                Self::Rbd {
                    monitors,
                    pool,
                    image,
                    read_only,
                },
                Self::Rbd {
                    monitors: other_monitors,
                    pool: other_pool,
                    image: other_image,
                    read_only: other_only,
                },
            ) => {
                let mut monitors = monitors.iter();
                monitors.any(|one| other_monitors.contains(one))
                    && pool == other_pool
                    && image == other_image
                    && !(*read_only && *other_only)
            }
            _ => false,
        }
    }

    /// What a node attaches for it, where that is counted (source: csi-translation-lib).
    #[must_use]
    pub fn handle(&self) -> Option<Handle> {
        let in_tree = |driver: &str, handle: String, plugin: &str| Handle {
            driver: driver.to_owned(),
            handle,
            in_tree: Some(plugin.to_owned()),
        };
        match self {
            Self::Gce { name, .. } => Some(in_tree(
                "pd.csi.storage.gke.io",
                format!("projects/UNSPECIFIED/zones/UNSPECIFIED/disks/{name}"),
                "kubernetes.io/gce-pd",
            )),
            Self::Aws { id } => {
                let id = id.strip_prefix("aws://").map_or(id.as_str(), |path| {
                    path.split_once('/').map_or("", |(_, id)| id)
                });
                let id = id.trim_matches('/').to_owned();
                Some(in_tree("ebs.csi.aws.com", id, "kubernetes.io/aws-ebs"))
            }
            Self::Counted(handle) => Some(handle.clone()),
            Self::Iscsi { .. } | Self::Rbd { .. } => None,
        }
    }

    /// Whether it can conflict with another.
    #[must_use]
    pub const fn is_restricted(&self) -> bool {
        !matches!(self, Self::Counted(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_for_one_pod_of_a_node_unless_all_only_read() {
        let gce = |name: &str, read_only| Disk::Gce {
            name: name.to_owned(),
            read_only,
        };
        assert!(gce("a", false).conflicts(&gce("a", false)));
        assert!(gce("a", false).conflicts(&gce("a", true)));
        assert!(!gce("a", true).conflicts(&gce("a", true)));
        assert!(!gce("a", false).conflicts(&gce("b", false)));
        let iscsi = |read_only| Disk::Iscsi {
            iqn: "iqn".to_owned(),
            read_only,
        };
        assert!(iscsi(false).conflicts(&iscsi(true)));
        assert!(!iscsi(true).conflicts(&iscsi(true)));
        let aws = |id: &str| Disk::Aws { id: id.to_owned() };
        assert!(aws("v").conflicts(&aws("v")));
        assert!(!aws("v").conflicts(&gce("v", false)));
    }

    #[test]
    fn an_image_of_ceph_is_the_same_where_a_monitor_is() {
        let rbd = |monitors: &[&str], image: &str| Disk::Rbd {
            monitors: monitors.iter().map(|one| (*one).to_owned()).collect(),
            pool: "rbd".to_owned(),
            image: image.to_owned(),
            read_only: false,
        };
        assert!(rbd(&["a", "b"], "i").conflicts(&rbd(&["b", "c"], "i")));
        assert!(!rbd(&["a"], "i").conflicts(&rbd(&["b"], "i")));
        assert!(!rbd(&["a"], "i").conflicts(&rbd(&["a"], "j")));
    }

    #[test]
    fn a_volume_of_aws_is_counted_by_its_bare_name() {
        let handle = |id: &str| Disk::Aws { id: id.to_owned() }.handle().unwrap().handle;
        assert_eq!(handle("vol-1"), "vol-1");
        assert_eq!(handle("aws://us-east-1a/vol-1"), "vol-1");
        assert_eq!(handle("aws:///vol-1"), "vol-1");
    }
}
