//! How many binds, or evictions, are under way, for those who must not stand in front of them.

use prometheus::IntGauge;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::Notify;

/// Counts what was ordered and is not known to be over.
#[derive(Debug)]
pub(super) struct Pending {
    count: AtomicUsize,
    idle: Notify,
    gauge: IntGauge,
}

impl Pending {
    /// Nothing is under way; `gauge` shows the count.
    #[must_use]
    pub(super) fn new(gauge: IntGauge) -> Self {
        Self {
            count: AtomicUsize::new(0),
            idle: Notify::new(),
            gauge,
        }
    }

    /// One more is under way.
    pub(super) fn add(&self) {
        self.count.fetch_add(1, Ordering::AcqRel);
        self.gauge.inc();
    }

    /// One is over.
    pub(super) fn done(&self) {
        self.gauge.dec();
        if self.count.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.idle.notify_waiters();
        }
    }

    /// Whether nothing is under way.
    #[must_use]
    pub(super) fn is_idle(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    /// Waits until nothing is under way.
    pub(super) async fn idle(&self) {
        loop {
            let notified = self.idle.notified();
            if self.is_idle() {
                return;
            }
            notified.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::time::Duration;

    #[tokio::test(start_paused = true)]
    async fn idle_waits_for_the_last_one() {
        let pending = Arc::new(Pending::new(IntGauge::new("a", "b").unwrap()));
        pending.idle().await;
        pending.add();
        pending.add();
        pending.done();
        let waiting = tokio::time::timeout(Duration::from_secs(1), pending.idle()).await;
        assert!(waiting.is_err());
        pending.done();
        pending.idle().await;
    }
}
