//! The frame that almost every kind has in protobuf.

use super::meta::Metadata;
use prost::Message;

/// Metadata, and what the kind has under `spec` and `status`.
#[derive(Clone, PartialEq, Message)]
#[prost(skip_debug)]
pub(crate) struct Object<S: Message + Default, T: Message + Default> {
    #[prost(message, required, tag = "1")]
    pub(crate) metadata: Metadata,
    #[prost(message, required, tag = "2")]
    pub(crate) spec: S,
    #[prost(message, required, tag = "3")]
    pub(crate) status: T,
}
