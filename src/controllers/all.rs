//! Several controllers as one: each is told what it needs, and writes for itself.

use super::machine::{Answer, Machine, Observation, Resource, Ticket, Write};
use super::room::Room;
use muster_model::units::Time;
use std::collections::BTreeMap;

/// Controllers that are driven together.
#[derive(Debug)]
pub struct All {
    /// Each with what it is told of.
    machines: Vec<(Vec<Resource>, Box<dyn Machine + Send>)>,
    /// What any of them is told of.
    needs: Vec<Resource>,
    /// Whose a write in flight is, and what it is called there.
    in_flight: BTreeMap<Ticket, (usize, Ticket)>,
    sent: u64,
    /// Who is asked first for what is due, so that none waits for ever behind another.
    turn: usize,
}

impl All {
    /// These.
    #[must_use]
    pub fn of(machines: Vec<Box<dyn Machine + Send>>) -> Self {
        let machines: Vec<_> = machines.into_iter().map(|one| (one.needs(), one)).collect();
        let needs = machines.iter().flat_map(|(needs, _)| needs);
        let mut needs: Vec<Resource> = needs.copied().collect();
        needs.sort_unstable();
        needs.dedup();
        Self {
            machines,
            needs,
            in_flight: BTreeMap::new(),
            sent: 0,
            turn: 0,
        }
    }
}

impl Machine for All {
    fn needs(&self) -> Vec<Resource> {
        self.needs.clone()
    }

    fn observe(&mut self, news: Observation, now: Time) {
        let about = news.resource();
        for (needs, machine) in &mut self.machines {
            if needs.contains(&about) {
                machine.observe(news.clone(), now);
            }
        }
    }

    fn due_in(&mut self, room: &mut dyn Room, now: Time) -> Vec<Write> {
        let mut due = Vec::new();
        let count = self.machines.len();
        for offset in 0..count {
            let index = (self.turn + offset) % count;
            for write in self.machines[index].1.due_in(room, now) {
                self.sent += 1;
                let ticket = Ticket(self.sent);
                self.in_flight.insert(ticket, (index, write.ticket));
                due.push(Write { ticket, ..write });
            }
        }
        self.turn = (self.turn + 1) % count.max(1);
        due
    }

    fn answered(&mut self, ticket: Ticket, answer: Answer, now: Time) {
        let Some((index, own)) = self.in_flight.remove(&ticket) else {
            return;
        };
        // What was written is news to the others as well, and comes to them by their watches.
        self.machines[index].1.answered(own, answer, now);
    }

    fn wakes_at(&self) -> Option<Time> {
        self.machines
            .iter()
            .filter_map(|(_, one)| one.wakes_at())
            .min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{Deed, ObjectName};

    /// Wants one thing deleted.
    #[derive(Debug)]
    struct Wants(Resource, bool, Vec<Ticket>);

    impl Machine for Wants {
        fn needs(&self) -> Vec<Resource> {
            vec![self.0]
        }

        fn observe(&mut self, _: Observation, _: Time) {
            self.1 = true;
        }

        fn due_in(&mut self, room: &mut dyn Room, _: Time) -> Vec<Write> {
            if room.is_full() || !std::mem::take(&mut self.1) {
                return Vec::new();
            }
            vec![Write {
                ticket: Ticket(1),
                on: ObjectName {
                    resource: self.0,
                    namespace: String::new(),
                    name: "it".to_owned(),
                },
                deed: Deed::Delete { uid: String::new() },
            }]
        }

        fn answered(&mut self, ticket: Ticket, _: Answer, _: Time) {
            self.2.push(ticket);
            self.1 = true;
        }

        fn wakes_at(&self) -> Option<Time> {
            None
        }
    }

    #[test]
    fn each_is_told_what_it_needs_and_gets_its_own_answers() {
        let wants = |resource| Box::new(Wants(resource, false, Vec::new())) as Box<_>;
        let mut all = All::of(vec![wants(Resource::Nodes), wants(Resource::Pods)]);
        assert_eq!(all.needs(), [Resource::Pods, Resource::Nodes]);
        let now = Time(0);
        all.observe(Observation::Synced(Resource::Pods), now);
        let due = all.due(now, 9);
        assert_eq!(due.len(), 1, "only who needs pods was told");
        assert_eq!(due[0].on.resource, Resource::Pods);
        all.observe(Observation::Synced(Resource::Nodes), now);
        assert_eq!(all.due(now, 0), []);
        let other = all.due(now, 9);
        assert_ne!(other[0].ticket, due[0].ticket);
        all.answered(due[0].ticket, Answer::Lost, now);
        let again = all.due(now, 9);
        assert_eq!(again[0].on.resource, Resource::Pods);
        all.answered(due[0].ticket, Answer::Lost, now);
        assert_eq!(all.due(now, 9), [], "it has its answer already");
    }
}
