//! Writes a record on a thread of its own, so that nobody who decides waits for a disk.
//!
//! What waits to be written has a bound, and a write may fail: then entries are missing, the record says how many and
//! why, and writing is tried again. The same happens to what cannot be written at the beginning.

use crate::entry::{EntryRef, Gap};
use crate::head::About;
use crate::taped::Tape;
use crate::writer::{Storage, Writer};
use muster_model::units::{Millis, Time};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// So much waits to be written at most: all pods of a large cluster are told at once at the beginning.
const BOUND: usize = 256 << 20;
/// What comes in so short a while is written together: to wake the thread for each entry would cost more.
const GATHER: Duration = Duration::from_millis(10);
/// What was written reaches the file after so long without more.
const QUIET: Duration = Duration::from_secs(1);
/// So much room for lines is kept for the next.
const KEPT: usize = 1 << 20;
/// After a write that failed the next is tried so much later, by the time of the entries.
const AGAIN: Millis = Millis(10_000);
/// At the end it is waited for so long until all is written.
const END_WITHIN: Duration = Duration::from_secs(2);

/// What was written so far, for metrics.
#[derive(Debug, Default)]
pub struct Counts {
    written: AtomicU64,
    lost: AtomicU64,
}

impl Counts {
    /// Entries that were written.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// Entries that are missing.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

/// What waits to be written.
#[derive(Debug, Default)]
struct Waiting {
    /// Lines.
    text: Vec<u8>,
    /// How many entries they stand for, and when the last was.
    entries: u64,
    at: Time,
    /// How many of them are missing.
    missing: u64,
    /// Nothing more comes.
    closed: bool,
}

/// That, between the two threads.
#[derive(Debug, Default)]
struct Between {
    waiting: Mutex<Waiting>,
    news: Condvar,
}

impl Between {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Hands entries to the thread. They are made lines at once: that costs less than to copy them.
#[derive(Debug)]
pub struct Recorder {
    between: Arc<Between>,
    ended: Receiver<()>,
    counts: Arc<Counts>,
    bound: usize,
    /// Entries that found no room since the last that did.
    lost: u64,
}

impl Recorder {
    /// Starts the thread, which begins a term.
    ///
    /// # Errors
    /// When there can be no thread. That nothing can be written is none: it is said in the log, and tried again.
    pub fn start(storage: Storage, about: About, counts: Arc<Counts>) -> io::Result<Self> {
        Self::with_bound(storage, about, counts, BOUND)
    }

    /// The same where so many bytes may wait.
    pub(crate) fn with_bound(
        storage: Storage,
        about: About,
        counts: Arc<Counts>,
        bound: usize,
    ) -> io::Result<Self> {
        let between = Arc::new(Between::default());
        let (end, ended) = channel();
        let scribe = Scribe {
            between: Arc::clone(&between),
            counts: Arc::clone(&counts),
            state: State::Failed {
                parts: 0,
                lost: 0,
                try_at: Time::ZERO,
                why: None,
            },
            entries_before: 0,
            storage,
            about,
        };
        thread::Builder::new()
            .name("recorder".to_owned())
            .spawn(move || {
                scribe.run();
                // Dropped at the end, also of a panic.
                drop(end);
            })?;
        Ok(Self {
            between,
            ended,
            counts,
            bound,
            lost: 0,
        })
    }
}

impl Tape for Recorder {
    fn take(&mut self, entry: EntryRef<'_>) {
        let mut waiting = self.between.lock();
        // After a gap a good deal has room before more is taken: many small gaps tell nothing.
        let bound = if self.lost > 0 {
            self.bound / 2
        } else {
            self.bound
        };
        let bytes = waiting.text.len();
        if bytes >= bound {
            drop(waiting);
            if self.lost == 0 {
                tracing::warn!(
                    bytes,
                    "the record has a gap: it is written more slowly than there is news"
                );
            }
            self.lost += 1;
            self.counts.lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        if self.lost > 0 {
            let gap = Gap {
                entries: std::mem::take(&mut self.lost),
                why: "it was written more slowly than there was news".to_owned(),
            };
            waiting.add(EntryRef::Gap(entry.at(), &gap));
        }
        if !waiting.add(entry) {
            self.lost += 1;
            self.counts.lost.fetch_add(1, Ordering::Relaxed);
        }
        drop(waiting);
        if bytes == 0 {
            self.between.news.notify_one();
        }
    }
}

impl Waiting {
    /// Adds an entry; says whether it can be written.
    fn add(&mut self, entry: EntryRef<'_>) -> bool {
        let written = entry.write(&mut self.text).is_ok();
        if written {
            self.entries += entry.count();
            self.at = entry.at();
            if let EntryRef::Gap(_, gap) = entry {
                self.missing += gap.entries;
            }
        }
        written
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.between.lock().closed = true;
        self.between.news.notify_one();
        if let Err(RecvTimeoutError::Timeout) = self.ended.recv_timeout(END_WITHIN) {
            tracing::warn!("the end of the record is not written yet; it is not waited for");
        }
    }
}

/// The thread.
struct Scribe {
    between: Arc<Between>,
    counts: Arc<Counts>,
    state: State,
    /// Entries up to here, those that are missing included.
    entries_before: u64,
    storage: Storage,
    about: About,
}

enum State {
    Writes(Box<Writer>),
    /// Nothing can be written.
    Failed {
        /// How many parts there are.
        parts: u32,
        /// Entries that are missing since.
        lost: u64,
        /// When to try again.
        try_at: Time,
        /// What went wrong; `None`: nothing yet.
        why: Option<String>,
    },
}

impl Scribe {
    fn run(mut self) {
        let mut dirty = false;
        // Emptied, for what comes next.
        let mut text = Vec::new();
        loop {
            let waiting = self.between.lock();
            let quiet = |waiting: &mut Waiting| waiting.text.is_empty() && !waiting.closed;
            let waiting = if dirty {
                let waited = self.between.news.wait_timeout_while(waiting, QUIET, quiet);
                waited.unwrap_or_else(PoisonError::into_inner).0
            } else {
                let waited = self.between.news.wait_while(waiting, quiet);
                waited.unwrap_or_else(PoisonError::into_inner)
            };
            let (is_empty, closed) = (waiting.text.is_empty(), waiting.closed);
            drop(waiting);
            if is_empty {
                if closed {
                    break;
                }
                self.flush();
                dirty = false;
                continue;
            }
            if !closed {
                thread::sleep(GATHER);
            }
            let mut waiting = self.between.lock();
            std::mem::swap(&mut waiting.text, &mut text);
            let entries = std::mem::take(&mut waiting.entries);
            let (missing, at) = (std::mem::take(&mut waiting.missing), waiting.at);
            drop(waiting);
            self.take(&text, entries, missing, at);
            dirty = true;
            text.clear();
            text.shrink_to(KEPT);
        }
        if let State::Writes(writer) = self.state
            && let Err(error) = writer.end()
        {
            tracing::warn!(error = %error, "the end of the record cannot be written");
        }
    }

