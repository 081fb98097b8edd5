//! The live clock: the wall clock at start, monotonic from there.
//!
//! A wall clock that jumps moves no deadline. tokio's clock is used, so that tests may hold it.

use jiff::Timestamp;
use muster_model::units::{Millis, Time};
use std::time::Duration;
use tokio::time::Instant;

/// Tells [`Time`] in milliseconds since 1970. Copies tell the same time.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
    wall_at_start: Time,
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
        }
    }

    /// The time now.
    #[must_use]
    pub fn now(&self) -> Time {
        self.wall_at_start + millis(self.start.elapsed())
    }

    /// When `time` is, for tokio.
    #[must_use]
    pub fn instant(&self, time: Time) -> Instant {
        self.start + Duration::from_millis(time.since(self.wall_at_start).0)
    }
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
    fn a_time_beyond_the_calendar_is_its_end() {
        assert_eq!(wall(Time(u64::MAX)), Timestamp::MAX);
        assert_eq!(wall(Time(1_000)).as_second(), 1);
    }
}
