//! `ImageLocality`: the node that has the pod's images already.

use crate::framework::{Context, MAX_SCORE, Plugin, Scope, Score};
use crate::state::{Image, NodeId, NodeSet, Shape};
use muster_model::units::Double;
use muster_model::{Reads, digest};

/// Scores a node by the size of the pod's images that it has, each by the part of all nodes that have it,
/// so that an image on a single node does not draw all pods there (source: kube-scheduler's plugin of
/// this name).
#[derive(Debug)]
pub(in crate::plugins) struct ImageLocality;

impl Plugin for ImageLocality {
    fn name(&self) -> &'static str {
        "ImageLocality"
    }
}

/// Less than this is no gain.
const LEAST: i64 = 23 << 20;
/// More than this, for each image, is no further gain.
const MOST_EACH: i64 = 1000 << 20;

impl Score for ImageLocality {
    fn score(&self, cx: &Context<'_>, nodes: &NodeSet, scores: &mut Vec<i64>) {
        scores.extend(nodes.iter().map(|node| self.on_scale(cx, node)));
    }

    fn scope(&self, _: &Shape) -> Scope {
        Scope::NodeUsage
    }

    fn basis(&self, cx: &Context<'_>) -> u64 {
        let known = |image: &Image| (image.size, image.count);
        let images: Vec<_> = images(cx).map(|one| one.map(known)).collect();
        digest::of(&(images, cx.state.nodes().present().len()))
    }

    fn is_even(&self, cx: &Context<'_>) -> bool {
        images(cx).all(|one| one.is_none())
    }

    fn reads(&self) -> Reads {
        Reads {
            images: true,
            ..Reads::default()
        }
    }

    fn score_one(&self, cx: &Context<'_>, node: NodeId) -> i64 {
        self.on_scale(cx, node)
    }

    fn has_scale(&self) -> bool {
        true
    }

    fn on_scale(&self, cx: &Context<'_>, node: NodeId) -> i64 {
        let all = cx.state.nodes().present().len();
        let there = images(cx).flatten().filter(|image| image.is_on(node));
        let sum = there.map(|image| worth(image.size, image.count, all));
        priority(
            sum.fold(0, i64::saturating_add),
            cx.shape.preferences.images.len(),
        )
    }
}

/// The pod's images, as far as any node has them.
fn images<'a>(cx: &Context<'a>) -> impl Iterator<Item = Option<&'a Image>> + use<'a> {
    let appeal = cx.state.nodes().appeal();
    let names = cx.shape.preferences.images.iter();
    names.map(|name| appeal.image(name))
}

/// What an image of a size is worth that so many of all nodes have.
fn worth(size: i64, count: usize, all: usize) -> i64 {
    let part = Double::from_int(count as u64).divide(Double::from_int(all as u64));
    let size = Double::from_int(u64::try_from(size).unwrap_or(0));
    size.times(part).whole()
}

/// The score of so much for so many images.
fn priority(sum: i64, images: usize) -> i64 {
    let images = i64::try_from(images).unwrap_or(i64::MAX);
    let most = MOST_EACH.saturating_mul(images);
    if most <= LEAST {
        return 0;
    }
    let score = i128::from(sum.clamp(LEAST, most) - LEAST) * i128::from(MAX_SCORE);
    i64::try_from(score / i128::from(most - LEAST)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MB: i64 = 1 << 20;

    #[test]
    fn images_score_by_their_size_and_by_how_many_nodes_have_them() {
        // Upstream's table: 40 MB and 250 MB images, each on one of two nodes.
        assert_eq!(
            priority(worth(40 * MB, 1, 2), 2),
            0,
            "20 MB: below the least"
        );
        assert_eq!(
            priority(worth(250 * MB, 1, 2), 1),
            100 * (125 - 23) / (1000 - 23)
        );
        assert_eq!(
            priority(worth(4000 * MB, 1, 2), 1),
            100,
            "2000 MB: more than the most"
        );
        assert_eq!(priority(worth(10 * MB, 2, 2), 2), 0);
        assert_eq!(priority(0, 0), 0);
    }

    proptest! {
        #[test]
        #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "so it is upstream")]
        fn what_an_image_is_worth_is_what_floating_point_gives(
            size in 0_i64..1 << 45, all in 1_usize..6000, some in any::<prop::sample::Index>(),
        ) {
            let count = some.index(all) + 1;
            let upstream = (size as f64 * (count as f64 / all as f64)) as i64;
            prop_assert_eq!(worth(size, count, all), upstream);
            prop_assert!((0..=MAX_SCORE).contains(&priority(worth(size, count, all), 3)));
        }
    }
}
