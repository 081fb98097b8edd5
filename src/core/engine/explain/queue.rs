//! Who holds what of a queue, from whom it borrows, who could take it back, and who waits.

use super::books::{self, Books};
use super::running::{Protection, another_queue, protection};
use super::{Eyes, NAMES};
use crate::actions::{Asker, Sight, SparedGangs, surplus};
use crate::engine::words;
use crate::state::{Gang, GangId, Queue, QueueId};
use muster_model::Condition;
use muster_model::units::Time;
use std::cmp::Reverse;

/// So many gangs that hold something are told.
const HOLDERS: usize = 10;

/// Who holds what of a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueExplanation {
    /// As of when.
    pub at: Time,
    /// Its books.
    pub books: Books,
    /// Its condition `Ready`.
    pub says: Condition,
    /// The gangs that hold most of it.
    pub holders: Vec<Holder>,
    /// How many gangs hold something.
    pub holder_count: usize,
    /// Queues beside it, or beside one above it, that leave it what they do not use.
    pub borrows: Vec<Lender>,
    /// How many such queues there are.
    pub lender_count: usize,
    /// Members beyond minima that queues below their share may take of it now.
    pub surplus: u32,
    /// Gangs past their lifetime that they may take.
    pub expired: u32,
    /// Why its other gangs keep what they have.
    pub spared: SparedGangs,
    /// The first gangs that wait in it.
    pub first: Vec<String>,
    /// Why the first of them waits: the condition of its PodGroup.
    pub head: Option<Condition>,
    /// The queues right below it that hold most.
    pub children: Vec<Child>,
    /// How many there are.
    pub child_count: usize,
}

/// A gang that holds something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Its name.
    pub title: String,
    /// What it holds, in worth.
    pub worth: u64,
    /// Its members on nodes, or on the way to one.
    pub pods: u32,
    /// Those beyond its minimum.
    pub surplus: u32,
    /// How long it is protected.
    pub protection: Protection,
}

/// A queue that does not use its share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lender {
    /// Its name.
    pub name: String,
    /// What it does not use of its share, in worth.
    pub unused: u64,
    /// How many gangs wait in it.
    pub waiting: usize,
    /// The queue that borrows: this one, or one above it.
    pub to: String,
}

/// A queue below another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Child {
    /// Its name.
    pub name: String,
    /// What it is entitled to, in worth.
    pub share: u64,
    /// What it holds.
    pub usage: u64,
    /// How many gangs wait in it.
    pub waiting: usize,
}

/// Explains a queue. Looks at all gangs that name it, and at the queues beside it and above it.
pub(super) fn explain(eyes: &mut Eyes<'_>, id: QueueId, queue: &Queue) -> QueueExplanation {
    let sight = eyes.sight;
    let (state, agenda) = (sight.state, sight.agenda);
    let holds = |id: &GangId| {
        state
            .gang(*id)
            .filter(|gang| gang.in_use.iter().next().is_some())
    };
    let of_queue = queue.gangs.iter();
    let mut holders: Vec<(u64, GangId, &Gang)> = of_queue
        .filter_map(|id| holds(id).map(|gang| (state.weights().of(&gang.in_use), *id, gang)))
        .collect();
    holders.sort_unstable_by_key(|(worth, id, _)| (Reverse(*worth), *id));
    let (surplus, expired, spared) = back(eyes, id, &holders);
    let (borrows, lender_count) = lenders(sight, id);
    let head = agenda.line(id).next();
    QueueExplanation {
        at: sight.now,
        books: books::of(sight, id, queue),
        says: match &queue.spec {
            Some(spec) => words::ready(state, queue, spec),
            None => Condition {
                kind: "Ready",
                status: false,
                reason: "NotFound",
                message: "nobody declared it; gangs that name it wait".to_owned(),
            },
        },
        holder_count: holders.len(),
        holders: holders
            .iter()
            .take(HOLDERS)
            .map(|one| holder(sight, one))
            .collect(),
        borrows,
        lender_count,
        surplus,
        expired,
        spared,
        first: agenda
            .line(id)
            .take(NAMES)
            .map(|one| state.gang_title(one))
            .collect(),
        head: head.map(|head| {
            let status = words::status(state, head, agenda, None);
            super::gang::says(status.conditions)
        }),
        children: children(sight, queue),
        child_count: queue.children.len(),
    }
}

fn holder(sight: Sight<'_>, (worth, id, gang): &(u64, GangId, &Gang)) -> Holder {
    Holder {
        title: sight.state.gang_title(*id),
        worth: *worth,
        pods: gang.counts().placed(),
        surplus: gang.secured().saturating_sub(gang.min_available()),
        protection: protection(sight, *id),
    }
}

/// What gangs of queues below their share may take, by the rules that choose victims.
fn back(
    eyes: &mut Eyes<'_>,
    id: QueueId,
    holders: &[(u64, GangId, &Gang)],
) -> (u32, u32, SparedGangs) {
    let (mut members, mut expired, mut spared) = (0_u32, 0_u32, SparedGangs::default());
    let sight = eyes.sight;
    let Some(other) = another_queue(sight, id) else {
        return (0, 0, spared);
    };
    let judge = eyes.judge_for(Asker::anybody(other, 0));
    for (_, id, gang) in holders {
        let verdict = judge.judge(*id, gang);
        match verdict.whole {
            Ok(_) => expired += 1,
            Err(why) => {
                if verdict.surplus.is_ok() {
                    let beyond = surplus(sight.state, gang).len();
                    members += u32::try_from(beyond).unwrap_or(u32::MAX);
                }
                spared.note(why, || sight.state.gang_title(*id));
            }
        }
    }
    (members, expired, spared)
}

/// Who leaves what they do not use to a queue that is over its share, level by level.
fn lenders(sight: Sight<'_>, id: QueueId) -> (Vec<Lender>, usize) {
    let (queues, mut all) = (sight.state.queues(), Vec::new());
    for (_, over) in queues.path(id) {
        if over.account.flow.usage() <= over.account.share {
            continue;
        }
        for id in queues.children(over.parent) {
            let Some(beside) = queues.get(*id) else {
                continue;
            };
            let account = &beside.account;
            let unused = account.share.saturating_sub(account.flow.usage());
            if unused > 0 {
                all.push(Lender {
                    name: beside.name.to_string(),
                    unused,
                    waiting: sight.agenda.line_len(*id),
                    to: over.name.to_string(),
                });
            }
        }
    }
    all.sort_by_key(|one| (one.waiting == 0, Reverse(one.unused)));
    let count = all.len();
    all.truncate(NAMES);
    (all, count)
}

fn children(sight: Sight<'_>, queue: &Queue) -> Vec<Child> {
    let below = queue.children.iter();
    let mut all: Vec<Child> = below
        .filter_map(|id| {
            let child = sight.state.queues().get(*id)?;
            Some(Child {
                name: child.name.to_string(),
                share: child.account.share,
                usage: child.account.flow.usage(),
                waiting: sight.agenda.line_len(*id),
            })
        })
        .collect();
    all.sort_by_key(|one| Reverse(one.usage));
    all.truncate(2 * NAMES);
    all
}
