//! Gangs that no PodGroup defines: of what their pods say of them a definition is made, of
//! [`Source::Implied`], which counts where there is no other.
//!
//! ```text
//!  news of pods ──► hear ──► the same news, then Is or Gone of a definition
//!  time ─────────► fire ──► Is of a definition for whose PodGroup nobody waits any more
//! ```
//!
//! Of several pods of a gang the one counts that wants the most of them to run; of equals the oldest. A definition is gone with the last
//! pod that says something.

use muster_model::units::Time;
use muster_model::{
    Event, GangKey, GangSpec, Implied, MAX_NAMED_SUBGROUPS, Object, ObjectKey, PodKey, PodSpec,
    Source, SubgroupSpec, TopologyWish,
};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// By what is chosen whose word counts: the first.
type Rank = (Reverse<u32>, Time, String);

/// What pods say of their gangs, and what was made of it.
#[derive(Clone, Debug, Default)]
pub struct ImpliedGangs {
    groups: BTreeMap<GangKey, Group>,
    /// The word of each pod, by namespace and name.
    words: BTreeMap<(String, String), Word>,
    /// When a PodGroup is not waited for any more.
    due: BTreeSet<(Time, GangKey)>,
}

/// Where the word of a pod stands.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Word {
    uid: String,
    gang: GangKey,
    rank: Rank,
    subgroup: String,
    topology: Option<TopologyWish>,
}

/// A gang of which pods say something.
#[derive(Clone, Debug, Default)]
struct Group {
    words: BTreeMap<Rank, Implied>,
    /// What the pods of each subgroup wish, and how many do.
    wishes: BTreeMap<String, BTreeMap<Option<TopologyWish>, usize>>,
    /// Its PodGroup was deleted then.
    missing_since: Time,
    due: Option<Time>,
    /// What pods say counts: no PodGroup is waited for.
    counts: bool,
    /// The definition that everybody knows.
    told: Option<GangSpec>,
}

