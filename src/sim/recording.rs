//! Writes a record of what is played: the same files that a scheduler on a cluster writes.

use crate::driver::Tapes;
use muster_model::explanation::Clock;
use muster_model::units::Time;
use muster_record::{About, EntryRef, Storage, Tape, Writer};
use serde_json::Value;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// Writes a term for each process of the scheduler.
#[derive(Clone, Debug)]
pub struct Recording {
    storage: Storage,
    clock: Clock,
    configuration: Option<Value>,
    /// The first that went wrong.
    failure: Arc<Mutex<Option<io::Error>>>,
}

impl Recording {
    /// Records go there. `begin` is when what is played begins: what begins at a date is told by dates.
    #[must_use]
    pub fn new(storage: Storage, begin: Time, configuration: Option<Value>) -> Self {
        let clock = if begin > Time::ZERO {
            Clock::Utc
        } else {
            Clock::Scenario
        };
        Self {
            storage,
            clock,
            configuration,
            failure: Arc::default(),
        }
    }

    /// What could not be written, once what was played is gone.
    ///
    /// # Errors
    /// The first that went wrong: then the record is not whole.
    pub fn end(&self) -> io::Result<()> {
        self.failed().take().map_or(Ok(()), Err)
    }

    fn failed(&self) -> std::sync::MutexGuard<'_, Option<io::Error>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note<T>(&self, result: io::Result<T>) -> Option<T> {
        match result {
            Ok(done) => Some(done),
            Err(error) => {
                self.failed().get_or_insert(error);
                None
            }
        }
    }
}

impl Tapes for Recording {
    fn of(&mut self, process: u64, now: Time) -> Box<dyn Tape> {
        let about = About {
            instance: format!("scheduler-{process}"),
            started: now,
            clock: self.clock,
            configuration: self.configuration.clone(),
        };
        let writer = Writer::start(self.storage.clone(), about);
        Box::new(Written {
            writer: self.note(writer),
            recording: self.clone(),
        })
    }
}

/// Writes a term; nothing more after the first that cannot be written.
#[derive(Debug)]
struct Written {
    writer: Option<Writer>,
    recording: Recording,
}

impl Tape for Written {
    fn take(&mut self, entry: EntryRef<'_>) {
        if let Some(writer) = &mut self.writer {
            let written = writer.write(entry);
            if self.recording.note(written).is_none() {
                self.writer = None;
            }
        }
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        if let Some(writer) = self.writer.take() {
            self.recording.note(writer.end());
        }
    }
}
