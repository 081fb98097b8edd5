//! Slices of Testbeds: what is heard of them, what is written, and what an answer means.

use super::bed::Bed;
use super::part::{Heard, Slice};
use super::{Alarm, Sent, Target, Testbeds, status};
use crate::{Answer, Deed, ObjectName, Observation, Resource, Write};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use muster_api::crd::{Slot, TestbedSlice};
use muster_api::kinds::{Identity, is_older};
use muster_api::slices;
use muster_model::units::Time;

/// A slice that is of no Testbed that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stray {
    slice: Slice,
    /// The uid of the Testbed that controls it; without one it is not ours.
    owner: Option<String>,
    said: Vec<Slot>,
}

/// What is to be written of a slice.
enum Next {
    /// Nothing.
    Nothing,
    /// Nothing before this time.
    LookAgain(Time),
    /// This; and which slots it names thereby.
    Send(Deed, Vec<Slot>),
}

impl Testbeds {
    pub(super) fn slice_is(&mut self, slice: &TestbedSlice) {
        let meta = &slice.metadata;
        let name = meta.name.clone().unwrap_or_default();
        let Some((testbed, part)) = slices::named(&name) else {
            return;
        };
        let is = read(meta);
        if self.buried.get(&name) == Some(&is.uid) {
            return;
        }
        self.buried.remove(&name);
        // One that was there before the one that is known is gone.
        let known = self.known_slice(&name);
        if known.is_some_and(|known| is_older(meta, &known.version)) {
            return;
        }
        if known.is_none_or(|known| known.uid != is.uid || known.version != is.version) {
            self.flights.settle(&Target::Slice(name.clone()));
        }
        let owner = slices::whose(slice).map(|whose| whose.owner.to_owned());
        let said = slice.spec.slots.clone();
        let bed = self.beds.get_mut(testbed);
        if let Some(bed) = bed.filter(|bed| owner.as_ref() == Some(&bed.uid)) {
            bed.unsaid.remove(&part);
            let heard = bed.slice_is(part, is, said);
            self.strays.remove(&name);
            self.heard(testbed, part, heard);
        } else {
            self.part_gone(testbed, part);
            let slice = is;
            let stray = Stray { slice, owner, said };
            self.strays.insert(name.clone(), stray);
            self.mark_part(testbed, part);
        }
    }

    /// The slice of this name, whosever it is.
    fn known_slice(&self, name: &str) -> Option<&Slice> {
        let own = || {
            let (testbed, part) = slices::named(name)?;
            self.beds.get(testbed)?.part(part)?.slice.as_ref()
        };
        let stray = self.strays.get(name).map(|stray| &stray.slice);
        stray.or_else(own)
    }

    pub(super) fn slice_gone(&mut self, object: &Identity) {
        let name = &object.name;
        let Some((testbed, part)) = slices::named(name) else {
            return;
        };
        if self.buried.get(name) == Some(&object.uid) {
            self.buried.remove(name);
        } else if self
            .known_slice(name)
            .is_none_or(|known| known.uid != object.uid)
        {
            return;
        }
        self.flights.settle(&Target::Slice(name.clone()));
        self.forget_slice(name, &object.uid);
        if let Some(bed) = self.beds.get_mut(testbed) {
            bed.unsaid.remove(&part);
        }
        self.mark_part(testbed, part);
    }

    /// A slice is not there any more.
    fn forget_slice(&mut self, name: &str, uid: &str) {
        let known = self.known_slice(name);
        if known.is_some_and(|known| known.uid == uid)
            && self.strays.remove(name).is_none()
            && let Some((testbed, part)) = slices::named(name)
        {
            self.part_gone(testbed, part);
        }
    }

    /// The slice of a part is not the Testbed's any more.
    fn part_gone(&mut self, testbed: &str, part: u32) {
        if let Some(bed) = self.beds.get_mut(testbed)
            && bed.part(part).is_some_and(|part| part.slice.is_some())
        {
            let heard = bed.slice_gone(part);
            self.heard(testbed, part, heard);
        }
    }

