//! Who holds what of a queue, from whom it borrows, who could take it back, and who waits.

use super::running::{another_queue, beyond, protection};
use super::{Eyes, NAMES, books};
use crate::actions::{Asker, Sight, SparedGangs};
use crate::engine::words;
use crate::state::{Gang, GangId, Queue, QueueId};
use muster_model::explanation::{Child, Clock, Holder, Lender, QueueExplanation, Thousandths};
use muster_model::{Code, Condition};
use std::cmp::Reverse;

/// So many gangs that hold something are told.
const HOLDERS: usize = 10;

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
        kind: Code::new("Queue"),
        clock: Clock::default(),
        as_of: sight.now,
        books: books::of(sight, id, queue),
        condition: match &queue.spec {
            Some(spec) => words::ready(state, queue, spec),
            None => Condition {
                kind: Code::new("Ready"),
                status: false,
                reason: Code::new("NotFound"),
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
        spared: spared.told(),
        first: agenda
            .line(id)
            .take(NAMES)
            .map(|one| state.gang_title(one))
            .collect(),
        head: head.map(|head| {
            let status = words::status(state, agenda, sight.claims, head, None);
            super::gang::says(status.conditions)
        }),
        children: children(sight, queue),
        child_count: queue.children.len(),
    }
}

fn holder(sight: Sight<'_>, (worth, id, gang): &(u64, GangId, &Gang)) -> Holder {
    Holder {
        name: sight.state.gang_title(*id),
        worth: Thousandths::of_worth(*worth),
        pods: gang.counts().placed(),
        surplus: beyond(sight, *id),
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
                    members += beyond(sight, *id);
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
        if over.account.usage <= over.account.share {
            continue;
        }
        for id in queues.children(over.parent) {
            let Some(beside) = queues.get(*id) else {
                continue;
            };
            let account = &beside.account;
            let unused = account.share.saturating_sub(account.usage);
            if unused > 0 {
                let lender = Lender {
                    name: beside.name.to_string(),
                    unused: Thousandths::of_worth(unused),
                    waiting: sight.agenda.line_len(*id),
                    to: over.name.to_string(),
                };
                all.push((unused, lender));
            }
        }
    }
    all.sort_by_key(|(unused, one)| (one.waiting == 0, Reverse(*unused)));
    let count = all.len();
    let first = all.into_iter().take(NAMES).map(|(_, one)| one);
    (first.collect(), count)
}

fn children(sight: Sight<'_>, queue: &Queue) -> Vec<Child> {
    let queues = sight.state.queues();
    let below = queue.children.iter();
    let mut all: Vec<(QueueId, &Queue)> = below
        .filter_map(|id| Some((*id, queues.get(*id)?)))
        .collect();
    all.sort_by_key(|(_, child)| Reverse(child.account.usage));
    let first = all.into_iter().take(2 * NAMES);
    let told = first.map(|(id, child)| Child {
        name: child.name.to_string(),
        fair_share: Thousandths::of_worth(child.account.share),
        usage: Thousandths::of_worth(child.account.usage),
        waiting: sight.agenda.line_len(id),
    });
    told.collect()
}
