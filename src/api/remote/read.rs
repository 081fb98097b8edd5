//! What a plugin answered, checked: an answer that makes no sense is none.

use super::wire::{
    API_VERSION, Decision, DecisionAnswer, FilterAnswer, PreFilterAnswer, ScoreAnswer,
};
use muster_model::units::Millis;
use muster_model::{AskedNode, NodeVerdicts, RemoteAnswer, RemotePoint};
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;
use thiserror::Error;

/// How long a plugin's words may be, in bytes; what is longer is cut.
pub const MAX_REASON: usize = 256;
/// The best score a plugin may give.
const MAX_SCORE: i64 = 100;
/// For how long a plugin may hold a decision back at once, in seconds.
const MAX_WAIT: u32 = 3_600;

/// Why an answer is of no use.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Wrong {
    /// It is not what was to be sent.
    #[error("the answer cannot be read: {0}")]
    Unreadable(String),
    /// It is of another version.
    #[error("apiVersion: found {found:?}: expected {API_VERSION}")]
    Version {
        /// What it says.
        found: String,
    },
    /// Something is not there.
    #[error("{0}: missing")]
    Missing(&'static str),
    /// A node that was not asked about.
    #[error("{field}: node {node:?} was not asked about")]
    UnknownNode {
        /// Where it stands.
        field: &'static str,
        /// What it is called there.
        node: String,
    },
    /// A number out of its bounds.
    #[error("{field}: found {found}: expected a number from {least} to {most}")]
    OutOfBounds {
        /// Where it stands.
        field: String,
        /// The number.
        found: i64,
        /// The least that is allowed.
        least: i64,
        /// The most that is allowed.
        most: i64,
    },
    /// A decision that this point does not have.
    #[error("decision: {found} is not an answer at {point}")]
    Misplaced {
        /// The decision.
        found: &'static str,
        /// The point.
        point: &'static str,
    },
    /// The plugin says itself that it cannot answer.
    #[error("it says: {0}")]
    Said(String),
}

/// Reads the answer to a question at a point about these nodes, which are in order of their names.
///
/// # Errors
/// What is wrong with it, and in which field.
pub fn read(point: RemotePoint, nodes: &[AskedNode], body: &[u8]) -> Result<RemoteAnswer, Wrong> {
    let asked = Asked::new(nodes);
    match point {
        RemotePoint::PreFilter => pre_filter(parse(body)?, &asked),
        RemotePoint::Filter => filter(parse(body)?, &asked),
        RemotePoint::Score => score(parse(body)?, &asked),
        _ => decision(&parse(body)?, point),
    }
}

/// The nodes a question was about.
pub(super) struct Asked<'a>(BTreeSet<&'a str>);

impl<'a> Asked<'a> {
    pub(super) fn new(nodes: &'a [AskedNode]) -> Self {
        Self(nodes.iter().map(|node| node.name.as_str()).collect())
    }

    pub(super) fn check(&self, field: &'static str, node: &str) -> Result<(), Wrong> {
        if self.0.contains(node) {
            return Ok(());
        }
        let node = words(node);
        Err(Wrong::UnknownNode { field, node })
    }
}

pub(super) fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Wrong> {
    serde_json::from_slice(body).map_err(|error| Wrong::Unreadable(words(&error.to_string())))
}

/// A plugin's words, on one line and not too long.
pub(super) fn words(said: &str) -> String {
    let line: String = said
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    let line = line.trim();
    if line.len() <= MAX_REASON {
        return line.to_owned();
    }
    format!("{}...", &line[..line.floor_char_boundary(MAX_REASON)])
}

fn begin(version: &str, error: Option<&str>) -> Result<(), Wrong> {
    if version != API_VERSION {
        let found = words(version);
        return Err(Wrong::Version { found });
    }
    error.map_or(Ok(()), |error| Err(Wrong::Said(words(error))))
}