    /// What a part says is told.
    pub(super) fn heard(&mut self, testbed: &str, part: u32, heard: Heard) {
        if heard.layout {
            self.marked.layouts.insert(testbed.to_owned());
        }
        // Those that are named by now may be made.
        self.marked.ghosts.extend(heard.named);
        self.mark_part(testbed, part);
        // Who waited for it to name a slot no longer may go on.
        let bed = self.beds.get_mut(testbed);
        let waiting = bed.map(|bed| std::mem::take(&mut bed.waiting));
        for part in waiting.into_iter().flatten() {
            self.mark_part(testbed, part);
        }
    }

    /// A part may have to be written, and what the Testbed says of all.
    pub(super) fn mark_part(&mut self, testbed: &str, part: u32) {
        if part != 0 {
            self.marked.slices.insert(slices::name(testbed, part));
        }
        self.marked.statuses.insert(testbed.to_owned());
    }

    /// A Testbed is known from now on: its slices are no strays any more.
    pub(super) fn adopt(&mut self, testbed: &str) {
        let Some(bed) = self.beds.get_mut(testbed) else {
            return;
        };
        let own = |name: &String, stray: &mut Stray| {
            let of = slices::named(name).map(|(of, _)| of);
            of == Some(testbed) && stray.owner.as_ref() == Some(&bed.uid)
        };
        let adopted = self.strays.extract_if(.., own);
        for (name, stray) in adopted.collect::<Vec<_>>() {
            if let Some((_, part)) = slices::named(&name) {
                bed.slice_is(part, stray.slice, stray.said);
            }
            self.marked.slices.insert(name);
        }
    }

    /// A Testbed is gone: its slices are strays.
    pub(super) fn abandon(&mut self, testbed: &str, bed: Bed) {
        for (part, one) in bed.parts {
            let Some(slice) = one.slice else {
                continue;
            };
            let name = slices::name(testbed, part);
            let stray = Stray {
                slice,
                owner: Some(bed.uid.clone()),
                said: one.said,
            };
            self.strays.insert(name.clone(), stray);
            self.marked.slices.insert(name);
        }
    }

    /// Writes what a slice has to say and does not.
    pub(super) fn say_part(&mut self, name: &str, now: Time) -> Option<Write> {
        let target = Target::Slice(name.to_owned());
        let (testbed, part) = slices::named(name)?;
        if !self.may(&target, now) {
            return None;
        }
        let (deed, names) = match self.next_of_slice(name, now) {
            Next::Nothing => {
                self.flights.settle(&target);
                return None;
            }
            Next::LookAgain(at) => {
                self.set_alarm(at, Alarm::Write(target));
                return None;
            }
            Next::Send(deed, names) => (deed, names),
        };
        let (sent, on) = match &deed {
            Deed::Delete { uid } => (Sent::Delete(uid.clone()), None),
            Deed::Patch { uid, version, .. } => {
                let on = Some((uid.clone(), version.clone()));
                (Sent::Patch(uid.clone()), on)
            }
            Deed::Create(_) | Deed::PatchStatus { .. } => (Sent::Other, None),
        };
        if let Some(bed) = self.beds.get_mut(testbed)
            && !matches!(sent, Sent::Delete(_))
        {
            bed.part_sent(part, names, on, now);
        }
        Some(Write {
            ticket: self.flights.begin(target, sent),
            on: ObjectName {
                resource: Resource::TestbedSlices,
                namespace: String::new(),
                name: name.to_owned(),
            },
            deed,
        })
    }

