//! Room for members that are not there yet, of which nothing is known but what they ask for in all.
//!
//! Where it is known how many are to come, nodes are taken on which as many equal parts fit as there are
//! members; where that does not come out, or nobody knows, any amounts on any nodes will do: what the members
//! turn out to need is found out when they are there. Nodes with most room for it come first, so that it is
//! on few; nodes that not everybody may go to come last, and cordoned ones not at all.

use crate::state::{ClusterState, NodeId, RoomOn};
use muster_model::TaintEffect;
use muster_model::resources::{Dimension, Tally};
use std::cmp::Reverse;

/// The room that was found, or how much of each resource there is.
pub(super) type Found = Result<RoomOn, Tally>;

/// Finds room for amounts on the nodes as they are shown, where so many members are to come (zero: nobody
/// knows how many).
///
/// # Errors
/// What is free of each resource that is asked for, where that is not enough.
pub fn room_for(state: &ClusterState, amounts: &Tally, members: u32) -> Found {
    let wanted: Vec<(Dimension, i64)> = amounts.iter().filter(|(_, one)| *one > 0).collect();
    // What all nodes together do not have need not be looked for.
    if !may_be_free(state, amounts) {
        let mut free = Tally::default();
        for (dimension, _) in &wanted {
            free.add_amount(*dimension, state.nodes().total_free(*dimension).max(0));
        }
        return Err(free);
    }
    let nodes = by_room(state, &wanted);
    in_parts(state, &nodes, &wanted, members).map_or_else(|| anyhow(state, &nodes, &wanted), Ok)
}

/// Whether all nodes together have these amounts free.
pub fn may_be_free(state: &ClusterState, amounts: &Tally) -> bool {
    let has =
        |(one, amount): (Dimension, i64)| amount <= 0 || state.nodes().total_free(one) >= amount;
    amounts.iter().all(has)
}

/// Whether what is held somewhere fits there now.
pub fn fits(state: &ClusterState, on: &RoomOn) -> bool {
    on.iter().all(|(node, amounts)| {
        let free = |(dimension, amount): (Dimension, i64)| {
            amount <= 0 || state.nodes().free(*node, dimension) >= amount
        };
        is_open(state, *node) && amounts.iter().all(free)
    })
}

/// Whether anything may be placed on a node.
fn is_open(state: &ClusterState, node: NodeId) -> bool {
    let nodes = state.nodes();
    nodes.present().contains(node)
        && !nodes.facts(node).unschedulable
        && !nodes.is_exclusive(node)
        && !nodes.is_kept_whole(node)
}

/// The nodes with some room, those first that are open to everybody and have most of what is wanted.
fn by_room(state: &ClusterState, wanted: &[(Dimension, i64)]) -> Vec<NodeId> {
    let nodes = state.nodes();
    let part = |node: NodeId| {
        let parts = wanted.iter().map(|(dimension, amount)| {
            let free = nodes.free(node, *dimension).clamp(0, *amount);
            u64::try_from(i128::from(free) * 1_000_000 / i128::from(*amount)).unwrap_or(0)
        });
        // Room of which one resource is missing holds nobody.
        let parts: Vec<u64> = parts.collect();
        (
            parts.iter().copied().min().unwrap_or(0),
            parts.iter().sum::<u64>(),
        )
    };
    let kept_off = |node: NodeId| {
        let mut taints = nodes.facts(node).taints.iter();
        taints.any(|taint| taint.effect != TaintEffect::PreferNoSchedule)
    };
    let open = nodes.present().iter().filter(|node| is_open(state, *node));
    let mut ranked: Vec<_> = open
        .map(|node| (kept_off(node), Reverse(part(node)), node))
        .filter(|(_, Reverse((_, sum)), _)| *sum > 0)
        .collect();
    ranked.sort_unstable();
    ranked.into_iter().map(|(_, _, node)| node).collect()
}

/// As many equal parts as there are members, each on one node.
fn in_parts(
    state: &ClusterState,
    nodes: &[NodeId],
    wanted: &[(Dimension, i64)],
    members: u32,
) -> Option<RoomOn> {
    let count = i64::from(members);
    let part: Vec<(Dimension, i64)> = wanted
        .iter()
        .filter(|_| count > 0)
        .map(|(dimension, amount)| {
            (
                *dimension,
                amount.div_euclid(count) + i64::from(amount % count > 0),
            )
        })
        .collect();
    let mut left = count;
    let mut on = RoomOn::new();
    for node in nodes {
        if left == 0 {
            break;
        }
        let fit = part
            .iter()
            .map(|(dimension, amount)| state.nodes().free(*node, *dimension) / amount);
        let fit = fit.min().unwrap_or(0).clamp(0, left);
        if fit > 0 {
            left -= fit;
            let here = on.entry(*node).or_default();
            for (dimension, amount) in &part {
                here.add_amount(*dimension, amount * fit);
            }
        }
    }
    (left == 0 && count > 0).then(|| trimmed(on, wanted))
}

