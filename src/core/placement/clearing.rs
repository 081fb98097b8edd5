//! Room for a gang by thinking others away: the one search of all who make room (preemption, reclaim, moves)
//! and of who waits for it (a reservation).
//!
//! They differ in who is thought away, in which order (the harm it does, or when it leaves by itself), and
//! in what they make of the answer. The search finds the fewest of the first so many without whom the gang's
//! [`Demand`] has a place, and puts each of them back for whom there is room beside it: by the filters of who
//! is put back, and by those of the gang, which has to be where it is still.
//!
//! **What is proven.** More room is never worse for a demand of equal members whose places hang on amounts
//! alone: then the fewest are found by halving, and where not even all together are enough there is no place.
//! Where somebody wants to be near, or apart from, or spread beside others, who is thought away may be one
//! who would have been of use: what is found is a place, and perhaps not that with the fewest.

use super::amounts::{fits, room_for};
use super::{Demand, Placer};
use crate::framework::Profile;
use crate::plugins::keeps_apart;
use crate::state::{ClusterState, GangId, Held, NodeId, PodId, RoomOn, Shape, SlotId};
use crate::transaction::{Checkpoint, Statement};
use muster_model::resources::Tally;
use muster_model::units::Time;
use std::collections::{BTreeMap, BTreeSet};

/// Pods that are thought away together or not at all.
pub trait Removal {
    /// Which.
    fn pods(&self) -> &[PodId];

    /// The gang that they are of, where others of it go along if all of it goes.
    fn part_of(&self) -> Option<GangId> {
        None
    }

    /// The gangs of which nothing is left then: what is held for them goes with them.
    fn whole(&self) -> &[GangId] {
        &[]
    }
}

impl<R: Removal> Removal for &R {
    fn pods(&self) -> &[PodId] {
        (*self).pods()
    }

    fn part_of(&self) -> Option<GangId> {
        (*self).part_of()
    }

    fn whole(&self) -> &[GangId] {
        (*self).whole()
    }
}

/// What room is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asks {
    /// For members that are there.
    Members(Demand),
    /// For such as are not: these amounts, for so many members (zero: nobody knows how many).
    Room(Tally, u32),
}

/// Where a gang is, or is to be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Room {
    /// Its members.
    pub members: Vec<(PodId, NodeId)>,
    /// The slots of those of them that claim some.
    pub seats: Vec<(PodId, SlotId)>,
    /// What is for members that are not there yet.
    pub held: RoomOn,
}

impl Room {
    /// What was placed in a statement since then.
    #[must_use]
    pub fn of(statement: &Statement<'_>, since: Checkpoint) -> Self {
        let placed = || {
            statement
                .assumed_since(since)
                .map(|step| (step.pod, step.node))
        };
        let seat = |(pod, _)| Some((pod, statement.state().slot_of(pod)?));
        Self {
            members: placed().collect(),
            seats: placed().filter_map(seat).collect(),
            held: RoomOn::new(),
        }
    }

    /// On which nodes.
    #[must_use]
    pub fn nodes(&self) -> BTreeSet<NodeId> {
        let members = self.members.iter().map(|(_, node)| *node);
        members.chain(self.held.keys().copied()).collect()
    }
}

/// What was found: who cannot stay, and where the gang is then.
#[derive(Debug)]
pub struct Cleared {
    /// By their number in the order, ascending.
    pub gone: Vec<usize>,
    /// Where the gang is.
    pub room: Room,
}

/// For whom room is looked for, by whose rules and search.
#[derive(Debug)]
pub struct Beneficiary<'a> {
    /// The gang.
    pub gang: GangId,
    /// What it asks for.
    pub asks: &'a Asks,
    /// Its profile.
    pub profile: &'a Profile,
    /// Places it.
    pub placer: &'a mut Placer,
}

