//! The messages that Muster writes, with the fields that it sets.
//!
//! Tags are those of `k8s.io/api/core/v1/generated.proto` and `k8s.io/api/events/v1`.

use super::MAGIC;
use prost::Message;
use std::collections::BTreeMap;

/// An object as the API server takes it: in its envelope, which says what it is.
#[must_use]
pub fn sealed(api_version: &str, kind: &str, object: &impl Message) -> Vec<u8> {
    let envelope = SealedEnvelope {
        type_meta: TypeMeta {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
        },
        raw: object.encode_to_vec(),
    };
    let mut bytes = Vec::with_capacity(MAGIC.len() + envelope.encoded_len());
    bytes.extend_from_slice(MAGIC);
    envelope.encode_raw(&mut bytes);
    bytes
}

/// `runtime.Unknown`, as it is written.
#[derive(Clone, PartialEq, Eq, Message)]
struct SealedEnvelope {
    #[prost(message, required, tag = "1")]
    type_meta: TypeMeta,
    #[prost(bytes = "vec", tag = "2")]
    raw: Vec<u8>,
}

/// `runtime.TypeMeta`.
#[derive(Clone, PartialEq, Eq, Message)]
struct TypeMeta {
    #[prost(string, tag = "1")]
    api_version: String,
    #[prost(string, tag = "2")]
    kind: String,
}

/// `meta.v1.ObjectMeta` of an object that is written.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct WrittenMeta {
    /// Its name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Its namespace.
    #[prost(string, tag = "3")]
    pub namespace: String,
    /// Of a Binding: the uid of the pod that is meant.
    #[prost(string, tag = "5")]
    pub uid: String,
    /// Of a Binding: what the pod gets with it.
    #[prost(btree_map = "string, string", tag = "12")]
    pub annotations: BTreeMap<String, String>,
}

/// `v1` ObjectReference.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct ObjectReference {
    /// `Pod`, `Node`.
    #[prost(string, tag = "1")]
    pub kind: String,
    /// Empty for a node.
    #[prost(string, tag = "2")]
    pub namespace: String,
    /// Its name.
    #[prost(string, tag = "3")]
    pub name: String,
    /// Its uid, where it matters.
    #[prost(string, tag = "4")]
    pub uid: String,
    /// `v1`.
    #[prost(string, tag = "5")]
    pub api_version: String,
}

/// `v1` Binding.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Binding {
    /// Which pod.
    #[prost(message, required, tag = "1")]
    pub metadata: WrittenMeta,
    /// To which node.
    #[prost(message, required, tag = "2")]
    pub target: ObjectReference,
}

/// `events.k8s.io/v1` Event.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Event {
    /// Where, and under what name.
    #[prost(message, required, tag = "1")]
    pub metadata: WrittenMeta,
    /// When.
    #[prost(message, required, tag = "2")]
    pub event_time: MicroTime,
    /// Which program says it.
    #[prost(string, tag = "4")]
    pub reporting_controller: String,
    /// Which process of it.
    #[prost(string, tag = "5")]
    pub reporting_instance: String,
    /// What was done.
    #[prost(string, tag = "6")]
    pub action: String,
    /// Why, in a word.
    #[prost(string, tag = "7")]
    pub reason: String,
    /// About what.
    #[prost(message, required, tag = "8")]
    pub regarding: ObjectReference,
    /// In words.
    #[prost(string, tag = "10")]
    pub note: String,
    /// `Normal` or `Warning`.
    #[prost(string, tag = "11")]
    pub kind: String,
}

/// `meta.v1.MicroTime`.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct MicroTime {
    /// Since 1970.
    #[prost(int64, tag = "1")]
    pub seconds: i64,
    /// Whole microseconds only.
    #[prost(int32, tag = "2")]
    pub nanos: i32,
}

impl From<jiff::Timestamp> for MicroTime {
    fn from(at: jiff::Timestamp) -> Self {
        Self {
            seconds: at.as_second(),
            nanos: at.subsec_nanosecond() / 1_000 * 1_000,
        }
    }
}
