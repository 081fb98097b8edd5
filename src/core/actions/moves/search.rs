//! The plan: who is moved where, so that the waiting gang has a place.

use super::who::Candidate;
use crate::actions::Cycle;
use crate::fairness;
use crate::framework::Profiles;
use crate::placement::{Asks, Beneficiary, Cleared, Clearing, Demand, Placer, Room};
use crate::state::{ClusterState, GangId, NodeId, PodId};
use crate::transaction::Statement;
use muster_model::resources::Tally;
use std::cmp::Reverse;

/// So many sets of gangs to be moved are tried in which the waiting gang has a place.
const TRIES: usize = 8;

/// A gang that is moved.
#[derive(Debug)]
pub(super) struct Moved {
    pub(super) gang: GangId,
    /// All its members.
    pub(super) pods: Vec<PodId>,
    /// Where those find room who are made in their stead.
    pub(super) to: Vec<(PodId, NodeId)>,
}

/// Who goes where.
#[derive(Debug)]
pub(super) struct Plan {
    /// The members of the waiting gang.
    pub(super) room: Room,
    pub(super) moved: Vec<Moved>,
}

/// Finds a plan that moves no more than so many pods: the smallest number of candidates, in their
/// order, without which the gang fits is tried first ([`Clearing`]), then larger ones.
pub(super) fn find(
    cx: &mut Cycle<'_>,
    gang_id: GangId,
    candidates: &[Candidate],
    max_pods: u32,
) -> Option<Plan> {
    let asks = Asks::Members(Demand::minimum(cx.state, gang_id));
    let profile = cx.profile_of(gang_id);
    let mut statement = Statement::new(cx.state);
    statement.lift_claims(gang_id);
    let who = Beneficiary {
        gang: gang_id,
        asks: &asks,
        profile,
        placer: &mut *cx.placer,
    };
    let mut rest = candidates.iter();
    let mut clearing = Clearing::new(statement, who, |_: &ClusterState| rest.next());
    let mut count = clearing.fewest()?;
    for _ in 0..TRIES {
        if let Some(Cleared { gone, room }) = clearing.spare(count, 0) {
            let leave: Vec<&Candidate> = gone.iter().map(|index| &candidates[*index]).collect();
            let pods: usize = leave.iter().map(|one| one.pods.len()).sum();
            if !leave.is_empty() && pods <= max_pods as usize {
                let (statement, placer) = clearing.go_on();
                if let Some(moved) = place_anew(statement, placer, cx.profiles, leave) {
                    return Some(Plan { room, moved });
                }
            }
        }
        if count == candidates.len() {
            return None;
        }
        let more = (candidates.len() - count).div_ceil(2);
        count += more.min(count.max(1));
    }
    None
}

/// Where all of some gangs find room elsewhere, if their queues would let them start again.
fn place_anew(
    statement: &mut Statement<'_>,
    placer: &mut Placer,
    profiles: Profiles<'_>,
    mut leave: Vec<&Candidate>,
) -> Option<Vec<Moved>> {
    for pod in leave.iter().flat_map(|one| &one.pods) {
        statement.displace(*pod);
    }
    // Who is hard to place chooses first.
    leave.sort_by_key(|one| (Reverse(one.pods.len()), one.gang));
    let mut moved = Vec::new();
    for one in leave {
        let state = statement.state();
        let mut amounts = Tally::default();
        for pod in &one.pods {
            amounts.add(&state.shape_of(*pod)?.request);
        }
        fairness::check(state, one.gang, &amounts).ok()?;
        let demand = Demand::everybody(state, one.gang, u32::try_from(one.pods.len()).ok()?);
        let profile = profiles.of(state, &state[one.gang]);
        let mark = statement.checkpoint();
        if !placer.can_place(statement, profile, one.gang, &demand) {
            return None;
        }
        let to = statement.assumed_since(mark);
        moved.push(Moved {
            gang: one.gang,
            pods: one.pods.clone(),
            to: to.map(|step| (step.pod, step.node)).collect(),
        });
    }
    Some(moved)
}
