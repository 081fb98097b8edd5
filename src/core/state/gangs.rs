//! A gang in the state: its definition, its members, and how many of them stand where.

use super::ids::{NodeId, PodId, QueueId};
use super::pending::Pending;
use super::pods::{STANDINGS, Standing};
use super::terms::Terms;
use muster_model::resources::{Request, Tally};
use muster_model::units::{Millis, Time};
use muster_model::{
    GangKey, GangSpace, GangSpec, GangWants, Housemates, Lifetime, Rank, Recalled, SubgroupSpec,
    TopologyWish,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// How many members stand where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts([u32; STANDINGS]);

impl Counts {
    /// Members of one standing.
    #[must_use]
    pub const fn of(&self, standing: Standing) -> u32 {
        self.0[standing as usize]
    }

    /// One member more.
    pub fn add(&mut self, standing: Standing) {
        self.0[standing as usize] += 1;
    }

    /// One member less.
    pub fn subtract(&mut self, standing: Standing) {
        let slot = &mut self.0[standing as usize];
        *slot = slot.saturating_sub(1);
    }

    /// Members with a room on a node or on the way to one.
    #[must_use]
    pub const fn placed(&self) -> u32 {
        self.of(Standing::Assumed) + self.bound()
    }

    /// Members that the API says are bound, and that neither ended nor leave.
    #[must_use]
    pub const fn bound(&self) -> u32 {
        self.of(Standing::Bound) + self.of(Standing::Running)
    }

    /// Members that hold a node, those that are about to leave it included.
    #[must_use]
    pub const fn holding(&self) -> u32 {
        self.bound() + self.of(Standing::Leaving)
    }

    /// All members.
    #[must_use]
    pub fn all(&self) -> u32 {
        self.0.iter().sum()
    }

    fn sum(mut self, other: &Self) -> Self {
        for (slot, more) in self.0.iter_mut().zip(other.0) {
            *slot += more;
        }
        self
    }
}

/// A subgroup of a gang. A gang that declares none has one, without a name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subgroup {
    /// What pods say in their label; empty for the one that takes all who say nothing of the others: the only one
    /// of a gang that declares none.
    pub name: String,
    /// How many must be available.
    pub min: u32,
    /// How many may be placed at once.
    pub max: u32,
    /// Its members.
    pub counts: Counts,
    /// Members that ended well and were deleted since: they stay available.
    pub retired: u32,
    /// How close together its members have to be.
    pub topology: Option<TopologyWish>,
    /// Whether it wants its nodes for its gang.
    pub exclusive: bool,
    /// The nodes its members are on, decided or confirmed, and how many are on each. Not kept of a pod
    /// that is a gang of its own.
    pub on: BTreeMap<NodeId, u32>,
    /// Of these members those that have a rank, in their line.
    pub line: BTreeMap<(Rank, PodId), NodeId>,
}

impl Subgroup {
    /// One member more on a node, or one less.
    pub fn count_on(&mut self, node: NodeId, more: bool) {
        let members = self.on.entry(node).or_default();
        *members = if more {
            *members + 1
        } else {
            members.saturating_sub(1)
        };
        if *members == 0 {
            self.on.remove(&node);
        }
    }

    /// A member that has a rank came onto a node, or left it.
    pub fn count_in_line(&mut self, rank: Rank, pod: PodId, node: NodeId, more: bool) {
        if more {
            self.line.insert((rank, pod), node);
        } else {
            self.line.remove(&(rank, pod));
        }
    }

    fn new(spec: &SubgroupSpec) -> Self {
        Self {
            name: spec.name.clone(),
            min: spec.min,
            max: spec.max.unwrap_or(u32::MAX),
            topology: spec.topology.clone(),
            exclusive: spec.exclusive,
            ..Self::default()
        }
    }

    /// Members placed or ended well.
    #[must_use]
    pub const fn available(&self) -> u32 {
        self.secured() + self.counts.of(Standing::Assumed)
    }

    /// Members bound or ended well: what the API has confirmed.
    #[must_use]
    pub const fn secured(&self) -> u32 {
        self.counts.bound() + self.counts.of(Standing::Succeeded) + self.retired
    }

    /// How many members more it may hold.
    #[must_use]
    pub const fn room(&self) -> u32 {
        self.max.saturating_sub(self.counts.placed())
    }

    /// Members still to be placed before `min` of them are available.
    #[must_use]
    pub const fn missing(&self, min: u32) -> u32 {
        min.saturating_sub(self.available())
    }
}

