//! What was asked outside and is not answered, and what has to be undone if a bind does not come off.

use super::hold::Hold;
use crate::framework::Ask;
use crate::state::{ClusterState, GangId};
use crate::transaction::Reserved;
use muster_model::{About, Answer, PodKey, Question, QuestionId};
use std::collections::{BTreeMap, BTreeSet};

/// The questions of this process.
#[derive(Clone, Debug, Default)]
pub struct Questions {
    /// How many were asked.
    asked: u64,
    /// Those for whose answer a decision waits.
    open: BTreeMap<QuestionId, GangId>,
    /// Gangs whose decision may go on, or comes to nothing.
    settled: BTreeSet<GangId>,
    /// To be asked with the next plan.
    outbox: Vec<Question>,
    /// What binds on their way leave behind outside if they fail, by pod.
    traces: BTreeMap<PodKey, Trace>,
}

/// What is to be given back and undone if a bind does not come off.
#[derive(Clone, Debug, Default)]
struct Trace {
    node: String,
    reserved: Vec<Reserved>,
    /// The last first.
    questions: Vec<Question>,
}

impl Questions {
    const fn next_id(&mut self) -> QuestionId {
        self.asked += 1;
        QuestionId(self.asked)
    }

    /// Words a question.
    pub(super) fn word(&mut self, about: About, ask: Ask) -> Question {
        Question {
            id: self.next_id(),
            about,
            body: ask.body,
            at_most: ask.at_most,
            leaves_traces: ask.leaves_traces,
            undoes: None,
        }
    }

    /// The question that undoes another.
    pub(super) fn undo(&mut self, question: &Question) -> Question {
        question.undone_by(self.next_id())
    }

    /// A gang waits for the answer to a question.
    pub(super) fn await_answer(&mut self, id: QuestionId, gang: GangId) {
        self.open.insert(id, gang);
    }

    /// Nobody waits for this answer any more.
    pub(super) fn forget(&mut self, id: QuestionId) {
        self.open.remove(&id);
    }

    /// An answer came; of no account where nobody waits for it.
    pub(super) fn take(
        &mut self,
        held: &mut BTreeMap<GangId, Hold>,
        id: QuestionId,
        answer: Answer,
    ) {
        let Some(gang) = self.open.remove(&id) else {
            return;
        };
        if held
            .get_mut(&gang)
            .is_some_and(|hold| hold.take(id, answer))
        {
            self.settled.insert(gang);
        }
    }

    /// A decision is to be looked at: its time is over.
    pub(super) fn is_due(&mut self, gang: GangId) {
        self.settled.insert(gang);
    }

    /// A gang is gone.
    pub(super) fn forget_gang(&mut self, gang: GangId) {
        self.settled.remove(&gang);
    }

    /// The gangs whose decision may go on, or comes to nothing, since this was last asked.
    pub(super) fn take_settled(&mut self) -> BTreeSet<GangId> {
        std::mem::take(&mut self.settled)
    }

    /// Whether there is anything to do.
    #[must_use]
    pub fn has_news(&self) -> bool {
        !self.settled.is_empty() || !self.outbox.is_empty()
    }

    /// How many answers decisions wait for.
    #[must_use]
    pub fn open_count(&self) -> usize {
        self.open.len()
    }

    /// Has something asked with the next plan, for whose answer nobody waits.
    pub fn post(&mut self, about: About, ask: Ask) {
        let question = self.word(about, ask);
        self.outbox.push(question);
    }

    /// What is to be asked with this plan.
    pub fn take_outbox(&mut self) -> Vec<Question> {
        std::mem::take(&mut self.outbox)
    }

    /// The binds of a decision are ordered: from now on each pod fails or succeeds by itself.
    pub(super) fn carried_out(&mut self, hold: Hold) {
        for question in hold.traces() {
            if let About::Pod { pod, node } = &question.about {
                let trace = self.trace(pod, node);
                trace.questions.push(question.clone());
            }
        }
        for reserved in hold.committed.carried_out() {
            let trace = self.trace(&reserved.pod, &reserved.node);
            trace.reserved.push(reserved);
        }
    }

    fn trace(&mut self, pod: &PodKey, node: &str) -> &mut Trace {
        let trace = self.traces.entry(pod.clone()).or_default();
        node.clone_into(&mut trace.node);
        trace
    }

    /// A bind is answered: the pod is bound to this node, or to none. What was reserved for another is
    /// given back, and what was asked is undone.
    pub fn bind_answered(&mut self, state: &ClusterState, pod: &PodKey, node: Option<&str>) {
        let Some(trace) = self.traces.remove(pod) else {
            return;
        };
        if node == Some(&trace.node) {
            return;
        }
        for question in &trace.questions {
            let undo = self.undo(question);
            self.outbox.push(undo);
        }
        for reserved in trace.reserved.iter().rev() {
            reserved.give_back(state);
        }
    }

    /// Compares with the decisions that are held.
    pub(super) fn audit(&self, held: &BTreeMap<GangId, Hold>) -> Result<(), String> {
        let mut anew = BTreeMap::new();
        for (gang, hold) in held {
            anew.extend(hold.open_ids().map(|id| (id, *gang)));
        }
        if anew != self.open {
            let open = &self.open;
            return Err(format!("answers are awaited to {open:?}, not to {anew:?}"));
        }
        if let Some(gang) = self.settled.iter().find(|gang| !held.contains_key(gang)) {
            return Err(format!("{gang:?} has answers, and nobody asked"));
        }
        Ok(())
    }
}
