//! What the objects of a Testbed say of its slots: its status of the first, a slice each of the others.
//!
//! No write has two of these objects as its precondition. So that no slot ever has two numbers, whatever becomes of
//! writes, one part names a slot only once no other one does, or might by a write of which nobody knows what
//! became of it.

use super::bed::{Bed, Seated};
use super::part::{Agrees, Heard, Part, Saying, Slice, named, number, said_of};
use super::status;
use super::{Settings, TOLD};
use muster_api::crd::Slot;
use muster_model::units::{Millis, Time};
use serde_json::json;
use std::collections::BTreeSet;

impl Bed {
    /// What the part says of which a number is the first.
    pub(super) fn part(&self, part: u32) -> Option<&Part> {
        self.parts.get(&part)
    }

    /// The parts that there are, or are to be.
    pub(super) fn part_numbers(&self) -> BTreeSet<u32> {
        let mut all: BTreeSet<u32> = self.parts.keys().copied().collect();
        let mut next = 0;
        while let Some((number, _)) = self.slots().range(next..).next() {
            let part = self.sizes.part_of(*number);
            all.insert(part);
            next = self.sizes.numbers(part).end.max(number + 1);
        }
        all
    }

    /// The slots of a part as they are.
    fn own(&self, part: u32) -> impl Iterator<Item = (&u32, &Seated)> {
        self.slots().range(self.sizes.numbers(part))
    }

    /// Whether a part has slots.
    pub(super) fn has_own(&self, part: u32) -> bool {
        self.own(part).next().is_some()
    }

    /// Takes what a part says.
    pub(super) fn hear(&mut self, part: u32, said: Vec<Slot>) -> Heard {
        let sizes = self.sizes;
        let known = self.parts.entry(part).or_default();
        let before = std::mem::replace(&mut known.said, said);
        let pairs = || before.iter().zip(&known.said);
        let same = |(one, other): (&Slot, &Slot)| {
            one.position == other.position && one.ghost == other.ghost
        };
        if before.len() == known.said.len() && pairs().all(same) {
            let others = pairs().filter(|(one, other)| one != other);
            let others: Vec<u32> = others.filter_map(|(_, one)| number(one)).collect();
            known.changed.extend(others);
            return Heard::default();
        }
        let now = named(&known.said, part, sizes);
        let before = std::mem::replace(&mut known.named, now);
        let unnamed = known.named.iter();
        let unnamed = unnamed.filter(|(ghost, number)| before.get(*ghost) != Some(number));
        let unnamed = unnamed.map(|(ghost, _)| ghost.clone()).collect();
        self.all_changed(part);
        Heard {
            layout: !self.agrees(part).ghosts,
            named: unnamed,
        }
    }

    /// A slice is so.
    pub(super) fn slice_is(&mut self, part: u32, slice: Slice, said: Vec<Slot>) -> Heard {
        let known = self.parts.entry(part).or_default();
        known.moved_to(&slice.uid, &slice.version);
        known.slice = Some(slice);
        self.hear(part, said)
    }

    /// The slice of a part is not there any more.
    pub(super) fn slice_gone(&mut self, part: u32) -> Heard {
        let known = self.parts.entry(part).or_default();
        if let Some(slice) = known.slice.take() {
            let base = known.base.as_ref();
            if base.is_some_and(|(uid, _)| *uid == slice.uid) {
                known.is_sure();
            }
        }
        let heard = self.hear(part, Vec::new());
        self.prune(part);
        heard
    }

    /// Of a part that there is not, and is not to be, nothing is known.
    pub(super) fn prune(&mut self, part: u32) {
        let idle = self.parts.get(&part).is_some_and(|one| {
            one.slice.is_none() && one.unsure().next().is_none() && one.written_at.is_none()
        });
        if part != 0 && idle && !self.has_own(part) {
            self.parts.remove(&part);
        }
    }

    /// The Testbed is of this version: what was written on its status before has happened by now, or never will.
    pub(super) fn status_moved_to(&mut self, version: &str) {
        let uid = self.uid.clone();
        let part = self.parts.entry(0).or_default();
        part.moved_to(&uid, version);
    }

    /// A write of a part is sent, on this object of this version.
    pub(super) fn part_sent(
        &mut self,
        part: u32,
        names: Vec<Slot>,
        on: Option<(String, String)>,
        now: Time,
    ) {
        let part = self.parts.entry(part).or_default();
        part.written_at = Some(now);
        let names = names.into_iter().map(|one| (one.ghost.clone(), one));
        part.flying = names.collect();
        let before = std::mem::take(&mut part.base);
        part.base = if part.lost.is_empty() {
            on
        } else {
            before.and(on)
        };
    }

    /// What became of the write of a part that was in flight: it was not done, or nobody knows.
    pub(super) fn part_landed(&mut self, part: u32, lost: bool, now: Time) {
        let Some(part) = self.parts.get_mut(&part) else {
            return;
        };
        part.took = part.written_at.map_or(Millis(0), |at| now.since(at));
        let flying = std::mem::take(&mut part.flying);
        if lost && !flying.is_empty() {
            part.lost.extend(flying);
            part.lost_at = Some(now);
        }
    }

    /// Whether a slice of this part is being made, and nothing was heard of it.
    pub(super) fn is_awaited(&self, part: u32) -> bool {
        let part = self.parts.get(&part);
        part.is_some_and(|part| part.slice.is_none() && !part.flying.is_empty())
    }

    /// What was lost and has not happened by now did not.
    pub(super) fn forget_lost(&mut self, now: Time) {
        for part in self.parts.values_mut() {
            if part.lost_at.is_some_and(|at| at + TOLD <= now) {
                part.lost.clear();
                part.lost_at = None;
            }
        }
    }