fn pre_filter(answer: PreFilterAnswer, asked: &Asked<'_>) -> Result<RemoteAnswer, Wrong> {
    begin(&answer.api_version, answer.error.as_deref())?;
    for node in answer.only.iter().flatten() {
        asked.check("only", node)?;
    }
    let reason = answer.reason.as_deref().map(words).unwrap_or_default();
    let refuse = answer.refuse.as_deref().map(words);
    Ok(RemoteAnswer::Nodes(NodeVerdicts {
        none: refuse.filter(|words| !words.is_empty()),
        only: answer.only.map(|only| (only, reason)),
        refused: Vec::new(),
    }))
}

fn filter(answer: FilterAnswer, asked: &Asked<'_>) -> Result<RemoteAnswer, Wrong> {
    begin(&answer.api_version, answer.error.as_deref())?;
    let refused = answer.refused.ok_or(Wrong::Missing("refused"))?;
    for node in refused.keys() {
        asked.check("refused", node)?;
    }
    let refused = refused.into_iter();
    Ok(RemoteAnswer::Nodes(NodeVerdicts {
        refused: refused.map(|(node, said)| (node, words(&said))).collect(),
        ..NodeVerdicts::default()
    }))
}

fn score(answer: ScoreAnswer, asked: &Asked<'_>) -> Result<RemoteAnswer, Wrong> {
    begin(&answer.api_version, answer.error.as_deref())?;
    let scores = answer.scores.ok_or(Wrong::Missing("scores"))?;
    for (node, score) in &scores {
        asked.check("scores", node)?;
        within(&format!("scores[{node:?}]"), *score, 0, MAX_SCORE)?;
    }
    Ok(RemoteAnswer::Scores(scores.into_iter().collect()))
}

pub(super) fn within(field: &str, found: i64, least: i64, most: i64) -> Result<(), Wrong> {
    if (least..=most).contains(&found) {
        return Ok(());
    }
    let field = field.to_owned();
    Err(Wrong::OutOfBounds {
        field,
        found,
        least,
        most,
    })
}

