//! Why a pod fits nowhere: the histogram that people and autoscalers read, and the closest node.

use crate::framework::{Context, Filter, PreFilterVerdict, Profile, Reason, Scope, Store, Verdict};
use crate::state::{ClusterState, NodeId, NodeSet, PodId};
use muster_model::resources::{Dimension, Dimensions};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::slice;

/// Why a pod fits nowhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnosis {
    /// How many nodes there are.
    pub nodes: usize,
    /// How many of them give each reason.
    pub reasons: BTreeMap<Reason, usize>,
    /// Why no node was even asked.
    pub refusal: Option<Box<Reason>>,
    /// Of the nodes that lack only resources, the one that lacks least, and what it lacks.
    pub closest: Option<(NodeId, Vec<(Dimension, i64)>)>,
}

/// Asks every node for its reason.
#[must_use]
pub fn diagnose(state: &ClusterState, profile: &Profile, store: &Store, pod: PodId) -> Diagnosis {
    diagnose_among(state, profile, store, pod, state.nodes().present())
}

/// What each node says to a pod: its reasons, none where it suits.
#[must_use]
pub fn answers(
    state: &ClusterState,
    profile: &Profile,
    store: &Store,
    pod: PodId,
) -> BTreeMap<NodeId, Vec<Reason>> {
    let Some(cx) = Context::new(state, store, pod) else {
        return BTreeMap::new();
    };
    let before = profile.pre_filter.iter();
    let verdicts: Vec<_> = before.map(|one| one.pre_filter(&cx)).collect();
    let filters = asked_of_many(profile, &cx);
    let reasons = |node| refusal(profile, &verdicts, &filters, &cx, node).into_owned();
    let nodes = state.nodes().present().iter();
    nodes.map(|node| (node, reasons(node))).collect()
}

/// Asks some nodes for their reasons.
#[must_use]
pub(super) fn diagnose_among(
    state: &ClusterState,
    profile: &Profile,
    store: &Store,
    pod: PodId,
    among: &NodeSet,
) -> Diagnosis {
    let mut diagnosis = Diagnosis {
        nodes: among.len(),
        ..Diagnosis::default()
    };
    let Some(cx) = Context::new(state, store, pod) else {
        return diagnosis;
    };
    let verdicts: Vec<_> = profile
        .asked_first(cx.shape)
        .map(|one| one.pre_filter(&cx))
        .collect();
    let contradicts = among.iter().next();
    let contradicts = contradicts.is_some_and(|node| contradiction(profile, &cx, node).is_some());
    let mut asked_first = verdicts.iter().filter(|_| !contradicts);
    let refusal_of_all = asked_first.find_map(|one| match one {
        PreFilterVerdict::Refuse(reason) => Some(reason.clone()),
        _ => None,
    });
    diagnosis.refusal = refusal_of_all.map(Box::new);
    let filters = asked_of_many(profile, &cx);
    let mut least = None;
    for node in among.iter() {
        let reasons = refusal(profile, &verdicts, &filters, &cx, node);
        let only_resources = reasons
            .iter()
            .all(|one| matches!(one, Reason::Insufficient(_)));
        if only_resources && !reasons.is_empty() {
            let lacks = shortfall(&cx, node);
            let rank = lacking_part(&lacks, &cx);
            if least.is_none_or(|known| rank < known) {
                least = Some(rank);
                diagnosis.closest = Some((node, lacks));
            }
        }
        for reason in reasons.iter() {
            *diagnosis.reasons.entry(reason.clone()).or_default() += 1;
        }
    }
    diagnosis
}

/// Whether the pod's own fields rule out every node: that is said before anybody who is asked first refuses
/// it (source: kube-scheduler asks NodeAffinity before it asks about volumes).
fn contradiction(profile: &Profile, cx: &Context<'_>, node: NodeId) -> Option<Reason> {
    let mut filters = profile.filter.iter();
    filters.find_map(|one| {
        if one.scope(cx.shape) != Scope::NodeFacts {
            return None;
        }
        match one.check(cx, node) {
            Verdict::Unfit(reasons) => reasons.into_iter().find(Reason::is_of_the_pod),
            Verdict::Fit => None,
        }
    })
}

