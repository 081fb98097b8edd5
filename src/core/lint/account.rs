//! Who is where, by names and uids: the linter's own book-keeping.

use super::advised::Advised;
use super::books::{AskedBook, ClaimsHeld, Count, Gangs, Queues, SlotBook, VolumeBook};
use super::roads::Roads;
use muster_model::units::Millis;
use muster_model::{
    BindOutcome, Constraints, Event, EvictOutcome, GangKey, HostPort, HyperNodeSpec, Labels,
    NodeSpec, Object, ObjectKey, PodKey, PodPhase, PodRules, PodSpec, PodVolume, SlotClaim,
    SpreadRule, TopologySpec,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Amounts by resource name; every pod requests one of `pods`.
type Amounts = Vec<(String, i64)>;

/// A node.
#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    /// What it offers; `None` while it is only spoken of.
    offered: Option<BTreeMap<String, i64>>,
    labels: Labels,
    /// What it said of itself last.
    facts: NodeSpec,
    used: BTreeMap<String, i128>,
    /// It was there and was deleted.
    deleted: bool,
    pods: BTreeSet<String>,
}

/// A pod.
#[derive(Clone, Debug)]
pub(super) struct Pod {
    pub(super) key: PodKey,
    pub(super) ours: bool,
    /// The uid of the Testbed whose ghost it is.
    pub(super) ghost_of: Option<String>,
    /// Which slots it claims.
    pub(super) claim: Option<Arc<SlotClaim>>,
    pub(super) gang: GangKey,
    pub(super) subgroup: Option<String>,
    pub(super) daemon: bool,
    pub(super) phase: PodPhase,
    pub(super) terminating: bool,
    pub(super) held_back: bool,
    /// Where the API says it is.
    pub(super) node: Option<String>,
    /// Where a bind that is not answered will put it.
    pub(super) ordered: Option<String>,
    /// That bind was asked back: whatever becomes of it, it does not stay.
    pub(super) recalled: bool,
    /// Where a place is held for it while its decision waits.
    pub(super) held: Option<String>,
    /// Where others leave room for it.
    pub(super) nominated: Option<String>,
    /// An eviction was ordered, and not refused.
    pub(super) evicting: bool,
    /// The last eviction was not taken: refused, or not answered.
    pub(super) refused: bool,
    /// How long it is protected, if it is on its own.
    pub(super) lifetime: Option<Millis>,
    /// Over which domains it has to be spread.
    pub(super) spread: Vec<SpreadRule>,
    /// Which nodes its fields allow.
    pub(super) constraints: Constraints,
    pub(super) volumes: Vec<PodVolume>,
    pub(super) ports: Vec<HostPort>,
    requests: Amounts,
    pub(super) labels: Labels,
    /// What it asks of other pods.
    pub(super) rules: PodRules,
}

impl Pod {
    /// Bound, not ended, and not on its way off.
    pub(super) fn is_bound(&self, account: &Account) -> bool {
        self.holds_node() && !self.is_leaving(account)
    }

    pub(super) fn holds_node(&self) -> bool {
        self.node.is_some() && !self.phase.is_terminal()
    }

    /// What it requests of everything.
    pub(super) fn amounts(&self) -> impl Iterator<Item = (&str, i64)> {
        let amounts = self.requests.iter();
        amounts.map(|(resource, amount)| (resource.as_str(), *amount))
    }

    /// What it requests of a resource.
    pub(super) fn requests(&self, resource: &str) -> i64 {
        let mut requests = self.requests.iter();
        requests
            .find(|(name, _)| name == resource)
            .map_or(0, |(_, amount)| *amount)
    }

    /// Whether it takes room on its node, or will.
    pub(super) fn is_there(&self) -> bool {
        self.place().is_some()
    }

    /// Whether it is on this node or was sent there; what is only held for it does not count.
    pub(super) fn was_sent_to(&self, node: &str) -> bool {
        let place = self.node.as_ref().or(self.ordered.as_ref());
        place.is_some_and(|place| place == node) && !self.phase.is_terminal()
    }

    /// The node it uses something of, or will, or may.
    fn place(&self) -> Option<&String> {
        let place = self.node.as_ref().or(self.ordered.as_ref());
        let place = place.or(self.held.as_ref());
        place.filter(|_| !self.phase.is_terminal())
    }

