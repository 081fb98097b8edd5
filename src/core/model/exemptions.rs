//! What a plan may do because nothing is configured that looks at it, for whoever checks plans.

/// What no plugin of some profile looks at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Exemptions {
    /// A node may get more than it offers.
    pub overcommit: bool,
    /// Pods may be spread less evenly than they ask for.
    pub uneven: bool,
    /// A pod may get a node that its fields rule out.
    pub unfit: bool,
    /// The resources of which others look after whether nodes have them.
    pub unchecked: Vec<String>,
}
