//! Pods coming, changing and going; what became of binds and evictions.

use super::ids::{GangId, NodeId, PodId, ShapeId};
use super::others::other_group;
use super::pod_facts::PodFacts;
use super::pods::{Eviction, Place, Pod, Setback, Standing};
use super::shapes::{Shape, Shapes};
use super::volumes::PodVolumesOf;
use super::{ClusterState, Occupant};
use indexmap::{Equivalent, IndexMap};
use muster_model::resources::Dimension;
use muster_model::{BindOutcome, EvictOutcome, GangRef, PodKey, PodPhase, PodSpec};

/// Pods by namespace and name.
pub(super) type PodNames = IndexMap<(String, String), PodId>;

/// A borrowed key of [`PodNames`].
#[derive(Hash)]
struct PodName<'a>(&'a str, &'a str);

impl Equivalent<(String, String)> for PodName<'_> {
    fn equivalent(&self, key: &(String, String)) -> bool {
        self.0 == key.0 && self.1 == key.1
    }
}

/// What of a pod others can notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Footprint {
    gang: Option<GangId>,
    standing: Standing,
    pub(super) room: Option<(NodeId, ShapeId)>,
}

impl ClusterState {
    /// The pod of this namespace and name, whatever its uid.
    fn pod_by_name(&self, key: &PodKey) -> Option<PodId> {
        self.pod_names
            .get(&PodName(&key.namespace, &key.name))
            .copied()
    }

    /// The pod of this key; an empty uid stands for any.
    #[must_use]
    pub fn find_pod(&self, key: &PodKey) -> Option<PodId> {
        let id = self.pod_by_name(key)?;
        let known = &self.pods.get(id)?.key.uid;
        (key.uid.is_empty() || *known == key.uid).then_some(id)
    }

    pub(super) fn upsert_pod(&mut self, mut spec: PodSpec) {
        if spec.ghost_of.is_some() {
            // It stands for a slot, and is in no gang, whatever scheduler it names.
            (spec.ours, spec.gang) = (false, GangRef::Own);
        }
        match self.pod_by_name(&spec.key) {
            Some(id)
                if self
                    .pods
                    .get(id)
                    .is_some_and(|pod| pod.key.uid == spec.key.uid) =>
            {
                self.update_pod(id, spec);
            }
            Some(id) => {
                self.remove_pod(id);
                self.insert_pod(spec);
            }
            None => self.insert_pod(spec),
        }
    }

    fn insert_pod(&mut self, mut spec: PodSpec) {
        let gang_key = spec.ours.then(|| spec.gang_key());
        let (other, scheduler) = (
            other_group(&spec),
            std::mem::take(&mut spec.other_scheduler),
        );
        let volumes = PodVolumesOf::new(&mut spec);
        let known = gang_key.as_ref().and_then(|key| self.find_gang(key));
        self.narrow(&mut spec, known);
        self.fill_in_spread(None, &mut spec);
        let name = (spec.key.namespace.clone(), spec.key.name.clone());
        let rules = self.rules_of(&spec);
        let (shape, no_room_for) = self.shapes.acquire(&spec.shape, rules, &self.dimensions);
        let labels = self.label_texts.acquire(spec.labels.text());
        let mut facts = PodFacts::take(&mut spec);
        let no_room_for = no_room_for.map(|name| too_many_resources(&name));
        facts.unsupported.extend(no_room_for);
        self.editions += 1;
        let mut pod = Pod {
            edition: self.editions,
            key: spec.key,
            created: spec.created,
            gang: None,
            ghost_of: spec.ghost_of,
            facts,
            subgroup: None,
            shape,
            labels,
            terminating: spec.terminating,
            nominated: None,
            lifted: false,
            place: Place::None,
            eviction: Eviction::None,
            recalled: false,
            avoid: Vec::new(),
            setbacks: 0,
            setback: None,
        };
        if let Some(node) = &spec.node {
            pod.place = Place::Bound(self.nodes.slot(node));
        }
        let id = self.pods.insert(pod);
        self.pod_names.insert(name, id);
        self.list_for_queries(id, true);
        self.note_unknown(id);
        self.note_default_spread(id);
        self.note_departure(id);
        self.note_ghost(id, true);
        self.take_room(id);
        if let Some(key) = gang_key {
            let gang = known.unwrap_or_else(|| self.new_gang(&key));
            self.join_gang(id, gang, None);
            self.note_start(id, spec.bound_at);
            self.touch(gang);
        }
        self.note_other(id, other, &scheduler);
        self.register_volumes(id, volumes);
    }

