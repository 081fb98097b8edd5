//! The small worlds in which faults happen: some work ends, some runs for ever, some never fits,
//! and much is edited, deleted and made again on the way.

use crate::by_pods;
use crate::jobs;
use crate::lives;
use crate::pods::{db, duration, habits, pod};
use crate::slots;
use crate::small::lot::Lot;
use crate::small::{self, CLASS, NS, RACK, key, nearness, offers};
use crate::volumes::volumes;
use muster::api::convert::Reading;
use muster::model::units::{Millis, Time};
use muster::model::{
    GangSpec, NodeSpec, Object, PriorityClassSpec, QueueSpec, Reservation, Source, plain,
};
use muster::sim::random::Random;
use muster::sim::scenario::{Amount, BudgetPlan, Entry, Needed, Played, Scenario};

/// An object that is played as it is.
pub(crate) fn play(spec: impl Into<Object>) -> Played {
    Played::Plain(spec.into())
}

pub(crate) fn entry(at: u64, object: Played) -> Entry {
    Entry {
        at: Time(at),
        delete_at: None,
        kept: false,
        object,
    }
}

/// A world, and whether in it the books of queues keep some from starting that fit.
pub(crate) struct World {
    pub(crate) scenario: Scenario,
    pub(crate) has_limits: bool,
}

/// A few nodes, queues, gangs and single pods, and QueueJobs where there are lots of these.
pub(crate) fn world(random: &mut Random, of_jobs: Option<&mut Random>) -> World {
    let mut entries = Vec::new();
    for index in 0..2 + random.below(5) {
        nodes(random, index, &mut entries);
    }
    let topology = topology(random, &mut entries);
    let may_be_near = !topology.is_empty();
    entries.extend(topology);
    queues(random, &mut entries);
    let has_limits = random.per_mille(250);
    if has_limits {
        lives::queue_tree(random, &mut entries);
    }
    budget(random, &mut entries);
    for index in 0..random.below(3) {
        let mut plan = pod(format!("foreign-{index}"), None, 500, None);
        plan.spec.ours = false;
        plan.spec.node = Some("n0".to_owned());
        entries.push(entry(0, Played::Pod(Box::new(plan))));
    }
    for index in 0..1 + random.below(6) {
        let places = lives::Places {
            may_be_near,
            has_limits,
        };
        lives::gang(random, index, places, &mut entries);
    }
    for index in 0..random.below(8) {
        let (cpu, duration) = (250 * (1 + random.below(8)), duration(random));
        let mut plan = pod(format!("single-{index}"), None, cpu, duration);
        habits(random)(&mut plan);
        plan.spec.priority = random.per_mille(200).then_some(1);
        plan.spec.lifetime = random.span(350, 12);
        entries.push(entry(random.below(20_000), Played::Pod(Box::new(plan))));
    }
    if random.per_mille(400) {
        volumes(random, &mut entries);
    }
    for index in 0..random.below(3) {
        others(random, index, &mut entries);
    }
    if random.per_mille(250) {
        slots::testbed(random, &mut entries);
    }
    let sizes = slots::sizes(entries.len());
    by_pods::rewrite(&mut entries);
    if let Some(random) = of_jobs {
        jobs::jobs(random, &mut entries);
    }
    World {
        scenario: Scenario {
            reading: Reading {
                sizes,
                ..Reading::default()
            },
            entries,
            ..Scenario::default()
        },
        has_limits,
    }
}

/// A node; some grow on the way, some go and come back, and what is scarce comes late. None shrinks: a bind
/// that is on its way to one that does is no mistake.
fn nodes(random: &mut Random, index: u64, entries: &mut Vec<Entry>) {
    let cpu = 4_000 + 1_000 * i64::from(random.count(8));
    let gpus = i64::from(random.count(3)) * i64::from(random.per_mille(300));
    let node = NodeSpec {
        taints: random
            .per_mille(250)
            .then(small::taint)
            .into_iter()
            .collect(),
        ..small::node(format!("n{index}"), "0", offers(cpu, gpus, 110))
    };
    entries.push(entry(0, play(node.clone())));
    if random.per_mille(150) {
        let cpu = cpu + 1_000 * i64::from(random.count(4));
        let gpus = gpus + i64::from(random.count(3));
        let larger = NodeSpec {
            allocatable: offers(cpu, gpus, 110),
            ..node
        };
        let at = 1 + random.below(28_000);
        if random.per_mille(300) {
            let last = entries.len() - 1;
            entries[last].delete_at = Some(Time(random.below(at)));
        }
        entries.push(entry(at, play(larger)));
    }
}

