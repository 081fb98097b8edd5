//! The core's latest explanations, at hand for whoever asks: the engine's thread puts them here and
//! never waits for those who read, however many there are. Here times are counted from 1970.

use dashmap::DashMap;
use muster_model::explanation::{
    Clock, Explained, GangExplanation, QueueExplanation, SlotLine, TestbedExplanation,
};
use muster_model::{GangKey, GangSpace};
use std::sync::Arc;

/// The explanations by name. Each is as of the last time something happened to its object.
#[derive(Debug, Default)]
pub struct Explanations {
    gangs: DashMap<GangKey, Arc<GangExplanation>>,
    queues: DashMap<Arc<str>, Arc<QueueExplanation>>,
    testbeds: DashMap<String, Arc<TestbedExplanation>>,
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
                Explained::Testbed(mut testbed) => {
                    testbed.clock = Clock::Utc;
                    self.testbeds
                        .insert(testbed.name.clone(), Arc::from(testbed));
                }
                Explained::TestbedGone(name) => _ = self.testbeds.remove(&name),
            }
        }
    }

    /// Why a gang is where it is, by the name of its PodGroup; with the books of its queue, and
    /// the slots that it claims, as they are now.
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
        let found = GangSpace::BY_NAME.into_iter().find_map(of_space)?;
        let mut gang = GangExplanation::clone(&found);
        if let Some(books) = &gang.queue
            && let Some(queue) = self.queue(&books.name)
            && queue.as_of > gang.as_of
        {
            gang.queue = Some(queue.books.clone());
        }
        self.slots_now(&mut gang);
        Some(gang)
    }

    /// Brings what is said of the slots that a gang claims up to what was said of them since.
    fn slots_now(&self, gang: &mut GangExplanation) {
        for claimant in &mut gang.claimants {
            let testbed = self.testbed(&claimant.testbed);
            let Some(testbed) = testbed.filter(|one| one.as_of > gang.as_of) else {
                continue;
            };
            for slot in &mut claimant.slots {
                let position = |one: &SlotLine| one.position;
                let found = testbed.slots.binary_search_by_key(&slot.position, position);
                if let Some(line) = found.ok().and_then(|index| testbed.slots.get(index)) {
                    slot.follow(line);
                }
            }
        }
    }

    /// Who has which slot of a testbed, and who waits.
    #[must_use]
    pub fn testbed(&self, name: &str) -> Option<Arc<TestbedExplanation>> {
        self.testbeds.get(name).map(|one| Arc::clone(&one))
    }

    /// Who holds what of a queue.
    #[must_use]
    pub fn queue(&self, name: &str) -> Option<Arc<QueueExplanation>> {
        self.queues.get(name).map(|one| Arc::clone(&one))
    }
}
