//! Pods in their gangs: joining, leaving, and what they count as there.

use super::ids::{GangId, NodeId, PodId};
use super::pods::{Place, Pod, Standing};
use super::{ClusterState, Counts, Gang};
use muster_model::GangWants;
use muster_model::units::Time;

impl ClusterState {
    /// What a pod counts as now.
    #[must_use]
    pub fn standing(&self, pod: &Pod) -> Standing {
        pod.standing(|node| self.nodes.is_deleted(node))
    }

    /// Changes a pod while it does not count in its gang, then counts it again.
    pub(super) fn change_in_gang(&mut self, id: PodId, change: impl FnOnce(&mut Pod)) {
        let Some(before) = self.pods.get(id).map(|pod| self.standing(pod)) else {
            return;
        };
        let Some(pod) = self.pods.get_mut(id) else {
            return;
        };
        change(pod);
        let Some(after) = self.pods.get(id).map(|pod| self.standing(pod)) else {
            return;
        };
        self.recount(id, before, after);
    }

    /// Moves a pod from one standing to another in its gang's counts.
    pub(super) fn recount(&mut self, id: PodId, before: Standing, after: Standing) {
        let Some(pod) = self.pods.get(id) else { return };
        let Some(gang_id) = pod.gang else { return };
        let Some(gang) = self.gangs.get_mut(gang_id) else {
            return;
        };
        let counts = counts_of(gang, pod.subgroup);
        counts.subtract(before);
        counts.add(after);
        if after == Standing::Pending {
            gang.pending.insert(id, pod);
        } else if before == Standing::Pending {
            gang.pending.remove(id);
        }
        if before != after {
            self.touch(gang_id);
        }
    }

    /// Makes a pod a member of a gang; `before` is the gang it left for that.
    pub(super) fn join_gang(&mut self, id: PodId, gang_id: GangId, before: Option<GangId>) {
        let Some(gang) = self.gangs.get_mut(gang_id) else {
            return;
        };
        let Some(pod) = self.pods.get_mut(id) else {
            return;
        };
        pod.gang = Some(gang_id);
        pod.subgroup = gang.subgroup_of(pod.facts.subgroup_label.as_deref());
        gang.submitted_at(pod.created);
        let wants = gang.wants(pod.subgroup);
        self.narrow_shape(id, wants);
        let Some((gang, pod)) = self.gangs.get_mut(gang_id).zip(self.pods.get(id)) else {
            return;
        };
        let standing = pod.standing(|node| self.nodes.is_deleted(node));
        gang.members.insert(id);
        gang.joined += u64::from(before != Some(gang_id));
        if standing == Standing::Pending {
            gang.pending.insert(id, pod);
        }
        counts_of(gang, pod.subgroup).add(standing);
        self.charge(id, true);
    }

    /// Gives a pod the shape that it has in its gang.
    fn narrow_shape(&mut self, id: PodId, gang: GangWants) {
        let Some(pod) = self.pods.get(id) else { return };
        let (before, room) = (pod.shape, pod.room());
        let was_exclusive = self.shapes.get(before);
        let was_exclusive = was_exclusive.is_some_and(|shape| self.shapes.is_exclusive(shape));
        let exclusive = gang.housemates.as_ref().is_some_and(|one| one.exclusive);
        if let Some(node) = room.filter(|_| was_exclusive != exclusive) {
            self.nodes.set_exclusive(node, exclusive);
            // Others may come now, if it wanted its node for its gang before.
            self.changes.nodes.insert(node);
        }
        let shape = self.shapes.narrow(before, gang);
        if let Some(pod) = self.pods.get_mut(id) {
            pod.shape = shape;
        }
    }

    /// Takes a pod out of its gang; the gang stays even if it was the last.
    pub(super) fn leave_gang(&mut self, id: PodId) {
        self.charge(id, false);
        let Some(pod) = self.pods.get(id) else { return };
        let (standing, subgroup) = (self.standing(pod), pod.subgroup);
        let Some(gang_id) = pod.gang else { return };
        let Some(gang) = self.gangs.get_mut(gang_id) else {
            return;
        };
        gang.members.remove(&id);
        gang.pending.remove(id);
        counts_of(gang, subgroup).subtract(standing);
        if let Some(pod) = self.pods.get_mut(id) {
            pod.gang = None;
        }
    }

