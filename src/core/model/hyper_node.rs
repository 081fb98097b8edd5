//! A HyperNode of Volcano: a set of nodes that are near each other, by the names of its members.

use super::{LabelCondition, LabelSelector, Labels, Level, NamePattern};

/// The name of the topology that all HyperNodes of a cluster make up. No object can have it.
pub const HYPER_NODES: &str = "volcano:hypernodes";

/// Of so many tiers, from the lowest on, is taken notice: as many as a Topology may have levels.
pub const MAX_TIERS: usize = 16;

/// `topology.volcano.sh/v1alpha1` HyperNode.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct HyperNodeSpec {
    /// Its name.
    pub name: String,
    /// `spec.tier`: the higher, the further apart are its nodes.
    pub tier: u32,
    /// `spec.tierName`.
    pub tier_name: Option<String>,
    /// The nodes that are its members.
    pub nodes: Vec<NodeChoice>,
    /// The HyperNodes that are its members, by name.
    pub members: Vec<String>,
    /// What of it cannot be honoured, in words. The rest of it is.
    pub problems: Vec<String>,
}

/// Chooses nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum NodeChoice {
    /// The one of this name.
    Named(String),
    /// Those whose names fit a pattern.
    Like(NamePattern),
    /// Those with such labels.
    Labelled(LabelSelector),
}

impl NodeChoice {
    /// Whether it chooses the node of this name and these labels.
    #[must_use]
    pub fn chooses(&self, name: &str, labels: &Labels) -> bool {
        match self {
            Self::Named(named) => named == name,
            Self::Like(pattern) => pattern.fits(name),
            Self::Labelled(selector) => selector.matches(labels),
        }
    }

    /// A label that every chosen node has, with its value.
    #[must_use]
    pub fn label(&self) -> Option<(&str, &str)> {
        let Self::Labelled(selector) = self else {
            return None;
        };
        selector.requirements.iter().find_map(|one| {
            let LabelCondition::In(values) = &one.holds else {
                return None;
            };
            let [value] = &values[..] else { return None };
            Some((one.key.as_str(), value.as_str()))
        })
    }
}

impl HyperNodeSpec {
    /// Whether the node of this name and these labels is a member.
    #[must_use]
    pub fn chooses(&self, name: &str, labels: &Labels) -> bool {
        self.nodes.iter().any(|one| one.chooses(name, labels))
    }
}

/// The level that the HyperNodes of a tier are: 2 hops a tier, and 1 for tier 0, for a single node has
/// none.
#[must_use]
pub fn level_of_tier(tier: u32, names: Vec<String>) -> Level {
    Level {
        label: format!("tier-{tier}"),
        aliases: names,
        hops: tier.saturating_mul(2).max(1),
    }
}
