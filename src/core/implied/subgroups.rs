//! Subgroups that pods form by values of their labels: as Volcano's `subGroupPolicy` has it, so many of them must run
//! with so many pods each.
//!
//! Which of them these are is not written anywhere. They are those that have most of it done: that have enough pods on
//! nodes, then that have enough pods, then the first by their values. A subgroup more that has no name yet stands for
//! such as nobody has made.

use muster_model::{
    Event, GangKey, GangRef, GangSpace, GangSpec, LabelledSubgroups, MAX_NAMED_SUBGROUPS, Object,
    ObjectKey, PodKey, PodPhase, PodSpec, Source, SubgroupSpec, label_in, natural,
};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// What stands for the values of subgroups that are not there. No label has it.
const NOT_MADE: &str = "?";
/// What is said where pods were told before their PodGroup was divided.
const ADDED_LATER: &str =
    "spec.subGroupPolicy was added later: it counts for pods that are made or change from then on";
/// Who names a PodGroup so is not of Volcano's.
const OURS: &str = "muster.dev/pod-group";

/// The gangs that have such subgroups, with their pods.
#[derive(Clone, Debug, Default)]
pub(super) struct SubgroupsByLabels {
    gangs: BTreeMap<GangKey, Divided>,
    /// Pods whose PodGroup is not there, as they were told.
    early: BTreeMap<GangKey, BTreeMap<PodName, PodSpec>>,
    /// Where each of all these pods is.
    gang_of: BTreeMap<PodName, GangKey>,
}

/// Namespace and name.
type PodName = (String, String);

/// A gang that is divided by labels.
#[derive(Clone, Debug)]
struct Divided {
    /// Its PodGroup, as it was written.
    written: GangSpec,
    /// It was not when its first members were told.
    is_late: bool,
    /// Its members as they were told, by their names.
    members: BTreeMap<PodName, PodSpec>,
    parts: Parts,
    /// How it is known to everybody.
    told: GangSpec,
}

/// Those of one gang, by their names.
#[derive(Clone, Debug, Default)]
struct Parts {
    known: BTreeMap<String, Part>,
    /// The same, those first that are to run; by the policy.
    in_order: BTreeMap<usize, BTreeSet<Rank>>,
}

/// The pods of one subgroup.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Part {
    /// By which of the policies.
    policy: usize,
    /// Pods that live, or ended well.
    pods: u32,
    /// Of these who are on nodes, or ended well.
    placed: u32,
    /// Who ended well and is gone.
    retired: u32,
}

/// Where a subgroup stands among those of its policy.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Rank {
    lacks_placed: bool,
    lacks_pods: bool,
    name: String,
}

impl Ord for Rank {
    fn cmp(&self, other: &Self) -> Ordering {
        let lacks = |rank: &Self| (rank.lacks_placed, rank.lacks_pods);
        lacks(self)
            .cmp(&lacks(other))
            .then_with(|| natural(&self.name, &other.name))
    }
}

