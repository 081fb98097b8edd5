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

/// Decodes a kind whose struct has just what the frame has.
macro_rules! decoded_from_object {
    ($kind:ty) => {
        impl $crate::protobuf::FromProtobuf for $kind {
            fn from_protobuf(bytes: bytes::Bytes) -> Result<Self, prost::DecodeError> {
                let found: $crate::slim::Object<_, _> = prost::Message::decode(bytes)?;
                Ok(Self {
                    metadata: found.metadata.into(),
                    spec: found.spec,
                    status: found.status,
                })
            }
        }
    };
}
pub(super) use decoded_from_object;
