//! Rules that spread pods over the domains of nodes.

use super::PodQuery;

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
}
