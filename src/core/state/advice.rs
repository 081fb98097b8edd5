//! What plugins in other processes said of nodes, and what they are being asked.
//!
//! What was said is about one gang, one shape of its pods and one plugin. It holds until its time, and of
//! a node until that node's labels, taints or cordon change: a node that was not there when the plugin was
//! asked does not suit, for nobody knows. Nothing here decides, and nothing is asked here.

use super::ids::{GangId, NodeId};
use super::node_set::NodeSet;
use super::nodes::Nodes;
use muster_model::units::{Millis, Time};
use muster_model::{Answer, NodeVerdicts, QuestionId, RemoteAnswer, RemotePoint};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is known of a gang's plugins: by the serial number of a shape and the plugin's place in the profile.
type OfGang = BTreeMap<(u64, usize), Advice>;

/// Whom a question is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct About {
    gang: GangId,
    shape: u64,
    plugin: usize,
    point: RemotePoint,
}

/// What one plugin says to one gang about nodes for pods of one shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// The nodes' version when it was asked.
    version: u64,
    /// How far the log of touched nodes was.
    touched: u64,
    /// When it was asked.
    asked_at: Time,
    /// Until when what it says is believed; while something is open, until when that is waited for.
    until: Time,
    /// The questions that are open.
    open: Vec<QuestionId>,
    /// The nodes that it was asked about.
    asked: NodeSet,
    /// Those of them that suit.
    fit: NodeSet,
    /// Those that do not, and why; without a reason, the plugin gave none.
    unfit: BTreeMap<NodeId, Arc<str>>,
    /// What nodes are worth, up to 100.
    scores: BTreeMap<NodeId, i64>,
    /// Why there is no answer of use.
    failure: Option<Arc<str>>,
    /// How often in a row there was none.
    failures: u32,
    /// For how long an answer is believed.
    holds: Millis,
    /// When it was complete, of all that ever were; and how much there is in it.
    complete: Option<(u64, usize)>,
}

/// No longer than this until a plugin that failed is asked again for the same gang.
const LONGEST_REST: Millis = Millis(30_000);
/// The sets of so many nodes take the memory of what is said of one.
const NODES_IN_ONE: usize = 128;
/// So long at first.
const FIRST_REST: Millis = Millis(1_000);

/// What it says of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said<'a> {
    /// It suits.
    Fit,
    /// It does not, in these words.
    Unfit(&'a str),
    /// It was not asked about this node as it is now.
    Nothing,
}

