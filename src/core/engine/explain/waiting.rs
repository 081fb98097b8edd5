//! What a gang waits for, who is ahead of it, and who might make room.

use super::NAMES;
use crate::actions::{self, HEADS, KeptFor, Sight, Stage, ends_at, repairs_until};
use crate::placement::amount_in_words;
use crate::state::{GangId, PodId};
use muster_model::RoomNote;
use muster_model::units::Time;
use std::collections::BTreeSet;

/// What a gang waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// Its place in its queue, from 1; `None` if it is in no line or far behind.
    pub position: Option<u32>,
    /// The first of its queue, if it is not the first itself.
    pub ahead: Ahead,
    /// When it was last tried.
    pub tried_at: Option<Time>,
    /// What it was short of then.
    pub short: Option<Short>,
    /// What its queue's books said.
    pub held: Option<Held>,
    /// Who makes room for it, or why nobody does.
    pub asked: Option<Asked>,
    /// The place that is reserved for it.
    pub place: Option<ReservedPlace>,
    /// For whom room is kept that it may not take.
    pub kept_for: Option<KeptFor>,
    /// On so many nodes room is held for it, until so many pods have left.
    pub room_held: Option<(usize, usize)>,
    /// When it may start.
    pub start: Start,
}

/// Who is ahead.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ahead {
    /// How many, where its position is known.
    pub count: Option<u32>,
    /// The first of them.
    pub first: Vec<String>,
    /// The one that its queue's books hold back, and why: those behind it wait with it.
    pub held_back: Option<(String, String)>,
}

/// What a gang was short of when it was last tried.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Short {
    /// So many members found a node, where that is known.
    pub fit: Option<u32>,
    /// So many had to.
    pub needed: u32,
    /// The first that did not.
    pub pod: Option<String>,
    /// How many nodes there were.
    pub nodes: usize,
    /// What they said to it, and how many of them.
    pub reasons: Vec<(String, usize)>,
    /// The node that lacked least.
    pub closest: Option<Closest>,
}

/// A node that lacks nothing but resources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Closest {
    /// Its name.
    pub node: String,
    /// What it lacks.
    pub lacks: Vec<Lack>,
}

/// What a node lacks of a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lack {
    /// The resource.
    pub resource: String,
    /// How much, in words.
    pub amount: String,
}

/// What a queue's books say to a gang.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// Whose books; `None`: the cluster's.
    pub by: Option<String>,
    /// When they are asked again although nothing happens.
    pub until: Option<Time>,
    /// Whether they would say so if the queue held nothing.
    pub for_good: bool,
}

/// Who was asked to make room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Nobody, because its queue does not let it start.
    HeldBack,
    /// Nobody, for this reason.
    Nobody(NotAsked),
    /// Everybody who may be: a place was found.
    Found(Box<actions::Asked>),
    /// Everybody who may be: no place was found. Whether that is a proof, as opposed to a bounded search.
    InVain(Box<actions::Asked>, bool),
}

/// Why nobody was asked to make room for a gang.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAsked {
    /// Its minimum has a place.
    NotMissing,
    /// It is partly bound: it is completed with what is free, or released.
    PartlyBound,
    /// Too many of its queue are before it.
    Behind {
        /// Only so many of a queue are looked at.
        heads: u32,
    },
    /// Enough plans were made in this cycle: its turn comes.
    Postponed,
    /// Its preemptionPolicy is Never.
    Never,
}

/// The place that is reserved for a gang.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReservedPlace {
    /// On so many nodes.
    pub nodes: u32,
    /// When it will be free; `None`: nobody knows.
    pub at: Option<Time>,
    /// Some of the gangs that are on those nodes now, and when their lifetimes end, who goes first first.
    pub holders: Vec<(String, Option<Time>)>,
    /// How many there are.
    pub holder_count: usize,
}

/// When a gang may start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Start {
    /// Not before this; `None`: unknown.
    pub at: Option<Time>,
    /// What that hangs on.
    pub hangs_on: HangsOn,
}

/// What the start of a gang hangs on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum HangsOn {
    /// On news: pods, a queue, a gate.
    #[default]
    News,
    /// On the next decision.
    NextDecision,
    /// On the end of its back-off.
    BackOff,
    /// On the pods that leave the room held for it.
    Leaving,
    /// On the flow of its queue, which decays.
    Flow,
    /// On gangs of its queue that end.
    Books,
    /// On the gangs ahead of it.
    Ahead,
    /// On room that nobody promised to set free at a time.
    Room,
    /// On the lifetimes of those who are in the place that is reserved for it.
    Lifetimes,
    /// On those who should have left the place that is reserved for it.
    Overdue,
    /// On those in the place that is held for it, of whom nobody knows when they end.
    Place,
    /// On room beyond what is kept for another.
    KeptRoom,
    /// On nothing: it asks for more than its queue may ever give.
    Never,
    /// On a Permit plugin.
    Permit,
    /// On an answer from outside.
    Answer,
}

