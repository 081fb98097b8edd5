//! What a gang waits for, who is ahead of it, and who might make room.

use super::NAMES;
use crate::actions::{HEADS, Sight, Stage, ends_at, repairs_until};
use crate::placement::amount_in_words;
use crate::state::{GangId, PodId};
use muster_model::RoomNote;
use muster_model::explanation::{
    Ahead, Asked, Closest, HangsOn, Held, Lack, NodeCount, Outcome, Place, PlaceHolder, Reason,
    RoomHeld, Short, Start, Waits,
};
use muster_model::units::Time;
use std::collections::BTreeSet;

/// When a gang may start, as far as anybody promised anything.
fn start(sight: Sight<'_>, id: GangId) -> Start {
    let note = sight.agenda.note(id);
    let unknown = |hangs_on| Start { at: None, hangs_on };
    let held_back = note.tried.held_back.as_ref();
    match note.stage() {
        Stage::BackingOff => Start {
            at: note.retry_at,
            hangs_on: HangsOn::BackOff,
        },
        Stage::Held(_) if sight.claims.waiting.get(id).is_some() => unknown(HangsOn::Permit),
        Stage::Held(_) | Stage::Asking(_) => unknown(HangsOn::Answer),
        Stage::Settled | Stage::Waiting | Stage::Releasing(_) => unknown(HangsOn::News),
        _ if sight.claims.nominated.contains(&id) => unknown(HangsOn::Leaving),
        Stage::Queued(_) if sight.agenda.is_behind(id).is_some() => unknown(HangsOn::Ahead),
        _ if held_back.is_some_and(|one| one.for_good) => unknown(HangsOn::Never),
        _ => match held_back {
            Some(blocked) if blocked.until.is_some() => Start {
                at: blocked.until,
                hangs_on: HangsOn::Flow,
            },
            Some(_) => unknown(HangsOn::Books),
            None => start_in_room(sight, id),
        },
    }
}

/// When a gang may start that its queue would let start.
fn start_in_room(sight: Sight<'_>, id: GangId) -> Start {
    let note = sight.agenda.note(id);
    let unknown = |hangs_on| Start { at: None, hangs_on };
    match sight.claims.reserved.get(&id) {
        Some(reserved) => match reserved.at {
            Some(at) if at > sight.now => Start {
                at: Some(at),
                hangs_on: HangsOn::Lifetimes,
            },
            Some(_) => unknown(HangsOn::Overdue),
            None => unknown(HangsOn::Place),
        },
        None if note.tried.kept_for.is_some() => unknown(HangsOn::KeptRoom),
        None if note.tried.short.is_some() => unknown(HangsOn::Room),
        None => unknown(HangsOn::NextDecision),
    }
}

/// What came of looking for somebody who makes room.
fn asked(sight: Sight<'_>, id: GangId) -> Option<Asked> {
    let (gang, note) = (&sight.state[id], sight.agenda.note(id));
    if note.tried.held_back.is_some() {
        return Some(Asked::nobody(Outcome::HeldBack));
    }
    note.tried.short.as_ref()?;
    if gang.missing() == 0 {
        return Some(Asked::nobody(Outcome::NotMissing));
    }
    let repaired = repairs_until(sight.state, sight.agenda, id).is_some();
    if gang.is_partly_bound() && !repaired {
        return Some(Asked::nobody(Outcome::PartlyBound));
    }
    let room = note.search.room?;
    let all = |outcome| {
        note.search.asked.as_deref().map(|all| Asked {
            outcome,
            proven: room == RoomNote::Impossible,
            ..all.clone()
        })
    };
    match room {
        RoomNote::Found => all(Outcome::Found),
        RoomNote::Impossible | RoomNote::CutShort => all(Outcome::InVain),
        RoomNote::Postponed => Some(Asked::nobody(Outcome::Postponed)),
        RoomNote::Behind => Some(Asked {
            heads: Some(HEADS),
            ..Asked::nobody(Outcome::Behind)
        }),
        RoomNote::Never => Some(Asked::nobody(Outcome::Never)),
    }
}

