//! What marks the members of a gang by a convention that is not honoured yet.
//!
//! Such a pod waits and says so. Placed as if it had no mark, it could run without those it
//! belongs with. Only marks that say "gang" count: what an application's labels let one guess is
//! no mark. One that becomes honoured moves to a file of its own.

use crate::names;
use crate::slim::Pod;
use std::fmt;

/// A mark on a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marker {
    /// Where it stands.
    pub place: Place,
    /// Its key there.
    pub key: &'static str,
    /// Whose convention it is, in words.
    pub of: &'static str,
}

/// Where a mark stands on a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// `metadata.labels`.
    Label,
    /// `metadata.annotations`.
    Annotation,
}

/// All of them, in the order in which they are looked for.
pub const MARKERS: &[Marker] = &[
    label(
        "pod-group.scheduling.sigs.k8s.io/name",
        "scheduler-plugins without PodGroups",
    ),
    annotation("yunikorn.apache.org/task-group-name", "YuniKorn"),
    annotation("yunikorn.apache.org/task-groups", "YuniKorn"),
    label("kueue.x-k8s.io/pod-group-name", "Kueue"),
    annotation("pod-group-name", "KAI"),
];

const fn label(key: &'static str, of: &'static str) -> Marker {
    let place = Place::Label;
    Marker { place, key, of }
}

const fn annotation(key: &'static str, of: &'static str) -> Marker {
    let place = Place::Annotation;
    Marker { place, key, of }
}

impl Marker {
    /// Whether the pod carries it; an empty value names no gang.
    pub(super) fn is_on(&self, pod: &Pod) -> bool {
        let value = match self.place {
            Place::Label => names::label(&pod.metadata, self.key),
            Place::Annotation => names::annotation(&pod.metadata, self.key),
        };
        value.is_some_and(|value| !value.is_empty())
    }
}

/// The path of the mark, as the other fields that cannot be honoured are written.
impl fmt::Display for Marker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Place::Label => write!(f, "metadata.labels[{}]", self.key),
            Place::Annotation => write!(f, "metadata.annotations[{}]", self.key),
        }
    }
}