    /// Whether its room is that of a slot, whoever is there: it claims one, and was not sent there yet.
    fn is_to_get_a_slot(&self) -> bool {
        self.claim.is_some() && self.node.is_none() && self.ordered.is_none()
    }

    fn is_leaving(&self, account: &Account) -> bool {
        let node = self.node.as_ref().and_then(|name| account.nodes.get(name));
        self.terminating || self.evicting || node.is_some_and(|node| node.deleted)
    }

    /// What it counts as in its gang.
    pub(super) fn count(&self, account: &Account) -> Count {
        match self.phase {
            PodPhase::Succeeded => Count::Succeeded,
            PodPhase::Failed => Count::Failed,
            _ if self.is_bound(account) && self.phase == PodPhase::Running => Count::Running,
            _ if self.is_bound(account) => Count::Bound,
            _ if self.holds_node() => Count::Leaving,
            _ if self.ordered.is_some() && !self.terminating => Count::Ordered,
            _ => Count::Other,
        }
    }
}

/// The book.
#[derive(Clone, Debug, Default)]
pub(super) struct Account {
    /// The resources of which others look after whether nodes have them.
    unchecked: BTreeSet<String>,
    nodes: BTreeMap<String, Node>,
    /// By uid.
    pods: BTreeMap<String, Pod>,
    names: BTreeMap<(String, String), String>,
    /// The uids of our pods, by gang.
    members: BTreeMap<GangKey, BTreeSet<String>>,
    pub(super) gangs: Gangs,
    pub(super) queues: Queues,
    /// What is held for members that are not there yet.
    pub(super) claims_held: ClaimsHeld,
    /// The uids of the pods for which others leave a node.
    nominated: BTreeMap<String, BTreeSet<String>>,
    /// The namespaces that claim their groups for us.
    pub(super) claims: BTreeSet<String>,
    pub(super) topologies: BTreeMap<String, TopologySpec>,
    /// The links of those that are made of them.
    pub(super) roads: BTreeMap<String, Roads>,
    /// The queues that give gangs a lifetime.
    pub(super) with_lifetimes: BTreeSet<String>,
    pub(super) hyper_nodes: BTreeMap<String, HyperNodeSpec>,
    /// The labels of namespaces.
    pub(super) namespaces: BTreeMap<String, Labels>,
    /// The uids of the pods with a place that keep others away.
    keepers: BTreeSet<String>,
    pub(super) slots: SlotBook,
    pub(super) volumes: VolumeBook,
    pub(super) asked: AskedBook,
    pub(super) advised: Advised,
}

/// A pod's labels, by name.
fn labels_of(spec: &PodSpec) -> Labels {
    let pairs = spec.labels.text().split(',');
    let pairs = pairs.filter_map(|pair| pair.split_once('='));
    let owned = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
    pairs.map(owned).collect()
}

impl Account {
    pub(super) fn hear(&mut self, event: &Event) {
        match event {
            Event::Is(object) => self.take_object(object),
            Event::Gone(key) => self.forget_object(key),
            Event::BindResult(key, outcome) => self.bind_result(key, outcome),
            Event::EvictResult(key, outcome) => self.evict_result(key, outcome),
            Event::Answer(id, answer) => {
                self.asked.hear(*id, answer);
                self.volumes.answered(*id, answer);
                self.advised.hear(*id, answer);
            }
            // It excuses nothing that a plan does.
            Event::Writes(_) => {}
        }
        self.gangs.forget_what_is_not_ours(&self.claims);
    }

