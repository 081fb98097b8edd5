//! What pods of a shape have to do with other pods, as ids.

use super::super::ids::{KeyId, QueryId, TermId};

/// What pods of a shape ask of others, and what others ask about them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rules {
    /// The queries in use that count such pods; sorted. Others may keep them away by some of these.
    pub counted_in: Vec<QueryId>,
    /// Beside which pods they have to be.
    pub near: Option<NearPods>,
    /// Which pods they keep away; sorted.
    pub apart: Vec<TermId>,
    /// The queries among those by which pods are kept away.
    pub repelled_by: Vec<QueryId>,
    /// Beside which pods they had better be, and within the values of which label; with what that counts,
    /// below zero where they had better not be. Sorted.
    pub likes: Vec<(QueryId, KeyId, i64)>,
    /// Which pods they draw to them or would rather keep away, once they have a place; sorted.
    pub draws: Vec<TermId>,
}

/// Beside which pods a pod has to be.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NearPods {
    /// Those that match all terms.
    pub query: QueryId,
    /// The labels within each of whose values one of them has to be; sorted.
    pub keys: Vec<KeyId>,
}

/// How a pod that has its place draws others to it: for each that does, once more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pull {
    /// By how many required terms of affinity.
    pub required: u32,
    /// By preferred terms of this weight together, below zero where they rather keep others away.
    pub preferred: i32,
}

impl Rules {
    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.counted_in.is_empty()
            && self.near.is_none()
            && self.apart.is_empty()
            && self.likes.is_empty()
            && self.draws.is_empty()
    }

    /// Whether anything of other pods decides where such pods may go.
    #[must_use]
    pub const fn bind(&self) -> bool {
        self.near.is_some() || !self.apart.is_empty() || !self.repelled_by.is_empty()
    }

    /// Whether a query counts such pods.
    #[must_use]
    pub fn is_counted_in(&self, query: QueryId) -> bool {
        self.counted_in.binary_search(&query).is_ok()
    }
}
