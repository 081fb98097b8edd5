//! From what was observed to the slots as they are now: their numbers, who sits there, what is wrong.

use super::bed::{Bed, Guest, Seated};
use super::claimants::Claimant;
use super::occupancy::{Seat, Sitter, seats};
use super::{Alarm, Testbeds, slots};
use muster_api::crd::{Slot, SlotState};
use muster_model::Labels;
use muster_model::units::{Millis, Time, thousandths_in_text};
use std::collections::{BTreeMap, BTreeSet};

/// For so long a slot without a ghost is kept for who is meant for its node, or for whom its ghost gave way. It is
/// the scheduler that holds the room meanwhile.
const AWAITED: Millis = Millis(30_000);

impl Testbeds {
    /// Brings the slots of all that is marked up to date.
    pub(super) fn settle(&mut self, now: Time) {
        loop {
            while let Some(name) = self.marked.layouts.pop_first() {
                self.lay_out(&name, now);
            }
            let Some((bed, node)) = self.marked.places.pop_first() else {
                return;
            };
            self.seat(&bed, &node, now);
        }
    }

    /// Numbers the slots of a Testbed.
    fn lay_out(&mut self, name: &str, now: Time) {
        if let Some(bed) = self.beds.get_mut(name) {
            bed.forget_lost(now);
        }
        let Some(bed) = self.beds.get(name) else {
            return;
        };
        let label = &bed.asked.node_label;
        let nodes = self.nodes.iter().filter_map(|(node, one)| {
            let id = one.labels.get(label)?;
            Some((node.as_str(), one.uid.as_str(), id.as_str()))
        });
        let wanted = if bed.terminating {
            Vec::new()
        } else {
            slots::wanted((name, &bed.uid), &bed.asked, nodes)
        };
        let sits = |slot: &Slot, uid: &str| {
            let place = (name.to_owned(), slot.node_name.clone());
            let here = self.claimants.at(&place);
            let mut bound = here.iter().filter(|(_, one)| one.bound);
            bound.any(|((namespace, _), one)| {
                one.uid == uid && self.why_not(bed, namespace, one, false).is_none()
            })
        };
        let known = bed.known(sits);
        let numbered = slots::number(&known, wanted, self.settings.sizes.most);
        let Some(bed) = self.beds.get_mut(name) else {
            return;
        };
        let before: Vec<(String, String)> = bed
            .slots()
            .values()
            .map(|one| (one.slot.ghost.clone(), one.slot.node.clone()))
            .collect();
        bed.renumber(numbered);
        for (ghost, _) in &before {
            self.slot_of.remove(ghost);
        }
        for (number, one) in bed.slots() {
            let ghost = one.slot.ghost.clone();
            self.marked.ghosts.insert(ghost.clone());
            self.slot_of.insert(ghost, (name.to_owned(), *number));
        }
        let strays = self.of_owner.get(&bed.uid).into_iter().flatten();
        self.marked.ghosts.extend(strays.cloned());
        let mut nodes: Vec<String> = bed.on_node.keys().cloned().collect();
        nodes.extend(before.into_iter().map(|(_, node)| node));
        for part in bed.part_numbers() {
            self.mark_part(name, part);
        }
        self.mark_neighbours(nodes.iter());
    }

    /// Why a pod at a node of a Testbed may have none of its slots; `None`: it may.
    fn why_not(&self, bed: &Bed, namespace: &str, one: &Claimant, fits: bool) -> Option<String> {
        if let Err(why) = &one.claim.slots {
            return Some(why.clone());
        }
        // One that is not known says nothing of itself.
        let none = Labels::new();
        let labels = self.namespaces.get(namespace).unwrap_or(&none);
        if !bed.asked.may_claim(labels) {
            return Some(format!("pods of namespace {namespace} may not claim"));
        }
        if fits && let Some(name) = bed.asked.lacks(&one.asks_for) {
            return Some(format!("it asks for more {name} than a slot has"));
        }
        None
    }

