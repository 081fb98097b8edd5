//! Kueue's groups of plain pods: each pod says how many there are in all.
//!
//! The queue that such a pod names is a LocalQueue of Kueue's, and its quota is Kueue's business: it is not read.

use super::{Convention, Defined, count};
use crate::names;
use crate::slim::Pod;
use muster_model::{GangSpace, Implied};
use std::borrow::Cow;

pub(super) const CONVENTION: Convention = Convention {
    mark: "label `kueue.x-k8s.io/pod-group-name`, of as many as annotation `kueue.x-k8s.io/pod-group-total-count` says",
    space: GangSpace::Pods,
    defined: Defined::ByPods(implied),
    name: |pod| names::label(&pod.metadata, "kueue.x-k8s.io/pod-group-name").map(Cow::from),
};

fn implied(pod: &Pod) -> Implied {
    let path = format!("metadata.annotations[{}]", names::TOTAL_COUNT);
    let total = count(&path, names::annotation(&pod.metadata, names::TOTAL_COUNT));
    let one_by_one = names::annotation(&pod.metadata, names::FAST_ADMISSION) == Some("true");
    let wanted = |total: u32| if one_by_one { total.min(1) } else { total };
    Implied {
        min_available: total.as_ref().copied().map_or(0, wanted),
        invalid: total.err(),
        ..Implied::default()
    }
}
