//! Who takes down what reaches the cores of the schedulers that are played.

use super::Driver;
use muster_model::units::Time;
use muster_record::Tape;
use std::fmt::Debug;

/// Has a tape for each process of the scheduler.
pub trait Tapes: Debug + Send {
    /// That of a process that starts now.
    fn of(&mut self, process: u64, now: Time) -> Box<dyn Tape>;
}

impl Driver {
    /// Has all be taken down that reaches the cores. To be said before anything is played.
    pub fn set_tapes(&mut self, tapes: Box<dyn Tapes>) {
        self.tapes = Some(tapes);
    }
}
