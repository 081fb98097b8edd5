//! A decision that is held on its way out: what it waits for, and whether it is still right.

use crate::framework::MAX_WAIT;
use crate::state::{Closeness, ClusterState, GangId, NodeId, Place, Standing};
use crate::transaction::{Asked, Assumed, Committed};
use muster_model::units::Time;
use muster_model::{
    Answer, AskedPlace, Body, GangSpec, Point, Question, QuestionId, VOLUME_BINDING, VolumeTask,
    Why, counted,
};
use std::collections::BTreeSet;
use std::sync::Arc;

/// How many claims of a pod are named.
const NAMED_CLAIMS: usize = 3;

/// A decision between two points: its places are taken, and its binds have not been ordered.
#[derive(Clone, Debug)]
pub struct Hold {
    pub(in crate::actions) committed: Committed,
    /// The point that it has reached: what was asked there has to be answered before it goes on.
    pub(in crate::actions) point: Point,
    asked: Vec<Pending>,
    /// What the decision rests on, once it has waited.
    ground: Option<Ground>,
}

/// A question that was asked about this decision.
#[derive(Clone, Debug)]
struct Pending {
    question: Arc<Question>,
    plugin: &'static str,
    until: Time,
    answer: Option<Answer>,
}

/// What a decision rests on beside the room on its nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Ground {
    definition: Option<GangSpec>,
    nearness: Vec<Option<Closeness>>,
    max_hops: Option<u32>,
    /// Its gang holds more than its maximum: a member of a minimum is placed all the same.
    is_beyond: bool,
    /// The version of the nodes' facts.
    facts: u64,
}

impl Ground {
    fn of(state: &ClusterState, id: GangId) -> Self {
        let gang = &state[id];
        let of_subgroups = gang.subgroups.iter();
        let of_subgroups = of_subgroups.map(|one| state.closeness(gang, one).ok().flatten());
        let of_all = state.closeness_of_all(gang).ok().flatten();
        Self {
            definition: gang.definition().cloned(),
            nearness: of_subgroups.chain([of_all]).collect(),
            max_hops: state.max_hops(gang),
            is_beyond: gang.is_beyond_its_maximum(),
            facts: state.nodes().version(),
        }
    }
}

impl Hold {
    pub(in crate::actions) const fn new(committed: Committed) -> Self {
        Self {
            committed,
            point: Point::Reserve,
            asked: Vec::new(),
            ground: None,
        }
    }

    /// On how many nodes its places are.
    pub(super) fn nodes(&self) -> usize {
        let nodes: BTreeSet<NodeId> = self.committed.assumed().map(|one| one.node).collect();
        nodes.len()
    }

    /// Notes a question that is asked now.
    pub(in crate::actions) fn note(&mut self, question: Arc<Question>, asked: &Asked, now: Time) {
        self.asked.push(Pending {
            until: now + question.at_most.min(MAX_WAIT),
            question,
            plugin: asked.plugin,
            answer: None,
        });
    }

    /// Notes an answer; whether it is now known how it goes on.
    pub(in crate::actions) fn take(&mut self, id: QuestionId, answer: Answer) -> bool {
        let found = self.asked.iter_mut().find(|one| one.question.id == id);
        let Some(pending) = found.filter(|one| one.answer.is_none()) else {
            return false;
        };
        let refused = !matches!(answer, Answer::Yes(_));
        pending.answer = Some(answer);
        refused || !self.is_open()
    }

    fn open(&self) -> impl Iterator<Item = &Pending> {
        self.asked.iter().filter(|one| one.answer.is_none())
    }

    /// Whether answers are missing.
    pub(in crate::actions) fn is_open(&self) -> bool {
        self.open().next().is_some()
    }

    /// The questions that are not answered.
    pub(in crate::actions) fn open_ids(&self) -> impl Iterator<Item = QuestionId> {
        self.open().map(|one| one.question.id)
    }

    /// The questions that are not answered with yes.
    pub(in crate::actions) fn without_yes(&self) -> impl Iterator<Item = QuestionId> {
        let yes = |one: &&Pending| matches!(one.answer, Some(Answer::Yes(_)));
        let asked = self.asked.iter().filter(move |one| !yes(one));
        asked.map(|one| one.question.id)
    }

    /// When the first answer is late.
    pub(in crate::actions) fn late_at(&self) -> Option<Time> {
        self.open().map(|one| one.until).min()
    }

    /// The pods and their nodes, in the order of decision.
    pub(in crate::actions) fn steps(&self) -> Vec<Assumed> {
        self.committed.assumed().collect()
    }

    /// The same in names.
    pub(in crate::actions) fn places(&self, state: &ClusterState) -> Arc<[AskedPlace]> {
        let steps = self.committed.assumed();
        steps.filter_map(|step| step.named(state)).collect()
    }

