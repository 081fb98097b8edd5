//! How far nodes are from each other, as a Topology describes it; and what a gang wants of that.

/// A Topology.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct TopologySpec {
    /// Its name.
    pub name: String,
    /// Whose it is.
    pub origin: Origin,
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.generation`.
    pub generation: i64,
    /// From the widest to the narrowest. Two nodes are as far from each other as the narrowest domain
    /// says that has both.
    pub levels: Vec<Level>,
    /// Instead of levels: two nodes are as far from each other as the shortest path between them.
    pub links: Vec<Link>,
    /// Why the object cannot be valid, in words: it is as if it were not there.
    pub invalid: Option<String>,
}

/// Whose object a topology or a queue was read from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Origin {
    /// Our own.
    #[default]
    Muster,
    /// Kueue's.
    Kueue,
    /// KAI's.
    Kai,
    /// Volcano's. As a topology all of its HyperNodes: which domains a node is in they say themselves, not
    /// its labels.
    Volcano,
    /// Nobody's: a topology of one level, because somebody named a label of nodes.
    Label,
}

impl Origin {
    /// Whether it is our own. On an object of others nothing is written.
    #[must_use]
    pub const fn is_ours(self) -> bool {
        matches!(self, Self::Muster)
    }
}

/// How the names begin of topologies that are no object: the values of one label, which is the rest of the name.
pub const BY_LABEL: &str = "label:";

/// What a wish names that means any of Kueue's topologies with the level it asks for.
pub const ANY_OF_KUEUE: &str = "kueue:";

impl TopologySpec {
    /// The one whose domains are the values of this label.
    #[must_use]
    pub fn by_label(label: &str) -> Self {
        Self {
            name: format!("{BY_LABEL}{label}"),
            origin: Origin::Label,
            levels: vec![Level {
                label: label.to_owned(),
                aliases: Vec::new(),
                hops: if label == HOSTNAME { 0 } else { 2 },
            }],
            ..Self::default()
        }
    }
}

/// A level of a tree: nodes with the same value of the label, and of those of the wider levels, are
/// in one domain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Level {
    /// The label; [`HOSTNAME`] makes each node a domain of its own.
    pub label: String,
    /// Other names that a gang may call it by.
    pub aliases: Vec<String>,
    /// The hops between two nodes that have no narrower domain in common.
    pub hops: u32,
}

impl Level {
    /// Whether a gang that says this means the level.
    #[must_use]
    pub fn is_called(&self, name: &str) -> bool {
        self.label == name || self.aliases.iter().any(|one| one == name)
    }
}

/// A link between two nodes, two switches, or a node and a switch. What has the name of a node is that
/// node; all else is a switch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Link {
    /// One end.
    pub a: String,
    /// The other end.
    pub b: String,
    /// How many hops it counts for, in both directions.
    pub cost: u32,
}

/// The most that a link may cost.
pub const MAX_COST: u32 = 1_000_000;

/// The label by which the last level of a topology is the single node.
pub const HOSTNAME: &str = "kubernetes.io/hostname";

/// How close together pods have to be, or should.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TopologyWish {
    /// The Topology; without it the only one there is.
    pub name: Option<String>,
    /// No two pods may be further from each other.
    pub max_hops: Option<u32>,
    /// All pods in one domain of the level of this label.
    pub required_level: Option<String>,
    /// The same if there is such a place.
    pub preferred_level: Option<String>,
    /// All pods in one HyperNode of this tier or of a lower one; anywhere if no HyperNode is of a higher
    /// tier or of this one.
    pub highest_tier: Option<u32>,
    /// Without such a Topology nothing is wished.
    pub if_there: bool,
}

impl TopologyWish {
    /// All on nodes with one value of this label.
    #[must_use]
    pub fn of_label(label: &str) -> Self {
        Self {
            name: Some(format!("{BY_LABEL}{label}")),
            required_level: Some(label.to_owned()),
            ..Self::default()
        }
    }

    /// The label without which a node is in none of the domains of which one is required, where the wish alone says
    /// which that is: a level of others may be an alias.
    #[must_use]
    pub fn needed_label(&self) -> Option<&str> {
        let name = self.name.as_deref()?;
        let is_label = name.starts_with(BY_LABEL) || name.starts_with(ANY_OF_KUEUE);
        self.required_level.as_deref().filter(|_| is_label)
    }

    /// The label of whose values the topology is that it names, where it is no object.
    #[must_use]
    pub fn label(&self) -> Option<&str> {
        self.name.as_deref()?.strip_prefix(BY_LABEL)
    }
}
