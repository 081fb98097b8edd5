//! What gangs wish of a level, without a Topology that has it: upstream's PodGroups name a label of nodes, and pods
//! that Kueue knows a level of whichever of its topologies.
//!
//! A label makes a topology of its own, [`Origin::Label`], as soon as a gang names it and a node has it, and that stays: there
//! are never more of them than labels on nodes, whatever tenants name.

use muster_model::{
    ANY_OF_KUEUE, BY_LABEL, Event, GangKey, GangSpec, Level, Object, ObjectKey, Origin, Source,
    TopologySpec, TopologyWish,
};
use std::collections::{BTreeMap, BTreeSet};

/// Who wishes what of levels, and of what that is made.
#[derive(Clone, Debug, Default)]
pub(super) struct WishedLevels {
    /// Gangs as they were said, before a topology was found for what they wish.
    gangs: BTreeMap<(GangKey, Source), GangSpec>,
    /// The levels of Kueue's topologies, by their names.
    kueues: BTreeMap<String, Vec<Level>>,
    /// Labels that are a topology.
    made: BTreeSet<String>,
    /// Labels that gangs name and no node has, with how many do.
    missing: BTreeMap<String, usize>,
}

impl WishedLevels {
    /// Names a topology in what a gang wishes; returns what the news means besides. `is_on_a_node` says whether any node
    /// has a label.
    pub(super) fn hear(
        &mut self,
        event: &mut Event,
        is_on_a_node: impl Fn(&str) -> bool,
    ) -> Vec<Event> {
        match event {
            Event::Is(Object::Gang(gang)) => self.take_gang(gang, is_on_a_node),
            Event::Gone(ObjectKey::Gang(key, source)) => {
                self.forget(&(key.clone(), *source));
                Vec::new()
            }
            Event::Is(Object::Node(node)) if !self.missing.is_empty() => {
                let labels = node.labels.keys();
                let found = labels.filter(|label| self.missing.contains_key(*label));
                let found: Vec<String> = found.cloned().collect();
                found.iter().map(|label| self.make(label)).collect()
            }
            Event::Is(Object::Topology(one)) if one.origin == Origin::Kueue => {
                let levels = match one.invalid {
                    None => one.levels.clone(),
                    Some(_) => Vec::new(),
                };
                self.take_kueues(&one.name, Some(levels), is_on_a_node)
            }
            Event::Gone(ObjectKey::Topology(name)) => self.take_kueues(name, None, is_on_a_node),
            _ => Vec::new(),
        }
    }

    fn take_gang(
        &mut self,
        gang: &mut GangSpec,
        is_on_a_node: impl Fn(&str) -> bool,
    ) -> Vec<Event> {
        let by = (gang.key.clone(), gang.source);
        self.forget(&by);
        if !wishes(gang).any(is_by_level) {
            return Vec::new();
        }
        self.gangs.insert(by, gang.clone());
        let labels = self.resolve(gang);
        for label in &labels {
            *self.missing.entry(label.clone()).or_default() += 1;
        }
        let there = labels.iter().filter(|label| is_on_a_node(label));
        there.map(|label| self.make(label)).collect()
    }

    fn forget(&mut self, by: &(GangKey, Source)) {
        let Some(mut gang) = self.gangs.remove(by) else {
            return;
        };
        for label in self.resolve(&mut gang) {
            if let Some(count) = self.missing.get_mut(&label) {
                *count -= 1;
                if *count == 0 {
                    self.missing.remove(&label);
                }
            }
        }
    }

    /// A label is a topology from now on.
    fn make(&mut self, label: &str) -> Event {
        self.missing.remove(label);
        self.made.insert(label.to_owned());
        Event::is(TopologySpec::by_label(label))
    }

