//! What scores look at of nodes and filters do not: images, what pods would ask for that do not say it,
//! and which nodes ask to be left alone. All of it is empty unless a profile scores by it.

use super::ids::{Id, NodeId};
use super::node_set::NodeSet;
use indexmap::IndexMap;
use muster_model::{NodeImage, Taint, TaintEffect};
use std::sync::Arc;

/// An image that some node has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Image {
    /// Its size in bytes, as the first node that had it said.
    pub size: i64,
    /// How many nodes have it.
    pub count: usize,
    nodes: NodeSet,
}

impl Image {
    /// Whether a node has it.
    #[must_use]
    pub fn is_on(&self, node: NodeId) -> bool {
        self.nodes.contains(node)
    }
}

/// What scores look at of all nodes.
#[derive(Clone, Debug, Default)]
pub struct Appeal {
    images: IndexMap<Arc<str>, Image>,
    /// The names of each node's images, sorted.
    images_of: Vec<Vec<Arc<str>>>,
    /// What the pods on each node would ask for besides.
    unsaid: Vec<[i64; 2]>,
    /// The nodes with a taint that only scores.
    discouraged: NodeSet,
}

impl Appeal {
    /// An image by one of its names.
    #[must_use]
    pub fn image(&self, name: &str) -> Option<&Image> {
        self.images.get(name)
    }

    /// By how much more is requested on a node where each container that says nothing of it counts as
    /// asking for something: of CPU in thousandths, of memory in bytes.
    #[must_use]
    pub fn unsaid(&self, node: NodeId) -> [i64; 2] {
        self.unsaid.get(node.index()).copied().unwrap_or_default()
    }

    /// Whether any node has a taint `PreferNoSchedule`.
    #[must_use]
    pub fn discourages(&self) -> bool {
        !self.discouraged.is_empty()
    }

    /// Takes over the taints of a node.
    pub(super) fn set_taints(&mut self, node: NodeId, taints: &[Taint]) {
        let soft = |one: &Taint| one.effect == TaintEffect::PreferNoSchedule;
        self.discouraged.set(node, taints.iter().any(soft));
    }

    /// Takes over the images of a node; says whether they are others than before.
    pub(super) fn set_images(&mut self, node: NodeId, images: &[NodeImage]) -> bool {
        let before = self.images_of.get(node.index());
        if images.is_empty() && before.is_none_or(Vec::is_empty) {
            return false;
        }
        let mut names: Vec<&str> = images.iter().map(|one| one.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        if before.is_some_and(|before| before.iter().map(|one| &**one).eq(names.iter().copied())) {
            return false;
        }
        if self.images_of.len() <= node.index() {
            self.images_of.resize(node.index() + 1, Vec::new());
        }
        // What it keeps is not forgotten in between: its size stays the one that was first heard of.
        let mut now = Vec::with_capacity(names.len());
        for one in images {
            let name = match self.images.get_key_value(one.name.as_str()) {
                Some((known, _)) => Arc::clone(known),
                None => Arc::from(one.name.as_str()),
            };
            let entry = self.images.entry(Arc::clone(&name));
            let image = entry.or_insert_with(|| Image {
                size: one.size,
                ..Image::default()
            });
            if !image.nodes.contains(node) {
                image.nodes.insert(node);
                image.count += 1;
            }
            now.push(name);
        }
        now.sort_unstable();
        now.dedup();
        let before = std::mem::replace(&mut self.images_of[node.index()], now);
        for name in before {
            if self.images_of[node.index()].binary_search(&name).is_err() {
                self.forget(node, &name);
            }
        }
        true
    }

    fn forget(&mut self, node: NodeId, name: &str) {
        let Some(image) = self.images.get_mut(name) else {
            return;
        };
        image.nodes.remove(node);
        image.count -= 1;
        if image.count == 0 {
            self.images.swap_remove(name);
        }
    }

    /// Counts what a pod would ask for, on a node, or takes it off again.
    pub(super) fn count_unsaid(&mut self, node: NodeId, amounts: [i64; 2], there: bool) {
        if amounts == [0, 0] {
            return;
        }
        if self.unsaid.len() <= node.index() {
            self.unsaid.resize(node.index() + 1, [0, 0]);
        }
        for (sum, amount) in self.unsaid[node.index()].iter_mut().zip(amounts) {
            *sum += if there { amount } else { -amount };
        }
    }

    /// Checks that every image is on the nodes that have it.
    pub(super) fn audit(&self) -> Result<(), String> {
        for (name, image) in &self.images {
            let has = |of: &&Vec<Arc<str>>| of.binary_search(name).is_ok();
            let count = self.images_of.iter().filter(has).count();
            if count != image.count || image.nodes.len() != count || count == 0 {
                let noted = image.count;
                return Err(format!("image {name} is on {noted} nodes, not {count}"));
            }
        }
        let known = |name: &&Arc<str>| self.images.contains_key(*name);
        match self.images_of.iter().flatten().find(|name| !known(name)) {
            Some(name) => Err(format!("image {name} is not known")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn images(list: &[(&str, i64)]) -> Vec<NodeImage> {
        let image = |(name, size): &(&str, i64)| NodeImage {
            name: (*name).to_owned(),
            size: *size,
        };
        list.iter().map(image).collect()
    }

    #[test]
    fn an_image_is_known_as_long_as_a_node_has_it_and_as_large_as_the_first_said() {
        let mut appeal = Appeal::default();
        let (a, b) = (NodeId::from_index(0), NodeId::from_index(5));
        assert!(appeal.set_images(a, &images(&[("x", 10), ("y", 1)])));
        assert!(appeal.set_images(b, &images(&[("x", 20)])));
        assert!(
            !appeal.set_images(b, &images(&[("x", 30)])),
            "the same names"
        );
        let x = appeal.image("x").unwrap();
        assert_eq!((x.size, x.count, x.is_on(b)), (10, 2, true));
        appeal.audit().unwrap();
        assert!(appeal.set_images(a, &images(&[("y", 1)])));
        assert_eq!(appeal.image("x").map(|one| one.count), Some(1));
        assert!(appeal.set_images(b, &[]));
        assert_eq!(appeal.image("x"), None);
        appeal.audit().unwrap();
    }

    #[test]
    fn what_pods_do_not_say_is_counted_and_taken_off() {
        let mut appeal = Appeal::default();
        let node = NodeId::from_index(3);
        appeal.count_unsaid(node, [100, 0], true);
        appeal.count_unsaid(node, [100, 5], true);
        appeal.count_unsaid(node, [100, 0], false);
        assert_eq!(appeal.unsaid(node), [100, 5]);
        assert_eq!(appeal.unsaid(NodeId::from_index(9)), [0, 0]);
    }
}
