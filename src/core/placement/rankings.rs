//! The nodes in the order of how well they suit, for each shape.
//!
//! A mix of scores is kept as one score is, where each follows from the node alone. Where filters
//! depend on more than the shape and the node, but say at once which nodes suit, the best of those is
//! taken from what the others say. Else there is no ranking: the nodes are looked at each time.

use super::arena::Arena;
use super::per_shape::{PerShape, room_for};
use super::tournament::{Tournament, UNFIT};
use crate::framework::{Context, Profile, Scope, Weighted};
use crate::state::{Gone, Id, NodeId, NodeSet};
use muster_model::digest;

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
pub(super) fn suits(profile: &Profile, cx: &Context<'_>) -> bool {
    let shape = cx.shape;
    let mixed = profile.score.len() > 1;
    let kept = |one: &Weighted| {
        let kept = one.plugin.scope(shape) < Scope::Cluster && (!mixed || one.plugin.has_scale());
        kept || (mixed && one.plugin.is_even(cx))
    };
    !profile.score.is_empty()
        && profile.score.iter().all(kept)
        && profile.pre_score.is_empty()
        && profile.is_confined(shape)
}

impl Rankings {
    /// Forgets shapes that nobody has any more.
    pub(super) fn forget(&mut self, gone: &Gone<'_>) {
        self.by_shape.forget(gone);
        self.confined.forget(gone);
    }

    /// How many scores are kept.
    pub(super) fn len(&self) -> usize {
        self.by_shape.nodes() + self.confined.nodes()
    }

    /// The best node for a pod among those that its constraints allow; only of `among`, if given.
    pub(super) fn best(
        &mut self,
        profile: &Profile,
        cx: &Context<'_>,
        allowed: &NodeSet,
        among: Option<&NodeSet>,
    ) -> Option<NodeId> {
        let serial = cx.state.shapes().serial(cx.pod.shape)?;
        let mix = Mix::of(profile, cx);
        let basis = mix.basis(cx);
        let nodes = cx.state.nodes();
        let tournament = match self.by_shape.follow(serial, basis, nodes) {
            Some((tournament, touched)) => {
                for node in touched {
                    tournament.set(node, score(&mix, cx, allowed, node));
                }
                tournament
            }
            None => {
                let anew = Tournament::new(&rank(&mix, cx, allowed, &mut self.scores));
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
        let mix = Mix::of(profile, cx);
        let basis = mix.basis(cx);
        let nodes = cx.state.nodes();
        let arena = match self.confined.follow(serial, basis, nodes) {
            Some((arena, touched)) => {
                for node in touched {
                    arena.set(node, score(&mix, cx, allowed, node));
                }
                arena
            }
            None => {
                let anew = Arena::new(rank(&mix, cx, allowed, &mut self.scores));
                self.confined.keep(serial, basis, nodes, anew)
            }
        };
        arena.best_of(among)
    }
}

/// The scores of a profile, without those that say the same of all nodes.
struct Mix<'a> {
    profile: &'a Profile,
    /// One bit for each score plugin that does.
    even: u64,
}

impl<'a> Mix<'a> {
    fn of(profile: &'a Profile, cx: &Context<'_>) -> Self {
        let mut even = 0;
        if profile.score.len() > 1 {
            for (index, one) in profile.score.iter().enumerate().take(64) {
                even |= u64::from(one.plugin.is_even(cx)) << index;
            }
        }
        Self { profile, even }
    }

    /// Another number whenever all scores have to be found anew.
    fn basis(&self, cx: &Context<'_>) -> u64 {
        let of_filters = self.profile.basis(cx);
        let of_scores = match &self.profile.score[..] {
            [only] => only.plugin.basis(cx),
            several => {
                let bases = several.iter().map(|one| one.plugin.basis(cx));
                digest::of(&bases.chain([self.even]).collect::<Vec<u64>>())
            }
        };
        of_scores ^ of_filters
    }

    /// What one node scores.
    fn score(&self, cx: &Context<'_>, node: NodeId) -> i64 {
        let score = |one: &Weighted| one.plugin.on_scale(cx, node).saturating_mul(one.weight);
        let all = self.profile.score.iter().enumerate();
        let uneven = all.filter(|(index, _)| *index >= 64 || self.even >> index & 1 == 0);
        let scores = uneven.map(|(_, one)| score(one));
        scores.fold(0, i64::saturating_add)
    }
}

/// What all nodes score now.
fn rank(mix: &Mix<'_>, cx: &Context<'_>, allowed: &NodeSet, scores: &mut Vec<i64>) -> Vec<i64> {
    let nodes = cx.state.nodes();
    let mut fit = allowed.clone();
    fit.intersect(nodes.present());
    for filter in mix.profile.asked_of_the_node(cx.shape) {
        filter.retain(cx, &mut fit);
    }
    scores.clear();
    if let [only] = &mix.profile.score[..] {
        only.plugin.score(cx, &fit, scores);
    } else {
        scores.extend(fit.iter().map(|node| mix.score(cx, node)));
    }
    let mut all = vec![UNFIT; room_for(nodes)];
    for (node, score) in fit.iter().zip(scores.iter()) {
        all[node.index()] = (*score).max(UNFIT + 1);
    }
    all
}

/// What one node scores now.
fn score(mix: &Mix<'_>, cx: &Context<'_>, allowed: &NodeSet, node: NodeId) -> i64 {
    if !allowed.contains(node) || !cx.state.nodes().present().contains(node) {
        return UNFIT;
    }
    let mut filters = mix.profile.asked_of_the_node(cx.shape);
    if !filters.all(|one| one.suits(cx, node)) {
        return UNFIT;
    }
    let score = match &mix.profile.score[..] {
        [only] => only.plugin.score_one(cx, node),
        _ => mix.score(cx, node),
    };
    score.max(UNFIT + 1)
}
