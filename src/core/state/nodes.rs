//! The nodes: what they offer, what is used, and who uses it.
//!
//! Amounts are laid out by resource, one column each, so that a scan for room reads memory in
//! order. A node that is only spoken of (a pod says it runs there) has a slot as well: it is not
//! present, and its usage is counted when it appears.

use super::appeal::Appeal;
use super::column::{Column, clamp, left};
use super::held::RoomOn;
use super::holders::{filler_of, held_by, room_held_by};
use super::ids::{GangId, Id, NodeId, PodId};
use super::kept::Kept;
use super::label_index::LabelIndex;
use super::log::Touched;
use super::node_facts::NodeFacts;
use super::node_set::{LANES, NodeSet};
use super::slots::SlotId;
use indexmap::IndexMap;
use muster_model::resources::{Dimension, Dimensions, Request, Tally, WIDTH};
use muster_model::{Constraints, HostPort, Labels, NodeSpec};

/// What a pod takes of a node.
#[derive(Clone, Copy, Debug)]
pub struct Occupant<'a> {
    /// Which it is of all pods that ever were, and of all that it ever took.
    pub edition: u64,
    /// Of its resources.
    pub request: &'a Request,
    /// Of its ports.
    pub ports: &'a [HostPort],
    /// Such a pod is on every node.
    pub daemon: bool,
    /// All of it, for its gang.
    pub exclusive: bool,
    /// What it would ask for besides, if it said so: of CPU and of memory.
    pub unsaid: [i64; 2],
}

/// One node apart from its amounts.
#[derive(Clone, Debug, Default)]
struct Row {
    name: String,
    facts: NodeFacts,
    /// The table's version when `facts` last changed.
    facts_version: u64,
    pods: Vec<PodId>,
    ports: Vec<(HostPort, PodId)>,
    /// How many of its pods want it for their gang.
    exclusive: u32,
    /// For how many gangs all of it looks taken, as it is kept for them.
    kept_whole: u32,
    /// Whether the node was present once and was then deleted.
    deleted: bool,
    /// One bit for each resource of which it says how much it has.
    names: u32,
}

/// All nodes.
#[derive(Clone, Debug, Default)]
pub struct Nodes {
    by_name: IndexMap<String, NodeId>,
    rows: Vec<Row>,
    free_slots: Vec<NodeId>,
    /// A node whose slot is not to be freed for now.
    held: Option<NodeId>,
    present: NodeSet,
    /// Those that offer a device.
    with_devices: NodeSet,
    columns: Vec<Column>,
    version: u64,
    offer_version: u64,
    touched: Touched,
    /// The digests of all pairs of a pod's edition and its node, each there once or not at all.
    holders: u64,
    /// How many pods take room on a node.
    pods: u32,
    /// How many pods are on each node that are not on every node.
    in_use_by: Vec<u32>,
    /// The nodes with any such pod.
    in_use: NodeSet,
    /// How many pods want their node for their gang.
    exclusive: u32,
    /// How often a node looks taken as a whole.
    kept_whole: u32,
    /// What scores look at besides.
    appeal: Appeal,
    by_label: LabelIndex,
}

/// What a change of a node may do for those that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeChange {
    /// Nothing: it is the same, or only lost room.
    CannotHelp,
    /// A pod that did not fit may fit now.
    CanHelp,
}

impl Nodes {
    /// The slot of a name, made now if need be.
    pub fn slot(&mut self, name: &str) -> NodeId {
        if let Some(id) = self.by_name.get(name) {
            return *id;
        }
        let id = self.free_slots.pop().unwrap_or_else(|| {
            self.rows.push(Row::default());
            NodeId::from_index(self.rows.len() - 1)
        });
        self.rows[id.index()] = Row {
            name: name.to_owned(),
            ..Row::default()
        };
        self.by_name.insert(name.to_owned(), id);
        let capacity = self.capacity();
        for column in &mut self.columns {
            column.resize(capacity);
        }
        self.in_use_by.resize(capacity, 0);
        id
    }

