//! The nodes in the order of how well they suit, kept for each shape between placements.
//!
//! A ranking follows the log of touched nodes: a placement changes one node, so every ranking has
//! one score to look at anew when it is asked the next time. It holds as long as nothing counts but
//! the shape, the node and what is on it; a profile with more than that looks at all nodes each
//! time.

use super::tournament::{Tournament, UNFIT};
use crate::core::framework::{Context, Profile, Scope, Weighted};
use crate::core::state::{Id, NodeId, NodeSet};
use std::collections::BTreeMap;

/// How many scores all rankings may have together: 64 MiB of them and what stands above.
const MAX_SCORES: usize = 4 << 20;
/// Looking at a node by itself costs about as much as at so many of all in a row.
const ALONE: usize = 8;

/// The ranking of one shape.
#[derive(Debug)]
struct Ranking {
    tournament: Tournament,
    /// How far it has read in the log of touched nodes.
    cursor: u64,
    /// What else its scores depend on.
    basis: u64,
    /// When it was last asked.
    asked: u64,
}

/// Rankings by the serial number of their shape.
#[derive(Debug, Default)]
pub(super) struct Rankings {
    by_shape: BTreeMap<u64, Ranking>,
    clock: u64,
    scores: Vec<i64>,
}

/// Whether a node's place in a ranking depends on the pod's shape and the node alone.
pub(super) fn suits(profile: &Profile) -> bool {
    let [only] = &profile.score[..] else {
        return false;
    };
    let filters = profile.filter.iter().map(|one| one.scope());
    profile.pre_score.is_empty()
        && only.plugin.scope() != Scope::Cluster
        && filters.into_iter().all(|scope| scope != Scope::Cluster)
}

impl Rankings {
    /// The best node for a pod among those that its constraints allow; only of `among`, if given.
    pub(super) fn best(
        &mut self,
        profile: &Profile,
        cx: &Context<'_>,
        allowed: &NodeSet,
        among: Option<&NodeSet>,
    ) -> Option<NodeId> {
        let serial = cx.state.shapes().serial(cx.pod.shape)?;
        let basis = profile.score.first()?.plugin.basis(cx);
        let nodes = cx.state.nodes();
        self.clock += 1;
        let known = self.by_shape.get_mut(&serial);
        let known = known.filter(|one| one.basis == basis && one.tournament.room() >= nodes.len());
        let news = known
            .as_ref()
            .and_then(|one| nodes.touched().since(one.cursor))
            .filter(|news| news.len() * ALONE <= nodes.len().max(ALONE));
        let (Some(ranking), Some(news)) = (known, news) else {
            return self.rank(profile, cx, allowed, serial, basis).find(among);
        };
        for node in news {
            ranking
                .tournament
                .set(*node, score(profile, cx, allowed, *node));
        }
        (ranking.cursor, ranking.asked) = (nodes.touched().end(), self.clock);
        ranking.find(among)
    }

    /// Ranks all nodes.
    fn rank(
        &mut self,
        profile: &Profile,
        cx: &Context<'_>,
        allowed: &NodeSet,
        serial: u64,
        basis: u64,
    ) -> &Ranking {
        let nodes = cx.state.nodes();
        let mut fit = allowed.clone();
        fit.intersect(nodes.present());
        for filter in &profile.filter {
            if filter.scope() != Scope::NodeFacts {
                filter.retain(cx, &mut fit);
            }
        }
        self.scores.clear();
        for one in &profile.score {
            one.plugin.score(cx, &fit, &mut self.scores);
        }
        let mut all = vec![UNFIT; nodes.len()];
        for (node, score) in fit.iter().zip(&self.scores) {
            all[node.index()] = (*score).max(UNFIT + 1);
        }
        self.make_room(all.len());
        let ranking = Ranking {
            tournament: Tournament::new(&all),
            cursor: nodes.touched().end(),
            basis,
            asked: self.clock,
        };
        self.by_shape.remove(&serial);
        self.by_shape.entry(serial).or_insert(ranking)
    }

    /// Forgets who was not asked for longest, until there is room for one more.
    fn make_room(&mut self, scores: usize) {
        let most = (MAX_SCORES / scores.max(1)).max(1);
        while self.by_shape.len() >= most {
            let oldest = self.by_shape.iter().min_by_key(|(_, one)| one.asked);
            let Some(serial) = oldest.map(|(serial, _)| *serial) else {
                return;
            };
            self.by_shape.remove(&serial);
        }
    }
}

impl Ranking {
    fn find(&self, among: Option<&NodeSet>) -> Option<NodeId> {
        match among {
            Some(some) => self.tournament.best_of(some),
            None => self.tournament.best(),
        }
    }
}

/// What one node scores now.
fn score(profile: &Profile, cx: &Context<'_>, allowed: &NodeSet, node: NodeId) -> i64 {
    if !allowed.contains(node) || !cx.state.nodes().present().contains(node) {
        return UNFIT;
    }
    for filter in &profile.filter {
        if filter.scope() != Scope::NodeFacts && !filter.suits(cx, node) {
            return UNFIT;
        }
    }
    let score = |one: &Weighted| one.plugin.score_one(cx, node);
    profile.score.first().map_or(0, score).max(UNFIT + 1)
}
