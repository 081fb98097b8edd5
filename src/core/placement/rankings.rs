//! The nodes in the order of how well they suit, for each shape.
//!
//! A mix of scores is kept as one score is, where each follows from the node alone. Where filters
//! depend on more than the shape and the node, but say at once which nodes suit, the best of those is
//! taken from what the others say. Else there is no ranking: the nodes are looked at each time.

use super::arena::Arena;
use super::per_shape::{PerShape, room_for};
use super::tournament::{Tournament, UNFIT};
use crate::core::framework::{Context, Profile, Scope, Weighted};
use crate::core::model::digest;
use crate::core::state::{Id, NodeId, NodeSet, Shape};

/// A tournament for each shape.
#[derive(Debug, Default)]
pub(super) struct Rankings {
    by_shape: PerShape<Tournament>,
    /// For shapes that other nodes count for.
    confined: PerShape<Arena>,
    scores: Vec<i64>,
}

/// Whether a node's place in a ranking depends on the pod's shape and the node alone; filters that say
/// at once which nodes suit are asked apart.
pub(super) fn suits(profile: &Profile, shape: &Shape) -> bool {
    let mixed = profile.score.len() > 1;
    let kept = |one: &Weighted| {
        one.plugin.scope(shape) < Scope::Cluster && (!mixed || one.plugin.has_scale())
    };
    !profile.score.is_empty()
        && profile.score.iter().all(kept)
        && profile.pre_score.is_empty()
        && profile.is_confined(shape)
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
        let basis = basis(profile, cx);
        let nodes = cx.state.nodes();
        let tournament = match self.by_shape.follow(serial, basis, nodes) {
            Some((tournament, touched)) => {
                for node in touched {
                    tournament.set(*node, score(profile, cx, allowed, *node));
                }
                tournament
            }
            None => {
                let anew = Tournament::new(&rank(profile, cx, allowed, &mut self.scores));
                self.by_shape.keep(serial, basis, nodes, anew)
            }
        };
        match among {
            Some(some) => tournament.best_of(some),
            None => tournament.best(),
        }
    }

    /// The best node for a pod of a shape that other nodes count for: of `among`, which has only nodes
    /// that suit as far as those say.
    pub(super) fn best_confined(
        &mut self,
        profile: &Profile,
        cx: &Context<'_>,
        allowed: &NodeSet,
        among: &NodeSet,
    ) -> Option<NodeId> {
        let serial = cx.state.shapes().serial(cx.pod.shape)?;
        let basis = basis(profile, cx);
        let nodes = cx.state.nodes();
        let arena = match self.confined.follow(serial, basis, nodes) {
            Some((arena, touched)) => {
                for node in touched {
                    arena.set(*node, score(profile, cx, allowed, *node));
                }
                arena
            }
            None => {
                let anew = Arena::new(rank(profile, cx, allowed, &mut self.scores));
                self.confined.keep(serial, basis, nodes, anew)
            }
        };
        arena.best_of(among)
    }
}

/// What all nodes score now.
fn rank(profile: &Profile, cx: &Context<'_>, allowed: &NodeSet, scores: &mut Vec<i64>) -> Vec<i64> {
    let nodes = cx.state.nodes();
    let mut fit = allowed.clone();
    fit.intersect(nodes.present());
    for filter in profile.asked_of_the_node(cx.shape) {
        filter.retain(cx, &mut fit);
    }
    scores.clear();
    if let [only] = &profile.score[..] {
        only.plugin.score(cx, &fit, scores);
    } else {
        scores.extend(fit.iter().map(|node| mix(profile, cx, node)));
    }
    let mut all = vec![UNFIT; room_for(nodes)];
    for (node, score) in fit.iter().zip(scores.iter()) {
        all[node.index()] = (*score).max(UNFIT + 1);
    }
    all
}

/// What one node scores now.
fn score(profile: &Profile, cx: &Context<'_>, allowed: &NodeSet, node: NodeId) -> i64 {
    if !allowed.contains(node) || !cx.state.nodes().present().contains(node) {
        return UNFIT;
    }
    let mut filters = profile.asked_of_the_node(cx.shape);
    if !filters.all(|one| one.suits(cx, node)) {
        return UNFIT;
    }
    let score = match &profile.score[..] {
        [only] => only.plugin.score_one(cx, node),
        _ => mix(profile, cx, node),
    };
    score.max(UNFIT + 1)
}

/// The scores of several plugins together.
fn mix(profile: &Profile, cx: &Context<'_>, node: NodeId) -> i64 {
    let score = |one: &Weighted| one.plugin.on_scale(cx, node).saturating_mul(one.weight);
    profile.score.iter().map(score).fold(0, i64::saturating_add)
}

/// Another number whenever all scores have to be found anew.
fn basis(profile: &Profile, cx: &Context<'_>) -> u64 {
    let of_filters = profile.basis(cx);
    let of_scores = match &profile.score[..] {
        [only] => only.plugin.basis(cx),
        several => {
            let bases = several.iter().map(|one| one.plugin.basis(cx));
            digest::of(&bases.collect::<Vec<u64>>())
        }
    };
    of_scores ^ of_filters
}
