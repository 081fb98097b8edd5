//! The worlds: a gang of two and a rival that want the same two nodes, two processes of the scheduler and their Lease.

use crate::choices::{Choice, PAUSE, Reader};
use crate::small::{self, NS, key, offers};
use muster::core::engine::{Policy, Priorities};
use muster::model::units::{Millis, Time};
use muster::model::{GangSpec, Object, PodKey, plain};
use muster::sim::driver::Driver;
use muster::sim::network::{Mischief, Network};
use muster::sim::scenario::{Entry, OnEviction, Played, PodPlan, Run, Scenario};

/// The gang and its rival, each a PodGroup.
pub(crate) const GANG: &str = "gang";
pub(crate) const RIVAL: &str = "rival";

/// How many pods they have.
pub(crate) const EVERYBODY: usize = 3;

/// When they come: the first leader has the Lease by then.
pub(crate) const COME: Time = Time(7_000);

/// For so long a pod that died with its node is away: longer than a Lease that nobody renews.
const AWAY: Millis = Millis(20_000);

/// What differs between the worlds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct World {
    /// How many nodes there are, each with room for one pod.
    pub(crate) nodes: usize,
    /// How many binds may be on the wire at once.
    pub(crate) bind_slots: u64,
    /// Whether the rival runs before the gang comes, which then goes before it.
    pub(crate) rival_runs: bool,
}

impl World {
    pub(crate) fn driver(self, chooser: Reader) -> Driver {
        let network = Network::chosen(Box::new(chooser), self.bind_slots);
        let policy = Policy {
            priorities: Priorities::AsGiven,
            ..Policy::default()
        };
        Driver::new(self.scenario(), policy, network).with_standby()
    }

    fn scenario(self) -> Scenario {
        let nodes = (0..self.nodes).map(|index| {
            let node = small::node(format!("n{index}"), "0", offers(1_000, 0, 10));
            entry(Time::ZERO, Played::Plain(node.into()))
        });
        let mut entries: Vec<Entry> = nodes.collect();
        let (rival, priority) = if self.rival_runs {
            (Time::ZERO, Some(5))
        } else {
            (COME, None)
        };
        for (name, min, at, priority) in [(GANG, 2, COME, priority), (RIVAL, 1, rival, None)] {
            let group = GangSpec {
                priority,
                ..plain::group(key(name), min)
            };
            entries.push(entry(at, Played::Plain(group.into())));
            for member in 0..min {
                let plan = pod(&format!("{name}-{member}"), name);
                entries.push(entry(at, Played::Pod(Box::new(plan))));
            }
        }
        entries.sort_by_key(|entry| entry.at);
        Scenario {
            entries,
            ..Scenario::default()
        }
    }
}

fn entry(at: Time, object: Played) -> Entry {
    Entry {
        at,
        delete_at: None,
        kept: false,
        object,
    }
}

/// A member, which is made again when it is told to go.
fn pod(name: &str, group: &str) -> PodPlan {
    let mut spec = small::pod(name, Some(group), 1_000);
    spec.key.uid.clear();
    PodPlan {
        spec,
        run: Run {
            on_eviction: OnEviction::Requeue,
            ..Run::default()
        },
        ..PodPlan::default()
    }
}

/// Has happen what was chosen between two steps.
pub(crate) fn happens(driver: &mut Driver, choice: Choice) {
    match choice {
        Choice::Dies => driver.befall(Mischief::KillScheduler),
        Choice::DiesWithNode => driver.befall(Mischief::LoseScheduler(AWAY)),
        Choice::Pauses => driver.befall(Mischief::PauseScheduler(PAUSE)),
        Choice::MinimumRaised => edit(driver, GANG, |gang| gang.min_available = 3),
        Choice::MinimumLowered => edit(driver, GANG, |gang| gang.min_available = 1),
        Choice::RivalPreferred => edit(driver, RIVAL, |gang| gang.priority = Some(10)),
        Choice::MemberDeleted => {
            if let Some(key) = named(driver, "gang-0") {
                driver.delete_member(key);
            }
        }
        Choice::RivalDeleted => {
            let plan = pod("rival-0", RIVAL);
            driver.add(Played::Pod(Box::new(plan)), true);
        }
        Choice::GangDeleted => {
            for name in ["gang-0", "gang-1"] {
                driver.add(Played::Pod(Box::new(pod(name, GANG))), true);
            }
            let group = plain::group(key(GANG), 2);
            driver.add(Played::Plain(group.into()), true);
        }
        Choice::Lost
        | Choice::Unheard
        | Choice::Late
        | Choice::Twice
        | Choice::Broken
        | Choice::Refused
        | Choice::LateNews => {}
    }
}

fn named(driver: &Driver, name: &str) -> Option<PodKey> {
    let pod = driver.server().pod_named(NS, name)?;
    Some(pod.spec.key.clone())
}

fn edit(driver: &mut Driver, name: &str, change: impl FnOnce(&mut GangSpec)) {
    if let Some(gang) = driver.server().gang(&key(name)).cloned() {
        let mut gang = gang;
        change(&mut gang);
        driver.add(Played::Plain(Object::from(gang)), false);
    }
}
