//! What was asked outside: no pod is bound before all that its decision asked was answered with yes, and
//! what was asked in vain is undone before it is asked again.

use super::Note;
use super::account::Account;
use muster_model::{About, Answer, Bind, Body, GangKey, PodKey, Question, QuestionId};
use std::collections::BTreeMap;

/// A question of a decision that stands, and is not answered with yes.
#[derive(Debug)]
struct Open {
    gang: GangKey,
    /// It was answered, and not with yes.
    refused: bool,
}

/// What a question may have left behind.
#[derive(Debug)]
struct Trace {
    node: String,
    body: Body,
}

/// The questions that count.
#[derive(Debug, Default)]
pub(super) struct AskedBook {
    last: QuestionId,
    open: BTreeMap<QuestionId, Open>,
    /// What is not undone, until the pod is bound where it was meant to be.
    traces: BTreeMap<PodKey, BTreeMap<QuestionId, Trace>>,
    about: BTreeMap<QuestionId, PodKey>,
}

impl AskedBook {
    pub(super) fn hear(&mut self, id: QuestionId, answer: &Answer) {
        match answer {
            Answer::Yes(_) => _ = self.open.remove(&id),
            _ => {
                if let Some(open) = self.open.get_mut(&id) {
                    open.refused = true;
                }
            }
        }
        if *answer == Answer::Unsent {
            self.take_trace(id);
        }
    }

    /// Takes what a question may have left behind, if it did.
    fn take_trace(&mut self, id: QuestionId) -> Option<Trace> {
        let pod = self.about.remove(&id)?;
        let of_pod = self.traces.get_mut(&pod)?;
        let trace = of_pod.remove(&id);
        if of_pod.is_empty() {
            self.traces.remove(&pod);
        }
        trace
    }

    /// A pod is bound: what was asked about it there is the plugin's own business from now on.
    pub(super) fn bound(&mut self, pod: &PodKey, node: &str) {
        let Some(of_pod) = self.traces.remove(pod) else {
            return;
        };
        let (there, elsewhere): (BTreeMap<_, _>, BTreeMap<_, _>) = of_pod
            .into_iter()
            .partition(|(_, trace)| trace.node == node);
        for id in there.into_keys() {
            self.about.remove(&id);
        }
        if !elsewhere.is_empty() {
            self.traces.insert(pod.clone(), elsewhere);
        }
    }

    /// Nobody waits for this any more: the decision is undone.
    pub(super) fn give_up(&mut self, id: QuestionId) {
        self.open.remove(&id);
    }
}

/// A question has a number of its own; it is about a pod of ours that waits, or undoes an earlier one.
pub(super) fn ask(account: &mut Account, question: &Question) -> Option<Note> {
    let id = question.id;
    if id <= account.asked.last {
        return Some(format!("question {id:?} was asked before"));
    }
    account.asked.last = id;
    if let Some(undone) = question.undoes {
        let left = account.asked.take_trace(undone);
        let nothing = || format!("{id:?} undoes {undone:?}, which left nothing behind");
        return left.is_none().then(nothing);
    }
    let About::Pod { pod, node } = &question.about else {
        return None;
    };
    let found = account.pod(pod)?;
    if found.node.is_some() {
        // After the bind.
        return None;
    }
    let wrong = if !found.ours {
        "it is another scheduler's"
    } else if found.ordered.is_some() {
        "it is on its way already"
    } else if !account.has_node(node) {
        "it would go to a node that does not exist"
    } else {
        let gang = found.gang.clone();
        return note(&mut account.asked, question, (pod, node), gang);
    };
    Some(format!("{id:?} is asked about {pod}: {wrong}"))
}

fn note(
    asked: &mut AskedBook,
    question: &Question,
    (pod, node): (&PodKey, &str),
    gang: GangKey,
) -> Option<Note> {
    let (id, refused) = (question.id, false);
    asked.open.insert(id, Open { gang, refused });
    if !question.leaves_traces {
        return None;
    }
    let of_pod = asked.traces.entry(pod.clone()).or_default();
    let same = |trace: &Trace| {
        let (one, other) = (&trace.body, &question.body);
        (one.addressee(), one.point()) == (other.addressee(), other.point())
    };
    let before = of_pod.iter().find(|(_, trace)| same(trace));
    let before = before.map(|(before, _)| *before);
    let trace = Trace {
        node: node.to_owned(),
        body: question.body.clone(),
    };
    of_pod.insert(id, trace);
    asked.about.insert(id, pod.clone());
    let before = before?;
    Some(format!(
        "{id:?} is asked about {pod} before {before:?} was undone"
    ))
}

/// No member of a gang is bound while an answer about its decision is open, or was not yes.
pub(super) fn nothing_open(account: &Account, order: &Bind) -> Option<Note> {
    let gang = &account.pod(&order.pod)?.gang;
    let mut open = account.asked.open.iter();
    let (id, open) = open.find(|(_, open)| open.gang == *gang)?;
    let (pod, what) = (&order.pod, if open.refused { "refused" } else { "open" });
    Some(format!("bind of {pod}: {id:?} about {gang} is {what}"))
}