/// What of a gang is below its minimum: `2 of 4 members`, `0 of 1 members of subgroup head`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shortfall<'a> {
    /// Members that count.
    pub have: u32,
    /// How many have to.
    pub of: u32,
    /// The subgroup that lacks them; empty for the gang as a whole.
    pub subgroup: &'a str,
}

impl fmt::Display for Shortfall<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} members", self.have, self.of)?;
        match self.subgroup {
            "" => Ok(()),
            name => write!(f, " of subgroup {name}"),
        }
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pod {} {}", self.pod, self.what)?;
        match self.more {
            0 => Ok(()),
            more => write!(f, ", and {more} more were lost"),
        }
    }
}

/// How a gang lost a member that had a node, or was on its way to one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The first member lost since the gang was last whole.
    pub pod: String,
    /// What became of it: `was deleted`, `failed` ...
    pub what: String,
    /// Members lost after it.
    pub more: u32,
}

/// A gang.
#[derive(Clone, Debug, Default)]
pub struct Gang {
    /// Its key.
    pub key: GangKey,
    /// Rises from gang to gang, in the order in which they were heard of.
    pub arrival: u64,
    /// The PodGroups that define it, by [`Source`](muster_model::Source); the first counts.
    pub definitions: Vec<GangSpec>,
    /// Its subgroups, at least one.
    pub subgroups: Vec<Subgroup>,
    /// Members that name a subgroup which does not exist.
    pub strays: Counts,
    /// All members.
    pub members: BTreeSet<PodId>,
    /// How many members ever joined it, or joined those who wait again as their bind came back.
    pub joined: u64,
    /// The members that could be placed now.
    pub pending: Pending,
    /// The resources that must be free before it is admitted.
    pub min_resources: Request,
    /// Its queue: while it holds something, the one in which that was granted.
    pub queue: Option<QueueId>,
    /// How long it is protected from its start: while it holds something, as that was granted.
    pub lifetime: Lifetime,
    /// Whether what it holds was granted to it.
    pub granted: bool,
    /// The terms that it asks for, where they are others than it was granted.
    pub asks: Option<Terms>,
    /// What the process before left in its status, until this one has begun; the terms until it is known whether
    /// it holds anything.
    pub recalled: Recalled,
    /// The queue and the lifetime under which what it holds is counted.
    pub account: Option<(QueueId, Lifetime)>,
    /// Its priority, resolved.
    pub priority: i32,
    /// The priority class it names and that does not exist.
    pub unknown_priority_class: Option<String>,
    /// When it was submitted: the earliest of its PodGroup and its pods.
    pub submitted: Option<Time>,
    /// What its members use on nodes, decided or confirmed.
    pub in_use: Tally,
    /// How many members those are.
    pub holding: u32,
    /// When a bind of a member was last confirmed, as far as this process saw.
    pub advanced_at: Option<Time>,
    /// When the first of its members was bound that held nodes since it last held none: its
    /// lifetime counts from there.
    pub started_at: Option<Time>,
    /// The members it lost since it was last whole.
    pub loss: Option<Loss>,
    /// Members that ended well and were deleted since, by their subgroup's label.
    pub retired: BTreeMap<Option<String>, u32>,
    /// The last answer for a member whose eviction had been refused before was that it goes.
    pub yields: bool,
}

impl Gang {
    /// A gang of which nothing but the key is known.
    #[must_use]
    pub fn new(key: GangKey, arrival: u64) -> Self {
        let mut gang = Self {
            key,
            arrival,
            ..Self::default()
        };
        gang.subgroups = gang.subgroups_wanted();
        gang
    }

    /// The PodGroup that counts.
    #[must_use]
    pub fn definition(&self) -> Option<&GangSpec> {
        self.definitions.first()
    }

    /// Whether it is a pod without a gang.
    #[must_use]
    pub fn is_single(&self) -> bool {
        self.key.space == GangSpace::Own
    }

    /// How many of all its members must be available.
    #[must_use]
    pub fn min_available(&self) -> u32 {
        let minima = self
            .subgroups
            .iter()
            .fold(0_u32, |sum, one| sum.saturating_add(one.min));
        minima.max(self.definition().map_or(0, |spec| spec.min_available))
    }

    /// How many of all its members are.
    #[must_use]
    pub fn available(&self) -> u32 {
        self.subgroups.iter().map(Subgroup::available).sum()
    }

    /// How many members are missing to its minimum, over all subgroups.
    #[must_use]
    pub fn missing(&self) -> u32 {
        self.missing_by(Subgroup::available)
    }

