//! What happened, in the order in which it did: one log for all who keep something about it, each with a
//! cursor of its own.

use super::ids::NodeId;

/// How many entries a reader may be behind before it has to look at everything anyway.
const KEPT: usize = 1 << 16;

/// The log.
#[derive(Clone, Debug)]
pub struct Log<T> {
    /// How many entries were dropped from its beginning.
    dropped: u64,
    log: Vec<T>,
}

/// The nodes whose facts, offer or pods changed.
pub type Touched = Log<NodeId>;

impl<T> Default for Log<T> {
    fn default() -> Self {
        Self {
            dropped: 0,
            log: Vec::new(),
        }
    }
}

impl<T> Log<T> {
    /// Notes one more.
    pub(super) fn note(&mut self, entry: T) {
        if self.log.len() >= 2 * KEPT {
            self.log.drain(..KEPT);
            self.dropped += KEPT as u64;
        }
        self.log.push(entry);
    }

    /// The cursor of a reader that has read everything.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.dropped + self.log.len() as u64
    }

    /// What was noted since, some of it several times; `None` where that is not known any more.
    #[must_use]
    pub fn since(&self, cursor: u64) -> Option<&[T]> {
        let start = usize::try_from(cursor.checked_sub(self.dropped)?).ok()?;
        self.log.get(start..)
    }
}

#[cfg(test)]
mod tests {
    use super::super::ids::Id;
    use super::*;

    #[test]
    fn a_reader_gets_what_it_has_not_read_or_hears_that_it_is_too_late() {
        let mut touched = Touched::default();
        let start = touched.end();
        touched.note(NodeId::from_index(3));
        let middle = touched.end();
        touched.note(NodeId::from_index(5));
        assert_eq!(touched.since(middle), Some(&[NodeId::from_index(5)][..]));
        assert_eq!(touched.since(touched.end()), Some(&[][..]));
        for _ in 0..3 * KEPT {
            touched.note(NodeId::from_index(1));
        }
        assert_eq!(touched.since(start), None);
        assert_eq!(touched.since(touched.end()), Some(&[][..]));
    }
}
