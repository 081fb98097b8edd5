//! Who might have to go for a gang, in the order of harm (source: mission, "Preemption").

use super::budgets::Spending;
use super::judge::{Between, Claim, Judge, Verdict};
use super::shares::Shares;
use super::spared::SparedGangs;
use super::surplus::surplus;
use super::unit::{Harm, Unit};
use crate::actions::Cycle;
use crate::actions::agenda::Holders;
use crate::state::{ClusterState, Gang, GangId, PodId, QueueId};
use muster_model::Lifetime;
use muster_model::explanation::Spared;
use muster_model::units::{Millis, Time};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Whoever is on the way to its minimum is looked at again so often.
const SOON: Millis = Millis(1_000);

/// All who may have to go for a gang.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    /// Least harm first: each is of a queue that is over its share even when all before it are gone.
    pub(super) units: Vec<Unit>,
    /// Whose queue would be within its share by then; they may go if others of it stay.
    pub(super) beyond: Vec<Unit>,
    /// What the other queues may lose.
    pub(super) shares: Shares,
    /// When somebody more may have to go although nothing happens.
    pub(super) next: Option<Time>,
    /// How many were left alone because they made room too often of late.
    pub(super) too_often: u64,
    /// The gangs that keep what they need, for whoever asks why.
    pub(super) spared: SparedGangs,
}

impl Candidates {
    fn note(&mut self, why: Spared, now: Time) {
        let until = match why {
            Spared::Incomplete => Some(now + SOON),
            other => other.until(),
        };
        self.next = self.next.into_iter().chain(until).min();
        self.too_often += u64::from(matches!(why, Spared::TooOften(_)));
    }

    /// Takes in what may be asked of one gang.
    fn add(
        &mut self,
        cx: &Cycle<'_>,
        all: &mut Vec<Unit>,
        (id, gang): (GangId, &Gang),
        verdict: Verdict,
        own_queue: Option<QueueId>,
    ) {
        let state = &*cx.state;
        let other_queue = gang.queue.filter(|_| gang.queue != own_queue);
        let mut apart = BTreeSet::new();
        match verdict.surplus {
            Ok(over) => {
                for (latest, pod) in surplus(state, cx.agenda.note(id), gang) {
                    apart.insert(pod);
                    all.push(Unit {
                        violates: false,
                        harm: Harm::Surplus {
                            over: Reverse(over),
                            latest: Reverse(latest),
                        },
                        gang: id,
                        pods: vec![pod],
                        whole: false,
                        other_queue,
                        claim: None,
                    });
                }
            }
            Err(why) => self.note(why, cx.now),
        }
        let claim = match verdict.whole {
            Ok(claim) => claim,
            Err(why) => {
                self.note(why, cx.now);
                self.spared.note(why, || state.gang_title(id));
                return;
            }
        };
        let (priority, members) = (gang.priority, members(state, gang));
        let pods = members.len();
        all.push(Unit {
            violates: false,
            harm: match claim {
                Claim::Expired | Claim::Due => Harm::Expired { priority, pods },
                Claim::Lower => Harm::Lower { priority, pods },
            },
            gang: id,
            pods: without(members, &apart),
            whole: true,
            // What is due is promised, whatever its queue holds.
            other_queue: other_queue.filter(|_| claim != Claim::Due),
            claim: Some(claim),
        });
    }

    /// All of them, least harm first.
    pub(super) fn all(&self) -> Vec<Unit> {
        let mut all = self.units.clone();
        all.extend(self.beyond.iter().cloned());
        all.sort();
        all
    }
}

/// All who may have to go for a gang, least harm first.
pub(super) fn candidates(cx: &Cycle<'_>, gang_id: GangId) -> Candidates {
    let state = &*cx.state;
    let mut found = Candidates::default();
    let Some(mut judge) = Judge::new(cx.sight(), gang_id) else {
        return found;
    };
    let mut asked = Vec::new();
    for (queue, holders) in cx.agenda.holders() {
        let between = judge.between(queue);
        let of_queue = whom_to_ask(cx, gang_id, between, holders, judge.due_by());
        note_others(cx, &mut found, between, holders, &of_queue);
        asked.extend(of_queue);
    }
    // Those have a place in a moment, and hold nothing yet.
    asked.extend(&cx.claims.nominated);
    let asked = in_order(asked);
    debug_assert!(
        others_stay(cx, &mut judge, &asked),
        "somebody who may have to go is not asked"
    );
    let own_queue = state[gang_id].queue;
    let mut all = Vec::new();
    for (id, gang) in asked.iter().filter_map(|id| Some((*id, state.gang(*id)?))) {
        let verdict = judge.judge(id, gang);
        found.add(cx, &mut all, (id, gang), verdict, own_queue);
    }
    all.sort();
    found.shares = Shares::of(&judge, all.iter().filter_map(|unit| unit.other_queue));
    mark_violations(state, &mut all);
    let mut shares = found.shares.clone();
    for unit in all {
        if shares.take(state, &unit) {
            found.units.push(unit);
        } else {
            found.beyond.push(unit);
        }
    }
    found.units.sort();
    found
}