    /// Takes over what a node says of itself.
    pub fn upsert(&mut self, spec: NodeSpec, dimensions: &mut Dimensions) -> (NodeId, NodeChange) {
        let id = self.slot(&spec.name);
        let appeared = !self.present.contains(id);
        self.present.insert(id);
        let (mut amounts, mut names) = ([0; WIDTH], 0);
        for (name, amount) in &spec.allocatable {
            if let Some(dimension) = dimensions.register(name) {
                amounts[dimension.index()] = (*amount).max(0);
                names |= 1 << dimension.index();
            }
        }
        self.rows[id.index()].names = names;
        let (grew, shrank) = self.set_allocatable(id, &amounts, dimensions.len());
        let offers = |one: Dimension| dimensions.is_device(one) && amounts[one.index()] > 0;
        self.with_devices.set(id, dimensions.iter().any(offers));
        let appeals = self.appeal.set_images(id, &spec.images);
        let row = &mut self.rows[id.index()];
        row.deleted = false;
        let changed = !row.facts.are_those_of(&spec);
        if changed || appeared {
            self.version += 1;
            let facts = NodeFacts::from(spec);
            self.appeal.set_taints(id, &facts.taints);
            self.by_label.change(id, &row.facts.labels, &facts.labels);
            row.facts = facts;
            row.facts_version = self.version;
        }
        let helps = appeared || grew || changed;
        if helps || shrank {
            self.touched.note(id);
            self.offer_version += 1;
        } else if appeals {
            self.touched.note(id);
        }
        (
            id,
            if helps {
                NodeChange::CanHelp
            } else {
                NodeChange::CannotHelp
            },
        )
    }

    /// The node that is there, if it is to be another for filters by what it now says of itself.
    pub(super) fn changing(&self, spec: &NodeSpec) -> Option<NodeId> {
        let id = self.find(&spec.name);
        id.filter(|id| self.present.contains(*id) && !self.facts(*id).are_those_of(spec))
    }

    /// Forgets what a node offered. Its pods stay counted until they are gone themselves.
    pub fn remove(&mut self, name: &str) -> Option<NodeId> {
        let id = self.by_name.get(name).copied()?;
        if !self.present.contains(id) {
            return None;
        }
        self.present.remove(id);
        self.version += 1;
        self.offer_version += 1;
        self.touched.note(id);
        self.appeal.set_images(id, &[]);
        self.appeal.set_taints(id, &[]);
        let row = &mut self.rows[id.index()];
        let labels = std::mem::take(&mut row.facts).labels;
        self.by_label.change(id, &labels, &row.facts.labels);
        row.facts_version = self.version;
        row.deleted = true;
        row.names = 0;
        self.set_allocatable(id, &[0; WIDTH], self.columns.len());
        self.with_devices.remove(id);
        self.free_slot_if_unused(id);
        Some(id)
    }

    /// Whether a node says how much of a resource it has, or something takes of it.
    pub(super) fn knows(&self, dimension: Dimension) -> bool {
        let bit = 1 << dimension.index();
        let column = self.columns.get(dimension.index());
        self.rows.iter().any(|row| row.names & bit != 0)
            || column.is_some_and(|one| one.used.iter().any(|used| *used != 0))
    }

    /// The resources of which nodes say how much they have, a bit for each.
    pub(super) fn named(&self) -> u32 {
        self.rows.iter().fold(0, |all, row| all | row.names)
    }

    /// Something that is not kept here changed about a node: it may give other answers.
    pub(super) fn touch(&mut self, node: NodeId) {
        self.touched.note(node);
    }

    /// The same, of what filters look at that does not depend on usage.
    pub(super) fn change_facts(&mut self, node: NodeId) {
        self.touched.note(node);
        self.version += 1;
        self.rows[node.index()].facts_version = self.version;
    }