    fn take_object(&mut self, object: &Object) {
        match object {
            Object::Node(spec) => {
                let offered = spec.allocatable.iter();
                let offered = offered.map(|(name, amount)| (name.clone(), (*amount).max(0)));
                let offered = Some(offered.collect());
                self.change_node(&spec.name, |node| {
                    node.offered = offered;
                    node.labels.clone_from(&spec.labels);
                    node.facts.clone_from(spec);
                    node.deleted = false;
                });
            }
            Object::Pod(spec) => self.upsert(spec),
            Object::Gang(spec) => self.gangs.define(spec),
            Object::Testbed(spec) => self.slots.hear(spec),
            Object::TestbedSlice(spec) => self.slots.hear_slice(spec),
            Object::Topology(spec) => {
                self.topologies.insert(spec.name.clone(), (**spec).clone());
                self.roads.remove(&spec.name);
                if !spec.links.is_empty() {
                    self.roads.insert(spec.name.clone(), Roads::new(spec));
                }
            }
            Object::HyperNode(spec) => {
                self.hyper_nodes.insert(spec.name.clone(), (**spec).clone());
            }
            Object::Queue(spec) => {
                self.queues.hear(spec);
                self.with_lifetimes.remove(&spec.name);
                let with_lifetime = spec.default_lifetime.map(|_| spec.name.clone());
                self.with_lifetimes.extend(with_lifetime);
            }
            Object::Namespace(spec) => {
                let labels = spec.labels.clone();
                self.namespaces.insert(spec.name.clone(), labels);
                self.claim(&spec.name, spec.claims);
            }
            Object::Claim(claim) => self.volumes.take_claim(claim),
            Object::Volume(volume) => self.volumes.take_volume(volume),
            Object::CsiNode(csi) => self.volumes.take_csi_node(csi),
            Object::PriorityClass(_)
            | Object::DisruptionBudget(_)
            | Object::VolcanoQueue(_)
            | Object::MpiJob(_)
            | Object::StorageClass(_)
            | Object::CsiDriver(_)
            | Object::StorageCapacity(_)
            | Object::PodSelector(_)
            | Object::VolumeAttachment(_) => {}
        }
    }

    fn forget_object(&mut self, key: &ObjectKey) {
        match key {
            ObjectKey::Node(name) => {
                self.change_node(name, |node| {
                    node.deleted |= node.offered.is_some();
                    node.offered = None;
                });
                self.slots.node_gone(name);
            }
            ObjectKey::Pod(key) => _ = self.remove_key(key),
            ObjectKey::Gang(key, source) => {
                self.gangs.undefine(key, *source);
                // Who runs on without a PodGroup may be in another queue.
                self.queues.forget(key);
                self.claims_held.forget(key);
            }
            ObjectKey::Testbed(name) => self.slots.gone(name),
            ObjectKey::TestbedSlice(name) => self.slots.slice_gone(name),
            ObjectKey::Topology(name) => {
                self.topologies.remove(name);
                self.roads.remove(name);
            }
            ObjectKey::HyperNode(name) => _ = self.hyper_nodes.remove(name),
            ObjectKey::Queue(name) => {
                self.queues.gone(name);
                self.with_lifetimes.remove(name);
            }
            ObjectKey::Namespace(name) => {
                self.namespaces.remove(name);
                self.claim(name, false);
            }
            ObjectKey::Claim(key) => self.volumes.forget_claim(key),
            ObjectKey::Volume(name) => self.volumes.forget_volume(name),
            ObjectKey::CsiNode(name) => self.volumes.forget_csi_node(name),
            ObjectKey::PriorityClass(_)
            | ObjectKey::DisruptionBudget(..)
            | ObjectKey::VolcanoQueue(_)
            | ObjectKey::MpiJob(..)
            | ObjectKey::StorageClass(_)
            | ObjectKey::CsiDriver(_)
            | ObjectKey::StorageCapacity(_)
            | ObjectKey::PodSelector(_)
            | ObjectKey::VolumeAttachment(_) => {}
        }
    }

    /// Whether two pods of a gang differ in their claims at most, which are alike once they are bound.
    pub(super) fn need_the_same_once_bound(&self, one: &PodKey, other: &PodKey) -> bool {
        let (Some(one), Some(other)) = (self.pod(one), self.pod(other)) else {
            return false;
        };
        let has_claims = !one.volumes.is_empty() || !other.volumes.is_empty();
        let alike = one.gang == other.gang && one.labels == other.labels;
        has_claims && alike && one.requests == other.requests
    }

    fn claim(&mut self, namespace: &str, claims: bool) {
        self.claims.remove(namespace);
        self.claims.extend(claims.then(|| namespace.to_owned()));
        self.gangs.touch_namespace(namespace);
    }

    /// The pod of a key; an empty uid stands for any.
    pub(super) fn pod(&self, key: &PodKey) -> Option<&Pod> {
        let uid = self.uid(key)?;
        self.pods.get(uid)
    }

    /// The pod of a uid.
    pub(super) fn pod_of_uid(&self, uid: &str) -> Option<&Pod> {
        self.pods.get(uid)
    }

    /// All pods.
    pub(super) fn pods(&self) -> impl Iterator<Item = &Pod> {
        self.pods.values()
    }