/// The place that is reserved for a gang, and who is there. For few gangs there is one.
fn place(sight: Sight<'_>, id: GangId) -> Option<Place> {
    let reserved = sight.claims.reserved.get(&id)?;
    let nodes = sight.state.nodes();
    let pods = reserved.on().into_iter().flat_map(|node| nodes.pods(node));
    let gangs: BTreeSet<GangId> = pods
        .filter_map(|pod| sight.state.pod(*pod)?.gang)
        .filter(|gang| *gang != id)
        .collect();
    let end = |id: GangId| ends_at(sight.agenda, id, &sight.state[id]);
    let mut holders: Vec<(Option<Time>, GangId)> =
        gangs.into_iter().map(|id| (end(id), id)).collect();
    holders.sort_unstable_by_key(|(at, id)| (at.is_none(), *at, *id));
    Some(Place {
        nodes: u32::try_from(reserved.on().len()).unwrap_or(u32::MAX),
        at: reserved.at,
        holder_count: holders.len(),
        holders: holders
            .into_iter()
            .take(NAMES)
            .map(|(ends_at, id)| PlaceHolder {
                name: sight.state.gang_title(id),
                ends_at,
            })
            .collect(),
    })
}

/// Explains what a gang waits for.
pub(super) fn explain(sight: Sight<'_>, id: GangId, position: Option<u32>) -> Waits {
    let (state, agenda) = (sight.state, sight.agenda);
    let note = agenda.note(id);
    let held = note.tried.held_back.as_ref().map(|blocked| Held {
        by: blocked
            .by
            .and_then(|id| state.queues().get(id))
            .map(|queue| queue.name.to_string()),
        until: blocked.until,
        for_good: blocked.for_good,
    });
    let nodes: BTreeSet<_> = if sight.claims.nominated.contains(&id) {
        state
            .nominations(id)
            .into_iter()
            .map(|(_, node)| node)
            .collect()
    } else {
        BTreeSet::new()
    };
    let room_held = (!nodes.is_empty()).then(|| RoomHeld {
        nodes: nodes.len(),
        leaving: state.leaving_from(&nodes),
    });
    Waits {
        position,
        ahead: ahead(sight, id, position),
        tried_at: note.history.tried_at,
        short: short(sight, id),
        held,
        asked: asked(sight, id),
        place: place(sight, id),
        kept_for: note.tried.kept_for.clone(),
        room_held,
        start: start(sight, id),
    }
}

fn ahead(sight: Sight<'_>, id: GangId, position: Option<u32>) -> Ahead {
    let (state, agenda) = (sight.state, sight.agenda);
    let in_line = matches!(
        agenda.note(id).stage(),
        Stage::Queued(_) | Stage::Parked(_) | Stage::Asking(_)
    );
    let Some(queue) = state[id]
        .queue
        .filter(|_| in_line && state[id].missing() > 0)
    else {
        return Ahead::default();
    };
    let first = agenda.line(queue).take(NAMES).take_while(|one| *one != id);
    let held_back = agenda
        .held_in(queue)
        .filter(|_| agenda.is_behind(id).is_some());
    Ahead {
        count: position.map(|position| position.saturating_sub(1)),
        first: first.map(|one| state.gang_title(one)).collect(),
        held_back: held_back.map(|one| {
            let why = agenda.note(one).why.as_ref();
            Reason {
                name: state.gang_title(one),
                message: why.map_or_else(String::new, |why| why.message.to_string()),
            }
        }),
    }
}

fn short(sight: Sight<'_>, id: GangId) -> Option<Short> {
    let state = sight.state;
    let short = sight.agenda.note(id).tried.short.as_ref()?;
    let of_gang = |pod: &PodId| state.pod(*pod).filter(|pod| pod.gang == Some(id));
    let pod = short.member.as_ref().and_then(of_gang);
    let diagnosis = short.found.diagnosis.as_ref();
    let closest = diagnosis.and_then(|one| one.closest.as_ref());
    let closest = closest.filter(|(node, _)| state.nodes().present().contains(*node));
    Some(Short {
        fit: short.placed,
        needed: short.needed,
        pod: pod.map(|pod| pod.key.name.clone()),
        nodes: diagnosis.map_or(0, |one| one.nodes),
        reasons: diagnosis.map_or_else(Vec::new, |one| {
            let reasons = one.reasons.iter().take(4 * NAMES);
            let told = reasons.map(|(reason, count)| NodeCount {
                name: reason.describe(state.dimensions()),
                count: *count,
            });
            told.collect()
        }),
        closest: closest.map(|(node, lacks)| Closest {
            node: state.nodes().name(*node).to_owned(),
            lacks: lacks
                .iter()
                .map(|(dimension, amount)| Lack {
                    resource: state.dimensions().name(*dimension).to_owned(),
                    amount: amount_in_words(state, *dimension, *amount),
                })
                .collect(),
        }),
    })
}
