//! The bind lane: many binds in flight at once, bounded, in the order they were decided.
//!
//! Binds that somebody outside makes have a lane of their own: one who hangs keeps nobody else waiting.
//!
//! An order that was asked back, or has waited for too long, is given back unsent: that is certain
//! knowledge, and it is decided anew. The protocol of one that is sent is in
//! [`binding`](crate::binding); here it meets the network.

use super::drive::{About, drive};
use super::pace::{Slot, Slots};
use super::slow::SlowLane;
use super::{Answerers, Context, pending::Pending};
use crate::News;
use crate::binding::Attempt;
use crate::clock::Clock;
use crate::orders::{Order, Orders, Turn};
use crate::shares::Ended;
use muster_model::Bind;
use muster_model::units::Millis;
use muster_model::{BindOutcome, Event, PodKey};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::sleep_until;

/// Whether a namespace may have more is a matter of time as well.
const LOOK_AGAIN: Millis = Millis(200);

/// The lane's intake and its workings. Clones share both.
#[derive(Clone)]
pub(super) struct BindLane {
    context: Context,
    pending: Arc<Pending>,
    slow: SlowLane,
    answerers: Arc<Answerers>,
    slots: Slots,
    /// There is at most one order a pod, and the engine never waits for the API server.
    orders: Arc<Mutex<Orders<Bind>>>,
    /// Something was put in, or asked back.
    moved: Arc<Notify>,
}

impl BindLane {
    pub(super) fn new(
        context: Context,
        pending: Arc<Pending>,
        slow: SlowLane,
        answerers: &Arc<Answerers>,
        slots: Slots,
    ) -> Self {
        Self {
            context,
            pending,
            slow,
            answerers: Arc::clone(answerers),
            slots,
            orders: Arc::default(),
            moved: Arc::new(Notify::new()),
        }
    }

    const fn clock(&self) -> Clock {
        self.context.clock
    }

    fn orders(&self) -> MutexGuard<'_, Orders<Bind>> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes an order.
    pub(super) fn put(&self, order: Bind) {
        self.pending.add();
        let pod = order.pod.clone();
        let now = self.context.clock.now();
        self.orders().put(&pod, Turn::of(&order), order, now);
        self.moved.notify_one();
    }

    /// Asks an order back.
    pub(super) fn recall(&self, pod: &PodKey) {
        self.orders().recall(pod);
        self.moved.notify_one();
    }

    /// Gives back everything that is not sent yet.
    pub(super) fn give_up(&self) {
        self.orders().give_up();
        self.moved.notify_one();
    }

    /// Carries out orders, for ever.
    pub(super) async fn run(self) {
        let mut attempts = JoinSet::new();
        let mut slot = None;
        loop {
            self.give_back().await;
            while attempts.try_join_next().is_some() {}
            let expires_at = self.orders().expires_at();
            let Some(expires_at) = expires_at else {
                self.moved.notified().await;
                continue;
            };
            let Some(free) = slot.take() else {
                tokio::select! {
                    free = self.slots.take() => slot = Some(free),
                    () = self.moved.notified() => {}
                    () = sleep_until(self.clock().instant(expires_at)) => {}
                }
                continue;
            };
            let order = self.orders().take(self.clock().now());
            let Some(order) = order else {
                // Those that wait are of namespaces that are not to have more for now.
                slot = Some(free);
                let look_again = self.clock().now() + LOOK_AGAIN;
                let at = self.clock().instant(expires_at.min(look_again));
                tokio::select! {
                    () = self.moved.notified() => {}
                    () = sleep_until(at) => {}
                }
                continue;
            };
            let attempt = self.clone().carry_out(order, free);
            attempts.spawn(self.context.alarm.guard("a bind", attempt));
        }
    }

    /// Says of what was asked back, has waited for too long, or may not be sent now, that it was
    /// not sent.
    async fn give_back(&self) {
        let given_back = {
            let mut orders = self.orders();
            if self.context.fence.is_open() {
                orders.expire(self.clock().now());
            } else {
                orders.give_up();
            }
            orders.take_given_back()
        };
        for order in given_back {
            self.answer(order, BindOutcome::Unsent).await;
        }
    }

    async fn carry_out(self, order: Order<Bind>, slot: Slot) {
        let begun = self.clock().now();
        let outcome = self.attempt(&order.what, slot).await;
        let now = self.clock().now();
        let how = Ended::of(&outcome, now.since(begun));
        self.orders().ended(&order.what.pod.namespace, how, now);
        self.moved.notify_one();
        self.answer(order, outcome).await;
    }

    async fn answer(&self, order: Order<Bind>, outcome: BindOutcome) {
        let result = match &outcome {
            BindOutcome::Bound { .. } => "bound",
            BindOutcome::Refused { .. } => "refused",
            BindOutcome::Failed { .. } => "failed",
            BindOutcome::Gone => "gone",
            BindOutcome::Unsent => "unsent",
        };
        let waited = self.clock().now().since(order.given);
        let metrics = &self.context.metrics;
        metrics.binds.with_label_values(&[result]).inc();
        metrics
            .bind_seconds
            .with_label_values(&[result])
            .observe(Duration::from_millis(waited.0).as_secs_f64());
        let Bind { pod, node, .. } = order.what;
        match &outcome {
            BindOutcome::Bound { node } => self.slow.scheduled(&pod, node),
            BindOutcome::Refused { message } | BindOutcome::Failed { message } => {
                tracing::warn!(%pod, node, result, words = message, "bind");
            }
            BindOutcome::Gone | BindOutcome::Unsent => {}
        }
        // Nobody listens only when the process is about to end.
        let event = Event::BindResult(pod, outcome);
        let _ = self.context.news.send(News::Event(event)).await;
        self.pending.done();
    }

    /// One bind to its end.
    async fn attempt(&self, order: &Bind, slot: Slot) -> BindOutcome {
        if !self.context.fence.is_open() {
            return BindOutcome::Unsent;
        }
        let now = self.clock().now();
        let about = About {
            pod: &order.pod,
            message: "",
            answerers: Some(&self.answerers),
            paces: !self.orders().is_in_trouble(&order.pod.namespace, now),
        };
        let attempt = Attempt::of(order, now);
        drive(&self.context, about, attempt, &self.slots, slot).await
    }
}
