//! News: what happened outside, and what became of the effects of earlier plans.
//!
//! Events may come in any order between kinds. One that says what is carries the whole object; the
//! state finds out by itself what changed. Each is applied with the time at which it came.

use super::units::Time;
use super::{Answer, Object, ObjectKey, PodKey, QuestionId};

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Event {
    /// An object appeared or changed.
    Is(Object),
    /// An object is gone. A pod with an empty uid: whichever pod has the name.
    Gone(ObjectKey),
    /// What became of a bind.
    BindResult(PodKey, BindOutcome),
    /// What became of an eviction.
    EvictResult(PodKey, EvictOutcome),
    /// What came of a question.
    Answer(QuestionId, Answer),
    /// Whether anything comes of what is written, whatever it is.
    Writes(Writes),
}

impl Event {
    /// An object appeared or changed.
    #[must_use]
    pub fn is(object: impl Into<Object>) -> Self {
        Self::Is(object.into())
    }
}

/// Whether anything comes of what is written. It is told when it changes, and while nothing does every
/// now and then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Writes {
    /// Since then nothing has come of any write: it could not be sent, was not answered, or was to be
    /// sent again later.
    Stalled {
        /// When the first of them was sent.
        since: Time,
    },
    /// A write was judged: the API server took it, or refused it.
    Judged {
        /// When.
        at: Time,
    },
}

/// What became of a bind, once that is known for sure. While it is not known, nothing is said
/// and the pod stays assumed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum BindOutcome {
    /// The API says that the pod is bound to this node (by us, now or earlier, or by others).
    Bound {
        /// The node.
        node: String,
    },
    /// The pod is not bound, and the API says that this bind will never be accepted.
    Refused {
        /// The answer's message.
        message: String,
    },
    /// The pod is not bound, and trying again was given up for now (time-outs, overload).
    Failed {
        /// The last answer's message.
        message: String,
    },
    /// No pod of this uid exists any more.
    Gone,
    /// The order was given back: nothing was sent, and nothing will be.
    Unsent,
}

/// What became of an eviction.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum EvictOutcome {
    /// The API took it: the pod is gone or going.
    Accepted,
    /// No pod of this uid exists any more.
    Gone,
    /// It was not taken: the API says no.
    Refused {
        /// The answer's message, which says by whom.
        message: String,
    },
    /// It was not seen to be taken, and trying again was given up for now (time-outs, overload).
    Failed {
        /// The last answer's message.
        message: String,
    },
    /// The order was given back: nothing was sent, and nothing will be.
    Unsent,
}
