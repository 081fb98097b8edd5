//! Trying things on the state.
//!
//! A [`Statement`] borrows the state mutably, so nothing else can change it meanwhile. What it
//! did is taken back when it is dropped, in reverse order, with what plugins reserved for it;
//! [`Statement::commit`] makes a [`Committed`] of it, which can be taken back as a whole until it is
//! carried out.

mod reserved;

pub use reserved::Reserved;

use super::framework::{Ask, Profile, Refusal, ReserveVerdict, Spots};
use super::state::{ClusterState, GangId, Held, NodeId, Place, Pod, PodId, SlotId};
use muster_model::AskedPlace;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// A pod that got a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assumed {
    /// The pod.
    pub pod: PodId,
    /// Its node.
    pub node: NodeId,
}

impl Assumed {
    /// The same in names, while the pod is there.
    #[must_use]
    pub fn named(self, state: &ClusterState) -> Option<AskedPlace> {
        Some(AskedPlace {
            pod: state.pod(self.pod)?.key.clone(),
            node: state.nodes().name(self.node).to_owned(),
        })
    }
}

/// A step that can be taken back.
#[derive(Clone)]
enum Step {
    /// A pod was put on a node.
    Assumed(Assumed),
    /// A pod was thought away.
    Lifted(PodId),
    /// One that was thought away was put back.
    PutBack(PodId),
    /// A pod that holds this node waits for one, as far as the statement goes.
    Displaced(PodId, NodeId),
    /// No room is held for a pod any more, which was on this node.
    Withdrawn(PodId, NodeId),
    /// Other room is held for a gang's members that are not there yet than this.
    Held(GangId, Option<Held>),
    /// A pod is to have another slot than this when it comes to its node.
    Pointed(PodId, Option<SlotId>),
    /// A plugin was asked to reserve what all that takes.
    Reserved(Box<Reserved>),
}

impl Step {
    fn undo(&self, state: &mut ClusterState) {
        match self {
            Self::Assumed(step) => state.unassume(step.pod),
            Self::Lifted(pod) => state.put_back(*pod),
            Self::PutBack(pod) => state.lift(*pod),
            Self::Displaced(pod, node) => state.put_home(*pod, *node),
            Self::Withdrawn(pod, node) => state.nominate(*pod, *node),
            Self::Held(gang, held) => {
                state.hold_room(*gang, held.clone());
            }
            Self::Pointed(pod, slot) => state.point_back(*pod, *slot),
            Self::Reserved(reserved) => reserved.give_back(state),
        }
    }

    const fn assumed(&self) -> Option<Assumed> {
        match self {
            Self::Assumed(step) => Some(*step),
            _ => None,
        }
    }
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Assumed(step) => step.fmt(f),
            Self::Lifted(pod) => write!(f, "{pod:?} lifted"),
            Self::PutBack(pod) => write!(f, "{pod:?} put back"),
            Self::Displaced(pod, node) => write!(f, "{pod:?} off {node:?}"),
            Self::Withdrawn(pod, node) => write!(f, "{pod:?} withdrawn from {node:?}"),
            Self::Held(gang, held) => write!(f, "{held:?} was held for {gang:?}"),
            Self::Pointed(pod, slot) => write!(f, "{pod:?} was to have {slot:?}"),
            Self::Reserved(reserved) => reserved.fmt(f),
        }
    }
}

/// A plugin could not reserve what a decision needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotReserved {
    /// The pods and the nodes.
    pub places: Arc<[AskedPlace]>,
    /// The plugin.
    pub plugin: &'static str,
    /// Because of whom, and what it says.
    pub refusal: Refusal,
}

/// A plugin has somebody outside asked about a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The plugin.
    pub plugin: &'static str,
    /// What is asked.
    pub ask: Ask,
}

/// A point of a statement to return to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checkpoint(usize);

/// Steps on the state that count only once committed.
#[derive(Debug)]
pub struct Statement<'s> {
    state: &'s mut ClusterState,
    log: Vec<Step>,
    at_least: Option<u64>,
    asks: Vec<Asked>,
}