    /// Lines that stand for so many entries, the last of which was then, and some of which are missing.
    fn take(&mut self, text: &[u8], entries: u64, missing: u64, at: Time) {
        self.begin(at);
        self.entries_before += entries;
        let there = entries.saturating_sub(missing);
        match &mut self.state {
            State::Writes(writer) => match writer.lines(text, entries, at) {
                Ok(()) => {
                    self.counts.written.fetch_add(there, Ordering::Relaxed);
                    if writer.take_lost_beginning() {
                        tracing::warn!(
                            term = writer.term(),
                            "the beginning of the record was deleted for its limit: until the scheduler starts anew, \
                             what is recorded can be listed, and not be played again"
                        );
                    }
                }
                Err(error) => self.fail(&error, there, at),
            },
            State::Failed { lost, .. } => {
                *lost += entries;
                self.counts.lost.fetch_add(there, Ordering::Relaxed);
            }
        }
    }

    /// Begins to write, if it is time.
    fn begin(&mut self, now: Time) {
        let State::Failed {
            parts,
            lost,
            try_at,
            why,
        } = &mut self.state
        else {
            return;
        };
        if now < *try_at {
            return;
        }
        let (storage, about) = (self.storage.clone(), self.about.clone());
        match Writer::resume(storage, about, *parts, self.entries_before, why.clone()) {
            Ok(writer) => {
                match why {
                    Some(why) => tracing::info!(
                        lost,
                        why,
                        term = writer.term(),
                        "the record goes on, with a gap"
                    ),
                    None => tracing::info!(term = writer.term(), "recording"),
                }
                self.state = State::Writes(Box::new(writer));
            }
            Err(error) => {
                // Part of it may be there, under its number.
                *parts += 1;
                *try_at = now + AGAIN;
                let text = error.to_string();
                if why.as_ref() != Some(&text) {
                    tracing::warn!(error = %error, "nothing can be recorded: there will be a gap");
                }
                *why = Some(text);
            }
        }
    }

    fn fail(&mut self, error: &io::Error, lost: u64, at: Time) {
        tracing::warn!(error = %error, "the record cannot be written: there will be a gap");
        self.counts.lost.fetch_add(lost, Ordering::Relaxed);
        let failed = State::Failed {
            parts: 0,
            lost,
            try_at: at + AGAIN,
            why: Some(error.to_string()),
        };
        if let State::Writes(writer) = std::mem::replace(&mut self.state, failed) {
            let done = writer.part();
            writer.give_up();
            if let State::Failed { parts, .. } = &mut self.state {
                *parts = done;
            }
        }
    }

    fn flush(&mut self) {
        if let State::Writes(writer) = &mut self.state
            && let Err(error) = writer.flush()
        {
            tracing::warn!(error = %error, "what was recorded last did not reach the disk");
        }
    }
}
