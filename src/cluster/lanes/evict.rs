//! The evict lane: deletes with the uid as precondition.
//!
//! The protocol is in [`evicting`](crate::cluster::evicting). Before the first delete the pod is
//! told why, by its condition `DisruptionTarget`; an eviction does not depend on that.

use super::Context;
use super::requests;
use super::send::{read_pod, write};
use super::slow::SlowLane;
use crate::cluster::News;
use crate::cluster::attempt::Step;
use crate::cluster::clock::wall;
use crate::cluster::evicting::{Attempt, Request};
use crate::core::engine::Evict;
use crate::core::model::{Event, EvictOutcome};
use std::sync::Arc;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::sleep_until;

/// Evictions under way at once.
const IN_FLIGHT: usize = 8;

/// Evict orders: at most one per pod.
pub(super) type Orders = mpsc::UnboundedReceiver<Evict>;

#[derive(Clone)]
pub(super) struct EvictLane {
    pub(super) context: Context,
    pub(super) slow: SlowLane,
}

impl EvictLane {
    /// Carries out orders until there can be no more.
    pub(super) async fn run(self, mut orders: Orders) {
        let slots = Arc::new(Semaphore::new(IN_FLIGHT));
        let mut attempts = JoinSet::new();
        while let Some(order) = orders.recv().await {
            let slot = Arc::clone(&slots).acquire_owned().await.ok();
            while attempts.try_join_next().is_some() {}
            let lane = self.clone();
            attempts.spawn(async move {
                lane.carry_out(order).await;
                drop(slot);
            });
        }
        while attempts.join_next().await.is_some() {}
    }

    async fn carry_out(self, order: Evict) {
        let outcome = self.attempt(&order).await;
        let result = match &outcome {
            EvictOutcome::Accepted => "accepted",
            EvictOutcome::Gone => "gone",
            EvictOutcome::Failed { .. } => "failed",
        };
        self.context
            .metrics
            .evictions
            .with_label_values(&[result])
            .inc();
        match &outcome {
            EvictOutcome::Accepted => self.slow.evicted(&order),
            EvictOutcome::Failed { message } => {
                tracing::warn!(pod = %order.pod, message, "eviction failed");
            }
            EvictOutcome::Gone => {}
        }
        let result = Event::EvictResult(order.pod, outcome);
        // Nobody listens only when the process is about to end.
        let _ = self.context.news.send(News::Event(result)).await;
    }

    async fn attempt(&self, order: &Evict) -> EvictOutcome {
        let Context { client, clock, .. } = &self.context;
        let now = wall(clock.now());
        let told = requests::disruption_target(&order.pod, &order.message, now);
        let answer = write(&self.context, told).await;
        tracing::debug!(pod = %order.pod, ?answer, "condition DisruptionTarget");
        let mut attempt = Attempt::new(clock.now());
        loop {
            let request = match attempt.next(clock.now()) {
                Step::Done(outcome) => return outcome,
                Step::WaitUntil(time) => {
                    sleep_until(clock.instant(time)).await;
                    continue;
                }
                Step::Send(request) => request,
            };
            let answer = match request {
                Request::Delete => write(&self.context, requests::delete(&order.pod)).await,
                Request::Read => read_pod(client, requests::read(&order.pod), &order.pod.uid).await,
            };
            attempt.answered(&answer, clock.now());
        }
    }
}