impl<'s> Statement<'s> {
    /// Nothing done yet.
    pub const fn new(state: &'s mut ClusterState) -> Self {
        Self {
            state,
            log: Vec::new(),
            at_least: None,
            asks: Vec::new(),
        }
    }

    /// The state with everything done so far.
    #[must_use]
    pub const fn state(&self) -> &ClusterState {
        self.state
    }

    /// Puts a pod on a node.
    pub fn assume(&mut self, pod: PodId, node: NodeId) {
        self.state.assume(pod, node);
        self.log.push(Step::Assumed(Assumed { pod, node }));
    }

    /// Says which slot a pod is to have when it comes to its node.
    pub fn point_to_slot(&mut self, pod: PodId, slot: SlotId) {
        let before = self.state.slot_meant_for(pod);
        if before != Some(slot) {
            self.state.point_back(pod, Some(slot));
            self.log.push(Step::Pointed(pod, before));
        }
    }

    /// Puts pods that were placed here on other nodes, all at once, so that they may exchange theirs.
    /// Who places has to know that they suit.
    pub fn reassign(&mut self, nodes: &BTreeMap<PodId, NodeId>) {
        let moved = |step: &Step| {
            let Assumed { pod, node } = step.assumed()?;
            let to = *nodes.get(&pod)?;
            (to != node).then_some(Assumed { pod, node: to })
        };
        let moves: Vec<(usize, Assumed)> = (self.log.iter().enumerate())
            .filter_map(|(index, step)| Some((index, moved(step)?)))
            .collect();
        for (_, to) in &moves {
            self.state.unassume(to.pod);
        }
        for (index, to) in moves {
            self.state.assume(to.pod, to.node);
            self.log[index] = Step::Assumed(to);
        }
    }

    /// Thinks a pod away. Only to plan: a statement that is committed has put everybody back.
    pub fn lift(&mut self, pod: PodId) {
        // What is on a node that is gone is in nobody's way, and the last to leave takes it along.
        let nodes = self.state.nodes().present();
        let there = |pod: &&Pod| pod.room().is_some_and(|node| nodes.contains(node));
        if self.state.pod(pod).filter(there).is_some() {
            self.state.lift(pod);
            self.log.push(Step::Lifted(pod));
        }
    }

    /// Puts back a pod that was thought away.
    pub fn put_back(&mut self, pod: PodId) {
        if self.state.pod(pod).is_some_and(|pod| pod.lifted) {
            self.state.put_back(pod);
            self.log.push(Step::PutBack(pod));
        }
    }

    /// Has a pod that holds a node wait for one, to be placed anew, whether it was thought away or not. Only to
    /// plan: a statement in which somebody is off its node is never committed.
    pub fn displace(&mut self, pod: PodId) {
        if let Some(Place::Bound(node)) = self.state.pod(pod).map(|pod| pod.place) {
            self.put_back(pod);
            self.state.displace(pod);
            self.log.push(Step::Displaced(pod, node));
        }
    }

    /// Holds this for a gang's members that are not there yet, or nothing; says what was held before.
    pub fn hold_room(&mut self, gang: GangId, held: Option<Held>) -> Option<Held> {
        let held = held.filter(|held| !held.on.is_empty());
        if held.is_none() && self.state.held_for(gang).is_none() {
            return None;
        }
        let before = self.state.hold_room(gang, held);
        self.log.push(Step::Held(gang, before.clone()));
        before
    }

    /// Thinks away what is held for a gang's members, as they are to get it; says what was for such as are not
    /// there yet.
    pub fn lift_claims(&mut self, gang: GangId) -> Option<Held> {
        let held = self.hold_room(gang, None);
        for (pod, node) in self.state.nominations(gang) {
            let there = self.state.nodes().present().contains(node);
            self.state.withdraw(pod);
            if there {
                self.log.push(Step::Withdrawn(pod, node));
            }
        }
        held
    }

    /// What was placed so far.
    pub fn assumed(&self) -> impl Iterator<Item = Assumed> {
        self.log.iter().filter_map(Step::assumed)
    }

