//! Pod shapes and node constraints, each kept once.
//!
//! A gang of a thousand equal pods has one shape, and shapes that differ only in their requests
//! share their constraints: what is worked out for one holds for all.

use super::ids::{ConstraintsId, ShapeId, SpreadId};
use super::interner::{Gone, Interner};
use super::pod_counts::Rules;
use super::spreads::Spreads;
use muster_model::resources::{Dimension, Dimensions, Request};
use muster_model::{
    Amounts, Constraints, DefaultSpread, GangWants, HostPort, Preferences, ProfileId, ShapeSpec,
    SlotClaim, SpreadRule, VolumeNeeds,
};
use std::sync::Arc;

/// What pods of one shape need.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// What they request, with one of `pods`.
    pub request: Request,
    /// What they request besides, of what somebody else looks after, by name.
    pub unchecked: Amounts,
    /// What they request that no node has, by name; of [`Dimension::NOWHERE`] the sum.
    pub unknown: Amounts,
    /// Which nodes they allow.
    pub constraints: ConstraintsId,
    /// The host ports they take.
    pub ports: Vec<HostPort>,
    /// What they have to do with other pods; `None` for those about which nobody asks, and who ask
    /// about nobody.
    pub rules: Option<Arc<Rules>>,
    /// By which rules they are spread over domains, in their order.
    pub spread: Vec<SpreadId>,
    /// By which rules they are spread as far as that goes, in their order.
    pub preferred_spread: Vec<SpreadId>,
    /// What their volumes ask of the node, as in the constraints.
    pub volumes: Option<Arc<VolumeNeeds>>,
    /// What scores look at besides.
    pub preferences: Preferences,
    /// On which slots alone they may run.
    pub claim: Option<Arc<SlotClaim>>,
}

/// A shape apart from its constraints.
struct Rest {
    request: Request,
    unchecked: Amounts,
    unknown: Amounts,
    ports: Vec<HostPort>,
    rules: Option<Arc<Rules>>,
    spread: Vec<SpreadRule>,
    preferences: Preferences,
    claim: Option<Arc<SlotClaim>>,
}

impl Shape {
    /// What they request that has no number.
    pub fn by_name(&self) -> impl Iterator<Item = &(String, i64)> {
        self.unchecked.iter().chain(&self.unknown)
    }

    /// Whether any of the devices that only some nodes have is asked for.
    #[must_use]
    pub fn asks_for_devices(&self, dimensions: &Dimensions) -> bool {
        let mut asked = self.request.iter();
        asked.any(|(one, _)| dimensions.is_device(one))
    }
}

/// All shapes in use.
#[derive(Clone, Debug, Default)]
pub struct Shapes {
    shapes: Interner<ShapeId, Shape>,
    constraints: Interner<ConstraintsId, Constraints>,
    spreads: Spreads,
}

impl Shapes {
    /// The id of a shape, with one more user; and a resource for which the registry has no room.
    pub fn acquire(
        &mut self,
        spec: &ShapeSpec,
        rules: Option<Arc<Rules>>,
        dimensions: &Dimensions,
    ) -> (ShapeId, Option<String>) {
        let mut left_out = None;
        let mut amounts = vec![(Dimension::PODS, 1)];
        let (mut unchecked, mut unknown) = (spec.ignored.clone(), Amounts::new());
        for (name, amount) in spec.requests.iter().filter(|(_, amount)| *amount > 0) {
            if !dimensions.is_checked(name) {
                unchecked.push((name.clone(), *amount));
                continue;
            }
            if dimensions.is_left_out(name) {
                left_out = Some(name.clone());
            } else if let Some(dimension) = dimensions.get(name) {
                amounts.push((dimension, *amount));
            } else {
                amounts.push((Dimension::NOWHERE, *amount));
                unknown.push((name.clone(), *amount));
            }
        }
        let rest = Rest {
            request: Request::new(amounts),
            unchecked,
            unknown,
            ports: spec.host_ports.clone(),
            rules,
            spread: spec.spread.clone(),
            preferences: spec.preferences.clone(),
            claim: spec.claim.clone(),
        };
        (self.intern(&spec.constraints, rest), left_out)
    }

    /// The id of a shape with what is known of resources by now; it takes over the user of the other.
    pub(super) fn with_known(&mut self, id: ShapeId, dimensions: &Dimensions) -> ShapeId {
        let Some(shape) = self.get(id) else { return id };
        let Some(constraints) = self.constraints(shape.constraints).cloned() else {
            return id;
        };
        let mut rest = self.rest_of(shape);
        let is_known = |(name, _): &mut (String, i64)| dimensions.get(name).is_some();
        let known: Vec<_> = rest.unknown.extract_if(.., is_known).collect();
        if known.is_empty() {
            return id;
        }
        let before = rest.request.iter();
        let before = before.filter(|(one, _)| *one != Dimension::NOWHERE);
        let known = known.iter();
        let known = known.filter_map(|(name, amount)| Some((dimensions.get(name)?, *amount)));
        let unknown = rest.unknown.iter();
        let unknown = unknown.map(|(_, amount)| (Dimension::NOWHERE, *amount));
        rest.request = Request::new(before.chain(known).chain(unknown).collect::<Vec<_>>());
        let other = self.intern(&constraints, rest);
        self.release(id);
        other
    }

