//! Which resources a score looks at, and how much of each is requested.

use crate::framework::Context;
use crate::state::NodeId;
use muster_model::resources::Dimension;

/// A resource and how much it counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceWeight {
    /// Its name.
    pub name: String,
    /// From 1 to 100.
    pub weight: i64,
}

impl ResourceWeight {
    /// CPU and memory alike: kube-scheduler's default.
    #[must_use]
    pub fn cpu_and_memory() -> Vec<Self> {
        let one = |name: &str| Self {
            name: name.to_owned(),
            weight: 1,
        };
        vec![one("cpu"), one("memory")]
    }
}

/// What is requested of a resource on a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Use {
    /// With the pod.
    pub(super) with: i64,
    /// Without it.
    pub(super) without: i64,
    /// Of so much.
    pub(super) of: i64,
    pub(super) weight: i64,
}

/// Whether what containers do not ask for counts as a little (source: kube-scheduler's
/// `NonZeroRequested`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counting {
    Said,
    Unsaid,
}

/// What the pod requests of a resource.
fn requested(cx: &Context<'_>, dimension: Dimension, counting: Counting) -> i64 {
    let unsaid = match (counting, dimension) {
        (Counting::Unsaid, Dimension::CPU) => cx.shape.preferences.unsaid[0],
        (Counting::Unsaid, Dimension::MEMORY) => cx.shape.preferences.unsaid[1],
        _ => 0,
    };
    cx.shape.request.get(dimension).saturating_add(unsaid)
}

/// Whether the pod requests none of these.
pub(super) fn requests_none(cx: &Context<'_>, resources: &[ResourceWeight]) -> bool {
    let dimensions = resources.iter();
    let mut dimensions = dimensions.filter_map(|one| cx.state.dimensions().get(&one.name));
    dimensions.all(|one| requested(cx, one, Counting::Said) == 0)
}

/// What is requested on a node of those resources that it offers. One that is neither CPU, memory nor
/// ephemeral storage counts only for pods that ask for it.
pub(super) fn uses<'a>(
    cx: &'a Context<'_>,
    node: NodeId,
    resources: &'a [ResourceWeight],
    counting: Counting,
) -> impl Iterator<Item = Use> + 'a {
    resources.iter().filter_map(move |one| {
        let dimension = match one.name.as_str() {
            "cpu" => Dimension::CPU,
            "memory" => Dimension::MEMORY,
            other => cx.state.dimensions().get(other)?,
        };
        let own = requested(cx, dimension, counting);
        if own == 0 && !ALWAYS.contains(&dimension) {
            return None;
        }
        let nodes = cx.state.nodes();
        let of = nodes.allocatable(node, dimension);
        let unsaid = match (counting, dimension) {
            (Counting::Unsaid, Dimension::CPU) => nodes.appeal().unsaid(node)[0],
            (Counting::Unsaid, Dimension::MEMORY) => nodes.appeal().unsaid(node)[1],
            _ => 0,
        };
        let without = nodes.used(node, dimension).saturating_add(unsaid);
        (of > 0).then(|| Use {
            with: without.saturating_add(own),
            without,
            of,
            weight: one.weight,
        })
    })
}

/// What counts whether or not the pod asks for it.
const ALWAYS: [Dimension; 3] = [
    Dimension::CPU,
    Dimension::MEMORY,
    Dimension::EPHEMERAL_STORAGE,
];
