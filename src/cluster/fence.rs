//! Whether this process may write now.
//!
//! A Lease does not keep its former holder from writing: the API server takes a bind from
//! anybody. So a holder has to stop by itself, in time, and a process that was paused in the
//! middle of anything has to find that out before its next byte leaves. That is what this handle
//! is asked for: by the engine before it decides, by the lanes before they send, and last by the
//! socket (`fenced_io`). It decides nothing: the election says until when it is open.
//!
//! It also remembers whether anything comes of what is written ([`Stalls`]), for whoever tells the core.

use super::Clock;
use super::attempt::Answer;
use super::ending::WRITE_ENDS_WITHIN;
use super::stalls::Stalls;
use muster_model::Writes;
use muster_model::units::Time;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;
use tokio::time::{sleep_until, timeout_at};

/// A shared handle; clones are the same fence.
#[derive(Clone, Debug)]
pub struct Fence {
    clock: Clock,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// Open before this time, in milliseconds.
    until: AtomicU64,
    /// Never open again.
    closed: AtomicBool,
    /// It was opened, or a write ended.
    moved: Notify,
    sent: Mutex<Sent>,
    stalls: Mutex<Stalls>,
}

/// What was sent and may still happen.
#[derive(Debug, Default)]
struct Sent {
    /// Writes that are not answered.
    in_flight: usize,
    /// Until when one may happen that nobody waits for any more.
    doubtful_until: Time,
}

impl Fence {
    /// A fence that is always open: for a process that asks nobody.
    #[must_use]
    pub fn open() -> Self {
        Self::until(Time(u64::MAX))
    }

    /// A fence that is closed until it is told otherwise.
    #[must_use]
    pub fn shut() -> Self {
        Self::until(Time::ZERO)
    }

    fn until(time: Time) -> Self {
        let shared = Shared {
            until: AtomicU64::new(time.0),
            closed: AtomicBool::new(false),
            moved: Notify::new(),
            sent: Mutex::default(),
            stalls: Mutex::default(),
        };
        Self {
            clock: Clock::start(),
            shared: Arc::new(shared),
        }
    }

    /// The clock by which it opens and closes.
    #[must_use]
    pub const fn clock(&self) -> Clock {
        self.clock
    }

    /// Lets writes be sent before this time, and none from then on.
    pub fn allow_until(&self, time: Time) {
        // Who sees it open has what is to be told of the time before.
        self.stalls().may_write(time, self.clock.now());
        self.shared.until.store(time.0, Ordering::SeqCst);
        if self.is_open() {
            self.shared.moved.notify_waiters();
        }
    }

    /// Closes it for good.
    pub fn close(&self) {
        self.shared.closed.store(true, Ordering::SeqCst);
    }

    /// Whether a write may be sent now.
    #[must_use]
    pub fn is_open(&self) -> bool {
        let until = Time(self.shared.until.load(Ordering::SeqCst));
        !self.shared.closed.load(Ordering::SeqCst) && self.clock.now() < until
    }

    /// Waits until it is open.
    pub async fn opened(&self) {
        loop {
            let moved = self.shared.moved.notified();
            if self.is_open() {
                return;
            }
            moved.await;
        }
    }

    /// Notes that a write is about to be sent; `None` while none may be.
    #[must_use]
    pub fn begin(&self) -> Option<Sending> {
        if !self.is_open() {
            return None;
        }
        self.sent().in_flight += 1;
        Some(Sending {
            fence: self.clone(),
            ended: false,
        })
    }

    /// Waits until nothing that was sent can happen any more. Close it before: then this takes no
    /// longer than a write may take, and usually as long as the answers do.
    pub async fn quiet(&self) {
        let limit = self.clock.now() + WRITE_ENDS_WITHIN;
        // What was sent before this call has ended at the limit, answered or not.
        let _ = timeout_at(self.clock.instant(limit), self.answered()).await;
    }

    /// Waits until every write is answered, or its time is over.
    async fn answered(&self) {
        loop {
            let moved = self.shared.moved.notified();
            let (in_flight, doubtful_until) = {
                let sent = self.sent();
                (sent.in_flight, sent.doubtful_until)
            };
            if in_flight > 0 {
                moved.await;
            } else if self.clock.now() < doubtful_until {
                sleep_until(self.clock.instant(doubtful_until)).await;
            } else {
                return;
            }
        }
    }