    /// Fills in what its gang wants of all its nodes, so that news of a pod does not look as if it
    /// had another shape.
    fn narrow(&self, spec: &mut PodSpec, gang: Option<GangId>) {
        let Some(gang) = gang.and_then(|id| self.gang(id)) else {
            return;
        };
        let subgroup = gang.subgroup_of(spec.subgroup.as_deref());
        spec.shape.constraints.gang = gang.wants(subgroup);
    }

    fn update_pod(&mut self, id: PodId, mut spec: PodSpec) {
        let before = self.footprint(id);
        let gang_key = spec.ours.then(|| spec.gang_key());
        let (other, scheduler) = (
            other_group(&spec),
            std::mem::take(&mut spec.other_scheduler),
        );
        self.fill_in_volumes(id, &mut spec);
        let volumes = PodVolumesOf::new(&mut spec);
        let known = gang_key.as_ref().and_then(|key| self.find_gang(key));
        self.narrow(&mut spec, known);
        self.fill_in_spread(Some(id), &mut spec);
        let rules = self.rules_of(&spec);
        let rules_after = rules.clone();
        let (shape, no_room_for) = self.shapes.acquire(&spec.shape, rules, &self.dimensions);
        let node = spec.node.as_deref().map(|name| self.nodes.slot(name));
        let mut facts = PodFacts::take(&mut spec);
        let no_room_for = no_room_for.map(|name| too_many_resources(&name));
        facts.unsupported.extend(no_room_for);
        let Some(pod) = self.pods.get(id) else { return };
        // Room is held for it as a member of its gang.
        let nominated = pod.nominated.filter(|_| known == pod.gang);
        let node_after = node
            .or(pod.place.node())
            .or(nominated)
            .filter(|_| !facts.phase.is_terminal());
        let room_after = node_after.map(|node| (node, shape));
        let rules_before = self.shapes.get(pod.shape).map(|shape| &shape.rules);
        // Some are counted by how far they are.
        let moves_on = spec.terminating && !pod.terminating || pod.is_only_nominated();
        let counted_anew = rules_before.is_some_and(|before| *before != rules_after)
            || rules_after.is_some() && moves_on;
        let moves = before.is_some_and(|before| before.room != room_after)
            || pod.facts.daemon != facts.daemon
            || counted_anew;
        if moves {
            // It may be the last that speaks of its node, and stay there.
            if let Some((node, _)) = before.and_then(|before| before.room) {
                self.nodes.hold(node);
            }
            self.leave_room(id);
        }
        self.leave_gang(id);
        self.list_for_queries(id, false);
        self.note_ghost(id, false);
        let Some(pod) = self.pods.get_mut(id) else {
            return;
        };
        pod.ghost_of = spec.ghost_of;
        let old_shape = std::mem::replace(&mut pod.shape, shape);
        if old_shape != shape {
            self.editions += 1;
            pod.edition = self.editions;
        }
        let told_apart =
            pod.facts.tell_apart(&facts, pod.place != Place::None) || old_shape != shape;
        pod.facts = facts;
        if *pod.labels != *spec.labels.text() {
            self.label_texts.release(&pod.labels);
            pod.labels = self.label_texts.acquire(spec.labels.text());
        }
        let nominated = nominated.filter(|_| node.is_none());
        if std::mem::replace(&mut pod.nominated, nominated) != nominated {
            self.claims_changed.note_pod(id);
        }
        pod.terminating |= spec.terminating;
        self.note_unknown(id);
        let Some(pod) = self.pods.get_mut(id) else {
            return;
        };
        let confirmed = node.is_some() && matches!(pod.place, Place::Assumed(_));
        if let Some(node) = node {
            if !pod.holds_node() {
                pod.forget_setbacks();
            }
            pod.place = Place::Bound(node);
        }
        self.note_default_spread(id);
        self.list_for_queries(id, true);
        self.note_ghost(id, true);
        if moves {
            self.take_room(id);
            self.nodes.let_go();
        }
        // Nobody may ask any more what it asked: then it is counted otherwise, as all are.
        self.let_go_of_shape(old_shape);
        if let Some(key) = gang_key {
            let gang = self.gang_slot(&key);
            self.join_gang(id, gang, before.and_then(|before| before.gang));
            self.note_start(id, spec.bound_at);
        }
        self.note_other(id, other, &scheduler);
        self.note_departure(id);
        if confirmed {
            self.note_advance(id);
        }
        self.note_loss_by_update(id, before);
        self.compare(id, before, told_apart);
        self.register_volumes(id, volumes);
    }

