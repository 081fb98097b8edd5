//! What every node answers to a shape that it does not suit, counted.

use super::diagnosis::{Asked, Diagnosis, asked, asked_of_many, lacking_part, refusal, shortfall};
use super::per_shape::{PerShape, room_for};
use super::tournament::{Tournament, UNFIT};
use crate::framework::{Context, Profile, Reason};
use crate::state::{Gone, Id, NodeId};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The answers to each shape.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    by_shape: PerShape<Answers>,
}

/// The answers to one shape.
#[derive(Debug)]
struct Answers {
    /// The different lists of reasons that are given.
    lists: Lists,
    /// Which one each node gives, if any.
    of_node: Vec<Option<usize>>,
    /// The nodes that lack only resources: the less, the better.
    closest: Tournament,
}

/// Whether a node's answer to a pod is its answer to the pod's shape.
pub(super) fn suits(profile: &Profile, cx: &Context<'_>) -> bool {
    let asked_first = profile.asked_first(cx.shape).next().is_some();
    cx.pod.avoid.is_empty() && !asked_first && profile.is_local(cx.shape)
}

/// The different lists of reasons that nodes give, each with a number.
#[derive(Debug, Default)]
struct Lists {
    numbers: BTreeMap<Arc<[Reason]>, usize>,
    /// Each by its number, and how many nodes give it.
    given: Vec<(Arc<[Reason]>, usize)>,
    /// Numbers of lists that no node gives any more.
    free: Vec<usize>,
    /// Which one was given last: many nodes say the same.
    last: Option<usize>,
}

impl Lists {
    /// One more node gives this list. Returns its number.
    fn add(&mut self, reasons: &[Reason]) -> usize {
        let last = self.last.filter(|last| *self.given[*last].0 == *reasons);
        let known = last.or_else(|| self.numbers.get(reasons).copied());
        let number = known.unwrap_or_else(|| self.make(reasons));
        self.given[number].1 += 1;
        self.last = Some(number);
        number
    }

    fn make(&mut self, reasons: &[Reason]) -> usize {
        let list: Arc<[Reason]> = reasons.into();
        let number = self.free.pop().unwrap_or(self.given.len());
        self.numbers.insert(Arc::clone(&list), number);
        if number == self.given.len() {
            self.given.push((list, 0));
        } else {
            self.given[number] = (list, 0);
        }
        number
    }

    /// One node less gives the list of this number.
    fn take_away(&mut self, number: usize) {
        let (list, count) = &mut self.given[number];
        *count -= 1;
        if *count > 0 {
            return;
        }
        let list = std::mem::replace(list, Arc::from([]));
        self.numbers.remove(&list);
        self.free.push(number);
        self.last.take_if(|last| *last == number);
    }

    /// The lists that are given, and by how many nodes.
    fn iter(&self) -> impl Iterator<Item = &(Arc<[Reason]>, usize)> {
        self.given.iter().filter(|(_, count)| *count > 0)
    }
}

impl Refusals {
    /// Forgets shapes that nobody has any more.
    pub(super) fn forget(&mut self, gone: &Gone<'_>) {
        self.by_shape.forget(gone);
    }

    /// How many answers are kept.
    pub(super) fn len(&self) -> usize {
        self.by_shape.nodes()
    }

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
                let mut nodes_asked = 0;
                for node in touched {
                    answers.ask(profile, &filters, cx, node);
                    nodes_asked += 1;
                }
                (answers, nodes_asked)
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
            lists: Lists::default(),
            of_node: vec![None; room],
            closest: Tournament::default(),
        };
        let mut closest = vec![UNFIT; room];
        let filters = asked_of_many(profile, cx);
        for node in cx.state.nodes().present().iter() {
            let reasons = refusal(profile, &[], &filters, cx, node);
            closest[node.index()] = closeness(cx, node, &reasons);
            answers.note(node, &reasons);
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
        self.note(node, &reasons);
    }

    fn note(&mut self, node: NodeId, reasons: &[Reason]) {
        let number = (!reasons.is_empty()).then(|| self.lists.add(reasons));
        if let Some(before) = std::mem::replace(&mut self.of_node[node.index()], number) {
            self.lists.take_away(before);
        }
    }

    fn diagnosis(&self, cx: &Context<'_>) -> Diagnosis {
        let mut reasons = BTreeMap::new();
        for (list, count) in self.lists.iter() {
            for reason in list.iter() {
                *reasons.entry(reason.clone()).or_default() += *count;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_lists_that_no_node_gives_any_more_are_given_out_again() {
        let mut lists = Lists::default();
        let list = |name: usize| [Reason::Taint, Reason::Unknown(name.to_string())];
        let stays = lists.add(&list(0));
        for name in 1..1_000 {
            let numbers = [lists.add(&list(name)), lists.add(&list(name))];
            assert_eq!(numbers[0], numbers[1]);
            assert_eq!(lists.iter().count(), 2);
            numbers.into_iter().for_each(|one| lists.take_away(one));
        }
        assert_eq!((lists.given.len(), lists.numbers.len()), (2, 1));
        assert_eq!(lists.add(&list(0)), stays);
        let given: Vec<_> = lists
            .iter()
            .map(|(list, count)| (&**list, *count))
            .collect();
        assert_eq!(given, [(&list(0)[..], 2)]);
    }
}