    /// The id of a shape without what has no number any more; it takes over the user of the other.
    pub(super) fn without_nameless(&mut self, id: ShapeId, dimensions: &Dimensions) -> ShapeId {
        let Some(shape) = self.get(id) else { return id };
        let Some(constraints) = self.constraints(shape.constraints).cloned() else {
            return id;
        };
        let mut rest = self.rest_of(shape);
        let (nameless, named): (Vec<_>, Vec<_>) = rest
            .request
            .iter()
            .filter(|(one, _)| *one != Dimension::NOWHERE)
            .partition(|(one, _)| dimensions.is_nameless(*one));
        if nameless.is_empty() {
            return id;
        }
        let nameless = nameless.into_iter();
        let nameless = nameless.map(|(one, amount)| (dimensions.name(one).to_owned(), amount));
        rest.unknown.extend(nameless);
        rest.unknown.sort_unstable();
        let unknown = rest.unknown.iter();
        let unknown = unknown.map(|(_, amount)| (Dimension::NOWHERE, *amount));
        rest.request = Request::new(named.into_iter().chain(unknown).collect::<Vec<_>>());
        let other = self.intern(&constraints, rest);
        self.release(id);
        other
    }

    /// The id of a shape with what its pod's gang wants; it takes over the user of the other.
    pub fn narrow(&mut self, id: ShapeId, gang: GangWants) -> ShapeId {
        let Some(shape) = self.get(id) else { return id };
        let Some(constraints) = self.constraints(shape.constraints) else {
            return id;
        };
        if constraints.gang == gang {
            return id;
        }
        let constraints = Constraints {
            gang,
            ..constraints.clone()
        };
        let rest = self.rest_of(shape);
        let narrowed = self.intern(&constraints, rest);
        self.release(id);
        narrowed
    }

    /// The id of a shape with other rules about pods; it takes over the user of the other.
    pub(super) fn with_rules(&mut self, id: ShapeId, rules: Option<Arc<Rules>>) -> ShapeId {
        let Some(shape) = self.get(id).filter(|shape| shape.rules != rules) else {
            return id;
        };
        let Some(constraints) = self.constraints(shape.constraints).cloned() else {
            return id;
        };
        let rest = Rest {
            rules,
            ..self.rest_of(shape)
        };
        let other = self.intern(&constraints, rest);
        self.release(id);
        other
    }

    /// The id of a shape with other rules that spread its pods; it takes over the user of the other.
    pub(super) fn with_spread(&mut self, id: ShapeId, rules: &DefaultSpread) -> ShapeId {
        let Some(shape) = self.get(id) else { return id };
        let rest = self.rest_of(shape);
        if rest.spread == rules.required && rest.preferences.spread == rules.preferred {
            return id;
        }
        let Some(constraints) = self.constraints(shape.constraints).cloned() else {
            return id;
        };
        let rest = Rest {
            spread: rules.required.clone(),
            preferences: Preferences {
                spread: rules.preferred.clone(),
                ..rest.preferences
            },
            ..rest
        };
        let other = self.intern(&constraints, rest);
        self.release(id);
        other
    }

    /// By which rules pods of a shape are spread.
    pub(super) fn spread_of(&self, shape: &Shape) -> DefaultSpread {
        let required = shape.spread.iter().filter_map(|id| self.spreads.rule(*id));
        DefaultSpread {
            required: required.cloned().collect(),
            preferred: shape.preferences.spread.clone(),
        }
    }

    /// The id of a shape with what its pod's volumes ask for; it takes over the user of the other.
    pub fn with_volumes(&mut self, id: ShapeId, volumes: Option<Arc<VolumeNeeds>>) -> ShapeId {
        let Some(shape) = self.get(id).filter(|one| one.volumes != volumes) else {
            return id;
        };
        let Some(constraints) = self.constraints(shape.constraints) else {
            return id;
        };
        let constraints = Constraints {
            volumes,
            ..constraints.clone()
        };
        let rest = self.rest_of(shape);
        let other = self.intern(&constraints, rest);
        self.release(id);
        other
    }

    fn rest_of(&self, shape: &Shape) -> Rest {
        let spread = shape.spread.iter().filter_map(|id| self.spreads.rule(*id));
        Rest {
            request: shape.request.clone(),
            unchecked: shape.unchecked.clone(),
            unknown: shape.unknown.clone(),
            ports: shape.ports.clone(),
            rules: shape.rules.clone(),
            spread: spread.cloned().collect(),
            preferences: shape.preferences.clone(),
            claim: shape.claim.clone(),
        }
    }

