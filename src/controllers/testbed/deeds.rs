//! What is to be written now, and what an answer means.

use super::ghosts::{Ghost, Hold, body};
use super::{Alarm, Sent, TOLD, Target, Testbeds, status};
use crate::flights::May;
use crate::room::{Due, Room};
use crate::{Answer, Deed, ObjectName, Observation, Resource, Write};
use muster_api::crd::SlotState;
use muster_model::units::Time;

/// What a ghost needs next.
enum Next {
    /// It is as it should be.
    Nothing,
    /// News.
    Wait,
    /// A look at this time.
    LookAgain(Time),
    /// To be thought gone.
    Forget,
    /// This write.
    Send(Deed),
}

impl Next {
    fn delete(ghost: &Ghost) -> Self {
        Self::Send(Deed::Delete {
            uid: ghost.uid.clone(),
        })
    }
}

impl Testbeds {
    /// The writes that are due and for which there is room. Ghosts come last: they are made once they are named; in the order
    /// of their slots, so that few of the objects that speak of these change at a time.
    pub(super) fn deeds(&mut self, now: Time, room: &mut dyn Room) -> Vec<Write> {
        let mut due = Due::new(room);
        while due.has_room("")
            && let Some(bed) = self.marked.statuses.pop_first()
        {
            due.add(self.say(&bed, now));
        }
        while due.has_room("")
            && let Some(slice) = self.marked.slices.pop_first()
        {
            due.add(self.say_part(&slice, now));
        }
        for ghost in std::mem::take(&mut self.marked.ghosts) {
            self.in_line
                .insert((self.slot_of.get(&ghost).cloned(), ghost));
        }
        while due.has_room(&self.settings.ghost_namespace)
            && let Some((_, ghost)) = self.in_line.pop_first()
        {
            due.add(self.hold(&ghost, now));
        }
        due.writes()
    }

    /// Whether something may be written now; else it is looked at again when it may.
    pub(super) fn may(&mut self, target: &Target, now: Time) -> bool {
        match self.flights.may(target, now) {
            May::Now => true,
            // The answer marks it again.
            May::OnceAnswered => false,
            May::From(at) => {
                self.set_alarm(at, Alarm::Write(target.clone()));
                false
            }
        }
    }

    /// Whether more ghosts of a Testbed are to be made or to go than may be at once.
    pub(super) fn ghosts_wait(&self, bed: &str) -> bool {
        let from = (Some((bed.to_owned(), 0)), String::new());
        let mut line = self.in_line.range(from..);
        let first = line.next().and_then(|(slot, _)| slot.as_ref());
        first.is_some_and(|(of, _)| of == bed)
    }

    /// Writes what a Testbed has to say and does not.
    fn say(&mut self, name: &str, now: Time) -> Option<Write> {
        let target = Target::Status(name.to_owned());
        if self.beds.get(name)?.terminating || !self.may(&target, now) {
            return None;
        }
        let ghosts_wait = self.ghosts_wait(name);
        let bed = self.beds.get_mut(name)?;
        bed.forget_lost(now);
        let next = bed
            .part(0)
            .map_or(Time::ZERO, |part| part.may_be_written_at(ghosts_wait, now));
        if now < next {
            self.set_alarm(next, Alarm::Write(target));
            return None;
        }
        let saying = status::operations(bed, &self.settings, now);
        let waits = bed.waits_for_others(0, &saying.waits);
        if saying.operations.is_empty() {
            bed.nothing_to_say(0, saying);
            self.flights.settle(&target);
            if let Some(at) = waits {
                self.set_alarm(at, Alarm::Write(target));
            }
            return None;
        }
        let (uid, version) = (bed.uid.clone(), bed.version.clone());
        bed.part_sent(0, saying.names, Some((uid.clone(), version.clone())), now);
        let deed = Deed::PatchStatus {
            uid,
            version,
            operations: saying.operations,
        };
        Some(Write {
            ticket: self.flights.begin(target, Sent::Other),
            on: ObjectName {
                resource: Resource::Testbeds,
                namespace: String::new(),
                name: name.to_owned(),
            },
            deed,
        })
    }

    /// Makes or deletes a ghost, where it has to be.
    fn hold(&mut self, name: &str, now: Time) -> Option<Write> {
        let target = Target::Ghost(name.to_owned());
        let deed = match self.next(name, now) {
            Next::Nothing => {
                self.flights.settle(&target);
                return None;
            }
            Next::Wait => return None,
            Next::LookAgain(at) => {
                self.set_alarm(at, Alarm::Write(target));
                return None;
            }
            Next::Forget => {
                self.ghost_gone(name);
                return None;
            }
            Next::Send(deed) => deed,
        };
        if !self.may(&target, now) {
            return None;
        }
        let sent = match &deed {
            Deed::Delete { uid } => Sent::Delete(uid.clone()),
            Deed::Create(_) | Deed::PatchStatus { .. } | Deed::Patch { .. } => Sent::Other,
        };
        Some(Write {
            ticket: self.flights.begin(target, sent),
            on: ObjectName {
                resource: Resource::Pods,
                namespace: self.settings.ghost_namespace.clone(),
                name: name.to_owned(),
            },
            deed,
        })
    }

