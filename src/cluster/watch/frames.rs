//! Where one event of a watch ends and the next begins, however the bytes come in.

use bytes::{Buf, Bytes, BytesMut};
use thiserror::Error;

/// How long an event may be: many times what etcd takes for an object.
const FRAME_LIMIT: usize = 16 << 20;
/// In protobuf, an event has its length in so many bytes before it.
const LENGTH: usize = 4;

/// What tells events apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// Each is a line.
    Lines,
    /// Each has its length before it, the highest byte first.
    Lengths,
}

/// An event that is too long to be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("an event of a watch has more than {FRAME_LIMIT} bytes")]
pub(super) struct TooLong;

/// What came and is not read yet.
#[derive(Debug)]
pub(super) struct Frames {
    framing: Framing,
    buffer: BytesMut,
    /// So far there is no end of line.
    searched: usize,
}

impl Frames {
    pub(super) fn new(framing: Framing) -> Self {
        Self {
            framing,
            buffer: BytesMut::new(),
            searched: 0,
        }
    }

    /// More came.
    pub(super) fn put(&mut self, chunk: &[u8]) {
        self.buffer.extend_from_slice(chunk);
    }

    /// Whether what came ends where an event ends.
    pub(super) fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// The next event, if all of it is there.
    pub(super) fn take(&mut self) -> Result<Option<Bytes>, TooLong> {
        match self.framing {
            Framing::Lines => self.line(),
            Framing::Lengths => self.measured(),
        }
    }

    fn line(&mut self) -> Result<Option<Bytes>, TooLong> {
        let unseen = &self.buffer[self.searched..];
        let Some(end) = unseen.iter().position(|byte| *byte == b'\n') else {
            self.searched = self.buffer.len();
            return if self.searched > FRAME_LIMIT {
                Err(TooLong)
            } else {
                Ok(None)
            };
        };
        let line = self.buffer.split_to(self.searched + end).freeze();
        self.buffer.advance(1);
        self.searched = 0;
        Ok(Some(line))
    }

    fn measured(&mut self) -> Result<Option<Bytes>, TooLong> {
        let Some(length) = self.buffer.first_chunk::<LENGTH>() else {
            return Ok(None);
        };
        let length = usize::try_from(u32::from_be_bytes(*length)).map_err(|_| TooLong)?;
        if length > FRAME_LIMIT {
            return Err(TooLong);
        }
        if self.buffer.len() < LENGTH + length {
            return Ok(None);
        }
        self.buffer.advance(LENGTH);
        Ok(Some(self.buffer.split_to(length).freeze()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded(framing: Framing, events: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for event in events {
            if framing == Framing::Lengths {
                bytes.extend(u32::try_from(event.len()).unwrap().to_be_bytes());
            }
            bytes.extend(event);
            if framing == Framing::Lines {
                bytes.push(b'\n');
            }
        }
        bytes
    }

    fn decoded(framing: Framing, bytes: &[u8], chunk: usize) -> (Vec<Vec<u8>>, bool) {
        let mut frames = Frames::new(framing);
        let mut found = Vec::new();
        for chunk in bytes.chunks(chunk) {
            frames.put(chunk);
            while let Some(frame) = frames.take().unwrap() {
                found.push(frame.to_vec());
            }
        }
        (found, frames.is_empty())
    }

    proptest! {
        #[test]
        fn events_are_the_same_however_they_are_cut(
            events in prop::collection::vec(prop::collection::vec(b'a'..=b'z', 0..20), 0..10),
            chunk in 1_usize..50,
        ) {
            for framing in [Framing::Lines, Framing::Lengths] {
                let bytes = encoded(framing, &events);
                prop_assert_eq!(&decoded(framing, &bytes, chunk), &(events.clone(), true));
                if let Some((_, cut)) = bytes.split_last() {
                    let (found, whole) = decoded(framing, cut, chunk);
                    prop_assert!(!whole || cut.is_empty() || events.last().unwrap().is_empty());
                    prop_assert_eq!(found.len(), events.len() - 1);
                }
            }
        }
    }

    #[test]
    fn an_event_without_end_is_not_gathered_for_ever() {
        let mut frames = Frames::new(Framing::Lengths);
        frames.put(&u32::MAX.to_be_bytes());
        assert_eq!(frames.take(), Err(TooLong));
        let mut frames = Frames::new(Framing::Lines);
        frames.put(&vec![b' '; FRAME_LIMIT]);
        assert_eq!(frames.take(), Ok(None));
        frames.put(b" ");
        assert_eq!(frames.take(), Err(TooLong));
    }
}
