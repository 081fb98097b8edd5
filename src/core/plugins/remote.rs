//! What plugins in other processes said of nodes, as an ordinary filter and an ordinary score; and what
//! they say of decisions, as ordinary plugins that ask.
//!
//! Whether they were asked, and are to be asked again, is decided before a gang is tried
//! (`actions/advise.rs`). Here a node about which nobody was asked does not suit.

use crate::framework::{
    Ask, BindVerdict, Binder, Context, Filter, MAX_SCORE, Permit, PermitVerdict, Plugin, PostBind,
    PreBind, PreBindVerdict, Profile, Reason, Remote, Reserve, ReserveVerdict, Scope, Score, Spot,
    Spots, Verdict, WaitingGangs, Weighted, asked_gang, asked_pod,
};
use crate::state::{Advice, NodeId, NodeSet, Said, Shape};
use muster_model::units::{Millis, Time};
use muster_model::{AskedPlace, AskedPod, Body, RemotePoint, RemoteQuestion};
use std::sync::Arc;

/// Has a profile ask a plugin in another process, behind those that are there; but who binds comes first.
pub fn join(profile: &mut Profile, remote: Remote) {
    let remote = Arc::new(remote);
    let nodes = Arc::new(RemoteNodes::new(&remote, profile.remotes.len()));
    let decisions = Arc::new(RemoteDecisions::new(&remote));
    let asks = |point| remote.points.contains(&point);
    if asks(RemotePoint::PreFilter) || asks(RemotePoint::Filter) {
        profile.filter.push(Arc::clone(&nodes) as Arc<dyn Filter>);
    }
    if asks(RemotePoint::Score) && remote.weight > 0 {
        let weight = remote.weight;
        let plugin = nodes;
        profile.score.push(Weighted { plugin, weight });
    }
    if asks(RemotePoint::Reserve) {
        profile.reserve.push(decisions.clone());
    }
    if asks(RemotePoint::Permit) {
        profile.permit.push(decisions.clone());
    }
    if asks(RemotePoint::PreBind) {
        profile.pre_bind.push(decisions.clone());
    }
    if asks(RemotePoint::Bind) {
        profile.bind.insert(0, decisions.clone());
    }
    if asks(RemotePoint::PostBind) {
        profile.post_bind.push(decisions);
    }
    profile.remotes.push(remote);
}

/// A plugin in another process that has a say about nodes.
#[derive(Clone, Debug)]
struct RemoteNodes {
    /// The plugin.
    remote: Arc<Remote>,
    /// Its place in the profile.
    index: usize,
    name: &'static str,
}

impl RemoteNodes {
    /// The filter and score of the plugin at a place of the profile.
    #[must_use]
    fn new(remote: &Arc<Remote>, index: usize) -> Self {
        Self {
            remote: Arc::clone(remote),
            index,
            // Once for each plugin of the configuration.
            name: remote.name.to_string().leak(),
        }
    }

    fn advice<'a>(&self, cx: &Context<'a>) -> Option<&'a Advice> {
        let serial = cx.state.shapes().serial(cx.pod.shape)?;
        cx.state.advice(cx.pod.gang?, serial, self.index)
    }

    /// Whether what it did not say is no reason against a node.
    fn is_left_out(&self, advice: &Advice) -> bool {
        self.remote.ignorable && advice.failure().is_some()
    }

    fn scope_of(&self, shape: &Shape) -> Scope {
        if self.remote.may_concern(shape) {
            // Each gang has answers of its own.
            Scope::Cluster
        } else {
            Scope::Unconcerned
        }
    }
}

impl Plugin for RemoteNodes {
    fn name(&self) -> &'static str {
        self.name
    }
}

impl Filter for RemoteNodes {
    fn scope(&self, shape: &Shape) -> Scope {
        self.scope_of(shape)
    }

    fn check(&self, cx: &Context<'_>, node: NodeId) -> Verdict {
        if !self.remote.concerns(cx.state, cx.shape) {
            return Verdict::Fit;
        }
        let name = &self.remote.name;
        let words = match self.advice(cx) {
            Some(advice) => match advice.of(cx.state.nodes(), node) {
                Said::Fit => return Verdict::Fit,
                Said::Unfit("") => format!("node(s) were refused by plugin {name}"),
                Said::Unfit(words) => words.to_owned(),
                Said::Nothing if self.is_left_out(advice) => return Verdict::Fit,
                Said::Nothing => format!("node(s) about which plugin {name} was not asked yet"),
            },
            None => format!("node(s) about which plugin {name} was not asked yet"),
        };
        Verdict::Unfit(vec![Reason::Other(words)])
    }

