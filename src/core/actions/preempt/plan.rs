//! The plan: who goes, and where the gang's members go then.
//!
//! Least harm first, until the gang's [`Demand`] fits; then whoever is not in the way after all is
//! put back, the most harm first.

use super::victims::Unit;
use crate::actions::Cycle;
use crate::framework::Profile;
use crate::placement::Demand;
use crate::placement::Placer;
use crate::plugins::keeps_apart;
use crate::state::{ClusterState, GangId, NodeId, PodId, QueryId, Shape, Standing};
use crate::transaction::Statement;
use std::collections::BTreeSet;

/// How many victims, the most harm first, are tried to be spared by placing the gang elsewhere: those
/// after them are only spared where they are not in the way.
const TRIES: usize = 32;

/// Who goes, and where the gang's members go then.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) victims: Vec<Unit>,
    pub(super) places: Vec<(PodId, NodeId)>,
}

/// Why there is no plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoPlan {
    /// The gang would not fit if all went who may: that is a proof.
    Impossible,
    /// The search does not look at all there is: it may have missed one.
    CutShort,
}

/// The plan that was made for a gang before, as long as those leave who are to, and its members have room
/// where it is held for them then. Who made a new one whenever anything changes would have others, whose
/// place is reserved around this one, move theirs, and so on.
pub(super) fn that_stands(
    cx: &mut Cycle<'_>,
    gang_id: GangId,
    leaving: &BTreeSet<PodId>,
) -> Option<Plan> {
    let places = cx.state.nominations(gang_id);
    let waits = |(pod, _): &(PodId, NodeId)| {
        let pod = cx.state.pod(*pod);
        pod.is_some_and(|pod| cx.state.standing(pod) == Standing::Pending)
    };
    let missing = cx.state[gang_id].missing() as usize;
    if leaving.is_empty() || places.len() != missing || !places.iter().all(waits) {
        return None;
    }
    let profile = cx.profile_of(gang_id);
    let mut statement = Statement::new(cx.state);
    statement.lift_nominations(gang_id);
    leaving.iter().for_each(|pod| statement.lift(*pod));
    for (pod, node) in &places {
        let state = statement.state();
        if !cx.placer.fits(state, profile, *pod, *node) {
            return None;
        }
        statement.assume(*pod, *node);
    }
    Some(Plan {
        victims: Vec::new(),
        places,
    })
}

/// Finds the least harm that makes room for the gang.
pub(super) fn find(
    cx: &mut Cycle<'_>,
    gang_id: GangId,
    leaving: &BTreeSet<PodId>,
    units: &[Unit],
) -> Result<Plan, NoPlan> {
    let demand = Demand::minimum(cx.state, gang_id);
    let others = without_company(cx.state, &demand, units);
    let (all, units) = (units.len(), others.as_deref().unwrap_or(units));
    let mut shapes = demand
        .shapes()
        .filter_map(|(shape, _)| cx.state.shapes().get(shape));
    let is_spread = shapes.any(|shape| !shape.spread.is_empty());
    let profile = cx.profile_of(gang_id);
    let mut statement = Statement::new(cx.state);
    statement.lift_nominations(gang_id);
    leaving.iter().for_each(|pod| statement.lift(*pod));
    let mut search = Search {
        statement,
        placer: &mut *cx.placer,
        profile,
        gang_id,
        demand: &demand,
        units,
        lifted: 0,
    };
    let Some(enough) = search.enough() else {
        // Equal members are placed one by one without a choice that matters: what they do not find
        // is not there. Of different ones some other order might do; and where members are spread, some
        // who stay may be of use.
        let all_were_tried = units.len() == all && (!is_spread || all == 0);
        return Err(if demand.is_uniform() && all_were_tried {
            NoPlan::Impossible
        } else {
            NoPlan::CutShort
        });
    };
    search.choose(enough).ok_or(NoPlan::CutShort)
}

