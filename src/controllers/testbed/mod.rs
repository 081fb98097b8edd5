//! Testbeds: ghosts for the slots that are free, and a status that says who sits where.
//!
//! News marks what it touches: Testbeds whose slots may be others (`layouts`), nodes of a Testbed on which
//! somebody may sit otherwise (`places`), ghosts that may have to be made or to go (`deeds`), statuses and slices
//! that may have to be written (`slices`). Only what is marked is looked at, so that news costs what it changes.

mod bed;
mod claimants;
mod deeds;
pub mod ghosts;
pub mod occupancy;
mod part;
mod parts;
mod places;
mod slices;
mod slots;
mod status;

use super::flights::Flights;
use super::{Answer, Machine, Observation, Resource, Room, Ticket, Write};
use bed::Bed;
use claimants::Claimants;
use ghosts::Ghost;
use muster_api::kinds::{Identity, is_older};
use muster_api::slices::Sizes;
use muster_api::{crd, slim};
use muster_model::units::{Millis, Time};
use muster_model::{Amounts, Labels};
use slices::Stray;
use std::collections::{BTreeMap, BTreeSet};

/// What an administrator chooses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The namespace of all ghosts.
    pub ghost_namespace: String,
    /// Who binds them.
    pub scheduler_name: String,
    /// What they run.
    pub image: String,
    /// Their priority class, below everybody else's.
    pub priority_class: String,
    /// How many slots a Testbed has at most, and how many of them are in its status and in a slice.
    pub sizes: Sizes,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            ghost_namespace: "muster-system".to_owned(),
            scheduler_name: "muster".to_owned(),
            image: "registry.k8s.io/pause:3.10".to_owned(),
            priority_class: "muster-ghost".to_owned(),
            sizes: Sizes::default(),
        }
    }
}

/// What we did to an object is told within this time, or did not happen, or was undone.
const TOLD: Millis = Millis(60_000);

const NEEDS: [Resource; 5] = [
    Resource::Namespaces,
    Resource::Nodes,
    Resource::Testbeds,
    Resource::TestbedSlices,
    Resource::Pods,
];

/// What is written: an object of which one write at most is in flight.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Target {
    /// The status of this Testbed.
    Status(String),
    /// The slice of this name.
    Slice(String),
    /// The ghost of this name.
    Ghost(String),
}

/// What was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Sent {
    /// Anything else.
    Other,
    /// A patch of the object of this uid that is not its status.
    Patch(String),
    /// The delete of the object of this uid.
    Delete(String),
}

/// What is to be looked at at a time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Alarm {
    Write(Target),
    /// Whether somebody is still awaited on this node of this Testbed.
    Place(String, String),
}

#[derive(Debug)]
struct Node {
    uid: String,
    labels: Labels,
    allocatable: Amounts,
}

/// What is marked.
#[derive(Debug, Default)]
struct Marked {
    /// Testbeds whose slots are to be numbered anew.
    layouts: BTreeSet<String>,
    /// Nodes of Testbeds on which is to be found out who sits where.
    places: BTreeSet<(String, String)>,
    /// Testbeds whose status may have to be written.
    statuses: BTreeSet<String>,
    /// Slices that may have to be written or deleted.
    slices: BTreeSet<String>,
    /// Ghosts that may have to be made or deleted.
    ghosts: BTreeSet<String>,
}

