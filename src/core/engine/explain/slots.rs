//! Who has which slot, who waits for it, and what the pods of a gang claim.

use super::NAMES;
use crate::actions::Sight;
use crate::placement::amount_in_words;
use crate::state::{ClusterState, GangId, PodId, Slot, SlotId};
use muster_model::explanation::{
    ClaimKind, Claimant, ClaimedSlot, Clock, Lack, RoomClaim, SlotIs, SlotLine, SlotWaiter,
    TestbedExplanation,
};
use muster_model::{Code, SlotClaim};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// So many slots of a testbed are told.
const SLOTS: usize = 10_000;
/// So many gangs that wait for slots of a testbed, so many pods of a gang, and so many slots of each.
const CLAIMS: usize = 4 * NAMES;

/// A gang with pods that wait for slots of a testbed.
struct Waiter {
    gang: GangId,
    pods: u32,
    claims: BTreeSet<Arc<SlotClaim>>,
    refused: Option<String>,
}

/// Who waits for slots, by the name of the testbed; and how much was looked at for that.
#[derive(Default)]
pub(super) struct Waiters {
    by_testbed: BTreeMap<String, Vec<Waiter>>,
    looks: usize,
}

impl Waiters {
    /// Looks at all gangs with pods that wait.
    pub(super) fn find(state: &ClusterState) -> Self {
        let mut found = Self::default();
        for (id, gang) in state.gangs() {
            found.looks += 1;
            if !gang.pending.is_empty() {
                found.note(state, id, gang);
            }
        }
        found
    }

    fn note(&mut self, state: &ClusterState, id: GangId, gang: &crate::state::Gang) {
        for (class, turns) in gang.pending.classes() {
            self.looks += 1;
            let shape = state.shapes().get(class.shape);
            let Some((shape, claim)) = shape.and_then(|one| Some((one, one.claim.as_ref()?)))
            else {
                continue;
            };
            let waits = turns.filter(|(_, _, pod)| state.slot_of(*pod).is_none());
            let pods = u32::try_from(waits.count()).unwrap_or(u32::MAX);
            self.looks += claim.positions.len();
            if pods == 0 {
                continue;
            }
            let all = self.by_testbed.entry(claim.testbed.clone()).or_default();
            if all.last().is_none_or(|last| last.gang != id) {
                all.push(Waiter {
                    gang: id,
                    pods: 0,
                    claims: BTreeSet::new(),
                    refused: None,
                });
            }
            if let Some(waiter) = all.last_mut() {
                waiter.pods = waiter.pods.saturating_add(pods);
                let refused = state.may_claim(shape, claim).err();
                let words = refused.map(|why| state.no_slot_in_words(claim, &why));
                waiter.refused = waiter.refused.take().or(words);
                waiter.claims.insert(Arc::clone(claim));
            }
        }
    }

    /// How much was looked at.
    pub(super) const fn looks(&self) -> usize {
        self.looks
    }
}

/// Explains a testbed.
pub(super) fn testbed(sight: Sight<'_>, name: &str, waiters: &Waiters) -> TestbedExplanation {
    let state = sight.state;
    let mut waits: Vec<(Option<&str>, Option<u32>, &Waiter)> = Vec::new();
    let found = waiters.by_testbed.get(name).map_or(&[][..], Vec::as_slice);
    if !found.is_empty() {
        let places = sight.agenda.positions();
        let place = |one: &Waiter| places.get(&one.gang).copied();
        waits.extend(
            found
                .iter()
                .map(|one| (queue_of(state, one.gang), place(one), one)),
        );
        waits.sort_by_key(|(queue, place, one)| (*queue, place.is_none(), *place, one.gang));
    }
    let mut for_slot: BTreeMap<u32, (usize, Vec<GangId>)> = BTreeMap::new();
    for (_, _, waiter) in &waits {
        let claims = waiter.claims.iter();
        let claimed: BTreeSet<u32> = claims
            .flat_map(|one| one.positions.iter().copied())
            .collect();
        for position in claimed {
            let known = for_slot.entry(position).or_default();
            known.0 += 1;
            if known.1.len() < NAMES {
                known.1.push(waiter.gang);
            }
        }
    }
    let (mut slots, mut slot_count, mut free, mut taken) = (Vec::new(), 0, 0, 0);
    let mut held = BTreeSet::new();
    for (id, slot) in state.slots_of_testbed(name) {
        slot_count += 1;
        let stands = stands(state, slot);
        free += usize::from(stands == SlotIs::Free);
        taken += usize::from(slot.seat().is_some());
        held.extend(slot.node().filter(|_| stands == SlotIs::Free));
        if slot_count <= SLOTS {
            let waiting = for_slot.get(&id.position());
            slots.push(line(state, id, slot, stands, waiting));
        }
    }
    TestbedExplanation {
        kind: Code::new("Testbed"),
        name: name.to_owned(),
        clock: Clock::default(),
        as_of: sight.now,
        slots,
        slot_count,
        free,
        taken,
        claims: (!held.is_empty())
            .then(|| RoomClaim {
                kind: ClaimKind::Slot,
                nodes: held.len(),
                ..RoomClaim::default()
            })
            .into_iter()
            .collect(),
        waiting_count: waits.len(),
        waiting: waits
            .into_iter()
            .take(CLAIMS)
            .map(|(queue, position, one)| {
                let claims = one.claims.iter();
                let all: BTreeSet<u32> = claims
                    .flat_map(|one| one.positions.iter().copied())
                    .collect();
                SlotWaiter {
                    name: state.gang_title(one.gang),
                    queue: queue.map(str::to_owned),
                    position,
                    pods: one.pods,
                    slot_count: all.len(),
                    slots: all.into_iter().take(CLAIMS).collect(),
                    refused: one.refused.clone(),
                }
            })
            .collect(),
    }
}

