//! Which queue is next: progressive filling over the tree of queues (source: mission).
//!
//! At each level the child goes first that is of the highest tier, and among those the one whose
//! flow over its weight would be smallest with its head job; ties go by name. A queue's standing
//! changes when its head changes or when it gets something, so a choice costs a walk down the tree
//! and a change a walk up.

use crate::state::{ClusterState, QueueId};
use muster_model::resources::Tally;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How a queue stands among its siblings; the smallest is next.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    tier: Reverse<i32>,
    /// Its flow with its head job, over its weight.
    flow: u128,
    name: Arc<str>,
}

/// The queues that have somebody to be tried.
#[derive(Debug, Default)]
pub struct Contest {
    /// Those below a queue, or below the cluster, in order.
    below: BTreeMap<Option<QueueId>, BTreeSet<(Rank, QueueId)>>,
    ranks: BTreeMap<QueueId, (Option<QueueId>, Rank)>,
    /// What the head of each leaf asks for.
    heads: BTreeMap<QueueId, Tally>,
}

impl Contest {
    /// The queue whose head is next.
    #[must_use]
    pub fn first(&self) -> Option<QueueId> {
        self.best_below(None)
    }

    fn best_below(&self, parent: Option<QueueId>) -> Option<QueueId> {
        let mut at = parent;
        while let Some((_, id)) = self.below.get(&at).and_then(BTreeSet::first) {
            at = Some(*id);
        }
        at.filter(|_| at != parent)
    }

    /// A queue has another head, which asks for this, or none; or what it holds has changed.
    pub fn update(&mut self, state: &ClusterState, leaf: QueueId, head: Option<Tally>) {
        match head {
            Some(amounts) => _ = self.heads.insert(leaf, amounts),
            None => _ = self.heads.remove(&leaf),
        }
        let path: Vec<QueueId> = state.queues().path(leaf).map(|(id, _)| id).collect();
        for id in path {
            self.remove(id);
            let contender = if id == leaf {
                Some(leaf)
            } else {
                self.best_below(Some(id))
            };
            let head = contender.and_then(|leaf| self.heads.get(&leaf));
            if let Some(amounts) = head {
                let (parent, rank) = rank(state, id, amounts);
                let siblings = self.below.entry(parent).or_default();
                siblings.insert((rank.clone(), id));
                self.ranks.insert(id, (parent, rank));
            }
        }
    }

    fn remove(&mut self, id: QueueId) {
        if let Some((parent, rank)) = self.ranks.remove(&id)
            && let Some(siblings) = self.below.get_mut(&parent)
        {
            siblings.remove(&(rank, id));
            if siblings.is_empty() {
                self.below.remove(&parent);
            }
        }
    }
}

fn rank(state: &ClusterState, id: QueueId, head: &Tally) -> (Option<QueueId>, Rank) {
    let queues = state.queues();
    let Some((_, queue)) = queues.path(id).next() else {
        return (
            None,
            Rank {
                tier: Reverse(0),
                flow: 0,
                name: Arc::default(),
            },
        );
    };
    let (tier, weight) = queue
        .spec
        .as_ref()
        .map_or((0, 1), |spec| (spec.tier, spec.weight));
    let mut held = queue.account.held.all.clone();
    let flow = queue.account.flow.value(state.now(), queues.half_life());
    held.add_all(head);
    let with = state.weights().of(&held).max(flow);
    let rank = Rank {
        tier: Reverse(tier),
        // Scaled, so that what is lost in the division decides nothing.
        flow: (u128::from(with) << 32) / u128::from(weight.max(1)),
        name: Arc::clone(&queue.name),
    };
    (queue.parent, rank)
}