/// The cluster without some: always the first so many of an order.
pub struct Clearing<'s, 'a, R, F> {
    statement: Statement<'s>,
    who: Beneficiary<'a>,
    /// Who is next in the order.
    next: F,
    /// The first of the order, as far as somebody asked for them.
    removals: Vec<R>,
    start: Checkpoint,
    /// Where each number of removals, from none on, ends in the statement.
    marks: Vec<Checkpoint>,
    /// Whether the gang is in its place after the last of them.
    placed: bool,
    /// The last number of removals that was found to be too few.
    too_few: Option<usize>,
    /// What was held for those who were thought away.
    held: BTreeMap<GangId, Held>,
    /// So many pods may be thought away still, those put back included.
    pods_left: usize,
}

impl<'s, 'a, R: Removal, F: FnMut(&ClusterState) -> Option<R>> Clearing<'s, 'a, R, F> {
    /// A search from a statement on, in which is done already what is to be so in any case.
    pub fn new(statement: Statement<'s>, who: Beneficiary<'a>, next: F) -> Self {
        let start = statement.checkpoint();
        Self {
            statement,
            who,
            next,
            removals: Vec::new(),
            start,
            marks: vec![start],
            placed: false,
            too_few: None,
            held: BTreeMap::new(),
            pods_left: usize::MAX,
        }
    }

    /// The same, in which no more than so many pods are thought away.
    #[must_use]
    pub fn at_most(mut self, pods: usize) -> Self {
        self.pods_left = pods;
        self
    }

    /// The same, where it is known already that there is no room as long as nobody is thought away.
    #[must_use]
    pub const fn without_room_yet(mut self) -> Self {
        self.too_few = Some(0);
        self
    }

    /// The cluster as it is thought to be now.
    pub const fn state(&self) -> &ClusterState {
        self.statement.state()
    }

    /// The first of the order, as far as they were asked for.
    pub fn removals(&self) -> &[R] {
        &self.removals
    }

    /// What is done on top: by whoever has to place others than the gang.
    pub const fn go_on(&mut self) -> (&mut Statement<'s>, &mut Placer) {
        self.placed = false;
        (&mut self.statement, self.who.placer)
    }

    /// The smallest number without whom there is room, of an order that is known whole: what is hopeless is
    /// found out first. `None`: all together are not enough.
    pub fn fewest(&mut self) -> Option<usize> {
        let all = self.hear_of_all();
        if !self.has_room_after(all)?.0 {
            return None;
        }
        self.halve(0, all)
    }

    /// The same of an order of which only the first are likely to be needed: as few are heard of as can be.
    pub fn fewest_of_many(&mut self) -> Option<usize> {
        let (mut few, mut enough) = (0, 1);
        loop {
            let (found, reached) = self.has_room_after(enough)?;
            if found {
                return self.halve(few, reached);
            }
            if reached < enough {
                return None;
            }
            (few, enough) = (enough, 2 * enough);
        }
    }

    /// Narrows down to the smallest number, between one that is too few and one that is enough.
    fn halve(&mut self, mut few: usize, mut enough: usize) -> Option<usize> {
        while few + 1 < enough {
            let middle = few + (enough - few) / 2;
            if self.has_room_after(middle)?.0 {
                enough = middle;
            } else {
                few = middle;
            }
        }
        Some(enough)
    }

    /// Whether the gang has room without the first so many, or without all if they are fewer, and how many
    /// that are; `None` if that is too much to find out. Where it has, it is in its place.
    pub fn has_room_after(&mut self, removals: usize) -> Option<(bool, usize)> {
        if self.too_few == Some(removals) {
            return Some((false, removals));
        }
        self.go_to(removals)?;
        self.placed = self.place();
        let reached = self.marks.len() - 1;
        if !self.placed {
            self.too_few = Some(reached);
        }
        Some((self.placed, reached))
    }

    /// Where the gang is now.
    pub fn room(&self) -> Room {
        self.room_since(self.mark())
    }

    /// The same, of what was placed since then.
    fn room_since(&self, mark: Checkpoint) -> Room {
        let held = self.state().held_for(self.who.gang);
        Room {
            held: held.map(|held| held.on.clone()).unwrap_or_default(),
            ..Room::of(&self.statement, mark)
        }
    }

