//! In which encoding the API server is spoken to: protobuf, where it was heard to speak it.
//!
//! Every read that can take protobuf offers both and takes what comes; who answers in JSON is not
//! offered protobuf again. Writes are made in protobuf only after an answer came in it, so that a
//! proxy that does not know it is never sent any.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// How an object is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// `application/json`.
    Json,
    /// `application/vnd.kubernetes.protobuf`.
    Protobuf,
}

/// What is known of the API server's encodings. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Encodings(Arc<Heard>);

#[derive(Debug, Default)]
struct Heard {
    protobuf: AtomicBool,
    refused: AtomicBool,
    said: AtomicBool,
}

impl Encodings {
    /// How to write what can be written in both.
    #[must_use]
    pub fn for_writes(&self) -> Encoding {
        if self.0.protobuf.load(Relaxed) && !self.0.refused.load(Relaxed) {
            Encoding::Protobuf
        } else {
            Encoding::Json
        }
    }

    /// An answer came in protobuf.
    pub fn heard_protobuf(&self) {
        self.0.protobuf.store(true, Relaxed);
    }

    /// An answer that might have come in protobuf came in JSON, or not at all.
    pub(super) fn heard_json(&self) {
        self.say("not all that is watched is offered in protobuf: it is read in JSON");
    }

    /// A write in protobuf was not understood: there will be no other.
    pub(super) fn refused(&self) {
        self.0.refused.store(true, Relaxed);
        self.say("writes in protobuf are not taken: they are made in JSON");
    }

    /// Said once: why is always the same.
    fn say(&self, words: &str) {
        if !self.0.said.swap(true, Relaxed) {
            tracing::info!("{words}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_are_in_protobuf_once_it_was_heard_until_one_is_refused() {
        let encodings = Encodings::default();
        assert_eq!(encodings.for_writes(), Encoding::Json);
        encodings.heard_protobuf();
        assert_eq!(encodings.for_writes(), Encoding::Protobuf);
        encodings.heard_json();
        assert_eq!(
            encodings.for_writes(),
            Encoding::Protobuf,
            "of another kind"
        );
        encodings.refused();
        assert_eq!(encodings.for_writes(), Encoding::Json);
        encodings.heard_protobuf();
        assert_eq!(encodings.for_writes(), Encoding::Json, "for good");
    }
}
