//! The evict lane: each pod is told why by its condition `DisruptionTarget`, and then deleted with
//! its uid as precondition.
//!
//! The protocol is in [`evicting`](crate::cluster::evicting). One that is refused is said on the pod
//! and reported; whoever ordered it orders it again.

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
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::sleep_until;

/// Evictions under way at once. The API server is the faster the more it has at once
/// (docs/performance.md).
const IN_FLIGHT: usize = 128;
/// Of these, in one namespace: what one tenant's webhook holds up leaves room for the others.
const IN_FLIGHT_IN_NAMESPACE: usize = 96;

/// Evict orders: at most one per pod.
pub(super) type Orders = mpsc::UnboundedReceiver<Evict>;

#[derive(Clone)]
pub(super) struct EvictLane {
    pub(super) context: Context,
    pub(super) slow: SlowLane,
    namespaces: Arc<Mutex<BTreeMap<String, Arc<Semaphore>>>>,
    slots: Arc<Semaphore>,
}

impl EvictLane {
    pub(super) fn new(context: Context, slow: SlowLane) -> Self {
        Self {
            context,
            slow,
            namespaces: Arc::default(),
            slots: Arc::new(Semaphore::new(IN_FLIGHT)),
        }
    }

    /// Carries out orders until there can be no more.
    pub(super) async fn run(self, mut orders: Orders) {
        let mut attempts = JoinSet::new();
        while let Some(order) = orders.recv().await {
            while attempts.try_join_next().is_some() {}
            attempts.spawn(self.clone().carry_out(order));
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
        let _of_namespace = self.namespace(&order).acquire_owned().await.ok();
        let slot = Arc::clone(&self.slots).acquire_owned().await.ok();
        let outcome = self.attempt(&order).await;
        drop(slot);
        let result = match &outcome {
            EvictOutcome::Accepted => "accepted",
            EvictOutcome::Gone => "gone",
            EvictOutcome::Refused { .. } => "refused",
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
                if !order.again {
                    tracing::warn!(pod = %order.pod, words = message, "eviction refused");
                }
                self.slow.eviction_refused(&order, message);
            }
            EvictOutcome::Gone | EvictOutcome::Unsent => {}
        }
        let result = Event::EvictResult(order.pod, outcome);
        // Nobody listens only when the process is about to end.
        let _ = self.context.news.send(News::Event(result)).await;
    }

    async fn attempt(&self, order: &Evict) -> EvictOutcome {
        let Context { client, clock, .. } = &self.context;
        let mut attempt = Attempt::new(order.again, clock.now());
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
                Request::Tell => {
                    let now = wall(clock.now());
                    let told = requests::disruption_target(&order.pod, &order.message, now);
                    write(&self.context, told).await
                }
                Request::Delete => write(&self.context, requests::delete(&order.pod)).await,
                Request::Read => read_pod(client, requests::read(&order.pod), &order.pod.uid).await,
            };
            attempt.answered(&answer, clock.now());
        }
    }
}