impl Advice {
    /// Whether nothing is open any more.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.open.is_empty()
    }

    /// Until when it holds, or is waited for.
    #[must_use]
    pub const fn until(&self) -> Time {
        self.until
    }

    /// When it was asked.
    #[must_use]
    pub const fn asked_at(&self) -> Time {
        self.asked_at
    }

    /// Whether the nodes are not what they were when it was asked.
    #[must_use]
    pub const fn is_of_other_nodes(&self, nodes: &Nodes) -> bool {
        nodes.version() != self.version
    }

    /// Whether pods came or went on any node since it was asked.
    #[must_use]
    pub const fn is_of_other_pods(&self, nodes: &Nodes) -> bool {
        nodes.touched().end() != self.touched
    }

    /// Whether it keeps pods off some node.
    #[must_use]
    pub fn refuses_some(&self) -> bool {
        !self.unfit.is_empty()
    }

    /// Why there is no answer of use.
    #[must_use]
    pub fn failure(&self) -> Option<&Arc<str>> {
        self.failure.as_ref()
    }

    /// How often in a row there was none.
    #[must_use]
    pub const fn failures(&self) -> u32 {
        self.failures
    }

    /// What it says of a node.
    #[must_use]
    pub fn of(&self, nodes: &Nodes, node: NodeId) -> Said<'_> {
        if !self.asked.contains(node) || nodes.facts_version(node) > self.version {
            return Said::Nothing;
        }
        match self.unfit.get(&node) {
            Some(words) => Said::Unfit(words),
            None => Said::Fit,
        }
    }

    /// Keeps the nodes that suit.
    pub fn retain(&self, all: &Nodes, nodes: &mut NodeSet) {
        nodes.intersect(&self.fit);
        if self.is_of_other_nodes(all) {
            nodes.retain(|node| all.facts_version(node) <= self.version);
        }
    }

    /// What a node is worth to it.
    #[must_use]
    pub fn score(&self, node: NodeId) -> i64 {
        self.scores.get(&node).copied().unwrap_or(0)
    }

    /// How much there is in it: what is said of one node counts as one, and so do some hundred nodes of which it is
    /// noted only whether they suit.
    fn weight(&self) -> usize {
        1 + self.unfit.len() + self.scores.len() + self.asked.room() / NODES_IN_ONE
    }

    fn hear(&mut self, nodes: &Nodes, answer: Answer) {
        let answer = match answer {
            Answer::OfNodes(answer) => answer,
            Answer::Yes(_) => RemoteAnswer::Nodes(NodeVerdicts::default()),
            Answer::No { message } => RemoteAnswer::Nodes(NodeVerdicts {
                none: Some(message),
                ..NodeVerdicts::default()
            }),
            Answer::Skip => RemoteAnswer::Skip,
            Answer::Failed { message } => RemoteAnswer::Failed(message),
            Answer::Unsent => RemoteAnswer::Failed("it was not asked in time".to_owned()),
        };
        match answer {
            RemoteAnswer::Nodes(verdicts) => self.hear_verdicts(nodes, verdicts),
            RemoteAnswer::Scores(scores) => {
                let scores = scores.into_iter();
                let known = scores.filter_map(|(name, score)| Some((nodes.find(&name)?, score)));
                self.scores.extend(known);
            }
            RemoteAnswer::Failed(words) => self.failure = Some(words.into()),
            // Nothing that is said of nodes.
            RemoteAnswer::Allow
            | RemoteAnswer::Deny(_)
            | RemoteAnswer::Wait(_)
            | RemoteAnswer::Skip => {
                self.failure = Some("its answer says nothing of nodes".into());
            }
        }
    }

    fn hear_verdicts(&mut self, nodes: &Nodes, verdicts: NodeVerdicts) {
        // Equal words are kept once.
        let mut words: BTreeMap<String, Arc<str>> = BTreeMap::new();
        for (name, said) in verdicts.refused {
            let Some(node) = nodes.find(&name) else {
                continue;
            };
            let kept = words
                .entry(said)
                .or_insert_with_key(|said| said.as_str().into());
            self.refuse(node, kept);
        }
        if let Some(said) = verdicts.none {
            let said: Arc<str> = said.into();
            self.refuse_but(&NodeSet::default(), &said);
        }
        if let Some((only, said)) = verdicts.only {
            let said: Arc<str> = said.into();
            let only: NodeSet = only.iter().filter_map(|name| nodes.find(name)).collect();
            self.refuse_but(&only, &said);
        }
    }

    fn refuse_but(&mut self, only: &NodeSet, words: &Arc<str>) {
        let others: Vec<NodeId> = self
            .asked
            .iter()
            .filter(|node| !only.contains(*node))
            .collect();
        others.into_iter().for_each(|node| self.refuse(node, words));
    }

    /// What was said first of a node counts.
    fn refuse(&mut self, node: NodeId, words: &Arc<str>) {
        self.fit.remove(node);
        self.unfit.entry(node).or_insert_with(|| Arc::clone(words));
    }

    fn settle(&mut self, now: Time) {
        if self.failure.is_none() {
            self.failures = 0;
            self.until = now + self.holds;
            return;
        }
        self.failures = self.failures.saturating_add(1);
        let doubled = FIRST_REST.0 << (self.failures - 1).min(16);
        self.until = now + Millis(doubled.min(LONGEST_REST.0));
    }
}

/// What is asked about nodes.
#[derive(Clone, Debug)]
pub struct Asking {
    /// The gang.
    pub gang: GangId,
    /// The serial number of the shape of its pods.
    pub shape: u64,
    /// The plugin's place in the profile.
    pub plugin: usize,
    /// The nodes.
    pub nodes: NodeSet,
    /// Until when the answers are waited for.
    pub until: Time,
    /// For how long they are believed.
    pub holds: Millis,
}

