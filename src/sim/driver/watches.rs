//! What a process hears: each watch at its own pace, in its own order, and sometimes not at all.
//!
//! A watch that breaks loses what was on its way; the list after it tells what is there, and what
//! it lacks of what was told before is gone, as `cluster::watch` has it.

use crate::server::{Stream, Told};
use muster_model::units::Time;
use muster_model::{Event, ObjectKey};
use std::collections::BTreeMap;

/// The watches of one process.
#[derive(Debug, Default)]
pub(super) struct Watches(BTreeMap<Stream, Watch>);

/// One watch.
#[derive(Debug, Default)]
struct Watch {
    /// Until when news is on its way, and how many pieces.
    until: Time,
    on_its_way: usize,
    /// Rises when the watch breaks: what was on its way before is lost.
    generation: u64,
    /// It broke, and the list after it is not there yet.
    broken: bool,
    /// What was told, and what is told when it is gone.
    known: BTreeMap<ObjectKey, Told>,
}

impl Watches {
    fn watch(&mut self, stream: Stream) -> &mut Watch {
        self.0.entry(stream).or_default()
    }

    /// Whether what is told now is heard at once: nothing is on its way before it.
    pub(super) fn is_idle(&mut self, stream: Stream) -> bool {
        self.watch(stream).on_its_way == 0
    }

    /// Whether what happens now is never told.
    pub(super) fn is_broken(&mut self, stream: Stream) -> bool {
        self.watch(stream).broken
    }

    /// Puts a piece of news on its way that would arrive at `at`; says when it does, behind what is
    /// on its way already, and of which generation it is.
    pub(super) fn send(&mut self, stream: Stream, at: Time) -> (Time, u64) {
        let watch = self.watch(stream);
        watch.until = at.max(watch.until);
        watch.on_its_way += 1;
        (watch.until, watch.generation)
    }

    /// A piece of news arrives; whether it was not lost with its watch.
    pub(super) fn arrives(&mut self, stream: Stream, generation: u64) -> bool {
        let watch = self.watch(stream);
        if generation != watch.generation {
            return false;
        }
        watch.on_its_way = watch.on_its_way.saturating_sub(1);
        true
    }

    /// Notes what a piece of news tells of.
    pub(super) fn note(&mut self, stream: Stream, told: &Told) {
        let known = &mut self.watch(stream).known;
        match about(&told.event) {
            Some((object, Some(gone))) => {
                let says = told
                    .says
                    .as_ref()
                    .map(|(subject, _)| (subject.clone(), None));
                known.insert(object, Told { event: gone, says });
            }
            Some((object, None)) => _ = known.remove(&object),
            None => {}
        }
    }

    /// The watch breaks.
    pub(super) fn cut(&mut self, stream: Stream) {
        let watch = self.watch(stream);
        watch.generation += 1;
        watch.on_its_way = 0;
        watch.broken = true;
    }

    /// A list takes the place of the broken watch; returns what it shows to be gone.
    pub(super) fn mend(&mut self, stream: Stream, list: &[Told]) -> Vec<Told> {
        let watch = self.watch(stream);
        watch.broken = false;
        let listed: Vec<ObjectKey> = list
            .iter()
            .filter_map(|told| about(&told.event).map(|(object, _)| object))
            .collect();
        let mut gone = std::mem::take(&mut watch.known);
        for object in &listed {
            gone.remove(object);
        }
        gone.into_values().collect()
    }
}

/// The object an event is about, by its name, and the event of its deletion, if this one is not that.
fn about(event: &Event) -> Option<(ObjectKey, Option<Event>)> {
    match event {
        Event::Is(object) => {
            let key = object.key();
            Some((key.clone().of_name(), Some(Event::Gone(key))))
        }
        Event::Gone(key) => Some((key.clone().of_name(), None)),
        Event::BindResult(..) | Event::EvictResult(..) | Event::Answer(..) | Event::Writes(_) => {
            None
        }
    }
}