    /// What was placed since a point.
    pub fn assumed_since(&self, since: Checkpoint) -> impl Iterator<Item = Assumed> {
        self.log.iter().skip(since.0).filter_map(Step::assumed)
    }

    /// Has the plugins reserve what the members of a gang need on their nodes, each for all of them at once.
    ///
    /// # Errors
    /// The first plugin that cannot. What it and those before it took is given back with the rest.
    pub fn reserve(&mut self, gang: GangId, profile: &Profile) -> Result<(), Box<NotReserved>> {
        if profile.reserve.is_empty() {
            return Ok(());
        }
        let places = self.assumed().filter_map(|step| step.named(self.state));
        let places: Arc<[AskedPlace]> = places.collect();
        for plugin in &profile.reserve {
            let reserved = Reserved {
                gang,
                places: Arc::clone(&places),
                plugin: Arc::clone(plugin),
            };
            self.log.push(Step::Reserved(Box::new(reserved)));
            let verdict = plugin.reserve(&Spots::named(self.state, gang, &places));
            let plugin = plugin.name();
            match verdict {
                ReserveVerdict::Done => {}
                ReserveVerdict::Ask(ask) => self.asks.push(Asked { plugin, ask }),
                ReserveVerdict::Refuse(refusal) => {
                    let no = NotReserved {
                        places,
                        plugin,
                        refusal,
                    };
                    return Err(Box::new(no));
                }
            }
        }
        Ok(())
    }

    /// Here, to return to.
    #[must_use]
    pub const fn checkpoint(&self) -> Checkpoint {
        Checkpoint(self.log.len())
    }

    /// Takes back what was done since.
    pub fn roll_back(&mut self, to: Checkpoint) {
        while self.log.len() > to.0 {
            if let Some(step) = self.log.pop() {
                step.undo(self.state);
            }
        }
    }

    /// Notes what placing these members loses at least, in worth; `None` where that is not known.
    pub const fn set_at_least(&mut self, worth: Option<u64>) {
        self.at_least = worth;
    }

    /// Keeps everything, for now.
    #[must_use = "what was committed has to be carried out or undone"]
    pub fn commit(mut self) -> Committed {
        let mut log = std::mem::take(&mut self.log);
        // What was thought away is back, and what was held is had.
        log.retain(|step| matches!(step, Step::Assumed(_) | Step::Reserved(_)));
        Committed {
            log,
            at_least: self.at_least,
            asks: std::mem::take(&mut self.asks),
        }
    }
}

impl Drop for Statement<'_> {
    fn drop(&mut self) {
        self.roll_back(Checkpoint(0));
    }
}

/// A decision that was made and is not carried out yet.
#[derive(Clone, Debug)]
#[must_use = "what was committed has to be carried out or undone"]
pub struct Committed {
    log: Vec<Step>,
    at_least: Option<u64>,
    asks: Vec<Asked>,
}

impl Committed {
    /// Who got which node, in the order of decision.
    pub fn assumed(&self) -> impl Iterator<Item = Assumed> {
        self.log.iter().filter_map(Step::assumed)
    }

    /// What any decision would have lost at least, in worth, where that is known.
    #[must_use]
    pub const fn at_least(&self) -> Option<u64> {
        self.at_least
    }

    /// What is to be asked before anything else.
    pub fn take_asks(&mut self) -> Vec<Asked> {
        std::mem::take(&mut self.asks)
    }

    /// Whether plugins reserved something for it, or were asked to.
    #[must_use]
    pub fn has_reserved(&self) -> bool {
        let reserved = |step: &Step| matches!(step, Step::Reserved(_));
        // Places come first.
        self.log.last().is_some_and(reserved)
    }

    /// It is carried out: what plugins reserved for it is theirs to be told of, if it does not come off.
    pub fn carried_out(self) -> impl Iterator<Item = Reserved> {
        self.log.into_iter().filter_map(|step| match step {
            Step::Reserved(reserved) => Some(*reserved),
            _ => None,
        })
    }

