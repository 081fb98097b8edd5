//! Questions to the outside: what the core wants known, or done, by somebody else before it goes on.
//!
//! A question is an effect like a bind, and answered by exactly one event. It is opaque to the core: a
//! plugin words it, and somebody outside who goes by the plugin's name understands it.

use super::{GangKey, PodKey, RemoteAnswer, RemoteQuestion};
use crate::units::Millis;

/// The number of a question. It rises, and none is given twice by one process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QuestionId(pub u64);

/// Whom a question is about. Questions about the same that go to the same are asked one after the other.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum About {
    /// A pod, and the node it is to go to.
    Pod {
        /// The pod.
        pod: PodKey,
        /// The node's name.
        node: String,
    },
    /// A gang as a whole.
    Gang(GangKey),
}

/// The extension point at which something is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Point {
    /// A pod before any node.
    PreFilter,
    /// Which nodes suit.
    Filter,
    /// Before scores.
    PreScore,
    /// Which node is best.
    Score,
    /// What a decision takes beside room.
    Reserve,
    /// Whether it may go on.
    Permit,
    /// The last word before a bind.
    PreBind,
    /// The bind itself.
    Bind,
    /// After a bind.
    PostBind,
}

impl Point {
    /// All, in the order in which a gang meets them.
    pub const ALL: [Self; 9] = [
        Self::PreFilter,
        Self::Filter,
        Self::PreScore,
        Self::Score,
        Self::Reserve,
        Self::Permit,
        Self::PreBind,
        Self::Bind,
        Self::PostBind,
    ];

    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PreFilter => "PreFilter",
            Self::Filter => "Filter",
            Self::PreScore => "PreScore",
            Self::Score => "Score",
            Self::Reserve => "Reserve",
            Self::Permit => "Permit",
            Self::PreBind => "PreBind",
            Self::Bind => "Bind",
            Self::PostBind => "PostBind",
        }
    }
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// What a plugin wants known or done.
    Plugin {
        /// The plugin: whoever answers goes by its name.
        plugin: String,
        /// Where it asks.
        point: Point,
        /// In the plugin's own words.
        payload: String,
    },
    /// For a plugin in another process.
    Remote(Box<RemoteQuestion>),
}

impl Body {
    /// What a plugin says in its own words; nothing of what it does not say so.
    #[must_use]
    pub fn payload(&self) -> &str {
        match self {
            Self::Plugin { payload, .. } => payload,
            Self::Remote(_) => "",
        }
    }

    /// By what name those go who answer it.
    #[must_use]
    pub fn addressee(&self) -> &str {
        match self {
            Self::Plugin { plugin, .. } => plugin,
            Self::Remote(asked) => &asked.plugin,
        }
    }

    /// Where it is asked.
    #[must_use]
    pub const fn point(&self) -> Point {
        match self {
            Self::Plugin { point, .. } => *point,
            Self::Remote(asked) => asked.point.point(),
        }
    }
}

/// A question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Its number.
    pub id: QuestionId,
    /// Whom it is about.
    pub about: About,
    /// What is asked.
    pub body: Body,
    /// How long the answer may take, from when it is asked; to undo, how long one try may.
    pub at_most: Millis,
    /// Whether a yes leaves something behind that has to be undone where the decision comes to nothing.
    pub leaves_traces: bool,
    /// What came of that question, whatever it was, is to be undone; this is tried until it is done.
    pub undoes: Option<QuestionId>,
}

impl Question {
    /// The question that undoes this one.
    #[must_use]
    pub fn undone_by(&self, id: QuestionId) -> Self {
        Self {
            id,
            undoes: Some(self.id),
            ..self.clone()
        }
    }
}

/// What is ordered about questions, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inquiry {
    /// Somebody is to be asked.
    Ask(Question),
    /// Nobody waits for the answer to this any more.
    GiveUp(QuestionId),
}

/// What came of a question, once that is known for sure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Yes, or done; with what the plugin may want to know.
    Yes(String),
    /// What a plugin in another process says of nodes.
    OfNodes(RemoteAnswer),
    /// It is somebody else's. At Bind only.
    Skip,
    /// No.
    No {
        /// Why, in words.
        message: String,
    },
    /// There was none, or none that could be understood; whether anything was done is not known.
    Failed {
        /// What went wrong.
        message: String,
    },
    /// It was not asked, and will not be.
    Unsent,
}
