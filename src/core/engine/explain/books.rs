//! What a queue is entitled to, and what it has.

use crate::actions::Sight;
use crate::fairness;
use crate::placement::amount_in_words;
use crate::state::{Queue, QueueId};
use muster_model::explanation::{Books, Bound, Thousandths};
use muster_model::resources::Dimension;

/// The books of a queue now.
pub(super) fn of(sight: Sight<'_>, id: QueueId, queue: &Queue) -> Books {
    let (state, account) = (sight.state, &queue.account);
    let parent = queue.parent.and_then(|id| state.queues().get(id));
    let (spec, usage) = (queue.spec.as_ref(), account.usage);
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
        fair_share: Thousandths::of_worth(account.share),
        usage: Thousandths::of_worth(usage),
        over: Thousandths::of_worth(usage.saturating_sub(account.share)),
        flow: Thousandths::of_worth(account.flow.value(sight.now, state.queues().half_life())),
        flow_limit: most
            .and_then(|most| u64::try_from(most).ok())
            .filter(|most| *most < cluster)
            .map(Thousandths::of_worth),
        // Of core-milliseconds, the thousandths of a core-minute.
        budget_left: Thousandths(fairness::budget_left(queue) / 60),
        cluster: Thousandths::of_worth(cluster),
        limits: queue.limit.iter().map(bound).collect(),
        guaranteed: queue.guaranteed.iter().map(bound).collect(),
        waiting: sight.agenda.line_len(id),
    }
}