    /// How many members the API has not confirmed yet of its minimum.
    #[must_use]
    pub fn unsecured(&self) -> u32 {
        self.missing_by(Subgroup::secured)
    }

    /// How many of all its members the API has confirmed.
    #[must_use]
    pub fn secured(&self) -> u32 {
        self.subgroups.iter().map(Subgroup::secured).sum()
    }

    /// Whether some members are bound, and fewer than the minimum: what the promise is about.
    #[must_use]
    pub fn is_partly_bound(&self) -> bool {
        // Mostly that is known at once.
        self.counts().bound() > 0 && self.unsecured() > 0
    }

    /// Whether it is partly bound and what it lacks has no place yet: it has to be completed, whoever is in
    /// the way. One whose minimum is on its way only grows by what else it gets.
    #[must_use]
    pub fn has_to_be_completed(&self) -> bool {
        self.is_partly_bound() && self.missing() > 0
    }

    /// What is below its minimum when members are counted so, subgroup by subgroup and then as a
    /// whole; where nothing is, the gang as a whole.
    #[must_use]
    pub fn shortfall(&self, have: impl Fn(&Subgroup) -> u32) -> Shortfall<'_> {
        let short = |one: &&Subgroup| have(one) < one.min && !one.name.is_empty();
        if let Some(subgroup) = self.subgroups.iter().find(short) {
            return Shortfall {
                have: have(subgroup),
                of: subgroup.min,
                subgroup: &subgroup.name,
            };
        }
        Shortfall {
            have: self.subgroups.iter().map(have).sum(),
            of: self.min_available(),
            subgroup: "",
        }
    }

    fn missing_by(&self, have: impl Fn(&Subgroup) -> u32) -> u32 {
        let (mut minima, mut all) = (0_u32, 0_u32);
        for one in &self.subgroups {
            let has = have(one);
            minima = minima.saturating_add(one.min.saturating_sub(has));
            all = all.saturating_add(has);
        }
        minima.max(self.min_available().saturating_sub(all))
    }

    /// Notes that a member that counted is lost.
    pub fn note_loss(&mut self, pod: &str, what: impl Into<String>) {
        match &mut self.loss {
            Some(loss) => loss.more = loss.more.saturating_add(1),
            None => {
                self.loss = Some(Loss {
                    pod: pod.to_owned(),
                    what: what.into(),
                    more: 0,
                });
            }
        }
    }

    /// All its members by standing.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.subgroups
            .iter()
            .fold(self.strays, |sum, one| sum.sum(&one.counts))
    }

    /// How many members more a subgroup may hold, beyond the minimum: its own maximum is one limit,
    /// the gang's replicas another. Who has ended holds nothing.
    #[must_use]
    pub fn room_to_grow(&self, subgroup: &Subgroup) -> u32 {
        let most = self.definition().and_then(|spec| spec.replicas);
        let of_gang = most.map_or(u32::MAX, |most| {
            let placed: u32 = self.subgroups.iter().map(|one| one.counts.placed()).sum();
            most.saturating_sub(placed)
        });
        subgroup.room().min(of_gang)
    }

    /// Whether it holds more than its maximum lets it, or a subgroup does.
    #[must_use]
    pub fn is_beyond_its_maximum(&self) -> bool {
        let most = self.definition().and_then(|spec| spec.replicas);
        let most = most.map_or(u32::MAX, |most| most.max(self.min_available()));
        let placed: u32 = self.subgroups.iter().map(|one| one.counts.placed()).sum();
        let mut subgroups = self.subgroups.iter();
        placed > most || subgroups.any(|one| one.counts.placed() > one.max)
    }

    /// Whether nobody of its queue takes members of it one by one.
    #[must_use]
    pub fn goes_whole(&self) -> bool {
        self.definition().is_some_and(|spec| spec.goes_whole)
    }

    /// For how long it may be below its minimum while lost members are replaced, once it has run.
    #[must_use]
    pub fn repair_for(&self) -> Option<Millis> {
        self.definition()?.repair_for
    }

    /// What it wants of the nodes of its members in this subgroup.
    #[must_use]
    pub fn wants(&self, subgroup: Option<usize>) -> GangWants {
        let selector = self.definition().map(|spec| &spec.node_selector);
        GangWants {
            selector: selector.cloned().unwrap_or_default(),
            labels: self.needed_labels(subgroup).map(str::to_owned).collect(),
            housemates: self.housemates(subgroup),
        }
    }

    /// The labels without which a node is in no domain that it requires for members of this subgroup.
    fn needed_labels(&self, subgroup: Option<usize>) -> impl Iterator<Item = &str> {
        let of_all = self.definition().and_then(|spec| spec.topology.as_ref());
        let of_group = subgroup.and_then(|index| self.subgroups[index].topology.as_ref());
        let wishes = of_all.into_iter().chain(of_group);
        wishes.filter_map(TopologyWish::needed_label)
    }

    /// With whom members of a subgroup share their nodes; `None` where the gang wants none for itself.
    fn housemates(&self, subgroup: Option<usize>) -> Option<Housemates> {
        let exclusive = |one: &Subgroup| one.exclusive;
        self.subgroups.iter().any(exclusive).then(|| Housemates {
            gang: self.key.clone(),
            exclusive: subgroup.is_some_and(|index| self.subgroups[index].exclusive),
        })
    }

    /// The index of the subgroup that a pod with this label belongs to.
    #[must_use]
    pub fn subgroup_of(&self, label: Option<&str>) -> Option<usize> {
        subgroup_of(&self.subgroups, label)
    }

    /// The subgroups its definition asks for, without members but those that ended well and are
    /// gone.
    #[must_use]
    pub fn subgroups_wanted(&self) -> Vec<Subgroup> {
        let mut wanted = self.subgroups_defined();
        for (label, retired) in &self.retired {
            if let Some(index) = subgroup_of(&wanted, label.as_deref()) {
                wanted[index].retired += retired;
            }
        }
        wanted
    }

    fn subgroups_defined(&self) -> Vec<Subgroup> {
        match self.definition() {
            Some(spec) if !spec.subgroups.is_empty() => {
                // What is wished of all members is wished of those of the only subgroup.
                let of_all = spec.topology.as_ref().filter(|_| spec.subgroups.len() == 1);
                let subgroup = |one| {
                    let mut subgroup = Subgroup::new(one);
                    subgroup.exclusive |= spec.exclusive;
                    subgroup.topology = subgroup.topology.or_else(|| of_all.cloned());
                    subgroup
                };
                spec.subgroups.iter().map(subgroup).collect()
            }
            Some(spec) => vec![Subgroup {
                min: spec.min_available,
                max: u32::MAX,
                topology: spec.topology.clone(),
                exclusive: spec.exclusive,
                ..Subgroup::default()
            }],
            None => {
                vec![Subgroup {
                    min: u32::from(self.is_single()),
                    max: u32::MAX,
                    ..Subgroup::default()
                }]
            }
        }
    }

    /// Notes when something of it was created.
    pub fn submitted_at(&mut self, created: Time) {
        self.submitted = Some(self.submitted.map_or(created, |known| known.min(created)));
    }

    /// The queue it asks for by name, given what its namespace says.
    #[must_use]
    pub fn queue_wanted<'a>(
        &'a self,
        single: Option<&'a str>,
        namespace: Option<&'a str>,
    ) -> Option<&'a str> {
        let own = self.definition().and_then(|spec| spec.queue.as_deref());
        own.or(single.filter(|_| self.is_single())).or(namespace)
    }
}

