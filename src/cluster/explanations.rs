//! The core's latest explanations, at hand for whoever asks: the engine's thread puts them here and
//! never waits for those who read, however many there are. Here times are counted from 1970.

use dashmap::DashMap;
use muster_model::explanation::{Clock, Explained, GangExplanation, QueueExplanation};
use muster_model::{GangKey, GangSpace};
use std::sync::Arc;

/// The explanations by name. Each is as of the last time something happened to its object.
#[derive(Debug, Default)]
pub struct Explanations {
    gangs: DashMap<GangKey, Arc<GangExplanation>>,
    queues: DashMap<Arc<str>, Arc<QueueExplanation>>,
}

impl Explanations {
    /// Takes what is new.
    pub fn take(&self, news: Vec<Explained>) {
        for one in news {
            match one {
                Explained::Gang(key, mut gang) => {
                    gang.clock = Clock::Utc;
                    self.gangs.insert(key, Arc::from(gang));
                }
                Explained::GangGone(key) => _ = self.gangs.remove(&key),
                Explained::Queue(mut queue) => {
                    queue.clock = Clock::Utc;
                    let name = queue.books.name.as_str().into();
                    self.queues.insert(name, Arc::from(queue));
                }
                Explained::QueueGone(name) => _ = self.queues.remove(&name),
            }
        }
    }

    /// Why a gang is where it is, by the name of its PodGroup; with the books of its queue as they
    /// are now.
    #[must_use]
    pub fn gang(&self, namespace: &str, name: &str) -> Option<GangExplanation> {
        let of_space = |space| {
            let key = GangKey {
                namespace: namespace.to_owned(),
                space,
                name: name.to_owned(),
            };
            self.gangs.get(&key).map(|one| Arc::clone(&one))
        };
        let found = of_space(GangSpace::Named).or_else(|| of_space(GangSpace::Upstream))?;
        let mut gang = GangExplanation::clone(&found);
        if let Some(books) = &gang.queue
            && let Some(queue) = self.queue(&books.name)
            && queue.as_of > gang.as_of
        {
            gang.queue = Some(queue.books.clone());
        }
        Some(gang)
    }

    /// Who holds what of a queue.
    #[must_use]
    pub fn queue(&self, name: &str) -> Option<Arc<QueueExplanation>> {
        self.queues.get(name).map(|one| Arc::clone(&one))
    }
}