/// Who may go of these, where some are those beside whom the gang wants to be: without them there would
/// be no place for it. `None` where that is nobody.
fn without_company(state: &ClusterState, demand: &Demand, units: &[Unit]) -> Option<Vec<Unit>> {
    let shapes = demand
        .shapes()
        .filter_map(|(shape, _)| state.shapes().get(shape));
    let rules = shapes.filter_map(|shape| shape.rules.as_deref());
    let near = rules.filter_map(|rules| rules.near.as_ref());
    let wanted: BTreeSet<QueryId> = near.map(|near| near.query).collect();
    if wanted.is_empty() {
        return None;
    }
    let is_wanted = |pod: &PodId| {
        let shape = state.shape_of(*pod);
        let rules = shape.and_then(|shape| shape.rules.as_deref());
        rules.is_some_and(|rules| wanted.iter().any(|query| rules.is_counted_in(*query)))
    };
    let others = units.iter().filter(|unit| !unit.pods.iter().any(is_wanted));
    Some(others.cloned().collect())
}

/// The cluster without some of those who may go: always the first so many.
struct Search<'s, 'a> {
    statement: Statement<'s>,
    placer: &'a mut Placer,
    profile: &'a Profile,
    gang_id: GangId,
    demand: &'a Demand,
    units: &'a [Unit],
    lifted: usize,
}

impl Search<'_, '_> {
    /// The smallest number of units without which the gang fits.
    fn enough(&mut self) -> Option<usize> {
        if self.fits_without(0) {
            return Some(0);
        }
        if !self.fits_without(self.units.len()) {
            return None;
        }
        // More room is never worse: the smallest number that is enough is found by halving.
        let (mut few, mut enough) = (0, self.units.len());
        while few + 1 < enough {
            let middle = few + (enough - few) / 2;
            if self.fits_without(middle) {
                enough = middle;
            } else {
                few = middle;
            }
        }
        Some(enough)
    }

    fn fits_without(&mut self, count: usize) -> bool {
        self.lift_first(count);
        let mark = self.statement.checkpoint();
        let fits = self.place();
        self.statement.roll_back(mark);
        fits
    }

    /// Thinks away the first so many units, and no others.
    fn lift_first(&mut self, count: usize) {
        while self.lifted < count {
            for pod in &self.units[self.lifted].pods {
                self.statement.lift(*pod);
            }
            self.lifted += 1;
        }
        while self.lifted > count {
            self.lifted -= 1;
            let units = self.units;
            self.put_back(&units[self.lifted]);
        }
    }

    fn place(&mut self) -> bool {
        let statement = &mut self.statement;
        self.placer
            .can_place(statement, self.profile, self.gang_id, self.demand)
    }

    fn places(&self) -> Vec<(PodId, NodeId)> {
        let assumed = self.statement.assumed();
        assumed.map(|step| (step.pod, step.node)).collect()
    }

    /// Chooses among the first so many units: whoever is not in the way of the members as they are
    /// placed is put back, the most harm first; and so is who would not be if they were placed anew.
    fn choose(mut self, enough: usize) -> Option<Plan> {
        self.lift_first(enough);
        let mut empty = self.statement.checkpoint();
        if !self.place() {
            return None;
        }
        let mut places = self.places();
        let mut asking = who_asks(self.statement.state(), self.profile, &places);
        let (mut victims, mut gone) = (Vec::new(), BTreeSet::new());
        // Who was put back since the members were placed.
        let mut back: Vec<&Unit> = Vec::new();
        let mut tries = TRIES;
        let units = self.units;
        for unit in units[..enough].iter().rev() {
            // The surplus of a gang that goes as a whole goes with it.
            let goes_along = gone.contains(&unit.gang);
            if !goes_along && self.put_back_if_room(unit, &asking) {
                back.push(unit);
                continue;
            }
            if !goes_along && tries > 0 {
                tries -= 1;
                self.statement.roll_back(empty);
                back.drain(..).for_each(|unit| self.put_back(unit));
                let without = self.statement.checkpoint();
                self.put_back(unit);
                empty = self.statement.checkpoint();
                if self.place() {
                    places = self.places();
                    asking = who_asks(self.statement.state(), self.profile, &places);
                    continue;
                }
                self.statement.roll_back(without);
                empty = without;
                for (pod, node) in &places {
                    self.statement.assume(*pod, *node);
                }
            }
            if unit.whole {
                gone.insert(unit.gang);
            }
            victims.push(unit.clone());
        }
        victims.reverse();
        Some(Plan { victims, places })
    }