    /// One of Kueue's is there with these levels, or it is gone: some may mean another one than before.
    fn take_kueues(
        &mut self,
        name: &str,
        levels: Option<Vec<Level>>,
        is_on_a_node: impl Fn(&str) -> bool,
    ) -> Vec<Event> {
        if self.kueues.get(name) == levels.as_ref() {
            return Vec::new();
        }
        let means_any = |gang: &&GangSpec| wishes(gang).any(means_any_of_kueue);
        let said: Vec<GangSpec> = self.gangs.values().filter(means_any).cloned().collect();
        let told = |known: &Self, gang: &GangSpec| {
            let mut told = gang.clone();
            known.resolve(&mut told);
            told
        };
        let before: Vec<GangSpec> = said.iter().map(|gang| told(self, gang)).collect();
        for gang in &said {
            self.forget(&(gang.key.clone(), gang.source));
        }
        match levels {
            Some(levels) => self.kueues.insert(name.to_owned(), levels),
            None => self.kueues.remove(name),
        };
        let mut events = Vec::new();
        for (mut gang, before) in said.into_iter().zip(before) {
            events.extend(self.take_gang(&mut gang, &is_on_a_node));
            if gang != before {
                events.push(Event::is(gang));
            }
        }
        events
    }

    /// Names a topology in each wish for a level; returns the labels that are none so far, each once.
    fn resolve(&self, gang: &mut GangSpec) -> BTreeSet<String> {
        let mut labels = BTreeSet::new();
        for wish in wishes_of(gang) {
            if means_any_of_kueue(wish) {
                wish.name = self.named(wish);
            }
            labels.extend(wish.label().map(str::to_owned));
        }
        labels.retain(|label| !self.made.contains(label));
        labels
    }

    /// The first of Kueue's topologies by name that has the level; else the label itself.
    fn named(&self, wish: &TopologyWish) -> Option<String> {
        let level = wish
            .required_level
            .as_ref()
            .or(wish.preferred_level.as_ref())?;
        let has_it = |levels: &[Level]| levels.iter().any(|one| one.label == *level);
        let found = self.kueues.iter().find(|(_, levels)| has_it(levels));
        Some(match found {
            Some((name, _)) => name.clone(),
            None => format!("{BY_LABEL}{level}"),
        })
    }
}

fn means_any_of_kueue(wish: &TopologyWish) -> bool {
    wish.name.as_deref() == Some(ANY_OF_KUEUE)
}

fn is_by_level(wish: &TopologyWish) -> bool {
    means_any_of_kueue(wish) || wish.label().is_some()
}

/// All wishes of a gang and its subgroups.
fn wishes(gang: &GangSpec) -> impl Iterator<Item = &TopologyWish> {
    let of_subgroups = gang.subgroups.iter().map(|one| &one.topology);
    std::iter::once(&gang.topology)
        .chain(of_subgroups)
        .flatten()
}

