//! Which nodes have a label with a value, for the labels that somebody asks for.

use crate::state::ids::NodeId;
use crate::state::nodes::Nodes;
use muster_model::Labels;
use std::collections::{BTreeMap, BTreeSet};

/// Nodes by label and value.
#[derive(Clone, Debug, Default)]
pub(super) struct ByLabel {
    nodes: BTreeMap<String, BTreeMap<String, BTreeSet<NodeId>>>,
    /// What is noted of each node.
    noted: BTreeMap<NodeId, BTreeMap<String, String>>,
}

impl ByLabel {
    /// Notes the nodes by one more label.
    pub(super) fn follow(&mut self, key: &str, nodes: &Nodes) {
        if self.nodes.contains_key(key) {
            return;
        }
        self.nodes.insert(key.to_owned(), BTreeMap::new());
        for node in nodes.present().iter() {
            if let Some(value) = nodes.facts(node).labels.get(key) {
                self.note(node, key, value);
            }
        }
    }

    /// Nobody asks for a label any more.
    pub(super) fn forget(&mut self, key: &str) {
        self.nodes.remove(key);
        if self.nodes.is_empty() {
            self.noted.clear();
        }
    }

    /// Takes over a node's labels; `None` if it is gone.
    pub(super) fn hear(&mut self, node: NodeId, labels: Option<&Labels>) {
        for (key, value) in self.noted.remove(&node).unwrap_or_default() {
            let Some(values) = self.nodes.get_mut(&key) else {
                continue;
            };
            if let Some(with) = values.get_mut(&value) {
                with.remove(&node);
                if with.is_empty() {
                    values.remove(&value);
                }
            }
        }
        let known: Vec<(String, &String)> = labels
            .into_iter()
            .flatten()
            .filter(|(key, _)| self.nodes.contains_key(*key))
            .map(|(key, value)| (key.clone(), value))
            .collect();
        for (key, value) in known {
            self.note(node, &key, value);
        }
    }

    fn note(&mut self, node: NodeId, key: &str, value: &str) {
        let values = self.nodes.entry(key.to_owned()).or_default();
        values.entry(value.to_owned()).or_default().insert(node);
        let of_node = self.noted.entry(node).or_default();
        of_node.insert(key.to_owned(), value.to_owned());
    }

    /// The nodes with this label and value, if the label is one that is followed.
    pub(super) fn with(&self, key: &str, value: &str) -> impl Iterator<Item = NodeId> {
        let values = self.nodes.get(key);
        let nodes = values.and_then(|values| values.get(value));
        nodes.into_iter().flatten().copied()
    }

    /// What is known, to be compared.
    pub(super) fn described(&self) -> String {
        format!("{:?}", self.nodes)
    }
}