    /// Takes everything back.
    pub fn undo(self, state: &mut ClusterState) {
        for step in self.log.iter().rev() {
            step.undo(state);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::{Place, Standing};
    use muster_model::resources::Dimension;
    use muster_model::units::Time;
    use muster_model::{Event, NodeSpec, PodKey, PodSpec};

    fn state() -> (ClusterState, NodeId, PodId) {
        let mut state = ClusterState::default();
        let allocatable = vec![("pods".to_owned(), 10)];
        state.apply(
            Time::ZERO,
            Event::is(NodeSpec {
                name: "n".into(),
                allocatable,
                ..NodeSpec::default()
            }),
        );
        let key = PodKey {
            namespace: "a".into(),
            name: "p".into(),
            uid: "1".into(),
        };
        let pod = PodSpec {
            key: key.clone(),
            ours: true,
            ..PodSpec::default()
        };
        state.apply(Time::ZERO, Event::is(pod));
        let (node, pod) = (
            state.nodes().find("n").unwrap(),
            state.find_pod(&key).unwrap(),
        );
        (state, node, pod)
    }

    #[test]
    fn dropping_a_statement_leaves_the_state_as_it_was() {
        let (mut state, node, pod) = state();
        let mut statement = Statement::new(&mut state);
        statement.assume(pod, node);
        assert_eq!(statement.state().nodes().free(node, Dimension::PODS), 9);
        drop(statement);
        assert_eq!(state.nodes().free(node, Dimension::PODS), 10);
        assert_eq!(state.pod(pod).unwrap().place, Place::None);
        state.audit().unwrap();
    }

    #[test]
    fn a_committed_statement_stays() {
        let (mut state, node, pod) = state();
        let mut statement = Statement::new(&mut state);
        statement.assume(pod, node);
        let committed = statement.commit();
        assert!(committed.assumed().eq([Assumed { pod, node }]));
        let pod = state.pod(pod).unwrap();
        assert_eq!(state.standing(pod), Standing::Assumed);
        state.audit().unwrap();
    }

    #[test]
    fn rolling_back_returns_to_the_checkpoint() {
        let (mut state, node, pod) = state();
        let mut statement = Statement::new(&mut state);
        let start = statement.checkpoint();
        statement.assume(pod, node);
        statement.roll_back(start);
        assert_eq!(statement.commit().assumed().count(), 0);
        state.audit().unwrap();
    }

    #[test]
    fn pods_that_exchanged_their_nodes_are_taken_off_those() {
        let (mut state, node, pod) = state();
        let other = PodSpec {
            key: PodKey {
                name: "q".into(),
                uid: "2".into(),
                ..state.pod(pod).unwrap().key.clone()
            },
            ours: true,
            ..PodSpec::default()
        };
        let key = other.key.clone();
        state.apply(Time::ZERO, Event::is(other));
        let spec = NodeSpec {
            name: "m".into(),
            allocatable: vec![("pods".to_owned(), 10)],
            ..NodeSpec::default()
        };
        state.apply(Time::ZERO, Event::is(spec));
        let (second, empty) = (
            state.find_pod(&key).unwrap(),
            state.nodes().find("m").unwrap(),
        );
        let mut statement = Statement::new(&mut state);
        statement.assume(pod, node);
        statement.assume(second, empty);
        statement.reassign(&BTreeMap::from([(pod, empty), (second, node)]));
        let places: Vec<_> = statement.assumed().map(|one| (one.pod, one.node)).collect();
        assert_eq!(places, [(pod, empty), (second, node)]);
        statement.state().audit().unwrap();
        drop(statement);
        assert_eq!(state.nodes().free(empty, Dimension::PODS), 10);
        assert_eq!(state.pod(second).unwrap().place, Place::None);
        state.audit().unwrap();
    }

    #[test]
    fn what_was_committed_can_be_undone_until_it_is_carried_out() {
        let (mut state, node, pod) = state();
        let mut statement = Statement::new(&mut state);
        statement.assume(pod, node);
        let committed = statement.commit();
        committed.undo(&mut state);
        assert_eq!(state.nodes().free(node, Dimension::PODS), 10);
        assert_eq!(state.pod(pod).unwrap().place, Place::None);
        state.audit().unwrap();
    }
}
