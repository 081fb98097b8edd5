//! Who looks on while controllers write, and says what must not be.

use super::Driver;
use crate::server::{Pod, Server};
use muster_controllers::{Answer, Write};
use muster_model::units::Time;
use std::fmt::Debug;

/// Sees every write of controllers just before and just after the API server carries it out, and every pod that fails.
pub trait Witness: Debug + Send {
    /// It is about to be carried out.
    ///
    /// # Errors
    /// What must not be.
    fn before(&mut self, write: &Write, server: &Server, now: Time) -> Result<(), String>;

    /// It was carried out, or refused.
    ///
    /// # Errors
    /// What must not be.
    fn after(&mut self, write: &Write, answer: &Answer, server: &Server) -> Result<(), String>;

    /// A pod has failed by itself.
    fn failed(&mut self, pod: &Pod);
}

impl Driver {
    /// Has somebody look on. What they find is a violation.
    pub fn set_witness(&mut self, witness: Box<dyn Witness>) {
        self.witness = Some(witness);
    }

    /// Has what must not be taken down, if there is a witness.
    pub(super) fn witness(
        &mut self,
        look: impl FnOnce(&mut dyn Witness, &Server) -> Result<(), String>,
    ) {
        if let Some(witness) = &mut self.witness
            && let Err(what) = look(&mut **witness, &self.server)
        {
            let now = self.now.since(self.begin);
            self.ledger.violated(format!("at {now}: {what}"));
        }
    }
}
