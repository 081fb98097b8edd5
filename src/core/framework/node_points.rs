//! The points that look at one pod and the nodes: from PreFilter to Score.

use super::{Plugin, Reason, Store};
use crate::state::{ClusterState, ConstraintsId, NodeId, NodeSet, Pod, PodId, Shape};
use muster_model::Reads;

/// What plugins see: the state with all that the running transaction did, and the pod.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The cluster.
    pub state: &'a ClusterState,
    /// What plugins left for each other in this cycle.
    pub store: &'a Store,
    /// The pod's id.
    pub pod_id: PodId,
    /// The pod.
    pub pod: &'a Pod,
    /// What it needs.
    pub shape: &'a Shape,
}

impl<'a> Context<'a> {
    /// The context of a pod; `None` if there is no such pod.
    #[must_use]
    pub fn new(state: &'a ClusterState, store: &'a Store, pod_id: PodId) -> Option<Self> {
        let pod = state.pod(pod_id)?;
        let shape = state.shapes().get(pod.shape)?;
        Some(Self {
            state,
            store,
            pod_id,
            pod,
            shape,
        })
    }

    /// The nodes with devices, if the pod asks for none.
    #[must_use]
    pub fn devices_to_spare(&self) -> Option<&'a NodeSet> {
        let devices = self.state.nodes().with_devices();
        let spares = !devices.is_empty() && !self.shape.asks_for_devices(self.state.dimensions());
        spares.then_some(devices)
    }
}

/// Whether a node suits a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It does.
    Fit,
    /// It does not, for these reasons.
    Unfit(Vec<Reason>),
}

impl Verdict {
    /// Fits, or does not for one reason.
    #[must_use]
    pub fn fit_unless(unfit: bool, reason: Reason) -> Self {
        if unfit {
            Self::Unfit(vec![reason])
        } else {
            Self::Fit
        }
    }
}

/// What PreFilter says of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PreFilterVerdict {
    /// Nothing.
    Continue,
    /// Only these nodes come into question; the reason is counted for the others.
    Narrow(NodeSet, Reason),
    /// No node will do.
    Refuse(Reason),
}

/// Looks at a pod before any node; may narrow the nodes.
pub trait PreFilter: Plugin {
    /// Whether it has to be asked about pods of a shape; where nobody has, what nodes say to a shape is
    /// kept.
    fn concerns(&self, _shape: &Shape) -> bool {
        true
    }

    /// What it says.
    fn pre_filter(&self, cx: &Context<'_>) -> PreFilterVerdict;
}

/// What a plugin's answer to pods of a shape depends on, which says how long it stays true. More
/// comes after less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Nothing: the shape does not use the rule, and every node suits it.
    Unconcerned,
    /// The pod's constraints and the node's name, labels, taints and cordon: kept until those
    /// change.
    NodeFacts,
    /// What else is on the same node, and [`Filter::basis`]: asked for every placement.
    NodeUsage,
    /// What is on other nodes as well: any change anywhere may turn it.
    Cluster,
}

/// What a filter's verdict on a node changes by when a member of the same gang is put there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mates {
    /// Nothing.
    Ignored,
    /// What the member requests is not free any more: a pod suits the node while its request is free.
    ByAmounts,
    /// Something else, or nobody knows.
    Otherwise,
}

/// Says whether a node suits a pod. Filters run in order; the first refusal counts.
pub trait Filter: Plugin {
    /// What its verdict on pods of a shape depends on. [`Scope::NodeFacts`] is for all shapes with
    /// the same constraints or for none.
    fn scope(&self, shape: &Shape) -> Scope;

