//! What a queue is entitled to, and what it has.

use crate::actions::Sight;
use crate::fairness;
use crate::placement::amount_in_words;
use crate::state::{Queue, QueueId};
use muster_model::resources::Dimension;

/// The books of a queue. Worth is in millionths of a core.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Books {
    /// Its name.
    pub name: String,
    /// The queue above it.
    pub parent: Option<String>,
    /// Whether anybody declared it, or it exists by itself.
    pub exists: bool,
    /// What it is entitled to.
    pub share: u64,
    /// What its gangs and those below it hold.
    pub usage: u64,
    /// What they held lately.
    pub flow: u64,
    /// What its flow may be raised to by gangs with an unlimited lifetime; `None`: the whole cluster.
    pub most: Option<u64>,
    /// What is left of its excess budget, in core-milliseconds.
    pub budget_left: u64,
    /// What the whole cluster is worth.
    pub cluster: u64,
    /// What it may hold at most, of each resource that is limited.
    pub limits: Vec<Bound>,
    /// What is guaranteed to it.
    pub guaranteed: Vec<Bound>,
    /// How many gangs wait in it for the place of their minimum.
    pub waiting: usize,
}

/// An amount of a resource that bounds what a queue holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// The resource.
    pub resource: String,
    /// So much of it is held, in words.
    pub held: String,
    /// So much is the bound.
    pub bound: String,
}

impl Books {
    /// By how much more than its share it holds.
    #[must_use]
    pub const fn over(&self) -> u64 {
        self.usage.saturating_sub(self.share)
    }
}

/// The books of a queue now.
pub(super) fn of(sight: Sight<'_>, id: QueueId, queue: &Queue) -> Books {
    let (state, account) = (sight.state, &queue.account);
    let parent = queue.parent.and_then(|id| state.queues().get(id));
    let spec = queue.spec.as_ref();
    let cluster = state.weights().total();
    let most = spec.map(|spec| u128::from(account.share) * u128::from(spec.over_share) / 1_000);
    let bound = |(dimension, bound): &(Dimension, i64)| Bound {
        resource: state.dimensions().name(*dimension).to_owned(),
        held: amount_in_words(state, *dimension, account.held.all.get(*dimension)),
        bound: amount_in_words(state, *dimension, *bound),
    };
    Books {
        name: queue.name.to_string(),
        parent: parent.map(|parent| parent.name.to_string()),
        exists: spec.is_some(),
        share: account.share,
        usage: account.flow.usage(),
        flow: account.flow.value(sight.now, state.queues().half_life()),
        most: most
            .and_then(|most| u64::try_from(most).ok())
            .filter(|most| *most < cluster),
        budget_left: fairness::budget_left(queue),
        cluster,
        limits: queue.limit.iter().map(bound).collect(),
        guaranteed: queue.guaranteed.iter().map(bound).collect(),
        waiting: sight.agenda.line_len(id),
    }
}
