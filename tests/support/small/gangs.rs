//! What PodGroups say, drawn field by field: when they are made, and when they are edited.

use super::lot::Lot;
use super::{CLASS, RACK};
use muster::model::{GangSpec, SubgroupSpec, TopologyWish};

/// The subgroups that pods may name.
pub(crate) const SUBGROUPS: [&str; 2] = ["a", "b"];

/// What a PodGroup may say, and what it may say it of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gang<'a> {
    /// How many pods it has.
    pub(crate) members: u32,
    /// How much CPU each asks for.
    pub(crate) cpu: i64,
    /// The queues there may be.
    pub(crate) queues: &'a [&'a str],
    /// Whether its pods name subgroups.
    pub(crate) has_subgroups: bool,
    /// Whether how near its nodes are can be asked for.
    pub(crate) may_be_near: bool,
}

/// A field of a PodGroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Minimum,
    Priority,
    Lifetime,
    Queue,
    MinResources,
    Subgroups,
    Topology,
    Exclusive,
    Replicas,
    Repair,
    Nodes,
}

impl Field {
    pub(crate) const ALL: [Self; 11] = [
        Self::Minimum,
        Self::Priority,
        Self::Lifetime,
        Self::Queue,
        Self::MinResources,
        Self::Subgroups,
        Self::Topology,
        Self::Exclusive,
        Self::Replicas,
        Self::Repair,
        Self::Nodes,
    ];
}

impl Gang<'_> {
    /// Says everything by lot.
    pub(crate) fn say(&self, spec: &mut GangSpec, lot: &mut impl Lot) {
        for field in Field::ALL {
            self.draw(field, spec, lot);
        }
    }

    /// Says something in another way.
    pub(crate) fn edit(&self, spec: &mut GangSpec, lot: &mut impl Lot) {
        for _ in 0..=lot.below(2) {
            let which = usize::try_from(lot.below(Field::ALL.len() as u64)).unwrap();
            self.draw(Field::ALL[which], spec, lot);
        }
    }

    /// Says one field by lot.
    pub(crate) fn draw(&self, field: Field, spec: &mut GangSpec, lot: &mut impl Lot) {
        match field {
            Field::Minimum => {
                spec.min_available = 1 + lot.count(self.members.max(1).into());
                fit_subgroups(spec);
            }
            Field::Priority => {
                let number = i32::try_from(lot.below(3)).unwrap();
                spec.priority = lot.per_mille(300).then_some(number);
                let class = spec.priority.is_none() && lot.per_mille(200);
                spec.priority_class = class.then(|| CLASS.to_owned());
            }
            Field::Lifetime => spec.lifetime = lot.span(350, 12),
            Field::Queue => {
                let which = usize::try_from(lot.below(2 * self.queues.len() as u64)).unwrap();
                spec.queue = which
                    .checked_sub(self.queues.len())
                    .map(|at| self.queues[at].to_owned());
            }
            Field::MinResources => {
                let cpu = i64::from(spec.min_available) * self.cpu;
                let much = lot.per_mille(200).then_some(cpu);
                spec.min_resources = much
                    .map(|cpu| ("cpu".to_owned(), cpu))
                    .into_iter()
                    .collect();
            }
            Field::Subgroups => {
                let has = self.has_subgroups && lot.per_mille(700);
                spec.subgroups = if has { subgroups() } else { Vec::new() };
                fit_subgroups(spec);
            }
            Field::Topology => {
                let hops = 2 * lot.count(2);
                let near = self.may_be_near && lot.per_mille(300);
                spec.topology = near.then(|| TopologyWish {
                    max_hops: Some(hops),
                    ..TopologyWish::default()
                });
            }
            Field::Exclusive => spec.exclusive = lot.per_mille(100),
            Field::Replicas => {
                let more = lot.count(3);
                let limited = lot.per_mille(200);
                spec.replicas = limited.then_some(spec.min_available + more);
            }
            Field::Repair => {
                spec.repair_for = lot.span(250, 30);
            }
            Field::Nodes => {
                let rack = lot.below(3).to_string();
                let chosen = lot.per_mille(80).then(|| (RACK.to_owned(), rack));
                spec.node_selector = chosen.into_iter().collect();
            }
        }
    }
}

/// The minima of subgroups make the whole's.
pub(crate) fn fit_subgroups(spec: &mut GangSpec) {
    if let [first, second] = &mut spec.subgroups[..] {
        first.min = 1;
        second.min = spec.min_available.max(1) - 1;
    }
}

pub(crate) fn subgroups() -> Vec<SubgroupSpec> {
    let subgroup = |name: &str| SubgroupSpec {
        name: name.to_owned(),
        max: Some(4),
        ..SubgroupSpec::default()
    };
    SUBGROUPS.map(subgroup).to_vec()
}
