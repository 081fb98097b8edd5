//! Rules that spread pods over the domains of nodes, and by whose selectors those are spread that have none.

use super::{LabelSelector, PodQuery};

/// One of a pod's `topologySpreadConstraints`, with what is left out filled in. Domains are the values of a
/// label of nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SpreadRule {
    /// The label.
    pub key: String,
    /// How many more pods a domain may have than the one with fewest, at least 1.
    pub max_skew: u32,
    /// With fewer domains than this the fewest count as none, at least 1.
    pub min_domains: u32,
    /// Whom it counts; `None` where nobody is.
    pub pods: Option<PodQuery>,
    /// Whether the pod itself is one of those it is about.
    pub counts_itself: bool,
    /// Whether only nodes count that the pod's node selector and affinity allow.
    pub honors_affinity: bool,
    /// Whether only nodes count whose taints the pod tolerates.
    pub honors_taints: bool,
    /// Whether nodes without the label count for the other rules and are scored by those.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "crate::is_default")
    )]
    pub label_optional: bool,
}

/// By which rules pods of a profile are spread that have none of their own. Whom they count is said by what
/// chooses the pod: [`PodSelectorSpec`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DefaultSpread {
    /// Those that decide on nodes.
    pub required: Vec<SpreadRule>,
    /// Those that are for scores.
    pub preferred: Vec<SpreadRule>,
}

impl DefaultSpread {
    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.required.is_empty() && self.preferred.is_empty()
    }
}

/// Of a pod that is spread by the rules of its profile: who controls it, if that is one who chooses pods.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SpreadByDefault {
    /// Of which kind, and the name.
    pub controller: Option<(SelectorKind, String)>,
}

/// The kinds of objects that choose pods which belong together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum SelectorKind {
    /// It chooses by labels whomever they suit.
    #[default]
    Service,
    /// It controls those that it chooses.
    ReplicationController,
    /// The same.
    ReplicaSet,
    /// The same.
    StatefulSet,
}

/// What names an object that chooses pods.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PodSelectorKey {
    /// `metadata.namespace`.
    pub namespace: String,
    /// Its kind.
    pub kind: SelectorKind,
    /// `metadata.name`.
    pub name: String,
}

/// An object that chooses pods which belong together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PodSelectorSpec {
    /// Namespace, kind and name.
    pub key: PodSelectorKey,
    /// Whom it chooses, in its namespace; `None`: nobody.
    pub selector: Option<LabelSelector>,
}
