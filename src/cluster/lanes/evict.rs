//! The evict lane: each pod is told why by its condition `DisruptionTarget`, and then deleted with
//! its uid as precondition.
//!
//! The protocol is in [`evicting`](crate::evicting). One that is refused is said on the pod
//! and reported; whoever ordered it orders it again.

use super::Context;
use super::drive::{About, drive};
use super::pace::Slots;
use super::pending::Pending;
use super::requests::{self, Made};
use super::slow::SlowLane;
use crate::News;
use crate::attempt::{Answer, PodRequest, Protocol, Step};
use crate::clock::wall;
use crate::evicting::Attempt;
use muster_model::Evict;
use muster_model::units::Time;
use muster_model::{Event, EvictOutcome, PodKey};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

/// Evictions under way at once. The API server is the faster the more it has at once
/// (docs/performance.md).
const IN_FLIGHT: usize = 128;
/// Of these, in one namespace: what one tenant's webhook holds up leaves room for the others.
const IN_FLIGHT_IN_NAMESPACE: usize = 96;

/// Evict orders: at most one per pod.
pub(super) type Orders = mpsc::UnboundedReceiver<Evict>;

#[derive(Clone)]
pub(super) struct EvictLane {
    context: Context,
    /// Those that are tried for the first time. What was refused is tried again for as long as it
    /// takes, and nobody gives way to it.
    pending: Arc<Pending>,
    slow: SlowLane,
    namespaces: Arc<Mutex<BTreeMap<String, Arc<Semaphore>>>>,
    slots: Slots,
}

impl EvictLane {
    pub(super) fn new(context: Context, pending: Arc<Pending>, slow: SlowLane) -> Self {
        Self {
            slots: Slots::new(IN_FLIGHT, Some(context.metrics.eviction_slots.clone())),
            context,
            pending,
            slow,
            namespaces: Arc::default(),
        }
    }

    /// Carries out orders until there can be no more.
    pub(super) async fn run(self, mut orders: Orders) {
        let mut attempts = JoinSet::new();
        while let Some(order) = orders.recv().await {
            while attempts.try_join_next().is_some() {}
            if !order.again {
                self.pending.add();
            }
            attempts.spawn(
                self.context
                    .alarm
                    .guard("an eviction", self.clone().carry_out(order)),
            );
        }
        while attempts.join_next().await.is_some() {}
    }

    fn namespace(&self, order: &Evict) -> Arc<Semaphore> {
        let mut namespaces = self
            .namespaces
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        // Those that nobody waits for any more are made anew when they are needed.
        if namespaces.len() > 1_000 {
            namespaces.retain(|_, slots| Arc::strong_count(slots) > 1);
        }
        let name = order.pod.namespace.clone();
        let slots = namespaces
            .entry(name)
            .or_insert_with(|| Arc::new(Semaphore::new(IN_FLIGHT_IN_NAMESPACE)));
        Arc::clone(slots)
    }

    async fn carry_out(self, order: Evict) {
        // It is never closed.
        let of_namespace = self.namespace(&order).acquire_owned().await.ok();
        let outcome = self.attempt(&order).await;
        drop(of_namespace);
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

    async fn attempt(&self, order: &Evict) -> EvictOutcome {
        let slot = self.slots.take().await;
        if !self.context.fence.is_open() {
            return EvictOutcome::Unsent;
        }
        let about = About {
            pod: &order.pod,
            message: &order.message,
            answerers: None,
            paces: true,
        };
        let attempt = Attempt::new(order.again, self.context.clock.now());
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
