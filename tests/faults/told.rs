//! Worlds that are told and not drawn by lot.

use crate::pods::pod;
use crate::small::{self, key, offers};
use crate::world::{entry, play};
use muster::model::units::Millis;
use muster::model::{GangSpec, plain};
use muster::sim::scenario::{Entry, Played, Scenario};

fn nodes(count: u64, cpu: i64) -> Vec<Entry> {
    let node = |index| small::node(format!("n{index}"), "0", offers(cpu, 0, 110));
    let nodes = (0..count).map(node);
    nodes.map(|node| entry(0, play(node))).collect()
}

/// A gang, all of whose pods are needed and ask for as much.
fn gang(at: u64, spec: GangSpec, cpu: u64) -> impl Iterator<Item = Entry> {
    let name = spec.key.name.clone();
    let members = u64::from(spec.min_available);
    let pods = (0..members).map(move |member| {
        let plan = pod(format!("{name}-{member}"), Some(&name), cpu, None);
        entry(at, Played::Pod(Box::new(plan)))
    });
    std::iter::once(entry(at, play(spec))).chain(pods)
}

/// Two gangs and a single pod that fit together, and one gang that never does.
pub(crate) fn wave() -> Scenario {
    let mut entries = nodes(3, 4_000);
    for (name, members, cpu) in [
        ("first", 4, 1_000),
        ("second", 3, 2_000),
        ("large", 5, 3_000),
    ] {
        entries.extend(gang(0, plain::group(key(name), members), cpu));
    }
    let single = pod("single".to_owned(), None, 1_000, None);
    entries.push(entry(0, Played::Pod(Box::new(single))));
    scenario(entries)
}

/// Gangs of six, and room for all of them and more.
pub(crate) fn roomy(gangs: u64) -> Scenario {
    let mut entries = nodes(gangs, 8_000);
    for index in 0..gangs {
        let spec = plain::group(key(format!("gang-{index}")), 6);
        entries.extend(gang(0, spec, 1_000));
    }
    scenario(entries)
}

/// The lifetime of what is lent in [`lent`].
pub(crate) const LENT_FOR: Millis = Millis(60_000);

/// A queue holds the whole cluster for a time; another, which is owed half of it, waits.
pub(crate) fn lent() -> Scenario {
    let mut entries = nodes(1, 4_000);
    for name in ["lender", "owner"] {
        entries.push(entry(0, play(plain::queue(name))));
    }
    let gangs = [
        ("lent", "lender", 4, 0, Some(LENT_FOR)),
        ("owed", "owner", 2, 15_000, None),
    ];
    for (name, queue, members, at, lifetime) in gangs {
        let spec = GangSpec {
            queue: Some(queue.to_owned()),
            lifetime,
            ..plain::group(key(name), members)
        };
        entries.extend(gang(at, spec, 1_000));
    }
    scenario(entries)
}

fn scenario(entries: Vec<Entry>) -> Scenario {
    Scenario {
        entries,
        ..Scenario::default()
    }
}
