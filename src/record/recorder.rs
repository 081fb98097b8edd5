//! Writes a record on a thread of its own, so that nobody who decides waits for a disk.
//!
//! What waits to be written has a bound, and a write may fail: then entries are missing, the record says how many and
//! why, and writing is tried again. The same happens to what cannot be written at the beginning.

use crate::entry::{Entry, Gap};
use crate::head::About;
use crate::taped::Tape;
use crate::writer::{Storage, Writer};
use muster_model::units::{Millis, Time};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

/// So many entries wait to be written at most; all pods of a large cluster are told at once at the beginning.
const BOUND: usize = 1 << 18;
/// What comes in so short a while is written together: to wake the thread for each entry would cost more.
const GATHER: Duration = Duration::from_millis(10);
/// What was written reaches the file after so long without more.
const QUIET: Duration = Duration::from_secs(1);
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

/// Hands entries to the thread.
#[derive(Debug)]
pub struct Recorder {
    sender: Option<Sender<Entry>>,
    ended: Receiver<()>,
    waiting: Arc<AtomicUsize>,
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

    /// The same where so many entries may wait.
    pub(crate) fn with_bound(
        storage: Storage,
        about: About,
        counts: Arc<Counts>,
        bound: usize,
    ) -> io::Result<Self> {
        let (sender, entries) = channel();
        let (end, ended) = channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let scribe = Scribe {
            entries,
            waiting: Arc::clone(&waiting),
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
            sender: Some(sender),
            ended,
            waiting,
            counts,
            bound,
            lost: 0,
        })
    }

    fn send(&self, entry: Entry) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        // The thread ends by itself only by a bug, which the log tells of; there is no record then.
        if let Some(sender) = &self.sender {
            let _ = sender.send(entry);
        }
    }
}

impl Tape for Recorder {
    fn take(&mut self, entry: Entry) {
        let waiting = self.waiting.load(Ordering::Relaxed);
        // After a gap a good deal has room before more is taken: many small gaps tell nothing.
        let bound = if self.lost > 0 {
            self.bound / 2
        } else {
            self.bound
        };
        if waiting >= bound {
            if self.lost == 0 {
                tracing::warn!(
                    waiting,
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
            self.send(Entry::Gap(entry.at(), gap));
        }
        self.send(entry);
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        drop(self.sender.take());
        if let Err(RecvTimeoutError::Timeout) = self.ended.recv_timeout(END_WITHIN) {
            tracing::warn!("the end of the record is not written yet; it is not waited for");
        }
    }
}

/// The thread.
struct Scribe {
    entries: Receiver<Entry>,
    waiting: Arc<AtomicUsize>,
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
        loop {
            let entry = if dirty {
                match self.entries.recv_timeout(QUIET) {
                    Ok(entry) => entry,
                    Err(RecvTimeoutError::Timeout) => {
                        self.flush();
                        dirty = false;
                        continue;
                    }
                    Err(RecvTimeoutError::Disconnected) => break,
                }
            } else {
                match self.entries.recv() {
                    Ok(entry) => entry,
                    Err(_) => break,
                }
            };
            dirty = true;
            self.take(&entry);
            while let Ok(entry) = self.entries.try_recv() {
                self.take(&entry);
            }
            thread::sleep(GATHER);
        }
        if let State::Writes(writer) = self.state
            && let Err(error) = writer.end()
        {
            tracing::warn!(error = %error, "the end of the record cannot be written");
        }
    }

    fn take(&mut self, entry: &Entry) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        self.begin(entry.at());
        self.entries_before += entry.count();
        match &mut self.state {
            State::Writes(writer) => match writer.write(entry) {
                Ok(()) => {
                    self.counts.written.fetch_add(1, Ordering::Relaxed);
                    if writer.take_lost_beginning() {
                        tracing::warn!(
                            term = writer.term(),
                            "the beginning of the record was deleted for its limit: until the scheduler starts anew, \
                             what is recorded can be listed, and not be played again"
                        );
                    }
                }
                Err(error) => self.fail(&error, entry),
            },
            State::Failed { lost, .. } => {
                *lost += entry.count();
                self.counts.lost.fetch_add(entry.count(), Ordering::Relaxed);
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

    fn fail(&mut self, error: &io::Error, entry: &Entry) {
        tracing::warn!(error = %error, "the record cannot be written: there will be a gap");
        let lost = entry.count();
        self.counts.lost.fetch_add(lost, Ordering::Relaxed);
        let failed = State::Failed {
            parts: 0,
            lost,
            try_at: entry.at() + AGAIN,
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