fn decision(answer: &DecisionAnswer, point: RemotePoint) -> Result<RemoteAnswer, Wrong> {
    begin(&answer.api_version, answer.error.as_deref())?;
    let misplaced = |found| {
        let point = point.as_str();
        Err(Wrong::Misplaced { found, point })
    };
    let may_deny = !matches!(point, RemotePoint::Unreserve | RemotePoint::PostBind);
    match answer.decision.ok_or(Wrong::Missing("decision"))? {
        Decision::Allow => Ok(RemoteAnswer::Allow),
        Decision::Deny if may_deny => {
            let reason = answer.reason.as_deref().map(words);
            let reason = reason.filter(|words| !words.is_empty());
            reason
                .map(RemoteAnswer::Deny)
                .ok_or(Wrong::Missing("reason"))
        }
        Decision::Deny => misplaced("Deny"),
        Decision::Wait if point == RemotePoint::Permit => {
            let seconds = answer.wait_seconds.ok_or(Wrong::Missing("waitSeconds"))?;
            within("waitSeconds", seconds.into(), 1, MAX_WAIT.into())?;
            Ok(RemoteAnswer::Wait(Millis::from_secs(seconds.into())))
        }
        Decision::Wait => misplaced("Wait"),
        Decision::Skip if point == RemotePoint::Bind => Ok(RemoteAnswer::Skip),
        Decision::Skip => misplaced("Skip"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn nodes() -> Vec<AskedNode> {
        ["n1", "n2"]
            .map(|name| AskedNode {
                name: name.to_owned(),
                labels: Vec::new(),
            })
            .into()
    }

    fn answer(point: RemotePoint, mut body: Value) -> Result<RemoteAnswer, String> {
        if body.get("apiVersion").is_none() {
            body["apiVersion"] = API_VERSION.into();
        }
        let body = serde_json::to_vec(&body).unwrap();
        read(point, &nodes(), &body).map_err(|wrong| wrong.to_string())
    }

    #[test]
    fn an_answer_to_filter_names_the_nodes_that_do_not_suit() {
        let read = answer(
            RemotePoint::Filter,
            json!({"refused": {"n2": "no licence"}}),
        );
        let refused = vec![("n2".to_owned(), "no licence".to_owned())];
        let wanted = NodeVerdicts {
            refused,
            ..NodeVerdicts::default()
        };
        assert_eq!(read, Ok(RemoteAnswer::Nodes(wanted)));
    }

    #[test]
    fn an_answer_that_makes_no_sense_is_refused_by_its_field() {
        use RemotePoint::{Bind, Filter, Permit, PostBind, PreFilter, Reserve, Score};
        let cases = [
            (Filter, json!({}), "refused: missing"),
            (
                Filter,
                json!({"refused": {"n3": ""}}),
                "refused: node \"n3\" was not asked about",
            ),
            (Filter, json!({"refuse": {}}), "unknown field `refuse`"),
            (Filter, json!({"refused": ["n1"]}), "invalid type: sequence"),
            (
                Filter,
                json!({"apiVersion": "v2", "refused": {}}),
                "apiVersion: found \"v2\"",
            ),
            (
                Filter,
                json!({"error": "no\ndatabase"}),
                "it says: no database",
            ),
            (
                PreFilter,
                json!({"only": ["n1", "n9"]}),
                "only: node \"n9\"",
            ),
            (Score, json!({}), "scores: missing"),
            (
                Score,
                json!({"scores": {"n1": 101}}),
                "scores[\"n1\"]: found 101: expected a number from 0 to 100",
            ),
            (Score, json!({"scores": {"n1": -1}}), "found -1"),
            (
                Score,
                json!({"scores": {"n1": 0.5}}),
                "invalid type: floating point",
            ),
            (Score, json!({"scores": {"x": 1}}), "scores: node \"x\""),
            (Reserve, json!({}), "decision: missing"),
            (Reserve, json!({"decision": "Deny"}), "reason: missing"),
            (
                Reserve,
                json!({"decision": "Wait"}),
                "decision: Wait is not an answer at Reserve",
            ),
            (Permit, json!({"decision": "Wait"}), "waitSeconds: missing"),
            (
                Permit,
                json!({"decision": "Wait", "waitSeconds": 0}),
                "waitSeconds: found 0",
            ),
            (
                Permit,
                json!({"decision": "Skip"}),
                "Skip is not an answer at Permit",
            ),
            (
                Bind,
                json!({"decision": "Perhaps"}),
                "unknown variant `Perhaps`",
            ),
            (
                PostBind,
                json!({"decision": "Deny", "reason": "no"}),
                "Deny is not an answer at PostBind",
            ),
        ];
        for (point, body, words) in cases {
            let wrong = answer(point, body.clone()).unwrap_err();
            assert!(wrong.contains(words), "{body}: {wrong}");
        }
        let wrong = read(Filter, &nodes(), b"<html>").unwrap_err().to_string();
        assert!(wrong.starts_with("the answer cannot be read"), "{wrong}");
    }

    #[test]
    fn decisions_are_allow_deny_wait_and_skip_where_the_point_has_them() {
        let cases = [
            (
                RemotePoint::Reserve,
                json!({"decision": "Allow"}),
                RemoteAnswer::Allow,
            ),
            (
                RemotePoint::PreBind,
                json!({"decision": "Deny", "reason": "full"}),
                RemoteAnswer::Deny("full".to_owned()),
            ),
            (
                RemotePoint::Permit,
                json!({"decision": "Wait", "waitSeconds": 5}),
                RemoteAnswer::Wait(Millis(5_000)),
            ),
            (
                RemotePoint::Bind,
                json!({"decision": "Skip"}),
                RemoteAnswer::Skip,
            ),
        ];
        for (point, body, wanted) in cases {
            assert_eq!(answer(point, body), Ok(wanted));
        }
    }

    #[test]
    fn a_plugins_words_are_one_line_and_not_too_long() {
        assert_eq!(words(" a\nb\u{7} "), "a b");
        let long = words(&"ä".repeat(1_000));
        assert!(
            long.len() <= MAX_REASON + 3 && long.ends_with("..."),
            "{long}"
        );
    }
}