impl ImpliedGangs {
    /// Takes what a pod implies out of the news of it; returns what is news besides, to be heard after it.
    pub fn hear(&mut self, event: &mut Event, now: Time) -> Vec<Event> {
        match event {
            Event::Is(Object::Pod(pod)) => {
                let implied = pod.implied.take();
                if implied.is_none() && self.is_empty() {
                    return Vec::new();
                }
                self.hear_of_pod(pod, implied.map(|one| *one))
            }
            Event::Gone(ObjectKey::Pod(pod)) => self.forget(pod),
            Event::Is(Object::Gang(spec)) => self.has_a_podgroup(&spec.key),
            Event::Gone(ObjectKey::Gang(key, _)) => {
                let key = key.clone();
                self.lost_its_podgroup(&key, now);
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    /// Whether no pod says anything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// When [`fire`](Self::fire) has something to do.
    #[must_use]
    pub fn due(&self) -> Option<Time> {
        self.due.first().map(|(at, _)| *at)
    }

    /// The PodGroups that nobody waits for any more, now that all lists are read; `has_one` says for which gangs
    /// there is one.
    pub fn fire(&mut self, now: Time, has_one: impl Fn(&GangKey) -> bool) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some((at, key)) = self.due.pop_first() {
            if at > now {
                self.due.insert((at, key));
                break;
            }
            let Some(group) = self.groups.get_mut(&key) else {
                continue;
            };
            group.due = None;
            // When it is deleted is heard of.
            if !has_one(&key) {
                group.counts = true;
                events.extend(self.tell(&key));
            }
        }
        events
    }

    fn hear_of_pod(&mut self, pod: &PodSpec, implied: Option<Implied>) -> Vec<Event> {
        let name = (pod.key.namespace.clone(), pod.key.name.clone());
        let said = implied.map(|implied| {
            let rank = (
                Reverse(implied.min_available),
                pod.created,
                pod.key.name.clone(),
            );
            let word = Word {
                uid: pod.key.uid.clone(),
                gang: pod.gang_key(),
                rank,
                subgroup: pod.subgroup.clone().unwrap_or_default(),
                topology: implied.topology.clone(),
            };
            (word, implied)
        });
        let before = self.words.get(&name);
        let stays = before == said.as_ref().map(|(word, _)| word);
        let mut events = Vec::new();
        if before.is_some() && !stays {
            events.extend(self.forget_word(&name));
        }
        if let Some((word, implied)) = said {
            let group = self.groups.entry(word.gang.clone()).or_default();
            group.words.insert(word.rank.clone(), implied);
            if !stays {
                group.wish(&word);
            }
            events.extend(self.settle(&word.gang));
            self.words.insert(name, word);
        }
        events
    }

    /// A pod is gone; with an empty uid, whichever has the name.
    fn forget(&mut self, pod: &PodKey) -> Vec<Event> {
        let name = (pod.namespace.clone(), pod.name.clone());
        let is_it = |word: &Word| pod.uid.is_empty() || word.uid == pod.uid;
        let known = self.words.get(&name).is_some_and(is_it);
        let event = known.then(|| self.forget_word(&name)).flatten();
        event.into_iter().collect()
    }

    fn forget_word(&mut self, name: &(String, String)) -> Option<Event> {
        let word = self.words.remove(name)?;
        let group = self.groups.get_mut(&word.gang)?;
        group.words.remove(&word.rank);
        group.wish_no_more(&word);
        self.settle(&word.gang)
    }

    /// A PodGroup counts, and if it goes, it is waited for again.
    fn has_a_podgroup(&mut self, key: &GangKey) -> Vec<Event> {
        let Some(group) = self.groups.get_mut(key) else {
            return Vec::new();
        };
        group.counts = false;
        self.tell(key).into_iter().collect()
    }

    fn lost_its_podgroup(&mut self, key: &GangKey, now: Time) {
        if let Some(group) = self.groups.get_mut(key) {
            group.missing_since = now;
            self.plan(key);
        }
    }

    fn settle(&mut self, key: &GangKey) -> Option<Event> {
        self.plan(key);
        let event = self.tell(key);
        let unused = self.groups.get(key).is_some_and(|one| one.words.is_empty());
        if unused {
            self.groups.remove(key);
        }
        event
    }

    /// Sets the time until which a PodGroup is waited for.
    fn plan(&mut self, key: &GangKey) {
        let Some(group) = self.groups.get_mut(key) else {
            return;
        };
        let first = group.words.first_key_value();
        let waits = first.filter(|_| !group.counts);
        let due = waits.and_then(|((_, created, _), implied)| {
            let since = (*created).max(group.missing_since);
            Some(since + implied.after?)
        });
        if due == group.due {
            return;
        }
        if let Some(before) = group.due {
            self.due.remove(&(before, key.clone()));
        }
        if let Some(at) = due {
            self.due.insert((at, key.clone()));
        }
        group.due = due;
    }

    /// News of a gang's definition, if it is another one than everybody knows.
    fn tell(&mut self, key: &GangKey) -> Option<Event> {
        let group = self.groups.get_mut(key)?;
        let first = group.words.first_key_value();
        let counts = first.filter(|(_, implied)| group.counts || implied.after.is_none());
        let (topology, subgroups) = match counts {
            Some(_) => group.closeness(),
            None => (None, Vec::new()),
        };
        let wanted = counts.map(|((_, created, _), implied)| GangSpec {
            key: key.clone(),
            source: Source::Implied,
            created: *created,
            min_available: implied.min_available,
            queue: implied.queue.clone(),
            min_resources: implied.min_resources.clone(),
            lifetime: implied.lifetime,
            topology,
            subgroups,
            invalid: implied.invalid.clone(),
            ..GangSpec::default()
        });
        if wanted == group.told {
            return None;
        }
        group.told.clone_from(&wanted);
        Some(match wanted {
            Some(spec) => Event::is(spec),
            None => Event::Gone(ObjectKey::Gang(key.clone(), Source::Implied)),
        })
    }
}

impl Group {
    fn wish(&mut self, word: &Word) {
        let wishes = self.wishes.entry(word.subgroup.clone()).or_default();
        *wishes.entry(word.topology.clone()).or_default() += 1;
    }

    fn wish_no_more(&mut self, word: &Word) {
        let Some(wishes) = self.wishes.get_mut(&word.subgroup) else {
            return;
        };
        if let Some(count) = wishes.get_mut(&word.topology) {
            *count -= 1;
            if *count == 0 {
                wishes.remove(&word.topology);
            }
        }
        if wishes.is_empty() {
            self.wishes.remove(&word.subgroup);
        }
    }

    /// How close its pods have to be: all of them, or those of each subgroup. Of several wishes in one subgroup one
    /// counts.
    fn closeness(&self) -> (Option<TopologyWish>, Vec<SubgroupSpec>) {
        let wish = |wishes: &BTreeMap<Option<TopologyWish>, usize>| {
            let last = wishes.last_key_value();
            last.and_then(|(wish, _)| wish.clone())
        };
        if self.wishes.len() == 1 {
            return (self.wishes.values().find_map(wish), Vec::new());
        }
        let subgroup = |(name, wishes): (&String, &_)| SubgroupSpec {
            name: name.clone(),
            topology: wish(wishes),
            ..SubgroupSpec::default()
        };
        let (others, named): (Vec<_>, Vec<_>) = self
            .wishes
            .iter()
            .take(MAX_NAMED_SUBGROUPS + 1)
            .map(subgroup)
            .partition(|one| one.name.is_empty());
        let others = others.into_iter().next().unwrap_or_default();
        let mut all: Vec<_> = named.into_iter().take(MAX_NAMED_SUBGROUPS).collect();
        all.push(others);
        let any = all.iter().any(|one| one.topology.is_some());
        (None, if any { all } else { Vec::new() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_model::testing::pod;
    use muster_model::units::Millis;
    use muster_model::{GangRef, GangSpace};

    const SPACE: GangSpace = GangSpace::Pods;

    fn member(name: &str, created: u64, gang: &str, min: u32) -> PodSpec {
        let implied = Implied {
            min_available: min,
            ..Implied::default()
        };
        PodSpec {
            created: Time(created),
            gang: GangRef::Named {
                space: SPACE,
                name: gang.into(),
            },
            implied: Some(Box::new(implied)),
            ..pod(name, None, 1)
        }
    }

    /// A pod that names a PodGroup, and is to be placed by itself when that is missing for a second.
    fn client(name: &str, created: u64) -> PodSpec {
        let mut spec = member(name, created, "g", 0);
        spec.gang = GangRef::Named {
            space: GangSpace::Named,
            name: "g".into(),
        };
        let implied = Implied {
            after: Some(Millis(1_000)),
            ..Implied::default()
        };
        spec.implied = Some(Box::new(implied));
        spec
    }

    fn podgroup() -> GangSpec {
        GangSpec {
            key: client("a", 0).gang_key(),
            source: Source::Volcano,
            ..GangSpec::default()
        }
    }

    fn gone_podgroup() -> Event {
        Event::Gone(ObjectKey::Gang(podgroup().key, Source::Volcano))
    }

    fn hear(gangs: &mut ImpliedGangs, event: impl Into<Event>, now: u64) -> Vec<String> {
        let mut event = event.into();
        let events = gangs.hear(&mut event, Time(now));
        if let Event::Is(Object::Pod(pod)) = &event {
            assert_eq!(pod.implied, None, "nobody else hears what it implies");
        }
        events.iter().map(words).collect()
    }

    fn fire(gangs: &mut ImpliedGangs, now: u64, has_one: bool) -> Vec<String> {
        let events = gangs.fire(Time(now), |_| has_one);
        events.iter().map(words).collect()
    }

    fn words(event: &Event) -> String {
        match event {
            Event::Is(Object::Gang(spec)) => {
                assert_eq!(spec.source, Source::Implied);
                format!("{} of {}", spec.key, spec.min_available)
            }
            Event::Gone(ObjectKey::Gang(key, Source::Implied)) => format!("{key} gone"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_gang_is_defined_by_its_pods_from_the_first_to_the_last() {
        let mut gangs = ImpliedGangs::default();
        let first = Event::is(member("a", 1, "g", 2));
        assert_eq!(hear(&mut gangs, first.clone(), 1), ["a/g of 2"]);
        assert!(hear(&mut gangs, first, 2).is_empty(), "it says so again");
        let second = Event::is(member("b", 2, "g", 2));
        assert!(hear(&mut gangs, second, 2).is_empty());
        let gone = |name| Event::Gone(ObjectKey::Pod(member(name, 0, "g", 0).key));
        // Of another age, and of the same number: the definition is as old as the pod by which it is.
        assert_eq!(hear(&mut gangs, gone("a"), 3), ["a/g of 2"]);
        assert_eq!(hear(&mut gangs, gone("b"), 3), ["a/g gone"]);
        assert!(gangs.groups.is_empty() && gangs.words.is_empty() && gangs.due.is_empty());
    }

    #[test]
    fn who_wants_the_most_counts_and_of_equals_the_oldest() {
        let mut gangs = ImpliedGangs::default();
        let ages = [("c", 3, 2), ("b", 2, 1), ("a", 1, 2)];
        for (name, created, min) in ages {
            hear(&mut gangs, Event::is(member(name, created, "g", min)), 9);
        }
        let told = gangs
            .groups
            .values()
            .next()
            .and_then(|one| one.told.clone());
        let told = told.map(|spec| (spec.min_available, spec.created));
        assert_eq!(told, Some((2, Time(1))));
    }

    /// What a gang is told to wish of all its pods, and of each subgroup.
    fn closeness(gangs: &ImpliedGangs) -> (Option<String>, Vec<String>) {
        let told = gangs.groups.values().next();
        let told = told.and_then(|one| one.told.clone()).unwrap();
        let level = |wish: Option<TopologyWish>| wish.and_then(|one| one.required_level);
        let part = |one: SubgroupSpec| {
            let level = level(one.topology).unwrap_or_default();
            format!("{} {level}", one.name)
        };
        let parts = told.subgroups.into_iter().map(part);
        (level(told.topology), parts.collect())
    }

    #[test]
    fn what_pods_wish_is_of_all_or_of_each_subgroup() {
        let mut gangs = ImpliedGangs::default();
        let mut wishing = |name: &str, subgroup: &str, level: Option<&str>| {
            let mut spec = member(name, 1, "g", 1);
            spec.subgroup = (!subgroup.is_empty()).then(|| subgroup.to_owned());
            let implied = spec.implied.as_mut().unwrap();
            implied.topology = level.map(TopologyWish::of_label);
            gangs.hear(&mut Event::is(spec), Time(1));
            closeness(&gangs)
        };
        let all = |level: &str| (Some(level.to_owned()), Vec::new());
        let each = |parts: &[&str]| (None, parts.iter().map(|one| (*one).to_owned()).collect());
        assert_eq!(wishing("a", "", None), (None, vec![]));
        assert_eq!(wishing("a", "x", Some("rack")), all("rack"));
        assert_eq!(wishing("b", "x", Some("rack")), all("rack"));
        assert_eq!(wishing("c", "", None), each(&["x rack", " "]));
        assert_eq!(wishing("c", "y", None), each(&["x rack", "y ", " "]));
        assert_eq!(
            wishing("c", "y", Some("zone")),
            each(&["x rack", "y zone", " "])
        );
        assert_eq!(wishing("c", "", Some("zone")), each(&["x rack", " zone"]));
        assert_eq!(wishing("c", "x", None), all("rack"));
        for name in ["a", "b"] {
            wishing(name, "x", None);
        }
        assert_eq!(closeness(&gangs), (None, vec![]));
    }

    #[test]
    fn pods_that_each_wish_for_themselves_make_few_subgroups() {
        let mut gangs = ImpliedGangs::default();
        for index in 0..200 {
            let mut spec = member(&format!("p{index}"), 1, "g", 1);
            spec.subgroup = Some(format!("s{index}"));
            let implied = spec.implied.as_mut().unwrap();
            implied.topology = Some(TopologyWish::of_label("rack"));
            gangs.hear(&mut Event::is(spec), Time(1));
        }
        assert_eq!(closeness(&gangs).1.len(), MAX_NAMED_SUBGROUPS + 1);
        for index in 0..200 {
            let key = member(&format!("p{index}"), 1, "g", 1).key;
            gangs.hear(&mut Event::Gone(ObjectKey::Pod(key)), Time(1));
        }
        assert!(gangs.groups.is_empty() && gangs.words.is_empty());
    }

    #[test]
    fn a_pod_that_says_something_else_says_nothing_of_its_gang_before() {
        let mut gangs = ImpliedGangs::default();
        hear(&mut gangs, Event::is(member("a", 1, "g", 2)), 1);
        let moved = Event::is(member("a", 1, "h", 3));
        assert_eq!(hear(&mut gangs, moved, 2), ["a/g gone", "a/h of 3"]);
        let mut silent = member("a", 1, "h", 3);
        silent.implied = None;
        assert_eq!(hear(&mut gangs, Event::is(silent), 3), ["a/h gone"]);
        assert!(gangs.groups.is_empty() && gangs.words.is_empty());
    }

    #[test]
    fn a_podgroup_that_does_not_come_is_waited_for_so_long() {
        let mut gangs = ImpliedGangs::default();
        assert!(hear(&mut gangs, Event::is(client("a", 100)), 100).is_empty());
        assert_eq!(gangs.due(), Some(Time(1_100)));
        assert!(fire(&mut gangs, 1_099, false).is_empty());
        assert_eq!(fire(&mut gangs, 1_100, false), ["a/g of 0"]);
        assert_eq!(gangs.due(), None);
        // Those that come later do not wait.
        assert!(hear(&mut gangs, Event::is(client("b", 1_200)), 1_200).is_empty());
        assert_eq!(gangs.due(), None);
    }

    #[test]
    fn a_podgroup_that_comes_counts_and_is_waited_for_again_when_it_goes() {
        let mut gangs = ImpliedGangs::default();
        hear(&mut gangs, Event::is(client("a", 100)), 100);
        fire(&mut gangs, 1_100, false);
        assert_eq!(hear(&mut gangs, Event::is(podgroup()), 2_000), ["a/g gone"]);
        assert!(hear(&mut gangs, gone_podgroup(), 3_000).is_empty());
        assert_eq!(gangs.due(), Some(Time(4_000)));
        assert_eq!(fire(&mut gangs, 4_000, false), ["a/g of 0"]);
    }

    #[test]
    fn a_podgroup_that_was_there_first_is_waited_for_when_it_goes() {
        let mut gangs = ImpliedGangs::default();
        hear(&mut gangs, Event::is(podgroup()), 0);
        hear(&mut gangs, Event::is(client("a", 100)), 100);
        assert!(fire(&mut gangs, 5_000, true).is_empty());
        assert_eq!(gangs.due(), None);
        hear(&mut gangs, gone_podgroup(), 6_000);
        assert_eq!(gangs.due(), Some(Time(7_000)));
        // Made again in time.
        hear(&mut gangs, Event::is(podgroup()), 6_500);
        assert!(fire(&mut gangs, 7_000, true).is_empty());
    }
}
