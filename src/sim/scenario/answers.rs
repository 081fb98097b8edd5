//! `kind: PluginAnswers`: what the world answers to what a plugin asks.

use crate::outside::AnswerRule;
use muster_api::duration;
use muster_model::units::Millis;
use muster_model::{Answer, Point};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// What is answered to what a plugin asks. Questions that no rule is for get a yes at once.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct PluginAnswers {
    /// The plugin.
    plugin: String,
    /// The first that is for a question answers it.
    answers: Vec<Rule>,
}

/// What is answered to some questions.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Rule {
    /// At which point they are asked; without it, at any.
    point: Option<String>,
    /// About which pod: a name, or the beginning of one before `*`; without it, about any.
    pod: Option<String>,
    /// On which node, likewise.
    node: Option<String>,
    /// `yes`, `no`, `failed`, `never` or, at Bind, `skip`.
    answer: String,
    /// What is said with it.
    message: Option<String>,
    /// After how long, such as `2s`.
    after: Option<String>,
    /// To how many; the next rule answers those after them.
    times: Option<u32>,
}

/// Reads the rules.
pub(super) fn read(value: &Value) -> Result<Vec<AnswerRule>, String> {
    let read = PluginAnswers::deserialize(value).map_err(|error| error.to_string())?;
    let rules = read.answers.iter().enumerate();
    let rule = |(index, one): (usize, &Rule)| {
        let rule = rule(&read.plugin, one);
        rule.map_err(|(field, error)| format!("answers.{index}.{field}: {error}"))
    };
    rules.map(rule).collect()
}

fn rule(plugin: &str, rule: &Rule) -> Result<AnswerRule, (&'static str, String)> {
    let message = rule.message.clone().unwrap_or_default();
    let answer = match rule.answer.as_str() {
        "yes" => Some(Answer::Yes(message)),
        "no" => Some(Answer::No { message }),
        "failed" => Some(Answer::Failed { message }),
        "skip" => Some(Answer::Skip),
        "never" => None,
        other => {
            let words = format!("{other:?} is none of yes, no, failed, never, skip");
            return Err(("answer", words));
        }
    };
    let point = rule.point.as_deref().map(|text| {
        let known = Point::ALL.into_iter().find(|point| point.as_str() == text);
        known.ok_or_else(|| {
            let names: Vec<&str> = Point::ALL.map(Point::as_str).to_vec();
            let words = format!("{text:?} is none of {}", names.join(", "));
            ("point", words)
        })
    });
    let after = rule.after.as_deref().map(|text| {
        let span = duration::parse(text);
        span.map_err(|error| ("after", error.to_string()))
    });
    Ok(AnswerRule {
        plugin: plugin.to_owned(),
        point: point.transpose()?,
        pod: rule.pod.clone(),
        node: rule.node.clone(),
        times: rule.times,
        after: after.transpose()?.unwrap_or(Millis(0)),
        answer,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn rules_are_read_and_what_is_wrong_is_named() {
        let with = |rule: Value| read(&json!({"plugin": "Attach", "answers": [rule]}));
        let rules =
            with(json!({"answer": "no", "message": "gone", "after": "2s", "point": "PreBind"}));
        let rule = rules.unwrap().remove(0);
        assert_eq!(
            (rule.after, rule.point),
            (Millis(2_000), Some(Point::PreBind))
        );
        let message = "gone".to_owned();
        assert_eq!(rule.answer, Some(Answer::No { message }));
        for (rule, words) in [
            (
                json!({"answer": "perhaps"}),
                "answers.0.answer: \"perhaps\" is none of yes",
            ),
            (
                json!({"answer": "yes", "point": "Bound"}),
                "answers.0.point: \"Bound\"",
            ),
            (
                json!({"answer": "yes", "after": "soon"}),
                "answers.0.after: ",
            ),
        ] {
            let error = with(rule).unwrap_err();
            assert!(error.starts_with(words), "{error}");
        }
    }
}