/// The machine of all Testbeds.
#[derive(Debug)]
pub struct Testbeds {
    settings: Settings,
    unsynced: BTreeSet<Resource>,
    nodes: BTreeMap<String, Node>,
    namespaces: BTreeMap<String, Labels>,
    beds: BTreeMap<String, Bed>,
    /// By name: they are all in one namespace.
    ghosts: BTreeMap<String, Ghost>,
    /// The ghosts of each Testbed, by its uid.
    of_owner: BTreeMap<String, BTreeSet<String>>,
    /// Of each ghost that there may be, its Testbed and slot.
    slot_of: BTreeMap<String, (String, u32)>,
    /// Slices that are of no Testbed that is there.
    strays: BTreeMap<String, Stray>,
    /// By name, the uids of slices that are gone, of which nobody has told that yet.
    buried: BTreeMap<String, String>,
    claimants: Claimants,
    flights: Flights<Target, Sent>,
    alarms: BTreeSet<(Time, Alarm)>,
    marked: Marked,
    /// The ghosts that were marked, with their slots.
    in_line: BTreeSet<(Option<(String, u32)>, String)>,
}

impl Testbeds {
    /// A machine that knows nothing yet.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            unsynced: NEEDS.into(),
            nodes: BTreeMap::new(),
            namespaces: BTreeMap::new(),
            beds: BTreeMap::new(),
            ghosts: BTreeMap::new(),
            of_owner: BTreeMap::new(),
            slot_of: BTreeMap::new(),
            strays: BTreeMap::new(),
            buried: BTreeMap::new(),
            claimants: Claimants::default(),
            flights: Flights::default(),
            alarms: BTreeSet::new(),
            marked: Marked::default(),
            in_line: BTreeSet::new(),
        }
    }

    fn pod_is(&mut self, pod: &slim::Pod) {
        let name = pod.metadata.name.clone().unwrap_or_default();
        let read = Ghost::read(pod, &self.settings);
        let in_namespace =
            pod.metadata.namespace.as_deref() == Some(&*self.settings.ghost_namespace);
        if in_namespace
            && let Some(known) = self.ghosts.get(&name)
            && known.is_newer_than(pod)
        {
            return;
        }
        let claims = if read.is_none() {
            claimants::read(pod)
        } else {
            None
        };
        match read {
            Some(ghost) => self.ghost_is(name, ghost),
            None if in_namespace => self.ghost_gone(&name),
            None => {}
        }
        let touched = self.claimants.is(Identity::of(&pod.metadata), claims);
        self.marked.places.extend(touched);
    }

    fn ghost_is(&mut self, name: String, mut ghost: Ghost) {
        if let Some(before) = self.ghosts.get(&name) {
            if before.uid == ghost.uid {
                // That we deleted it is known until somebody tells what became of it.
                ghost.untold = before
                    .untold
                    .filter(|_| before.terminating && !ghost.terminating);
                ghost.terminating |= ghost.untold.is_some();
            }
            if before.owner != ghost.owner {
                self.disown(&name);
            }
        }
        let names = self.of_owner.entry(ghost.owner.clone()).or_default();
        names.insert(name.clone());
        self.ghosts.insert(name.clone(), ghost);
        self.mark_ghost(name);
    }

    fn ghost_gone(&mut self, name: &str) {
        if !self.ghosts.contains_key(name) {
            return;
        }
        self.disown(name);
        let gave_way = self.ghosts.remove(name).is_some_and(|one| one.gives_way);
        if gave_way
            && let Some((bed, number)) = self.slot_of.get(name)
            && let Some(bed) = self.beds.get_mut(bed)
        {
            bed.ghost_gave_way(*number);
        }
        self.mark_ghost(name.to_owned());
    }

    /// Takes it off the list of its owner.
    fn disown(&mut self, name: &str) {
        if let Some(ghost) = self.ghosts.get(name)
            && let Some(names) = self.of_owner.get_mut(&ghost.owner)
        {
            names.remove(name);
            if names.is_empty() {
                self.of_owner.remove(&ghost.owner);
            }
        }
    }

    fn mark_ghost(&mut self, name: String) {
        if let Some((bed, _)) = self.slot_of.get(&name)
            && self.ghosts.contains_key(&name)
            && let Some(refuses) = self.beds.get_mut(bed)
            && refuses.refused.remove(&name).is_some()
        {
            self.marked.statuses.insert(bed.clone());
        }
        if let Some((bed, number)) = self.slot_of.get(&name)
            && let Some(node) = self.beds.get(bed).and_then(|bed| bed.slots().get(number))
        {
            let place = (bed.clone(), node.slot.node.clone());
            self.marked.places.insert(place);
        }
        self.marked.ghosts.insert(name);
    }

    fn node_is(&mut self, node: &slim::Node) {
        let meta = &node.metadata;
        let name = meta.name.clone().unwrap_or_default();
        let now = Node {
            uid: meta.uid.clone().unwrap_or_default(),
            labels: meta.labels.clone().unwrap_or_default(),
            allocatable: muster_api::slots::allocatable(node),
        };
        let before = self.nodes.insert(name.clone(), now);
        let now = &self.nodes[&name];
        for (bed_name, bed) in &self.beds {
            let label = &bed.asked.node_label;
            let is = (&now.uid, now.labels.get(label));
            let same = before.as_ref().is_some_and(|before| {
                let was = (&before.uid, before.labels.get(label));
                was == is || was.1.is_none() && is.1.is_none()
            });
            if !same && (is.1.is_some() || before.is_some()) {
                self.marked.layouts.insert(bed_name.clone());
            }
            let grown = before
                .as_ref()
                .is_none_or(|before| before.allocatable != now.allocatable);
            if grown && bed.on_node.contains_key(&name) {
                self.marked.places.insert((bed_name.clone(), name.clone()));
            }
        }
    }

    fn node_gone(&mut self, node: &Identity) {
        if self
            .nodes
            .get(&node.name)
            .is_some_and(|one| one.uid == node.uid)
        {
            self.nodes.remove(&node.name);
            let here = self.beds.iter();
            let here = here.filter(|(_, bed)| bed.on_node.contains_key(&node.name));
            let here = here.map(|(name, _)| name.clone());
            self.marked.layouts.extend(here);
        }
    }

    fn namespace_is(&mut self, name: &str, labels: Labels) {
        if self.namespaces.get(name) != Some(&labels) {
            self.namespaces.insert(name.to_owned(), labels);
            self.marked.places.extend(self.claimants.of_namespace(name));
        }
    }

    fn testbed_is(&mut self, testbed: &crd::Testbed) {
        let name = testbed.metadata.name.clone().unwrap_or_default();
        let uid = testbed.metadata.uid.as_deref().unwrap_or_default();
        match self.beds.get_mut(&name) {
            Some(bed) if bed.uid == uid => {
                if is_older(&testbed.metadata, &bed.version) {
                    return;
                }
                let before = bed.version.clone();
                let heard = bed.update(testbed);
                if bed.version != before {
                    self.flights.settle(&Target::Status(name.clone()));
                }
                self.heard(&name, 0, heard);
            }
            _ => {
                self.testbed_gone(&name);
                let bed = Bed::read(testbed, self.settings.sizes);
                self.beds.insert(name.clone(), bed);
                self.adopt(&name);
                self.marked.layouts.insert(name.clone());
            }
        }
        self.marked.statuses.insert(name);
    }

    fn testbed_gone(&mut self, name: &str) {
        let Some(bed) = self.beds.remove(name) else {
            return;
        };
        for one in bed.slots().values() {
            self.slot_of.remove(&one.slot.ghost);
            self.marked.ghosts.insert(one.slot.ghost.clone());
        }
        let ghosts = self.of_owner.get(&bed.uid).into_iter().flatten();
        self.marked.ghosts.extend(ghosts.cloned());
        self.mark_neighbours(bed.on_node.keys());
        self.abandon(name, bed);
    }

    /// What other Testbeds say of these nodes may be otherwise.
    fn mark_neighbours<'a>(&mut self, nodes: impl Iterator<Item = &'a String>) {
        for node in nodes {
            for (name, bed) in &self.beds {
                if bed.on_node.contains_key(node) {
                    self.marked.places.insert((name.clone(), node.clone()));
                }
            }
        }
    }

    fn gone(&mut self, resource: Resource, object: &Identity) {
        match resource {
            Resource::Pods => {
                let in_namespace = object.namespace == self.settings.ghost_namespace;
                let ghost = self.ghosts.get(&object.name).filter(|_| in_namespace);
                if ghost.is_some_and(|ghost| ghost.uid == object.uid) {
                    self.ghost_gone(&object.name);
                }
                let touched = self.claimants.gone(object);
                self.marked.places.extend(touched);
            }
            Resource::Nodes => self.node_gone(object),
            Resource::Namespaces => {
                self.namespaces.remove(&object.name);
                let touched = self.claimants.of_namespace(&object.name);
                self.marked.places.extend(touched);
            }
            Resource::Testbeds => {
                let bed = self.beds.get(&object.name);
                if bed.is_some_and(|bed| bed.uid == object.uid) {
                    self.testbed_gone(&object.name);
                }
            }
            Resource::TestbedSlices => self.slice_gone(object),
            // Of these it is not told.
            _ => {}
        }
    }

    fn see(&mut self, news: Observation) {
        match news {
            Observation::Pod(pod) => self.pod_is(&pod),
            Observation::Node(node) => self.node_is(&node),
            Observation::Namespace(one) => {
                let meta = one.metadata;
                let labels = meta.labels.unwrap_or_default();
                self.namespace_is(&meta.name.unwrap_or_default(), labels);
            }
            Observation::Testbed(testbed) => self.testbed_is(&testbed),
            Observation::TestbedSlice(slice) => self.slice_is(&slice),
            Observation::Gone(resource, object) => self.gone(resource, &object),
            Observation::Synced(resource) => _ = self.unsynced.remove(&resource),
            // Of these it is not told.
            Observation::BatchJob(_)
            | Observation::Scheduling(_)
            | Observation::QueueJob(_)
            | Observation::Other(..)
            | Observation::NotServed(_) => {}
        }
    }

    /// What is kept of every Testbed is what it would be from scratch.
    #[cfg(test)]
    fn audit(&self) {
        self.beds.values().for_each(Bed::audit);
    }

    fn set_alarm(&mut self, at: Time, alarm: Alarm) {
        self.alarms.insert((at, alarm));
    }

    /// Marks what is to be looked at by now.
    fn wake(&mut self, now: Time) {
        while let Some((at, _)) = self.alarms.first() {
            if now < *at {
                return;
            }
            match self.alarms.pop_first() {
                Some((_, Alarm::Write(Target::Status(bed)))) => {
                    self.marked.statuses.insert(bed);
                }
                Some((_, Alarm::Write(Target::Slice(name)))) => {
                    self.marked.slices.insert(name);
                }
                Some((_, Alarm::Write(Target::Ghost(name)))) => {
                    self.marked.ghosts.insert(name);
                }
                Some((_, Alarm::Place(bed, node))) => {
                    self.marked.places.insert((bed, node));
                }
                None => return,
            }
        }
    }
}

impl Machine for Testbeds {
    fn needs(&self) -> Vec<Resource> {
        NEEDS.to_vec()
    }

    fn observe(&mut self, news: Observation, _: Time) {
        self.see(news);
    }

    fn due_in(&mut self, room: &mut dyn Room, now: Time) -> Vec<Write> {
        if !self.unsynced.is_empty() {
            return Vec::new();
        }
        self.wake(now);
        self.settle(now);
        self.deeds(now, room)
    }

    fn answered(&mut self, ticket: Ticket, answer: Answer, now: Time) {
        if let Some((target, sent)) = self.flights.land(ticket) {
            self.take(&target, &sent, answer, now);
        }
    }

    fn wakes_at(&self) -> Option<Time> {
        let (at, _) = self.alarms.first()?;
        self.unsynced.is_empty().then_some(*at)
    }
}

#[cfg(test)]
mod tests;
