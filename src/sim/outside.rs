//! The world that plugins ask about: what it answers, and what it holds because it was asked to.
//!
//! It says yes at once to everybody, unless a scenario says otherwise (kind `PluginAnswers`).

use crate::core::model::{About, Answer, PodKey, Point, Question};
use crate::core::units::Millis;
use std::collections::BTreeMap;

/// What is answered to some questions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerRule {
    /// To whom they are addressed.
    pub plugin: String,
    /// At which point they are asked; `None`: at any.
    pub point: Option<Point>,
    /// About which pod: a name, or the beginning of one before `*`; `None`: about any.
    pub pod: Option<String>,
    /// On which node, likewise.
    pub node: Option<String>,
    /// To how many; the next ones are answered by the next rule. `None`: to all.
    pub times: Option<u32>,
    /// After how long.
    pub after: Millis,
    /// What is answered; `None`: nothing ever.
    pub answer: Option<Answer>,
}

impl AnswerRule {
    fn is_for(&self, question: &Question) -> bool {
        let (pod, node) = match &question.about {
            About::Pod { pod, node } => (pod.name.as_str(), node.as_str()),
            About::Gang(gang) => (gang.name.as_str(), ""),
        };
        let names = |pattern: &Option<String>, name: &str| {
            let pattern = pattern.as_deref().unwrap_or("*");
            match pattern.strip_suffix('*') {
                Some(begin) => name.starts_with(begin),
                None => name == pattern,
            }
        };
        self.plugin == question.body.addressee()
            && self
                .point
                .is_none_or(|point| point == question.body.point())
            && names(&self.pod, pod)
            && names(&self.node, node)
    }
}

/// What comes back, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// After how long.
    pub after: Millis,
    /// What; `None`: nothing ever.
    pub answer: Option<Answer>,
}

/// The world that plugins ask about.
#[derive(Debug, Default)]
pub struct Outside {
    rules: Vec<AnswerRule>,
    /// What was done and not undone: by whom, for which pod, and where.
    done: BTreeMap<(String, PodKey), String>,
}

impl Outside {
    /// More rules, behind those that are there.
    pub fn add_rules(&mut self, rules: Vec<AnswerRule>) {
        self.rules.extend(rules);
    }

    /// What is answered to a question that is asked now. To undo is always possible.
    pub fn reply(&mut self, question: &Question) -> Reply {
        let mut rules = self.rules.iter_mut().filter(|_| question.undoes.is_none());
        let rule = rules.find(|rule| rule.times != Some(0) && rule.is_for(question));
        let Some(rule) = rule else {
            let (after, answer) = (Millis(0), Some(Answer::Yes(String::new())));
            return Reply { after, answer };
        };
        rule.times = rule.times.map(|left| left - 1);
        Reply {
            after: rule.after,
            answer: rule.answer.clone(),
        }
    }

    /// Does, or undoes, what was asked.
    pub fn carry_out(&mut self, question: &Question) {
        let About::Pod { pod, node } = &question.about else {
            return;
        };
        let key = (question.body.addressee().to_owned(), pod.clone());
        if question.undoes.is_some() {
            self.done.remove(&key);
        } else if question.leaves_traces {
            self.done.insert(key, node.clone());
        }
    }

    /// What was done and not undone: by whom, for which pod, and on which node.
    pub fn done(&self) -> impl Iterator<Item = (&str, &PodKey, &str)> {
        let done = self.done.iter();
        done.map(|((who, pod), node)| (who.as_str(), pod, node.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::model::{Body, QuestionId};

    fn question(pod: &str, node: &str) -> Question {
        Question {
            id: QuestionId(1),
            about: About::Pod {
                pod: PodKey {
                    name: pod.to_owned(),
                    ..PodKey::default()
                },
                node: node.to_owned(),
            },
            body: Body::Plugin {
                plugin: "Attach".to_owned(),
                point: Point::PreBind,
                payload: String::new(),
            },
            at_most: Millis(1_000),
            leaves_traces: true,
            undoes: None,
        }
    }

    #[test]
    fn the_first_rule_that_is_for_a_question_and_not_used_up_answers_it() {
        let no = |message: &str| Answer::No {
            message: message.to_owned(),
        };
        let rule = |pod: &str, times, message: &str| AnswerRule {
            plugin: "Attach".to_owned(),
            point: Some(Point::PreBind),
            pod: Some(pod.to_owned()),
            node: None,
            times,
            after: Millis(5),
            answer: Some(no(message)),
        };
        let mut outside = Outside::default();
        outside.add_rules(vec![
            rule("a-*", Some(1), "first"),
            rule("a-0", None, "then"),
        ]);
        let mut ask = |pod: &str| outside.reply(&question(pod, "n")).answer.unwrap();
        assert_eq!(ask("b"), Answer::Yes(String::new()));
        assert_eq!(ask("a-0"), no("first"));
        assert_eq!(ask("a-0"), no("then"));
        assert_eq!(ask("a-1"), Answer::Yes(String::new()));
        let undo = question("a-0", "n").undone_by(QuestionId(2));
        assert_eq!(
            outside.reply(&undo).answer,
            Some(Answer::Yes(String::new()))
        );
    }

    #[test]
    fn what_is_undone_is_not_there_any_more() {
        let mut outside = Outside::default();
        let question = question("a", "n");
        outside.carry_out(&question);
        assert_eq!(outside.done().count(), 1);
        outside.carry_out(&question.undone_by(QuestionId(2)));
        assert_eq!(outside.done().count(), 0);
    }
}