    /// Notes what became of a member that counted before.
    fn note_loss_by_update(&mut self, id: PodId, before: Option<Footprint>) {
        let Some((before, pod)) = before.zip(self.pods.get(id)) else {
            return;
        };
        let what = match pod.facts.phase {
            PodPhase::Failed => "failed",
            PodPhase::Succeeded => return,
            _ if pod.terminating => "is being deleted",
            _ => return,
        };
        self.note_loss(id, before.standing, what);
    }

    pub(super) fn remove_pod_by_key(&mut self, key: &PodKey) {
        if let Some(id) = self.find_pod(key) {
            self.remove_pod(id);
        }
    }

    fn remove_pod(&mut self, id: PodId) {
        let Some(before) = self.footprint(id) else {
            return;
        };
        self.note_loss(id, before.standing, "was deleted");
        self.leave_room(id);
        self.note_ghost(id, false);
        self.forget_seat(id);
        if let Some((node, _)) = before.room {
            self.changes.nodes.insert(node);
        }
        self.unregister_volumes(id);
        let pod = self.pods.get(id);
        let subgroup = pod.map(|pod| (pod.subgroup, pod.facts.subgroup_label.clone()));
        self.leave_gang(id);
        if let Some(gang_id) = before.gang {
            self.touch(gang_id);
            let gang = self.gangs.get_mut(gang_id);
            if before.standing == Standing::Succeeded
                && let Some((gang, (index, label))) = gang.zip(subgroup)
            {
                gang.retire(index, label, 1);
            }
            self.give_up_if_not_ours(gang_id);
        }
        self.forget_other(id);
        self.departing.remove(&id);
        self.unknown.pods.remove(&id);
        if let Some(key) = self.pods.get(id).map(|pod| pod.key.clone()) {
            self.forget_default_spread(id, &key);
        }
        self.spend_budgets(id, false);
        self.list_for_queries(id, false);
        if let Some(pod) = self.pods.remove(id) {
            self.label_texts.release(&pod.labels);
            self.let_go_of_shape(pod.shape);
            self.pod_names
                .swap_remove(&PodName(&pod.key.namespace, &pod.key.name));
        }
    }