    /// Finds out who sits on the slots of a Testbed on a node.
    fn seat(&mut self, name: &str, node: &str, now: Time) {
        let Some(bed) = self.beds.get(name) else {
            return;
        };
        let numbers = bed.on_node.get(node).cloned().unwrap_or_default();
        if numbers.is_empty() {
            return;
        }
        let place = (name.to_owned(), node.to_owned());
        let here = self.claimants.at(&place);
        let mut problems = Vec::new();
        let mut sitters = Vec::new();
        let mut comers = Vec::new();
        for (pod, one) in &here {
            // On a slot that is another one by now, nobody knows what fitted.
            let stays = numbers.iter().any(|number| {
                let slot = &bed.slots()[number];
                !slot.wanted && slot.occupant() == Some(&one.uid)
            });
            match self.why_not(bed, &pod.0, one, !stays) {
                None if one.bound => sitters.push((*pod, *one)),
                None => comers.push((*pod, *one)),
                Some(why) if one.bound => problems.push(nowhere(pod, &why)),
                Some(_) => {}
            }
        }
        let row: Vec<Seat<'_>> = numbers
            .iter()
            .map(|number| {
                let one = &bed.slots()[number];
                let ghost = self.ghosts.get(&one.slot.ghost);
                Seat {
                    number: *number,
                    named: one.occupant(),
                    held: ghost.is_some_and(|ghost| ghost.owner == bed.uid && ghost.holds()),
                }
            })
            .collect();
        let people: Vec<Sitter<'_>> = sitters
            .iter()
            .map(|(_, one)| Sitter {
                uid: &one.uid,
                claimed: one.claim.slots.as_deref().unwrap_or_default(),
                told: one.claim.told,
            })
            .collect();
        let mut guests = BTreeMap::new();
        for (found, (pod, one)) in seats(&row, &people).into_iter().zip(&sitters) {
            match found {
                Some(seat) => _ = guests.insert(row[seat].number, guest(pod, one)),
                None => problems.push(nowhere(pod, "none of its slots on this node is free")),
            }
        }
        let mut now_here = Vec::new();
        for number in &numbers {
            let one = &bed.slots()[number];
            let sits = guests.remove(number);
            let comes = comers.iter().find(|(_, comer)| {
                let claimed = comer.claim.slots.as_deref().unwrap_or_default();
                claimed.contains(number)
            });
            let comes = comes.map(|(pod, one)| guest(pod, one));
            let seated = self.seated(bed, one, (sits, comes), now);
            if let Some(words) = self.waits(bed, &seated, *number) {
                problems.push(words);
            }
            now_here.push((*number, seated));
        }
        problems.extend(self.lacks(node));
        self.put(place, now_here, problems);
    }

    /// A slot with who sits there and who comes.
    fn seated(
        &self,
        bed: &Bed,
        one: &Seated,
        (sits, comes): (Option<Guest>, Option<Guest>),
        now: Time,
    ) -> Seated {
        let ghost = self.ghosts.get(&one.slot.ghost);
        let ghost = ghost.filter(|ghost| ghost.owner == bed.uid);
        let stays = ghost.filter(|ghost| !ghost.terminating);
        let goes = ghost.is_some_and(|ghost| ghost.terminating);
        let missing = ghost.is_none() && sits.is_none();
        // Who comes may be bound before anybody says that it is meant for this node.
        let gave_way = missing && one.gave_way;
        let missing = missing && (comes.is_some() || gave_way);
        let awaited = missing.then(|| one.awaited.unwrap_or(now));
        let kept = awaited.is_some_and(|since| now < since + AWAITED);
        let (state, guest) = match sits {
            Some(guest) => (SlotState::Occupied, Some(guest)),
            None if goes || kept => (SlotState::Reserved, comes),
            None => (SlotState::Free, None),
        };
        Seated {
            slot: one.slot.clone(),
            wanted: one.wanted,
            state,
            guest,
            held_by: stays.map(|ghost| ghost.uid.clone()),
            held: stays.is_some_and(super::ghosts::Ghost::holds),
            gave_way,
            awaited,
        }
    }