/// When a gang may start, as far as anybody promised anything.
fn start(sight: Sight<'_>, id: GangId) -> Start {
    let progress = sight.agenda.progress(id);
    let unknown = |hangs_on| Start { at: None, hangs_on };
    let held_back = progress.held_back.as_ref();
    match progress.stage() {
        Stage::BackingOff => Start {
            at: progress.retry_at,
            hangs_on: HangsOn::BackOff,
        },
        Stage::Held(_) if sight.agenda.waiting.holds(id) => unknown(HangsOn::Permit),
        Stage::Held(_) | Stage::Asking(_) => unknown(HangsOn::Answer),
        Stage::Settled | Stage::Waiting | Stage::Releasing => unknown(HangsOn::News),
        _ if sight.agenda.nominated.contains(&id) => unknown(HangsOn::Leaving),
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
    let progress = sight.agenda.progress(id);
    let unknown = |hangs_on| Start { at: None, hangs_on };
    match sight.agenda.reserved.get(&id) {
        Some(reserved) => match reserved.at {
            Some(at) if at > sight.now => Start {
                at: Some(at),
                hangs_on: HangsOn::Lifetimes,
            },
            Some(_) => unknown(HangsOn::Overdue),
            None => unknown(HangsOn::Place),
        },
        None if progress.kept_for.is_some() => unknown(HangsOn::KeptRoom),
        None if progress.short.is_some() => unknown(HangsOn::Room),
        None => unknown(HangsOn::NextDecision),
    }
}

/// What came of looking for somebody who makes room.
fn asked(sight: Sight<'_>, id: GangId) -> Option<Asked> {
    let (gang, progress) = (&sight.state[id], sight.agenda.progress(id));
    if progress.held_back.is_some() {
        return Some(Asked::HeldBack);
    }
    progress.short.as_ref()?;
    if gang.missing() == 0 {
        return Some(Asked::Nobody(NotAsked::NotMissing));
    }
    let repaired = repairs_until(sight.state, sight.agenda, id).is_some();
    if gang.is_partly_bound() && !repaired {
        return Some(Asked::Nobody(NotAsked::PartlyBound));
    }
    let all = progress.asked.clone();
    Some(match progress.room? {
        RoomNote::Found => Asked::Found(all?),
        RoomNote::Impossible => Asked::InVain(all?, true),
        RoomNote::CutShort => Asked::InVain(all?, false),
        RoomNote::Postponed => Asked::Nobody(NotAsked::Postponed),
        RoomNote::Behind => Asked::Nobody(NotAsked::Behind { heads: HEADS }),
        RoomNote::Never => Asked::Nobody(NotAsked::Never),
    })
}

/// The place that is reserved for a gang, and who is there. For few gangs there is one.
fn place(sight: Sight<'_>, id: GangId) -> Option<ReservedPlace> {
    let reserved = sight.agenda.reserved.get(&id)?;
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
    Some(ReservedPlace {
        nodes: u32::try_from(reserved.on().len()).unwrap_or(u32::MAX),
        at: reserved.at,
        holder_count: holders.len(),
        holders: holders
            .into_iter()
            .take(NAMES)
            .map(|(at, id)| (sight.state.gang_title(id), at))
            .collect(),
    })
}

/// Explains what a gang waits for.
pub(super) fn explain(sight: Sight<'_>, id: GangId, position: Option<u32>) -> Waits {
    let (state, agenda) = (sight.state, sight.agenda);
    let progress = agenda.progress(id);
    let held = progress.held_back.as_ref().map(|blocked| Held {
        by: blocked
            .by
            .and_then(|id| state.queues().get(id))
            .map(|queue| queue.name.to_string()),
        until: blocked.until,
        for_good: blocked.for_good,
    });
    let nodes: BTreeSet<_> = if agenda.nominated.contains(&id) {
        state
            .nominations(id)
            .into_iter()
            .map(|(_, node)| node)
            .collect()
    } else {
        BTreeSet::new()
    };
    let room_held = (!nodes.is_empty()).then(|| (nodes.len(), state.leaving_from(&nodes)));
    Waits {
        position,
        ahead: ahead(sight, id, position),
        tried_at: progress.tried_at,
        short: short(sight, id),
        held,
        asked: asked(sight, id),
        place: place(sight, id),
        kept_for: progress.kept_for.clone(),
        room_held,
        start: start(sight, id),
    }
}

fn ahead(sight: Sight<'_>, id: GangId, position: Option<u32>) -> Ahead {
    let (state, agenda) = (sight.state, sight.agenda);
    let in_line = matches!(
        agenda.progress(id).stage(),
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
            let why = agenda.progress(one).why.as_ref();
            let words = why.map_or_else(String::new, |why| why.message.to_string());
            (state.gang_title(one), words)
        }),
    }
}

fn short(sight: Sight<'_>, id: GangId) -> Option<Short> {
    let state = sight.state;
    let short = sight.agenda.progress(id).short.as_ref()?;
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
            let words = |(reason, count): (&crate::framework::Reason, &usize)| {
                (reason.describe(state.dimensions()), *count)
            };
            reasons.map(words).collect()
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