    fn retain(&self, cx: &Context<'_>, nodes: &mut NodeSet) {
        if !self.remote.concerns(cx.state, cx.shape) {
            return;
        }
        match self.advice(cx) {
            Some(advice) if self.is_left_out(advice) => {
                let refuses = |node| matches!(advice.of(cx.state.nodes(), node), Said::Unfit(_));
                nodes.retain(|node| !refuses(node));
            }
            Some(advice) => advice.retain(cx.state.nodes(), nodes),
            None => *nodes = NodeSet::default(),
        }
    }
}

impl Score for RemoteNodes {
    fn score(&self, cx: &Context<'_>, nodes: &NodeSet, scores: &mut Vec<i64>) {
        let advice = self.advice(cx);
        let score = |node| advice.map_or(0, |advice| advice.score(node).clamp(0, MAX_SCORE));
        scores.extend(nodes.iter().map(score));
    }

    fn scope(&self, shape: &Shape) -> Scope {
        self.scope_of(shape)
    }

    fn normalize(&self, _: &mut [i64]) {
        // They are checked when they come in.
    }
}

/// So much longer than a plugin may take its answer is waited for by whoever carries the question.
pub const SLACK: Millis = Millis(1_000);

/// A plugin in another process that has a say about decisions.
#[derive(Clone, Debug)]
struct RemoteDecisions {
    remote: Arc<Remote>,
    name: &'static str,
}

impl RemoteDecisions {
    /// A plugin.
    #[must_use]
    fn new(remote: &Arc<Remote>) -> Self {
        Self {
            remote: Arc::clone(remote),
            // Once for each plugin of the configuration.
            name: remote.name.to_string().leak(),
        }
    }

    /// What it is asked about those of a decision's places of which it has a say; `None` where it has none.
    fn question(&self, point: RemotePoint, spots: &Spots<'_>) -> Option<Ask> {
        let state = spots.state;
        if !self.remote.points.contains(&point) {
            return None;
        }
        let asked = spots.iter().filter_map(|spot| {
            let id = spot.pod_id()?;
            let is_concerned = self.remote.concerns(state, state.shape_of(id)?);
            let pod = is_concerned.then(|| asked_pod(state, id, Some(spot.node)))?;
            Some((spot, pod?))
        });
        let (asked, pods): (Vec<Spot<'_>>, Vec<AskedPod>) = asked.unzip();
        let gang = state.pod(asked.first()?.pod_id()?)?.gang?;
        let question = RemoteQuestion {
            plugin: Arc::clone(&self.remote.name),
            point,
            gang: asked_gang(state, gang),
            pod_count: u32::try_from(pods.len()).unwrap_or(u32::MAX),
            pods,
            nodes: Arc::default(),
        };
        let at_most = match point {
            RemotePoint::Permit => self.remote.permit_at_most,
            _ => self.remote.at_most,
        };
        let at_most = Millis(at_most.0 + SLACK.0);
        Some(Ask::new(Body::Remote(Box::new(question)), at_most).about(asked))
    }
}

impl Plugin for RemoteDecisions {
    fn name(&self) -> &'static str {
        self.name
    }
}

impl Reserve for RemoteDecisions {
    fn reserve(&self, spots: &Spots<'_>) -> ReserveVerdict {
        match self.question(RemotePoint::Reserve, spots) {
            Some(ask) => ReserveVerdict::Ask(ask.to_be_undone()),
            None => ReserveVerdict::Done,
        }
    }

    fn unreserve(&self, _: &Spots<'_>) {
        // What was asked is undone by itself.
    }
}

impl Permit for RemoteDecisions {
    fn permit(&self, spots: &Spots<'_>, _: Time, _: &mut WaitingGangs) -> PermitVerdict {
        match self.question(RemotePoint::Permit, spots) {
            Some(ask) => PermitVerdict::Ask(ask),
            None => PermitVerdict::Allow,
        }
    }
}

impl PreBind for RemoteDecisions {
    fn pre_bind(&self, spots: &Spots<'_>) -> PreBindVerdict {
        match self.question(RemotePoint::PreBind, spots) {
            Some(ask) => PreBindVerdict::Ask(ask),
            None => PreBindVerdict::Agree,
        }
    }
}

impl Binder for RemoteDecisions {
    fn bind(&self, spot: &Spot<'_>) -> BindVerdict {
        let gang = spot.found_pod().and_then(|pod| pod.gang);
        let place = AskedPlace {
            pod: spot.pod.clone(),
            node: spot.node.to_owned(),
        };
        let places = std::slice::from_ref(&place);
        let spots = gang.map(|gang| Spots::named(spot.state, gang, places));
        let ask = spots.and_then(|spots| self.question(RemotePoint::Bind, &spots));
        match ask {
            Some(ask) => BindVerdict::Ask(ask),
            None => BindVerdict::Skip,
        }
    }
}

impl PostBind for RemoteDecisions {
    fn post_bind(&self, spots: &Spots<'_>) -> Option<Ask> {
        self.question(RemotePoint::PostBind, spots)
    }
}
