//! `VolumeBinding` as a score: how much of the storage that a pod's claims would get is asked for.

use super::{MAX_UTILIZATION, fit::part};
use crate::framework::{Context, MAX_SCORE, Plugin, Scope, Score};
use crate::state::{ClusterState, NodeId, NodeSet, Shape, VolumeSource};
use muster_model::{VOLUME_BINDING, VolumeNeeds, VolumeWant};
use std::collections::BTreeMap;

/// Scores a node by the storage that claims without a volume would get there: the less of a volume, or of
/// what a CSIStorageCapacity offers, they ask for the better (source: kube-scheduler's plugin of this name,
/// gate `StorageCapacityScoring`, and its default `shape`).
#[derive(Debug)]
pub(in crate::plugins) struct StorageCapacity;

impl Plugin for StorageCapacity {
    fn name(&self) -> &'static str {
        VOLUME_BINDING
    }
}

/// What is asked for of a class, and what there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Asked {
    requested: i64,
    capacity: i64,
}

impl Score for StorageCapacity {
    fn score(&self, cx: &Context<'_>, nodes: &NodeSet, scores: &mut Vec<i64>) {
        scores.extend(nodes.iter().map(|node| self.on_scale(cx, node)));
    }

    fn scope(&self, shape: &Shape) -> Scope {
        match wants(shape) {
            Some(_) => Scope::Cluster,
            None => Scope::Unconcerned,
        }
    }

    fn is_even(&self, cx: &Context<'_>) -> bool {
        let volumes = cx.state.volumes();
        let measured = |want: &VolumeWant| {
            want.tracks_capacity || !want.own.is_empty() || volumes.has_free(&want.class)
        };
        !wants(cx.shape).is_some_and(|needs| needs.wants.iter().any(measured))
    }

    fn score_one(&self, cx: &Context<'_>, node: NodeId) -> i64 {
        self.on_scale(cx, node)
    }

    fn has_scale(&self) -> bool {
        true
    }

    fn on_scale(&self, cx: &Context<'_>, node: NodeId) -> i64 {
        let Some(needs) = wants(cx.shape) else {
            return 0;
        };
        let sources = cx.state.volume_sources(needs, cx.pod.gang, node);
        sources.map_or(0, |sources| mean(&by_class(cx.state, needs, &sources)))
    }
}

/// What pods of a shape ask of volumes, if they have claims that are not bound.
fn wants(shape: &Shape) -> Option<&VolumeNeeds> {
    let needs = shape.volumes.as_deref();
    needs.filter(|needs| !needs.wants.is_empty())
}

/// By class: of volumes that are there, if any is taken, and else of room for new ones.
fn by_class<'a>(
    state: &ClusterState,
    needs: &'a VolumeNeeds,
    sources: &[VolumeSource],
) -> BTreeMap<&'a str, Asked> {
    let mut taken: BTreeMap<&str, Asked> = BTreeMap::new();
    let mut made: BTreeMap<&str, Asked> = BTreeMap::new();
    for (want, source) in needs.wants.iter().zip(sources) {
        let size = want.size.unwrap_or(0);
        match source {
            VolumeSource::Volume(name) => {
                let asked = taken.entry(&want.class).or_default();
                let volume = state.volumes().volume(name);
                asked.requested = asked.requested.saturating_add(size);
                let more = volume.map_or(0, |volume| volume.size);
                asked.capacity = asked.capacity.saturating_add(more);
            }
            VolumeSource::Made(Some(room)) => {
                let asked = made.entry(&want.class).or_default();
                asked.requested = asked.requested.saturating_add(size);
                // The same room for several.
                asked.capacity = state.volumes().capacity(room).unwrap_or(0);
            }
            VolumeSource::Made(None) | VolumeSource::Known => {}
        }
    }
    if taken.is_empty() { made } else { taken }
}

/// The mean over the classes, half rounded up.
fn mean(classes: &BTreeMap<&str, Asked>) -> i64 {
    let all = i64::try_from(classes.len()).unwrap_or(i64::MAX);
    let score = |one: &Asked| match one.capacity {
        capacity if capacity == 0 || one.requested > capacity => 0,
        capacity => MAX_SCORE - part(one.requested, capacity) * MAX_SCORE / MAX_UTILIZATION,
    };
    let sum: i64 = classes.values().map(score).sum();
    (2 * sum + all).checked_div(2 * all).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_less_is_asked_of_what_there_is_the_better() {
        let classes = |list: &[(i64, i64)]| {
            let names = ["a", "b", "c"];
            let asked = list.iter().map(|(requested, capacity)| Asked {
                requested: *requested,
                capacity: *capacity,
            });
            mean(&names.into_iter().zip(asked).collect())
        };
        assert_eq!(classes(&[]), 0);
        assert_eq!(classes(&[(0, 10)]), 100);
        assert_eq!(classes(&[(1, 3)]), 67, "a third, cut to whole percents");
        assert_eq!(classes(&[(10, 10), (1, 2)]), 25);
        assert_eq!(classes(&[(11, 10)]), 0);
        assert_eq!(classes(&[(1, 0)]), 0);
        assert_eq!(classes(&[(0, 1), (1, 1), (1, 1)]), 33);
    }
}
