//! What a running gang holds, and to whom it could lose what.

use super::{Eyes, NAMES};
use crate::actions::{Asker, Claim, Sight, Spared, Verdict, ends_at, surplus};
use crate::state::{GangId, Near, NodeId, QueueId};
use muster_model::Lifetime;
use muster_model::LostSums;
use muster_model::units::Time;
use std::collections::BTreeMap;

/// What a gang holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runs {
    /// Since when its minimum has its place; `None`: since before this process.
    pub since: Option<Time>,
    /// Some of its nodes, and how many of its members each has: most first.
    pub nodes: Vec<(String, u32)>,
    /// On how many nodes it is.
    pub node_count: usize,
    /// How near to each other its members are.
    pub near: Vec<Near>,
    /// On so many of its nodes is nobody else, but those that are on every node.
    pub own_nodes: usize,
    /// What is free on those, in worth.
    pub lost: u64,
    /// What its minimum lost when it was placed, and had to lose at least, in worth; `None` where that is
    /// not known, as before this process.
    pub packed: Option<LostSums>,
    /// Members beyond its minimum.
    pub surplus: u32,
    /// What it holds, in worth.
    pub worth: u64,
    /// How long it is protected from those who take for the sake of fairness.
    pub protection: Protection,
    /// By how much its queue is over its share, in worth.
    pub queue_over: u64,
    /// To whom it could lose what, now.
    pub could_lose: Vec<Could>,
}

/// How long a gang is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// For ever.
    Unlimited,
    /// Until this time.
    Until(Time),
    /// Not any more since this time.
    Over(Time),
    /// Its lifetime counts from a start that this process did not see: it is protected.
    Unknown,
}

/// What a gang could lose to somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Could {
    /// To whom.
    pub to: Taker,
    /// What.
    pub loses: Loses,
}

/// Who may take something of a gang.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Taker {
    /// A gang of the same queue that is as important.
    EqualInQueue,
    /// A gang of the same queue that is more important.
    HigherInQueue,
    /// A gang of another queue that is at or below its fair share with it.
    NeedyQueue,
    /// The first gang of any queue, whose place is reserved, when the time of that has come.
    Head,
}

/// What it could lose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loses {
    /// Everything.
    All,
    /// So many members beyond its minimum, and not more for this reason.
    Surplus(u32, Spared),
    /// Nothing, for this reason.
    Nothing(Spared),
}

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
    let name = |(node, pods)| (state.nodes().name(node).to_owned(), pods);
    Runs {
        since: sight.agenda.progress(id).scheduled_at,
        nodes: nodes.into_iter().map(name).collect(),
        node_count,
        near: state.near(gang),
        own_nodes: own.len(),
        lost,
        packed: sight.agenda.progress(id).packed,
        surplus: gang.secured().saturating_sub(gang.min_available()),
        worth: state.weights().of(&gang.in_use),
        protection: protection(sight, id),
        queue_over: gang.queue.map_or(0, |queue| {
            let anybody = Asker::anybody(queue, gang.priority);
            eyes.judge_for(anybody).excess(queue)
        }),
        could_lose: could_lose(eyes, id),
    }
}

/// How long a gang is protected from those who take for the sake of fairness.
pub(super) fn protection(sight: Sight<'_>, id: GangId) -> Protection {
    let gang = &sight.state[id];
    match ends_at(sight.agenda, id, gang) {
        _ if gang.lifetime == Lifetime::Unlimited => Protection::Unlimited,
        None => Protection::Unknown,
        Some(at) if at <= sight.now => Protection::Over(at),
        Some(at) => Protection::Until(at),
    }
}

/// Asks the rules that choose victims, on behalf of everybody who could want its room.
fn could_lose(eyes: &mut Eyes<'_>, id: GangId) -> Vec<Could> {
    let sight = eyes.sight;
    let gang = &sight.state[id];
    let Some(own) = gang.queue else {
        return Vec::new();
    };
    let surplus = u32::try_from(surplus(sight.state, gang).len()).unwrap_or(u32::MAX);
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
        all.push(Could {
            to: Taker::Head,
            loses: Loses::All,
        });
    }
    all
}

fn could(to: Taker, verdict: Verdict, surplus: u32) -> Option<Could> {
    let loses = match (verdict.whole, verdict.surplus) {
        (Err(Spared::HoldsNothing), _) => return None,
        (Ok(_), _) => Loses::All,
        (Err(why), Ok(_)) if surplus > 0 => Loses::Surplus(surplus, why),
        (Err(why), _) => Loses::Nothing(why),
    };
    Some(Could { to, loses })
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
