//! The questions to the outside that count, and what they may have left behind.

use muster_model::{Answer, AskedPlace, GangKey, PodKey, Point, Question, QuestionId};
use std::collections::{BTreeMap, BTreeSet};

/// A question of a decision that stands, and is not answered with yes.
#[derive(Clone, Debug)]
struct Open {
    gang: GangKey,
    /// It was answered, and not with yes.
    refused: bool,
}

/// What a question may have left behind.
#[derive(Clone, Debug)]
struct Trace {
    node: String,
    /// Who was asked, and where.
    whom: String,
    point: Point,
}

/// The questions that count.
#[derive(Clone, Debug, Default)]
pub(crate) struct AskedBook {
    last: QuestionId,
    open: BTreeMap<QuestionId, Open>,
    /// What is not undone, until the pod is bound where it was meant to be.
    traces: BTreeMap<PodKey, BTreeMap<QuestionId, Trace>>,
    /// The pods of those.
    about: BTreeMap<QuestionId, BTreeSet<PodKey>>,
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
            for pod in self.about.get(&id).cloned().unwrap_or_default() {
                self.forget(id, &pod);
            }
        }
    }

    /// Forgets what a question may have left behind for a pod; whether there was anything.
    fn forget(&mut self, id: QuestionId, pod: &PodKey) -> bool {
        if let Some(pods) = self.about.get_mut(&id) {
            pods.remove(pod);
            if pods.is_empty() {
                self.about.remove(&id);
            }
        }
        let Some(of_pod) = self.traces.get_mut(pod) else {
            return false;
        };
        let left = of_pod.remove(&id).is_some();
        if of_pod.is_empty() {
            self.traces.remove(pod);
        }
        left
    }

    /// A pod is bound: what was asked about it there is the plugin's own business from now on.
    pub(crate) fn bound(&mut self, pod: &PodKey, node: &str) {
        let of_pod = self.traces.get(pod).into_iter().flatten();
        let there = of_pod.filter(|(_, trace)| trace.node == node);
        let there: Vec<QuestionId> = there.map(|(id, _)| *id).collect();
        for id in there {
            self.forget(id, pod);
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

    /// Takes down a question about a decision on a gang. A pod with the earlier question that it repeats and
    /// that was not undone there, if there is one.
    pub(crate) fn ask(
        &mut self,
        question: &Question,
        gang: GangKey,
    ) -> Option<(PodKey, QuestionId)> {
        let (id, refused) = (question.id, false);
        self.open.insert(id, Open { gang, refused });
        if !question.leaves_traces {
            return None;
        }
        let (whom, point) = (question.body.addressee(), question.body.point());
        let mut repeated = None;
        for AskedPlace { pod, node } in question.about.places() {
            let of_pod = self.traces.entry(pod.clone()).or_default();
            let same = |trace: &Trace| trace.point == point && trace.whom == whom;
            let before = of_pod.iter().find(|(_, trace)| same(trace));
            let before = before.map(|(before, _)| (pod.clone(), *before));
            repeated = repeated.or(before);
            let trace = Trace {
                node: node.clone(),
                whom: whom.to_owned(),
                point,
            };
            of_pod.insert(id, trace);
            self.about.entry(id).or_default().insert(pod.clone());
        }
        repeated
    }

    /// Forgets what a question left behind at some of its places; whether it left anything.
    pub(crate) fn undo(&mut self, id: QuestionId, places: &[AskedPlace]) -> bool {
        let left = places.iter().filter(|place| self.forget(id, &place.pod));
        left.count() > 0
    }

    /// A question about a decision on a gang that is not answered with yes, and whether it was refused.
    pub(crate) fn open_about(&self, gang: &GangKey) -> Option<(QuestionId, bool)> {
        let mut open = self.open.iter();
        let (id, open) = open.find(|(_, open)| open.gang == *gang)?;
        Some((*id, open.refused))
    }
}