    /// Notes that a write is sent to the API server; returns when.
    #[must_use]
    pub fn sends(&self) -> Time {
        let now = self.clock.now();
        self.stalls().sent(now);
        now
    }

    /// Takes what came back for a write that was sent then.
    pub fn written(&self, answer: &Answer, sent: Time) {
        self.stalls().written(answer, sent, self.clock.now());
    }

    /// Takes what came back for a read that was sent then.
    pub fn read(&self, answer: &Answer, sent: Time) {
        self.stalls().read(answer, sent, self.clock.now());
    }

    /// What the core is to be told of writes.
    #[must_use]
    pub fn take_news(&self) -> Vec<Writes> {
        self.stalls().take_news(self.clock.now())
    }

    fn stalls(&self) -> MutexGuard<'_, Stalls> {
        let stalls = self.shared.stalls.lock();
        stalls.unwrap_or_else(PoisonError::into_inner)
    }

    fn sent(&self) -> MutexGuard<'_, Sent> {
        self.shared
            .sent
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// A write on its way. Dropped without [`Sending::ended`], it counts as one that may yet happen.
#[derive(Debug)]
pub struct Sending {
    fence: Fence,
    ended: bool,
}

impl Sending {
    /// What became of it is known: it happened, or it never will.
    pub fn ended(mut self) {
        self.ended = true;
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        let now = self.fence.clock.now();
        {
            let mut sent = self.fence.sent();
            sent.in_flight = sent.in_flight.saturating_sub(1);
            if !self.ended {
                sent.doubtful_until = sent.doubtful_until.max(now + WRITE_ENDS_WITHIN);
            }
        }
        self.fence.shared.moved.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::millis;
    use muster_model::units::Millis;
    use std::time::Duration;
    use tokio::time::{Instant, advance, sleep};

    const ENDS_WITHIN: Duration = Duration::from_millis(WRITE_ENDS_WITHIN.0);

    async fn quiet_after(fence: &Fence) -> Millis {
        let begin = Instant::now();
        fence.quiet().await;
        millis(begin.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn it_closes_by_itself_when_its_time_is_over() {
        let fence = Fence::shut();
        assert!(!fence.is_open());
        fence.allow_until(fence.clock().now() + Millis(100));
        assert!(fence.is_open());
        advance(Duration::from_millis(99)).await;
        assert!(fence.is_open());
        advance(Duration::from_millis(1)).await;
        assert!(!fence.is_open());
        assert!(fence.begin().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_is_woken_when_it_opens() {
        let fence = Fence::shut();
        let waits = tokio::spawn({
            let fence = fence.clone();
            async move { fence.opened().await }
        });
        sleep(Duration::from_secs(1)).await;
        assert!(!waits.is_finished());
        fence.allow_until(fence.clock().now() + Millis(1));
        waits.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn closed_for_good_is_for_good() {
        let fence = Fence::open();
        assert!(fence.is_open());
        fence.close();
        fence.allow_until(Time(u64::MAX));
        assert!(!fence.is_open());
    }

    #[tokio::test(start_paused = true)]
    async fn quiet_is_when_the_last_write_is_answered() {
        let fence = Fence::open();
        assert_eq!(quiet_after(&fence).await, Millis(0));
        let (one, other) = (fence.begin().unwrap(), fence.begin().unwrap());
        fence.close();
        tokio::spawn(async move {
            sleep(Duration::from_millis(20)).await;
            one.ended();
            sleep(Duration::from_millis(20)).await;
            other.ended();
        });
        assert_eq!(quiet_after(&fence).await, Millis(40));
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_without_an_answer_is_waited_out() {
        let fence = Fence::open();
        drop(fence.begin());
        sleep(Duration::from_secs(1)).await;
        assert_eq!(quiet_after(&fence).await, Millis(1_500));
        let _never_answered = fence.begin();
        assert_eq!(quiet_after(&fence).await, millis(ENDS_WITHIN));
    }
}
