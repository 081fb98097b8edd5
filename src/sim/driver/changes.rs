//! Playing on as a clock goes, for who shows the objects of the API server as a whole: what changed since they looked.

use super::Driver;
use muster_api::kinds::Subject;
use muster_api::status::Status;
use muster_cluster::attempt::Answer;
use muster_controllers::ObjectName;
use muster_model::units::Time;
use muster_model::{Event, ObjectKey};
use serde_json::Value;
use std::collections::BTreeSet;

/// What changed since it was last asked. An object that is named may be gone, or as it was.
#[derive(Debug, Default)]
pub struct Changes {
    /// Objects of which a watch would have told.
    pub objects: BTreeSet<ObjectKey>,
    /// Objects that controllers write.
    pub wholes: BTreeSet<ObjectName>,
    /// What the scheduler wrote on objects, in its order.
    pub words: Vec<(ObjectKey, Status)>,
}

impl Driver {
    /// Takes down what changes.
    #[must_use]
    pub fn with_changes(mut self) -> Self {
        self.changes = Some(Box::default());
        self
    }

    /// What changed since this was last called; nothing where nobody takes it down.
    pub fn take_changes(&mut self) -> Changes {
        let changes = self.changes.as_deref_mut();
        changes.map(std::mem::take).unwrap_or_default()
    }

    /// Plays on until a time, which is the present then, also where nothing is to come: somebody may add to it at any
    /// time, so it is never over.
    pub fn play_on(&mut self, until: Time) {
        loop {
            self.goes_on();
            if !self.step(until) {
                break;
            }
        }
        if until > self.now {
            (self.now, self.cycles_now) = (until, 0);
        }
    }

    /// How a pod was made, if a controller of Muster's kinds made it.
    #[must_use]
    pub fn made(&self, namespace: &str, name: &str) -> Option<&Value> {
        let name = (namespace.to_owned(), name.to_owned());
        self.controllers.as_ref()?.how_made(&name)
    }

    pub(super) fn note_change(&mut self, event: &Event) {
        let Some(changes) = &mut self.changes else {
            return;
        };
        match event {
            Event::Is(object) => _ = changes.objects.insert(object.key()),
            Event::Gone(key) => _ = changes.objects.insert(key.clone()),
            _ => {}
        }
    }

    pub(super) fn note_whole(&mut self, on: &ObjectName) {
        if let Some(changes) = &mut self.changes {
            changes.wholes.insert(on.clone());
        }
    }

    /// Notes what a call wrote on an object, if it did.
    pub(super) fn note_word(&mut self, process: u64, call: u64, answer: &Answer) {
        let Some(changes) = &mut self.changes else {
            return;
        };
        if *answer != Answer::Accepted {
            return;
        }
        let process = self.processes.get(&process);
        let written: Option<(Subject, Status)> =
            process.and_then(|process| process.brain.writes(call, self.now));
        if let Some((subject, status)) = written
            && let Some(key) = self.server.subject_key(&subject)
        {
            changes.words.push((key.clone(), status));
        }
    }
}
