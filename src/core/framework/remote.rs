//! A plugin in another process, as far as the core knows it: what it is asked, and what its answers are
//! worth. Where it is and how it is reached is nobody's matter here.

use crate::state::{ClusterState, GangId, PodId, Shape};
use muster_model::resources::Dimension;
use muster_model::units::Millis;
use muster_model::{AskedGang, AskedPod, PodLabels, RemotePoint};
use std::sync::Arc;

/// A plugin in another process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    /// What it is called.
    pub name: Arc<str>,
    /// At which points it is asked.
    pub points: Vec<RemotePoint>,
    /// How much its scores count.
    pub weight: i64,
    /// Whether scheduling goes on without it when it does not answer.
    pub ignorable: bool,
    /// How long one answer may take.
    pub at_most: Millis,
    /// For how long it may have a decision wait at Permit, asked again whenever it wants to be.
    pub permit_at_most: Millis,
    /// How long what it said of nodes is believed at most.
    pub holds: Millis,
    /// Whether what it says of a node depends on the pods there.
    pub depends_on_pods: bool,
    /// The labels of nodes that it is sent.
    pub node_labels: Vec<String>,
    /// It is asked only about pods that request one of these; without any, about all.
    pub resources: Vec<String>,
    /// Those of them of which it looks after whether nodes have them, for all pods.
    pub unchecked: Vec<String>,
}

impl Remote {
    /// The points at which it is asked about nodes.
    pub fn node_points(&self) -> impl Iterator<Item = RemotePoint> {
        let points = self.points.iter().copied();
        points.filter(|point| point.is_about_nodes())
    }

    /// Whether it may have a say about pods of a shape.
    #[must_use]
    pub fn may_concern(&self, shape: &Shape) -> bool {
        self.resources.is_empty()
            || !shape.unchecked.is_empty()
            || shape.request.iter().any(|(one, _)| !one.is_core())
    }

    /// Whether it has.
    #[must_use]
    pub fn concerns(&self, state: &ClusterState, shape: &Shape) -> bool {
        let dimensions = state.dimensions();
        let managed = |name: &str| self.resources.iter().any(|managed| managed == name);
        self.resources.is_empty()
            || shape.by_name().any(|(name, _)| managed(name))
            || shape
                .request
                .iter()
                .any(|(one, _)| managed(dimensions.name(one)))
    }
}

/// A gang as a plugin in another process is told of it.
#[must_use]
pub fn asked_gang(state: &ClusterState, id: GangId) -> AskedGang {
    let Some(gang) = state.gang(id) else {
        return AskedGang::default();
    };
    let uid = gang.definition().map(|spec| spec.uid.clone());
    AskedGang {
        key: gang.key.clone(),
        uid: uid.unwrap_or_default(),
        queue: state.queue_name(id).to_owned(),
        priority: gang.priority,
        min_available: gang.min_available(),
    }
}

/// A pod as a plugin in another process is told of it, with the node that it is to be on.
#[must_use]
pub fn asked_pod(state: &ClusterState, id: PodId, node: Option<&str>) -> Option<AskedPod> {
    let (pod, dimensions) = (state.pod(id)?, state.dimensions());
    let shape = state.shapes().get(pod.shape)?;
    let requests = shape.request.iter();
    let own = [Dimension::PODS, Dimension::NOWHERE];
    let requests = requests.filter(|(one, _)| !own.contains(one));
    let requests = requests.map(|(one, amount)| (dimensions.name(one).to_owned(), amount));
    Some(AskedPod {
        key: pod.key.clone(),
        labels: PodLabels::from_text(&pod.labels),
        requests: requests.chain(shape.by_name().cloned()).collect(),
        node: node.map(str::to_owned),
    })
}
