//! By which profile a pod is scheduled, and what that looks at beyond what says where a pod fits.

use super::{SpreadRule, Term};

/// The number of a profile: 0 for the one that is there in any case, the others in the order in which
/// they were configured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ProfileId(pub u8);

/// What scores look at and filters do not. All of it is empty unless a profile scores by it: pods that
/// differ in nothing else are of one shape then.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct Preferences {
    /// `preferredDuringScheduling` node affinity.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub nodes: Vec<Preferred>,
    /// The images of its containers, init containers and image volumes, as often as they are named
    /// there, each with a tag. Sorted.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub images: Vec<String>,
    /// By how much more it asks for where each container that says nothing of it counts as asking for
    /// something: of CPU in thousandths, of memory in bytes. Only scores count so.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub unsaid: [i64; 2],
    /// By which rules it is spread as far as that goes (`whenUnsatisfiable: ScheduleAnyway`).
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub spread: Vec<SpreadRule>,
}

/// A term that a node had better satisfy.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Preferred {
    /// How much that counts: 1 to 100.
    pub weight: i32,
    /// The term.
    pub term: Term,
}

/// What the scores of a profile look at of pods and nodes, and its filters beyond what all do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Reads {
    /// Preferred node affinity of its pods.
    pub node_terms: bool,
    /// Images of its pods, and of all nodes.
    pub images: bool,
    /// What containers would ask for that do not say it, of all pods.
    pub unsaid: bool,
    /// Rules of its pods that spread them as far as that goes.
    pub spread: bool,
    /// Preferred pod affinity and anti-affinity, and required affinity, of all pods.
    pub pod_terms: bool,
    /// Who controls its pods, and who chooses them: by that those are spread that have no rules of their own.
    pub selectors: bool,
}

impl Reads {
    /// What either of two looks at.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self {
            node_terms: self.node_terms || other.node_terms,
            images: self.images || other.images,
            unsaid: self.unsaid || other.unsaid,
            spread: self.spread || other.spread,
            pod_terms: self.pod_terms || other.pod_terms,
            selectors: self.selectors || other.selectors,
        }
    }
}