    /// What is said of a ghost that is not bound.
    fn waits(&self, bed: &Bed, one: &Seated, number: u32) -> Option<String> {
        let ghost = self.ghosts.get(&one.slot.ghost)?;
        let waits = ghost
            .waits_for
            .as_ref()
            .filter(|_| ghost.owner == bed.uid)?;
        let free = one.wanted && one.state == SlotState::Free;
        free.then(|| format!("slot {number} is not held: {waits}"))
    }

    /// What a node lacks for the slots of all Testbeds.
    fn lacks(&self, node: &str) -> Option<String> {
        let has = &self.nodes.get(node)?.allocatable;
        let mut needs: BTreeMap<&str, i64> = BTreeMap::new();
        let mut count_of_all = 0;
        for bed in self.beds.values() {
            let numbers = bed.on_node.get(node).into_iter().flatten();
            let wanted = numbers.filter(|number| bed.slots()[number].wanted).count();
            let count = i64::try_from(wanted).unwrap_or(i64::MAX);
            count_of_all += count;
            for (name, amount) in &bed.asked.request {
                let sum = needs.entry(name).or_default();
                *sum = sum.saturating_add(amount.saturating_mul(count));
            }
        }
        needs.insert("pods", count_of_all);
        let short: Vec<String> = needs
            .iter()
            .filter_map(|(name, needed)| {
                let has = has.iter().find(|(one, _)| one == name);
                let has = has.map_or(0, |(_, has)| *has);
                let short = *needed > has;
                short.then(|| {
                    format!(
                        "{} {name} and has {}",
                        shown(name, *needed),
                        shown(name, has)
                    )
                })
            })
            .collect();
        (!short.is_empty()).then(|| {
            format!(
                "for its slots, of all Testbeds, it needs {}",
                short.join(", ")
            )
        })
    }

    /// Takes what was found out about a place.
    fn put(
        &mut self,
        (name, node): (String, String),
        slots: Vec<(u32, Seated)>,
        mut problems: Vec<String>,
    ) {
        let Some(bed) = self.beds.get_mut(&name) else {
            return;
        };
        let mut ended = false;
        let mut parts = BTreeSet::new();
        let mut alarms = Vec::new();
        for (number, now_here) in slots {
            let Some(one) = bed.slots().get(&number) else {
                continue;
            };
            ended |= !now_here.wanted && now_here.state != SlotState::Occupied;
            let before = one.awaited;
            let (ghost, awaited) = (now_here.slot.ghost.clone(), now_here.awaited);
            if !bed.put(number, now_here) {
                continue;
            }
            if let Some(since) = awaited.filter(|_| before.is_none()) {
                alarms.push(since + AWAITED);
            }
            self.marked.ghosts.insert(ghost);
            parts.insert(bed.sizes.part_of(number));
        }
        let before = bed.problems.get(&node);
        // What is wrong with the node as a whole comes first.
        problems.reverse();
        let more = problems.len().saturating_sub(1);
        let words = problems.into_iter().next().map(|first| match more {
            0 => first,
            more => format!("{first} (and {more} more)"),
        });
        if before != words.as_ref() {
            match words {
                Some(words) => _ = bed.problems.insert(node.clone(), words),
                None => _ = bed.problems.remove(&node),
            }
            self.marked.statuses.insert(name.clone());
        }
        if ended {
            self.marked.layouts.insert(name.clone());
        }
        for part in parts {
            self.mark_part(&name, part);
        }
        for at in alarms {
            self.set_alarm(at, Alarm::Place(name.clone(), node.clone()));
        }
    }
}

fn guest(pod: &(String, String), one: &Claimant) -> Guest {
    Guest {
        namespace: pod.0.clone(),
        name: pod.1.clone(),
        uid: one.uid.clone(),
    }
}

fn nowhere((namespace, name): &(String, String), why: &str) -> String {
    format!("pod {namespace}/{name} claims a slot and has none: {why}")
}

/// An amount as people write it.
fn shown(name: &str, amount: i64) -> String {
    if name == "cpu" {
        return thousandths_in_text(amount);
    }
    let units = [("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)];
    let unit = units
        .iter()
        .find(|(_, size)| amount != 0 && amount % size == 0);
    unit.map_or_else(
        || amount.to_string(),
        |(unit, size)| format!("{}{unit}", amount / size),
    )
}