/// What was rounded up is not more than is wanted in all.
fn trimmed(mut on: RoomOn, wanted: &[(Dimension, i64)]) -> RoomOn {
    for (dimension, amount) in wanted {
        let sum: i64 = on.values().map(|here| here.get(*dimension)).sum();
        let mut over = sum - amount;
        for here in on.values_mut().rev() {
            let less = here.get(*dimension).min(over);
            here.add_amount(*dimension, -less);
            over -= less;
        }
    }
    on
}

/// Any amounts anywhere.
fn anyhow(state: &ClusterState, nodes: &[NodeId], wanted: &[(Dimension, i64)]) -> Found {
    let (mut on, mut free) = (RoomOn::new(), Tally::default());
    let mut enough = true;
    for (dimension, amount) in wanted {
        let mut left = *amount;
        for node in nodes {
            let here = state.nodes().free(*node, *dimension).max(0);
            free.add_amount(*dimension, here);
            let some = here.min(left);
            if some > 0 {
                on.entry(*node).or_default().add_amount(*dimension, some);
                left -= some;
            }
        }
        enough &= left == 0;
    }
    if enough { Ok(on) } else { Err(free) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_model::testing::node;
    use muster_model::units::Time;
    use muster_model::{Event, NodeSpec, Taint};

    fn state(nodes: &[(&str, i64)]) -> ClusterState {
        let mut state = ClusterState::default();
        for (name, cpus) in nodes {
            state.apply(Time::ZERO, Event::is(node(name, *cpus)));
        }
        state
    }

    fn cpus(amount: i64) -> Tally {
        let mut tally = Tally::default();
        tally.add_amount(Dimension::CPU, amount);
        tally
    }

    /// What was found, by name of node, in CPUs.
    fn on(state: &ClusterState, found: &Found) -> Vec<(String, i64)> {
        let on = found.as_ref().unwrap().iter();
        let on = on.map(|(node, room)| {
            let name = state.nodes().name(*node).to_owned();
            (name, room.get(Dimension::CPU) / 1000)
        });
        on.collect()
    }

    #[test]
    fn each_part_is_on_one_node_where_that_comes_out() {
        let state = state(&[("small", 3), ("large", 4), ("other", 4)]);
        let found = room_for(&state, &cpus(8000), 4);
        let expected = [("large".to_owned(), 4), ("other".to_owned(), 4)];
        assert_eq!(on(&state, &found), expected);
        // Three parts of three: two would not fit one node.
        let found = room_for(&state, &cpus(9000), 3);
        assert_eq!(on(&state, &found).len(), 3);
    }

    #[test]
    fn any_amounts_will_do_where_nobody_knows_better() {
        let state = state(&[("a", 3), ("b", 3)]);
        let (unknown, in_halves) = (
            room_for(&state, &cpus(5000), 0),
            room_for(&state, &cpus(6000), 4),
        );
        assert_eq!(
            on(&state, &unknown),
            [("a".to_owned(), 3), ("b".to_owned(), 2)]
        );
        assert_eq!(
            on(&state, &in_halves),
            [("a".to_owned(), 3), ("b".to_owned(), 3)]
        );
        assert_eq!(room_for(&state, &cpus(7000), 0), Err(cpus(6000)));
    }

    #[test]
    fn no_more_is_taken_than_is_wanted_however_it_is_rounded() {
        let state = state(&[("a", 4), ("b", 4)]);
        for (amount, members) in [(5, 4), (7, 3), (2, 8), (1, 8)] {
            let found = room_for(&state, &cpus(amount), members).unwrap();
            let sum: i64 = found.values().map(|room| room.get(Dimension::CPU)).sum();
            assert_eq!(sum, amount, "{amount} for {members}");
            assert!(fits(&state, &found));
        }
    }

    #[test]
    fn cordoned_nodes_do_not_count_and_tainted_ones_come_last() {
        let mut state = state(&[("a", 4)]);
        let taint = Taint {
            key: "for".into(),
            value: "others".into(),
            effect: TaintEffect::NoSchedule,
        };
        let tainted = NodeSpec {
            taints: vec![taint],
            ..node("b", 8)
        };
        let cordoned = NodeSpec {
            unschedulable: true,
            ..node("c", 8)
        };
        state.apply(Time::ZERO, Event::is(tainted));
        state.apply(Time::ZERO, Event::is(cordoned));
        let found = room_for(&state, &cpus(6000), 0);
        assert_eq!(
            on(&state, &found),
            [("a".to_owned(), 4), ("b".to_owned(), 2)]
        );
        assert_eq!(room_for(&state, &cpus(13_000), 0), Err(cpus(12_000)));
    }
}