/// What was said to whom.
#[derive(Clone, Debug, Default)]
pub(super) struct AdviceBook {
    by_gang: BTreeMap<GangId, OfGang>,
    open: BTreeMap<QuestionId, About>,
    /// Gangs whose plugins are to be asked when others have their answers, in the order in which they were
    /// tried.
    line: BTreeMap<u64, GangId>,
    /// Where each is in it.
    places: BTreeMap<GangId, u64>,
    /// How many ever were.
    lined_up: u64,
    /// What is complete, in the order in which it came to be.
    complete: BTreeMap<u64, (GangId, u64, usize)>,
    /// How many ever were.
    completed: u64,
    /// How much there is in all that is complete.
    weight: usize,
}

/// So many questions about nodes are open at once; then gangs wait for their turn.
const MAX_OPEN: usize = 256;
/// Of so many nodes something may be known, over all gangs, shapes and plugins; what was said first is forgotten for
/// more, and asked again when it is needed: about 150 MB.
const MAX_SAID: usize = 4 << 20;

impl AdviceBook {
    pub(super) fn of(&self, gang: GangId, shape: u64, plugin: usize) -> Option<&Advice> {
        self.by_gang.get(&gang)?.get(&(shape, plugin))
    }

    /// A plugin is asked at some points; what it said before is forgotten, and so is what was open.
    pub(super) fn ask(
        &mut self,
        now: Time,
        known: &Nodes,
        asking: Asking,
        questions: impl IntoIterator<Item = (QuestionId, RemotePoint)>,
    ) {
        let Asking {
            gang,
            shape,
            plugin,
            nodes,
            until,
            holds,
        } = asking;
        self.forget_open(gang, shape, plugin);
        let before = self.of(gang, shape, plugin);
        let mut advice = Advice {
            version: known.version(),
            touched: known.touched().end(),
            asked_at: now,
            until,
            open: Vec::new(),
            fit: nodes.clone(),
            asked: nodes,
            unfit: BTreeMap::new(),
            scores: BTreeMap::new(),
            failure: None,
            failures: before.map_or(0, Advice::failures),
            holds,
            complete: None,
        };
        for (id, point) in questions {
            advice.open.push(id);
            let about = About {
                gang,
                shape,
                plugin,
                point,
            };
            self.open.insert(id, about);
        }
        let of_gang = self.by_gang.entry(gang).or_default();
        let before = of_gang.insert((shape, plugin), advice);
        self.forget_weight(before.and_then(|before| before.complete));
    }

    fn forget_weight(&mut self, complete: Option<(u64, usize)>) {
        if let Some((number, weight)) = complete {
            self.complete.remove(&number);
            self.weight -= weight;
        }
    }

    /// All that was asked is answered, or is not waited for any more. What was complete first makes room for it.
    fn settle(&mut self, now: Time, gang: GangId, shape: u64, plugin: usize) {
        let of_gang = self.by_gang.get_mut(&gang);
        let Some(advice) = of_gang.and_then(|all| all.get_mut(&(shape, plugin))) else {
            return;
        };
        advice.settle(now);
        self.completed += 1;
        let weight = advice.weight();
        let before = advice.complete.replace((self.completed, weight));
        self.complete.insert(self.completed, (gang, shape, plugin));
        self.weight += weight;
        self.forget_weight(before);
        self.make_room(MAX_SAID);
    }

    /// Forgets what was complete first while there is more than so much; never what was last.
    fn make_room(&mut self, most: usize) {
        while self.weight > most && self.complete.len() > 1 {
            let Some((_, (gang, shape, plugin))) = self.complete.pop_first() else {
                break;
            };
            self.forget_one(gang, shape, plugin);
        }
    }

    fn forget_one(&mut self, gang: GangId, shape: u64, plugin: usize) {
        let Some(of_gang) = self.by_gang.get_mut(&gang) else {
            return;
        };
        let gone = of_gang.remove(&(shape, plugin));
        if of_gang.is_empty() {
            self.by_gang.remove(&gang);
        }
        self.forget_weight(gone.and_then(|gone| gone.complete));
    }

    /// How much is kept of what was said.
    pub(super) const fn len(&self) -> usize {
        self.weight
    }

