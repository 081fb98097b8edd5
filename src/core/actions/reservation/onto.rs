//! Who goes onto nodes that are kept whole for others, for whoever checks that they may.

use super::{Cycle, tier_of};
use crate::actions::notes::OrderKey;
use crate::state::{GangId, NodeId};
use muster_model::OntoKept;
use std::collections::BTreeSet;

/// For whom nodes are kept whole onto which a gang is being placed that begins now, and stood here in its
/// queue before it was.
pub(in crate::actions) fn onto_kept(
    cx: &Cycle<'_>,
    gang_id: GangId,
    key: OrderKey,
    on: &BTreeSet<NodeId>,
) -> Vec<OntoKept> {
    let others = || {
        let all = cx.claims.reserved.iter();
        let all = all.filter(|(id, _)| **id != gang_id);
        all.filter(|(_, one)| !one.whole.is_disjoint(on))
    };
    // Whose binds came back, and who was promised its room before: until when it stays was looked at
    // then.
    let began = cx.agenda.note(gang_id).run.scheduled_at.is_some();
    if began || cx.claims.nominated.contains(&gang_id) || others().next().is_none() {
        return Vec::new();
    }
    let tier = tier_of(cx, gang_id);
    let own = cx.claims.reserved.get(&gang_id).map(|own| own.number);
    let found = others().map(|(id, other)| OntoKept {
        gang: cx.state[gang_id].key.clone(),
        kept_for: cx.state[*id].key.clone(),
        at: other.at,
        goes_before: own.is_some_and(|own| own < other.number)
            || tier > other.tier
            || key.queue == other.key.queue && key < other.key,
    });
    found.collect()
}
