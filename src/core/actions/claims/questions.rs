//! What was asked outside and is not answered, and what has to be undone if a bind does not come off.

use super::Hold;
use crate::framework::{Ask, Profiles, Spots};
use crate::state::{ClusterState, GangId};
use crate::transaction::Reserved;
use muster_model::{About, Answer, AskedPlace, PodKey, ProfileId, Question, QuestionId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

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
    /// Decisions whose binds are on their way, by a number, where somebody has to know what comes of them.
    ordered: BTreeMap<u64, Ordered>,
    /// How many there were.
    orders: u64,
    /// Of which a pod is whose bind is not answered.
    by_pod: BTreeMap<PodKey, u64>,
}

/// A decision whose binds are on their way.
#[derive(Clone, Debug)]
struct Ordered {
    gang: GangId,
    profile: ProfileId,
    /// What is to be given back if a bind does not come off.
    reserved: Vec<Reserved>,
    /// What is to be undone then, the last first.
    questions: Vec<Arc<Question>>,
    /// The binds that are not answered, with their nodes.
    open: BTreeMap<PodKey, String>,
    /// The pods that are bound, in the order of the answers, each with the node where it is.
    bound: Vec<AskedPlace>,
}

impl Questions {
    const fn next_id(&mut self) -> QuestionId {
        self.asked += 1;
        QuestionId(self.asked)
    }

    /// Words a question about places of a decision, all of these unless it is about some only.
    pub(in crate::actions) fn word_about(
        &mut self,
        places: &[AskedPlace],
        mut ask: Ask,
    ) -> Question {
        let about = ask.places.take().unwrap_or_else(|| places.to_vec());
        self.word(About::Places(about), ask)
    }

    /// Words a question.
    pub(in crate::actions) fn word(&mut self, about: About, ask: Ask) -> Question {
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
    pub(in crate::actions) fn undo(&mut self, question: &Question) -> Question {
        question.undone_by(self.next_id())
    }

    /// A gang waits for the answer to a question.
    pub(in crate::actions) fn await_answer(&mut self, id: QuestionId, gang: GangId) {
        self.open.insert(id, gang);
    }

    /// Nobody waits for this answer any more.
    pub(in crate::actions) fn forget(&mut self, id: QuestionId) {
        self.open.remove(&id);
    }

    /// An answer came; of no account where nobody waits for it.
    pub(in crate::actions) fn take(
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
    pub(in crate::actions) fn is_due(&mut self, gang: GangId) {
        self.settled.insert(gang);
    }

    /// A gang is gone.
    pub(in crate::actions) fn forget_gang(&mut self, gang: GangId) {
        self.settled.remove(&gang);
    }

    /// The gangs whose decision may go on, or comes to nothing, since this was last asked.
    pub(in crate::actions) fn take_settled(&mut self) -> BTreeSet<GangId> {
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

    /// What is to be asked with this plan.
    pub fn take_outbox(&mut self) -> Vec<Question> {
        std::mem::take(&mut self.outbox)
    }

    /// The binds of a decision are ordered: from now on each pod fails or succeeds by itself. `is_told`:
    /// somebody wants to hear which of them are bound.
    pub(in crate::actions) fn carried_out(
        &mut self,
        state: &ClusterState,
        gang: GangId,
        hold: Hold,
        is_told: bool,
    ) {
        let questions: Vec<_> = hold.traces().cloned().collect();
        let leaves_something = !questions.is_empty() || hold.committed.has_reserved();
        if !leaves_something && !is_told {
            return;
        }
        let places = hold.places(state);
        let reserved: Vec<Reserved> = hold.committed.carried_out().collect();
        self.orders += 1;
        let pods = places.iter().map(|place| place.pod.clone());
        self.by_pod.extend(pods.map(|pod| (pod, self.orders)));
        let open = places.iter();
        let open = open.map(|place| (place.pod.clone(), place.node.clone()));
        let ordered = Ordered {
            gang,
            profile: state.profile_of(&state[gang]),
            reserved,
            questions,
            open: open.collect(),
            bound: Vec::new(),
        };
        self.ordered.insert(self.orders, ordered);
    }

    /// A bind is answered: the pod is bound to this node, or to none. What was reserved for another is
    /// given back, and what was asked is undone. When it was the last of its decision, those hear of it who
    /// want to know who is bound.
    pub fn bind_answered(
        &mut self,
        state: &ClusterState,
        profiles: Profiles<'_>,
        pod: &PodKey,
        node: Option<&str>,
    ) {
        let Some(number) = self.by_pod.remove(pod) else {
            return;
        };
        let Some(mut ordered) = self.ordered.remove(&number) else {
            return;
        };
        let place = ordered.open.remove_entry(pod);
        if let Some((pod, meant)) = place {
            if let Some(node) = node {
                let (pod, node) = (pod.clone(), node.to_owned());
                ordered.bound.push(AskedPlace { pod, node });
            }
            if node != Some(&meant) {
                let place = AskedPlace { pod, node: meant };
                self.came_to_nothing(state, &ordered, &place);
            }
        }
        if ordered.open.is_empty() {
            self.tell(state, profiles, &ordered);
        } else {
            self.ordered.insert(number, ordered);
        }
    }

    /// Undoes what was done for a place.
    fn came_to_nothing(&mut self, state: &ClusterState, ordered: &Ordered, place: &AskedPlace) {
        for question in &ordered.questions {
            if question.about.places().contains(place) {
                self.undo_at(question, place);
            }
        }
        for reserved in ordered.reserved.iter().rev() {
            reserved.give_back_for(state, &place.pod);
        }
    }

    /// Has a question undone at a place, with others of its places that are to be undone with the next plan.
    fn undo_at(&mut self, question: &Question, place: &AskedPlace) {
        let mut outbox = self.outbox.iter_mut();
        match outbox.find(|one| one.undoes == Some(question.id)) {
            Some(undo) => undo.undo_also_at(question, place),
            None => {
                let undo = question.undone_at(self.next_id(), place);
                self.outbox.push(undo);
            }
        }
    }

    /// Every bind of a decision is answered.
    fn tell(&mut self, state: &ClusterState, profiles: Profiles<'_>, ordered: &Ordered) {
        if ordered.bound.is_empty() {
            return;
        }
        for plugin in &profiles.get(ordered.profile).post_bind {
            let ask = plugin.post_bind(&Spots::named(state, ordered.gang, &ordered.bound));
            if let Some(ask) = ask {
                let question = self.word_about(&ordered.bound, ask);
                self.outbox.push(question);
            }
        }
    }

    /// Compares with the decisions that are held.
    pub(in crate::actions) fn audit(&self, held: &BTreeMap<GangId, Hold>) -> Result<(), String> {
        let mut anew = BTreeMap::new();
        for (gang, hold) in held {
            anew.extend(hold.open_ids().map(|id| (id, *gang)));
        }
        if anew != self.open {
            let open = &self.open;
            return Err(format!("answers are awaited to {open:?}, not to {anew:?}"));
        }
        let open = self.ordered.iter();
        let open = open.flat_map(|(number, one)| one.open.keys().map(move |pod| (pod, number)));
        if !open
            .collect::<BTreeMap<_, _>>()
            .into_iter()
            .eq(&self.by_pod)
        {
            return Err("binds are on their way for others than are noted".to_owned());
        }
        if let Some(gang) = self.settled.iter().find(|gang| !held.contains_key(gang)) {
            return Err(format!("{gang:?} has answers, and nobody asked"));
        }
        Ok(())
    }
}
