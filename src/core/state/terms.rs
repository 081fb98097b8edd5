//! On what terms gangs hold what they hold: in which queue, and for how long they are protected.
//!
//! A gang that holds nothing has the terms that it asks for. One that holds something keeps those that it was
//! granted, whatever it asks for since: an edit gains nothing that a new gang would not get. Terms that give way
//! sooner it has at once; others when the engine finds that its queue grants them.

use super::ClusterState;
use super::ids::{GangId, QueueId};
use muster_model::units::Millis;
use muster_model::{DEFAULT_QUEUE, GrantedTerms, Lifetime, Source};

/// In which queue a gang is counted, and for how long it is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// The queue.
    pub queue: QueueId,
    /// How long.
    pub lifetime: Lifetime,
}

impl Terms {
    /// Whether who has these gives way no later than with the others, in the same queue.
    fn give_way_as_soon_as(self, other: Self) -> bool {
        self.queue == other.queue && self.lifetime <= other.lifetime
    }
}

impl ClusterState {
    /// From now on who is found on nodes that nobody gave it was not put there by us, or by another process
    /// before.
    pub const fn begin(&mut self) {
        self.has_begun = true;
    }

    /// Whether that was said: what is found on nodes until then was put there by another process before.
    #[must_use]
    pub const fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Notes that a gang has room on the terms that it asks for, or asked for when it got some.
    pub fn note_granted(&mut self, id: GangId) {
        if let Some(gang) = self.gangs.get_mut(id) {
            gang.granted = true;
        }
    }

    /// Gives a gang the terms that it asks for.
    pub fn grant(&mut self, id: GangId) {
        if let Some(terms) = self.gangs.get_mut(id).and_then(|gang| gang.asks.take()) {
            self.set_terms(id, terms, None);
        }
    }

    /// Looks at the books as if a gang held nothing, and had been charged nothing.
    pub fn as_if_it_held_nothing<T>(&mut self, id: GangId, look: impl FnOnce(&Self) -> T) -> T {
        let account = self.close_account(id);
        let found = self.without_its_charge(id, |state| look(state));
        if let Some((queue, lifetime)) = account {
            self.open_account(id, queue, lifetime);
        }
        found
    }

    /// Looks at the books as if a gang had been charged nothing.
    pub fn without_its_charge<T>(&mut self, id: GangId, look: impl FnOnce(&mut Self) -> T) -> T {
        let queue = self.gangs[id].queue;
        let charge = queue.and_then(|queue| self.queues.charge(queue, id, None));
        let found = look(self);
        if let Some(queue) = queue {
            self.queues.charge(queue, id, charge);
        }
        found
    }

    /// Finds on what terms a gang has its room, and on which it would like to have it.
    pub(super) fn resolve_terms(&mut self, id: GangId) {
        let asked = self.terms_asked(id);
        let gang = &mut self.gangs[id];
        let (runs, granted) = (gang.holding > 0, gang.granted);
        gang.granted = runs;
        let held = gang.queue.map(|queue| Terms {
            queue,
            lifetime: gang.lifetime,
        });
        let terms = match held.filter(|_| runs) {
            Some(held) if granted && !asked.give_way_as_soon_as(held) => held,
            _ if runs && !granted => self.terms_found(id, asked),
            _ => asked,
        };
        self.set_terms(id, terms, Some(asked).filter(|asked| *asked != terms));
    }

    /// The terms of a gang that nobody was seen to give room to: those that the process before granted it; what
    /// it asks for, if that may have done so; and none that protect it, if somebody else put it there.
    fn terms_found(&mut self, id: GangId, asked: Terms) -> Terms {
        match self.gangs[id].recalled.granted.take() {
            Some(recalled) => Terms {
                queue: self.queues.join(&recalled.queue, id),
                lifetime: recalled.lifetime,
            },
            None if self.has_begun => Terms {
                lifetime: Lifetime::Limited(Millis(0)),
                ..asked
            },
            None => asked,
        }
    }

    /// The terms that a gang asks for: its own queue, else its namespace's, else the default one; its own
    /// lifetime, else its pod's, else that queue's.
    fn terms_asked(&mut self, id: GangId) -> Terms {
        self.note_wished_queue(id);
        let gang = &self.gangs[id];
        let pod = gang.members.first().and_then(|pod| self.pods.get(*pod));
        let label = pod.and_then(|pod| pod.facts.queue.as_deref());
        let namespace = self.namespaces.get(&gang.key.namespace);
        let namespace = namespace.and_then(|one| one.queue.as_deref());
        let wished = self.queue_wishes.of(id);
        let wished = wished.filter(|name| self.queues.is_declared(name));
        let wanted = gang.queue_wanted(label, wished.or(namespace));
        let wanted = wanted.unwrap_or(DEFAULT_QUEUE);
        let of_pod = pod.filter(|_| gang.is_single());
        let of_pod = of_pod.and_then(|pod| pod.facts.lifetime);
        let own = gang.definition().map_or(of_pod, |spec| spec.lifetime);
        let known = [gang.asks.map(|asks| asks.queue), gang.queue];
        let known = known.into_iter().flatten().find(|known| {
            let queue = self.queues.get(*known);
            queue.is_some_and(|queue| *queue.name == *wanted)
        });
        let queue = match known {
            Some(known) => known,
            None => self.queues.join(wanted, id),
        };
        let spec = self.queues.get(queue).and_then(|one| one.spec.as_ref());
        let lifetime = own.or(spec.and_then(|spec| spec.default_lifetime));
        Terms {
            queue,
            lifetime: Lifetime::of(lifetime),
        }
    }

    /// Notes which queue a gang without a PodGroup names in the words of another scheduler.
    fn note_wished_queue(&mut self, id: GangId) {
        let gang = &self.gangs[id];
        let definition = gang.definition();
        let has_podgroup = definition.is_some_and(|spec| spec.source != Source::Implied);
        let pod = gang.members.first().filter(|_| !has_podgroup);
        let pod = pod.and_then(|pod| self.pods.get(*pod));
        let wished = pod.and_then(|pod| pod.facts.queue_if_declared.as_deref());
        self.queue_wishes.note(id, wished);
    }

    /// Counts a gang on these terms from now on; in the queue that it asks for it is known.
    fn set_terms(&mut self, id: GangId, terms: Terms, asks: Option<Terms>) {
        let gang = &mut self.gangs[id];
        let before = [gang.queue, gang.asks.map(|asks| asks.queue)];
        gang.asks = asks;
        if gang.account != Some((terms.queue, terms.lifetime)) {
            self.close_account(id);
            let gang = &mut self.gangs[id];
            (gang.queue, gang.lifetime) = (Some(terms.queue), terms.lifetime);
            self.open_account(id, terms.queue, terms.lifetime);
        }
        let asked = asks.map(|asks| asks.queue);
        for queue in before.into_iter().flatten() {
            if queue == terms.queue {
                continue;
            }
            if Some(queue) == asked {
                self.queues.note_work(queue, id, false);
            } else if self.queues.get(queue).is_some() {
                self.queues.leave(queue, id);
            }
        }
    }

    /// The terms on which a gang has its room, in words for its status.
    #[must_use]
    pub fn granted_terms(&self, id: GangId) -> Option<GrantedTerms> {
        let gang = self.gang(id).filter(|gang| gang.granted)?;
        Some(GrantedTerms {
            queue: self.queue_name(id).to_owned(),
            lifetime: gang.lifetime,
        })
    }
}
