//! What score plugins say of nodes, brought to one scale.

use crate::framework::{Context, Profile, Weighted};
use crate::state::{NodeId, NodeSet};

/// What one plugin says of some nodes, by rising id, as it is mixed with others.
pub(super) fn of_one(one: &Weighted, cx: &Context<'_>, nodes: &NodeSet, scores: &mut Vec<i64>) {
    scores.clear();
    if one.plugin.has_scale() {
        scores.extend(nodes.iter().map(|node| one.plugin.on_scale(cx, node)));
    } else {
        one.plugin.score(cx, nodes, scores);
        scores.resize(nodes.len(), 0);
        one.plugin.normalize(scores);
    }
}

/// What each plugin of a profile says of some nodes.
pub(super) fn of_all(
    profile: &Profile,
    cx: &Context<'_>,
    nodes: &NodeSet,
) -> Vec<(NodeId, Vec<(&'static str, i64)>)> {
    let mut all: Vec<(NodeId, Vec<(&'static str, i64)>)> =
        nodes.iter().map(|node| (node, Vec::new())).collect();
    let mut scores = Vec::new();
    for one in &profile.score {
        of_one(one, cx, nodes, &mut scores);
        for ((_, list), score) in all.iter_mut().zip(&scores) {
            list.push((one.plugin.name(), *score));
        }
    }
    all
}
