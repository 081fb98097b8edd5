//! Resources that no node has, in the `minResources` of PodGroups that controllers of other projects write: names that
//! mean something to a quota, or to nobody. What no node has is not waited for there, and said; it counts again as soon
//! as a node has it. In our own PodGroups somebody asks for it who means it, and it is waited for.

use muster_model::{Event, GangKey, GangSpec, NodeSpec, Object, ObjectKey, Source};
use std::collections::{BTreeMap, BTreeSet};

/// What every node has.
const EVERYWHERE: [&str; 4] = ["cpu", "memory", "ephemeral-storage", "pods"];

/// So many names at most are said of one gang.
const MAX_SAID: usize = 5;

/// Who asks for such, and what nodes have.
#[derive(Clone, Debug, Default)]
pub(super) struct UnprovidedAmounts {
    /// Gangs as they were said, that ask for what not every node has.
    gangs: BTreeMap<(GangKey, Source), GangSpec>,
    /// What each node has beyond what every node has.
    nodes: BTreeMap<String, BTreeSet<String>>,
    /// How many nodes have it.
    provided: BTreeMap<String, usize>,
}

impl UnprovidedAmounts {
    /// Takes amounts out of the news of a gang that no node has any of; returns the gangs that ask for another
    /// amount than before, as nodes have come or gone.
    pub(super) fn hear(&mut self, event: &mut Event) -> Vec<Event> {
        match event {
            Event::Is(Object::Gang(gang)) => {
                self.take_gang(gang);
                Vec::new()
            }
            Event::Gone(ObjectKey::Gang(key, source)) => {
                self.gangs.remove(&(key.clone(), *source));
                Vec::new()
            }
            Event::Is(Object::Node(node)) => {
                let now = beyond_what_every_node_has(node);
                self.take_node(&node.name, Some(now))
            }
            Event::Gone(ObjectKey::Node(name)) => self.take_node(name, None),
            _ => Vec::new(),
        }
    }

    fn take_gang(&mut self, gang: &mut GangSpec) {
        let by = (gang.key.clone(), gang.source);
        let asks = gang
            .min_resources
            .iter()
            .any(|(name, _)| !is_everywhere(name));
        if !asks || !is_written_by_others(gang.source) {
            self.gangs.remove(&by);
            return;
        }
        let told = self.told(gang);
        self.gangs.insert(by, std::mem::replace(gang, told));
    }

    /// A node has these, or is gone.
    fn take_node(&mut self, name: &str, now: Option<BTreeSet<String>>) -> Vec<Event> {
        if self.nodes.get(name) == now.as_ref() {
            return Vec::new();
        }
        let first_or_last = self.nodes.is_empty() || (now.is_none() && self.nodes.len() == 1);
        let none = BTreeSet::new();
        let before = self.nodes.get(name).unwrap_or(&none);
        let after = now.as_ref().unwrap_or(&none);
        let mut changed = BTreeSet::new();
        for resource in after.difference(before) {
            let count = self.provided.entry(resource.clone()).or_default();
            *count += 1;
            if *count == 1 {
                changed.insert(resource.clone());
            }
        }
        for resource in before.difference(after) {
            if let Some(count) = self.provided.get_mut(resource) {
                *count -= 1;
                if *count == 0 {
                    self.provided.remove(resource);
                    changed.insert(resource.clone());
                }
            }
        }
        match now {
            Some(now) => self.nodes.insert(name.to_owned(), now),
            None => self.nodes.remove(name),
        };
        let asks_for_it = |gang: &&GangSpec| {
            let mut names = gang.min_resources.iter().map(|(name, _)| name);
            first_or_last || names.any(|name| changed.contains(name))
        };
        let gangs = self.gangs.values().filter(asks_for_it);
        gangs.map(|gang| Event::is(self.told(gang))).collect()
    }

