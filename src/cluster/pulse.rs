//! Whether the engine's thread moves. One that hangs would keep the Lease for ever, and no standby take over.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::sleep;

/// How often the thread says that it moves, at the least, when there is nothing to do.
pub const BEAT: Duration = Duration::from_secs(1);
/// It is looked at so often,
const LOOK: Duration = Duration::from_secs(1);
/// and hangs when it did not move between so many looks: the Lease is not renewed meanwhile. Looks are counted, not
/// seconds: a process that stood still has missed none. What it does between two beats takes milliseconds, and some
/// seconds in debug builds.
const HANGS: u32 = 20;
/// After so many the process ends.
const STOPPED: u32 = 60;

/// How often the thread moved.
#[derive(Clone, Debug, Default)]
pub struct Pulse(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    beats: AtomicU64,
    /// Between how many looks, up to the last, it did not move.
    still: AtomicU32,
}

impl Pulse {
    /// The thread moves.
    pub fn beat(&self) {
        self.0.beats.fetch_add(1, Ordering::Relaxed);
        self.0.still.store(0, Ordering::Relaxed);
    }

    /// Whether the thread did not move for so long that nobody should wait for it. False where nobody
    /// [looks](Self::stopped).
    #[must_use]
    pub fn hangs(&self) -> bool {
        self.0.still.load(Ordering::Relaxed) >= HANGS
    }

    /// Looks at the thread; returns when it has not moved for a minute.
    pub async fn stopped(&self) {
        let mut last = self.0.beats.load(Ordering::Relaxed);
        let mut looks = 0;
        while looks < STOPPED {
            sleep(LOOK).await;
            let now = self.0.beats.load(Ordering::Relaxed);
            looks = if now == last { looks + 1 } else { 0 };
            self.0.still.store(looks, Ordering::Relaxed);
            last = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::{Instant, timeout};

    #[tokio::test(start_paused = true)]
    async fn a_thread_hangs_that_has_not_moved_for_twenty_seconds_and_is_lost_after_a_minute() {
        let pulse = Pulse::default();
        let thread = pulse.clone();
        let beats = tokio::spawn(async move {
            let mut hung = Vec::new();
            // Now and then it is slow.
            for seconds in [1, 15, 50, 1, 50] {
                sleep(Duration::from_secs(seconds)).await;
                hung.push(thread.hangs());
                thread.beat();
                assert!(!thread.hangs());
            }
            hung
        });
        let start = Instant::now();
        pulse.stopped().await;
        assert!(pulse.hangs());
        let after = start.elapsed().as_secs();
        assert!((176..=179).contains(&after), "{after} s");
        assert_eq!(beats.await.unwrap(), [false, false, true, false, true]);
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
        assert!(!pulse.hangs());
    }
}
