//! The evict lane: each pod is told why by its condition `DisruptionTarget`, and then deleted with
//! its uid as precondition.
//!
//! A namespace whose evictions come to nothing has one at a time while those of others are taken ([`shares`](crate::shares)).
//!
//! The protocol is in [`evicting`](crate::evicting). One that is refused is said on the pod
//! and reported; whoever ordered it orders it again.

use super::Context;
use super::drive::{About, drive};
use super::pace::{Slot, Slots};
use super::pending::Pending;
use super::requests::{self, Made};
use super::slow::SlowLane;
use crate::News;
use crate::attempt::{Answer, PodRequest, Protocol, Step};
use crate::clock::wall;
use crate::evicting::Attempt;
use crate::orders::{Orders, Turn};
use crate::shares::Ended;
use muster_model::Evict;
use muster_model::units::Time;
use muster_model::{Event, EvictOutcome, PodKey};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::sleep;

/// Evictions under way at once. The API server is the faster the more it has at once
/// (docs/performance.md).
const IN_FLIGHT: usize = 128;
/// Of these, in one namespace: what one tenant's webhook holds up leaves room for the others.
const IN_FLIGHT_IN_NAMESPACE: usize = 96;
/// Whether a namespace may have more is a matter of time as well.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// The lane's intake and its workings. Clones share both.
#[derive(Clone)]
pub(super) struct EvictLane {
    context: Context,
    /// Those that are tried for the first time. What was refused is tried again for as long as it
    /// takes, and nobody gives way to it.
    pending: Arc<Pending>,
    slow: SlowLane,
    slots: Slots,
    /// At most one a pod. However long it waits, none is given back: what is to go is to go.
    orders: Arc<Mutex<Orders<Evict>>>,
    /// Something was put in, or has ended.
    moved: Arc<Notify>,
}

impl EvictLane {
    pub(super) fn new(context: Context, pending: Arc<Pending>, slow: SlowLane) -> Self {
        Self {
            slots: Slots::new(IN_FLIGHT, Some(context.metrics.eviction_slots.clone())),
            context,
            pending,
            slow,
            orders: Arc::new(Mutex::new(Orders::that_never_expire(
                IN_FLIGHT_IN_NAMESPACE,
            ))),
            moved: Arc::new(Notify::new()),
        }
    }

    fn orders(&self) -> MutexGuard<'_, Orders<Evict>> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes an order.
    pub(super) fn put(&self, order: Evict) {
        if !order.again {
            self.pending.add();
        }
        let (pod, now) = (order.pod.clone(), self.context.clock.now());
        self.orders().put(&pod, Turn::Begins, order, now);
        self.moved.notify_one();
    }

    /// Carries out orders, for ever.
    pub(super) async fn run(self) {
        let mut attempts = JoinSet::new();
        let mut slot = None;
        loop {
            while attempts.try_join_next().is_some() {}
            if self.orders().is_empty() {
                self.moved.notified().await;
                continue;
            }
            let free = match slot.take() {
                Some(free) => free,
                None => self.slots.take().await,
            };
            let order = self.orders().take(self.context.clock.now());
            let Some(order) = order else {
                // Those that wait are of namespaces that are not to have more for now.
                slot = Some(free);
                tokio::select! {
                    () = self.moved.notified() => {}
                    () = sleep(LOOK_AGAIN) => {}
                }
                continue;
            };
            let attempt = self.clone().carry_out(order.what, free);
            attempts.spawn(self.context.alarm.guard("an eviction", attempt));
        }
    }

    async fn carry_out(self, order: Evict, slot: Slot) {
        let begun = self.context.clock.now();
        let outcome = self.attempt(&order, slot).await;
        let now = self.context.clock.now();
        let how = match &outcome {
            EvictOutcome::Accepted | EvictOutcome::Gone | EvictOutcome::Refused { .. } => {
                Ended::after(true, now.since(begun))
            }
            EvictOutcome::Failed { .. } => Ended::after(false, now.since(begun)),
            EvictOutcome::Unsent => Ended::Unsent,
        };
        self.orders().ended(&order.pod.namespace, how, now);
        self.moved.notify_one();
        let result = match &outcome {
            EvictOutcome::Accepted => "accepted",
            EvictOutcome::Gone => "gone",
            EvictOutcome::Refused { .. } => "refused",
            EvictOutcome::Failed { .. } => "failed",
            EvictOutcome::Unsent => "unsent",
        };
        self.context
            .metrics
            .evictions
            .with_label_values(&[result])
            .inc();
        match &outcome {
            EvictOutcome::Accepted => self.slow.evicted(&order),
            EvictOutcome::Refused { message } => {
                self.not_taken(&order, result, "EvictionRefused", message);
            }
            EvictOutcome::Failed { message } => {
                self.not_taken(&order, result, "EvictionFailed", message);
            }
            EvictOutcome::Gone | EvictOutcome::Unsent => {}
        }
        let result = Event::EvictResult(order.pod, outcome);
        // Nobody listens only when the process is about to end.
        let _ = self.context.news.send(News::Event(result)).await;
        if !order.again {
            self.pending.done();
        }
    }

    /// Says that an eviction was not taken.
    fn not_taken(&self, order: &Evict, result: &str, event: &'static str, answer: &str) {
        if !order.again {
            tracing::warn!(pod = %order.pod, result, words = answer, "eviction");
        }
        self.slow.eviction_not_taken(order, event, answer);
    }

    async fn attempt(&self, order: &Evict, slot: Slot) -> EvictOutcome {
        if !self.context.fence.is_open() {
            return EvictOutcome::Unsent;
        }
        let now = self.context.clock.now();
        let about = About {
            pod: &order.pod,
            message: &order.message,
            answerers: None,
            paces: !self.orders().is_in_trouble(&order.pod.namespace, now),
        };
        let attempt = Attempt::new(order.again, now);
        drive(&self.context, about, attempt, &self.slots, slot).await
    }
}

/// What is sent for an eviction that nothing stands in the way of, one after the other.
#[must_use]
pub fn eviction(pod: &PodKey, message: &str, now: Time) -> Vec<Made> {
    let mut attempt = Attempt::new(false, now);
    let mut sent = Vec::new();
    while let Step::Send(request) = attempt.next(now) {
        sent.push(match request {
            PodRequest::Tell => requests::disruption_target(pod, message, wall(now)),
            PodRequest::Delete => requests::delete(pod),
            PodRequest::Read | PodRequest::Bind(_) | PodRequest::Ask(_) => break,
        });
        attempt.answered(&Answer::Accepted, now, now);
    }
    sent
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_eviction_that_nothing_stands_in_the_way_of_is_the_condition_and_then_the_delete() {
        let pod = PodKey {
            namespace: "n".to_owned(),
            name: "p".to_owned(),
            uid: "u".to_owned(),
        };
        let sent = eviction(&pod, "why", Time(0));
        let lines: Vec<String> = sent
            .iter()
            .map(|made| {
                let made = made.as_ref().unwrap();
                format!("{} {}", made.method(), made.uri().path())
            })
            .collect();
        let path = "/api/v1/namespaces/n/pods/p";
        assert_eq!(
            lines,
            [format!("PATCH {path}/status"), format!("DELETE {path}")]
        );
    }
}
