//! Whether the engine's thread moves. One that hangs would keep the Lease for ever, and no standby take over.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::sleep;

/// How often the thread says that it moves, at the least, when there is nothing to do.
pub(super) const BEAT: Duration = Duration::from_secs(1);
/// It is looked at so often,
const LOOK: Duration = Duration::from_secs(1);
/// and hangs when it did not move between so many looks. Looks are counted, not seconds: a process that stood
/// still has missed none. What it does between two beats takes milliseconds, and some seconds in debug builds.
const LOOKS: u32 = 60;

/// How often the thread moved.
#[derive(Clone, Debug, Default)]
pub(super) struct Pulse(Arc<AtomicU64>);

impl Pulse {
    /// The thread moves.
    pub(super) fn beat(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns when the thread has not moved for a minute.
    pub(super) async fn stopped(&self) {
        let (mut last, mut looks) = (self.0.load(Ordering::Relaxed), 0);
        while looks < LOOKS {
            sleep(LOOK).await;
            let now = self.0.load(Ordering::Relaxed);
            looks = if now == last { looks + 1 } else { 0 };
            last = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::{Instant, timeout};

    #[tokio::test(start_paused = true)]
    async fn a_thread_hangs_that_has_not_moved_for_a_minute() {
        let pulse = Pulse::default();
        let thread = pulse.clone();
        let beats = tokio::spawn(async move {
            for _ in 0..10 {
                // Now and then it is slow.
                sleep(Duration::from_secs(50)).await;
                thread.beat();
            }
        });
        let start = Instant::now();
        pulse.stopped().await;
        assert!(beats.is_finished());
        let after = start.elapsed().as_secs();
        assert!((559..=562).contains(&after), "{after} s");
        let moves = async {
            loop {
                pulse.beat();
                sleep(BEAT).await;
            }
        };
        let both = async {
            tokio::select! { () = pulse.stopped() => {}, () = moves => {} }
        };
        assert!(timeout(Duration::from_secs(3_600), both).await.is_err());
    }
}
