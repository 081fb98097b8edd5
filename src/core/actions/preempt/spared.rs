//! How many keep what they need, and why, for whoever asks (`muster why`). Nothing is decided by it.

use muster_model::explanation::{Spared, SparedCount};
use std::mem::discriminant;

/// How many gangs keep what they need for which reason, with one example each. Those that differ only
/// in when that is over count as one, with the earliest time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SparedGangs(Vec<(Spared, u32, String)>);

impl SparedGangs {
    /// One more.
    pub(crate) fn note(&mut self, why: Spared, title: impl FnOnce() -> String) {
        self.note_some(why, 1, title);
    }

    /// So many more, with the name of one.
    pub(crate) fn note_some(&mut self, why: Spared, more: u32, title: impl FnOnce() -> String) {
        if why == Spared::HoldsNothing || more == 0 {
            return;
        }
        let kind = |why: &Spared| (discriminant(why), why.until().is_some(), why.plugin());
        match self.0.iter_mut().find(|(one, ..)| kind(one) == kind(&why)) {
            Some((one, count, _)) => {
                *one = why.min(*one);
                *count = count.saturating_add(more);
            }
            None => {
                self.0.push((why, more, title()));
                self.0.sort_unstable();
            }
        }
    }

    /// The reasons, as they are told.
    #[must_use]
    pub fn told(&self) -> Vec<SparedCount> {
        let all = self.0.iter();
        all.map(|(why, gangs, example)| SparedCount::new(*why, *gangs, example))
            .collect()
    }
}
