//! What queues may hold at most, and of which queue each gang was placed.

use muster_model::{GangKey, GangPhase, GangStatus, QueueSpec};
use std::collections::{BTreeMap, BTreeSet};

/// A queue.
#[derive(Clone, Debug, Default)]
struct Queue {
    parent: Option<String>,
    /// The most that it ever said of each resource that it limits: who was let in before may stay.
    limit: BTreeMap<String, i64>,
}

/// Of which queue a gang was placed, and with what minimum at most.
#[derive(Clone, Debug)]
struct Placed {
    queue: String,
    minimum: u32,
}

/// All queues.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queues {
    known: BTreeMap<String, Queue>,
    /// As decisions and statuses say. Of gangs that others placed it is not known.
    placed_in: BTreeMap<GangKey, Placed>,
}

impl Queues {
    pub(crate) fn hear(&mut self, spec: &QueueSpec) {
        let mut limit: BTreeMap<String, i64> = BTreeMap::new();
        for (resource, most) in &spec.limit {
            let most = limit.get(resource).map_or(*most, |one| *one.min(most));
            limit.insert(resource.clone(), most);
        }
        let parent = spec.parent.clone();
        let Some(before) = self.known.get_mut(&spec.name) else {
            let queue = Queue { parent, limit };
            self.known.insert(spec.name.clone(), queue);
            return;
        };
        before
            .limit
            .retain(|resource, _| limit.contains_key(resource));
        for (resource, most) in &mut before.limit {
            *most = (*most).max(limit[resource]);
        }
        if before.parent != parent {
            before.parent = parent;
            // What it brings with it was let in elsewhere.
            let above: Vec<String> = self.path(&spec.name).skip(1).map(str::to_owned).collect();
            for name in above {
                if let Some(queue) = self.known.get_mut(&name) {
                    queue.limit.clear();
                }
            }
        }
    }

    /// Whoever is in it is in it no more; another of its name begins with nothing.
    pub(crate) fn gone(&mut self, name: &str) {
        self.known.remove(name);
        self.placed_in.retain(|_, placed| placed.queue != name);
    }

    pub(crate) fn placed(&mut self, gang: &GangKey, queue: &str, minimum: u32) {
        let queue = queue.to_owned();
        let before = self.placed_in.get(gang).filter(|one| one.queue == queue);
        let minimum = before.map_or(minimum, |one| one.minimum.max(minimum));
        self.placed_in
            .insert(gang.clone(), Placed { queue, minimum });
    }

    /// With what minimum a gang was placed, if that is known.
    pub(crate) fn minimum(&self, gang: &GangKey) -> Option<u32> {
        self.placed_in.get(gang).map(|placed| placed.minimum)
    }

    /// A status says on which terms a gang runs, and with what minimum.
    pub(crate) fn said(&mut self, status: &GangStatus) {
        let Some(placed) = self.placed_in.get_mut(&status.gang) else {
            return;
        };
        if let Some(terms) = &status.granted {
            placed.queue.clone_from(&terms.queue);
        }
        if status.phase == GangPhase::Running {
            placed.minimum = placed.minimum.max(status.min_available);
        }
    }

    pub(crate) fn forget(&mut self, gang: &GangKey) {
        self.placed_in.remove(gang);
    }

    /// A queue and those above it.
    fn path<'q>(&'q self, name: &'q str) -> impl Iterator<Item = &'q str> {
        let mut seen = BTreeSet::new();
        let above = |name: &&'q str| self.known.get(*name)?.parent.as_deref();
        std::iter::successors(Some(name), above).take_while(move |name| seen.insert(*name))
    }

    /// The queues with a limit that a gang is in, by what they may hold.
    pub(crate) fn limits(
        &self,
        gang: &GangKey,
    ) -> impl Iterator<Item = (&str, &BTreeMap<String, i64>)> {
        let queue = self.placed_in.get(gang).map(|placed| &*placed.queue);
        let path = queue.into_iter().flat_map(|queue| self.path(queue));
        let limits = path.filter_map(|name| Some((name, &self.known.get(name)?.limit)));
        limits.filter(|(_, limit)| !limit.is_empty())
    }

    /// The gangs in a queue and those below it.
    pub(crate) fn gangs_in(&self, name: &str) -> impl Iterator<Item = &GangKey> {
        let of_it = move |queue: &str| self.path(queue).any(|one| one == name);
        let gangs = self.placed_in.iter();
        gangs.filter_map(move |(gang, placed)| of_it(&placed.queue).then_some(gang))
    }
}