    /// Notes what it rests on, when it begins to wait.
    pub(in crate::actions) fn begin_to_wait(&mut self, state: &ClusterState, gang: GangId) {
        self.ground = Some(Ground::of(state, gang));
    }

    /// Whether it has waited.
    pub(in crate::actions) const fn has_waited(&self) -> bool {
        self.ground.is_some()
    }

    /// Whether every pod is there and has its place, and what the decision rests on is as it was. Whether
    /// there is room is another question.
    pub(in crate::actions) fn stands(&self, state: &ClusterState, gang: GangId) -> bool {
        let Some(before) = &self.ground else {
            return true;
        };
        let nodes = state.nodes();
        let has_its_place = |step: Assumed| {
            let pod = state.pod(step.pod);
            pod.is_some_and(|pod| {
                pod.place == Place::Assumed(step.node) && state.standing(pod) == Standing::Assumed
            })
        };
        let same_node = |step: Assumed| {
            nodes.present().contains(step.node) && nodes.facts_version(step.node) <= before.facts
        };
        let mut steps = self.committed.assumed();
        let now = Ground::of(state, gang);
        let rest = (&now.definition, &now.nearness, now.max_hops);
        state[gang].missing() == 0
            && (before.is_beyond || !now.is_beyond)
            && rest == (&before.definition, &before.nearness, before.max_hops)
            && steps.all(|step| has_its_place(step) && same_node(step))
    }

    /// Who said no, or nothing in time.
    pub(in crate::actions) fn refusal(&self, now: Time) -> Option<Why> {
        let on = |one: &Pending| format!("{}: {}", one.question.about, one.plugin);
        let found = self.asked.iter().find_map(|one| match &one.answer {
            Some(Answer::No { message }) => {
                let words = format!("{}: {message}", on(one));
                Some(Why::new("Rejected", &words))
            }
            Some(Answer::Failed { message }) => {
                let words = format!("{} gave no answer: {message}", on(one));
                Some(Why::new("NoAnswer", &words))
            }
            Some(Answer::Unsent) => {
                let words = format!("{} was not asked", on(one));
                Some(Why::new("NoAnswer", &words))
            }
            Some(Answer::OfNodes(_) | Answer::Skip) => {
                let words = format!("{} was answered with other words", on(one));
                Some(Why::new("NoAnswer", &words))
            }
            Some(Answer::Yes(_)) | None => None,
        });
        let late = || {
            let one = self.open().find(|one| one.until <= now)?;
            let (body, within) = (&one.question.body, one.question.at_most);
            let (point, claims) = (body.point().as_str(), claims_of(body));
            let words = format!(
                "{} did not answer at {point} within {within}{claims}",
                on(one)
            );
            Some(Why::new("NoAnswer", &words))
        };
        found.or_else(late)
    }

    /// For whose answers it waits, in words.
    pub(in crate::actions) fn in_words(&self) -> Option<String> {
        let mut open = self.open();
        let first = open.next()?;
        let (point, plugin) = (first.question.body.point().as_str(), first.plugin);
        let (about, claims) = (&first.question.about, claims_of(&first.question.body));
        let others = match open.count() {
            0 => String::new(),
            some => format!(", and for {}", counted(some, "other plugin")),
        };
        Some(format!(
            "places are found; they wait for what {point} plugin {plugin} asked about {about}{claims}{others}"
        ))
    }

    /// What was asked and left something behind, or may have, the last first.
    pub(in crate::actions) fn traces(&self) -> impl Iterator<Item = &Arc<Question>> {
        let left = |one: &&Pending| {
            one.question.leaves_traces && one.answer.as_ref() != Some(&Answer::Unsent)
        };
        let asked = self.asked.iter().rev();
        asked.filter(left).map(|one| &one.question)
    }
}

/// ` (claim default/data)`, where that is what is asked for.
fn claims_of(body: &Body) -> String {
    let is_about_claims = body.addressee() == VOLUME_BINDING;
    let tasks = is_about_claims.then(|| VolumeTask::read(body.payload()));
    let tasks = tasks.flatten().unwrap_or_default();
    let named: Vec<String> = tasks
        .iter()
        .take(NAMED_CLAIMS)
        .map(|task| task.claim.key.to_string())
        .collect();
    match named.len() {
        0 => String::new(),
        1 => format!(" (claim {})", named[0]),
        some => format!(
            " (claims {}{})",
            named.join(", "),
            and_more(tasks.len() - some)
        ),
    }
}

/// ` and 3 others`.
fn and_more(count: usize) -> String {
    match count {
        0 => String::new(),
        some => format!(" and {}", counted(some, "other")),
    }
}

/// `pod a on node n`.
pub(in crate::actions) fn on_node(state: &ClusterState, step: Assumed) -> String {
    let pod = state.pod(step.pod).map_or("", |pod| &pod.key.name);
    format!("pod {pod} on node {}", state.nodes().name(step.node))
}