    fn uid(&self, key: &PodKey) -> Option<&String> {
        let name = (key.namespace.clone(), key.name.clone());
        let uid = self.names.get(&name)?;
        (key.uid.is_empty() || *uid == key.uid).then_some(uid)
    }

    /// Changes a pod and everything that is counted of it.
    pub(super) fn change(&mut self, key: &PodKey, change: impl FnOnce(&mut Pod)) {
        let Some(uid) = self.uid(key).cloned() else {
            return;
        };
        let Some(mut pod) = self.take(&uid) else {
            return;
        };
        let before = pod.place().cloned();
        change(&mut pod);
        self.put(uid, pod);
        self.forget_unused(before.as_ref());
    }

    pub(super) fn leave_unchecked<'a>(&mut self, names: impl IntoIterator<Item = &'a String>) {
        self.unchecked.extend(names.into_iter().cloned());
    }

    fn upsert(&mut self, spec: &PodSpec) {
        let name = (spec.key.namespace.clone(), spec.key.name.clone());
        let known = self.names.get(&name).cloned();
        if let Some(uid) = known.as_ref().filter(|uid| **uid != spec.key.uid) {
            self.remove(&uid.clone());
            // If it was the last of ours there, another one of its name is the first.
            self.gangs.forget_what_is_not_ours(&self.claims);
        }
        let before = known.and_then(|uid| self.take(&uid));
        let mut requests = spec.shape.requests.clone();
        requests.retain(|(name, amount)| *amount > 0 && !self.unchecked.contains(name));
        requests.push(("pods".to_owned(), 1));
        let pod = Pod {
            key: spec.key.clone(),
            // A ghost is in no gang.
            ours: spec.ours && spec.ghost_of.is_none(),
            ghost_of: spec.ghost_of.as_ref().map(|of| of.testbed.clone()),
            claim: spec.shape.claim.clone(),
            gang: spec.gang_key(),
            subgroup: spec.subgroup.clone(),
            daemon: spec.daemon,
            phase: spec.phase,
            terminating: spec.terminating || before.as_ref().is_some_and(|pod| pod.terminating),
            held_back: !spec.gates.is_empty() || !spec.unsupported.is_empty(),
            node: spec
                .node
                .clone()
                .or_else(|| before.as_ref().and_then(|pod| pod.node.clone())),
            ordered: before.as_ref().and_then(|pod| pod.ordered.clone()),
            recalled: before.as_ref().is_some_and(|pod| pod.recalled),
            held: before.as_ref().and_then(|pod| pod.held.clone()),
            nominated: before.as_ref().and_then(|pod| pod.nominated.clone()),
            evicting: before.as_ref().is_some_and(|pod| pod.evicting),
            refused: before.as_ref().is_some_and(|pod| pod.refused),
            lifetime: spec.lifetime,
            spread: spec.shape.spread.clone(),
            constraints: spec.shape.constraints.clone(),
            volumes: spec.volumes.clone(),
            ports: spec.shape.host_ports.clone(),
            requests,
            labels: labels_of(spec),
            rules: spec.shape.pods.clone(),
        };
        self.put(spec.key.uid.clone(), pod);
        self.forget_unused(before.as_ref().and_then(Pod::place));
    }

    fn remove_key(&mut self, key: &PodKey) -> Option<()> {
        let uid = self.uid(key)?.clone();
        self.remove(&uid);
        Some(())
    }

    fn remove(&mut self, uid: &str) {
        let Some(pod) = self.take(uid) else { return };
        self.advised.forget(&pod.key);
        let retired = pod.count(self) == Count::Succeeded;
        if pod.ours {
            self.gangs.gone(&pod.gang, pod.subgroup.as_deref(), retired);
            if !self.members.contains_key(&pod.gang) {
                self.queues.forget(&pod.gang);
            }
        }
        self.forget_unused(pod.place());
    }

    /// Takes a pod out of all that is counted.
    fn take(&mut self, uid: &str) -> Option<Pod> {
        let pod = self.pods.remove(uid)?;
        self.names
            .remove(&(pod.key.namespace.clone(), pod.key.name.clone()));
        self.book(uid, &pod, -1);
        Some(pod)
    }

    fn put(&mut self, uid: String, pod: Pod) {
        let name = (pod.key.namespace.clone(), pod.key.name.clone());
        self.names.insert(name, uid.clone());
        self.book(&uid, &pod, 1);
        self.pods.insert(uid, pod);
    }

    fn book(&mut self, uid: &str, pod: &Pod, sign: i64) {
        if let Some(node) = &pod.nominated {
            let here = self.nominated.entry(node.clone()).or_default();
            if sign > 0 {
                here.insert(uid.to_owned());
            } else {
                here.remove(uid);
            }
            if here.is_empty() {
                self.nominated.remove(node);
            }
        }
        if let Some(name) = pod.place() {
            let node = self.nodes.entry(name.clone()).or_default();
            let takes = if pod.is_to_get_a_slot() {
                &[][..]
            } else {
                &pod.requests
            };
            for (resource, amount) in takes {
                let used = node.used.entry(resource.clone()).or_default();
                *used += i128::from(*amount) * i128::from(sign);
            }
            if sign > 0 {
                node.pods.insert(uid.to_owned());
            } else {
                node.pods.remove(uid);
            }
            if sign > 0 && !pod.rules.anti_affinity.is_empty() {
                self.keepers.insert(uid.to_owned());
            } else {
                self.keepers.remove(uid);
            }
        }
        if pod.ours {
            self.list_member(uid, &pod.gang, sign > 0);
            let count = pod.count(self);
            let subgroup = pod.subgroup.as_deref();
            self.gangs.count(&pod.gang, subgroup, count, sign);
        } else {
            self.gangs.count_other(&pod.gang, sign);
        }
    }

    fn list_member(&mut self, uid: &str, gang: &GangKey, is_member: bool) {
        if is_member {
            let members = self.members.entry(gang.clone()).or_default();
            members.insert(uid.to_owned());
        } else if let Some(members) = self.members.get_mut(gang) {
            members.remove(uid);
            if members.is_empty() {
                self.members.remove(gang);
            }
        }
    }

    /// Forgets a node that is gone, once its last pod has left it.
    fn forget_unused(&mut self, name: Option<&String>) {
        let unused = |node: &Node| node.offered.is_none() && node.pods.is_empty();
        if let Some(name) = name.filter(|name| self.nodes.get(*name).is_some_and(unused)) {
            self.nodes.remove(name);
        }
    }

    /// Changes a node; its pods are counted anew, for those on a deleted one are leaving.
    fn change_node(&mut self, name: &str, change: impl FnOnce(&mut Node)) {
        let node = self.nodes.entry(name.to_owned()).or_default();
        let uids: Vec<String> = node.pods.iter().cloned().collect();
        let pods: Vec<_> = uids
            .into_iter()
            .filter_map(|uid| Some((uid.clone(), self.take(&uid)?)))
            .collect();
        let node = self.nodes.entry(name.to_owned()).or_default();
        change(node);
        for (uid, pod) in pods {
            self.put(uid, pod);
        }
        self.forget_unused(Some(&name.to_owned()));
    }

    fn bind_result(&mut self, key: &PodKey, outcome: &BindOutcome) {
        match outcome {
            BindOutcome::Bound { node } => {
                self.change(key, |pod| {
                    (pod.ordered, pod.recalled) = (None, false);
                    pod.node = Some(node.clone());
                });
                self.asked.bound(key, node);
            }
            BindOutcome::Refused { .. } | BindOutcome::Failed { .. } | BindOutcome::Unsent => {
                self.change(key, |pod| (pod.ordered, pod.recalled) = (None, false));
            }
            BindOutcome::Gone => _ = self.remove_key(key),
        }
    }

    fn evict_result(&mut self, key: &PodKey, outcome: &EvictOutcome) {
        match outcome {
            EvictOutcome::Accepted => {}
            EvictOutcome::Gone => _ = self.remove_key(key),
            EvictOutcome::Refused { .. } | EvictOutcome::Failed { .. } => self.change(key, |pod| {
                pod.evicting = false;
                pod.refused = true;
            }),
            EvictOutcome::Unsent => self.change(key, |pod| pod.evicting = false),
        }
    }

    /// Whether a node is there.
    pub(super) fn has_node(&self, name: &str) -> bool {
        self.nodes
            .get(name)
            .is_some_and(|node| node.offered.is_some())
    }

    /// A label of a node.
    pub(super) fn label(&self, node: &str, label: &str) -> Option<&String> {
        self.nodes.get(node)?.labels.get(label)
    }

    /// The nodes that are there.
    pub(super) fn node_names(&self) -> impl Iterator<Item = &String> {
        let there = self.nodes.iter().filter(|(_, node)| node.offered.is_some());
        there.map(|(name, _)| name)
    }

    /// What a node said of itself last.
    pub(super) fn facts(&self, node: &str) -> Option<&NodeSpec> {
        self.nodes.get(node).map(|node| &node.facts)
    }

    /// The labels of a node.
    pub(super) fn labels(&self, node: &str) -> Option<&Labels> {
        self.nodes.get(node).map(|node| &node.labels)
    }

    /// The pods on a node, those on their way to it, and those for whom a place there is held.
    pub(super) fn pods_on(&self, node: &str) -> impl Iterator<Item = &Pod> {
        let pods = self.nodes.get(node).map(|node| node.pods.iter());
        let pods = pods.into_iter().flatten();
        pods.filter_map(|uid| self.pods.get(uid))
    }

    /// The pods for which others leave a node, and which have no place yet.
    pub(super) fn nominated_on(&self, node: &str) -> impl Iterator<Item = &Pod> {
        let pods = self.nominated.get(node).into_iter().flatten();
        let pods = pods.filter_map(|uid| self.pods.get(uid));
        pods.filter(|pod| pod.place().is_none())
    }

    /// What those who do not leave a node use there of a resource.
    pub(super) fn staying_on(&self, node: &str, resource: &str) -> i128 {
        let on = self.pods_on(node);
        let on = on.filter(|pod| !pod.is_to_get_a_slot());
        let stay = on.filter(|pod| !pod.is_leaving(self) && !pod.recalled);
        stay.map(|pod| i128::from(pod.requests(resource))).sum()
    }

    /// What a node offers of a resource.
    pub(super) fn offers(&self, node: &str, resource: &str) -> i128 {
        let offered = self.nodes.get(node).and_then(|node| node.offered.as_ref());
        offered.map_or(0, |offered| {
            i128::from(offered.get(resource).copied().unwrap_or(0))
        })
    }

    /// All pods that have a place, and where.
    pub(super) fn all_placed(&self) -> impl Iterator<Item = (&Pod, &String)> {
        let pods = self.pods.values();
        pods.filter_map(|pod| Some((pod, pod.place()?)))
    }

    /// Those of them that keep others away.
    pub(super) fn keepers(&self) -> impl Iterator<Item = (&Pod, &String)> {
        let pods = self.keepers.iter().filter_map(|uid| self.pods.get(uid));
        pods.filter_map(|pod| Some((pod, pod.place()?)))
    }

    /// The members of a gang that have a place, and where.
    pub(super) fn placed(&self, gang: &GangKey) -> impl Iterator<Item = (&Pod, &String)> {
        let members = self.members.get(gang).into_iter().flatten();
        let members = members.filter_map(|uid| self.pods.get(uid));
        members.filter_map(|pod| Some((pod, pod.place()?)))
    }

    /// What the members of a gang that have a place request of a resource.
    pub(super) fn holds(&self, gang: &GangKey, resource: &str) -> i128 {
        let placed = self.placed(gang);
        placed
            .map(|(pod, _)| i128::from(pod.requests(resource)))
            .sum()
    }

    /// The first resource that a pod requests and of which more is used on its node than there is.
    pub(super) fn excess(&self, pod: &Pod, node: &str) -> Option<String> {
        let found = self.nodes.get(node)?;
        let offered = found.offered.as_ref()?;
        pod.requests.iter().find_map(|(resource, _)| {
            let offered = offered.get(resource).copied().unwrap_or(0);
            let used = found.used.get(resource).copied().unwrap_or(0);
            (used > i128::from(offered)).then(|| format!("{used} of {offered} {resource}"))
        })
    }

    /// How long a gang says that it is protected: `None` if it says nothing.
    pub(super) fn lifetime(&self, gang: &GangKey) -> Option<Millis> {
        if let Some(spec) = self.gangs.get(gang).and_then(|gang| gang.definition()) {
            return spec.lifetime;
        }
        let mut members = self.members.get(gang)?.iter();
        members.find_map(|uid| self.pods.get(uid)?.lifetime)
    }

    /// The members of a gang that hold a node and neither go nor were refused to.
    pub(super) fn staying(&self, gang: &GangKey) -> impl Iterator<Item = &Pod> {
        let members = self.members.get(gang).into_iter().flatten();
        let stays = |pod: &&Pod| pod.is_bound(self) && !pod.refused;
        members.filter_map(|uid| self.pods.get(uid)).filter(stays)
    }
}
