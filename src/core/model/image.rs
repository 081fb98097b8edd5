//! Images on nodes.

/// An image that a node has.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct NodeImage {
    /// One of its names.
    pub name: String,
    /// Its size in bytes.
    pub size: i64,
}
