//! Who chooses pods that belong together: of Services and controllers only their selectors.

use super::{LabelSelector, Object, nullable, trimmed};
use crate::protobuf::FromProtobuf;
use bytes::Bytes;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use prost::{DecodeError, Message};
use serde::Deserialize;
use std::collections::BTreeMap;

/// `spec` of what chooses by labels alone.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default)]
pub struct SelectingLabels {
    /// Labels with these values; without any it chooses nobody.
    #[serde(deserialize_with = "nullable")]
    #[prost(btree_map = "string, string", tag = "2")]
    pub selector: BTreeMap<String, String>,
}

/// `spec` of what chooses by a selector.
#[derive(Clone, PartialEq, Eq, Deserialize, Message)]
#[serde(default)]
pub struct Selecting {
    /// Whom it chooses.
    #[prost(message, optional, tag = "2")]
    pub selector: Option<LabelSelector>,
}

/// Reads a kind in protobuf of which only metadata and `spec` are read.
macro_rules! without_status {
    ($kind:ty) => {
        impl FromProtobuf for $kind {
            fn from_protobuf(bytes: Bytes) -> Result<Self, DecodeError> {
                let found = Object::<_, ()>::decode(bytes)?;
                Ok(Self {
                    metadata: found.metadata.into(),
                    spec: found.spec,
                })
            }
        }
    };
}

/// `v1` Service.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Resource)]
#[resource(inherit = "k8s_openapi::api::core::v1::Service")]
pub struct Service {
    /// Namespace and name.
    #[serde(deserialize_with = "trimmed")]
    pub metadata: ObjectMeta,
    /// Whom it chooses.
    #[serde(default, deserialize_with = "nullable")]
    pub spec: SelectingLabels,
}

without_status!(Service);

/// `v1` ReplicationController.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Resource)]
#[resource(inherit = "k8s_openapi::api::core::v1::ReplicationController")]
pub struct ReplicationController {
    /// Namespace and name.
    #[serde(deserialize_with = "trimmed")]
    pub metadata: ObjectMeta,
    /// Whom it chooses.
    #[serde(default, deserialize_with = "nullable")]
    pub spec: SelectingLabels,
}

without_status!(ReplicationController);

/// `apps/v1` ReplicaSet.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Resource)]
#[resource(inherit = "k8s_openapi::api::apps::v1::ReplicaSet")]
pub struct ReplicaSet {
    /// Namespace and name.
    #[serde(deserialize_with = "trimmed")]
    pub metadata: ObjectMeta,
    /// Whom it chooses.
    #[serde(default, deserialize_with = "nullable")]
    pub spec: Selecting,
}

without_status!(ReplicaSet);

/// `apps/v1` StatefulSet.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Resource)]
#[resource(inherit = "k8s_openapi::api::apps::v1::StatefulSet")]
pub struct StatefulSet {
    /// Namespace and name.
    #[serde(deserialize_with = "trimmed")]
    pub metadata: ObjectMeta,
    /// Whom it chooses.
    #[serde(default, deserialize_with = "nullable")]
    pub spec: Selecting,
}

without_status!(StatefulSet);