    pub(super) fn bind_result(&mut self, key: &PodKey, outcome: BindOutcome) {
        let Some(id) = self.find_pod(key) else { return };
        let before = self.footprint(id);
        if let Some(pod) = self.pods.get_mut(id) {
            pod.recalled = false;
        }
        match outcome {
            BindOutcome::Bound { node } => {
                let node = self.nodes.slot(&node);
                let confirmed = !self.pods.get(id).is_some_and(Pod::holds_node);
                self.set_place(id, Place::Bound(node));
                if confirmed {
                    self.note_advance(id);
                }
                if let Some(pod) = self.pods.get_mut(id) {
                    pod.forget_setbacks();
                }
                self.note_slot_of(id);
            }
            BindOutcome::Refused { message } => self.bind_came_back(id, Setback::refused(message)),
            BindOutcome::Failed { message } => self.bind_came_back(id, Setback::failed(message)),
            BindOutcome::Unsent => self.take_back(id),
            BindOutcome::Gone => return self.remove_pod(id),
        }
        self.compare(id, before, true);
    }

    fn bind_came_back(&mut self, id: PodId, setback: Setback) {
        let Some(pod) = self.pods.get_mut(id) else {
            return;
        };
        let Place::Assumed(node) = pod.place else {
            return;
        };
        pod.setbacks += 1;
        if setback.refused {
            pod.avoid.push(node);
        }
        pod.setback = Some(setback);
        self.take_back(id);
    }

    /// An assumed pod is among those who wait again.
    fn take_back(&mut self, id: PodId) {
        self.unassume(id);
        let gang = self.pods.get(id).and_then(|pod| pod.gang);
        if let Some(gang) = gang.and_then(|gang| self.gangs.get_mut(gang)) {
            gang.joined += 1;
        }
    }

    pub(super) fn evict_result(&mut self, key: &PodKey, outcome: EvictOutcome) {
        let Some(id) = self.find_pod(key) else { return };
        self.note_yield(id, &outcome);
        match outcome {
            EvictOutcome::Accepted => self.set_eviction(id, Eviction::Accepted),
            EvictOutcome::Gone => self.remove_pod(id),
            EvictOutcome::Unsent => self.set_eviction(id, Eviction::None),
            EvictOutcome::Refused { message } => {
                self.eviction_came_back(id, Setback::refused(message));
            }
            EvictOutcome::Failed { message } => {
                self.eviction_came_back(id, Setback::failed(message));
            }
        }
    }

    fn eviction_came_back(&mut self, id: PodId, setback: Setback) {
        if let Some(pod) = self.pods.get_mut(id) {
            pod.setback = Some(setback);
        }
        self.set_eviction(id, Eviction::CameBack(self.now));
    }

    /// Notes whether the refusal of a gang's evictions is over.
    fn note_yield(&mut self, id: PodId, outcome: &EvictOutcome) {
        let Some(pod) = self.pods.get(id) else { return };
        let yields = match outcome {
            EvictOutcome::Accepted | EvictOutcome::Gone if pod.setback.is_some() => true,
            EvictOutcome::Refused { .. } | EvictOutcome::Failed { .. } => false,
            _ => return,
        };
        if let Some(gang) = pod.gang.and_then(|gang| self.gangs.get_mut(gang)) {
            gang.yields = yields;
        }
    }

    /// Puts a pod on a node, before the API knows.
    pub fn assume(&mut self, id: PodId, node: NodeId) {
        self.set_place(id, Place::Assumed(node));
    }

    /// Takes an assumed pod off its node, as if it had never been there.
    pub fn unassume(&mut self, id: PodId) {
        if let Some(Place::Assumed(_)) = self.pods.get(id).map(|pod| pod.place) {
            self.set_place(id, Place::None);
        }
    }

    /// Has a pod that holds a node wait for one, while a plan is made.
    pub fn displace(&mut self, id: PodId) {
        self.set_place(id, Place::None);
    }

    /// Has a pod that only waited while a plan was made back on its node.
    pub fn put_home(&mut self, id: PodId, node: NodeId) {
        self.set_place(id, Place::Bound(node));
    }