impl PartialOrd for Rank {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl SubgroupsByLabels {
    /// Puts pods into their subgroups, and subgroups into their PodGroup; returns what the news means besides.
    /// `has_one` says for which gangs there is a PodGroup.
    pub(super) fn hear(
        &mut self,
        event: &mut Event,
        has_one: impl Fn(&GangKey) -> bool,
    ) -> Vec<Event> {
        match event {
            Event::Is(Object::Pod(pod)) => self.take_pod(pod, has_one),
            Event::Gone(ObjectKey::Pod(pod)) => self.forget_pod(pod),
            Event::Is(Object::Gang(spec)) if spec.source == Source::Volcano => {
                self.take_group(spec, has_one)
            }
            // That one counts.
            Event::Is(Object::Gang(spec)) => {
                self.forget_early(&spec.key);
                Vec::new()
            }
            Event::Gone(ObjectKey::Gang(key, Source::Volcano)) => {
                self.forget_group(key);
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    fn take_pod(&mut self, pod: &mut PodSpec, has_one: impl Fn(&GangKey) -> bool) -> Vec<Event> {
        let may_be_divided = may_be_divided(pod);
        if !may_be_divided && self.gang_of.is_empty() {
            return Vec::new();
        }
        let name = (pod.key.namespace.clone(), pod.key.name.clone());
        let gang = may_be_divided.then(|| pod.gang_key());
        let gang = gang.filter(|key| self.gangs.contains_key(key) || !has_one(key));
        let is_elsewhere = |known: &GangKey| Some(known) != gang.as_ref();
        let mut events = Vec::new();
        if self.gang_of.get(&name).is_some_and(is_elsewhere) {
            events.extend(self.take_out(&name));
        }
        let Some(key) = gang else { return events };
        self.gang_of.insert(name.clone(), key.clone());
        if let Some(gang) = self.gangs.get_mut(&key) {
            let before = gang.members.insert(name, pod.clone());
            gang.count(before.as_ref(), Some(pod));
            if let Some(part) = gang.part_of(pod) {
                pod.subgroup = Some(part);
            }
            events.extend(gang.news());
        } else {
            self.early.entry(key).or_default().insert(name, pod.clone());
        }
        events
    }

    /// A pod is gone; with an empty uid, whichever has the name.
    fn forget_pod(&mut self, pod: &PodKey) -> Vec<Event> {
        let name = (pod.namespace.clone(), pod.name.clone());
        let is_it = self.find(&name).is_some_and(|known| {
            let uid = &known.key.uid;
            pod.uid.is_empty() || *uid == pod.uid
        });
        let event = is_it.then(|| self.take_out(&name)).flatten();
        event.into_iter().collect()
    }

    fn find(&self, name: &PodName) -> Option<&PodSpec> {
        let key = self.gang_of.get(name)?;
        let members = self.gangs.get(key).map(|gang| &gang.members);
        members.or_else(|| self.early.get(key))?.get(name)
    }

    /// A pod is in its gang no more.
    fn take_out(&mut self, name: &PodName) -> Option<Event> {
        let key = self.gang_of.remove(name)?;
        if let Some(gang) = self.gangs.get_mut(&key) {
            let pod = gang.members.remove(name)?;
            gang.count(Some(&pod), None);
            return gang.news();
        }
        let early = self.early.get_mut(&key)?;
        early.remove(name);
        if early.is_empty() {
            self.early.remove(&key);
        }
        None
    }

    fn take_group(
        &mut self,
        spec: &mut GangSpec,
        has_one: impl Fn(&GangKey) -> bool,
    ) -> Vec<Event> {
        let key = spec.key.clone();
        if spec.labelled.is_empty() {
            return self.is_not_divided(&key);
        }
        // Mostly it is the status that changed.
        if let Some(gang) = self.gangs.get_mut(&key)
            && gang.written.uid == spec.uid
            && gang.written.labelled == spec.labelled
        {
            gang.written = spec.clone();
            gang.told = gang.divided();
            *spec = gang.told.clone();
            return Vec::new();
        }
        let mut before = self.gangs.remove(&key);
        let unknown = || has_one(&key) && !self.early.contains_key(&key);
        let mut gang = Divided {
            written: spec.clone(),
            is_late: before.as_ref().map_or_else(unknown, |gang| gang.is_late),
            members: BTreeMap::new(),
            parts: Parts::default(),
            told: GangSpec::default(),
        };
        // Another object has nothing of the one before.
        if let Some(before) = before.as_ref().filter(|one| one.written.uid == spec.uid) {
            gang.recall(before);
        }
        let members = before
            .as_mut()
            .map(|gang| std::mem::take(&mut gang.members));
        let members = members.or_else(|| self.early.remove(&key));
        let was_in = |pod: &PodSpec| before.as_ref().and_then(|gang| gang.part_of(pod));
        let mut events = Vec::new();
        for (name, pod) in members.unwrap_or_default() {
            let part = gang.part_of(&pod);
            if part != was_in(&pod) {
                events.push(in_part(&pod, part));
            }
            gang.count(None, Some(&pod));
            gang.members.insert(name, pod);
        }
        gang.told = gang.divided();
        *spec = gang.told.clone();
        self.gangs.insert(key, gang);
        events
    }

    /// A PodGroup says nothing of subgroups by labels, or does not any more.
    fn is_not_divided(&mut self, key: &GangKey) -> Vec<Event> {
        self.forget_early(key);
        let Some(gang) = self.gangs.remove(key) else {
            return Vec::new();
        };
        for name in gang.members.keys() {
            self.gang_of.remove(name);
        }
        let members = gang.members.values();
        let parted = members.filter(|pod| gang.part_of(pod).is_some());
        parted
            .map(|pod| in_part(pod, pod.subgroup.clone()))
            .collect()
    }

    fn forget_early(&mut self, key: &GangKey) {
        for (name, _) in self.early.remove(key).into_iter().flatten() {
            self.gang_of.remove(&name);
        }
    }

    /// Its PodGroup is gone: another may come.
    fn forget_group(&mut self, key: &GangKey) {
        if let Some(gang) = self.gangs.remove(key)
            && !gang.members.is_empty()
        {
            self.early.insert(key.clone(), gang.members);
        }
    }
}

/// Whether a PodGroup of Volcano's may say which subgroup a pod is in.
fn may_be_divided(pod: &PodSpec) -> bool {
    let is_named = matches!(
        &pod.gang,
        GangRef::Named {
            space: GangSpace::Named,
            ..
        }
    );
    pod.ours && is_named && label_in(pod.labels.text(), OURS).is_none()
}

/// The news that a pod is in another subgroup.
fn in_part(pod: &PodSpec, part: Option<String>) -> Event {
    Event::is(PodSpec {
        subgroup: part.or_else(|| pod.subgroup.clone()),
        implied: None,
        ..pod.clone()
    })
}

/// What a pod counts as.
fn counts(pod: &PodSpec) -> Part {
    let ended_well = pod.phase == PodPhase::Succeeded;
    let lives = ended_well || !pod.terminating && pod.phase != PodPhase::Failed;
    Part {
        pods: u32::from(lives),
        placed: u32::from(lives && (ended_well || pod.node.is_some())),
        ..Part::default()
    }
}

impl Divided {
    /// The subgroup that a pod is in by its labels.
    fn part_of(&self, pod: &PodSpec) -> Option<String> {
        self.policy_of(pod).map(|(_, name)| name)
    }

    fn policy_of(&self, pod: &PodSpec) -> Option<(usize, String)> {
        self.written.labelled_subgroup_of(&pod.labels)
    }

    /// A member is there, changed or is gone.
    fn count(&mut self, before: Option<&PodSpec>, now: Option<&PodSpec>) {
        // One who ended well and is gone counts on, also where another of its name takes its place.
        let same = before
            .zip(now)
            .is_some_and(|(before, now)| before.key.uid == now.key.uid);
        if let Some(before) = before
            && let Some((policy, name)) = self.policy_of(before)
        {
            let retires = !same && before.phase == PodPhase::Succeeded;
            let counted = counts(before);
            self.parts
                .change(&self.written.labelled, policy, &name, |part| {
                    part.pods = part.pods.saturating_sub(counted.pods);
                    part.placed = part.placed.saturating_sub(counted.placed);
                    part.retired += u32::from(retires);
                });
        }
        if let Some(now) = now
            && let Some((policy, name)) = self.policy_of(now)
        {
            let counted = counts(now);
            self.parts
                .change(&self.written.labelled, policy, &name, |part| {
                    part.pods += counted.pods;
                    part.placed += counted.placed;
                });
        }
    }

    /// Takes over who ended well and is gone.
    fn recall(&mut self, before: &Self) {
        for (name, known) in &before.parts.known {
            let stem = before
                .written
                .labelled
                .get(known.policy)
                .map(|one| &one.name);
            let policies = &self.written.labelled;
            let policy = policies.iter().position(|one| Some(&one.name) == stem);
            if let Some(policy) = policy.filter(|_| known.retired > 0) {
                self.parts
                    .change(policies, policy, name, |part| part.retired = known.retired);
            }
        }
    }

    /// What everybody has to hear, if it is another than they know.
    fn news(&mut self) -> Option<Event> {
        let divided = self.divided();
        (divided != self.told).then(|| {
            self.told = divided.clone();
            Event::is(divided)
        })
    }

    /// The PodGroup with its subgroups.
    fn divided(&self) -> GangSpec {
        let mut named = Vec::new();
        let mut minimum = 0_u32;
        for (index, policy) in self.written.labelled.iter().enumerate() {
            let in_order = self.parts.in_order.get(&index);
            let mut parts: Vec<(&str, u32)> = Vec::new();
            let mut wanted = policy.min_groups;
            for rank in in_order.into_iter().flatten().take(MAX_NAMED_SUBGROUPS) {
                parts.push((&rank.name, if wanted > 0 { policy.size } else { 0 }));
                wanted = wanted.saturating_sub(1);
            }
            parts.sort_by(|one, other| natural(one.0, other.0));
            let not_made = format!("{}/{NOT_MADE}", policy.name);
            if wanted > 0 {
                parts.push((&not_made, policy.size.saturating_mul(wanted)));
            }
            for (name, min) in parts {
                minimum = minimum.saturating_add(min);
                named.push(SubgroupSpec {
                    name: name.to_owned(),
                    min,
                    topology: policy.topology.clone(),
                    ..SubgroupSpec::default()
                });
            }
        }
        // Those that have to run are not left out.
        let mut spare =
            MAX_NAMED_SUBGROUPS.saturating_sub(named.iter().filter(|one| one.min > 0).count());
        named.retain(|one| {
            let stays = one.min > 0 || spare > 0;
            spare -= usize::from(stays && one.min == 0);
            stays
        });
        let mut subgroups = named;
        subgroups.extend(self.written.subgroups.iter().cloned());
        if !subgroups.iter().any(|one| one.name.is_empty()) {
            subgroups.push(SubgroupSpec::default());
        }
        let mut divided = GangSpec {
            min_available: self.written.min_available.max(minimum),
            subgroups,
            ..self.written.clone()
        };
        if self.is_late {
            divided.read_otherwise.push(ADDED_LATER.to_owned());
        }
        divided
    }
}

impl Parts {
    fn change(
        &mut self,
        policies: &[LabelledSubgroups],
        policy: usize,
        name: &str,
        change: impl FnOnce(&mut Part),
    ) {
        let Some(size) = policies.get(policy).map(|one| one.size) else {
            return;
        };
        let in_order = self.in_order.entry(policy).or_default();
        let part = self.known.entry(name.to_owned()).or_default();
        in_order.remove(&part.rank(name, size));
        change(part);
        part.policy = policy;
        if (part.pods, part.retired) == (0, 0) {
            self.known.remove(name);
        } else {
            in_order.insert(part.rank(name, size));
        }
    }
}

impl Part {
    fn rank(&self, name: &str, size: u32) -> Rank {
        Rank {
            lacks_placed: self.placed + self.retired < size,
            lacks_pods: self.pods + self.retired < size,
            name: name.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_model::{LabelSelector, Labels, PodLabels};

    /// Who hears the news, with what it means besides.
    #[derive(Default)]
    struct Ear {
        subgroups: SubgroupsByLabels,
        group: Option<GangSpec>,
        part_of: BTreeMap<String, Option<String>>,
    }

    impl Ear {
        fn hear(&mut self, mut event: Event) {
            let has_one = self.group.is_some();
            let besides = self.subgroups.hear(&mut event, |_| has_one);
            for event in std::iter::once(event).chain(besides) {
                match event {
                    Event::Is(Object::Pod(pod)) => {
                        self.part_of.insert(pod.key.name, pod.subgroup);
                    }
                    Event::Is(Object::Gang(group)) => self.group = Some(*group),
                    Event::Gone(ObjectKey::Pod(pod)) => _ = self.part_of.remove(&pod.name),
                    Event::Gone(ObjectKey::Gang(..)) => self.group = None,
                    other => panic!("{other:?}"),
                }
            }
        }

        /// The subgroups with their minima, and that of the gang.
        fn minima(&self) -> (Vec<(&str, u32)>, u32) {
            let group = self.group.as_ref().unwrap();
            let subgroups = group.subgroups.iter();
            let minima = subgroups.map(|one| (one.name.as_str(), one.min));
            (minima.collect(), group.min_available)
        }

        fn part(&self, pod: &str) -> Option<&str> {
            self.part_of[pod].as_deref()
        }
    }

    fn key() -> GangKey {
        GangKey {
            namespace: "n".into(),
            name: "g".into(),
            ..GangKey::default()
        }
    }

    fn group(uid: &str, min_groups: u32, size: u32) -> GangSpec {
        GangSpec {
            key: key(),
            uid: uid.into(),
            source: Source::Volcano,
            min_available: 1,
            labelled: vec![LabelledSubgroups {
                name: "role".into(),
                selector: LabelSelector::default(),
                keys: vec!["replica".into()],
                min_groups,
                size,
                topology: None,
            }],
            ..GangSpec::default()
        }
    }

    fn pod(name: &str, replica: &str) -> PodSpec {
        let labels = Labels::from([("replica".to_owned(), replica.to_owned())]);
        PodSpec {
            key: PodKey {
                namespace: "n".into(),
                name: name.into(),
                uid: format!("uid of {name}"),
            },
            ours: true,
            gang: GangRef::Named {
                space: GangSpace::Named,
                name: "g".into(),
            },
            labels: PodLabels::new(&labels),
            ..PodSpec::default()
        }
    }

    fn gone(pod: &PodSpec) -> Event {
        Event::Gone(ObjectKey::Pod(pod.key.clone()))
    }

    fn group_gone() -> Event {
        Event::Gone(ObjectKey::Gang(key(), Source::Volcano))
    }

    #[test]
    fn so_many_of_them_have_to_run_as_there_are_to_be() {
        let mut ear = Ear::default();
        ear.hear(Event::is(group("u", 2, 2)));
        assert_eq!(ear.minima(), (vec![("role/?", 4), ("", 0)], 4));
        for (name, replica) in [("a", "10"), ("b", "10"), ("c", "9")] {
            ear.hear(Event::is(pod(name, replica)));
        }
        assert_eq!(ear.part("a"), Some("role/10"));
        let both = vec![("role/9", 2), ("role/10", 2), ("", 0)];
        assert_eq!(ear.minima(), (both, 4));
        // The one that lacks pods gives way to one that does not.
        ear.hear(Event::is(pod("d", "11")));
        ear.hear(Event::is(pod("e", "11")));
        let others = vec![("role/9", 0), ("role/10", 2), ("role/11", 2), ("", 0)];
        assert_eq!(ear.minima(), (others, 4));
    }

    #[test]
    fn those_that_run_count_before_those_that_wait() {
        let mut ear = Ear::default();
        ear.hear(Event::is(group("u", 1, 2)));
        let members = [("a", "0"), ("b", "0"), ("c", "1"), ("d", "1")];
        for (name, replica) in members {
            ear.hear(Event::is(pod(name, replica)));
        }
        assert_eq!(ear.minima().0[0], ("role/0", 2));
        for name in ["c", "d"] {
            let node = Some("node".to_owned());
            ear.hear(Event::is(PodSpec {
                node,
                ..pod(name, "1")
            }));
        }
        assert_eq!(ear.minima().0, [("role/0", 0), ("role/1", 2), ("", 0)]);
        // One is about to leave: none runs as a whole any more.
        let node = Some("node".to_owned());
        let leaving = PodSpec {
            node,
            terminating: true,
            ..pod("d", "1")
        };
        ear.hear(Event::is(leaving));
        assert_eq!(ear.minima().0, [("role/0", 2), ("role/1", 0), ("", 0)]);
    }

    #[test]
    fn it_is_the_same_in_whichever_order_it_is_heard() {
        let members = [pod("a", "0"), pod("b", "0"), pod("c", "1")];
        let mut first_the_group = Ear::default();
        first_the_group.hear(Event::is(group("u", 1, 2)));
        let mut first_the_pods = Ear::default();
        for pod in members {
            first_the_group.hear(Event::is(pod.clone()));
            first_the_pods.hear(Event::is(pod));
        }
        assert_eq!(first_the_pods.part("a"), None);
        first_the_pods.hear(Event::is(group("u", 1, 2)));
        assert_eq!(first_the_pods.part_of, first_the_group.part_of);
        assert_eq!(first_the_pods.minima(), first_the_group.minima());
        assert_eq!(first_the_pods.part("c"), Some("role/1"));
    }

    #[test]
    fn an_edit_of_the_group_or_of_a_pod_moves_pods() {
        let mut ear = Ear::default();
        ear.hear(Event::is(group("u", 1, 1)));
        let task = Some("task".to_owned());
        ear.hear(Event::is(PodSpec {
            subgroup: task,
            ..pod("a", "0")
        }));
        assert_eq!(ear.part("a"), Some("role/0"));
        ear.hear(Event::is(pod("b", "0")));
        ear.hear(Event::is(pod("b", "1")));
        assert_eq!(ear.part("b"), Some("role/1"));
        let mut renamed = group("u", 1, 1);
        renamed.labelled[0].name = "part".into();
        ear.hear(Event::is(renamed));
        assert_eq!(
            (ear.part("a"), ear.part("b")),
            (Some("part/0"), Some("part/1"))
        );
        assert_eq!(ear.minima().0, [("part/0", 1), ("part/1", 0), ("", 0)]);
        let plain = GangSpec {
            labelled: Vec::new(),
            ..group("u", 0, 1)
        };
        ear.hear(Event::is(plain));
        assert_eq!((ear.part("a"), ear.part("b")), (Some("task"), None));
        assert_eq!(ear.minima(), (Vec::new(), 1));
    }

    #[test]
    fn who_ended_well_counts_on_for_the_same_podgroup() {
        let mut ear = Ear::default();
        ear.hear(Event::is(group("u", 1, 2)));
        let ended = PodSpec {
            phase: PodPhase::Succeeded,
            ..pod("a", "0")
        };
        ear.hear(Event::is(ended.clone()));
        ear.hear(Event::is(PodSpec {
            node: Some("node".into()),
            ..pod("b", "0")
        }));
        ear.hear(gone(&ended));
        for name in ["c", "d"] {
            ear.hear(Event::is(pod(name, "1")));
        }
        let first = [("role/0", 2), ("role/1", 0), ("", 0)];
        assert_eq!(ear.minima().0, first);
        ear.hear(Event::is(group("u", 1, 2)));
        assert_eq!(ear.minima().0, first);
        ear.hear(group_gone());
        ear.hear(Event::is(group("another", 1, 2)));
        assert_eq!(ear.minima().0, [("role/0", 0), ("role/1", 2), ("", 0)]);
    }

    #[test]
    fn more_of_them_than_have_a_name_are_as_others() {
        let mut ear = Ear::default();
        ear.hear(Event::is(group("u", 2, 2)));
        for index in 0..200 {
            ear.hear(Event::is(pod(&format!("p-{index}"), &index.to_string())));
        }
        let whole = ["x", "y"].map(|name| pod(name, "150"));
        whole.into_iter().for_each(|pod| ear.hear(Event::is(pod)));
        let (minima, of_all) = ear.minima();
        assert_eq!((minima.len(), of_all), (64, 4));
        let wanted: Vec<_> = minima.into_iter().filter(|one| one.1 > 0).collect();
        assert_eq!(wanted, [("role/0", 2), ("role/150", 2)]);
    }

    #[test]
    fn a_policy_that_comes_late_says_so() {
        let mut ear = Ear::default();
        ear.hear(Event::is(GangSpec {
            labelled: Vec::new(),
            ..group("u", 0, 1)
        }));
        ear.hear(Event::is(pod("a", "0")));
        ear.hear(Event::is(group("u", 1, 1)));
        let said = |ear: &Ear| ear.group.as_ref().unwrap().read_otherwise.clone();
        assert_eq!(said(&ear), [ADDED_LATER]);
        ear.hear(Event::is(pod("a", "0")));
        assert_eq!(ear.part("a"), Some("role/0"));
        ear.hear(Event::is(group("u", 1, 1)));
        assert_eq!(said(&ear), [ADDED_LATER]);
    }

    #[test]
    fn nothing_is_kept_of_what_is_gone_and_of_others() {
        let mut ear = Ear::default();
        let of_others = PodSpec {
            ours: false,
            ..pod("other", "0")
        };
        let labels = Labels::from([(OURS.to_owned(), "g".to_owned())]);
        let labels = PodLabels::new(&labels);
        let of_ours = PodSpec {
            labels,
            ..pod("ours", "0")
        };
        let alone = PodSpec {
            gang: GangRef::Own,
            ..pod("alone", "0")
        };
        for pod in [of_others, of_ours, alone] {
            ear.hear(Event::is(pod));
        }
        assert!(ear.subgroups.gang_of.is_empty());
        let members = [pod("a", "0"), pod("b", "1")];
        members
            .iter()
            .for_each(|pod| ear.hear(Event::is(pod.clone())));
        ear.hear(Event::is(group("u", 1, 1)));
        ear.hear(group_gone());
        members.iter().for_each(|pod| ear.hear(gone(pod)));
        let kept = &ear.subgroups;
        assert!(kept.gang_of.is_empty() && kept.gangs.is_empty() && kept.early.is_empty());
        // Pods of a PodGroup that is not divided are not kept either.
        members
            .iter()
            .for_each(|pod| ear.hear(Event::is(pod.clone())));
        assert_eq!(ear.subgroups.gang_of.len(), 2);
        ear.hear(Event::is(GangSpec {
            labelled: Vec::new(),
            ..group("u", 0, 1)
        }));
        assert!(ear.subgroups.gang_of.is_empty() && ear.subgroups.early.is_empty());
    }
}