/// A PodGroup of Volcano's for which we may stand in, and a pod of its scheduler that waits, in this group or
/// in one of ours.
fn others(random: &mut Random, index: u64, entries: &mut Vec<Entry>) {
    let theirs = format!("theirs-{index}");
    let group = GangSpec {
        source: Source::Volcano,
        stands_in: random.per_mille(400),
        min_resources: plain::amounts([("cpu", 2_000)]),
        ..plain::group(key(&theirs), 2)
    };
    let mut group = entry(random.below(20_000), play(group));
    if random.per_mille(300) {
        group.delete_at = Some(Time(group.at.0 + 1 + random.below(10_000)));
    }
    entries.push(group);
    let of = match random.below(3) {
        0 => "gang-0".to_owned(),
        _ => theirs,
    };
    let mut plan = pod(format!("theirs-{index}-0"), Some(&of), 500, None);
    plan.spec.ours = false;
    "volcano".clone_into(&mut plan.spec.other_scheduler);
    let mut waits = entry(random.below(20_000), Played::Pod(Box::new(plan)));
    if random.per_mille(300) {
        waits.delete_at = Some(Time(waits.at.0 + 1 + random.below(10_000)));
    }
    entries.push(waits);
}

/// Racks, and in some worlds a topology of them, which may come late or go: one of ours, or Volcano's
/// HyperNodes.
fn topology(random: &mut Random, entries: &mut [Entry]) -> Vec<Entry> {
    let mut racks = std::collections::BTreeMap::new();
    for entry in entries.iter_mut() {
        if let Played::Plain(Object::Node(node)) = &mut entry.object {
            let rack = random.below(3).to_string();
            let rack = racks.entry(node.name.clone()).or_insert(rack);
            node.labels.insert(RACK.to_owned(), rack.clone());
        }
    }
    if !random.per_mille(500) {
        return Vec::new();
    }
    let objects = if random.per_mille(400) {
        nearness::by_hyper_nodes()
    } else if random.per_mille(500) {
        // The same racks in another way.
        let racks = racks.iter();
        let racks = racks.map(|(node, rack)| (node.as_str(), rack.as_str()));
        vec![nearness::by_links(racks).into()]
    } else {
        vec![nearness::by_label().into()]
    };
    let at = |random: &mut Random| match random.per_mille(200) {
        true => random.below(10_000),
        false => 0,
    };
    let goes = random.per_mille(200);
    let came = objects.into_iter().map(|object| {
        let mut came = entry(at(random), play(object));
        came.delete_at = goes.then(|| Time(came.at.0 + 1 + random.below(20_000)));
        came
    });
    came.collect()
}

/// The queues of all worlds, of which one may come late, go and come again; and a class that may be late.
pub(crate) const QUEUES: [&str; 2] = ["steady", "moody"];

fn queues(random: &mut Random, entries: &mut Vec<Entry>) {
    let reservation = if random.per_mille(500) {
        Reservation::Easy
    } else {
        Reservation::None
    };
    let movable = random.per_mille(500).then_some(true);
    let queue = |name: &str, tier| {
        play(QueueSpec {
            reservation,
            reserve_after: Millis(30_000),
            movable,
            tier,
            // What a queue may hold stands in nobody's way here: who fits is to start.
            over_share: 1_000_000,
            min_runtime: (name == "steady").then_some(Millis(3_000)),
            ..plain::queue(name)
        })
    };
    entries.push(entry(0, queue("default", 0)));
    entries.push(entry(0, queue("steady", 1)));
    let at = random.below(5_000);
    let mut first = entry(at, queue("moody", -1));
    if random.per_mille(400) {
        let gone = at + 1 + random.below(10_000);
        first.delete_at = Some(Time(gone));
        let again = gone + 1 + random.below(10_000);
        entries.push(entry(again, queue("moody", 0)));
    }
    entries.push(first);
    let class = PriorityClassSpec {
        name: CLASS.to_owned(),
        value: 7,
        ..PriorityClassSpec::default()
    };
    entries.push(entry(random.below(10_000), play(class)));
}

/// A PodDisruptionBudget, which may come and go.
fn budget(random: &mut Random, entries: &mut Vec<Entry>) {
    if random.per_mille(500) {
        return;
    }
    let amount = Amount::Count(random.count(3));
    let mut plan = BudgetPlan {
        needed: Some(if random.per_mille(500) {
            Needed::Available(amount)
        } else {
            Needed::Unavailable(amount)
        }),
        ..BudgetPlan::default()
    };
    plan.spec.namespace = NS.to_owned();
    plan.spec.name = "budget".to_owned();
    plan.spec.selector = db();
    let at = random.below(10_000);
    let mut budget = entry(at, Played::Budget(Box::new(plan)));
    budget.delete_at = random
        .per_mille(300)
        .then(|| Time(at + 1 + random.below(15_000)));
    entries.push(budget);
}
