//! Trying things on the state.
//!
//! A [`Statement`] borrows the state mutably, so nothing else can change it meanwhile. What it
//! did is taken back when it is dropped; [`Statement::commit`] consumes it and keeps everything.

use super::state::{ClusterState, NodeId, PodId};

/// A step that can be taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assumed {
    /// The pod that got a place.
    pub pod: PodId,
    /// The node it got.
    pub node: NodeId,
}

/// A point of a statement to return to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checkpoint(usize);

/// Steps on the state that count only once committed.
#[derive(Debug)]
pub struct Statement<'s> {
    state: &'s mut ClusterState,
    steps: Vec<Assumed>,
}

impl<'s> Statement<'s> {
    /// Nothing done yet.
    pub const fn new(state: &'s mut ClusterState) -> Self {
        Self {
            state,
            steps: Vec::new(),
        }
    }

    /// The state with everything done so far.
    #[must_use]
    pub const fn state(&self) -> &ClusterState {
        self.state
    }

    /// What was done so far.
    #[must_use]
    pub fn steps(&self) -> &[Assumed] {
        &self.steps
    }

    /// Puts a pod on a node.
    pub fn assume(&mut self, pod: PodId, node: NodeId) {
        self.state.assume(pod, node);
        self.steps.push(Assumed { pod, node });
    }

    /// Here, to return to.
    #[must_use]
    pub const fn checkpoint(&self) -> Checkpoint {
        Checkpoint(self.steps.len())
    }

    /// Takes back what was done since.
    pub fn roll_back(&mut self, to: Checkpoint) {
        while self.steps.len() > to.0 {
            if let Some(step) = self.steps.pop() {
                self.state.unassume(step.pod);
            }
        }
    }

    /// Keeps everything, and says what that is.
    #[must_use = "what was committed has to be carried out"]
    pub fn commit(mut self) -> Vec<Assumed> {
        std::mem::take(&mut self.steps)
    }
}

impl Drop for Statement<'_> {
    fn drop(&mut self) {
        self.roll_back(Checkpoint(0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::model::{Event, NodeSpec, PodKey, PodSpec};
    use crate::core::resources::Dimension;
    use crate::core::state::{Place, Standing};
    use crate::core::units::Time;

    fn state() -> (ClusterState, NodeId, PodId) {
        let mut state = ClusterState::default();
        let allocatable = vec![("pods".to_owned(), 10)];
        state.apply(
            Time::ZERO,
            Event::Node(NodeSpec {
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
        state.apply(Time::ZERO, Event::Pod(Box::new(pod)));
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
        assert_eq!(statement.commit(), [Assumed { pod, node }]);
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
        assert!(statement.steps().is_empty());
        assert_eq!(statement.commit(), []);
        state.audit().unwrap();
    }
}
