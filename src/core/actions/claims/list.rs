//! All claims of a gang, and how many gangs have one of each kind.

use super::Claims;
use super::held::ends_at;
use crate::state::{ClusterState, GangId, NodeId};
use muster_model::explanation::{ClaimKind, RoomClaim};
use std::collections::BTreeSet;

impl Claims {
    /// What a gang has a claim to.
    pub fn of(&self, state: &ClusterState, gang: GangId) -> Vec<RoomClaim> {
        let (decided, held) = (self.held.get(&gang), state.held_for(gang));
        let mut awaited: BTreeSet<NodeId> = BTreeSet::new();
        if self.nominated.contains(&gang) {
            awaited.extend(state.nominations(gang).into_iter().map(|(_, node)| node));
            let awaits = held.filter(|held| held.awaits);
            awaited.extend(awaits.into_iter().flat_map(|held| held.on.keys()));
        }
        let all = [
            decided.map(|hold| RoomClaim {
                kind: ClaimKind::Decided,
                nodes: hold.nodes(),
                ..RoomClaim::default()
            }),
            (!awaited.is_empty()).then(|| RoomClaim {
                kind: ClaimKind::Nominated,
                nodes: awaited.len(),
                ..RoomClaim::default()
            }),
            held.filter(|held| !held.awaits).map(|held| RoomClaim {
                kind: ClaimKind::Held,
                nodes: held.on.len(),
                since: Some(held.since),
                until: Some(ends_at(held)),
            }),
            self.moves.holds.get(&gang).map(|hold| RoomClaim {
                kind: ClaimKind::Returning,
                nodes: hold.nodes.len(),
                since: None,
                until: Some(hold.until()),
            }),
            self.reserved.get(&gang).map(|one| RoomClaim {
                kind: ClaimKind::Reserved,
                nodes: one.on().len(),
                since: Some(one.found_at),
                until: one.at,
            }),
        ];
        all.into_iter().flatten().collect()
    }

    /// How many gangs, or slots, have a claim of each kind, in the order of [`ClaimKind::ALL`].
    pub fn counts(&self, state: &ClusterState) -> [usize; ClaimKind::ALL.len()] {
        [
            self.held.len(),
            self.nominated.len(),
            state.rooms_held(),
            self.moves.holds.len(),
            self.reserved.len(),
            state.vacant_slots(),
        ]
    }
}
