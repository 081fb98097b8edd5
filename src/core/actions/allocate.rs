//! Giving places: gang by gang in order, each as a whole or not at all.

use super::agenda::Want;
use super::park::{park, park_without_room, want_of};
use super::refresh::queue_or_wait;
use super::{Cycle, admit, finish};
use crate::core::framework::Reason;
use crate::core::model::Why;
use crate::core::placement::{Demand, Diagnosis, Shortage};
use crate::core::state::{ClusterState, GangId, ShapeId};
use crate::core::transaction::Statement;
use std::collections::BTreeMap;

/// A cycle ends after this many placements, so that orders leave and news come in.
const MAX_PLACEMENTS: u64 = 2_000;
/// A cycle ends after this many gangs were tried in vain.
const MAX_ATTEMPTS: u64 = 20_000;

/// What this cycle already knows not to fit: by shape, what came of the smallest gang that was
/// tried. Within a cycle room is only taken, so what did not fit will not.
type Refused = BTreeMap<ShapeId, Known>;

/// What is known of a shape.
struct Known {
    /// The smallest number of members that did not fit.
    size: u32,
    /// Places given in the cycle by then: while there are no more, the counts are right, too.
    as_of: u64,
    /// How many did fit, and what the nodes say to the next one.
    shortage: Shortage,
}

/// Tries all queued gangs in order. Says whether it stopped at its bound with work left.
pub fn allocate(cx: &mut Cycle<'_>) -> bool {
    let mut refused = Refused::new();
    let before = cx.orders.attempts;
    loop {
        for (want, after) in cx.agenda.take_next() {
            cx.agenda.wake(cx.state, want, Some(after));
        }
        let Some(gang) = cx.agenda.first_queued() else {
            return false;
        };
        let bound = cx.orders.placed >= MAX_PLACEMENTS
            || cx.orders.attempts >= before + MAX_ATTEMPTS
            || cx.placer.has_asked_enough();
        if bound {
            return true;
        }
        cx.orders.attempts += 1;
        try_gang(cx, gang, &mut refused);
    }
}

/// Why a gang got no place.
enum Refusal {
    /// Its members do not fit.
    Shortage(Shortage),
    /// Something else that is about this gang alone.
    Own(Why),
}

/// Tries one gang. Leaves it anywhere but in the queue, unless it got something and may grow.
fn try_gang(cx: &mut Cycle<'_>, gang_id: GangId, refused: &mut Refused) {
    cx.orders.seen.insert(gang_id);
    if !cx.agenda.progress(gang_id).admitted {
        if let Err(why) = admit::admit(cx, gang_id) {
            cx.agenda.progress_mut(gang_id).not_admitted = Some(why.clone());
            return park(cx, gang_id, why);
        }
        return queue_or_wait(cx, gang_id);
    }
    let want = want_of(cx, gang_id);
    if let Some(want) = want
        && let Some(known) = refused.get(&want.shape)
        && want.size >= known.size
    {
        let shortage = known.shortage_of(cx, gang_id, want);
        let why = explain(cx.state, gang_id, &shortage);
        return park_without_room(cx, gang_id, Some(want), why);
    }
    match place(cx, gang_id) {
        Ok(()) => cx.agenda.seated(gang_id),
        Err(Refusal::Own(why)) => park(cx, gang_id, why),
        Err(Refusal::Shortage(shortage)) => {
            let why = explain(cx.state, gang_id, &shortage);
            if let Some(Want { shape, size }) = want {
                let as_of = cx.orders.placed;
                let known = Known {
                    size,
                    as_of,
                    shortage,
                };
                refused.insert(shape, known);
            }
            park_without_room(cx, gang_id, want, why);
        }
    }
}

fn place(cx: &mut Cycle<'_>, gang_id: GangId) -> Result<(), Refusal> {
    let demand = if cx.state[gang_id].missing() > 0 {
        Demand::minimum(cx.state, gang_id)
    } else {
        Demand::surplus(cx.state, gang_id)
    };
    let mut statement = Statement::new(cx.state);
    let found = cx
        .placer
        .place(&mut statement, cx.profile, gang_id, &demand);
    found.map_err(Refusal::Shortage)?;
    let committed = finish::reserve(statement, cx.profile).map_err(Refusal::Own)?;
    let placed = committed.assumed().count();
    if placed == 0 {
        let why = Why::new("NotEnoughPods", "no member is left to be placed");
        return Err(Refusal::Own(why));
    }
    cx.orders.placed += placed as u64;
    finish::permit(cx, gang_id, committed).map_err(Refusal::Own)
}

impl Known {
    /// The shortage of another gang of this shape, in its own words: its own member, and counts
    /// only while they are right.
    fn shortage_of(&self, cx: &mut Cycle<'_>, gang_id: GangId, want: Want) -> Shortage {
        let exact = self.as_of == cx.orders.placed;
        let member = cx.state[gang_id].pending.first();
        let diagnosis = if exact {
            self.shortage.diagnosis.clone()
        } else {
            member.and_then(|first| cx.placer.explain(cx.state, cx.profile, first))
        };
        Shortage {
            member,
            placed: exact.then_some(self.shortage.placed).flatten(),
            needed: want.size,
            diagnosis,
        }
    }
}

/// In words why no place was found.
fn explain(state: &ClusterState, gang_id: GangId, shortage: &Shortage) -> Why {
    let nodes = state.nodes().present().len();
    let (placed, needed) = (shortage.placed, shortage.needed);
    let Some(pod) = shortage.member.and_then(|id| state.pod(id)) else {
        let placed = placed.unwrap_or(0);
        return Why::new(
            "NotEnoughPods",
            &format!("{placed} of {needed} pods could be placed, and there are no more"),
        );
    };
    let histogram = match &shortage.diagnosis {
        Some(diagnosis) => diagnosis.message(state.dimensions()),
        None => format!("0/{nodes} nodes are available."),
    };
    let closest = shortage
        .diagnosis
        .as_ref()
        .and_then(|one| one.closest_fit(state));
    let mut hints = closest.map_or_else(String::new, |words| format!(" ({words})"));
    let avoids = |one: &&Diagnosis| one.reasons.contains_key(&Reason::BindRefused);
    if shortage.diagnosis.as_ref().filter(avoids).is_some()
        && let Some(answer) = &pod.refusal
    {
        hints.push_str(&format!(" (the last refusal: {answer})"));
    }
    let single = state.gang(gang_id).is_none_or(|gang| gang.is_single());
    if single {
        return Why::new("Unschedulable", &format!("{histogram}{hints}"));
    }
    let name = &pod.key.name;
    let head = match placed {
        Some(placed) => format!("{placed} of {needed} members fit; pod {name}"),
        None => format!("not all of {needed} members fit; pod {name}"),
    };
    Why::new("Unschedulable", &format!("{head}: {histogram}{hints}"))
}