/// The index of the subgroup that takes pods with this label.
fn subgroup_of(subgroups: &[Subgroup], label: Option<&str>) -> Option<usize> {
    let named = |name| subgroups.iter().position(|one| one.name == name);
    let of_label = label.filter(|label| !label.is_empty()).and_then(named);
    of_label.or_else(|| named(""))
}

#[cfg(test)]
mod tests {
    use crate::state::ClusterState;
    use muster_model::units::Time;
    use muster_model::{Event, GangRef, GangSpace, PodKey, PodSpec};

    #[test]
    fn people_call_a_gang_by_its_podgroup_and_a_pod_on_its_own_by_its_name() {
        let mut state = ClusterState::default();
        let member = GangRef::Named {
            space: GangSpace::Named,
            name: "train".into(),
        };
        let mut titles = Vec::new();
        for (name, gang) in [("alone", GangRef::Own), ("train-0", member)] {
            let spec = PodSpec {
                key: PodKey {
                    namespace: "team".into(),
                    name: name.into(),
                    uid: format!("uid-of-{name}"),
                },
                ours: true,
                gang,
                ..PodSpec::default()
            };
            let key = spec.gang_key();
            state.apply(Time::ZERO, Event::is(spec));
            let id = state.find_gang(&key).unwrap();
            titles.push(state.gang_title(id));
        }
        assert_eq!(titles, ["team/alone", "team/train"]);
    }
}
