//! Whether a queue may give a gang what it asks for.

use crate::state::{ClusterState, GangId, Queue, QueueId, Terms};
use muster_model::Lifetime;
use muster_model::resources::{CORE, Dimension, Tally};
use muster_model::units::{Millis, Time};

/// Milliseconds of an hour: a queue's excess budget is so much of its fair share, where it does not
/// say otherwise.
const HOUR: u128 = 3_600_000;

/// Why a queue may not give it now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// The queue whose books say no; `None` is the cluster as a whole.
    pub by: Option<QueueId>,
    /// What they say.
    pub hold: Hold,
    /// When it is worth asking again although nothing happens.
    pub until: Option<Time>,
    /// Whether they would say so, too, if the queue held nothing: only another share, budget or
    /// limit can help. What the gang asks for is then told as if it did hold nothing.
    pub for_good: bool,
}

/// What the books say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// The queue would hold more than its limit.
    Limit {
        /// Of this resource.
        dimension: Dimension,
        /// It would hold so much ...
        would: i64,
        /// ... and may hold so much.
        most: i64,
    },
    /// Its flow would rise above what gangs with an unlimited lifetime may raise it to, in worth.
    Share {
        /// It would be so much ...
        would: u64,
        /// ... and may be so much.
        most: u64,
    },
    /// Its excess budget has not enough left, in core-milliseconds.
    Budget {
        /// The gang would be charged so much ...
        needs: u128,
        /// ... and so much is left.
        left: u128,
    },
    /// Others are guaranteed what it would take.
    Guarantee {
        /// Of this resource.
        dimension: Dimension,
        /// So much too much.
        short: i64,
    },
}

impl Hold {
    /// Whether gangs with a lifetime of zero are held, too: what they hold counts for limits, and
    /// for nothing else, as it is given back at any time.
    #[must_use]
    pub const fn holds_all(&self) -> bool {
        matches!(self, Self::Limit { .. })
    }
}

/// Checks that a gang's queue, and those above it, may give it these amounts more. Says what it is
/// charged against the budget, in worth times milliseconds.
///
/// # Errors
/// Who says no, and why.
pub fn check(state: &ClusterState, gang_id: GangId, amounts: &Tally) -> Result<u128, Blocked> {
    let gang = &state[gang_id];
    let Some(queue) = gang.queue else {
        return Ok(0);
    };
    limits(state, queue, amounts)?;
    // Who has begun goes on; and one that gives way at any time costs nothing.
    if gang.available() > 0 {
        return Ok(0);
    }
    let terms = Terms {
        queue,
        lifetime: gang.lifetime,
    };
    start(state, terms, amounts)
}

/// Checks that a queue, and those above it, would let a gang start on these terms that held all this, and of it
/// this for as long as it is protected.
///
/// # Errors
/// Who says no, and why.
pub fn check_terms(
    state: &ClusterState,
    terms: Terms,
    holds: &Tally,
    protected: &Tally,
) -> Result<u128, Blocked> {
    limits(state, terms.queue, holds)?;
    start(state, terms, protected)
}

fn limits(state: &ClusterState, queue: QueueId, amounts: &Tally) -> Result<(), Blocked> {
    for (id, queue) in state.queues().path(queue) {
        limit(queue, amounts).map_err(|(hold, for_good)| Blocked {
            by: Some(id),
            hold,
            until: None,
            for_good,
        })?;
    }
    Ok(())
}

/// What may start; what it is charged.
fn start(state: &ClusterState, terms: Terms, amounts: &Tally) -> Result<u128, Blocked> {
    let queue = terms.queue;
    match terms.lifetime {
        Lifetime::Unlimited => {
            share(state, queue, amounts)?;
            guarantee(state, queue, amounts)?;
            Ok(0)
        }
        Lifetime::Limited(Millis(0)) => Ok(0),
        Lifetime::Limited(span) => budget(state, queue, amounts, span),
    }
}

/// `limit` is a ceiling, for each resource.
fn limit(queue: &Queue, amounts: &Tally) -> Result<(), (Hold, bool)> {
    for (dimension, most) in &queue.limit {
        let more = amounts.get(*dimension);
        let would = queue.account.held.all.get(*dimension).saturating_add(more);
        if more > 0 && would > *most {
            let for_good = more > *most;
            let hold = Hold::Limit {
                dimension: *dimension,
                would: if for_good { more } else { would },
                most: *most,
            };
            return Err((hold, for_good));
        }
    }
    Ok(())
}

