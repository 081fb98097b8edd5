//! In words what a queue's books say to a gang.

use super::Awaited;
use crate::fairness::{Blocked, Hold};
use crate::placement::amount_in_words;
use crate::state::{ClusterState, QueueId};
use muster_model::Why;
use muster_model::resources::CORE;
use muster_model::units::Time;

/// Why a gang's queue, or one above it, does not let it start.
pub(super) fn why(state: &ClusterState, queue: QueueId, blocked: &Blocked) -> Why {
    let by = state.queues().get(blocked.by.unwrap_or(queue));
    let name = by.map_or("", |queue| &*queue.name);
    match blocked.hold {
        Hold::Limit {
            dimension,
            would,
            most,
        } => {
            let (would, most) = (
                amount_in_words(state, dimension, would),
                amount_in_words(state, dimension, most),
            );
            let message = if blocked.for_good {
                format!("it asks for {would}, and the limit of queue {name} is {most}")
            } else {
                format!("queue {name} would hold {would}, and its limit is {most}")
            };
            Why::new("QueueLimit", &message)
        }
        Hold::Share { would, most } => {
            let (would, most) = (cores_worth(would), cores(most));
            let message = if blocked.for_good {
                format!(
                    "it asks for {would}, and gangs with an unlimited lifetime may \
                     raise the flow of queue {name} to {most}"
                )
            } else {
                format!(
                    "the flow of queue {name} would be {would}, and gangs with an \
                     unlimited lifetime may raise it to {most}{}",
                    when(blocked.until, state.now())
                )
            };
            Why::new("QueueShare", &message)
        }
        Hold::Budget { needs, left } => {
            let (needs, left) = (needs.div_ceil(60_000), left / 60_000);
            let message = if blocked.for_good {
                format!(
                    "it would be charged at least {needs} core-minutes, and the excess budget of \
                     queue {name} is {left}"
                )
            } else {
                format!(
                    "it would be charged {needs} core-minutes, and queue {name} has {left} left of \
                     its excess budget"
                )
            };
            Why::new("QueueBudget", &message)
        }
        Hold::Guarantee { dimension, short } => {
            let short = amount_in_words(state, dimension, short);
            let message = format!("it would take {short} that other queues are guaranteed");
            Why::new("QueueGuarantee", &message)
        }
    }
}

/// Why one behind such a gang waits, or behind one that nobody of its queue may pass.
#[must_use]
pub fn behind(queue: &str, awaited: Awaited) -> Why {
    let what = match awaited {
        Awaited::Books(_) => "what the queue may hold",
        Awaited::Room => "room, and nobody may pass them",
    };
    let message = format!("the gangs ahead of it in queue {queue} wait for {what}");
    Why::new("QueueHeld", &message)
}

fn when(until: Option<Time>, now: Time) -> String {
    until.map_or_else(String::new, |until| {
        let seconds = until.since(now).0.div_ceil(1_000);
        format!(" (if nothing changes, in {seconds} s)")
    })
}

/// Worth in words.
fn cores_worth(worth: u64) -> String {
    match cores(worth).as_str() {
        "1" => "1 core's worth".to_owned(),
        cores => format!("{cores} cores' worth"),
    }
}

/// Worth in cores, with at most one digit after the point.
fn cores(worth: u64) -> String {
    let tenths = worth.saturating_add(CORE / 20) / (CORE / 10);
    if tenths.is_multiple_of(10) {
        (tenths / 10).to_string()
    } else {
        format!("{}.{}", tenths / 10, tenths % 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worth_is_told_in_cores() {
        assert_eq!(cores(30 * CORE), "30");
        assert_eq!(cores(30 * CORE + CORE / 4), "30.3");
        assert_eq!(cores(CORE - 1), "1");
        assert_eq!(cores_worth(CORE), "1 core's worth");
        assert_eq!(cores_worth(2 * CORE), "2 cores' worth");
    }
}