    /// Places the gang without the first so many, and puts back, the last first, whoever is not in its way;
    /// and of the first `tries` who are, whoever would not be if it were placed anew.
    pub fn spare(&mut self, enough: usize, mut tries: usize) -> Option<Cleared> {
        let is_there = self.placed && self.marks.len() == enough + 1;
        if !is_there && !self.has_room_after(enough)?.0 {
            return None;
        }
        // Others are put back now.
        self.placed = false;
        let mut empty = self.mark();
        let mut room = self.room();
        let mut asking = self.who_asks(&room);
        let mut gone = Vec::new();
        let mut whole: BTreeSet<GangId> = BTreeSet::new();
        // Who was put back since the gang was placed.
        let mut back: Vec<usize> = Vec::new();
        for index in (0..enough.min(self.removals.len())).rev() {
            let of = self.removals[index].part_of();
            // What is left of a gang that goes as a whole goes with it.
            let goes_along = of.is_some_and(|gang| whole.contains(&gang));
            if !goes_along && self.put_back_if_room(index, &asking) {
                back.push(index);
                continue;
            }
            // With the last of them there is none.
            let is_needed = index + 1 == enough && self.too_few == Some(index);
            if !goes_along && !is_needed && tries > 0 {
                tries -= 1;
                self.statement.roll_back(empty);
                back.drain(..).for_each(|one| self.put_back(one));
                let without = self.statement.checkpoint();
                self.put_back(index);
                empty = self.statement.checkpoint();
                if self.place() {
                    room = self.room_since(empty);
                    asking = self.who_asks(&room);
                    continue;
                }
                self.statement.roll_back(without);
                empty = without;
                self.take(&room);
            }
            whole.extend(self.removals[index].whole());
            gone.push(index);
        }
        gone.reverse();
        Some(Cleared { gone, room })
    }
    /// The end of the removals in the statement.
    fn mark(&self) -> Checkpoint {
        self.marks.last().copied().unwrap_or(self.start)
    }

    fn place(&mut self) -> bool {
        let Beneficiary {
            gang,
            asks,
            profile,
            placer,
        } = &mut self.who;
        match asks {
            Asks::Members(demand) => placer.can_place(&mut self.statement, profile, *gang, demand),
            Asks::Room(amounts, members) => {
                let found = room_for(self.statement.state(), *gang, amounts, *members);
                let held = found.map(|on| self.statement.hold_room(*gang, Some(awaited(on))));
                held.is_ok()
            }
        }
    }

    /// Puts the gang where it was before.
    fn take(&mut self, room: &Room) {
        for (pod, slot) in &room.seats {
            self.statement.point_to_slot(*pod, *slot);
        }
        for (pod, node) in &room.members {
            self.statement.assume(*pod, *node);
        }
        self.statement
            .hold_room(self.who.gang, Some(awaited(room.held.clone())));
    }

    /// Thinks away the first so many, or all if they are fewer, and nobody else.
    fn go_to(&mut self, removals: usize) -> Option<()> {
        self.placed = false;
        self.marks.truncate(removals + 1);
        self.statement.roll_back(self.mark());
        while self.marks.len() <= removals {
            let index = self.marks.len() - 1;
            if index == self.removals.len() && !self.hear_of_next() {
                break;
            }
            let pods = self.removals[index].pods();
            self.pods_left = self.pods_left.checked_sub(pods.len())?;
            pods.iter().for_each(|pod| self.statement.lift(*pod));
            for gang in self.removals[index].whole() {
                let held = self.statement.hold_room(*gang, None);
                self.held.extend(held.map(|held| (*gang, held)));
            }
            self.marks.push(self.statement.checkpoint());
        }
        Some(())
    }

    /// Finds out who is next in the order; says whether there is somebody.
    fn hear_of_next(&mut self) -> bool {
        let next = (self.next)(self.statement.state());
        let more = next.is_some();
        self.removals.extend(next);
        more
    }

