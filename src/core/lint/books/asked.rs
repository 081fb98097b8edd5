//! The questions to the outside that count, and what they may have left behind.

use muster_model::{Answer, Body, GangKey, PodKey, Question, QuestionId};
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
pub(crate) struct AskedBook {
    last: QuestionId,
    open: BTreeMap<QuestionId, Open>,
    /// What is not undone, until the pod is bound where it was meant to be.
    traces: BTreeMap<PodKey, BTreeMap<QuestionId, Trace>>,
    about: BTreeMap<QuestionId, PodKey>,
}

impl AskedBook {
    pub(crate) fn hear(&mut self, id: QuestionId, answer: &Answer) {
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
    pub(crate) fn bound(&mut self, pod: &PodKey, node: &str) {
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
    pub(crate) fn give_up(&mut self, id: QuestionId) {
        self.open.remove(&id);
    }

    /// Takes down the number of a question; whether it is a new one.
    pub(crate) fn number(&mut self, id: QuestionId) -> bool {
        let is_new = id > self.last;
        if is_new {
            self.last = id;
        }
        is_new
    }

    /// Takes down a question about a pod on a node, of a decision on a gang. The earlier one that it
    /// repeats and that was not undone, if there is one.
    pub(crate) fn ask(
        &mut self,
        question: &Question,
        (pod, node): (&PodKey, &str),
        gang: GangKey,
    ) -> Option<QuestionId> {
        let (id, refused) = (question.id, false);
        self.open.insert(id, Open { gang, refused });
        if !question.leaves_traces {
            return None;
        }
        let of_pod = self.traces.entry(pod.clone()).or_default();
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
        self.about.insert(id, pod.clone());
        before
    }

    /// Forgets what a question left behind; whether it left anything.
    pub(crate) fn undo(&mut self, id: QuestionId) -> bool {
        self.take_trace(id).is_some()
    }

    /// A question about a decision on a gang that is not answered with yes, and whether it was refused.
    pub(crate) fn open_about(&self, gang: &GangKey) -> Option<(QuestionId, bool)> {
        let mut open = self.open.iter();
        let (id, open) = open.find(|(_, open)| open.gang == *gang)?;
        Some((*id, open.refused))
    }
}
