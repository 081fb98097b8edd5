//! The live clock: the wall clock at start, monotonic from there.
//!
//! A wall clock that jumps moves no deadline. tokio's clock is used, so that tests may hold it. It does not run while the
//! machine is suspended, and others' Leases and lifetimes do: that time is added (on Linux, which counts it).

use jiff::Timestamp;
use muster_model::units::{Millis, Time};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// What is less is no suspension: two clocks are never read at one moment.
const NOISE: u64 = 1_000;

/// For how many milliseconds the machine has been suspended since it was booted, as far as was seen.
static SUSPENDED: AtomicU64 = AtomicU64::new(0);

/// Tells [`Time`] in milliseconds since 1970. Copies tell the same time.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
    wall_at_start: Time,
    suspended_at_start: Millis,
}

impl Clock {
    /// A clock that starts now.
    #[must_use]
    #[expect(
        clippy::disallowed_methods,
        reason = "an adapter: this is where the live clock is read"
    )]
    pub fn start() -> Self {
        let wall = Timestamp::now().as_millisecond();
        Self {
            start: Instant::now(),
            wall_at_start: Time(u64::try_from(wall).unwrap_or_default()),
            suspended_at_start: suspended(),
        }
    }

    /// The time now.
    #[must_use]
    pub fn now(&self) -> Time {
        self.wall_at_start + millis(self.start.elapsed()) + self.suspended()
    }

    /// For how long the machine has been suspended since it started.
    fn suspended(&self) -> Millis {
        Millis(suspended().0.saturating_sub(self.suspended_at_start.0))
    }

    /// When `time` is, for tokio.
    #[must_use]
    pub fn instant(&self, time: Time) -> Instant {
        let since = time.since(self.wall_at_start).0;
        self.start + Duration::from_millis(since.saturating_sub(self.suspended().0))
    }
}

/// For how long the machine has been suspended since it was booted.
#[cfg(target_os = "linux")]
fn suspended() -> Millis {
    use rustix::time::{ClockId, Timespec, clock_gettime};
    let millis = |time: Timespec| time.tv_sec.saturating_mul(1_000) + time.tv_nsec / 1_000_000;
    let running = millis(clock_gettime(ClockId::Monotonic));
    let all = millis(clock_gettime(ClockId::Boottime));
    let seen = u64::try_from(all.saturating_sub(running)).unwrap_or(0);
    Millis(settled(&SUSPENDED, seen))
}

/// Elsewhere nobody says it.
#[cfg(not(target_os = "linux"))]
fn suspended() -> Millis {
    Millis(SUSPENDED.load(Ordering::Relaxed))
}

/// What is known of a span that only grows, and by no less than [`NOISE`].
fn settled(known: &AtomicU64, seen: u64) -> u64 {
    let before = known.load(Ordering::Relaxed);
    if seen < before.saturating_add(NOISE) {
        return before;
    }
    known.fetch_max(seen, Ordering::Relaxed).max(seen)
}

/// A span in the core's units.
#[must_use]
pub fn millis(span: Duration) -> Millis {
    Millis(u64::try_from(span.as_millis()).unwrap_or(u64::MAX))
}

/// A time of [`Clock`] as a date; a time beyond all calendars is the calendar's end.
#[must_use]
pub fn wall(time: Time) -> Timestamp {
    i64::try_from(time.0)
        .ok()
        .and_then(|millis| Timestamp::from_millisecond(millis).ok())
        .unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn time_runs_with_the_monotonic_clock() {
        let clock = Clock::start();
        let before = clock.now();
        tokio::time::advance(Duration::from_millis(1500)).await;
        assert_eq!(clock.now().since(before), Millis(1500));
        assert_eq!(clock.instant(clock.now()), Instant::now());
    }

    #[test]
    fn time_never_goes_back_by_how_clocks_are_read() {
        let known = AtomicU64::new(0);
        let told = [3, 0, 999, 60_000, 59_999, 60_001, 60_999, 61_000, 0]
            .map(|seen| settled(&known, seen));
        let once_and_again = [0, 0, 0, 60_000, 60_000, 60_000, 60_000, 61_000, 61_000];
        assert_eq!(told, once_and_again);
    }

    #[test]
    fn a_time_beyond_the_calendar_is_its_end() {
        assert_eq!(wall(Time(u64::MAX)), Timestamp::MAX);
        assert_eq!(wall(Time(1_000)).as_second(), 1);
    }
}
