//! What is not ours: PodGroups that are left to other schedulers, and their pods in groups. What stands
//! here is in no queue, claims nothing, and nothing is said of it; a group of it becomes a gang when it
//! becomes ours, and comes back here when it is not any more. Whose it is, [`is_ours`] says.

use super::ids::{GangId, PodId};
use super::{ClusterState, Gang};
use indexmap::IndexMap;
use muster_model::{GangKey, GangRef, GangSpec, Named, PodSpec, Recalled, Source, is_ours};
use std::collections::{BTreeMap, BTreeSet};

/// The books.
#[derive(Clone, Debug, Default)]
pub(super) struct Others {
    groups: IndexMap<GangKey, Group>,
    /// The group of each pod of others that names one.
    of: BTreeMap<PodId, GangKey>,
    /// Groups of which something changed.
    changed: BTreeSet<GangKey>,
}

/// A group.
#[derive(Clone, Debug, Default)]
struct Group {
    /// Its PodGroups by [`Source`], as long as it is not ours.
    definitions: Vec<GangSpec>,
    /// What its status keeps, for the case that it is ours once its pods are told.
    recalled: Recalled,
    /// The pods of others that name it, and which scheduler each names.
    pods: BTreeMap<PodId, Box<str>>,
}

/// Takes a PodGroup among those that define a group, the first of which counts. Whether it is news.
pub(super) fn define(definitions: &mut Vec<GangSpec>, spec: GangSpec) -> bool {
    match definitions.binary_search_by_key(&spec.source, |one| one.source) {
        Ok(index) if definitions[index] == spec => return false,
        Ok(index) => definitions[index] = spec,
        Err(index) => definitions.insert(index, spec),
    }
    true
}

impl Others {
    /// How many groups there are that are not ours, or of nobody yet.
    pub(super) fn len(&self) -> usize {
        self.groups.len()
    }

    fn group(&mut self, key: &GangKey) -> &mut Group {
        self.changed.insert(key.clone());
        self.groups.entry(key.clone()).or_default()
    }

    fn forget_if_unused(&mut self, key: &GangKey) {
        self.changed.insert(key.clone());
        let unused = |group: &Group| group.definitions.is_empty() && group.pods.is_empty();
        if self.groups.get(key).is_some_and(unused) {
            self.groups.swap_remove(key);
        }
    }

    /// Takes what the status of a group keeps.
    pub(super) fn recall(&mut self, key: &GangKey, recalled: Recalled) {
        if let Some(group) = self.groups.get_mut(key) {
            group.recalled = recalled;
        }
    }

    fn definition(&self, key: &GangKey) -> Option<&GangSpec> {
        self.groups.get(key)?.definitions.first()
    }

    /// A pod of others that names a group, and its scheduler.
    fn first_pod(&self, key: &GangKey) -> Option<(PodId, &str)> {
        let (pod, scheduler) = self.groups.get(key)?.pods.first_key_value()?;
        Some((*pod, scheduler))
    }
}

impl ClusterState {
    /// Whether the group of this key is ours, by what is known now.
    fn is_ours(&self, key: &GangKey, gang: Option<&Gang>) -> bool {
        let ours = gang.is_some_and(|gang| !gang.members.is_empty());
        let defined = match gang {
            Some(gang) => gang.definition(),
            None => self.others.definition(key),
        };
        self.is_ours_with(ours, key, defined)
    }

    /// The same where pods of ours name it, or none does.
    fn is_ours_with(&self, ours: bool, key: &GangKey, defined: Option<&GangSpec>) -> bool {
        let named = Named {
            ours,
            others: self.others.first_pod(key).is_some(),
        };
        let namespace = self.namespaces.get(&key.namespace);
        is_ours(named, defined, namespace.is_some_and(|one| one.claims))
    }

    /// Whether a gang would be ours if it had no pods: else all that is known of it goes with its last one.
    #[must_use]
    pub fn is_ours_without_pods(&self, gang: &Gang) -> bool {
        self.is_ours_with(false, &gang.key, gang.definition())
    }

    /// A PodGroup of a group that is no gang; the gang, where it is one with that.
    pub(super) fn define_other(&mut self, spec: GangSpec) -> Option<GangId> {
        let key = spec.key.clone();
        // Who is ours from the first is never here.
        if !self.others.groups.contains_key(&key) && self.is_ours_with(false, &key, Some(&spec)) {
            let id = self.new_gang(&key);
            self.define(id, spec);
            return Some(id);
        }
        define(&mut self.others.group(&key).definitions, spec);
        self.take_over_if_ours(&key);
        self.find_gang(&key)
    }

    /// A PodGroup of a group that is not ours is gone.
    pub(super) fn undefine_other(&mut self, key: &GangKey, source: Source) {
        if let Some(group) = self.others.groups.get_mut(key) {
            group.definitions.retain(|one| one.source != source);
            self.others.forget_if_unused(key);
            self.take_over_if_ours(key);
        }
    }

    /// Makes a gang of a group, as if it were new, if it is ours.
    fn take_over_if_ours(&mut self, key: &GangKey) {
        if self.find_gang(key).is_none() && self.is_ours(key, None) {
            self.gang_slot(key);
        }
    }

    /// The PodGroups of a group that becomes a gang, and what its status keeps.
    pub(super) fn take_over(&mut self, key: &GangKey) -> (Vec<GangSpec>, Recalled) {
        let Some(group) = self.others.groups.get_mut(key) else {
            return Default::default();
        };
        let taken = (
            std::mem::take(&mut group.definitions),
            std::mem::take(&mut group.recalled),
        );
        self.others.forget_if_unused(key);
        taken
    }

