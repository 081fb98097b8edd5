//! Which nodes carry which label, so that constraints few nodes can satisfy are asked of few.

use super::ids::NodeId;
use muster_model::{Constraints, Labels, Operator, Requirement, Term};
use std::collections::BTreeMap;

/// The nodes of each value of each label, by rising id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LabelIndex {
    by_key: BTreeMap<String, BTreeMap<String, Vec<NodeId>>>,
}

impl LabelIndex {
    /// Takes over that a node has other labels than before.
    pub(super) fn change(&mut self, node: NodeId, before: &Labels, after: &Labels) {
        for (key, value) in only_in(before, after) {
            self.remove(node, key, value);
        }
        for (key, value) in only_in(after, before) {
            let values = self.by_key.entry(key.clone()).or_default();
            let nodes = values.entry(value.clone()).or_default();
            if let Err(place) = nodes.binary_search(&node) {
                nodes.insert(place, node);
            }
        }
    }

    fn remove(&mut self, node: NodeId, key: &str, value: &str) {
        let Some(values) = self.by_key.get_mut(key) else {
            return;
        };
        if let Some(nodes) = values.get_mut(value) {
            if let Ok(place) = nodes.binary_search(&node) {
                nodes.remove(place);
            }
            if nodes.is_empty() {
                values.remove(value);
            }
        }
        if values.is_empty() {
            self.by_key.remove(key);
        }
    }

    /// Whether a node has this label.
    pub(super) fn has(&self, key: &str) -> bool {
        self.by_key.contains_key(key)
    }

    fn with(&self, key: &str, value: &str) -> &[NodeId] {
        let values = self.by_key.get(key);
        values
            .and_then(|values| values.get(value))
            .map_or(&[], Vec::as_slice)
    }

    /// The nodes with the rarest of these labels; `None` without any.
    pub(super) fn carriers(&self, labels: &Labels) -> Option<&[NodeId]> {
        let lists = labels.iter().map(|(key, value)| self.with(key, value));
        lists.min_by_key(|nodes| nodes.len())
    }

    /// Nodes among which are all that the selector and the required affinity of a pod allow; `None` where
    /// neither says which labels or names they have. Some may be there twice.
    pub(super) fn candidates(
        &self,
        wanted: &Constraints,
        by_name: impl Fn(&str) -> Option<NodeId>,
    ) -> Option<Vec<NodeId>> {
        let selected = self.carriers(&wanted.selector).map(<[NodeId]>::to_vec);
        let terms = wanted.affinity.as_ref();
        let liked = terms.and_then(|terms| self.of_any(terms, by_name));
        let lists = selected.into_iter().chain(liked);
        lists.min_by_key(Vec::len)
    }

    /// The same for terms of which one must hold.
    fn of_any(
        &self,
        terms: &[Term],
        by_name: impl Fn(&str) -> Option<NodeId>,
    ) -> Option<Vec<NodeId>> {
        let mut all = Vec::new();
        for term in terms {
            let labelled = term.labels.iter().filter_map(|one| self.of(one));
            let named = term
                .named()
                .map(|names| names.iter().filter_map(|name| by_name(name)));
            let lists = labelled.chain(named.map(Iterator::collect));
            all.extend(lists.min_by_key(Vec::len)?);
        }
        Some(all)
    }

    /// The nodes with one of the values that a requirement names; `None` if it names none.
    fn of(&self, one: &Requirement) -> Option<Vec<NodeId>> {
        let values = one.values.iter().map(|value| self.with(&one.key, value));
        (one.operator == Operator::In).then(|| values.flatten().copied().collect())
    }
}

/// The labels that are in one and not in the other.
fn only_in<'a>(
    one: &'a Labels,
    other: &'a Labels,
) -> impl Iterator<Item = (&'a String, &'a String)> {
    one.iter()
        .filter(|(key, value)| other.get(*key) != Some(*value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Id;
    use proptest::collection::{btree_map, vec};
    use proptest::prelude::*;

    fn requirement(
        key: impl Strategy<Value = String>,
        values: &'static str,
    ) -> impl Strategy<Value = Requirement> {
        let operators = [
            Operator::In,
            Operator::In,
            Operator::NotIn,
            Operator::Exists,
            Operator::DoesNotExist,
        ];
        let operator = proptest::sample::select(operators.to_vec());
        (key, operator, vec(values, 0..3)).prop_map(|(key, operator, values)| Requirement {
            key,
            operator,
            values,
        })
    }

    fn constraints() -> impl Strategy<Value = Constraints> {
        let labels = vec(requirement("[ab]".boxed(), "[xyz]"), 0..3);
        let fields = vec(
            requirement(Just("metadata.name".to_owned()), "n[0-5]"),
            0..2,
        );
        let term = (labels, fields).prop_map(|(labels, fields)| Term { labels, fields });
        let affinity = proptest::option::of(vec(term, 0..3));
        (btree_map("[ab]", "[xyz]", 0..3), affinity).prop_map(|(selector, affinity)| Constraints {
            selector,
            affinity,
            ..Constraints::default()
        })
    }

    proptest! {
        /// Whatever labels nodes had before, nobody who is allowed is left out.
        #[test]
        fn every_node_that_is_allowed_is_a_candidate(
            lives in vec(vec(btree_map("[ab]", "[xyz]", 0..3), 1..4), 6),
            wanted in constraints(),
        ) {
            let mut index = LabelIndex::default();
            for (node, life) in lives.iter().enumerate() {
                let mut before = Labels::new();
                for labels in life {
                    index.change(NodeId::from_index(node), &before, labels);
                    before.clone_from(labels);
                }
            }
            let by_name = |name: &str| name[1..].parse().ok().map(NodeId::from_index);
            if let Some(candidates) = index.candidates(&wanted, by_name) {
                for (node, life) in lives.iter().enumerate() {
                    let allowed = wanted.select(&format!("n{node}"), &life[life.len() - 1]);
                    let id = NodeId::from_index(node);
                    prop_assert!(!allowed || candidates.contains(&id), "{node}");
                }
            }
            for (node, life) in lives.iter().enumerate() {
                let last = &life[life.len() - 1];
                index.change(NodeId::from_index(node), last, &Labels::new());
            }
            prop_assert_eq!(index, LabelIndex::default());
        }
    }
}