    /// Adds what a pod uses to its gang's sum, or takes it off.
    pub(super) fn charge(&mut self, id: PodId, more: bool) {
        let Some(pod) = self.pods.get(id).filter(|pod| pod.room().is_some()) else {
            return;
        };
        let Some(gang_id) = pod.gang else { return };
        let nominated = pod.is_only_nominated();
        let (subgroup, rank, node) = (pod.subgroup, pod.facts.rank, pod.place.node());
        let shape = self.shapes.get(pod.shape);
        let Some((gang, shape)) = self.gangs.get_mut(gang_id).zip(shape) else {
            return;
        };
        if more {
            gang.in_use.add(&shape.request);
            gang.holding += 1;
            self.held += 1;
        } else {
            gang.in_use.subtract(&shape.request);
            gang.holding -= 1;
            self.held -= 1;
        }
        if !gang.is_single()
            && let Some((node, subgroup)) = node.zip(subgroup)
            && let Some(subgroup) = gang.subgroups.get_mut(subgroup)
        {
            subgroup.count_on(node, more);
            if let Some(rank) = rank {
                subgroup.count_in_line(rank, id, node, more);
            }
        }
        if let Some((queue, lifetime)) = gang.account {
            self.queues
                .count(queue, lifetime, &shape.request, nominated, more);
        }
    }

    /// Counts the pods of a node anew in their gangs: a pod on a deleted node is leaving.
    pub(super) fn node_came_or_went(&mut self, node: NodeId, came: bool) {
        for pod_id in self.nodes.pods(node).to_vec() {
            let Some(pod) = self.pods.get(pod_id) else {
                continue;
            };
            let before = pod.standing(|_| came);
            let after = pod.standing(|_| !came);
            if before == after {
                continue;
            }
            self.recount(pod_id, before, after);
            if !came {
                let what = format!("was on node {}, which is gone", self.nodes.name(node));
                self.note_loss(pod_id, before, what);
            }
        }
    }

    /// Notes that a member which stood so before is lost, if it was one that counted.
    pub(super) fn note_loss(&mut self, id: PodId, before: Standing, what: impl Into<String>) {
        if !matches!(
            before,
            Standing::Assumed | Standing::Bound | Standing::Running
        ) {
            return;
        }
        let Some(pod) = self.pods.get(id) else { return };
        if let Some(gang) = pod.gang.and_then(|gang| self.gangs.get_mut(gang)) {
            gang.note_loss(&pod.key.name, what);
        }
    }

    /// The gang is whole again, or starts anew: what it lost is forgotten.
    pub fn forget_loss(&mut self, gang: GangId) {
        if let Some(gang) = self.gangs.get_mut(gang) {
            gang.loss = None;
        }
    }

    /// Notes that the API confirmed a bind of a member.
    pub(super) fn note_advance(&mut self, id: PodId) {
        let now = self.now;
        let gang = self.pods.get(id).and_then(|pod| pod.gang);
        let Some(id) = gang else { return };
        if let Some(gang) = self.gangs.get_mut(id) {
            gang.advanced_at = Some(now);
            self.note_had(id);
        }
    }

    /// Notes when a member was bound that holds a node. What its clock says of the future is now. When its
    /// gang's lifetime ends may be otherwise than it was.
    pub(super) fn note_start(&mut self, id: PodId, bound_at: Option<Time>) {
        let (Some(pod), Some(at)) = (self.pods.get(id), bound_at) else {
            return;
        };
        if !pod.holds_node() {
            return;
        }
        let at = at.min(self.now);
        let Some(id) = pod.gang else { return };
        let Some(gang) = self.gangs.get_mut(id) else {
            return;
        };
        if gang.started_at.is_none_or(|known| at < known) {
            gang.started_at = Some(at);
            self.touch(id);
        }
    }

    /// The gang holds nothing any more: it starts anew.
    pub fn forget_start(&mut self, gang: GangId) {
        if let Some(gang) = self.gangs.get_mut(gang) {
            gang.started_at = None;
        }
    }

    /// Members whose bind is on its way.
    #[must_use]
    pub fn assumed_members(&self, gang: &Gang) -> Vec<PodId> {
        let assumed = |id: &PodId| {
            let place = self.pods.get(*id).map(|pod| pod.place);
            matches!(place, Some(Place::Assumed(_)))
        };
        gang.members.iter().copied().filter(assumed).collect()
    }
}

/// The counts that a member of this subgroup is in.
pub(super) fn counts_of(gang: &mut Gang, subgroup: Option<usize>) -> &mut Counts {
    match subgroup.and_then(|index| gang.subgroups.get_mut(index)) {
        Some(subgroup) => &mut subgroup.counts,
        None => &mut gang.strays,
    }
}