    fn intern(&mut self, constraints: &Constraints, rest: Rest) -> ShapeId {
        let volumes = constraints.volumes.clone();
        let (constraints, _) = self.constraints.acquire(constraints);
        let shape = Shape {
            request: rest.request,
            unchecked: rest.unchecked,
            unknown: rest.unknown,
            constraints,
            ports: rest.ports,
            rules: rest.rules,
            spread: self.spreads.acquire(&rest.spread, constraints, true),
            preferred_spread: self
                .spreads
                .acquire(&rest.preferences.spread, constraints, false),
            volumes,
            preferences: rest.preferences,
            claim: rest.claim,
        };
        let (id, shape_is_new) = self.shapes.acquire(&shape);
        if !shape_is_new {
            self.release_parts(&shape);
        }
        id
    }

    fn release_parts(&mut self, shape: &Shape) {
        self.constraints.release(shape.constraints);
        let spread = shape.spread.iter().chain(&shape.preferred_spread);
        spread.for_each(|id| self.spreads.release(*id));
    }

    /// One user of a shape less.
    pub fn release(&mut self, id: ShapeId) {
        if let Some(shape) = self.shapes.release(id) {
            self.release_parts(&shape);
        }
    }

    /// The shape of an id.
    #[must_use]
    pub fn get(&self, id: ShapeId) -> Option<&Shape> {
        self.shapes.get(id)
    }

    /// A number that no other shape has or will have: ids are given out again.
    #[must_use]
    pub fn serial(&self, id: ShapeId) -> Option<u64> {
        self.shapes.serial(id)
    }

    /// The same of constraints.
    #[must_use]
    pub fn constraints_serial(&self, id: ConstraintsId) -> Option<u64> {
        self.constraints.serial(id)
    }

    /// The serial numbers of shapes that nobody has any more, since somebody asked last whose cursor this is.
    pub fn gone_since(&self, cursor: &mut u64) -> Gone<'_> {
        self.shapes.gone_since(cursor)
    }

    /// The same of constraints.
    pub fn constraints_gone_since(&self, cursor: &mut u64) -> Gone<'_> {
        self.constraints.gone_since(cursor)
    }

    /// How many different constraints are in use.
    #[must_use]
    pub fn constraints_len(&self) -> usize {
        self.constraints.len()
    }

    /// The rules by which pods are spread.
    pub(super) const fn spreads(&self) -> &Spreads {
        &self.spreads
    }

    pub(super) const fn spreads_mut(&mut self) -> &mut Spreads {
        &mut self.spreads
    }

    /// The constraints of an id.
    #[must_use]
    pub fn constraints(&self, id: ConstraintsId) -> Option<&Constraints> {
        self.constraints.get(id)
    }

    /// By which profile pods of a shape are scheduled.
    #[must_use]
    pub fn profile(&self, shape: &Shape) -> ProfileId {
        let constraints = self.constraints(shape.constraints);
        constraints.map(|one| one.profile).unwrap_or_default()
    }

    /// Whether pods of a shape want their node for their gang.
    #[must_use]
    pub fn is_exclusive(&self, shape: &Shape) -> bool {
        let constraints = self.constraints(shape.constraints);
        let housemates = constraints.and_then(|one| one.gang.housemates.as_ref());
        housemates.is_some_and(|one| one.exclusive)
    }

    /// How many shapes are in use.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shapes.len()
    }

    /// Whether none is in use.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(cpu: i64) -> ShapeSpec {
        ShapeSpec {
            requests: vec![("cpu".to_owned(), cpu)],
            ..ShapeSpec::default()
        }
    }

    #[test]
    fn equal_shapes_share_an_id_and_all_share_equal_constraints() {
        let (mut shapes, dimensions) = (Shapes::default(), Dimensions::default());
        let (a, _) = shapes.acquire(&spec(1), None, &dimensions);
        let (b, _) = shapes.acquire(&spec(1), None, &dimensions);
        let (c, _) = shapes.acquire(&spec(2), None, &dimensions);
        assert_eq!(a, b);
        assert_ne!(a, c);
        let constraints = |id| shapes.get(id).map(|shape: &Shape| shape.constraints);
        assert_eq!(constraints(a), constraints(c));
    }

    #[test]
    fn a_shape_goes_with_its_last_user() {
        let (mut shapes, dimensions) = (Shapes::default(), Dimensions::default());
        let (a, _) = shapes.acquire(&spec(1), None, &dimensions);
        shapes.acquire(&spec(1), None, &dimensions);
        shapes.release(a);
        assert_eq!(shapes.len(), 1);
        shapes.release(a);
        assert!(shapes.is_empty());
        assert!(shapes.constraints.is_empty());
    }
}
