//! The bind lane: many binds in flight at once, bounded, in the order they were decided.
//!
//! The protocol is in [`binding`](crate::cluster::binding); here it meets the network.

use super::requests;
use super::send::{read_pod, write};
use super::slow::SlowLane;
use super::{Context, pending::Pending};
use crate::cluster::News;
use crate::cluster::attempt::Step;
use crate::cluster::binding::{Attempt, Request};
use crate::core::engine::Bind;
use crate::core::model::{BindOutcome, Event};
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

/// Bind orders, with the time they were given. Unbounded, for there is at most one order per
/// pod, and the engine must never wait for the API server.
pub(super) type Orders = mpsc::UnboundedReceiver<(Bind, Instant)>;

#[derive(Clone)]
pub(super) struct BindLane {
    pub(super) context: Context,
    pub(super) pending: Arc<Pending>,
    pub(super) slow: SlowLane,
    pub(super) slots: Arc<Semaphore>,
}

impl BindLane {
    /// Carries out orders until there can be no more.
    pub(super) async fn run(self, mut orders: Orders) {
        let mut attempts = JoinSet::new();
        while let Some((order, ordered)) = orders.recv().await {
            let slot = self.slot().await;
            while attempts.try_join_next().is_some() {}
            attempts.spawn(self.clone().carry_out(order, ordered, slot));
        }
        while attempts.join_next().await.is_some() {}
    }

    async fn slot(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.slots).acquire_owned().await.ok()
    }

    async fn carry_out(self, order: Bind, ordered: Instant, slot: Option<OwnedSemaphorePermit>) {
        let outcome = self.attempt(&order, slot).await;
        let result = match &outcome {
            BindOutcome::Bound { .. } => "bound",
            BindOutcome::Refused { .. } => "refused",
            BindOutcome::Failed { .. } => "failed",
            BindOutcome::Gone => "gone",
        };
        let metrics = &self.context.metrics;
        metrics.binds.with_label_values(&[result]).inc();
        metrics
            .bind_seconds
            .with_label_values(&[result])
            .observe(ordered.elapsed().as_secs_f64());
        match &outcome {
            BindOutcome::Bound { node } => self.slow.scheduled(&order.pod, node),
            BindOutcome::Refused { message } | BindOutcome::Failed { message } => {
                tracing::warn!(pod = %order.pod, node = order.node, result, message, "bind");
            }
            BindOutcome::Gone => {}
        }
        let result = Event::BindResult(order.pod, outcome);
        // Nobody listens only when the process is about to end.
        let _ = self.context.news.send(News::Event(result)).await;
        self.pending.done();
    }

    /// One bind to its end. While it waits for its next try, others use its slot.
    async fn attempt(&self, order: &Bind, mut slot: Option<OwnedSemaphorePermit>) -> BindOutcome {
        let Context { client, clock, .. } = &self.context;
        let mut attempt = Attempt::new(order.node.as_str(), clock.now());
        loop {
            let request = match attempt.next(clock.now()) {
                Step::Done(outcome) => return outcome,
                Step::WaitUntil(time) => {
                    slot = None;
                    sleep_until(clock.instant(time)).await;
                    continue;
                }
                Step::Send(request) => request,
            };
            if slot.is_none() {
                slot = self.slot().await;
            }
            let answer = match request {
                Request::Post => write(&self.context, requests::bind(order)).await,
                Request::Read => read_pod(client, requests::read(&order.pod), &order.pod.uid).await,
            };
            attempt.answered(&answer, clock.now());
        }
    }
}
