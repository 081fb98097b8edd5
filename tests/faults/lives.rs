//! The lives of gangs and queues: made, edited in every field while they wait and while they run, ended,
//! deleted, and made again under their names.

use crate::pods::{duration, habits, pod};
use crate::small::gangs::{Gang, SUBGROUPS};
use crate::small::lot::Lot;
use crate::small::{key, queues};
use crate::world::{QUEUES, entry, play};
use muster::model::units::Time;
use muster::model::{QueueSpec, Rank, Source, plain};
use muster::sim::random::Random;
use muster::sim::scenario::{Entry, Played};

/// Until then there are edits: a little before the faults end.
const EDITS: u64 = 29_000;

/// Queues of a tree, each with a share of its own.
const TREE: [&str; 4] = ["tree", "left", "right", "leaf"];
/// A queue that says the same for ever.
const CAPPED: &str = "capped";

/// What else there is in the world of a gang.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places {
    /// Something says which nodes are near each other.
    pub(crate) may_be_near: bool,
    /// There is a tree of queues.
    pub(crate) has_limits: bool,
}

/// Queues in a tree, which are edited, and deleted in any order; and one with a limit that stays.
pub(crate) fn queue_tree(random: &mut Random, entries: &mut Vec<Entry>) {
    let cpu = 1_000 * (1 + i64::from(random.count(6)));
    let capped = QueueSpec {
        limit: plain::amounts([("cpu", cpu)]),
        over_share: 1_000_000,
        ..plain::queue(CAPPED)
    };
    entries.push(entry(0, play(capped)));
    for (index, name) in TREE.into_iter().enumerate() {
        let queue = queues::queue(name, &TREE[..index], 1_000, random);
        let at = random.below(5_000) * random.below(2);
        entries.push(entry(at, play(queue.clone())));
        for _ in 0..random.below(3) {
            let mut edited = queues::queue(name, &TREE[..index], 1_000, random);
            if random.per_mille(700) {
                edited.parent.clone_from(&queue.parent);
            }
            entries.push(entry(at + 1 + random.below(EDITS - at), play(edited)));
        }
        if random.per_mille(200) {
            let last = entries.len() - 1;
            entries[last].delete_at = Some(Time(entries[last].at.0 + 1 + random.below(10_000)));
        }
    }
}

/// A gang, which may be edited, and end and be made again, and its pods.
pub(crate) fn gang(random: &mut Random, index: u64, places: Places, entries: &mut Vec<Entry>) {
    let name = format!("gang-{index}");
    let members = 1 + random.count(6);
    let (at, cpu) = (random.below(20_000), 500 * (1 + random.below(6)));
    let duration = duration(random);
    let queues = [&QUEUES[..], &TREE[..], &[CAPPED; 2]].concat();
    let queues = if places.has_limits {
        &queues[..]
    } else {
        &QUEUES
    };
    let volcanos = random.per_mille(300);
    let gang = Gang {
        members,
        cpu: i64::try_from(cpu).unwrap(),
        queues,
        has_subgroups: !volcanos && members > 2 && random.per_mille(400),
        may_be_near: !volcanos && places.may_be_near,
    };
    let mut spec = plain::group(key(&name), 1);
    if volcanos {
        spec.source = Source::Volcano;
    }
    gang.say(&mut spec, random);
    if volcanos {
        (spec.exclusive, spec.node_selector) = (false, [].into());
    }
    // The PodGroup comes before, with or after its pods.
    let group_at = (at + random.below(3_000)).saturating_sub(1_500);
    entries.push(entry(group_at, play(spec.clone())));
    let group = entries.len() - 1;
    let edits = if random.per_mille(450) {
        1 + random.below(3)
    } else {
        0
    };
    let mut edited_at = group_at;
    for _ in 0..edits {
        edited_at += 1 + random.below(15_000);
        gang.edit(&mut spec, random);
        if volcanos {
            (spec.exclusive, spec.node_selector) = (false, [].into());
        }
        if edited_at < EDITS {
            entries.push(entry(edited_at, play(spec.clone())));
        }
    }
    // Some are deleted, and made again with what they said last: with other pods, or with those they had.
    let gone_at = edited_at.max(at) + 1 + random.below(12_000);
    let again = random.per_mille(250) && gone_at < EDITS;
    let with_pods = random.per_mille(500);
    if again {
        entries[group].delete_at = Some(Time(gone_at));
        let again_at = gone_at + 1 + random.below(2_000);
        entries.push(entry(again_at, play(spec.clone())));
    }
    let habits = habits(random);
    for member in 0..members {
        let mut plan = pod(
            format!("{name}-{member}"),
            Some(name.as_str()),
            cpu,
            duration,
        );
        habits(&mut plan);
        if gang.has_subgroups {
            plan.spec.subgroup = Some(SUBGROUPS[usize::from(member > 0)].to_owned());
        }
        // Numbered in another order than they come in.
        if index.is_multiple_of(2) {
            plan.spec.rank = Rank::new("", 0, member * 3 % 5);
        }
        let at = at + random.below(500);
        let mut made = entry(at, Played::Pod(Box::new(plan.clone())));
        if again && with_pods {
            // Its controller deletes it with the PodGroup, or a little later.
            let left_at = gone_at.max(at) + random.below(1_500);
            made.delete_at = Some(Time(left_at));
            let again_at = left_at + 1 + random.below(2_500);
            entries.push(entry(again_at, Played::Pod(Box::new(plan))));
        }
        entries.push(made);
    }
}
