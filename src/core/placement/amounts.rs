//! Room for members that are not there yet, of which nothing is known but what they ask for in all, and what their
//! PodGroup wants of its nodes.
//!
//! Where it is known how many are to come, nodes are taken on which as many equal parts fit as there are
//! members; where that does not come out, or nobody knows, any amounts on any nodes will do: what the members
//! turn out to need is found out when they are there. Nodes with most room for it come first, so that it is
//! on few; nodes to which the members that wait may not go come last (where none waits, those to which not
//! everybody may go), and not at all those that are cordoned and those that the PodGroup does not select.

use crate::state::{Class, ClusterState, GangId, NodeId, RoomOn};
use muster_model::resources::{Dimension, Tally};
use muster_model::{Constraints, GangWants, Taint, TaintEffect, labels_match};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// The room that was found, or how much of each resource there is.
pub(super) type Found = Result<RoomOn, Tally>;

/// So many classes of members that wait are looked at: each is asked of every node.
const MAX_CLASSES: usize = 16;

/// What is known of those for whom room is looked for.
#[derive(Debug, Default)]
struct Known<'a> {
    /// What their PodGroup wants of all nodes.
    wants: GangWants,
    /// What members that wait want of theirs.
    members: Vec<&'a Constraints>,
}

impl<'a> Known<'a> {
    fn of(state: &'a ClusterState, gang_id: GangId) -> Self {
        let Some(gang) = state.gang(gang_id) else {
            return Self::default();
        };
        let shapes = state.shapes();
        let of_class = |class: Class| shapes.get(class.shape).map(|shape| shape.constraints);
        let classes = gang.pending.counts().map(|(class, _)| class);
        let different: BTreeSet<_> = classes.take(MAX_CLASSES).filter_map(of_class).collect();
        let constraints = |id| shapes.constraints(id);
        Self {
            wants: gang.wants(None),
            members: different.into_iter().filter_map(constraints).collect(),
        }
    }

    /// Whether anything may be placed on a node for them.
    fn is_open(&self, state: &ClusterState, node: NodeId) -> bool {
        let nodes = state.nodes();
        let labels = &nodes.facts(node).labels;
        nodes.present().contains(node)
            && !nodes.facts(node).unschedulable
            && !nodes.is_exclusive(node)
            && !nodes.is_kept_whole(node)
            && labels_match(&self.wants.selector, labels)
            && self.wants.labels.iter().all(|one| labels.contains_key(one))
    }

    /// Whether those who come may be expected to go there.
    fn is_likely(&self, state: &ClusterState, node: NodeId) -> bool {
        let (name, facts) = (state.nodes().name(node), state.nodes().facts(node));
        if self.members.is_empty() {
            let repels = |taint: &Taint| taint.effect != TaintEffect::PreferNoSchedule;
            return !facts.taints.iter().any(repels);
        }
        let may =
            |one: &&Constraints| one.select(name, &facts.labels) && one.tolerate(&facts.taints);
        self.members.iter().any(may)
    }
}

/// Finds room for amounts on the nodes as they are shown, where so many members of a gang are to come (zero: nobody
/// knows how many).
///
/// # Errors
/// What is free of each resource that is asked for, where that is not enough.
pub fn room_for(state: &ClusterState, gang: GangId, amounts: &Tally, members: u32) -> Found {
    room_for_known(state, &Known::of(state, gang), amounts, members)
}

fn room_for_known(state: &ClusterState, who: &Known<'_>, amounts: &Tally, members: u32) -> Found {
    let wanted: Vec<(Dimension, i64)> = amounts.iter().filter(|(_, one)| *one > 0).collect();
    // What all nodes together do not have need not be looked for.
    if !may_be_free(state, amounts) {
        let mut free = Tally::default();
        for (dimension, _) in &wanted {
            free.add_amount(*dimension, state.nodes().total_free(*dimension).max(0));
        }
        return Err(free);
    }
    let nodes = by_room(state, who, &wanted);
    in_parts(state, &nodes, &wanted, members).map_or_else(|| anyhow(state, &nodes, &wanted), Ok)
}

/// Whether all nodes together have these amounts free.
pub fn may_be_free(state: &ClusterState, amounts: &Tally) -> bool {
    let has =
        |(one, amount): (Dimension, i64)| amount <= 0 || state.nodes().total_free(one) >= amount;
    amounts.iter().all(has)
}

/// Whether what is held somewhere for a gang fits there now.
pub fn fits(state: &ClusterState, gang: GangId, on: &RoomOn) -> bool {
    fits_known(state, &Known::of(state, gang), on)
}

fn fits_known(state: &ClusterState, who: &Known<'_>, on: &RoomOn) -> bool {
    on.iter().all(|(node, amounts)| {
        let free = |(dimension, amount): (Dimension, i64)| {
            amount <= 0 || state.nodes().free(*node, dimension) >= amount
        };
        who.is_open(state, *node) && amounts.iter().all(free)
    })
}

/// The nodes with some room, those first to which they may be expected to go, and that have most of what is wanted.
fn by_room(state: &ClusterState, who: &Known<'_>, wanted: &[(Dimension, i64)]) -> Vec<NodeId> {
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
    let all = nodes.present().iter();
    let mut ranked: Vec<_> = all
        .filter(|node| who.is_open(state, *node))
        .map(|node| (!who.is_likely(state, node), Reverse(part(node)), node))
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
    use muster_model::{Event, NodeSpec};

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
        let found = room_for_known(&state, &Known::default(), &cpus(8000), 4);
        let expected = [("large".to_owned(), 4), ("other".to_owned(), 4)];
        assert_eq!(on(&state, &found), expected);
        // Three parts of three: two would not fit one node.
        let found = room_for_known(&state, &Known::default(), &cpus(9000), 3);
        assert_eq!(on(&state, &found).len(), 3);
    }

    #[test]
    fn any_amounts_will_do_where_nobody_knows_better() {
        let state = state(&[("a", 3), ("b", 3)]);
        let (unknown, in_halves) = (
            room_for_known(&state, &Known::default(), &cpus(5000), 0),
            room_for_known(&state, &Known::default(), &cpus(6000), 4),
        );
        assert_eq!(
            on(&state, &unknown),
            [("a".to_owned(), 3), ("b".to_owned(), 2)]
        );
        assert_eq!(
            on(&state, &in_halves),
            [("a".to_owned(), 3), ("b".to_owned(), 3)]
        );
        assert_eq!(
            room_for_known(&state, &Known::default(), &cpus(7000), 0),
            Err(cpus(6000))
        );
    }

    #[test]
    fn no_more_is_taken_than_is_wanted_however_it_is_rounded() {
        let state = state(&[("a", 4), ("b", 4)]);
        for (amount, members) in [(5, 4), (7, 3), (2, 8), (1, 8)] {
            let found = room_for_known(&state, &Known::default(), &cpus(amount), members).unwrap();
            let sum: i64 = found.values().map(|room| room.get(Dimension::CPU)).sum();
            assert_eq!(sum, amount, "{amount} for {members}");
            assert!(fits_known(&state, &Known::default(), &found));
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
        let found = room_for_known(&state, &Known::default(), &cpus(6000), 0);
        assert_eq!(
            on(&state, &found),
            [("a".to_owned(), 4), ("b".to_owned(), 2)]
        );
        assert_eq!(
            room_for_known(&state, &Known::default(), &cpus(13_000), 0),
            Err(cpus(12_000))
        );
    }
}
