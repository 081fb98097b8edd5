//! Who carries out what the core decides: lanes to the API server, or a shadow.

use muster_api::kinds::Subject;
use muster_api::said::Said;
use muster_cluster::lanes::Lanes;
use muster_core::engine::Scheduler;
use muster_model::units::Time;
use muster_model::{Effect, Event};
use std::sync::Arc;

/// What stands between the core and the cluster. It never waits.
pub(super) trait Hands: Send + 'static {
    /// What comes of one piece of news.
    type Told: IntoIterator<Item = Event>;

    /// What the core is told of news.
    fn told(&mut self, event: Event, now: Time) -> Self::Told;

    /// An object says this, as a watch saw it; `None`: it is gone.
    fn says(&self, subject: &Subject, said: Option<Said>);

    /// Nothing is to be written on an object any more.
    fn silence(&self, subject: &Subject);

    /// Takes one effect; returns what is known of it at once.
    fn carry_out(&mut self, effect: Effect, now: Time) -> Vec<Event>;

    /// All that exists has been told.
    fn begin(&mut self, now: Time);

    /// What follows from what was heard and decided, and from the time.
    fn follow(&mut self, core: &Scheduler, now: Time) -> Vec<Event>;

    /// When there is something to follow by time alone.
    fn due(&self) -> Option<Time>;

    /// Nothing more is decided.
    fn end(&mut self, core: &Scheduler, now: Time);
}

/// The cluster itself.
impl Hands for Arc<Lanes> {
    type Told = Option<Event>;

    fn told(&mut self, event: Event, _: Time) -> Option<Event> {
        Some(event)
    }

    fn says(&self, subject: &Subject, said: Option<Said>) {
        self.hear(subject, said);
    }

    fn silence(&self, subject: &Subject) {
        Lanes::silence(self, subject);
    }

    fn carry_out(&mut self, effect: Effect, _: Time) -> Vec<Event> {
        self.submit(effect);
        Vec::new()
    }

    fn begin(&mut self, _: Time) {}

    fn follow(&mut self, _: &Scheduler, _: Time) -> Vec<Event> {
        Vec::new()
    }

    fn due(&self) -> Option<Time> {
        None
    }

    fn end(&mut self, _: &Scheduler, _: Time) {}
}