/// A filter that has something to say about a shape.
pub(super) struct Asked<'a> {
    filter: &'a dyn Filter,
    /// The nodes that it may suit at most, and its reason against the others ([`Filter::at_most`]).
    limit: Option<(NodeSet, Reason)>,
}

/// The filters that have something to say about a pod, in their order.
pub(super) fn asked<'a>(profile: &'a Profile, cx: &Context<'_>) -> Vec<Asked<'a>> {
    let filters = profile.filter.iter().map(|one| &**one);
    let concerned = filters.filter(|one| one.scope(cx.shape) != Scope::Unconcerned);
    let unlimited = concerned.map(|filter| Asked {
        filter,
        limit: None,
    });
    unlimited.collect()
}

/// The same with what they say of most nodes: worth asking before many nodes are looked at.
pub(super) fn asked_of_many<'a>(profile: &'a Profile, cx: &Context<'_>) -> Vec<Asked<'a>> {
    let mut asked = asked(profile, cx);
    for one in &mut asked {
        if one.filter.scope(cx.shape) == Scope::NodeFacts {
            one.limit = one.filter.at_most(cx);
        }
    }
    asked
}

/// The reasons of the first plugin that refuses.
pub(super) fn refusal<'a>(
    profile: &Profile,
    verdicts: &'a [PreFilterVerdict],
    filters: &'a [Asked<'_>],
    cx: &Context<'_>,
    node: NodeId,
) -> Cow<'a, [Reason]> {
    if cx.pod.avoid.contains(&node) {
        return Cow::Borrowed(&[Reason::BindRefused]);
    }
    for verdict in verdicts {
        match verdict {
            PreFilterVerdict::Narrow(nodes, reason) if !nodes.contains(node) => {
                return Cow::Borrowed(slice::from_ref(reason));
            }
            PreFilterVerdict::Refuse(reason) => {
                let first = contradiction(profile, cx, node);
                return Cow::Owned(vec![first.unwrap_or_else(|| reason.clone())]);
            }
            _ => {}
        }
    }
    for Asked { filter, limit } in filters {
        if let Some((_, reason)) = limit.as_ref().filter(|(nodes, _)| !nodes.contains(node)) {
            let reasons = slice::from_ref(reason);
            debug_assert_eq!(filter.check(cx, node), Verdict::Unfit(reasons.to_vec()));
            return Cow::Borrowed(reasons);
        }
        if let Verdict::Unfit(reasons) = filter.check(cx, node) {
            return Cow::Owned(reasons);
        }
    }
    Cow::Borrowed(&[])
}

/// What the node lacks of the pod's request.
pub(super) fn shortfall(cx: &Context<'_>, node: NodeId) -> Vec<(Dimension, i64)> {
    let lack = |(dimension, amount): (Dimension, i64)| {
        let free = cx.state.nodes().free(node, dimension).max(0);
        (amount > free).then_some((dimension, amount - free))
    };
    cx.shape.request.iter().filter_map(lack).collect()
}

/// The largest part of any requested resource that is lacking, in millionths.
pub(super) fn lacking_part(lacks: &[(Dimension, i64)], cx: &Context<'_>) -> i64 {
    let part = |(dimension, amount): &(Dimension, i64)| {
        let requested = i128::from(cx.shape.request.get(*dimension)).max(1);
        i64::try_from(i128::from(*amount) * 1_000_000 / requested).unwrap_or(i64::MAX)
    };
    lacks.iter().map(part).max().unwrap_or(0)
}