    /// Takes an answer. Says whom it is about, if all that was asked for that gang is answered now.
    pub(super) fn answer(
        &mut self,
        now: Time,
        nodes: &Nodes,
        id: QuestionId,
        answer: Answer,
    ) -> Option<GangId> {
        let about = self.open.remove(&id)?;
        let of_gang = self.by_gang.get_mut(&about.gang)?;
        let advice = of_gang.get_mut(&(about.shape, about.plugin))?;
        advice.hear(nodes, answer);
        advice.open.retain(|open| *open != id);
        let answered = advice.open.is_empty();
        let all = of_gang.values().all(Advice::is_complete);
        if answered {
            self.settle(now, about.gang, about.shape, about.plugin);
        }
        all.then_some(about.gang)
    }

    /// No answer came in time: nothing more is waited for.
    pub(super) fn give_up(&mut self, now: Time, gang: GangId, shape: u64, plugin: usize) {
        self.forget_open(gang, shape, plugin);
        let of_gang = self.by_gang.get_mut(&gang);
        if let Some(advice) = of_gang.and_then(|all| all.get_mut(&(shape, plugin))) {
            advice.failure = Some("no answer came in time".into());
            self.settle(now, gang, shape, plugin);
        }
    }

    fn forget_open(&mut self, gang: GangId, shape: u64, plugin: usize) {
        let of_gang = self.by_gang.get_mut(&gang);
        if let Some(advice) = of_gang.and_then(|all| all.get_mut(&(shape, plugin))) {
            for id in advice.open.drain(..) {
                self.open.remove(&id);
            }
        }
    }

    /// Whether a gang may have its plugins asked now; else it is in line from now on.
    pub(super) fn has_turn(&mut self, gang: GangId) -> bool {
        if self.open.len() < MAX_OPEN {
            self.leave_line(gang);
            return true;
        }
        if !self.places.contains_key(&gang) {
            self.lined_up += 1;
            self.line.insert(self.lined_up, gang);
            self.places.insert(gang, self.lined_up);
        }
        false
    }

    fn leave_line(&mut self, gang: GangId) {
        if let Some(place) = self.places.remove(&gang) {
            self.line.remove(&place);
        }
    }

    /// Whose turn it is now that there is an answer: as many as may be asked about.
    pub(super) fn next_in_line(&mut self) -> Vec<GangId> {
        let free = MAX_OPEN.saturating_sub(self.open.len());
        let next: Vec<GangId> = self.line.values().take(free).copied().collect();
        next.iter().for_each(|gang| self.leave_line(*gang));
        next
    }

    /// Nobody asks on behalf of a gang any more, and nobody needs what was said to it.
    pub(super) fn forget(&mut self, gang: GangId) {
        self.leave_line(gang);
        self.keep_only(gang, |_| false);
    }

    /// Nobody needs what was said to a gang any more, but about these shapes.
    pub(super) fn keep_only(&mut self, gang: GangId, shapes: impl Fn(u64) -> bool) {
        let Some(of_gang) = self.by_gang.get_mut(&gang) else {
            return;
        };
        let gone = of_gang.extract_if(.., |(shape, _), _| !shapes(*shape));
        let gone: Vec<Advice> = gone.map(|(_, advice)| advice).collect();
        if of_gang.is_empty() {
            self.by_gang.remove(&gang);
        }
        for advice in gone {
            for id in &advice.open {
                self.open.remove(id);
            }
            self.forget_weight(advice.complete);
        }
    }