    /// How many there are.
    fn hear_of_all(&mut self) -> usize {
        while self.hear_of_next() {}
        self.removals.len()
    }

    fn put_back(&mut self, index: usize) {
        for pod in self.removals[index].pods() {
            self.statement.put_back(*pod);
        }
        for gang in self.removals[index].whole() {
            if let Some(held) = self.held.get(gang) {
                self.statement.hold_room(*gang, Some(held.clone()));
            }
        }
    }

    /// Puts those back who have room still, and who make no place of the gang's unfit.
    fn put_back_if_room(&mut self, index: usize, asking: &[(PodId, NodeId)]) -> bool {
        let before = self.statement.checkpoint();
        let suits = self.fits_back(index) && self.still_suits(asking);
        if !suits {
            self.statement.roll_back(before);
        }
        suits
    }

    /// Puts those back who have room still, one after the other; says whether all have.
    fn fits_back(&mut self, index: usize) -> bool {
        for pod in self.removals[index].pods() {
            if !has_room(self.statement.state(), *pod) {
                return false;
            }
            self.statement.put_back(*pod);
        }
        for gang in self.removals[index].whole() {
            let Some(held) = self.held.get(gang) else {
                continue;
            };
            if !fits(self.statement.state(), *gang, &held.on) {
                return false;
            }
            self.statement.hold_room(*gang, Some(held.clone()));
        }
        true
    }

    /// Those of some who were placed whose place depends on more than what is free there.
    fn who_asks(&self, room: &Room) -> Vec<(PodId, NodeId)> {
        let asks = |(pod, _): &&(PodId, NodeId)| {
            let shape = self.state().shape_of(*pod);
            shape.is_some_and(|shape| !self.who.profile.decides_by_amounts(shape))
        };
        room.members.iter().filter(asks).copied().collect()
    }

    /// Whether the places of some who were placed suit them still, now that others are back.
    fn still_suits(&mut self, places: &[(PodId, NodeId)]) -> bool {
        let mark = self.statement.checkpoint();
        let Beneficiary {
            profile, placer, ..
        } = &mut self.who;
        places.iter().all(|(pod, node)| {
            // Nobody is in his own way.
            self.statement.lift(*pod);
            let fits = placer.fits(self.statement.state(), profile, *pod, *node);
            self.statement.roll_back(mark);
            fits
        })
    }
}

/// Held while others are still there.
const fn awaited(on: RoomOn) -> Held {
    Held {
        on,
        since: Time::ZERO,
        awaits: true,
    }
}

/// Whether a pod that was thought away has room on its node still.
fn has_room(state: &ClusterState, id: PodId) -> bool {
    let Some(pod) = state.pod(id) else {
        return false;
    };
    if !pod.lifted {
        return true;
    }
    if let Some(its_slot_is_free) = state.may_sit_again(id) {
        return its_slot_is_free;
    }
    let (Some(node), Some(shape)) = (pod.place.node(), state.shape_of(id)) else {
        return false;
    };
    let nodes = state.nodes();
    let taken = nodes.ports(node);
    let conflict = |wanted| taken.iter().any(|(port, _)| port.conflicts(wanted));
    let mut amounts = shape.request.iter();
    amounts.all(|(dimension, amount)| nodes.free(node, dimension) >= amount)
        && !shape.ports.iter().any(conflict)
        && !keeps_apart(state, shape, node)
        && !volumes_conflict(state, shape, node)
}

/// Whether the volumes of pods like this one cannot be on a node beside what is there.
fn volumes_conflict(state: &ClusterState, shape: &Shape, node: NodeId) -> bool {
    shape.volumes.as_ref().is_some_and(|needs| {
        let attachable = state.volumes_attachable(needs, node).unwrap_or(1);
        let in_use = |claim| state.volumes().is_in_use(claim);
        state.disks_conflict(needs, node) || attachable == 0 || needs.alone.iter().any(in_use)
    })
}