    /// A gang without the amounts that no node has any of. As long as no node is known, nothing is.
    fn told(&self, gang: &GangSpec) -> GangSpec {
        let mut told = gang.clone();
        if self.nodes.is_empty() {
            return told;
        }
        let is_nowhere = |name: &str| !is_everywhere(name) && !self.provided.contains_key(name);
        let nowhere = told
            .min_resources
            .extract_if(.., |(name, _)| is_nowhere(name));
        let mut names: Vec<String> = nowhere.map(|(name, _)| name).collect();
        if names.is_empty() {
            return told;
        }
        let more = names.len().saturating_sub(MAX_SAID);
        names.truncate(MAX_SAID);
        let and_more = match more {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        told.read_otherwise.push(format!(
            "minResources ask for {}{and_more}: no node has that, and it is not waited for",
            names.join(", ")
        ));
        told
    }
}

/// Whether another project's controllers or clients write what a gang of this kind asks for.
const fn is_written_by_others(source: Source) -> bool {
    match source {
        Source::Volcano | Source::Coscheduling | Source::Upstream | Source::Implied => true,
        Source::Muster | Source::SchedulingSpec => false,
    }
}

fn is_everywhere(name: &str) -> bool {
    EVERYWHERE.contains(&name)
}

fn beyond_what_every_node_has(node: &NodeSpec) -> BTreeSet<String> {
    let names = node.allocatable.iter().map(|(name, _)| name);
    names.filter(|name| !is_everywhere(name)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_model::testing::{group, node};

    const GPU: &str = "example.com/gpu";

    fn asking(source: Source, resources: &[&str]) -> Event {
        let mut spec = group("g");
        spec.source = source;
        let amounts = ["cpu"].iter().chain(resources);
        spec.min_resources = amounts.map(|name| ((*name).to_owned(), 1)).collect();
        Event::is(spec)
    }

    fn with(name: &str, resources: &[&str]) -> Event {
        let mut spec = node(name, 1);
        let amounts = resources.iter().map(|name| ((*name).to_owned(), 1));
        spec.allocatable.extend(amounts);
        Event::is(spec)
    }

    fn gone(name: &str) -> Event {
        Event::Gone(ObjectKey::Node(name.to_owned()))
    }

    /// What is asked for by then, and what is said, of each gang that is news.
    fn hear(ear: &mut UnprovidedAmounts, mut event: Event) -> Vec<(String, String)> {
        let besides = ear.hear(&mut event);
        let gangs = std::iter::once(event).chain(besides);
        let told = gangs.filter_map(|event| match event {
            Event::Is(Object::Gang(gang)) => {
                let names = gang.min_resources.iter().map(|(name, _)| name.as_str());
                let names: Vec<&str> = names.collect();
                Some((names.join(" "), gang.read_otherwise.concat()))
            }
            _ => None,
        });
        told.collect()
    }

    fn as_written(names: &str) -> Vec<(String, String)> {
        vec![(names.to_owned(), String::new())]
    }

    fn without(names: &str, which: &str) -> Vec<(String, String)> {
        let words =
            format!("minResources ask for {which}: no node has that, and it is not waited for");
        vec![(names.to_owned(), words)]
    }

    #[test]
    fn what_no_node_has_is_not_asked_for_where_others_write_it() {
        let mut ear = UnprovidedAmounts::default();
        hear(&mut ear, with("n", &[GPU]));
        let odd = "example.com/odd";
        for source in [Source::Volcano, Source::Coscheduling, Source::Implied] {
            let told = hear(&mut ear, asking(source, &[odd, GPU]));
            assert_eq!(told, without("cpu example.com/gpu", odd));
        }
        let ours = hear(&mut ear, asking(Source::Muster, &[odd]));
        assert_eq!(ours, as_written("cpu example.com/odd"));
    }

    #[test]
    fn it_is_asked_for_while_a_node_has_it() {
        let mut ear = UnprovidedAmounts::default();
        let asks = asking(Source::Volcano, &[GPU]);
        let (all, less) = (as_written("cpu example.com/gpu"), without("cpu", GPU));
        assert_eq!(hear(&mut ear, asks.clone()), all, "no node is known");
        assert_eq!(hear(&mut ear, with("n", &[])), less);
        assert_eq!(hear(&mut ear, asks), less);
        assert_eq!(hear(&mut ear, with("n", &[GPU])), all);
        assert_eq!(hear(&mut ear, with("m", &[GPU])), []);
        assert_eq!(hear(&mut ear, with("m", &[GPU])), []);
        assert_eq!(hear(&mut ear, with("n", &[])), []);
        assert_eq!(hear(&mut ear, gone("m")), less, "the last that had it");
        assert_eq!(hear(&mut ear, gone("n")), all, "no node is known");
        assert_eq!(hear(&mut ear, gone("n")), []);
        assert!(ear.provided.is_empty() && ear.nodes.is_empty());
    }

    #[test]
    fn a_gang_that_is_gone_or_asks_for_less_is_forgotten() {
        let mut ear = UnprovidedAmounts::default();
        hear(&mut ear, with("n", &[]));
        hear(&mut ear, asking(Source::Volcano, &[GPU]));
        assert_eq!(
            hear(&mut ear, asking(Source::Volcano, &[])),
            as_written("cpu")
        );
        assert!(ear.gangs.is_empty());
        hear(&mut ear, asking(Source::Volcano, &[GPU]));
        let key = group("g").key;
        ear.hear(&mut Event::Gone(ObjectKey::Gang(key, Source::Volcano)));
        assert!(ear.gangs.is_empty());
    }

    #[test]
    fn of_many_names_few_are_said() {
        let mut ear = UnprovidedAmounts::default();
        hear(&mut ear, with("n", &[]));
        let names = ["a/1", "a/2", "a/3", "a/4", "a/5", "a/6", "a/7"];
        let told = hear(&mut ear, asking(Source::Volcano, &names));
        assert_eq!(told, without("cpu", "a/1, a/2, a/3, a/4, a/5 and 2 more"));
    }
}
