//! What marks the members of a gang by a convention that is not honoured yet.
//!
//! Such a pod waits and says so. Placed as if it had no mark, it could run without those it
//! belongs with. Only marks that say "gang" count: what an application's labels let one guess is
//! no mark. One that becomes honoured moves to a file of its own.

use crate::names;
use crate::slim::Pod;
use std::fmt;

/// An annotation on a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marker {
    /// Its key.
    pub key: &'static str,
    /// Whose convention it is, in words.
    pub of: &'static str,
}

/// All of them, in the order in which they are looked for.
pub const MARKERS: &[Marker] = &[
    Marker {
        key: names::TASK_GROUP,
        of: "YuniKorn, where nothing names the application",
    },
    Marker {
        key: names::TASK_GROUPS,
        of: "YuniKorn, where nothing names the application",
    },
    Marker {
        key: names::MIN_AVAILABLE,
        of: "ours, where nothing says what belongs together",
    },
];

impl Marker {
    /// Whether the pod carries it; an empty value names no gang.
    pub(super) fn is_on(&self, pod: &Pod) -> bool {
        names::filled_annotation(&pod.metadata, self.key).is_some()
    }
}

/// The path of the mark, as the other fields that cannot be honoured are written.
impl fmt::Display for Marker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "metadata.annotations[{}]", self.key)
    }
}
