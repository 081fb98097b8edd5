//! What an object says, as it is kept in memory: digests of its status, and since when it is so.

use jiff::Timestamp;
use std::sync::Arc;

/// What is said of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// A digest of all of it.
    pub text: u64,
    /// A digest of what kind of thing it says: numbers apart.
    pub kind: u64,
    /// Since when its conditions have been what they are.
    pub since: Vec<Since>,
    /// The node that a pod is to have, or empty; wanted: `None`, where it makes no difference.
    pub nominated: Option<Arc<str>>,
    /// The `resourceVersion` at which it was seen to say this, where what is written is for that one alone.
    pub version: Option<Arc<str>>,
}

/// Since when a condition has had its status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Since {
    /// The condition's type.
    pub condition: String,
    /// Whether it is true.
    pub is_true: bool,
    /// Since when.
    pub at: Timestamp,
}

impl Said {
    /// Whether nothing has to be written for it to say what is wanted.
    #[must_use]
    pub fn says(&self, wanted: &Self) -> bool {
        let nominated = wanted.nominated.is_none() || wanted.nominated == self.nominated;
        self.text == wanted.text && nominated
    }

    /// Since when a condition has had a status, if it has it.
    #[must_use]
    pub fn since(&self, condition: &str, is_true: bool) -> Option<Timestamp> {
        let same = |one: &&Since| one.condition == condition && one.is_true == is_true;
        self.since.iter().find(same).map(|one| one.at)
    }
}