    /// What a ghost needs.
    fn next(&self, name: &str, now: Time) -> Next {
        let slot = self.slot_of.get(name).and_then(|(bed_name, number)| {
            let bed = self.beds.get(bed_name)?;
            let one = bed.slots().get(number)?;
            let wanted = one.wanted && one.state != SlotState::Occupied && !bed.terminating;
            wanted.then_some((bed_name, bed, one, *number))
        });
        match (self.ghosts.get(name), slot) {
            (Some(ghost), _) if ghost.terminating => match ghost.untold {
                None => Next::Wait,
                Some(since) if now < since + TOLD => Next::LookAgain(since + TOLD),
                // Whether it is gone is found out by another try.
                Some(_) => Next::delete(ghost),
            },
            (Some(ghost), Some((_, bed, one, _)))
                if ghost.owner == bed.uid
                    && ghost.suits(&one.slot.node, &bed.asked.request, &self.settings) =>
            {
                match ghost.untold {
                    None => Next::Nothing,
                    Some(since) if now < since + TOLD => Next::LookAgain(since + TOLD),
                    // Made, and nobody told: it is made again, which is refused if it is there.
                    Some(_) => Next::Forget,
                }
            }
            (Some(ghost), _) => Next::delete(ghost),
            // It is named before it is made; and not made while somebody comes.
            (None, Some((testbed, bed, one, number))) => {
                if one.state == SlotState::Reserved || !bed.names(name, number) {
                    return Next::Wait;
                }
                let hold = Hold {
                    testbed,
                    testbed_uid: &bed.uid,
                    request: &bed.request,
                    node: &one.slot.node,
                    ghost: name,
                };
                Next::Send(Deed::Create(body(&hold, &self.settings)))
            }
            (None, None) => Next::Nothing,
        }
    }

    /// Takes the answer to a write of this.
    pub(super) fn take(&mut self, target: &Target, sent: &Sent, answer: Answer, now: Time) {
        match target {
            Target::Status(bed) => {
                self.said(target, answer, now);
                self.marked.statuses.insert(bed.clone());
            }
            Target::Slice(name) => self.part_said(name, sent, answer, now),
            Target::Ghost(name) => {
                self.held(target, sent, answer, now);
                self.marked.ghosts.insert(name.clone());
            }
        }
    }

    fn said(&mut self, target: &Target, answer: Answer, now: Time) {
        let lost = matches!(answer, Answer::Lost | Answer::Done(_));
        self.status_answered(target, answer, now);
        if let Target::Status(name) = target
            && let Some(bed) = self.beds.get_mut(name)
        {
            bed.part_landed(0, lost, now);
        }
    }

    fn status_answered(&mut self, target: &Target, answer: Answer, now: Time) {
        match answer {
            Answer::Done(Some(Observation::Testbed(testbed))) => {
                self.flights.settle(target);
                let meta = &testbed.metadata;
                let known = meta.name.as_ref().and_then(|name| self.beds.get(name));
                // Of one that is gone by now, the answer is of before.
                if known.is_some_and(|bed| meta.uid.as_ref() == Some(&bed.uid)) {
                    self.testbed_is(&testbed);
                }
            }
            Answer::Throttled { until } => self.flights.wait_until(target, until),
            // News of the Testbed ends the wait.
            Answer::Done(_)
            | Answer::Conflict
            | Answer::NotFound
            | Answer::AlreadyExists
            | Answer::Refused { .. }
            | Answer::Lost => _ = self.flights.failed(target, now),
        }
    }

    fn held(&mut self, target: &Target, sent: &Sent, answer: Answer, now: Time) {
        let Target::Ghost(name) = target else {
            return;
        };
        let refused = match (answer, sent) {
            (Answer::Done(news), sent) => {
                let known = self.ghosts.get(name).map(|ghost| ghost.uid.clone());
                match news {
                    Some(news) => self.see(news),
                    None => _ = self.flights.failed(target, now),
                }
                self.note(name, sent, known.as_deref(), now);
                None
            }
            (Answer::NotFound, Sent::Delete(uid)) => {
                if self.ghosts.get(name).is_some_and(|ghost| ghost.uid == *uid) {
                    self.ghost_gone(name);
                }
                None
            }
            (Answer::Throttled { until }, _) => {
                self.flights.wait_until(target, until);
                return;
            }
            (Answer::Conflict | Answer::Lost, _) => {
                self.flights.failed(target, now);
                return;
            }
            (Answer::NotFound, Sent::Other | Sent::Patch(_)) => {
                let namespace = &self.settings.ghost_namespace;
                Some(format!("there is no namespace {namespace}"))
            }
            // Ours is told soon. Else somebody has the name.
            (Answer::AlreadyExists, _) => Some(format!("another pod has the name {name}")),
            (Answer::Refused { message }, _) => Some(message),
        };
        if let Some((bed, _)) = self.slot_of.get(name)
            && let Some(bed_is) = self.beds.get_mut(bed)
        {
            let changed = match &refused {
                Some(message) => {
                    bed_is
                        .refused
                        .insert(name.clone(), message.clone())
                        .as_ref()
                        != Some(message)
                }
                None => bed_is.refused.remove(name).is_some(),
            };
            if changed {
                self.marked.statuses.insert(bed.clone());
            }
        }
        if refused.is_some() {
            self.flights.failed(target, now);
        }
    }

    /// Notes that a ghost was made or deleted, until somebody tells what became of it: who knew it before the
    /// answer to its creation came was told.
    fn note(&mut self, name: &str, sent: &Sent, known: Option<&str>, now: Time) {
        let Some(ghost) = self.ghosts.get_mut(name) else {
            return;
        };
        match sent {
            Sent::Delete(uid) if ghost.uid == *uid => {
                ghost.terminating = true;
                ghost.untold = Some(now);
                // One that did not suit is not made again and again in a hurry.
                self.flights.failed(&Target::Ghost(name.to_owned()), now);
            }
            // Another one has its name by now.
            Sent::Delete(_) => {}
            Sent::Other | Sent::Patch(_) if known == Some(&ghost.uid) => {}
            Sent::Other | Sent::Patch(_) => ghost.untold = Some(now),
        }
        self.mark_ghost(name.to_owned());
    }
}