    /// Counts a pod on a node.
    pub fn occupy(&mut self, node: NodeId, pod: PodId, takes: &Occupant<'_>) {
        for (dimension, amount) in takes.request.iter().filter(is_somewhere) {
            let column = self.column(dimension);
            let used = column.used[node.index()].saturating_add(amount);
            column.set_used(node, used);
        }
        self.holders ^= held_by(node, takes.edition);
        self.pods += 1;
        self.count_in_use(node, |pods| pods + u32::from(!takes.daemon));
        self.exclusive += u32::from(takes.exclusive);
        self.appeal.count_unsaid(node, takes.unsaid, true);
        self.touched.note(node);
        let row = &mut self.rows[node.index()];
        row.exclusive += u32::from(takes.exclusive);
        row.pods.push(pod);
        let ports = takes.ports.iter();
        row.ports.extend(ports.map(|port| (port.clone(), pod)));
    }

    /// Takes a pod off a node. `others` sums one resource over the pods that stay; it is asked
    /// only where a sum had hit the end of the number line.
    pub fn vacate(
        &mut self,
        node: NodeId,
        pod: PodId,
        takes: &Occupant<'_>,
        others: impl Fn(&[PodId], Dimension) -> i64,
    ) {
        self.holders ^= held_by(node, takes.edition);
        self.pods -= 1;
        self.count_in_use(node, |pods| pods - u32::from(!takes.daemon));
        self.exclusive -= u32::from(takes.exclusive);
        self.appeal.count_unsaid(node, takes.unsaid, false);
        self.touched.note(node);
        let row = &mut self.rows[node.index()];
        row.exclusive -= u32::from(takes.exclusive);
        row.pods.retain(|one| *one != pod);
        row.ports.retain(|(_, one)| *one != pod);
        let staying = std::mem::take(&mut row.pods);
        for (dimension, amount) in takes.request.iter().filter(is_somewhere) {
            let column = self.column(dimension);
            let used = match column.used[node.index()] {
                i64::MAX => others(&staying, dimension),
                exact => exact - amount,
            };
            column.set_used(node, used);
        }
        self.rows[node.index()].pods = staying;
        self.free_slot_if_unused(node);
    }

    fn count_in_use(&mut self, node: NodeId, change: impl FnOnce(u32) -> u32) {
        let pods = &mut self.in_use_by[node.index()];
        let before = std::mem::replace(pods, change(*pods));
        if (before > 0) != (*pods > 0) {
            self.in_use.set(node, before == 0);
        }
    }

    /// One pod more on a node wants it for its gang, or one less.
    pub(super) fn set_exclusive(&mut self, node: NodeId, wanted: bool) {
        self.touched.note(node);
        let row = &mut self.rows[node.index()];
        for count in [&mut self.exclusive, &mut row.exclusive] {
            *count = if wanted { *count + 1 } else { *count - 1 };
        }
    }

    /// Has room that is kept look taken.
    pub(super) fn keep(&mut self, kept: &Kept) {
        self.change_used(&kept.amounts, i64::saturating_add);
        for (node, port, pod) in &kept.ports {
            let ports = &mut self.rows[node.index()].ports;
            ports.push((port.clone(), *pod));
        }
        for node in &kept.whole {
            self.touched.note(*node);
            self.kept_whole += 1;
            self.rows[node.index()].kept_whole += 1;
        }
    }

    /// Has it look free again.
    pub(super) fn give(&mut self, kept: &Kept) {
        self.change_used(&kept.amounts, i64::saturating_sub);
        for (node, port, pod) in &kept.ports {
            let ports = &mut self.rows[node.index()].ports;
            ports.retain(|(one, of)| (one, of) != (port, pod));
        }
        for node in &kept.whole {
            self.touched.note(*node);
            self.kept_whole -= 1;
            self.rows[node.index()].kept_whole -= 1;
        }
    }

    /// Counts what is held for a gang as used, or not any more.
    pub(super) fn hold_amounts(&mut self, gang: GangId, on: &RoomOn, more: bool) {
        for (node, amounts) in on {
            self.holders ^= room_held_by(gang, *node, amounts);
        }
        let change = if more {
            i64::saturating_add
        } else {
            i64::saturating_sub
        };
        self.change_used(on, change);
    }