    /// When the next of that is so.
    fn forgets_at(&self) -> Option<Time> {
        let lost = self.parts.values().filter_map(|part| part.lost_at);
        lost.min().map(|at| at + TOLD)
    }

    /// The slots that are said, and first those that may be by now.
    pub(super) fn all_said(&self) -> impl Iterator<Item = &Slot> {
        let unsure = self.parts.values().flat_map(Part::unsure);
        let said = self.parts.iter().flat_map(|(part, one)| {
            let within = |slot: &&Slot| self.sizes.is_within(*part, slot);
            one.said.iter().filter(within)
        });
        unsure.chain(said)
    }

    /// Whether what is said has the slot of this number with this ghost.
    pub(super) fn names(&self, ghost: &str, number: u32) -> bool {
        let part = self.parts.get(&self.sizes.part_of(number));
        part.is_some_and(|part| part.named.get(ghost) == Some(&number))
    }

    /// All of a part may have to be said anew.
    pub(super) fn all_changed(&mut self, part: u32) {
        let agrees = self.agreement(part);
        let all: BTreeSet<u32> = self.own(part).map(|(number, _)| *number).collect();
        let part = self.parts.entry(part).or_default();
        part.changed = all;
        part.agrees = agrees;
    }

    pub(super) fn agrees(&self, part: u32) -> Agrees {
        self.parts.get(&part).map_or_else(
            || Agrees {
                numbers: !self.has_own(part),
                ghosts: !self.has_own(part),
            },
            |part| part.agrees,
        )
    }

    /// How what a part says stands to its slots.
    fn agreement(&self, part: u32) -> Agrees {
        let known = self.parts.get(&part);
        let positions = known.into_iter().flat_map(|known| &known.said).map(number);
        let numbers = positions.eq(self.own(part).map(|(number, _)| Some(*number)));
        let count = known.map_or(0, |known| known.named.len());
        let mut own = self.own(part);
        let ghosts = count == self.own(part).count()
            && own.all(|(number, one)| self.names(&one.slot.ghost, *number));
        Agrees { numbers, ghosts }
    }

    /// Whether a part may name a slot now.
    fn may_name(&self, part: u32, ghost: &str) -> bool {
        let mut others = self.parts.iter().filter(|(one, _)| **one != part);
        !others.any(|(_, one)| one.may_name(ghost))
    }

    /// What is to be said of the slots of a part: all of them, if they are others than those that it has. Else
    /// only those are looked at that are noted as changed.
    pub(super) fn saying(&self, part: u32, path: &str, settings: &Settings) -> Saying {
        let mut saying = Saying::default();
        let none = Part::default();
        let known = self.parts.get(&part).unwrap_or(&none);
        if self.agrees(part).numbers {
            for number in &known.changed {
                let Some(one) = self.slots().get(number) else {
                    continue;
                };
                let Some((index, said)) = said_of(&known.said, *number) else {
                    continue;
                };
                let slot = status::slot(*number, one, settings);
                if *said == slot {
                    continue;
                }
                if !self.may_say(part, *number, &slot, &mut saying) {
                    continue;
                }
                let path = format!("{path}/{index}");
                let operation = json!({"op": "replace", "path": path, "value": slot});
                saying.operations.push(operation);
            }
            return saying;
        }
        let (all, mut saying) = self.to_say(part, settings);
        if all != known.said {
            let operation = json!({"op": "add", "path": path, "value": all});
            saying.operations.push(operation);
        }
        saying
    }

    /// All slots of a part that it may name; and what of them is news, without the operations for that.
    pub(super) fn to_say(&self, part: u32, settings: &Settings) -> (Vec<Slot>, Saying) {
        let (mut all, mut saying) = (Vec::new(), Saying::default());
        for (number, one) in self.own(part) {
            let slot = status::slot(*number, one, settings);
            if self.may_say(part, *number, &slot, &mut saying) {
                all.push(slot);
            }
        }
        (all, saying)
    }

    /// Whether a part may say a slot, and takes down whether it names it thereby, or has to wait with it.
    fn may_say(&self, part: u32, number: u32, slot: &Slot, saying: &mut Saying) -> bool {
        if self.names(&slot.ghost, number) {
            return true;
        }
        let may = self.may_name(part, &slot.ghost);
        if may {
            saying.names.push(slot.clone());
        } else {
            saying.waits.insert(number);
        }
        may
    }

    /// There is nothing to write of a part now.
    pub(super) fn nothing_to_say(&mut self, part: u32, saying: Saying) {
        let known = self.parts.entry(part).or_default();
        known.changed = saying.waits;
    }

    /// Notes that a part does not name these yet, for others do. When that is over without news, if at all.
    pub(super) fn waits_for_others(&mut self, part: u32, waits: &BTreeSet<u32>) -> Option<Time> {
        if waits.is_empty() {
            return None;
        }
        self.waiting.insert(part);
        self.forgets_at()
    }

    /// What is kept of the parts is what it would be from scratch.
    #[cfg(test)]
    pub(super) fn audit_parts(&self) {
        for (part, known) in &self.parts {
            assert_eq!(known.named, named(&known.said, *part, self.sizes));
            assert_eq!(known.agrees, self.agreement(*part), "part {part}");
        }
    }

    /// Its parts, from what its objects say.
    pub(super) fn begin_with(&mut self, said: Vec<Slot>) {
        self.parts.insert(0, Part::new(said, 0, self.sizes));
        self.all_changed(0);
    }
}