    /// Forgets a gang that is not ours any more, or of which there is nothing left: what defines it is
    /// kept, for whoever's it is.
    pub(super) fn give_up_if_not_ours(&mut self, id: GangId) {
        let theirs = |gang: &Gang| gang.members.is_empty() && !self.is_ours(&gang.key, Some(gang));
        if !self.gangs.get(id).is_some_and(theirs) {
            return;
        }
        self.give_up_room(id);
        self.advice.forget(id);
        let Some(mut gang) = self.gangs.vacate(id) else {
            return;
        };
        let asks = gang.asks.map(|asks| asks.queue);
        // It may ask for another lifetime in the same queue.
        let asks = asks.filter(|asks| gang.queue != Some(*asks));
        for queue in gang.queue.into_iter().chain(asks) {
            self.queues.leave(queue, id);
        }
        self.gangs_by_key.swap_remove(&gang.key);
        self.changes.gangs.remove(&id);
        self.unknown.gangs.remove(&id);
        self.queue_wishes.note(id, None);
        self.changes.removed.push(id);
        let definitions = std::mem::take(&mut gang.definitions);
        if let Some(counts) = definitions.first() {
            let object = (counts.source, counts.uid.clone());
            self.changes.silent.push(object);
            self.others.group(&gang.key).definitions = definitions;
        }
    }

    /// A namespace claims its groups from now on, or does not any more.
    pub(super) fn claims_changed(&mut self, namespace: &str) {
        let here = |key: &&GangKey| key.namespace == namespace;
        let keys: Vec<GangKey> = self.others.groups.keys().filter(here).cloned().collect();
        for key in keys {
            self.take_over_if_ours(&key);
        }
        let gangs = self.gangs.iter();
        let gangs = gangs.filter(|(_, gang)| gang.key.namespace == namespace);
        let gangs: Vec<GangId> = gangs.map(|(id, _)| id).collect();
        for id in gangs {
            self.give_up_if_not_ours(id);
        }
    }

    /// A pod of others is there, or says something else than before.
    pub(super) fn note_other(&mut self, id: PodId, key: Option<GangKey>, scheduler: &str) {
        if self.others.of.get(&id) != key.as_ref() {
            self.forget_other(id);
        }
        let Some(key) = key else { return };
        let before = self.others.of.insert(id, key.clone());
        if before.is_none() {
            let words = self.others.first_pod(&key).map(|(pod, _)| pod);
            self.others.group(&key).pods.insert(id, scheduler.into());
            self.others_changed(&key, words);
        }
    }

    /// A pod is gone, or is not another's in a group any more.
    pub(super) fn forget_other(&mut self, id: PodId) {
        let Some(key) = self.others.of.remove(&id) else {
            return;
        };
        let words = self.others.first_pod(&key).map(|(pod, _)| pod);
        if let Some(group) = self.others.groups.get_mut(&key) {
            group.pods.remove(&id);
            self.others.forget_if_unused(&key);
        }
        self.others_changed(&key, words);
    }

    /// Pods of others came into a group, or went: before, this was the first.
    fn others_changed(&mut self, key: &GangKey, before: Option<PodId>) {
        let after = self.others.first_pod(key).map(|(pod, _)| pod);
        match self.find_gang(key) {
            Some(gang) => {
                if before != after {
                    self.touch(gang);
                }
                self.give_up_if_not_ours(gang);
            }
            None => self.take_over_if_ours(key),
        }
    }

    /// Of a group with pods of another scheduler: one of these, and which scheduler it names.
    #[must_use]
    pub fn other_scheduler(&self, key: &GangKey) -> Option<(&str, &str)> {
        let (pod, scheduler) = self.others.first_pod(key)?;
        Some((self.pods.get(pod)?.key.name.as_str(), scheduler))
    }

    /// The PodGroup that defines a group which is not ours.
    #[must_use]
    pub fn definition_of_others(&self, key: &GangKey) -> Option<&GangSpec> {
        self.others.definition(key)
    }

    /// The groups that are not ours, but are defined.
    pub fn groups_of_others(&self) -> impl Iterator<Item = &GangKey> {
        let groups = self.others.groups.iter();
        let defined = groups.filter(|(_, group)| !group.definitions.is_empty());
        defined.map(|(key, _)| key)
    }

    /// Takes the groups of which something changed that makes no difference to any gang.
    pub fn take_changes_of_others(&mut self) -> BTreeSet<GangKey> {
        std::mem::take(&mut self.others.changed)
    }

    /// Whose every group is, from scratch.
    pub(super) fn audit_others(&self) -> Result<(), String> {
        for (id, gang) in self.gangs.iter() {
            let key = &gang.key;
            if self.find_gang(key) == Some(id) && !self.is_ours(key, Some(gang)) {
                return Err(format!("gang {key} is not ours"));
            }
            if self.others.definition(key).is_some() {
                return Err(format!("gang {key} is ours and not"));
            }
        }
        for (key, group) in &self.others.groups {
            if self.find_gang(key).is_none() && self.is_ours(key, None) {
                return Err(format!("group {key} is ours, and no gang"));
            }
            let here = self.others.of.iter().filter(|(_, of)| *of == key);
            if !here.map(|(pod, _)| pod).eq(group.pods.keys()) {
                return Err(format!("group {key}: other pods of others than noted"));
            }
        }
        match self
            .others
            .of
            .keys()
            .find(|pod| self.pods.get(**pod).is_none())
        {
            Some(gone) => Err(format!("{gone:?} is in a group, and gone")),
            None => Ok(()),
        }
    }
}

/// The group that a pod of another scheduler names.
pub(super) fn other_group(spec: &PodSpec) -> Option<GangKey> {
    let named = !spec.ours && spec.gang != GangRef::Own;
    named.then(|| spec.gang_key())
}
