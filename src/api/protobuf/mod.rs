//! Kubernetes' protobuf: the envelope around every object, lists, watch events and statuses.
//!
//! The kinds themselves are in [`slim`](super::slim). Tags are those of the `generated.proto` files
//! in `k8s.io/apimachinery` (`pkg/runtime`, `pkg/apis/meta/v1`). Fields that are not read are
//! skipped, and what is inside of lists and events stays a slice of what came until it is decoded.

mod written;

pub use written::{Binding, Event, MicroTime, ObjectReference, WrittenMeta, sealed};

use bytes::Bytes;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::Status;
use prost::{DecodeError, Message};
use thiserror::Error;

/// The media type, of requests and of answers; that of a watch has `;stream=watch` behind it.
pub const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// What is accepted where either encoding will do.
pub const EITHER: &str = "application/vnd.kubernetes.protobuf, application/json";

/// What every object begins with, so that it is not taken for another encoding.
const MAGIC: &[u8] = b"k8s\0";

/// How one object of a kind is decoded from protobuf, without its envelope.
pub type Decode<K> = fn(Bytes) -> Result<K, DecodeError>;

/// A kind that the API server also gives in protobuf.
pub trait FromProtobuf: Sized {
    /// Decodes one object, without its envelope.
    ///
    /// # Errors
    /// When the bytes are not such an object.
    fn from_protobuf(bytes: Bytes) -> Result<Self, DecodeError>;
}

/// What names an object that cannot be decoded by its kind: its name, namespace, uid and version.
///
/// # Errors
/// When not even that can be read.
pub fn identity(bytes: Bytes) -> Result<ObjectMeta, DecodeError> {
    let Named { metadata } = Named::decode(bytes)?;
    Ok(ObjectMeta {
        name: Some(metadata.name),
        namespace: Some(metadata.namespace).filter(|namespace| !namespace.is_empty()),
        uid: Some(metadata.uid),
        resource_version: Some(metadata.resource_version),
        ..ObjectMeta::default()
    })
}

/// Why bytes are not what they should be.
#[derive(Debug, Error)]
pub enum Malformed {
    /// The envelope does not begin as one does.
    #[error("not an object in protobuf: it does not begin with \"k8s\\0\"")]
    NoMagic,
    /// What is inside cannot be decoded.
    #[error(transparent)]
    Undecodable(#[from] DecodeError),
    /// A watch event of a type that Kubernetes does not have.
    #[error("type {0:?} of a watch event: expected ADDED, MODIFIED, DELETED, BOOKMARK or ERROR")]
    EventType(String),
}

/// A page of a list.
#[derive(Debug)]
pub struct Page {
    /// The version of the whole list; empty where the server names none.
    pub version: String,
    /// How the next page is asked for; empty after the last.
    pub next: String,
    /// The objects, each to be decoded by its kind.
    pub items: Vec<Bytes>,
}

/// What a watch tells.
#[derive(Debug)]
pub enum Change {
    /// The object appeared or changed; to be decoded by its kind.
    Exists(Bytes),
    /// The object is gone; this was its last state.
    Gone(Bytes),
    /// Nothing happened up to this version.
    Bookmark(String),
    /// The watch is over, and why.
    Failed(Box<Status>),
}

/// Decodes a page of a list.
///
/// # Errors
/// When it is no list.
pub fn page(bytes: &Bytes) -> Result<Page, Malformed> {
    let list = ListMessage::decode(open(bytes)?)?;
    Ok(Page {
        version: list.metadata.resource_version,
        next: list.metadata.next,
        items: list.items,
    })
}

/// Decodes one event of a watch: a frame without its length.
///
/// # Errors
/// When it is no event.
pub fn change(frame: Bytes) -> Result<Change, Malformed> {
    let event = EventMessage::decode(frame)?;
    let object = open(&event.object.raw)?;
    match event.kind.as_str() {
        "ADDED" | "MODIFIED" => Ok(Change::Exists(object)),
        "DELETED" => Ok(Change::Gone(object)),
        "BOOKMARK" => {
            let Named { metadata } = Named::decode(object)?;
            Ok(Change::Bookmark(metadata.resource_version))
        }
        "ERROR" => {
            let status: Status = StatusMessage::decode(object)?.into();
            Ok(Change::Failed(status.boxed()))
        }
        _ => Err(Malformed::EventType(event.kind)),
    }
}

/// Decodes what the server says when it refuses a request.
///
/// # Errors
/// When it says it in another way.
pub fn status(bytes: &Bytes) -> Result<Status, Malformed> {
    Ok(StatusMessage::decode(open(bytes)?)?.into())
}

/// What is inside the envelope of an object.
///
/// # Errors
/// When there is no envelope.
pub fn open(bytes: &Bytes) -> Result<Bytes, Malformed> {
    if !bytes.starts_with(MAGIC) {
        return Err(Malformed::NoMagic);
    }
    Ok(Envelope::decode(bytes.slice(MAGIC.len()..))?.raw)
}

/// `runtime.Unknown`, as far as it is read.
#[derive(Clone, PartialEq, Eq, Message)]
struct Envelope {
    #[prost(bytes = "bytes", tag = "2")]
    raw: Bytes,
}

/// Any kind of list.
#[derive(Clone, PartialEq, Eq, Message)]
struct ListMessage {
    #[prost(message, required, tag = "1")]
    metadata: ListMetadata,
    #[prost(bytes = "bytes", repeated, tag = "2")]
    items: Vec<Bytes>,
}

/// `meta.v1.ListMeta`.
#[derive(Clone, PartialEq, Eq, Message)]
struct ListMetadata {
    #[prost(string, tag = "2")]
    resource_version: String,
    #[prost(string, tag = "3")]
    next: String,
}

/// `meta.v1.WatchEvent`.
#[derive(Clone, PartialEq, Eq, Message)]
struct EventMessage {
    #[prost(string, tag = "1")]
    kind: String,
    #[prost(message, required, tag = "2")]
    object: RawExtension,
}

/// `runtime.RawExtension`.
#[derive(Clone, PartialEq, Eq, Message)]
struct RawExtension {
    #[prost(bytes = "bytes", tag = "1")]
    raw: Bytes,
}

/// Any kind of object, of which only matters which one it is, and of which version. All of this the API server
/// makes or checks itself, so that it is always text.
#[derive(Clone, PartialEq, Eq, Message)]
struct Named {
    #[prost(message, required, tag = "1")]
    metadata: Names,
}

/// `meta.v1.ObjectMeta`, of which only that matters.
#[derive(Clone, PartialEq, Eq, Message)]
struct Names {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "3")]
    namespace: String,
    #[prost(string, tag = "5")]
    uid: String,
    #[prost(string, tag = "6")]
    resource_version: String,
}

/// `meta.v1.Status`.
#[derive(Clone, PartialEq, Eq, Message)]
struct StatusMessage {
    #[prost(string, tag = "3")]
    message: String,
    #[prost(string, tag = "4")]
    reason: String,
    #[prost(int32, tag = "6")]
    code: i32,
}

impl From<StatusMessage> for Status {
    fn from(found: StatusMessage) -> Self {
        let code = u16::try_from(found.code).unwrap_or_default();
        Self::failure(&found.message, &found.reason).with_code(code)
    }
}
