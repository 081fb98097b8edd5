//! What a running gang holds, and to whom it could lose what.

use super::{Eyes, NAMES};
use crate::actions::{Asker, Claim, Sight, Verdict, ends_at, surplus};
use crate::state::{GangId, NodeId, QueueId};
use muster_model::Lifetime;
use muster_model::explanation::{
    Could, NodeCount, Packed, Protection, ProtectionKind, Runs, Spared, Taker, Thousandths,
};
use std::collections::BTreeMap;

/// Explains what a gang holds.
pub(super) fn explain(eyes: &mut Eyes<'_>, id: GangId) -> Runs {
    let sight = eyes.sight;
    let state = sight.state;
    let gang = &state[id];
    let mut nodes: BTreeMap<NodeId, u32> = BTreeMap::new();
    for pod in gang.members.iter().filter_map(|pod| state.pod(*pod)) {
        if let Some(node) = pod.place.node().filter(|_| pod.uses_room()) {
            *nodes.entry(node).or_default() += 1;
        }
    }
    let node_count = nodes.len();
    let own = nodes
        .iter()
        .filter(|(node, pods)| state.nodes().in_use_by(**node) == **pods);
    let own: Vec<NodeId> = own.map(|(node, _)| *node).collect();
    let left = own.iter().map(|node| state.worth_left_on(*node));
    let lost = left.fold(0, u64::saturating_add);
    let mut nodes: Vec<(NodeId, u32)> = nodes.into_iter().collect();
    nodes.sort_unstable_by_key(|(node, pods)| (std::cmp::Reverse(*pods), *node));
    nodes.truncate(2 * NAMES);
    let told = |(node, pods)| NodeCount {
        name: state.nodes().name(node).to_owned(),
        count: pods as usize,
    };
    let packed = sight.agenda.note(id).run.packed;
    Runs {
        since: sight.agenda.note(id).run.scheduled_at,
        nodes: nodes.into_iter().map(told).collect(),
        node_count,
        near: state.near(gang),
        own_nodes: own.len(),
        lost_opportunity: Some(Thousandths::of_worth(lost)),
        packed: packed.map(|one| Packed {
            lost: Thousandths::of_worth(one.lost),
            at_least: Thousandths::of_worth(one.at_least),
        }),
        surplus: beyond(sight, id),
        worth: Thousandths::of_worth(state.weights().of(&gang.in_use)),
        protection: protection(sight, id),
        queue_over: gang.queue.map_or(Thousandths(0), |queue| {
            let anybody = Asker::anybody(queue, gang.priority);
            Thousandths::of_worth(eyes.judge_for(anybody).excess(queue))
        }),
        could_lose: could_lose(eyes, id),
    }
}

/// How long a gang is protected from those who take for the sake of fairness.
pub(super) fn protection(sight: Sight<'_>, id: GangId) -> Protection {
    let gang = &sight.state[id];
    let (kind, at) = match ends_at(sight.agenda, id, gang) {
        _ if gang.lifetime == Lifetime::Unlimited => (ProtectionKind::Unlimited, None),
        None => (ProtectionKind::Unknown, None),
        Some(at) if at <= sight.now => (ProtectionKind::Over, Some(at)),
        Some(at) => (ProtectionKind::Until, Some(at)),
    };
    Protection { kind, at }
}

/// How many members it can lose one by one.
pub(super) fn beyond(sight: Sight<'_>, id: GangId) -> u32 {
    let found = surplus(sight.state, sight.agenda.note(id), &sight.state[id]);
    u32::try_from(found.len()).unwrap_or(u32::MAX)
}

/// Asks the rules that choose victims, on behalf of everybody who could want its room.
fn could_lose(eyes: &mut Eyes<'_>, id: GangId) -> Vec<Could> {
    let sight = eyes.sight;
    let gang = &sight.state[id];
    let Some(own) = gang.queue else {
        return Vec::new();
    };
    let surplus = beyond(sight, id);
    let mut ask = |to, asker: Asker| could(to, eyes.judge_for(asker).judge(id, gang), surplus);
    let mut all = Vec::new();
    all.extend(ask(Taker::EqualInQueue, Asker::anybody(own, gang.priority)));
    if let Some(higher) = gang.priority.checked_add(1) {
        all.extend(ask(Taker::HigherInQueue, Asker::anybody(own, higher)));
    }
    if let Some(other) = another_queue(sight, own) {
        all.extend(ask(Taker::NeedyQueue, Asker::anybody(other, gang.priority)));
    }
    // What is past its lifetime goes for whoever's time has come, whatever the queues hold.
    let head = Asker::anybody(own, gang.priority).whose_place_is_due();
    if eyes.judge_for(head).judge(id, gang).whole == Ok(Claim::Due) {
        all.push(Could::all(Taker::Head));
    }
    all
}

fn could(to: Taker, verdict: Verdict, surplus: u32) -> Option<Could> {
    match (verdict.whole, verdict.surplus) {
        (Err(Spared::HoldsNothing), _) => None,
        (Ok(_), _) => Some(Could::all(to)),
        (Err(why), Ok(_)) => Some(Could::some(to, surplus, why)),
        (Err(why), Err(_)) => Some(Could::some(to, 0, why)),
    }
}

/// The queue that is nearest to this one: what it may not have of it none farther away may, as for
/// those the queues above this one count, too.
pub(super) fn another_queue(sight: Sight<'_>, own: QueueId) -> Option<QueueId> {
    let queues = sight.state.queues();
    let mut beside = queues.path(own).map(|(id, queue)| {
        let mut beside = queues.children(queue.parent).iter();
        beside.find(|one| **one != id).copied()
    });
    beside.find_map(|found| found)
}