/// Those of a queue of whom something may be asked; the others stay, whoever they are.
fn whom_to_ask(
    cx: &Cycle<'_>,
    gang_id: GangId,
    between: Between,
    holders: &Holders,
    due_by: Option<Time>,
) -> Vec<GangId> {
    let mut asked = Vec::new();
    match between {
        Between::Same(_) => {
            let priority = cx.state[gang_id].priority;
            asked.extend(holders.below(priority));
            asked.extend(holders.unsettled(priority));
        }
        Between::Over(_) => {
            asked.extend(holders.unsettled(i32::MAX));
            asked.extend(holders.ended(cx.now));
        }
        Between::Spared(_) => {}
    }
    if let Some(by) = due_by {
        asked.extend(holders.ended(by));
    }
    in_order(asked)
}

/// Each of them once, by their ids.
fn in_order(mut gangs: Vec<GangId>) -> Vec<GangId> {
    gangs.sort_unstable();
    gangs.dedup();
    gangs
}

/// Whether it is one of those, which are in order.
fn is_in(gangs: &[GangId], gang: GangId) -> bool {
    gangs.binary_search(&gang).is_ok()
}

/// Notes why the others of a queue stay, and when the first of them may not any more.
fn note_others(
    cx: &Cycle<'_>,
    found: &mut Candidates,
    between: Between,
    holders: &Holders,
    asked: &[GangId],
) {
    let state = &*cx.state;
    let others = count(holders.len() - asked.len());
    let mut note = |why, more, first: &dyn Fn() -> Option<GangId>| {
        let title = || first().map_or_else(String::new, |id| state.gang_title(id));
        found.spared.note_some(why, more, title);
    };
    let first = || holders.all().find(|id| !is_in(asked, *id));
    match between {
        Between::Same(_) => note(Spared::Priority, others, &first),
        Between::Spared(why) => note(why, others, &first),
        Between::Over(_) => {
            let next = holders.next_end(cx.now);
            let ends = |id: &&GangId| matches!(state[**id].lifetime, Lifetime::Limited(_));
            let ending = asked.iter().filter(ends).count();
            let ending = count(holders.ending().saturating_sub(ending));
            let ends_next = || next.map(|(_, id)| id);
            let endless = || {
                let mut others = holders.all().filter(|id| !is_in(asked, *id));
                others.find(|id| !ends(&id))
            };
            let until = next.map(|(at, _)| at);
            note(Spared::Lifetime(until), ending, &ends_next);
            note(
                Spared::Lifetime(None),
                others.saturating_sub(ending),
                &endless,
            );
            found.note(Spared::Lifetime(until), cx.now);
        }
    }
}

/// So many, as far as that can be told.
pub(super) fn count(some: usize) -> u32 {
    u32::try_from(some).unwrap_or(u32::MAX)
}

/// Whether nothing may be asked of all but these: looks at everybody who holds a node.
fn others_stay(cx: &Cycle<'_>, judge: &mut Judge<'_>, asked: &[GangId]) -> bool {
    let holders = cx.state.gangs().filter(|(_, gang)| gang.holding > 0);
    let mut others = holders.filter(|(id, _)| !is_in(asked, *id));
    others.all(|(id, gang)| {
        let verdict = judge.judge(id, gang);
        verdict.surplus.is_err() && verdict.whole.is_err()
    })
}

/// Marks who takes more of a PodDisruptionBudget than those before it leave. A gang whose surplus
/// does is marked, too: it comes after its surplus.
fn mark_violations(state: &ClusterState, units: &mut [Unit]) {
    let mut spending = Spending::new(state);
    if spending.is_idle() {
        return;
    }
    let mut gangs = BTreeSet::new();
    for unit in units {
        let violated = spending.spend(&unit.pods);
        unit.violates = !violated.is_empty() || (unit.whole && gangs.contains(&unit.gang));
        if unit.violates {
            gangs.insert(unit.gang);
        }
    }
}

/// The members of a gang that hold a node, but for some.
fn without(members: Vec<PodId>, some: &BTreeSet<PodId>) -> Vec<PodId> {
    let mut members = members;
    members.retain(|pod| !some.contains(pod));
    members
}

/// The members of a gang that hold a node.
fn members(state: &ClusterState, gang: &Gang) -> Vec<PodId> {
    let holds = |id: &&PodId| state.pod(**id).is_some_and(|pod| pod.room().is_some());
    gang.members.iter().filter(holds).copied().collect()
}