    /// Notes how far the eviction of a pod is.
    pub fn set_eviction(&mut self, id: PodId, eviction: Eviction) {
        let before = self.footprint(id);
        self.change_in_gang(id, |pod| pod.eviction = eviction);
        self.spend_budgets(id, eviction.is_under_way());
        self.note_departure(id);
        self.note_slot_of(id);
        self.compare(id, before, true);
    }

    /// Notes whether a pod is on its way off.
    fn note_departure(&mut self, id: PodId) {
        if self.pods.get(id).is_some_and(Pod::departs) {
            self.departing.insert(id);
        } else {
            self.departing.remove(&id);
        }
    }

    /// Notes that a bind on its way was asked back.
    pub fn set_recalled(&mut self, id: PodId) {
        if let Some(pod) = self.pods.get_mut(id) {
            pod.recalled = true;
        }
    }

    /// Gives a pod whose binds came back a fresh start.
    pub fn forgive(&mut self, id: PodId) {
        let before = self.footprint(id);
        self.change_in_gang(id, |pod| {
            pod.setbacks = 0;
            pod.avoid.clear();
        });
        self.compare(id, before, false);
    }

    /// Sums one resource over pods.
    pub(super) fn sum_over(&self, pods: &[PodId], dimension: Dimension) -> i64 {
        let amount = |id: &PodId| {
            self.shape_of(*id)
                .map_or(0, |shape| shape.request.get(dimension))
        };
        pods.iter()
            .fold(0_i64, |sum, id| sum.saturating_add(amount(id)))
    }

    pub(super) fn footprint(&self, id: PodId) -> Option<Footprint> {
        let pod = self.pods.get(id)?;
        Some(Footprint {
            gang: pod.gang,
            standing: self.standing(pod),
            room: pod.room().map(|node| (node, pod.shape)),
        })
    }

    /// Tells the engine of what a change of a pod means for others.
    pub(super) fn compare(&mut self, id: PodId, before: Option<Footprint>, told_apart: bool) {
        let (Some(before), Some(after)) = (before, self.footprint(id)) else {
            return;
        };
        if before.room != after.room
            && let Some((node, _)) = before.room
        {
            self.changes.nodes.insert(node);
        }
        if before == after && !told_apart {
            return;
        }
        for gang in before.gang.into_iter().chain(after.gang) {
            self.touch(gang);
            self.give_up_if_not_ours(gang);
        }
    }

    pub(super) fn set_place(&mut self, id: PodId, place: Place) {
        let moves = self
            .pods
            .get(id)
            .is_some_and(|pod| pod.place.node() != place.node());
        if moves {
            self.leave_room(id);
            self.charge(id, false);
        }
        let mut was_nominated = false;
        self.change_in_gang(id, |pod| {
            pod.place = place;
            // Whoever has a place needs none held.
            if place.node().is_some() {
                was_nominated = pod.nominated.take().is_some();
            }
        });
        if was_nominated {
            self.claims_changed.note_pod(id);
        }
        if moves {
            self.charge(id, true);
            self.take_room(id);
            self.choose_volumes(
                id,
                place.node().filter(|_| matches!(place, Place::Assumed(_))),
            );
        }
        if matches!(place, Place::Bound(_)) {
            self.note_default_spread(id);
        }
    }

    pub(super) fn take_room(&mut self, id: PodId) {
        let Some(pod) = self.pods.get(id) else { return };
        let Some(node) = pod.room() else { return };
        let Some(shape) = self.shapes.get(pod.shape) else {
            return;
        };
        let occupant = taken_by(pod, shape, &self.shapes);
        let (counted, foreign) = (shape.rules.is_some(), pod.gang.is_none());
        self.nodes.occupy(node, id, &occupant);
        self.count_volumes(id, node);
        if counted {
            self.count_pod(id, true);
        }
        if foreign {
            self.disturb_kept(node);
        }
        self.sit_down(id);
    }

