//! Whether places are near enough to each other, and whether nodes are shared that may not be: by
//! labels and names.

use super::Note;
use super::account::{Account, Pod};
use super::gangs::Labels;
use crate::core::model::{
    Bind, GangKey, GangSpace, GangSpec, HOSTNAME, TopologySpec, TopologyWish,
};
use std::collections::BTreeSet;

/// No members are placed further from each other than their PodGroup or subgroup allows.
pub(super) fn near_enough(account: &Account, key: &GangKey, added_to: &Labels) -> Option<Note> {
    if key.space == GangSpace::Own {
        return None;
    }
    let spec = account.gangs.get(key)?.definition()?;
    let of_all = spec.topology.as_ref();
    let all = || account.placed(key).map(|(_, node)| node.clone()).collect();
    if let Some(far) = of_all.and_then(|wish| too_far(account, wish, &all())) {
        return Some(format!("gang {key} is bound {far}"));
    }
    let mut subgroups = spec.subgroups.iter();
    subgroups.find_map(|one| {
        let name = Some(one.name.clone());
        let wish = one.topology.as_ref().filter(|_| added_to.contains(&name))?;
        let placed = account.placed(key).filter(|(pod, _)| pod.subgroup == name);
        let nodes = placed.map(|(_, node)| node.clone()).collect();
        let far = too_far(account, wish, &nodes)?;
        Some(format!(
            "subgroup {} of gang {key} is bound {far}",
            one.name
        ))
    })
}

/// How some nodes are not what is wished of them, in words.
fn too_far(account: &Account, wish: &TopologyWish, nodes: &BTreeSet<String>) -> Option<String> {
    let mut named = account.topologies.values().filter(|one| match &wish.name {
        Some(name) => one.name == *name,
        None => one.invalid.is_none(),
    });
    let (Some(topology), None) = (named.next(), named.next()) else {
        return Some("although it is not clear how near it has to be".to_owned());
    };
    if nodes.len() < 2 {
        return None;
    }
    if let Some(roads) = account.roads.get(&topology.name) {
        if let Some(label) = &wish.required_level {
            return Some(format!("although links have no level {label}"));
        }
        let most = wish.max_hops?;
        let far = roads.beyond(nodes, most)?;
        return Some(format!("more than {most} hops apart: {far:?}"));
    }
    let common = common_levels(account, topology, nodes);
    let hops = common
        .checked_sub(1)
        .map(|level| topology.levels[level].hops);
    let required = wish.required_level.as_ref();
    let missed = required.filter(|label| {
        let mut within = topology.levels[..common].iter();
        !within.any(|level| level.label == **label)
    });
    if let Some(label) = missed {
        return Some(format!("to several domains of {label}: {nodes:?}"));
    }
    let most = wish.max_hops?;
    let beyond = hops.is_none_or(|hops| hops > most);
    beyond.then(|| format!("{hops:?} hops apart, and {most} are allowed: {nodes:?}"))
}

/// In how many levels, from the widest on, all of several nodes are in one domain.
fn common_levels(account: &Account, topology: &TopologySpec, nodes: &BTreeSet<String>) -> usize {
    let levels = topology.levels.iter();
    let levels = || levels.clone().filter(|level| level.label != HOSTNAME);
    let has_all =
        |node: &&String| levels().all(|level| account.label(node, &level.label).is_some());
    if !nodes.iter().all(|node| has_all(&node)) {
        return 0;
    }
    let same = |label: &str| {
        let values: BTreeSet<_> = nodes
            .iter()
            .map(|node| account.label(node, label))
            .collect();
        values.len() == 1
    };
    levels().take_while(|level| same(&level.label)).count()
}

/// A pod shares its node with no other gang if either wants it for itself.
pub(super) fn not_shared(account: &Account, order: &Bind) -> Option<Note> {
    let pod = account.pod(&order.pod)?;
    let others = account.pods_on(&order.node);
    let mut others = others.filter(|one| one.gang != pod.gang || !one.ours);
    let in_the_way = others.find(|one| {
        !one.daemon && (is_exclusive(account, pod) || one.ours && is_exclusive(account, one))
    })?;
    let (pod, node) = (&order.pod, &order.node);
    Some(format!(
        "bind of {pod} to {node}: one of its gang and that of {} wants the node for itself",
        in_the_way.key
    ))
}

fn is_exclusive(account: &Account, pod: &Pod) -> bool {
    let gang = account.gangs.get(&pod.gang);
    let says = |spec: &GangSpec| {
        let mut subgroups = spec.subgroups.iter();
        let own = subgroups.find(|one| Some(&one.name) == pod.subgroup.as_ref());
        spec.exclusive || own.is_some_and(|one| one.exclusive)
    };
    gang.and_then(|gang| gang.definition()).is_some_and(says)
}
