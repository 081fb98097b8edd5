//! The world that plugins ask about: what it answers, and what it holds because it was asked to.
//!
//! It says yes at once to everybody, unless a scenario says otherwise (kind `PluginAnswers`).

use muster_model::units::Millis;
use muster_model::{
    About, Answer, AskedPlace, Body, NodeVerdicts, PodKey, Point, Question, RemoteAnswer,
    RemotePoint, RemoteQuestion,
};
use std::collections::{BTreeMap, BTreeSet};

/// What is answered to some questions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerRule {
    /// To whom they are addressed.
    pub plugin: String,
    /// At which point they are asked; `None`: at any.
    pub point: Option<Point>,
    /// About which pod, of those it is about: a name, or the beginning of one before `*`; `None`: about any.
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
        let is_for = |pod: &str, node: &str| names(&self.pod, pod) && names(&self.node, node);
        let is_about = match &question.about {
            About::Places(places) => {
                let mut places = places.iter();
                places.any(|place| is_for(&place.pod.name, &place.node))
            }
            About::Gang(gang) => is_for(&gang.name, ""),
        };
        is_about
            && self.plugin == question.body.addressee()
            && self
                .point
                .is_none_or(|point| point == question.body.point())
    }

    /// Whether it is for what is asked about nodes.
    fn is_about(&self, asked: &RemoteQuestion) -> bool {
        let pod = |name: &str| names(&self.pod, name);
        *self.plugin == *asked.plugin
            && self.point.is_none_or(|point| point == asked.point.point())
            && asked.pods.iter().any(|one| pod(&one.key.name))
    }
}

/// Whether a pattern, a name or the beginning of one before `*`, is for a name; none is for any.
fn names(pattern: &Option<String>, name: &str) -> bool {
    let pattern = pattern.as_deref().unwrap_or("*");
    match pattern.strip_suffix('*') {
        Some(begin) => name.starts_with(begin),
        None => name == pattern,
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
        if let Body::Remote(asked) = &question.body
            && asked.point.is_about_nodes()
        {
            return self.reply_about(asked);
        }
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

    /// What is said of nodes: of each the first rule that is for it decides. A rule without a node, or
    /// that says neither yes nor no, is about all of them.
    fn reply_about(&mut self, asked: &RemoteQuestion) -> Reply {
        let (mut decided, mut verdicts) = (BTreeSet::new(), NodeVerdicts::default());
        let mut after = Millis(0);
        for rule in &mut self.rules {
            if rule.times == Some(0) || !rule.is_about(asked) {
                continue;
            }
            rule.times = rule.times.map(|left| left - 1);
            after = after.max(rule.after);
            let refused = match &rule.answer {
                Some(Answer::No { message }) => Some(message.clone()),
                Some(Answer::Yes(_)) => None,
                other => {
                    let answer = other.clone();
                    return Reply { after, answer };
                }
            };
            for node in asked
                .nodes
                .iter()
                .filter(|node| names(&rule.node, &node.name))
            {
                if decided.insert(node.name.clone())
                    && let Some(message) = &refused
                {
                    verdicts.refused.push((node.name.clone(), message.clone()));
                }
            }
        }
        let answer = match asked.point {
            RemotePoint::Score => RemoteAnswer::Scores(Vec::new()),
            _ => RemoteAnswer::Nodes(verdicts),
        };
        let answer = Some(Answer::OfNodes(answer));
        Reply { after, answer }
    }

    /// Does, or undoes, what was asked.
    pub fn carry_out(&mut self, question: &Question) {
        for AskedPlace { pod, node } in question.about.places() {
            let key = (question.body.addressee().to_owned(), pod.clone());
            if question.undoes.is_some() {
                self.done.remove(&key);
            } else if question.leaves_traces {
                self.done.insert(key, node.clone());
            }
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
    use muster_model::{AskedGang, AskedNode, AskedPod, QuestionId};

    fn question(pod: &str, node: &str) -> Question {
        Question {
            id: QuestionId(1),
            about: About::Places(vec![AskedPlace {
                pod: PodKey {
                    name: pod.to_owned(),
                    ..PodKey::default()
                },
                node: node.to_owned(),
            }]),
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
    fn of_each_node_the_first_rule_that_is_for_it_decides() {
        let rule = |node: Option<&str>, answer: Answer| AnswerRule {
            plugin: "licences".to_owned(),
            point: Some(Point::Filter),
            pod: None,
            node: node.map(str::to_owned),
            times: None,
            after: Millis(5),
            answer: Some(answer),
        };
        let no = |message: &str| Answer::No {
            message: message.to_owned(),
        };
        let asked = |point| RemoteQuestion {
            plugin: "licences".into(),
            point,
            gang: AskedGang::default(),
            pods: vec![AskedPod::default()],
            pod_count: 1,
            nodes: ["a-1", "a-2", "b"]
                .map(|name| AskedNode {
                    name: name.to_owned(),
                    labels: Vec::new(),
                })
                .into(),
        };
        let mut outside = Outside::default();
        outside.add_rules(vec![
            rule(Some("a-1"), Answer::Yes(String::new())),
            rule(Some("a-*"), no("no a")),
        ]);
        let refused = vec![("a-2".to_owned(), "no a".to_owned())];
        let verdicts = NodeVerdicts {
            refused,
            ..NodeVerdicts::default()
        };
        let answer = Some(Answer::OfNodes(RemoteAnswer::Nodes(verdicts)));
        let reply = outside.reply_about(&asked(RemotePoint::Filter));
        assert_eq!((reply.after, reply.answer), (Millis(5), answer));
        let reply = outside.reply_about(&asked(RemotePoint::PreFilter));
        let answer = Answer::OfNodes(RemoteAnswer::Nodes(NodeVerdicts::default()));
        assert_eq!(reply.answer, Some(answer));
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
