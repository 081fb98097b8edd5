//! Which levels of HyperNodes some nodes have in common: looked up anew each time.

use super::account::Account;
use muster_model::{HyperNodeSpec, Level, MAX_TIERS, level_of_tier};
use std::collections::{BTreeMap, BTreeSet};

/// The levels of which all of several nodes are in one domain, from the widest on.
pub(super) fn in_common(account: &Account, nodes: &BTreeSet<String>) -> Vec<Level> {
    let of_nodes: Vec<_> = nodes.iter().map(|node| of_node(account, node)).collect();
    let Some((first, others)) = of_nodes.split_first() else {
        return Vec::new();
    };
    let mut shared = Vec::new();
    for tier in tiers(account).into_iter().rev() {
        let here = first.get(&tier);
        if others.iter().any(|other| other.get(&tier) != here) {
            break;
        }
        if here.is_some() {
            shared.push(level(account, tier));
        }
    }
    shared
}

/// The widest of all levels.
pub(super) fn widest(account: &Account) -> Option<Level> {
    let tier = tiers(account).pop()?;
    Some(level(account, tier))
}

/// The tiers that count, from the lowest on.
fn tiers(account: &Account) -> Vec<u32> {
    let tiers: BTreeSet<u32> = account.hyper_nodes.values().map(|one| one.tier).collect();
    tiers.into_iter().take(MAX_TIERS).collect()
}

fn level(account: &Account, tier: u32) -> Level {
    let of_tier = account.hyper_nodes.values().filter(|one| one.tier == tier);
    level_of_tier(
        tier,
        of_tier.filter_map(|one| one.tier_name.clone()).collect(),
    )
}

/// Of each tier the first HyperNode that has the node, by itself or through a member of a lower tier.
fn of_node<'a>(account: &'a Account, node: &str) -> BTreeMap<u32, &'a str> {
    let labels = account.labels(node);
    let chooses = |one: &&HyperNodeSpec| labels.is_some_and(|labels| one.chooses(node, labels));
    let mut with_it: BTreeMap<&str, &HyperNodeSpec> = account
        .hyper_nodes
        .values()
        .filter(chooses)
        .map(|one| (one.name.as_str(), one))
        .collect();
    loop {
        let has_member = |one: &&HyperNodeSpec| {
            let mut members = one.members.iter();
            members.any(|name| {
                with_it
                    .get(name.as_str())
                    .is_some_and(|m| m.tier < one.tier)
            })
        };
        let mut parents = account.hyper_nodes.values();
        let next = parents.find(|one| !with_it.contains_key(one.name.as_str()) && has_member(one));
        let Some(next) = next else { break };
        with_it.insert(&next.name, next);
    }
    let mut of_tier = BTreeMap::new();
    for (name, one) in with_it {
        of_tier.entry(one.tier).or_insert(name);
    }
    of_tier
}