fn wishes_of(gang: &mut GangSpec) -> impl Iterator<Item = &mut TopologyWish> {
    let of_subgroups = gang.subgroups.iter_mut().map(|one| &mut one.topology);
    std::iter::once(&mut gang.topology)
        .chain(of_subgroups)
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_model::testing::node;
    use muster_model::{GangSpace, Labels, NodeSpec};

    /// Who hears the news, with what it means besides.
    #[derive(Default)]
    struct Ear {
        levels: WishedLevels,
        on_nodes: BTreeSet<String>,
    }

    impl Ear {
        fn hear(&mut self, event: impl Into<Event>) -> Vec<String> {
            let mut event = event.into();
            let on_nodes = &self.on_nodes;
            let besides = self
                .levels
                .hear(&mut event, |label| on_nodes.contains(label));
            let all = std::iter::once(event).chain(besides);
            all.filter_map(|event| match event {
                Event::Is(Object::Topology(one)) if one.origin == Origin::Label => {
                    Some(one.name.clone())
                }
                Event::Is(Object::Gang(gang)) => {
                    let names = wishes(&gang).map(|wish| wish.name.as_deref().unwrap_or("-"));
                    Some(format!(
                        "{} by {}",
                        gang.key.name,
                        names.collect::<Vec<_>>().join(", ")
                    ))
                }
                _ => None,
            })
            .collect()
        }

        fn is_clean(&self) -> bool {
            self.levels.gangs.is_empty() && self.levels.missing.is_empty()
        }
    }

    fn gang(name: &str, wishes: &[TopologyWish]) -> GangSpec {
        let subgroups = wishes[1..].iter().map(|wish| muster_model::SubgroupSpec {
            topology: Some(wish.clone()),
            ..Default::default()
        });
        GangSpec {
            key: GangKey {
                namespace: "n".into(),
                space: GangSpace::Named,
                name: name.into(),
            },
            topology: Some(wishes[0].clone()),
            subgroups: subgroups.collect(),
            ..GangSpec::default()
        }
    }

    fn of_any_kueue(level: &str) -> TopologyWish {
        TopologyWish {
            name: Some(ANY_OF_KUEUE.to_owned()),
            required_level: Some(level.to_owned()),
            ..TopologyWish::default()
        }
    }

    fn kueues(name: &str, levels: &[&str]) -> Event {
        let level = |label: &&str| Level {
            label: (*label).to_owned(),
            ..Level::default()
        };
        Event::is(TopologySpec {
            name: name.to_owned(),
            origin: Origin::Kueue,
            levels: levels.iter().map(level).collect(),
            ..TopologySpec::default()
        })
    }

    fn gone(name: &str) -> Event {
        let key = gang(name, &[TopologyWish::default()]).key;
        Event::Gone(ObjectKey::Gang(key, Source::default()))
    }

    fn node_with(label: &str) -> NodeSpec {
        NodeSpec {
            labels: Labels::from([(label.to_owned(), "x".to_owned())]),
            ..node("n", 1)
        }
    }

    #[test]
    fn a_label_is_a_topology_once_a_gang_names_it_and_a_node_has_it() {
        let mut ear = Ear::default();
        let [rack, zone] = ["rack", "zone"].map(TopologyWish::of_label);
        ear.on_nodes.insert("rack".into());
        let both = gang("g", &[rack.clone(), zone.clone()]);
        assert_eq!(
            ear.hear(Event::is(both)),
            ["g by label:rack, label:zone", "label:rack"]
        );
        let again = gang("h", &[rack, zone]);
        assert_eq!(ear.hear(Event::is(again)), ["h by label:rack, label:zone"]);
        assert!(ear.hear(Event::is(node_with("other"))).is_empty());
        assert_eq!(ear.hear(Event::is(node_with("zone"))), ["label:zone"]);
        assert!(ear.hear(Event::is(node_with("zone"))).is_empty());
        for name in ["g", "h"] {
            ear.hear(gone(name));
        }
        assert!(ear.is_clean());
    }

    #[test]
    fn labels_that_nobody_has_are_forgotten_with_those_who_named_them() {
        let mut ear = Ear::default();
        for label in ["a", "b"] {
            ear.hear(Event::is(gang("g", &[TopologyWish::of_label(label)])));
        }
        assert_eq!(ear.levels.missing.len(), 1, "it was edited");
        ear.hear(Event::is(gang("g", &[TopologyWish::default()])));
        assert!(ear.is_clean());
        assert!(ear.hear(Event::is(node_with("a"))).is_empty());
    }

    #[test]
    fn a_level_of_kueues_is_in_the_first_that_has_it_and_else_a_label() {
        let mut ear = Ear::default();
        ear.on_nodes.insert("rack".into());
        let wish = || Event::is(gang("g", &[of_any_kueue("rack")]));
        assert_eq!(ear.hear(wish()), ["g by label:rack", "label:rack"]);
        assert!(ear.hear(kueues("kueue:c", &["block"])).is_empty());
        assert_eq!(ear.hear(kueues("kueue:b", &["rack"])), ["g by kueue:b"]);
        assert!(ear.hear(kueues("kueue:b", &["rack"])).is_empty());
        assert_eq!(
            ear.hear(kueues("kueue:a", &["block", "rack"])),
            ["g by kueue:a"]
        );
        assert_eq!(ear.hear(wish()), ["g by kueue:a"]);
        let gone_one = |name: &str| Event::Gone(ObjectKey::Topology(name.to_owned()));
        assert_eq!(ear.hear(gone_one("kueue:a")), ["g by kueue:b"]);
        assert_eq!(ear.hear(kueues("kueue:b", &[])), ["g by label:rack"]);
        ear.hear(gone("g"));
        assert!(ear.is_clean());
    }
}
