//! What has been said about which pod, so that nothing is said twice.
//!
//! A condition is written again when its text changes. An event is only posted when its kind
//! changes: `0/5 nodes are available: 3 Insufficient cpu` and `0/6 ...: 4 Insufficient cpu` are
//! the same news, and repeating them is what users complain about.

use std::collections::{BTreeMap, VecDeque};

/// About so many pods something is remembered; beyond, the oldest are forgotten.
const BOUND: usize = 100_000;

/// What is worth writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct News {
    /// The condition's text changed.
    pub(super) condition: bool,
    /// It is the first one.
    pub(super) first: bool,
    /// The kind of reason changed.
    pub(super) event: bool,
}

#[derive(Debug)]
struct Word {
    serial: u64,
    text: u64,
    kind: u64,
}

/// The memory, by pod uid.
#[derive(Debug)]
pub(super) struct Said {
    words: BTreeMap<Box<str>, Word>,
    order: VecDeque<(u64, Box<str>)>,
    serial: u64,
    bound: usize,
}

impl Default for Said {
    fn default() -> Self {
        Self::with_bound(BOUND)
    }
}

impl Said {
    fn with_bound(bound: usize) -> Self {
        Self {
            words: BTreeMap::new(),
            order: VecDeque::new(),
            serial: 0,
            bound,
        }
    }

    /// Takes note of why a pod waits; says what of it is news.
    pub(super) fn waits(&mut self, uid: &str, reason: &str, message: &str) -> News {
        let text = digest(reason.bytes().chain([0]).chain(message.bytes()));
        let kind = digest(
            reason
                .bytes()
                .chain([0])
                .chain(message.bytes().filter(|byte| !byte.is_ascii_digit())),
        );
        if let Some(word) = self.words.get_mut(uid) {
            let news = News {
                condition: word.text != text,
                first: false,
                event: word.kind != kind,
            };
            (word.text, word.kind) = (text, kind);
            return news;
        }
        self.remember(uid, text, kind);
        News {
            condition: true,
            first: true,
            event: true,
        }
    }

    /// The pod waits no more.
    pub(super) fn forget(&mut self, uid: &str) {
        self.words.remove(uid);
    }

    fn remember(&mut self, uid: &str, text: u64, kind: u64) {
        self.serial += 1;
        let serial = self.serial;
        self.words.insert(uid.into(), Word { serial, text, kind });
        self.order.push_back((serial, uid.into()));
        while self.order.len() > self.bound {
            let Some((serial, uid)) = self.order.pop_front() else {
                break;
            };
            if self
                .words
                .get(&uid)
                .is_some_and(|word| word.serial == serial)
            {
                self.words.remove(&uid);
            }
        }
    }
}

/// FNV-1a: the same everywhere, and enough to tell two messages about one pod apart.
fn digest(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: &str = "0/5 nodes are available: 3 Insufficient cpu.";
    const SHORTER: &str = "0/6 nodes are available: 4 Insufficient cpu.";
    const OTHER: &str = "0/6 nodes are available: 6 Insufficient memory.";

    #[test]
    fn the_first_word_is_news_and_a_repeat_is_not() {
        let mut said = Said::default();
        let first = said.waits("u", "Unschedulable", SHORT);
        assert!(first.first && first.condition && first.event);
        let repeat = said.waits("u", "Unschedulable", SHORT);
        assert!(!repeat.first && !repeat.condition && !repeat.event);
    }

    #[test]
    fn other_numbers_change_the_condition_but_make_no_event() {
        let mut said = Said::default();
        said.waits("u", "Unschedulable", SHORT);
        let news = said.waits("u", "Unschedulable", SHORTER);
        assert!(news.condition && !news.event);
        let news = said.waits("u", "Unschedulable", OTHER);
        assert!(news.condition && news.event);
        assert!(said.waits("u", "SchedulerError", OTHER).event);
    }

    #[test]
    fn memory_is_bounded_and_the_oldest_goes_first() {
        let mut said = Said::with_bound(2);
        for uid in ["a", "b", "c"] {
            said.waits(uid, "Unschedulable", SHORT);
        }
        assert_eq!(said.words.len(), 2);
        assert!(said.waits("a", "Unschedulable", SHORT).first);
        assert!(!said.waits("c", "Unschedulable", SHORT).first);
    }

    #[test]
    fn a_pod_that_waits_again_after_it_was_forgotten_is_news() {
        let mut said = Said::with_bound(2);
        said.waits("a", "Unschedulable", SHORT);
        said.forget("a");
        assert!(said.waits("a", "Unschedulable", SHORT).first);
        said.waits("b", "Unschedulable", SHORT);
        assert!(
            !said.waits("a", "Unschedulable", SHORT).first,
            "only its old place is given up"
        );
    }
}
