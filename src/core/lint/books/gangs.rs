//! How many members of each gang stand where, and how many it needs.

use muster_model::{GangKey, GangSpace, GangSpec, Source, SubgroupSpec};
use std::collections::{BTreeMap, BTreeSet};

/// What a pod counts as in its gang.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Count {
    Succeeded,
    /// Ended well, and gone: it counts as long as the PodGroup is the same.
    Retired,
    Failed,
    Running,
    Bound,
    Leaving,
    Ordered,
    Other,
}

/// Members by what they count as.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts(BTreeMap<Count, i64>);

impl Counts {
    pub(crate) fn of(&self, count: Count) -> i64 {
        self.0.get(&count).copied().unwrap_or(0)
    }

    /// Members bound, or ended well.
    pub(crate) fn secured(&self) -> i64 {
        let on_nodes = self.of(Count::Bound) + self.of(Count::Running);
        on_nodes + self.of(Count::Succeeded) + self.of(Count::Retired)
    }

    /// The same with those on their way.
    pub(crate) fn available(&self) -> i64 {
        self.secured() + self.of(Count::Ordered)
    }

    /// Members placed that have not ended.
    fn placed(&self) -> i64 {
        self.available() - self.of(Count::Succeeded) - self.of(Count::Retired)
    }

    /// Members that hold a node.
    pub(crate) fn holding(&self) -> i64 {
        self.of(Count::Bound) + self.of(Count::Running) + self.of(Count::Leaving)
    }
}

/// What members say is their subgroup.
pub(crate) type Labels = BTreeSet<Option<String>>;

/// A gang.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gang {
    definitions: BTreeMap<Source, GangSpec>,
    subgroups: BTreeMap<Option<String>, Counts>,
    members: i64,
    /// Pods of other schedulers that name it.
    others: i64,
}

impl Gang {
    pub(crate) fn definition(&self) -> Option<&GangSpec> {
        self.definitions.values().next()
    }

    /// How many members it needs.
    pub(crate) fn minimum(&self) -> u32 {
        let Some(spec) = self.definition() else {
            return 0;
        };
        let minima = spec.subgroups.iter().map(|one| one.min);
        minima.fold(0, u32::saturating_add).max(spec.min_available)
    }

    /// Changes what defines it. Another object, of the same name or not, has nothing of the one before.
    fn redefine(&mut self, change: impl FnOnce(&mut BTreeMap<Source, GangSpec>)) {
        let before = self.definition().map(|spec| spec.uid.clone());
        change(&mut self.definitions);
        let now = self.definition().map(|spec| &spec.uid);
        if before.is_some() && before.as_ref() != now {
            for counts in self.subgroups.values_mut() {
                counts.0.remove(&Count::Retired);
            }
        }
    }

    /// Whether it is ours: by a member, by its kind, or, as long as nobody has a pod in it, by what we
    /// stand in for.
    pub(crate) fn is_ours(&self, claimed: bool) -> bool {
        let own_kinds = [Source::Muster, Source::SchedulingSpec];
        let mut own_kinds = own_kinds.iter();
        let own_kind = own_kinds.any(|kind| self.definitions.contains_key(kind));
        let stands_in = self
            .definition()
            .is_some_and(|spec| spec.stands_in || claimed);
        self.members > 0 || own_kind || self.others == 0 && stands_in
    }

    /// All members that belong to a subgroup which the gang has.
    fn total(&self) -> Counts {
        self.sum(|subgroup| self.has(subgroup))
    }

    /// The members that the API shows, of whatever subgroup.
    pub(crate) fn everybody(&self) -> Counts {
        self.sum(|_| true)
    }

    fn sum(&self, counts_in: impl Fn(Option<&str>) -> bool) -> Counts {
        let mut sum = Counts::default();
        let parts = self.subgroups.iter();
        for (_, counts) in parts.filter(|(name, _)| counts_in(name.as_deref())) {
            for (count, number) in &counts.0 {
                *sum.0.entry(*count).or_default() += number;
            }
        }
        sum
    }

    /// Members that ended well before anybody here looked, by what the status says, and are gone. Whoever lacks some
    /// has them.
    fn recall(&mut self) {
        let Some(spec) = self.definition().cloned() else {
            return;
        };
        let all = self.everybody();
        let said = spec.recalled.succeeded.min(self.minimum());
        let mut left = i64::from(said) - all.of(Count::Succeeded) - all.of(Count::Retired);
        let label = |one: &SubgroupSpec| Some(one.name.clone()).filter(|name| !name.is_empty());
        let lacking = spec
            .subgroups
            .iter()
            .map(|one| (label(one), i64::from(one.min)));
        let all = (spec.subgroups.first().and_then(label), i64::MAX);
        for (label, wanted) in lacking.chain([all]) {
            let counts = self.subgroups.entry(label).or_default();
            let more = (wanted - counts.available()).min(left).max(0);
            *counts.0.entry(Count::Retired).or_default() += more;
            left -= more;
        }
    }

    fn has(&self, subgroup: Option<&str>) -> bool {
        let subgroups = self.definition().map_or(&[][..], |spec| &spec.subgroups);
        let takes = |one: &SubgroupSpec| one.name.is_empty() || Some(one.name.as_str()) == subgroup;
        subgroups.is_empty() || subgroups.iter().any(takes)
    }

