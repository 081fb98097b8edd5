//! Who asks for resources that no node has. They have no number of their own, for whoever may create pods invents as
//! many names as he likes; and when a node comes that has one of them, who asks for it asks for that.
//!
//! A number whose resource no node has any more, and no Queue and no Testbed names, is given to another when there is
//! none left for it.

use super::ClusterState;
use super::gangs::Gang;
use super::ids::{GangId, PodId, ShapeId};
use super::shapes::Shapes;
use muster_model::resources::{Dimension, Dimensions, Request};
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
        self.find_numbers_for(amounts.iter().map(|(name, _)| name));
        let dimensions = &mut self.dimensions;
        let known = |(name, amount): &(String, i64)| {
            let checked = dimensions.is_checked(name);
            Some((checked.then(|| dimensions.register(name))??, *amount))
        };
        let request = Request::new(amounts.iter().filter_map(known).collect::<Vec<_>>());
        self.know_more_resources();
        request
    }

    /// Has those ask for it who ask for a resource that is known by now and was not before.
    pub(super) fn know_more_resources(&mut self) {
        let new: Vec<Dimension> = self.dimensions.take_new().collect();
        if new.is_empty() {
            return;
        }
        let is_new = |one: &(String, i64)| {
            let known = self.dimensions.get(&one.0);
            known.is_some_and(|dimension| new.contains(&dimension))
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
            self.give_shape(id, Shapes::with_known);
        }
        for id in gangs {
            self.redefine(id);
        }
    }

    /// Has numbers ready for these resources, as far as others have one that nobody provides any more.
    pub(super) fn find_numbers_for<'a>(&mut self, names: impl Iterator<Item = &'a String>) {
        for name in names {
            if !self.dimensions.has_no_number_for(name) {
                continue;
            }
            match self.find_number() {
                Some(dimension) => self.dimensions.reuse(dimension, name),
                None => return,
            }
        }
    }

    /// A number in which nothing counts: of a resource that nobody provides, which from then on is unknown.
    fn find_number(&mut self) -> Option<Dimension> {
        let provided = self.nodes.named() | self.queues.named() | self.slots.named();
        let unprovided: Vec<Dimension> = self
            .dimensions
            .iter()
            .filter(|one| !one.is_core() && provided & 1 << one.index() == 0)
            .collect();
        let found = unprovided.into_iter().find(|one| {
            if !self.dimensions.is_nameless(*one) {
                self.unlearn(*one);
            }
            // Room that is held or kept in it may be left, or a charge.
            !self.nodes.knows(*one) && !self.queues.counts_in(*one)
        })?;
        self.queues.forget(found);
        Some(found)
    }

    /// Nobody provides it any more: who asks for it asks for what no node has.
    fn unlearn(&mut self, dimension: Dimension) {
        let asks = |request: &Request| request.get(dimension) > 0;
        let pods = self.pods.iter().filter(|(id, _)| {
            let shape = self.shape_of(*id);
            shape.is_some_and(|shape| asks(&shape.request))
        });
        let pods: Vec<PodId> = pods.map(|(id, _)| id).collect();
        let gangs = self.gangs.iter();
        let gangs = gangs.filter(|(_, gang)| asks(&gang.min_resources));
        let gangs: Vec<GangId> = gangs.map(|(id, _)| id).collect();
        self.dimensions.take_number(dimension);
        for id in pods {
            self.give_shape(id, Shapes::without_nameless);
        }
        for id in gangs {
            self.redefine(id);
        }
    }

    /// A pod comes to have another shape, which takes over the user of the one it has.
    pub(super) fn give_shape(
        &mut self,
        id: PodId,
        by: impl FnOnce(&mut Shapes, ShapeId, &Dimensions) -> ShapeId,
    ) {
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
        let shape = by(&mut self.shapes, old, &self.dimensions);
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
