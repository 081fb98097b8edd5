//! Who asks for resources that no node has. They have no number of their own, for whoever may create pods invents as
//! many names as he likes; and when a node comes that has one of them, who asks for it asks for that.

use super::ClusterState;
use super::gangs::Gang;
use super::ids::{GangId, PodId};
use muster_model::resources::{Dimension, Request};
use std::collections::BTreeSet;

/// Who asks for what is not known.
#[derive(Clone, Debug, Default)]
pub(super) struct Unknown {
    pub(super) pods: BTreeSet<PodId>,
    /// By their `minResources`.
    pub(super) gangs: BTreeSet<GangId>,
}

impl ClusterState {
    /// Notes whether a pod asks for a resource that no node has.
    pub(super) fn note_unknown(&mut self, id: PodId) {
        let shape = self.shape_of(id);
        if shape.is_some_and(|shape| !shape.unknown.is_empty()) {
            self.unknown.pods.insert(id);
        } else {
            self.unknown.pods.remove(&id);
        }
    }

    /// What `minResources` of a gang ask for.
    pub(super) fn asked_by(&mut self, id: GangId, amounts: &[(String, i64)]) -> Request {
        self.unknown.gangs.remove(&id);
        let checked = amounts.iter();
        let checked = checked.filter(|(name, _)| self.dimensions.is_checked(name));
        let asked: Vec<_> = checked
            .map(|(name, amount)| {
                let known = self.dimensions.get(name);
                (known.unwrap_or(Dimension::NOWHERE), *amount)
            })
            .collect();
        if asked.iter().any(|(one, _)| *one == Dimension::NOWHERE) {
            self.unknown.gangs.insert(id);
        }
        Request::new(asked)
    }

    /// What an administrator provides: each resource has its number from now on.
    pub(super) fn provided(&mut self, amounts: &[(String, i64)]) -> Request {
        let before = self.dimensions.len();
        let dimensions = &mut self.dimensions;
        let known = |(name, amount): &(String, i64)| {
            let checked = dimensions.is_checked(name);
            Some((checked.then(|| dimensions.register(name))??, *amount))
        };
        let request = Request::new(amounts.iter().filter_map(known).collect::<Vec<_>>());
        self.know_more_resources(before);
        request
    }

    /// Has those ask for it who ask for a resource that is known by now; so many were before.
    pub(super) fn know_more_resources(&mut self, before: usize) {
        if self.dimensions.len() == before {
            return;
        }
        let is_new = |one: &(String, i64)| {
            let known = self.dimensions.get(&one.0);
            known.is_some_and(|dimension| dimension.index() >= before)
        };
        let pods = self.unknown.pods.iter().filter(|id| {
            let shape = self.shape_of(**id);
            shape.is_some_and(|shape| shape.unknown.iter().any(is_new))
        });
        let gangs = self.unknown.gangs.iter().filter(|id| {
            let definition = self.gang(**id).and_then(Gang::definition);
            definition.is_some_and(|spec| spec.min_resources.iter().any(is_new))
        });
        let (pods, gangs): (Vec<PodId>, Vec<GangId>) =
            (pods.copied().collect(), gangs.copied().collect());
        for id in pods {
            self.know_resources_of(id);
        }
        for id in gangs {
            self.redefine(id);
        }
    }

    fn know_resources_of(&mut self, id: PodId) {
        let before = self.footprint(id);
        let Some(old) = self.pods.get(id).map(|pod| pod.shape) else {
            return;
        };
        let gang = self.pods.get(id).and_then(|pod| pod.gang);
        if let Some((node, _)) = before.and_then(|before| before.room) {
            self.nodes.hold(node);
        }
        self.leave_room(id);
        self.leave_gang(id);
        self.list_for_queries(id, false);
        let shape = self.shapes.with_known(old, &self.dimensions);
        self.editions += 1;
        if let Some(pod) = self.pods.get_mut(id) {
            pod.shape = shape;
            pod.edition = self.editions;
        }
        self.list_for_queries(id, true);
        self.take_room(id);
        self.nodes.let_go();
        if let Some(gang) = gang {
            self.join_gang(id, gang, Some(gang));
        }
        self.note_unknown(id);
        self.compare(id, before, true);
    }
}
