//! The queues in the order of their tree.

use super::curves::Curves;
use crate::server::Server;
use muster_model::QueueSpec;
use serde::Serialize;
use std::collections::BTreeMap;

/// One queue.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct QueueData {
    name: String,
    parent: Option<usize>,
    declared: bool,
    weight: u32,
    tier: i32,
    #[serde(flatten)]
    curves: Option<Curves>,
}

/// The queues, each after the one above it.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) names: Vec<String>,
    numbers: BTreeMap<String, usize>,
    pub(super) parents: Vec<Option<usize>>,
}

impl Tree {
    /// Those that exist and those that are only named.
    pub(super) fn new<'a>(server: &Server, named: impl Iterator<Item = &'a String>) -> Self {
        let mut parents: BTreeMap<&str, Option<&str>> = BTreeMap::new();
        for name in named {
            parents.insert(name, None);
        }
        for spec in server.queues() {
            parents.insert(&spec.name, spec.parent.as_deref());
        }
        let mut children: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        let mut stack = Vec::new();
        for (name, parent) in &parents {
            match parent.filter(|one| parents.contains_key(one)) {
                Some(parent) => children.entry(parent).or_default().push(name),
                None => stack.push((*name, None)),
            }
        }
        stack.reverse();
        let mut tree = Self {
            names: Vec::new(),
            numbers: BTreeMap::new(),
            parents: Vec::new(),
        };
        while let Some((name, parent)) = stack.pop() {
            let number = tree.add(name, parent);
            let below = children.remove(name).unwrap_or_default();
            stack.extend(below.into_iter().rev().map(|name| (name, Some(number))));
        }
        // Who is left is its own ancestor.
        for name in parents.keys() {
            if !tree.numbers.contains_key(*name) {
                tree.add(name, None);
            }
        }
        tree
    }

    fn add(&mut self, name: &str, parent: Option<usize>) -> usize {
        let number = self.names.len();
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        self.parents.push(parent);
        number
    }

    /// A queue's number.
    pub(super) fn number(&self, name: &str) -> usize {
        self.numbers.get(name).copied().unwrap_or(0)
    }

    /// The queues as the page has them.
    pub(super) fn queues(
        &self,
        server: &Server,
        exists: impl Fn(&str) -> bool,
        mut curves: impl FnMut(&str, usize) -> Option<Curves>,
    ) -> Vec<QueueData> {
        let specs = server.queues().map(|spec| (spec.name.as_str(), spec));
        let specs: BTreeMap<&str, &QueueSpec> = specs.collect();
        let of = |(number, name): (usize, &String)| {
            let spec = specs.get(name.as_str());
            let default = QueueSpec::default();
            QueueData {
                name: name.clone(),
                parent: self.parents[number],
                declared: exists(name),
                weight: spec.map_or(default.weight, |spec| spec.weight),
                tier: spec.map_or(default.tier, |spec| spec.tier),
                curves: curves(name, number),
            }
        };
        self.names.iter().enumerate().map(of).collect()
    }
}
