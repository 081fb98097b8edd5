//! Questions to the outside: what the core wants known, or done, by somebody else before it goes on.
//!
//! A question is an effect like a bind, and answered by exactly one event. It is opaque to the core: a
//! plugin words it, and somebody outside who goes by the plugin's name understands it.

use super::{GangKey, PodKey, RemoteAnswer, RemoteQuestion, counted};
use crate::units::Millis;
use std::fmt;
use std::sync::Arc;

/// The number of a question. It rises, and none is given twice by one process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct QuestionId(pub u64);

/// A pod, and the node it is to go to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct AskedPlace {
    /// The pod.
    pub pod: PodKey,
    /// The node's name.
    pub node: String,
}

/// Whom a question is about. Questions about the same pod, or the same gang, that go to the same are asked
/// one after the other.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum About {
    /// Places of one decision, in its order; at Bind, one of them.
    Places(Vec<AskedPlace>),
    /// A gang as a whole.
    Gang(GangKey),
}

impl About {
    /// The places, where it is about some.
    #[must_use]
    pub fn places(&self) -> &[AskedPlace] {
        match self {
            Self::Places(places) => places,
            Self::Gang(_) => &[],
        }
    }
}

impl fmt::Display for About {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Places(places) => f.write_str(&in_words(places)),
            Self::Gang(gang) => write!(f, "gang {gang}"),
        }
    }
}

/// `pod a on node n and 3 others`.
#[must_use]
pub fn in_words(places: &[AskedPlace]) -> String {
    let Some((first, others)) = places.split_first() else {
        return String::new();
    };
    let (pod, node) = (&first.pod.name, &first.node);
    match others.len() {
        0 => format!("pod {pod} on node {node}"),
        some => format!("pod {pod} on node {node} and {}", counted(some, "other")),
    }
}

/// The extension point at which something is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
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
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
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

    /// The same, about no pods yet.
    fn without_pods(&self) -> Self {
        match self {
            Self::Plugin { .. } => self.clone(),
            Self::Remote(asked) => Self::Remote(Box::new(RemoteQuestion {
                plugin: Arc::clone(&asked.plugin),
                gang: asked.gang.clone(),
                pods: Vec::new(),
                pod_count: 0,
                nodes: Arc::clone(&asked.nodes),
                ..**asked
            })),
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
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
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
    /// What came of that question at these places, whatever it was, is to be undone; this is tried until it
    /// is done.
    pub undoes: Option<QuestionId>,
}

impl Question {
    /// The question that undoes this one, at all of its places.
    #[must_use]
    pub fn undone_by(&self, id: QuestionId) -> Self {
        Self {
            id,
            undoes: Some(self.id),
            ..self.clone()
        }
    }

    /// The question that undoes this one at one of its places.
    #[must_use]
    pub fn undone_at(&self, id: QuestionId, place: &AskedPlace) -> Self {
        let mut undo = Self {
            id,
            about: About::Places(Vec::new()),
            body: self.body.without_pods(),
            undoes: Some(self.id),
            ..*self
        };
        undo.undo_also_at(self, place);
        undo
    }

    /// Undoes another question at one more of its places.
    pub fn undo_also_at(&mut self, undone: &Self, place: &AskedPlace) {
        if let About::Places(places) = &mut self.about {
            places.push(place.clone());
        }
        if let (Body::Remote(undo), Body::Remote(asked)) = (&mut self.body, &undone.body) {
            let pods = asked.pods.iter().filter(|one| one.key == place.pod);
            undo.pods.extend(pods.cloned());
            undo.pod_count = u32::try_from(undo.pods.len()).unwrap_or(u32::MAX);
        }
    }
}

/// What is ordered about questions, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Inquiry {
    /// Somebody is to be asked.
    Ask(Question),
    /// Nobody waits for the answer to this any more.
    GiveUp(QuestionId),
}

/// What came of a question, once that is known for sure.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AskedGang, AskedPod, RemotePoint};

    fn place(name: &str) -> AskedPlace {
        AskedPlace {
            pod: PodKey {
                name: name.to_owned(),
                ..PodKey::default()
            },
            node: "n".to_owned(),
        }
    }

    #[test]
    fn a_question_is_undone_at_some_of_its_places_with_their_pods() {
        let places = ["a", "b", "c"].map(place);
        let pods = places.clone().map(|place| AskedPod {
            key: place.pod,
            ..AskedPod::default()
        });
        let question = Question {
            id: QuestionId(1),
            about: About::Places(places.to_vec()),
            body: Body::Remote(Box::new(RemoteQuestion {
                plugin: "door".into(),
                point: RemotePoint::Reserve,
                gang: AskedGang::default(),
                pods: pods.to_vec(),
                pod_count: 3,
                nodes: Arc::default(),
            })),
            at_most: Millis(1),
            leaves_traces: true,
            undoes: None,
        };
        let mut undo = question.undone_at(QuestionId(2), &places[2]);
        undo.undo_also_at(&question, &places[0]);
        assert_eq!((undo.id, undo.undoes), (QuestionId(2), Some(question.id)));
        assert_eq!(undo.about.to_string(), "pod c on node n and 1 other");
        let Body::Remote(asked) = &undo.body else {
            panic!("{undo:?}");
        };
        let names: Vec<&str> = asked.pods.iter().map(|pod| pod.key.name.as_str()).collect();
        assert_eq!((names, asked.pod_count), (vec!["c", "a"], 2));
    }
}