    /// A slot takes this of its node beside its pods, and no longer that.
    pub(super) fn fill_slot(&mut self, slot: SlotId, node: NodeId, before: &Tally, now: &Tally) {
        self.holders ^= filler_of(slot, node, before) ^ filler_of(slot, node, now);
        let mut more = now.clone();
        more.subtract_all(before);
        self.change_used(&RoomOn::from([(node, more)]), i64::saturating_add);
    }

    fn change_used(&mut self, on: &RoomOn, change: fn(i64, i64) -> i64) {
        for (node, amounts) in on {
            self.touched.note(*node);
            for (dimension, amount) in amounts.iter() {
                let column = self.column(dimension);
                let used = change(column.used[node.index()], amount);
                column.set_used(*node, used);
            }
        }
    }

    /// The node's name.
    #[must_use]
    pub fn name(&self, node: NodeId) -> &str {
        self.rows.get(node.index()).map_or("", |row| &row.name)
    }

    /// The node of a name, present or only spoken of.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<NodeId> {
        self.by_name.get(name).copied()
    }

    /// What filters look at.
    #[must_use]
    pub fn facts(&self, node: NodeId) -> &NodeFacts {
        &self.rows[node.index()].facts
    }

    /// Nodes among which are all that carry these labels, found without asking each; `None` without any.
    #[must_use]
    pub fn carriers(&self, labels: &Labels) -> Option<NodeSet> {
        let nodes = self.by_label.carriers(labels)?;
        Some(NodeSet::from_iter(nodes.iter().copied()))
    }

    /// Whether any node has this label.
    #[must_use]
    pub fn any_has(&self, label: &str) -> bool {
        self.by_label.has(label)
    }

    /// The same of those that a pod's selector and its required affinity allow; `None` where these do not say
    /// which labels or names they have.
    #[must_use]
    pub fn candidates(&self, wanted: &Constraints) -> Option<NodeSet> {
        let nodes = self.by_label.candidates(wanted, |name| self.find(name))?;
        Some(NodeSet::from_iter(nodes))
    }

    /// The version at which the node's facts last changed.
    #[must_use]
    pub fn facts_version(&self, node: NodeId) -> u64 {
        self.rows[node.index()].facts_version
    }

    /// Rises whenever any node's facts change.
    #[must_use]
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// Which nodes changed.
    #[must_use]
    pub const fn touched(&self) -> &Touched {
        &self.touched
    }

    /// The nodes that offer a device, in use or not.
    #[must_use]
    pub const fn with_devices(&self) -> &NodeSet {
        &self.with_devices
    }

    /// What scores look at besides.
    #[must_use]
    pub const fn appeal(&self) -> &Appeal {
        &self.appeal
    }

    /// The nodes that exist.
    #[must_use]
    pub const fn present(&self) -> &NodeSet {
        &self.present
    }

    /// Whether the node existed and was deleted.
    #[must_use]
    pub fn is_deleted(&self, node: NodeId) -> bool {
        self.rows[node.index()].deleted
    }

    /// The pods counted on a node.
    #[must_use]
    pub fn pods(&self, node: NodeId) -> &[PodId] {
        &self.rows[node.index()].pods
    }

    /// How many of the pods on a node are not such as are on every node.
    #[must_use]
    pub fn in_use_by(&self, node: NodeId) -> u32 {
        self.in_use_by.get(node.index()).copied().unwrap_or(0)
    }

    /// The nodes with a pod that is not on every node.
    #[must_use]
    pub const fn in_use(&self) -> &NodeSet {
        &self.in_use
    }

    /// Whether a pod on a node wants it for its gang.
    #[must_use]
    pub fn is_exclusive(&self, node: NodeId) -> bool {
        self.rows[node.index()].exclusive > 0
    }

    /// Whether a pod on any node does.
    #[must_use]
    pub const fn has_exclusive(&self) -> bool {
        self.exclusive > 0
    }

    /// Whether all of a node looks taken, as it is kept for a gang that wants it for itself.
    #[must_use]
    pub fn is_kept_whole(&self, node: NodeId) -> bool {
        self.rows[node.index()].kept_whole > 0
    }

    /// Whether any node does.
    #[must_use]
    pub const fn has_kept_whole(&self) -> bool {
        self.kept_whole > 0
    }

    /// The host ports taken on a node, and by whom.
    #[must_use]
    pub fn ports(&self, node: NodeId) -> &[(HostPort, PodId)] {
        &self.rows[node.index()].ports
    }

    /// How many slots there are; ids are below this.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether no node was ever spoken of.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// What a node offers of a resource.
    #[must_use]
    pub fn allocatable(&self, node: NodeId, dimension: Dimension) -> i64 {
        self.columns
            .get(dimension.index())
            .map_or(0, |column| column.allocatable[node.index()])
    }

    /// What is used of a resource on a node.
    #[must_use]
    pub fn used(&self, node: NodeId, dimension: Dimension) -> i64 {
        self.columns
            .get(dimension.index())
            .map_or(0, |column| column.used[node.index()])
    }

    /// What is left; below zero where a node shrank under its use.
    #[must_use]
    pub fn free(&self, node: NodeId, dimension: Dimension) -> i64 {
        self.allocatable(node, dimension) - self.used(node, dimension)
    }

    /// [`Nodes::free`] of one resource, for a run over many nodes.
    pub fn free_column(&self, dimension: Dimension) -> impl Fn(NodeId) -> i64 {
        let column = self.columns.get(dimension.index());
        let (allocatable, used) = column.map_or((&[][..], &[][..]), |column| {
            (&column.allocatable[..], &column.used[..])
        });
        move |node| {
            let of = |amounts: &[i64]| amounts.get(node.index()).copied().unwrap_or(0);
            of(allocatable) - of(used)
        }
    }

    /// What all nodes together offer of a resource.
    #[must_use]
    pub fn total(&self, dimension: Dimension) -> i64 {
        let column = self.columns.get(dimension.index());
        column.map_or(0, |column| clamp(column.offered))
    }

    /// Another whenever a node came, went or offers something else than before.
    #[must_use]
    pub const fn offer_version(&self) -> u64 {
        self.offer_version
    }

    /// How many pods take room on all nodes together.
    #[must_use]
    pub const fn pod_count(&self) -> u32 {
        self.pods
    }

    /// What all nodes together have left of a resource, full ones counting as zero.
    #[must_use]
    pub fn total_free(&self, dimension: Dimension) -> i64 {
        let column = self.columns.get(dimension.index());
        column.map_or(0, |column| clamp(column.free))
    }

    /// Another whenever a node came, went, offers something else than before, or holds other pods or pods that
    /// take something else; the same again when a pod was only tried on a node and taken off, and then only.
    #[must_use]
    pub const fn mark(&self) -> u64 {
        self.offer_version.rotate_left(32) ^ self.holders
    }

    /// Derives what is kept about all nodes from scratch and compares; with the editions of all pods that take
    /// room, and where, and with what is held for gangs.
    pub(super) fn audit<'a>(
        &self,
        pods: impl Iterator<Item = (NodeId, u64)>,
        held: impl Iterator<Item = (GangId, &'a RoomOn)>,
        fillers: impl Iterator<Item = (SlotId, NodeId, &'a Tally)>,
    ) -> Result<(), String> {
        let by_pods = pods.fold(0, |sum, (node, edition)| sum ^ held_by(node, edition));
        let by_room = held.flat_map(|(gang, on)| on.iter().map(move |one| (gang, one)));
        let holders = by_room.fold(by_pods, |sum, (gang, (node, amounts))| {
            sum ^ room_held_by(gang, *node, amounts)
        });
        let holders = fillers.fold(holders, |sum, (slot, node, amounts)| {
            sum ^ filler_of(slot, node, amounts)
        });
        if holders != self.holders {
            return Err("the nodes' mark is not that of who holds room on them".to_owned());
        }
        for (index, pods) in self.in_use_by.iter().enumerate() {
            if self.in_use.contains(NodeId::from_index(index)) != (*pods > 0) {
                return Err(format!(
                    "node {index}: {pods} pods use it, and it is noted otherwise"
                ));
            }
        }
        let mut by_label = LabelIndex::default();
        for (index, row) in self.rows.iter().enumerate() {
            by_label.change(NodeId::from_index(index), &Labels::new(), &row.facts.labels);
        }
        if by_label != self.by_label {
            return Err("the index of the nodes' labels is not what they carry".to_owned());
        }
        for (index, column) in self.columns.iter().enumerate() {
            let nodes = column.allocatable.iter().zip(&column.used);
            let (mut offered, mut free) = (0, 0);
            for (allocatable, used) in nodes {
                offered += i128::from(*allocatable);
                free += left(*allocatable, *used);
            }
            if (offered, free) != (column.offered, column.free) {
                return Err(format!(
                    "resource {index}: offered and free are {:?}, not {:?}",
                    (column.offered, column.free),
                    (offered, free)
                ));
            }
        }
        Ok(())
    }

    /// Keeps the nodes of `set` that have at least `amount` left of a resource.
    pub fn retain_with_room(&self, set: &mut NodeSet, dimension: Dimension, amount: i64) {
        let Some(column) = self.columns.get(dimension.index()) else {
            return set.retain(|_| amount <= 0);
        };
        let allocatable = column.allocatable.chunks_exact(LANES);
        let used = column.used.chunks_exact(LANES);
        for ((word, allocatable), used) in set.words_mut().iter_mut().zip(allocatable).zip(used) {
            if *word == 0 {
                continue;
            }
            let mut fits = 0;
            for (lane, (allocatable, used)) in allocatable.iter().zip(used).enumerate() {
                fits |= usize::from(allocatable - used >= amount) << lane;
            }
            *word &= fits;
        }
    }

    /// Keeps the slot of a node, from which a pod is taken that is to be there again.
    pub(super) const fn hold(&mut self, node: NodeId) {
        self.held = Some(node);
    }

    /// The pod is there again, or elsewhere.
    pub(super) fn let_go(&mut self) {
        if let Some(node) = self.held.take() {
            self.free_slot_if_unused(node);
        }
    }

    /// Gives the slot of a node that is neither present nor spoken of to the next new one.
    fn free_slot_if_unused(&mut self, node: NodeId) {
        if self.held == Some(node) || self.rows[node.index()].name.is_empty() {
            return;
        }
        let row = &mut self.rows[node.index()];
        if !self.present.contains(node) && row.pods.is_empty() {
            self.by_name.swap_remove(&std::mem::take(&mut row.name));
            self.free_slots.push(node);
        }
    }

    fn capacity(&self) -> usize {
        self.rows.len().next_multiple_of(LANES)
    }

    fn column(&mut self, dimension: Dimension) -> &mut Column {
        let capacity = self.capacity();
        while self.columns.len() <= dimension.index() {
            let mut column = Column::default();
            column.resize(capacity);
            self.columns.push(column);
        }
        &mut self.columns[dimension.index()]
    }

    /// Sets all amounts of a node; says whether any of them grew, and whether any shrank.
    fn set_allocatable(
        &mut self,
        node: NodeId,
        amounts: &[i64; WIDTH],
        known: usize,
    ) -> (bool, bool) {
        let (mut grew, mut shrank) = (false, false);
        for (index, amount) in amounts.iter().enumerate().take(known) {
            if *amount == 0 && index >= self.columns.len() {
                continue;
            }
            while self.columns.len() <= index {
                let mut column = Column::default();
                column.resize(self.capacity());
                self.columns.push(column);
            }
            let column = &mut self.columns[index];
            let before = column.allocatable[node.index()];
            grew |= *amount > before;
            shrank |= *amount < before;
            column.set_allocatable(node, *amount);
        }
        (grew, shrank)
    }
}

