//! What every node answers to a shape that it does not suit, counted.

use super::diagnosis::{Asked, Diagnosis, asked, asked_of_many, lacking_part, refusal, shortfall};
use super::per_shape::{PerShape, room_for};
use super::tournament::{Tournament, UNFIT};
use crate::framework::{Context, Profile, Reason};
use crate::state::{Id, NodeId};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The answers to each shape.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    by_shape: PerShape<Answers>,
}

/// The answers to one shape.
#[derive(Debug)]
struct Answers {
    /// The different lists of reasons that were ever given.
    numbers: BTreeMap<Vec<Reason>, usize>,
    /// How many nodes give each.
    counts: Vec<usize>,
    /// Which one each node gives, if any.
    of_node: Vec<Option<usize>>,
    /// Which one was given last: many nodes say the same.
    last: Option<(Vec<Reason>, usize)>,
    /// The nodes that lack only resources: the less, the better.
    closest: Tournament,
}

/// Whether a node's answer to a pod is its answer to the pod's shape.
pub(super) fn suits(profile: &Profile, cx: &Context<'_>) -> bool {
    let asked_first = profile.asked_first(cx.shape).next().is_some();
    cx.pod.avoid.is_empty() && !asked_first && profile.is_local(cx.shape)
}

impl Refusals {
    /// What all nodes answer now, and how many had to be asked for it.
    pub(super) fn diagnose(
        &mut self,
        profile: &Profile,
        cx: &Context<'_>,
    ) -> Option<(Diagnosis, usize)> {
        let nodes = cx.state.nodes();
        let serial = cx.state.shapes().serial(cx.pod.shape)?;
        let basis = profile.basis(cx);
        let (answers, asked) = match self.by_shape.follow(serial, basis, nodes) {
            Some((answers, touched)) => {
                let filters = asked(profile, cx);
                for node in touched {
                    answers.ask(profile, &filters, cx, *node);
                }
                (answers, touched.len())
            }
            None => {
                let anew = Answers::of_all(profile, cx);
                (self.by_shape.keep(serial, basis, nodes, anew), nodes.len())
            }
        };
        Some((answers.diagnosis(cx), asked))
    }
}

impl Answers {
    fn of_all(profile: &Profile, cx: &Context<'_>) -> Self {
        let room = room_for(cx.state.nodes());
        let mut answers = Self {
            numbers: BTreeMap::new(),
            counts: Vec::new(),
            of_node: vec![None; room],
            last: None,
            closest: Tournament::default(),
        };
        let mut closest = vec![UNFIT; room];
        let filters = asked_of_many(profile, cx);
        for node in cx.state.nodes().present().iter() {
            let reasons = refusal(profile, &[], &filters, cx, node);
            closest[node.index()] = closeness(cx, node, &reasons);
            answers.note(node, reasons);
        }
        answers.closest = Tournament::new(&closest);
        answers
    }

    /// Asks one node anew.
    fn ask(&mut self, profile: &Profile, filters: &[Asked<'_>], cx: &Context<'_>, node: NodeId) {
        let reasons = if cx.state.nodes().present().contains(node) {
            refusal(profile, &[], filters, cx, node)
        } else {
            Cow::Borrowed(&[][..])
        };
        self.closest.set(node, closeness(cx, node, &reasons));
        self.note(node, reasons);
    }

    fn note(&mut self, node: NodeId, reasons: Cow<'_, [Reason]>) {
        let number = (!reasons.is_empty()).then(|| self.number(reasons));
        if let Some(number) = number {
            self.counts[number] += 1;
        }
        if let Some(before) = std::mem::replace(&mut self.of_node[node.index()], number) {
            self.counts[before] -= 1;
        }
    }

    /// The number of a list of reasons; the next one if it is new.
    fn number(&mut self, reasons: Cow<'_, [Reason]>) -> usize {
        if let Some((list, number)) = &self.last
            && *list == *reasons
        {
            return *number;
        }
        let known = self.numbers.get(&*reasons).copied();
        let reasons = reasons.into_owned();
        let number = known.unwrap_or_else(|| {
            self.numbers.insert(reasons.clone(), self.counts.len());
            self.counts.push(0);
            self.counts.len() - 1
        });
        self.last = Some((reasons, number));
        number
    }

    fn diagnosis(&self, cx: &Context<'_>) -> Diagnosis {
        let mut reasons = BTreeMap::new();
        for (list, number) in &self.numbers {
            let count = self.counts[*number];
            for reason in list.iter().filter(|_| count > 0) {
                *reasons.entry(reason.clone()).or_default() += count;
            }
        }
        let closest = self.closest.best();
        Diagnosis {
            nodes: cx.state.nodes().present().len(),
            reasons,
            refusal: None,
            closest: closest.map(|node| (node, shortfall(cx, node))),
        }
    }
}

/// How close a node comes; only one that lacks nothing but resources does.
fn closeness(cx: &Context<'_>, node: NodeId, reasons: &[Reason]) -> i64 {
    let only_resources = |one: &Reason| matches!(one, Reason::Insufficient(_));
    if reasons.is_empty() || !reasons.iter().all(only_resources) {
        return UNFIT;
    }
    -lacking_part(&shortfall(cx, node), cx)
}
