//! How many members of each gang stand where, and how many it needs.

use muster_model::{GangKey, GangSpace, GangSpec, Source, SubgroupSpec};
use std::collections::{BTreeMap, BTreeSet};

/// What a pod counts as in its gang.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Count {
    Succeeded,
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
        self.of(Count::Bound) + self.of(Count::Running) + self.of(Count::Succeeded)
    }

    /// The same with those on their way.
    pub(crate) fn available(&self) -> i64 {
        self.secured() + self.of(Count::Ordered)
    }

    /// Members placed that have not ended.
    fn placed(&self) -> i64 {
        self.available() - self.of(Count::Succeeded)
    }

    /// Members that hold a node.
    pub(crate) fn holding(&self) -> i64 {
        self.of(Count::Bound) + self.of(Count::Running) + self.of(Count::Leaving)
    }
}

/// What members say is their subgroup.
pub(crate) type Labels = BTreeSet<Option<String>>;

/// A gang.
#[derive(Debug, Default)]
pub(crate) struct Gang {
    definitions: BTreeMap<Source, GangSpec>,
    subgroups: BTreeMap<Option<String>, Counts>,
    members: i64,
}

impl Gang {
    pub(crate) fn definition(&self) -> Option<&GangSpec> {
        self.definitions.values().next()
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

    fn has(&self, subgroup: Option<&str>) -> bool {
        let subgroups = self.definition().map_or(&[][..], |spec| &spec.subgroups);
        subgroups.is_empty()
            || subgroups
                .iter()
                .any(|one| Some(one.name.as_str()) == subgroup)
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

/// All gangs.
#[derive(Debug, Default)]
pub(crate) struct Gangs(BTreeMap<GangKey, Gang>);

impl Gangs {
    pub(crate) fn get(&self, key: &GangKey) -> Option<&Gang> {
        self.0.get(key)
    }

    pub(crate) fn define(&mut self, spec: &GangSpec) {
        let gang = self.0.entry(spec.key.clone()).or_default();
        gang.definitions.insert(spec.source, spec.clone());
    }

    pub(crate) fn undefine(&mut self, key: &GangKey, source: Source) {
        if let Some(gang) = self.0.get_mut(key) {
            gang.definitions.remove(&source);
        }
        self.forget_if_unused(key);
    }

    /// A member counts as this from now on, or does not any more.
    pub(crate) fn count(&mut self, key: &GangKey, subgroup: Option<&str>, count: Count, sign: i64) {
        if key.space == GangSpace::Own {
            return;
        }
        let gang = self.0.entry(key.clone()).or_default();
        gang.members += sign;
        let counts = gang
            .subgroups
            .entry(subgroup.map(str::to_owned))
            .or_default();
        *counts.0.entry(count).or_default() += sign;
    }

    /// A member is gone for good; one that ended well counts on while the gang is known.
    pub(crate) fn gone(&mut self, key: &GangKey, subgroup: Option<&str>, ended_well: bool) {
        if let Some(gang) = self.0.get_mut(key).filter(|_| ended_well) {
            let counts = gang
                .subgroups
                .entry(subgroup.map(str::to_owned))
                .or_default();
            *counts.0.entry(Count::Succeeded).or_default() += 1;
        }
        self.forget_if_unused(key);
    }

    fn forget_if_unused(&mut self, key: &GangKey) {
        let unused = |gang: &Gang| gang.definitions.is_empty() && gang.members == 0;
        if self.0.get(key).is_some_and(unused) {
            self.0.remove(key);
        }
    }
}