    /// What is missing to the minimum when members are counted like this, in words.
    pub(crate) fn lacks(&self, count: impl Fn(&Counts) -> i64) -> Option<String> {
        let spec = self.definition()?;
        for one in &spec.subgroups {
            let counts = self.subgroups.get(&Some(one.name.clone()));
            let have = counts.map_or(0, &count);
            if have < i64::from(one.min) {
                return Some(format!("{have} of {} in subgroup {}", one.min, one.name));
            }
        }
        let have = count(&self.total());
        let of = i64::from(spec.min_available);
        (have < of).then(|| format!("{have} of {of}"))
    }

    /// Of the subgroups to which members were added one with more placed than it may have, in
    /// words. The others may have had their maximum lowered. The same for the gang, if one of them has
    /// more than its minimum.
    pub(crate) fn exceeds(&self, added_to: &Labels) -> Option<String> {
        let spec = self.definition()?;
        let grows = |one: &&SubgroupSpec| {
            let name = Some(one.name.clone());
            let counts = self.subgroups.get(&name);
            let more = counts.is_some_and(|counts| counts.available() > i64::from(one.min));
            more && added_to.contains(&name)
        };
        let grows = spec.subgroups.is_empty() || spec.subgroups.iter().any(|one| grows(&one));
        let (have, most) = (self.total().placed(), spec.replicas);
        let most = most.map(|most| i64::from(most.max(spec.min_available)));
        if let Some(most) = most.filter(|most| grows && have > *most) {
            return Some(format!("{have} of at most {most}"));
        }
        spec.subgroups.iter().find_map(|one| {
            let max = i64::from(one.max?);
            let name = Some(one.name.clone());
            let counts = self
                .subgroups
                .get(&name)
                .filter(|_| added_to.contains(&name));
            let have = counts?.placed();
            (have > max).then(|| format!("{have} of at most {max} in subgroup {}", one.name))
        })
    }
}

/// All gangs, and the groups of others.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gangs {
    known: BTreeMap<GangKey, Gang>,
    /// Groups whose members came or went, or that are defined otherwise.
    touched: BTreeSet<GangKey>,
}

impl Gangs {
    pub(crate) fn get(&self, key: &GangKey) -> Option<&Gang> {
        self.known.get(key)
    }

    pub(crate) fn define(&mut self, spec: &GangSpec) {
        let gang = self.change(&spec.key);
        gang.redefine(|definitions| _ = definitions.insert(spec.source, spec.clone()));
    }

    /// Before the first look, when all was told.
    pub(crate) fn recall(&mut self) {
        self.known.values_mut().for_each(Gang::recall);
    }

    pub(crate) fn undefine(&mut self, key: &GangKey, source: Source) {
        self.touched.insert(key.clone());
        if let Some(gang) = self.known.get_mut(key) {
            gang.redefine(|definitions| _ = definitions.remove(&source));
        }
        self.forget_if_unused(key);
    }

    fn change(&mut self, key: &GangKey) -> &mut Gang {
        self.touched.insert(key.clone());
        self.known.entry(key.clone()).or_default()
    }

    /// A pod of another scheduler names a group, or does not any more.
    pub(crate) fn count_other(&mut self, key: &GangKey, sign: i64) {
        if key.space == GangSpace::Own {
            return;
        }
        self.change(key).others += sign;
        self.forget_if_unused(key);
    }

    /// Of what is not ours any more nothing is remembered, once all that happened was taken down.
    pub(crate) fn forget_what_is_not_ours(&mut self, claims: &BTreeSet<String>) {
        for key in std::mem::take(&mut self.touched) {
            let claimed = claims.contains(&key.namespace);
            if let Some(gang) = self
                .known
                .get_mut(&key)
                .filter(|gang| !gang.is_ours(claimed))
            {
                gang.subgroups.clear();
            }
        }
    }

    /// A namespace claims its groups from now on, or does not any more.
    pub(crate) fn touch_namespace(&mut self, name: &str) {
        let here = self.known.keys().filter(|key| key.namespace == name);
        self.touched.extend(here.cloned());
    }

    /// A member counts as this from now on, or does not any more.
    pub(crate) fn count(&mut self, key: &GangKey, subgroup: Option<&str>, count: Count, sign: i64) {
        if key.space == GangSpace::Own {
            return;
        }
        let gang = self.change(key);
        gang.members += sign;
        let counts = gang
            .subgroups
            .entry(subgroup.map(str::to_owned))
            .or_default();
        *counts.0.entry(count).or_default() += sign;
    }

    /// A member is gone for good; one that ended well counts on while the gang is known.
    pub(crate) fn gone(&mut self, key: &GangKey, subgroup: Option<&str>, ended_well: bool) {
        if let Some(gang) = self.known.get_mut(key).filter(|_| ended_well) {
            let counts = gang
                .subgroups
                .entry(subgroup.map(str::to_owned))
                .or_default();
            *counts.0.entry(Count::Retired).or_default() += 1;
        }
        self.forget_if_unused(key);
    }

    fn forget_if_unused(&mut self, key: &GangKey) {
        let unused =
            |gang: &Gang| gang.definitions.is_empty() && gang.members == 0 && gang.others == 0;
        if self.known.get(key).is_some_and(unused) {
            self.known.remove(key);
        }
    }
}
