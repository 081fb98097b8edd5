//! The number that the owner of a pod gave it among its equals.

use std::num::NonZeroU32;

/// Where a pod stands in the line of its gang: by role, then by group, then by index. It says who is
/// next to whom, and nothing else: what it is written in belongs to whoever made the pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Rank {
    /// The first letters of the role's name, so that pods of one role are next to each other.
    role: u64,
    /// The replica, the job or the group that the pod is in.
    group: u32,
    /// One more than the index in that.
    index: NonZeroU32,
}

impl Rank {
    /// The greatest number of a group or an index that Kubernetes' own fields have.
    pub const MAX: u32 = i32::MAX.unsigned_abs();

    /// A rank; `None` where a number is greater than [`Rank::MAX`]. Of a role's name the first eight
    /// bytes count.
    #[must_use]
    pub fn new(role: &str, group: u32, index: u32) -> Option<Self> {
        if group > Self::MAX || index > Self::MAX {
            return None;
        }
        let mut letters = [0; 8];
        for (letter, byte) in letters.iter_mut().zip(role.bytes()) {
            *letter = byte;
        }
        Some(Self {
            role: u64::from_be_bytes(letters),
            group,
            index: NonZeroU32::MIN.saturating_add(index),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_go_by_role_then_group_then_index_and_who_has_none_is_first() {
        let rank = |role, group, index| Rank::new(role, group, index);
        let line = [
            None,
            rank("", 0, 0),
            rank("", 0, 1),
            rank("", 0, 10),
            rank("", 1, 0),
            rank("master", 0, 0),
            rank("worker", 0, 2),
            rank("worker", 0, Rank::MAX),
        ];
        assert!(line.is_sorted_by(|one, other| one < other));
    }

    #[test]
    fn numbers_that_no_controller_writes_are_no_ranks() {
        assert_eq!(Rank::new("", Rank::MAX + 1, 0), None);
        assert_eq!(Rank::new("", 0, Rank::MAX + 1), None);
        assert!(Rank::new("", Rank::MAX, Rank::MAX).is_some());
    }
}
