//! What can be known of a pod that cannot be decoded as a whole, because some text in it is none.
//!
//! kube-apiserver takes any bytes for text in protobuf where it does not look at it, as in a container's image.
//! What is read here it has checked, or made itself, or is read as bytes: so what the pod takes of its node is
//! known whatever else its owner wrote into it.

use super::meta::{CheckedMetadata, Metadata};
use super::{Container, Pod, PodSpec, PodStatus, Resources, Texts};
use bytes::Bytes;
use prost::{DecodeError, Message};

/// A pod.
#[derive(Clone, PartialEq, Message)]
struct KnownPod {
    #[prost(message, required, tag = "1")]
    metadata: CheckedMetadata,
    #[prost(message, required, tag = "2")]
    spec: KnownSpec,
    #[prost(message, required, tag = "3")]
    status: KnownStatus,
}

/// `spec` of a pod.
#[derive(Clone, PartialEq, Eq, Message)]
struct KnownSpec {
    #[prost(bytes = "bytes", tag = "19")]
    scheduler_name: Bytes,
    #[prost(string, tag = "10")]
    node_name: String,
    #[prost(int32, optional, tag = "25")]
    priority: Option<i32>,
    #[prost(message, repeated, tag = "2")]
    containers: Vec<KnownContainer>,
    #[prost(message, repeated, tag = "20")]
    init_containers: Vec<KnownContainer>,
    #[prost(btree_map = "string, message", tag = "32")]
    overhead: Texts,
    #[prost(message, optional, tag = "40")]
    resources: Option<Resources>,
}

/// A container of any sort.
#[derive(Clone, PartialEq, Eq, Message)]
struct KnownContainer {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, required, tag = "8")]
    resources: Resources,
    #[prost(bytes = "bytes", tag = "24")]
    restart_policy: Bytes,
}

/// `status` of a pod.
#[derive(Clone, PartialEq, Eq, Message)]
struct KnownStatus {
    #[prost(string, tag = "1")]
    phase: String,
}

fn text(bytes: &Bytes) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl From<KnownContainer> for Container {
    fn from(found: KnownContainer) -> Self {
        Self {
            name: found.name,
            resources: found.resources,
            restart_policy: Some(text(&found.restart_policy)).filter(|policy| !policy.is_empty()),
            ..Self::default()
        }
    }
}

impl Pod {
    /// What can be known of a pod that cannot be decoded as a whole, and why that is so. It is not to be
    /// scheduled.
    ///
    /// # Errors
    /// When not even that can be read.
    pub fn as_far_as_known(bytes: Bytes, why: &DecodeError) -> Result<Self, DecodeError> {
        let found = KnownPod::decode(bytes)?;
        let spec = found.spec;
        let containers = |found: Vec<KnownContainer>| found.into_iter().map(Into::into).collect();
        Ok(Self {
            metadata: Metadata::from(found.metadata).into(),
            spec: PodSpec {
                scheduler_name: text(&spec.scheduler_name),
                node_name: spec.node_name,
                priority: spec.priority,
                containers: containers(spec.containers),
                init_containers: containers(spec.init_containers),
                overhead: spec.overhead,
                resources: spec.resources,
                ..PodSpec::default()
            },
            status: PodStatus {
                phase: found.status.phase,
                ..PodStatus::default()
            },
            unreadable: Some(why.to_string().into()),
        })
    }
}
