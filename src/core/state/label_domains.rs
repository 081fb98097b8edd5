//! Which nodes have the same value of a label: for the labels within whose values some pod in the
//! cluster asks for, or keeps away, others. Labels that nobody asks about cost nothing.

use super::ids::{Id, KeyId, NodeId, Slab, ValueId};
use super::node_set::NodeSet;
use super::nodes::Nodes;
use std::collections::BTreeMap;

/// The domains of all labels in use.
#[derive(Clone, Debug, Default)]
pub struct LabelDomains {
    keys: Slab<KeyId, Key>,
    by_name: BTreeMap<String, KeyId>,
}

/// The domains of one label.
#[derive(Clone, Debug, Default)]
struct Key {
    name: String,
    users: u32,
    of_node: Vec<Option<ValueId>>,
    values: Slab<ValueId, Domain>,
    by_text: BTreeMap<String, ValueId>,
}

/// The nodes with one value.
#[derive(Clone, Debug, Default)]
struct Domain {
    text: String,
    nodes: NodeSet,
    size: u32,
}

impl Key {
    fn set(&mut self, node: NodeId, text: Option<&str>) {
        let before = self.of_node.get(node.index()).copied().flatten();
        let known = before.and_then(|value| self.values.get(value));
        if known.map(|one| one.text.as_str()) == text {
            return;
        }
        if let Some(value) = before {
            let domain = &mut self.values[value];
            domain.nodes.remove(node);
            domain.size -= 1;
            if domain.size == 0 {
                self.by_text.remove(&std::mem::take(&mut domain.text));
                self.values.remove(value);
            }
        }
        let value = text.map(|text| {
            let value = self.by_text.get(text).copied();
            let value = value.unwrap_or_else(|| {
                let value = self.values.insert(Domain {
                    text: text.to_owned(),
                    ..Domain::default()
                });
                self.by_text.insert(text.to_owned(), value);
                value
            });
            let domain = &mut self.values[value];
            domain.nodes.insert(node);
            domain.size += 1;
            value
        });
        if self.of_node.len() <= node.index() {
            self.of_node.resize(node.index() + 1, None);
        }
        self.of_node[node.index()] = value;
    }

    fn text_of(&self, node: NodeId) -> Option<&str> {
        let value = self.of_node.get(node.index()).copied().flatten()?;
        self.values.get(value).map(|one| one.text.as_str())
    }
}

/// The value of a label that counts on a node: of one that is not there nothing does.
fn text_on<'a>(nodes: &'a Nodes, node: NodeId, name: &str) -> Option<&'a str> {
    let there = nodes.present().contains(node);
    let labels = there.then(|| &nodes.facts(node).labels)?;
    labels.get(name).map(String::as_str)
}

impl LabelDomains {
    /// The id of a label, with one more user.
    pub(super) fn acquire(&mut self, name: &str, nodes: &Nodes) -> KeyId {
        if let Some(id) = self.by_name.get(name) {
            self.keys[*id].users += 1;
            return *id;
        }
        let mut key = Key {
            name: name.to_owned(),
            users: 1,
            ..Key::default()
        };
        for node in nodes.present().iter() {
            key.set(node, text_on(nodes, node, name));
        }
        let id = self.keys.insert(key);
        self.by_name.insert(name.to_owned(), id);
        id
    }

    /// One user of a label less; the last takes its domains along.
    pub(super) fn release(&mut self, id: KeyId) {
        let key = &mut self.keys[id];
        key.users -= 1;
        if key.users == 0 {
            self.by_name.remove(&std::mem::take(&mut key.name));
            self.keys.remove(id);
        }
    }

    /// Whether a node has another value of a label than is known.
    pub(super) fn differs(&self, node: NodeId, nodes: &Nodes) -> bool {
        let mut keys = self.keys.iter();
        keys.any(|(_, key)| key.text_of(node) != text_on(nodes, node, &key.name))
    }

    /// Takes over a node's labels.
    pub(super) fn follow(&mut self, node: NodeId, nodes: &Nodes) {
        for (_, key) in self.keys.iter_mut() {
            let text = text_on(nodes, node, &key.name);
            key.set(node, text);
        }
    }