    pub(super) fn leave_room(&mut self, id: PodId) {
        let Some(pod) = self.pods.get(id) else { return };
        let Some(node) = pod.room() else { return };
        let Some(shape) = self.shapes.get(pod.shape).cloned() else {
            return;
        };
        let occupant = taken_by(pod, &shape, &self.shapes);
        if shape.rules.is_some() {
            self.count_pod(id, false);
        }
        let mut nodes = std::mem::take(&mut self.nodes);
        nodes.vacate(node, id, &occupant, |pods, dimension| {
            self.sum_over(pods, dimension)
        });
        self.nodes = nodes;
        self.discount_volumes(id);
        self.stand_up(id);
    }
}

/// What a pod of this shape takes of its node.
fn taken_by<'a>(pod: &Pod, shape: &'a Shape, shapes: &Shapes) -> Occupant<'a> {
    Occupant {
        edition: pod.edition,
        request: &shape.request,
        ports: &shape.ports,
        daemon: pod.facts.daemon,
        exclusive: shapes.is_exclusive(shape),
        unsaid: shape.preferences.unsaid,
    }
}

fn too_many_resources(name: &str) -> String {
    let width = muster_model::resources::WIDTH;
    format!("resource {name}: this cluster has more than {width} kinds of resources")
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_model::Event;
    use muster_model::ObjectKey;
    use muster_model::testing::{node, pod};
    use muster_model::units::Time;

    #[test]
    fn a_node_that_only_one_pod_speaks_of_stays_its_node_when_the_pod_changes() {
        let mut state = ClusterState::default();
        let mut tell = |name: &str, cpus| {
            let mut spec = pod(name, None, cpus);
            spec.node = Some("unknown".to_owned());
            state.apply(Time::ZERO, Event::is(spec));
            state.audit().unwrap();
        };
        tell("one", 1);
        tell("one", 2);
        tell("other", 1);
    }

    /// A pod of so many CPUs on the node.
    fn bound(name: &str, cpus: i64) -> PodSpec {
        let mut spec = pod(name, None, cpus);
        spec.node = Some("n".to_owned());
        spec
    }

    fn with_bound(spec: PodSpec) -> ClusterState {
        let mut state = ClusterState::default();
        state.apply(Time::ZERO, Event::is(node("n", 8)));
        state.apply(Time::ZERO, Event::is(spec));
        state
    }

    #[test]
    fn the_nodes_mark_does_not_come_back_with_another_pod_that_has_an_old_ones_id() {
        let mut state = with_bound(bound("one", 1));
        let (mark, id) = (state.nodes().mark(), state.find_pod(&bound("one", 1).key));
        let gone = ObjectKey::Pod(bound("one", 1).key);
        state.apply(Time::ZERO, Event::Gone(gone));
        let other = bound("other", 5);
        let key = other.key.clone();
        state.apply(Time::ZERO, Event::is(other));
        assert_eq!(state.find_pod(&key), id, "it has the old one's id");
        assert_ne!(state.nodes().mark(), mark);
    }

    #[test]
    fn the_nodes_mark_is_another_when_a_pod_takes_more_of_its_node() {
        let mut state = with_bound(bound("one", 1));
        let mark = state.nodes().mark();
        state.apply(Time::ZERO, Event::is(bound("one", 2)));
        assert_ne!(state.nodes().mark(), mark);
    }

    #[test]
    fn the_nodes_mark_is_the_same_when_a_pod_was_only_tried() {
        let mut state = with_bound(bound("one", 1));
        let waits = pod("waits", None, 1);
        let key = waits.key.clone();
        state.apply(Time::ZERO, Event::is(waits));
        let (mark, node) = (state.nodes().mark(), state.nodes().find("n").unwrap());
        let id = state.find_pod(&key).unwrap();
        state.assume(id, node);
        assert_ne!(state.nodes().mark(), mark);
        state.unassume(id);
        assert_eq!(state.nodes().mark(), mark);
    }
}