/// Whether a node may have it at all.
fn is_somewhere((dimension, _): &(Dimension, i64)) -> bool {
    *dimension != Dimension::NOWHERE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, cpu: i64) -> NodeSpec {
        NodeSpec {
            name: name.to_owned(),
            allocatable: vec![("cpu".to_owned(), cpu)],
            ..NodeSpec::default()
        }
    }

    const fn of(request: &Request) -> Occupant<'_> {
        Occupant {
            edition: 1,
            request,
            ports: &[],
            daemon: false,
            exclusive: false,
            unsaid: [0, 0],
        }
    }

    #[test]
    fn a_node_whose_allocatable_shrinks_below_its_use_is_just_full() {
        let (mut nodes, mut dimensions) = (Nodes::default(), Dimensions::default());
        let (id, _) = nodes.upsert(node("a", 4000), &mut dimensions);
        let request = Request::new([(Dimension::CPU, 3000)]);
        nodes.occupy(id, PodId::from_index(0), &of(&request));
        nodes.upsert(node("a", 1000), &mut dimensions);
        assert_eq!(nodes.free(id, Dimension::CPU), -2000);
        assert_eq!(nodes.total_free(Dimension::CPU), 0);
        let mut set = nodes.present().clone();
        nodes.retain_with_room(&mut set, Dimension::CPU, 1);
        assert!(set.is_empty());
    }

    #[test]
    fn pods_of_unknown_nodes_are_counted_when_the_node_appears() {
        let (mut nodes, mut dimensions) = (Nodes::default(), Dimensions::default());
        let id = nodes.slot("later");
        let request = Request::new([(Dimension::CPU, 500)]);
        nodes.occupy(id, PodId::from_index(7), &of(&request));
        assert!(!nodes.present().contains(id));
        nodes.upsert(node("later", 2000), &mut dimensions);
        assert_eq!(nodes.free(id, Dimension::CPU), 1500);
    }

    #[test]
    fn a_saturated_sum_is_counted_anew_when_a_pod_leaves() {
        let (mut nodes, _) = (Nodes::default(), Dimensions::default());
        let id = nodes.slot("a");
        let huge = Request::new([(Dimension::MEMORY, i64::MAX)]);
        let small = Request::new([(Dimension::MEMORY, 10)]);
        nodes.occupy(id, PodId::from_index(0), &of(&huge));
        nodes.occupy(id, PodId::from_index(1), &of(&small));
        nodes.vacate(id, PodId::from_index(0), &of(&huge), |pods, _| {
            assert_eq!(pods, [PodId::from_index(1)]);
            10
        });
        assert_eq!(nodes.used(id, Dimension::MEMORY), 10);
    }

    #[test]
    fn slots_of_nodes_that_come_and_go_are_used_again() {
        let (mut nodes, mut dimensions) = (Nodes::default(), Dimensions::default());
        for round in 0..10 {
            nodes.upsert(node(&format!("n{round}"), 1), &mut dimensions);
            nodes.remove(&format!("n{round}"));
        }
        assert_eq!(nodes.len(), 1);
        assert_eq!(nodes.find("n9"), None);
    }

    #[test]
    fn only_a_change_that_could_help_says_so() {
        let (mut nodes, mut dimensions) = (Nodes::default(), Dimensions::default());
        assert_eq!(
            nodes.upsert(node("a", 1000), &mut dimensions).1,
            NodeChange::CanHelp
        );
        assert_eq!(
            nodes.upsert(node("a", 1000), &mut dimensions).1,
            NodeChange::CannotHelp
        );
        assert_eq!(
            nodes.upsert(node("a", 900), &mut dimensions).1,
            NodeChange::CannotHelp
        );
        assert_eq!(
            nodes.upsert(node("a", 950), &mut dimensions).1,
            NodeChange::CanHelp
        );
    }
}
