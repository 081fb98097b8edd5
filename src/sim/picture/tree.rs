//! Nodes in their domains, in the order in which people count: `r2` comes before `r10`.

use crate::server::Server;
use muster_model::{HOSTNAME, Labels, Origin, TopologySpec, natural};

/// By which Topology the picture has its domains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chosen {
    /// Its name; `None`: there is none, and all nodes are in one place.
    pub name: Option<String>,
    /// The labels of its levels, from the widest on; the single node is none of them. Without any, it
    /// says nothing of domains, and all nodes are in one place.
    pub levels: Vec<String>,
    /// In words: which, and why it.
    pub words: String,
}

impl Chosen {
    /// The Topology of this name, or else the first by name, among those that count.
    #[must_use]
    pub fn of(server: &Server, named: Option<&str>) -> Self {
        let all: Vec<&TopologySpec> = server.topologies().collect();
        let valid: Vec<&TopologySpec> = {
            let valid = all.iter().filter(|one| one.invalid.is_none());
            valid.copied().collect()
        };
        let found = match named {
            Some(name) => all.iter().find(|one| one.name == name).copied(),
            // Our own before those of others, as for a PodGroup that names none.
            None => valid
                .iter()
                .copied()
                .min_by_key(|one| !one.origin.is_ours()),
        };
        let Some(found) = found else {
            let words = named.map_or_else(
                || "No Topology: all nodes are in one place".to_owned(),
                |name| {
                    format!("Topology {name} is not there at this time: all nodes are in one place")
                },
            );
            return Self {
                words,
                ..Self::default()
            };
        };
        let labels = found.levels.iter().map(|level| level.label.clone());
        // Which HyperNodes a node is in its labels do not say.
        let by_label = found.origin != Origin::Volcano;
        let levels: Vec<String> = labels
            .filter(|label| by_label && label != HOSTNAME)
            .collect();
        let short: Vec<&str> = levels.iter().map(|label| short(label)).collect();
        let mut words = if !by_label {
            "HyperNodes are not drawn: all nodes are in one place".to_owned()
        } else if levels.is_empty() {
            format!(
                "Topology {} has no domains: all nodes are in one place",
                found.name
            )
        } else {
            format!("Domains of Topology {}: {}", found.name, short.join(", "))
        };
        if named.is_none() && valid.len() > 1 {
            words += &format!("; it is the first of {} by name", valid.len());
        }
        Self {
            name: Some(found.name.clone()),
            levels,
            words,
        }
    }
}

/// What people call a label: what comes after its domain name.
#[must_use]
pub fn short(label: &str) -> &str {
    label.rsplit('/').next().unwrap_or(label)
}

/// Nodes of one domain, and the narrower domains in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Domain {
    /// How it is called: `rack=r7`.
    pub label: String,
    /// The narrower domains in it; then it has no nodes of its own.
    pub domains: Vec<Self>,
    /// Its nodes, by number.
    pub nodes: Vec<usize>,
}

impl Domain {
    /// How many nodes are in it.
    #[must_use]
    pub fn size(&self) -> usize {
        self.nodes.len() + self.domains.iter().map(Self::size).sum::<usize>()
    }

    /// How many domains are in it.
    #[must_use]
    pub fn count(&self) -> usize {
        self.domains.len() + self.domains.iter().map(Self::count).sum::<usize>()
    }

    /// Its nodes and those of the domains in it, in order.
    #[must_use]
    pub fn all_nodes(&self) -> Vec<usize> {
        let below = self.domains.iter().flat_map(Self::all_nodes);
        self.nodes.iter().copied().chain(below).collect()
    }

    /// Makes the domains the narrowest that are so deep in it; those on top are at depth 1.
    pub fn prune(&mut self, depth: usize) {
        if depth == 0 {
            self.nodes = self.all_nodes();
            self.domains.clear();
        }
        for domain in &mut self.domains {
            domain.prune(depth - 1);
        }
    }
}

/// Puts nodes, by name and labels, into the domains of some levels. Nodes that lack a label are in a
/// last domain of their own.
#[must_use]
pub fn grow(nodes: &[(&str, &Labels)], levels: &[String]) -> Domain {
    let mut order: Vec<usize> = (0..nodes.len()).collect();
    order.sort_by(|a, b| natural(nodes[*a].0, nodes[*b].0));
    let mut root = Domain::default();
    if levels.is_empty() {
        root.nodes = order;
        return root;
    }
    let mut outside = Domain {
        label: "in no domain".to_owned(),
        ..Domain::default()
    };
    for node in order {
        let values = levels.iter().map(|level| nodes[node].1.get(level));
        let Some(values) = values.collect::<Option<Vec<&String>>>() else {
            outside.nodes.push(node);
            continue;
        };
        let mut at = &mut root;
        for (level, value) in levels.iter().zip(values) {
            let label = format!("{}={value}", short(level));
            let place = at
                .domains
                .binary_search_by(|one| natural(&one.label, &label));
            let place = place.unwrap_or_else(|place| {
                let fresh = Domain {
                    label,
                    ..Domain::default()
                };
                at.domains.insert(place, fresh);
                place
            });
            at = &mut at.domains[place];
        }
        at.nodes.push(node);
    }
    if !outside.nodes.is_empty() {
        root.domains.push(outside);
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        let pairs = pairs.iter();
        pairs
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn names_are_in_the_order_in_which_people_count() {
        let mut names = vec!["r10", "r2", "a", "r02", "r2b", "r", "10", "9"];
        names.sort_by(|a, b| natural(a, b));
        assert_eq!(names, ["9", "10", "a", "r", "r02", "r2", "r2b", "r10"]);
    }

    #[test]
    fn nodes_are_in_their_domains_and_those_without_a_label_apart() {
        let levels = ["x/block".to_owned(), "x/rack".to_owned()];
        let all = [
            labels(&[("x/block", "b"), ("x/rack", "1")]),
            labels(&[("x/block", "a"), ("x/rack", "1")]),
            labels(&[("x/block", "a")]),
            labels(&[("x/block", "a"), ("x/rack", "1")]),
        ];
        let names = ["n3", "n2", "n1", "n0"];
        let nodes: Vec<_> = names.into_iter().zip(&all).collect();
        let tree = grow(&nodes, &levels);
        let told: Vec<_> = tree
            .domains
            .iter()
            .map(|one| (one.label.as_str(), one.all_nodes()))
            .collect();
        let expected = [
            ("block=a", vec![3, 1]),
            ("block=b", vec![0]),
            ("in no domain", vec![2]),
        ];
        assert_eq!(told, expected);
        assert_eq!(tree.domains[0].domains[0].label, "rack=1");
        assert_eq!((tree.size(), tree.count()), (4, 5));
    }

    #[test]
    fn without_levels_all_nodes_are_in_one_place() {
        let none = Labels::new();
        let tree = grow(&[("b", &none), ("a", &none)], &[]);
        assert_eq!((tree.nodes, tree.domains.len()), (vec![1, 0], 0));
    }

    #[test]
    fn a_pruned_tree_has_the_same_nodes() {
        let all = [
            labels(&[("z", "1"), ("r", "1")]),
            labels(&[("z", "1"), ("r", "2")]),
        ];
        let nodes: Vec<_> = ["a", "b"].into_iter().zip(&all).collect();
        let mut tree = grow(&nodes, &["z".to_owned(), "r".to_owned()]);
        tree.prune(1);
        assert_eq!(tree.domains[0].nodes, [0, 1]);
        assert!(tree.domains[0].domains.is_empty());
        tree.prune(0);
        assert_eq!((tree.nodes.len(), tree.domains.len()), (2, 0));
    }
}
