//! The books of the queues over time, as the scheduler keeps them.

use super::series::{Point, Series};
use muster_core::state::{Account, ClusterState, Flow};
use muster_model::DEFAULT_QUEUE;
use muster_model::units::{Millis, Time};
use std::collections::{BTreeMap, BTreeSet};

/// So many points a queue should have while a scenario is played.
const POINTS: usize = 10_000;

/// Usage, fair share and flow of each queue and of the whole cluster, in worth.
#[derive(Debug)]
pub struct Books {
    /// By name.
    pub queues: BTreeMap<String, Series>,
    /// All of them together.
    pub cluster: Series,
    /// Queues of which nobody says that their books changed: nobody declared them.
    quiet: BTreeSet<String>,
    /// Usages and flows when they were last taken down.
    flows: BTreeMap<String, (u64, Flow)>,
}

impl Default for Books {
    fn default() -> Self {
        Self {
            queues: BTreeMap::new(),
            cluster: Series::new(POINTS),
            quiet: BTreeSet::from([DEFAULT_QUEUE.to_owned()]),
            flows: BTreeMap::new(),
        }
    }
}

impl Books {
    /// Takes down the books of the queues that changed, and of those that never say so; points are counted from
    /// `begin`.
    pub fn note(&mut self, changed: &[String], state: &ClusterState, begin: Time, now: Time) {
        let at = Time::ZERO + now.since(begin);
        let half_life = state.queues().half_life();
        let quiet = self.quiet.iter().filter(|name| !changed.contains(name));
        let names: Vec<String> = changed.iter().chain(quiet).cloned().collect();
        for name in names {
            self.note_queue(&name, state, half_life, (at, now));
        }
        let account = state.queues().cluster();
        self.cluster.push(Point {
            at,
            values: [account.usage, account.share, 0],
        });
    }

    fn note_queue(
        &mut self,
        name: &str,
        state: &ClusterState,
        half_life: Millis,
        (at, now): (Time, Time),
    ) {
        let account = state.queues().find(name).map(|(_, queue)| &queue.account);
        let books = |one: &Account| (one.usage, one.flow.clone(), one.share);
        let (usage, flow, share) = account.map_or_else(Default::default, books);
        // The flow falls by itself; only what else changed is a point.
        let known = self.flows.get(name) == Some(&(usage, flow.clone()));
        let last = self.queues.get(name).and_then(|one| one.points().last());
        if known && last.is_some_and(|last| last.values[1] == share) {
            return;
        }
        let of_queue = self.queues.entry(name.to_owned());
        let series = of_queue.or_insert_with(|| Series::new(POINTS));
        series.push(Point {
            at,
            values: [usage, share, flow.value(now, half_life)],
        });
        self.flows.insert(name.to_owned(), (usage, flow));
    }

    /// A queue is deleted; what runs in it goes on.
    pub fn deleted(&mut self, name: &str) {
        self.quiet.insert(name.to_owned());
    }
}