impl Diagnosis {
    /// `0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable.`: the shape
    /// and the order of kube-scheduler's message.
    #[must_use]
    pub fn message(&self, dimensions: &Dimensions) -> String {
        if self.nodes == 0 {
            return "no nodes available to schedule pods".to_owned();
        }
        let line =
            |(reason, count): (&Reason, &usize)| format!("{count} {}", reason.describe(dimensions));
        let mut lines: Vec<String> = self.reasons.iter().map(line).collect();
        lines.sort();
        let head = format!("0/{} nodes are available", self.nodes);
        if let Some(reason) = self.reasons.keys().find(|one| one.is_of_the_pod()) {
            return format!("{head}: {}.", reason.describe(dimensions));
        }
        if let Some(refusal) = &self.refusal {
            return format!("{head}: {}.", refusal.describe(dimensions));
        }
        if lines.is_empty() {
            format!("{head}.")
        } else {
            format!("{head}: {}.", lines.join(", "))
        }
    }

    /// `closest is node n1, short of 500m cpu`, where a node lacks nothing but resources.
    #[must_use]
    pub fn closest_fit(&self, state: &ClusterState) -> Option<String> {
        let (node, lacks) = self.closest.as_ref()?;
        let amount =
            |(dimension, amount): &(Dimension, i64)| amount_in_words(state, *dimension, *amount);
        let lacks: Vec<String> = lacks.iter().map(amount).collect();
        Some(format!(
            "closest is node {}, short of {}",
            state.nodes().name(*node),
            lacks.join(", ")
        ))
    }
}

/// An amount of a resource as people write it: `500m cpu`, `2Gi memory`, `3 nvidia.com/gpu`.
#[must_use]
pub fn amount_in_words(state: &ClusterState, dimension: Dimension, amount: i64) -> String {
    let name = state.dimensions().name(dimension);
    match dimension {
        Dimension::CPU if amount % 1000 != 0 => format!("{amount}m {name}"),
        Dimension::CPU => format!("{} {name}", amount / 1000),
        Dimension::MEMORY | Dimension::EPHEMERAL_STORAGE => {
            format!("{} {name}", in_binary_units(amount))
        }
        _ => format!("{amount} {name}"),
    }
}

/// Bytes as the largest binary unit that is not less than one, rounded up.
fn in_binary_units(bytes: i64) -> String {
    let unit = ["Ki", "Mi", "Gi", "Ti", "Pi"];
    let mut shown = bytes.to_string();
    let mut size = 1_i64;
    for name in unit {
        size <<= 10;
        if bytes < size {
            break;
        }
        shown = format!("{}{name}", bytes / size + i64::from(bytes % size != 0));
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_histogram_reads_as_kube_schedulers() {
        let diagnosis = Diagnosis {
            nodes: 12,
            reasons: BTreeMap::from([
                (Reason::Insufficient(Dimension::CPU), 8),
                (Reason::Taint, 4),
                (Reason::Insufficient(Dimension::MEMORY), 8),
            ]),
            ..Diagnosis::default()
        };
        assert_eq!(
            diagnosis.message(&Dimensions::default()),
            "0/12 nodes are available: 4 node(s) had untolerated taint(s), 8 Insufficient cpu, \
             8 Insufficient memory."
        );
    }

    #[test]
    fn no_nodes_read_as_kube_schedulers() {
        assert_eq!(
            Diagnosis::default().message(&Dimensions::default()),
            "no nodes available to schedule pods"
        );
    }

    #[test]
    fn what_is_about_the_pod_is_not_counted() {
        let diagnosis = Diagnosis {
            nodes: 3,
            reasons: BTreeMap::from([(Reason::AffinityConflict, 3)]),
            closest: None,
            ..Diagnosis::default()
        };
        assert_eq!(
            diagnosis.message(&Dimensions::default()),
            "0/3 nodes are available: pod affinity terms conflict."
        );
    }

    #[test]
    fn bytes_are_shown_in_the_largest_fitting_unit() {
        assert_eq!(in_binary_units(1023), "1023");
        assert_eq!(in_binary_units(1536 << 20), "2Gi");
        assert_eq!(in_binary_units(500 << 20), "500Mi");
    }
}