    /// Whether what is open is what each piece of advice waits for.
    pub(super) fn audit(&self) -> Result<(), String> {
        for (gang, of_gang) in &self.by_gang {
            for ((shape, plugin), advice) in of_gang {
                let about = (*gang, *shape, *plugin);
                let is_open = |id: &QuestionId| {
                    let open = self.open.get(id);
                    open.is_some_and(|one| (one.gang, one.shape, one.plugin) == about)
                };
                if !advice.open.iter().all(is_open) {
                    let noted = &advice.open;
                    return Err(format!("{gang:?}: {noted:?} are not all open"));
                }
            }
        }
        let complete = self.by_gang.values().flat_map(BTreeMap::values);
        let complete: Vec<_> = complete.filter_map(|one| one.complete).collect();
        let weight: usize = complete.iter().map(|(_, weight)| weight).sum();
        if (complete.len(), weight) != (self.complete.len(), self.weight) {
            let noted = (self.complete.len(), self.weight);
            return Err(format!(
                "of what plugins said {noted:?} is kept, not {:?}",
                (complete.len(), weight)
            ));
        }
        let placed = |(place, gang): (&u64, &GangId)| self.places.get(gang) == Some(place);
        if self.line.len() != self.places.len() || !self.line.iter().all(placed) {
            return Err("gangs are in line for questions twice, or nowhere".to_owned());
        }
        let all = self.by_gang.values().flat_map(BTreeMap::values);
        let open: usize = all.map(|one| one.open.len()).sum();
        if open != self.open.len() {
            let kept = self.open.len();
            return Err(format!("{kept} questions about nodes are open, not {open}"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::ids::Id;
    use super::*;
    use muster_model::NodeSpec;
    use muster_model::resources::Dimensions;

    fn nodes(names: &[&str]) -> Nodes {
        let (mut nodes, mut dimensions) = (Nodes::default(), Dimensions::default());
        for name in names {
            let spec = NodeSpec {
                name: (*name).to_owned(),
                ..NodeSpec::default()
            };
            nodes.upsert(spec, &mut dimensions);
        }
        nodes
    }

    const GANG: usize = 3;

    fn gang() -> GangId {
        GangId::from_index(GANG)
    }

    fn asked(nodes: &Nodes, questions: &[(u64, RemotePoint)]) -> AdviceBook {
        let mut book = AdviceBook::default();
        let asking = Asking {
            gang: gang(),
            shape: 1,
            plugin: 0,
            nodes: nodes.present().clone(),
            until: Time(5_000),
            holds: Millis(10_000),
        };
        let questions = questions
            .iter()
            .map(|(id, point)| (QuestionId(*id), *point));
        book.ask(Time(0), nodes, asking, questions);
        book
    }

    fn refuses(node: &str) -> Answer {
        Answer::OfNodes(RemoteAnswer::Nodes(NodeVerdicts {
            refused: vec![(node.to_owned(), "no licence".to_owned())],
            ..NodeVerdicts::default()
        }))
    }

    #[test]
    fn a_gang_is_told_of_when_all_is_answered_and_the_answer_holds_for_its_time() {
        let nodes = nodes(&["a", "b"]);
        let mut book = asked(&nodes, &[(1, RemotePoint::Filter), (2, RemotePoint::Score)]);
        book.audit().unwrap();
        let scores = Answer::OfNodes(RemoteAnswer::Scores(vec![("b".to_owned(), 7)]));
        assert_eq!(book.answer(Time(10), &nodes, QuestionId(2), scores), None);
        let done = book.answer(Time(20), &nodes, QuestionId(1), refuses("a"));
        assert_eq!(done, Some(gang()));
        let advice = book.of(gang(), 1, 0).unwrap();
        let (a, b) = (nodes.find("a").unwrap(), nodes.find("b").unwrap());
        assert_eq!(advice.of(&nodes, a), Said::Unfit("no licence"));
        assert_eq!((advice.of(&nodes, b), advice.score(b)), (Said::Fit, 7));
        assert_eq!(advice.until(), Time(10_020));
        book.audit().unwrap();
        // Nobody waits for it any more.
        let again = book.answer(Time(30), &nodes, QuestionId(1), refuses("b"));
        assert_eq!(again, None);
        assert_eq!(book.of(gang(), 1, 0).unwrap().of(&nodes, b), Said::Fit);
    }

    #[test]
    fn nothing_is_known_of_a_node_that_came_or_changed_since() {
        let mut nodes = nodes(&["a", "b"]);
        let mut book = asked(&nodes, &[(1, RemotePoint::Filter)]);
        book.answer(Time(10), &nodes, QuestionId(1), refuses("a"));
        let mut dimensions = Dimensions::default();
        for name in ["b", "c"] {
            let spec = NodeSpec {
                name: name.to_owned(),
                unschedulable: true,
                ..NodeSpec::default()
            };
            nodes.upsert(spec, &mut dimensions);
        }
        let advice = book.of(gang(), 1, 0).unwrap();
        assert!(advice.is_of_other_nodes(&nodes));
        for (name, said) in [
            ("a", Said::Unfit("no licence")),
            ("b", Said::Nothing),
            ("c", Said::Nothing),
        ] {
            assert_eq!(advice.of(&nodes, nodes.find(name).unwrap()), said, "{name}");
        }
    }

    #[test]
    fn only_and_none_are_said_of_all_other_nodes() {
        let nodes = nodes(&["a", "b"]);
        let verdict = |only: Option<&str>, none: Option<&str>| {
            let mut book = asked(&nodes, &[(1, RemotePoint::PreFilter)]);
            let answer = Answer::OfNodes(RemoteAnswer::Nodes(NodeVerdicts {
                none: none.map(str::to_owned),
                only: only.map(|name| (vec![name.to_owned()], "elsewhere".to_owned())),
                refused: Vec::new(),
            }));
            book.answer(Time(10), &nodes, QuestionId(1), answer);
            let advice = book.of(gang(), 1, 0).unwrap();
            ["a", "b"].map(|name| match advice.of(&nodes, nodes.find(name).unwrap()) {
                Said::Unfit(words) => words.to_owned(),
                other => format!("{other:?}"),
            })
        };
        assert_eq!(verdict(Some("b"), None), ["elsewhere", "Fit"]);
        assert_eq!(verdict(None, Some("no")), ["no", "no"]);
        assert_eq!(verdict(None, None), ["Fit", "Fit"]);
    }

    #[test]
    fn one_that_fails_again_and_again_is_asked_ever_more_rarely() {
        let nodes = nodes(&["a"]);
        let mut book = asked(&nodes, &[(0, RemotePoint::Filter)]);
        let mut rests = Vec::new();
        for id in 0..8 {
            let failed = Answer::Failed {
                message: "it hangs".to_owned(),
            };
            assert_eq!(
                book.answer(Time(0), &nodes, QuestionId(id), failed),
                Some(gang())
            );
            let advice = book.of(gang(), 1, 0).unwrap();
            assert_eq!(advice.failure().map(|words| &**words), Some("it hangs"));
            rests.push(advice.until().0 / 1_000);
            let asking = Asking {
                gang: gang(),
                shape: 1,
                plugin: 0,
                nodes: nodes.present().clone(),
                until: Time(5_000),
                holds: Millis(10_000),
            };
            book.ask(
                Time(0),
                &nodes,
                asking,
                [(QuestionId(id + 1), RemotePoint::Filter)],
            );
        }
        assert_eq!(rests, [1, 2, 4, 8, 16, 30, 30, 30]);
    }

    #[test]
    fn what_is_not_needed_any_more_is_forgotten() {
        let nodes = nodes(&["a"]);
        let mut book = asked(&nodes, &[(1, RemotePoint::Filter)]);
        book.keep_only(gang(), |shape| shape != 1);
        book.audit().unwrap();
        assert_eq!(book.of(gang(), 1, 0), None);
        assert_eq!(
            book.answer(Time(1), &nodes, QuestionId(1), refuses("a")),
            None
        );
    }

    #[test]
    fn what_was_said_first_is_forgotten_where_too_much_is_kept() {
        let names: Vec<String> = (0..1_000).map(|index| format!("n{index}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let nodes = nodes(&names);
        let mut book = AdviceBook::default();
        let gangs = (0..20).map(GangId::from_index);
        for (id, gang) in (0..).zip(gangs.clone()) {
            let asking = Asking {
                gang,
                shape: 1,
                plugin: 0,
                nodes: nodes.present().clone(),
                until: Time(5_000),
                holds: Millis(10_000),
            };
            let question = (QuestionId(id), RemotePoint::PreFilter);
            book.ask(Time(0), &nodes, asking, [question]);
            let no = Answer::No {
                message: "no".to_owned(),
            };
            assert_eq!(book.answer(Time(1), &nodes, question.0, no), Some(gang));
        }
        assert!((20_000..21_000).contains(&book.len()), "{}", book.len());
        for (most, known) in [(21_000, 20), (5_500, 5), (0, 1)] {
            book.make_room(most);
            book.audit().unwrap();
            let known_of: Vec<GangId> = book.by_gang.keys().copied().collect();
            let last: Vec<GangId> = gangs.clone().skip(20 - known).collect();
            assert_eq!(known_of, last);
        }
        gangs.for_each(|gang| book.forget(gang));
        let left = (book.len(), book.by_gang.len(), book.complete.len());
        assert_eq!(left, (0, 0, 0));
    }
}