    /// Whether the node suits the pod.
    fn check(&self, cx: &Context<'_>, node: NodeId) -> Verdict;

    /// What its verdict on pods of a shape changes by when a member of their gang is put on the node.
    fn mates(&self, shape: &Shape) -> Mates {
        if self.scope(shape) > Scope::NodeFacts {
            Mates::Otherwise
        } else {
            Mates::Ignored
        }
    }

    /// Whether a node may come to suit pods of a shape because somebody got a place. Where that is so,
    /// who was refused is asked again after others were placed.
    fn is_helped(&self, shape: &Shape) -> bool {
        self.scope(shape) == Scope::Cluster
    }

    /// Another number whenever its verdict on nodes that were not touched may be another; the same
    /// again when what made it so is undone. For scopes less than [`Scope::Cluster`].
    fn basis(&self, _cx: &Context<'_>) -> u64 {
        0
    }

    /// The nodes that it may suit at most, and its reason against all others, where that is known without
    /// asking each of them. For scope [`Scope::NodeFacts`].
    fn at_most(&self, _cx: &Context<'_>) -> Option<(NodeSet, Reason)> {
        None
    }

    /// [`Filter::check`] without the reasons.
    fn suits(&self, cx: &Context<'_>, node: NodeId) -> bool {
        self.check(cx, node) == Verdict::Fit
    }

    /// Whether a node that suited a pod, and is held for it while its decision waits, suits it still. Who
    /// came after had to respect that: where others have their places since is no reason against it.
    fn still_suits(&self, cx: &Context<'_>, node: NodeId) -> bool {
        self.suits(cx, node)
    }

    /// Whether [`Filter::retain`] is quick for pods of a shape of scope [`Scope::Cluster`], as it takes
    /// whole sets of nodes. The others are then asked of each node once, and what they said is kept;
    /// of the nodes that this one keeps, the best by that is taken.
    fn confines(&self, _shape: &Shape) -> bool {
        false
    }

    /// Keeps the nodes that suit the pod: [`Filter::check`] over many nodes.
    fn retain(&self, cx: &Context<'_>, nodes: &mut NodeSet) {
        nodes.retain(|node| self.suits(cx, node));
    }

    /// How many pods of this shape the node has room for, for all that this filter says: no fewer
    /// than it really has.
    fn room(&self, cx: &Context<'_>, node: NodeId) -> u32 {
        if self.suits(cx, node) { u32::MAX } else { 0 }
    }

    /// The id under which a verdict of scope [`Scope::NodeFacts`] may be kept.
    fn constraints(&self, cx: &Context<'_>) -> ConstraintsId {
        cx.shape.constraints
    }
}

/// Prepares what scores need, once per pod.
pub trait PreScore: Plugin {
    /// Leaves what it found in the store.
    fn pre_score(&self, state: &ClusterState, pod: PodId, nodes: &NodeSet, store: &mut Store);
}

/// Ranks the nodes that suit a pod. Cannot refuse any.
pub trait Score: Plugin {
    /// Adds one score for each node of `nodes`, by rising id; more is better.
    fn score(&self, cx: &Context<'_>, nodes: &NodeSet, scores: &mut Vec<i64>);

    /// What a score depends on, beside the pod's shape and [`Score::basis`]. Where that is the node
    /// alone, scores are kept until the node changes.
    fn scope(&self, _shape: &Shape) -> Scope {
        Scope::Cluster
    }

    /// Another number whenever all scores have to be found anew.
    fn basis(&self, _cx: &Context<'_>) -> u64 {
        0
    }

    /// Whether it says the same of all nodes for this pod as things are, so that it need not be asked
    /// (PreScore's `Skip`).
    fn is_even(&self, _cx: &Context<'_>) -> bool {
        false
    }

    /// What it looks at of pods and nodes that filters do not.
    fn reads(&self) -> Reads {
        Reads::default()
    }

    /// The score of one node.
    fn score_one(&self, cx: &Context<'_>, node: NodeId) -> i64 {
        let mut scores = Vec::with_capacity(1);
        self.score(cx, &NodeSet::from_iter([node]), &mut scores);
        scores.first().copied().unwrap_or(0)
    }

    /// Whether [`Score::on_scale`] says what a node is worth beside the scores of other plugins.
    fn has_scale(&self) -> bool {
        false
    }

    /// What a node scores in 0..=[`MAX_SCORE`](super::MAX_SCORE), where that follows from the node
    /// alone: a mix of such scores is kept, and costs no more than one of them.
    fn on_scale(&self, _cx: &Context<'_>, _node: NodeId) -> i64 {
        0
    }

    /// Brings the scores into 0..=[`MAX_SCORE`](super::MAX_SCORE), where they are mixed with those
    /// of other plugins (NormalizeScore), of a plugin that has no scale of its own. The only score
    /// plugin of a profile need not.
    fn normalize(&self, scores: &mut [i64]) {
        let (Some(low), Some(high)) = (scores.iter().min().copied(), scores.iter().max().copied())
        else {
            return;
        };
        let span = i128::from(high) - i128::from(low);
        for score in scores {
            let part = (i128::from(*score) - i128::from(low)) * i128::from(super::MAX_SCORE);
            *score = i64::try_from(part.checked_div(span).unwrap_or(0)).unwrap_or(0);
        }
    }
}
