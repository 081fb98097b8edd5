//! The core, played by a record: whether it decides what it decided then.

use crate::entry::{Entry, EntryRef};
use crate::error::RecordError;
use crate::reader::Line;
use muster_core::Core;
use muster_core::engine::{Policy, Scheduler};
use muster_model::Plan;
use muster_model::units::Time;

/// Plays a term from its beginning.
#[derive(Debug)]
pub struct Player {
    core: Core,
    own: Vec<u8>,
}

/// What came of a line.
#[derive(Debug)]
pub enum Played {
    /// It was news.
    Heard,
    /// The same was decided as then.
    Same(Plan),
    /// Something else was.
    Differs(Box<Difference>),
}

/// Two plans of one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// When it was decided.
    pub at: Time,
    /// What was decided then.
    pub recorded: Plan,
    /// What was decided now.
    pub played: Plan,
}

impl Player {
    /// A core that knows nothing yet.
    #[must_use]
    pub fn new(policy: Policy) -> Self {
        Self {
            core: Core::new(policy),
            own: Vec::new(),
        }
    }

    /// Plays a line. After a difference nothing that follows says anything: what was heard then became of what was
    /// decided then.
    ///
    /// # Errors
    /// When the line cannot be read.
    pub fn play(&mut self, line: &Line) -> Result<Played, RecordError> {
        if !line.is_decided() {
            if let Entry::Heard(at, event) = line.entry()? {
                self.core.hear(event, at, |_| ());
            }
            return Ok(Played::Heard);
        }
        let at = line.at()?;
        let played = self.core.decide(at, |_| ());
        self.own.clear();
        // A plan that cannot be written is none that was.
        let _ = EntryRef::Decided(at, &played).write(&mut self.own);
        if self.own.strip_suffix(b"\n") == Some(line.text.as_slice()) {
            return Ok(Played::Same(played));
        }
        match line.entry()? {
            // Another version may write the same in another way.
            Entry::Decided(_, recorded) if recorded == played => Ok(Played::Same(played)),
            Entry::Decided(_, recorded) => Ok(Played::Differs(Box::new(Difference {
                at,
                recorded,
                played,
            }))),
            Entry::Heard(..) | Entry::Gap(..) => Ok(Played::Heard),
        }
    }

    /// What the scheduler knows now.
    #[must_use]
    pub const fn scheduler(&self) -> &Scheduler {
        self.core.scheduler()
    }
}