    fn put_back(&mut self, unit: &Unit) {
        for pod in &unit.pods {
            self.statement.put_back(*pod);
        }
    }

    /// Puts one back who has room still, and who makes no place of the gang's unfit.
    fn put_back_if_room(&mut self, unit: &Unit, asking: &[(PodId, NodeId)]) -> bool {
        let before = self.statement.checkpoint();
        for pod in &unit.pods {
            if !has_room_for(self.statement.state(), *pod) {
                self.statement.roll_back(before);
                return false;
            }
            self.statement.put_back(*pod);
        }
        if !still_suit(&mut self.statement, self.placer, self.profile, asking) {
            self.statement.roll_back(before);
            return false;
        }
        true
    }
}

/// Those of some who were placed whose place depends on more than what is free there.
pub(in crate::actions) fn who_asks(
    state: &ClusterState,
    profile: &Profile,
    places: &[(PodId, NodeId)],
) -> Vec<(PodId, NodeId)> {
    let asks = |(pod, _): &&(PodId, NodeId)| {
        let shape = state.shape_of(*pod);
        shape.is_some_and(|shape| !profile.decides_by_amounts(shape))
    };
    places.iter().filter(asks).copied().collect()
}

/// Whether the places of some who were placed suit them still, now that others are back.
pub(in crate::actions) fn still_suit(
    statement: &mut Statement<'_>,
    placer: &mut Placer,
    profile: &Profile,
    places: &[(PodId, NodeId)],
) -> bool {
    let mark = statement.checkpoint();
    places.iter().all(|(pod, node)| {
        // Nobody is in his own way.
        statement.lift(*pod);
        let fits = placer.fits(statement.state(), profile, *pod, *node);
        statement.roll_back(mark);
        fits
    })
}

/// Whether a pod that was thought away still has room on its node.
fn has_room_for(state: &ClusterState, id: PodId) -> bool {
    let Some(pod) = state.pod(id) else {
        return false;
    };
    if !pod.lifted {
        return true;
    }
    pod.place
        .node()
        .is_some_and(|node| has_room_on(state, id, node))
}

/// Whether the volumes of pods like this one cannot be on a node beside what is there.
fn volumes_conflict(state: &ClusterState, shape: &Shape, node: NodeId) -> bool {
    shape.volumes.as_ref().is_some_and(|needs| {
        let attachable = state.volumes_attachable(needs, node).unwrap_or(1);
        let in_use = |claim| state.volumes().is_in_use(claim);
        state.disks_conflict(needs, node) || attachable == 0 || needs.alone.iter().any(in_use)
    })
}

/// Whether a pod has room on a node on which it was before.
pub(in crate::actions) fn has_room_on(state: &ClusterState, id: PodId, node: NodeId) -> bool {
    let Some(shape) = state.shape_of(id) else {
        return false;
    };
    let nodes = state.nodes();
    let taken = nodes.ports(node);
    let conflict = |wanted| taken.iter().any(|(port, _)| port.conflicts(wanted));
    let mut amounts = shape.request.iter();
    amounts.all(|(dimension, amount)| nodes.free(node, dimension) >= amount)
        && !shape.ports.iter().any(conflict)
        && !keeps_apart(state, shape, node)
        && !volumes_conflict(state, shape, node)
}
