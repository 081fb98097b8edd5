//! Lists and watch events in JSON and in protobuf: all in which the two differ.

use super::frames::{Frames, Framing};
use bytes::Bytes;
use http::HeaderMap;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use kube::Error;
use kube::core::error_boundary::InvalidObject;
use kube::core::response::StatusDetails;
use kube::core::{ObjectList, Status, WatchEvent};
use muster_api::kinds::Watchable;
use muster_api::protobuf::{self, Change as Message, Decode};
use serde::de::DeserializeOwned;
use std::{io, vec};
use tower::BoxError;

/// An object that came, or all that can be said of one that cannot be decoded.
pub(super) type Came<K> = Result<K, Box<InvalidObject>>;

/// The encoding of one answer.
#[derive(Clone, Copy)]
pub(super) enum Codec<K> {
    Json,
    Protobuf(Decode<K>),
}

/// A page of a list.
pub(super) struct Page<K> {
    /// The version of the whole list; empty where the server names none.
    pub(super) version: String,
    /// How the next page is asked for; empty after the last.
    pub(super) next: String,
    pub(super) items: Items<K>,
}

/// The objects of a page. Those in protobuf are decoded one by one, when their turn comes.
pub(super) enum Items<K> {
    Decoded(vec::IntoIter<K>),
    Encoded(vec::IntoIter<Bytes>, Decode<K>),
}

/// What a watch tells.
pub(super) enum Change<K> {
    /// It appeared or changed.
    Exists(Came<K>),
    /// It is gone.
    Gone(Came<K>),
    /// Nothing happened up to this version.
    Bookmark(String),
    /// The watch is over, and why.
    Failed(Box<Status>),
}

/// What came is not what was asked for.
pub(super) fn malformed(error: impl Into<BoxError>) -> Error {
    Error::ReadEvents(io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Whether an answer is in protobuf.
pub(super) fn is_protobuf(headers: &HeaderMap) -> bool {
    headers
        .get(CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(protobuf::MEDIA_TYPE.as_bytes()))
}

/// What a server says when it refuses, in whichever encoding; any text will do.
pub(super) fn refusal(headers: &HeaderMap, code: u16, body: &Bytes) -> Error {
    let said = if is_protobuf(headers) {
        protobuf::status(body).ok()
    } else {
        serde_json::from_slice(body).ok()
    };
    let mut status = said.unwrap_or_else(|| {
        let text = String::from_utf8_lossy(body);
        Status::failure(text.trim(), "").with_code(code)
    });
    let wait = headers
        .get(RETRY_AFTER)
        .and_then(|wait| wait.to_str().ok()?.parse().ok());
    if let Some(seconds) = wait {
        let details = status.details.get_or_insert_with(|| StatusDetails {
            name: String::new(),
            group: String::new(),
            kind: String::new(),
            uid: String::new(),
            causes: Vec::new(),
            retry_after_seconds: 0,
        });
        details.retry_after_seconds = seconds;
    }
    Error::Api(status.boxed())
}

/// Decodes one object. Where it cannot be decoded as a whole, what is known of it, or which one it is: one
/// object keeps no other from being read.
///
/// # Errors
/// When it is not even known which object it is.
fn decoded<K: Watchable>(bytes: Bytes, decode: Decode<K>) -> Result<Came<K>, Error> {
    let error = match decode(bytes.clone()) {
        Ok(object) => return Ok(Ok(object)),
        Err(error) => error,
    };
    let known = K::AS_FAR_AS_KNOWN.and_then(|known| known(bytes.clone(), &error).ok());
    if let Some(object) = known {
        return Ok(Ok(object));
    }
    let metadata = protobuf::identity(bytes).map_err(malformed)?;
    Ok(Err(Box::new(InvalidObject {
        error: error.to_string(),
        metadata,
    })))
}

impl<K: Watchable> Codec<K> {
    /// Where one event of a watch ends.
    pub(super) fn frames(&self) -> Frames {
        Frames::new(match self {
            Self::Json => Framing::Lines,
            Self::Protobuf(_) => Framing::Lengths,
        })
    }

    pub(super) fn page(&self, body: &Bytes) -> Result<Page<K>, Error> {
        match self {
            Self::Json => {
                let list: ObjectList<K> =
                    serde_json::from_slice(body).map_err(Error::SerdeError)?;
                Ok(Page {
                    version: list.metadata.resource_version.unwrap_or_default(),
                    next: list.metadata.continue_.unwrap_or_default(),
                    items: Items::Decoded(list.items.into_iter()),
                })
            }
            Self::Protobuf(decode) => {
                let list = protobuf::page(body).map_err(malformed)?;
                Ok(Page {
                    version: list.version,
                    next: list.next,
                    items: Items::Encoded(list.items.into_iter(), *decode),
                })
            }
        }
    }

    pub(super) fn change(&self, frame: Bytes) -> Result<Change<K>, Error> {
        match self {
            Self::Json => json_change(&frame),
            Self::Protobuf(decode) => {
                let decode = |object| decoded(object, *decode);
                Ok(match protobuf::change(frame).map_err(malformed)? {
                    Message::Exists(object) => Change::Exists(decode(object)?),
                    Message::Gone(object) => Change::Gone(decode(object)?),
                    Message::Bookmark(version) => Change::Bookmark(version),
                    Message::Failed(status) => Change::Failed(status),
                })
            }
        }
    }
}

fn json_change<K: DeserializeOwned>(line: &[u8]) -> Result<Change<K>, Error> {
    let event = match serde_json::from_slice::<WatchEvent<K>>(line) {
        Ok(event) => event,
        // A server that is about to end may say so without an event around it.
        Err(error) => match serde_json::from_slice::<Status>(line) {
            Ok(status) => return Ok(Change::Failed(status.boxed())),
            Err(_) => return Err(Error::SerdeError(error)),
        },
    };
    Ok(match event {
        WatchEvent::Added(object) | WatchEvent::Modified(object) => Change::Exists(Ok(object)),
        WatchEvent::Deleted(object) => Change::Gone(Ok(object)),
        WatchEvent::Bookmark(mark) => Change::Bookmark(mark.metadata.resource_version),
        WatchEvent::Error(status) => Change::Failed(status),
    })
}

impl<K: Watchable> Iterator for Items<K> {
    type Item = Result<Came<K>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Decoded(items) => items.next().map(|object| Ok(Ok(object))),
            Self::Encoded(items, decode) => Some(decoded(items.next()?, *decode)),
        }
    }
}