    /// The id of a label in use.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<KeyId> {
        self.by_name.get(name).copied()
    }

    /// The name of a label.
    #[must_use]
    pub fn name(&self, key: KeyId) -> &str {
        self.keys.get(key).map_or("", |key| &key.name)
    }

    /// The value that a node has.
    #[must_use]
    pub fn value_of(&self, key: KeyId, node: NodeId) -> Option<ValueId> {
        *self.keys.get(key)?.of_node.get(node.index())?
    }

    /// The nodes with a value.
    #[must_use]
    pub fn nodes_with(&self, key: KeyId, value: ValueId) -> &NodeSet {
        &self.keys[key].values[value].nodes
    }

    /// How many nodes have a value.
    #[must_use]
    pub fn size(&self, key: KeyId, value: ValueId) -> u32 {
        let key = self.keys.get(key);
        key.and_then(|key| key.values.get(value))
            .map_or(0, |domain| domain.size)
    }

    /// The values that nodes have, by rising id.
    pub fn values(&self, key: KeyId) -> impl Iterator<Item = ValueId> {
        let key = self.keys.get(key).into_iter();
        key.flat_map(|key| key.values.iter().map(|(value, _)| value))
    }

    /// How many different values nodes have.
    #[must_use]
    pub fn count(&self, key: KeyId) -> usize {
        self.keys.get(key).map_or(0, |key| key.values.len())
    }

    /// Derives all from the nodes and compares.
    pub(super) fn audit(&self, nodes: &Nodes) -> Result<(), String> {
        for (id, key) in self.keys.iter() {
            let mut sizes: BTreeMap<&str, (u32, NodeSet)> = BTreeMap::new();
            for index in 0..nodes.len() {
                let node = NodeId::from_index(index);
                let (known, text) = (key.text_of(node), text_on(nodes, node, &key.name));
                if known != text {
                    let (name, node) = (&key.name, nodes.name(node));
                    return Err(format!("label {name} of {node}: {known:?}, not {text:?}"));
                }
                if let Some(text) = text {
                    let domain = sizes.entry(text).or_default();
                    domain.0 += 1;
                    domain.1.insert(node);
                }
            }
            let known = key.values.iter().map(|(_, domain)| {
                let nodes: Vec<NodeId> = domain.nodes.iter().collect();
                (domain.text.as_str(), (domain.size, nodes))
            });
            let known: BTreeMap<_, _> = known.collect();
            let found = sizes.into_iter();
            let found = found.map(|(text, (size, set))| (text, (size, set.iter().collect())));
            let found: BTreeMap<_, _> = found.collect();
            if known != found || self.by_name.get(&key.name) != Some(&id) {
                return Err(format!("label {}: {known:?}, not {found:?}", key.name));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_model::NodeSpec;
    use muster_model::resources::Dimensions;

    fn spec(name: &str, zone: Option<&str>) -> NodeSpec {
        let labels = zone.map(|zone| ("zone".to_owned(), zone.to_owned()));
        NodeSpec {
            name: name.to_owned(),
            labels: labels.into_iter().collect(),
            ..NodeSpec::default()
        }
    }

    #[test]
    fn domains_follow_the_labels_of_nodes() {
        let (mut nodes, mut dimensions) = (Nodes::default(), Dimensions::default());
        let mut upsert =
            |nodes: &mut Nodes, name, zone| nodes.upsert(spec(name, zone), &mut dimensions).0;
        let a = upsert(&mut nodes, "a", Some("1"));
        let b = upsert(&mut nodes, "b", Some("1"));
        let c = upsert(&mut nodes, "c", None);
        let mut domains = LabelDomains::default();
        let zone = domains.acquire("zone", &nodes);
        assert_eq!(domains.value_of(zone, a), domains.value_of(zone, b));
        assert_eq!(domains.value_of(zone, c), None);
        upsert(&mut nodes, "b", Some("2"));
        assert!(domains.differs(b, &nodes));
        domains.follow(b, &nodes);
        assert_eq!(domains.count(zone), 2);
        domains.audit(&nodes).unwrap();
        nodes.remove("a");
        domains.follow(a, &nodes);
        assert_eq!(domains.count(zone), 1);
        domains.audit(&nodes).unwrap();
        domains.release(zone);
        assert_eq!(domains.find("zone"), None);
    }
}