    /// What is to be written of a slice.
    fn next_of_slice(&mut self, name: &str, now: Time) -> Next {
        let delete = |slice: &Slice| {
            let uid = slice.uid.clone();
            Next::Send(Deed::Delete { uid }, Vec::new())
        };
        let Some((testbed, part)) = slices::named(name) else {
            return Next::Nothing;
        };
        match self.strays.get(name) {
            Some(stray) if stray.owner.is_some() && !stray.slice.terminating => {
                return delete(&stray.slice);
            }
            // What is not ours is left alone; that it is in the way is found out by a try.
            Some(stray) if stray.owner.is_some() => return Next::Nothing,
            Some(_) | None => {}
        }
        let ghosts_wait = self.ghosts_wait(testbed);
        let Some(bed) = self.beds.get_mut(testbed).filter(|bed| !bed.terminating) else {
            return Next::Nothing;
        };
        bed.forget_lost(now);
        let known = bed.part(part);
        let slice = known.and_then(|known| known.slice.clone());
        let next = known.map_or(Time::ZERO, |one| one.may_be_written_at(ghosts_wait, now));
        let has_own = bed.has_own(part);
        match slice {
            Some(slice) if slice.terminating => Next::Nothing,
            Some(slice) if !has_own => delete(&slice),
            None if !has_own => {
                if bed.unsaid.remove(&part).is_some() {
                    self.marked.statuses.insert(testbed.to_owned());
                }
                Next::Nothing
            }
            _ if now < next => Next::LookAgain(next),
            Some(slice) => {
                let saying = bed.saying(part, "/spec/slots", &self.settings);
                let waits = bed.waits_for_others(part, &saying.waits);
                if saying.operations.is_empty() {
                    bed.nothing_to_say(part, saying);
                    return waits.map_or(Next::Nothing, Next::LookAgain);
                }
                let deed = Deed::Patch {
                    uid: slice.uid,
                    version: slice.version,
                    operations: saying.operations,
                };
                Next::Send(deed, saying.names)
            }
            None => {
                let (slots, saying) = bed.to_say(part, &self.settings);
                let waits = bed.waits_for_others(part, &saying.waits);
                if slots.is_empty() {
                    return waits.map_or(Next::Nothing, Next::LookAgain);
                }
                let body = status::slice(name, testbed, bed, &slots);
                Next::Send(Deed::Create(body), saying.names)
            }
        }
    }

    /// Takes the answer to a write of a slice.
    pub(super) fn part_said(&mut self, name: &str, sent: &Sent, answer: Answer, now: Time) {
        let target = Target::Slice(name.to_owned());
        let Some((testbed, part)) = slices::named(name) else {
            return;
        };
        let lost = matches!(answer, Answer::Lost | Answer::Done(None));
        let refused = match (answer, sent) {
            (Answer::Done(Some(Observation::TestbedSlice(slice))), sent) => {
                self.flights.settle(&target);
                // Of one that is gone by now, the answer is of before.
                let stands = match sent {
                    Sent::Other => self
                        .beds
                        .get(testbed)
                        .is_some_and(|bed| bed.is_awaited(part)),
                    Sent::Patch(uid) | Sent::Delete(uid) => {
                        self.known_slice(name).is_some_and(|one| one.uid == *uid)
                    }
                };
                if stands {
                    self.slice_is(&slice);
                }
                None
            }
            (Answer::Done(_) | Answer::NotFound, Sent::Delete(uid))
            | (Answer::NotFound, Sent::Patch(uid)) => {
                // Until that is told, older news of it may come.
                if self.known_slice(name).is_some_and(|one| one.uid == *uid) {
                    self.buried.insert(name.to_owned(), uid.clone());
                    self.forget_slice(name, uid);
                }
                None
            }
            (Answer::Throttled { until }, _) => {
                self.flights.wait_until(&target, until);
                None
            }
            (Answer::NotFound, Sent::Other) => Some("there is no kind TestbedSlice".to_owned()),
            (Answer::AlreadyExists, _) => Some(format!("another TestbedSlice is called {name}")),
            (Answer::Refused { message }, _) => Some(message),
            (Answer::Done(_) | Answer::Conflict | Answer::Lost, _) => {
                self.flights.failed(&target, now);
                None
            }
        };
        if let Some(bed) = self.beds.get_mut(testbed) {
            bed.part_landed(part, lost, now);
            bed.prune(part);
            if let Some(message) = &refused {
                bed.unsaid.insert(part, message.clone());
            }
        }
        if refused.is_some() {
            self.flights.failed(&target, now);
        }
        self.mark_part(testbed, part);
    }
}

/// What a slice is as an object.
fn read(meta: &ObjectMeta) -> Slice {
    Slice {
        uid: meta.uid.clone().unwrap_or_default(),
        version: meta.resource_version.clone().unwrap_or_default(),
        terminating: meta.deletion_timestamp.is_some(),
    }
}