/// Gangs with an unlimited lifetime may raise the flow of their queue, and of those above it, to
/// `overShareFactor` times its fair share. What gangs hold that give way at any time does not count,
/// and where that is all there is, nobody is left to be hurt.
fn share(state: &ClusterState, queue: QueueId, amounts: &Tally) -> Result<(), Blocked> {
    let (weights, now) = (state.weights(), state.now());
    let half_life = state.queues().half_life();
    for (id, queue) in state.queues().path(queue) {
        let Some(spec) = &queue.spec else { continue };
        let account = &queue.account;
        let share = u128::from(account.share) * u128::from(spec.over_share) / 1_000;
        let most = u64::try_from(share).unwrap_or(u64::MAX);
        if most >= weights.total() {
            continue;
        }
        let mut held = account.held.to_stay();
        held.add_all(amounts);
        let with = weights.of(&held);
        let would = with.max(account.flow.value(now, half_life));
        if would <= most {
            continue;
        }
        // If usage allows it, what is remembered decays until the flow does, too.
        let decays = with <= most;
        let until = decays.then(|| now + account.flow.until_at_most(most, now, half_life));
        let alone = weights.of(amounts);
        let for_good = alone > most;
        let would = if for_good { alone } else { would };
        return Err(Blocked {
            by: Some(id),
            hold: Hold::Share { would, most },
            until,
            for_good,
        });
    }
    Ok(())
}

/// What gangs with a limited lifetime hold beyond the fair share is charged for the whole of it.
fn budget(
    state: &ClusterState,
    id: QueueId,
    amounts: &Tally,
    lifetime: Millis,
) -> Result<u128, Blocked> {
    let queues = state.queues();
    let (weights, now) = (state.weights(), state.now());
    let Some((_, queue)) = queues.path(id).next() else {
        return Ok(0);
    };
    let account = &queue.account;
    let mut held = account.held.to_stay();
    held.add_all(amounts);
    let excess = account.flow.excess(now, queues.half_life());
    let flow = account.flow.value(now, queues.half_life());
    let would = weights.of(&held).max(flow);
    let beyond = would.saturating_sub(account.share);
    let beyond = beyond.min(weights.of(amounts));
    let needs = u128::from(beyond) * u128::from(lifetime.0);
    let left = left(queue);
    if needs <= left {
        return Ok(needs);
    }
    // While the flow decays, less is beyond the share.
    let until = (excess > 0).then(|| now + Millis(queues.half_life().0 / 64 + 1));
    let alone = weights.of(amounts).saturating_sub(account.share);
    let alone = u128::from(alone) * u128::from(lifetime.0);
    let for_good = alone > budget_of(queue);
    let (needs, left) = if for_good {
        (alone, budget_of(queue))
    } else {
        (needs, left)
    };
    Err(Blocked {
        by: Some(id),
        hold: Hold::Budget {
            needs: needs / u128::from(CORE),
            left: left / u128::from(CORE),
        },
        until: until.filter(|_| !for_good),
        for_good,
    })
}

/// What is left of a queue's excess budget, in worth times milliseconds.
fn left(queue: &Queue) -> u128 {
    budget_of(queue).saturating_sub(queue.account.charged())
}

/// A queue's excess budget, in worth times milliseconds.
fn budget_of(queue: &Queue) -> u128 {
    let spec = queue.spec.as_ref();
    match spec.and_then(|spec| spec.excess_budget) {
        Some(budget) => u128::from(budget) * u128::from(CORE),
        None => u128::from(queue.account.share) * HOUR,
    }
}

/// The same in core-milliseconds.
#[must_use]
pub fn budget_left(queue: &Queue) -> u64 {
    u64::try_from(left(queue) / u128::from(CORE)).unwrap_or(u64::MAX)
}

/// What a gang that was found running is charged, in worth times milliseconds, where the others of its queue
/// held so much when it started, and so much of what it holds is protected.
#[must_use]
pub fn charge_of_running(
    state: &ClusterState,
    gang_id: GangId,
    before: &Tally,
    protected: &Tally,
) -> u128 {
    let gang = &state[gang_id];
    let (Some(queue), Lifetime::Limited(span)) = (gang.queue, gang.lifetime) else {
        return 0;
    };
    let Some(queue) = state.queues().get(queue) else {
        return 0;
    };
    let mut held = before.clone();
    held.add_all(protected);
    let beyond = state
        .weights()
        .of(&held)
        .saturating_sub(queue.account.share);
    let beyond = beyond.min(state.weights().of(protected));
    u128::from(beyond) * u128::from(span.0)
}

/// `guaranteed` is a floor: gangs with an unlimited lifetime leave it free for those to whom it is
/// guaranteed, beyond what they hold for ever themselves.
fn guarantee(state: &ClusterState, id: QueueId, amounts: &Tally) -> Result<(), Blocked> {
    let queues = state.queues();
    if !queues.has_guarantees() {
        return Ok(());
    }
    for (dimension, amount) in amounts.iter() {
        let mut more = amount;
        for (_, queue) in queues.path(id) {
            more = queue.reserve_with(dimension, more) - queue.reserve(dimension);
        }
        let reserved = queues.reserved(dimension).saturating_add(more);
        let short = reserved.saturating_sub(state.nodes().total(dimension));
        if more > 0 && short > 0 {
            return Err(Blocked {
                by: None,
                hold: Hold::Guarantee { dimension, short },
                until: None,
                for_good: false,
            });
        }
    }
    Ok(())
}
