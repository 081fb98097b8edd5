//! Whether places are near enough to each other, and whether nodes are shared that may not be: by
//! labels and names.

use super::Note;
use super::account::{Account, Pod};
use super::books::Labels;
use super::hyper_nodes;
use muster_model::{
    Bind, GangKey, GangSpace, GangSpec, HOSTNAME, HYPER_NODES, Level, Origin, TopologySpec,
    TopologyWish, level_of_tier,
};
use std::borrow::Cow;
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
    let Some(topology) = meant(account, wish) else {
        let unclear = || "although it is not clear how near it has to be".to_owned();
        return (!wish.if_there).then(unclear);
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
    let common = match topology.origin {
        Origin::Volcano => hyper_nodes::in_common(account, nodes),
        _ => topology.levels[..common_levels(account, &topology, nodes)].to_vec(),
    };
    let hops = common.last().map(|level| level.hops);
    let required = wish.required_level.as_ref();
    let missed = required.filter(|name| !common.iter().any(|level| level.is_called(name)));
    if let Some(label) = missed {
        return Some(format!("to several domains of {label}: {nodes:?}"));
    }
    if let Some(tier) = wish.highest_tier {
        let of_tier = level_of_tier(tier, Vec::new()).hops;
        let is_bound = hyper_nodes::widest(account).is_some_and(|one| of_tier <= one.hops);
        if is_bound && hops.is_none_or(|hops| hops > of_tier) {
            return Some(format!("above tier {tier}: {nodes:?}"));
        }
    }
    let most = wish.max_hops?;
    let beyond = hops.is_none_or(|hops| hops > most);
    beyond.then(|| format!("{hops:?} hops apart, and {most} are allowed: {nodes:?}"))
}

/// The topology that a wish is about: the one it names, or the only one, ours before those of others.
fn meant<'a>(account: &'a Account, wish: &TopologyWish) -> Option<Cow<'a, TopologySpec>> {
    let of_hyper_nodes = || {
        let levels = hyper_nodes::widest(account).into_iter();
        let levels: Vec<Level> = levels.collect();
        let there = !levels.is_empty();
        there.then(|| TopologySpec {
            name: HYPER_NODES.to_owned(),
            origin: Origin::Volcano,
            levels,
            ..TopologySpec::default()
        })
    };
    let all = account.topologies.values().map(Cow::Borrowed);
    let mut all: Vec<_> = all.chain(of_hyper_nodes().map(Cow::Owned)).collect();
    all.retain(|one| one.invalid.is_none());
    if let Some(name) = &wish.name {
        all.retain(|one| one.name == *name);
        return all.pop();
    }
    all.retain(|one| one.origin != Origin::Label);
    if all.iter().any(|one| one.origin.is_ours()) {
        all.retain(|one| one.origin.is_ours());
    }
    all.pop().filter(|_| all.is_empty())
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