fn queue_of(state: &ClusterState, gang: GangId) -> Option<&str> {
    let queue = state.gang(gang)?.queue?;
    Some(&*state.queues().get(queue)?.name)
}

/// How a slot stands.
fn stands(state: &ClusterState, slot: &Slot) -> SlotIs {
    let seat = slot.seat().and_then(|pod| state.pod(pod));
    match seat {
        _ if slot.node().is_none() => SlotIs::NoNode,
        Some(pod) if pod.place.node().is_some() => SlotIs::Occupied,
        Some(_) => SlotIs::Reserved,
        None if slot.is_held() => SlotIs::Free,
        None => SlotIs::NoRoom,
    }
}

fn who(state: &ClusterState, slot: &Slot) -> Option<String> {
    let seat = slot.seat().and_then(|pod| state.who_has(pod));
    seat.map(ToString::to_string)
}

fn line(
    state: &ClusterState,
    id: SlotId,
    slot: &Slot,
    stands: SlotIs,
    waiting: Option<&(usize, Vec<GangId>)>,
) -> SlotLine {
    let lacks = state.lacks_for_slot(id).into_iter();
    let lacks = lacks.map(|(dimension, amount)| Lack {
        resource: state.dimensions().name(dimension).to_owned(),
        amount: amount_in_words(state, dimension, amount),
    });
    let first = waiting.map_or(&[][..], |(_, first)| first.as_slice());
    SlotLine {
        position: id.position(),
        node: slot.node_name().to_owned(),
        state: stands,
        held: slot.is_held(),
        lacks: lacks.collect(),
        ghost: slot.ghost_name().to_owned(),
        ghost_on_node: slot.ghost().is_some(),
        pod: who(state, slot),
        waiting: first.iter().map(|gang| state.gang_title(*gang)).collect(),
        waiting_count: waiting.map_or(0, |(count, _)| *count),
    }
}

/// What pods of a gang claim, those without a slot first; and how many there are.
pub(super) fn claimants(sight: Sight<'_>, gang: GangId) -> (Vec<Claimant>, usize) {
    let state = sight.state;
    let mut all: Vec<(bool, PodId, &Arc<SlotClaim>)> = Vec::new();
    for pod in &state[gang].members {
        let claim = state.shape_of(*pod).and_then(|shape| shape.claim.as_ref());
        if let Some(claim) = claim {
            all.push((state.slot_of(*pod).is_some(), *pod, claim));
        }
    }
    all.sort_by_key(|(has, _, _)| *has);
    let count = all.len();
    let first = all.into_iter().take(CLAIMS);
    let told = first.filter_map(|(_, id, claim)| claimant(state, id, claim));
    (told.collect(), count)
}

fn claimant(state: &ClusterState, id: PodId, claim: &SlotClaim) -> Option<Claimant> {
    let (pod, shape) = (state.pod(id)?, state.shape_of(id)?);
    let there: BTreeMap<u32, &Slot> = state
        .slots_claimed(claim)
        .map(|(slot, one)| (slot.position(), one))
        .collect();
    let slots = claim.positions.iter().take(CLAIMS).map(|position| {
        let slot = there.get(position);
        ClaimedSlot {
            position: *position,
            node: slot.map(|slot| slot.node_name().to_owned()),
            state: slot.map_or(SlotIs::NoNode, |slot| stands(state, slot)),
            pod: slot.and_then(|slot| who(state, slot)),
        }
    });
    let has = state.slot_of(id).map(SlotId::position);
    let refused = state
        .may_claim(shape, claim)
        .err()
        .filter(|_| has.is_none());
    Some(Claimant {
        pod: pod.key.name.clone(),
        testbed: claim.testbed.clone(),
        has,
        slots: slots.collect(),
        slot_count: claim.positions.len(),
        refused: refused.map(|why| state.no_slot_in_words(claim, &why)),
    })
}
