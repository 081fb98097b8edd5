//! Rates and percentiles.

use serde::Serialize;
use std::time::Duration;
use tokio::time::Instant;

/// How long pods waited, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Latency {
    /// Half of them no longer than this.
    pub p50: f64,
    /// All but one in a hundred.
    pub p99: f64,
    /// The longest.
    pub max: f64,
}

/// What happened a second between the 10th and the 90th percentile of these times, so that
/// neither the start nor a straggler counts; `None` where that is no span of time.
#[must_use]
pub(super) fn rate(mut times: Vec<Instant>) -> Option<f64> {
    times.sort_unstable();
    let last = times.len().checked_sub(1)?;
    let (from, to) = (last / 10, last - last / 10);
    let span = times[to].duration_since(times[from]);
    (to > from && !span.is_zero()).then(|| (to - from) as f64 / span.as_secs_f64())
}

/// Percentiles by nearest rank; `None` without a value.
#[must_use]
pub(super) fn latency(mut waits: Vec<Duration>) -> Option<Latency> {
    waits.sort_unstable();
    let at = |percent: usize| {
        let rank = (waits.len() * percent).div_ceil(100);
        waits.get(rank.checked_sub(1)?).map(Duration::as_secs_f64)
    };
    Some(Latency {
        p50: at(50)?,
        p99: at(99)?,
        max: at(100)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_and_stragglers_do_not_count_for_the_rate() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut times: Vec<_> = (0..=100).map(|n| at(1_000 + n * 10)).collect();
        times[0] = start;
        times[100] = at(60_000);
        assert!((rate(times).unwrap() - 100.0).abs() < 1e-9);
    }

    #[test]
    fn too_few_times_make_no_rate() {
        assert_eq!(rate(Vec::new()), None);
        assert_eq!(rate(vec![Instant::now()]), None);
    }

    #[test]
    fn percentiles_are_values_that_occurred() {
        let waits = (1..=200).rev().map(Duration::from_secs).collect();
        let wanted = Latency {
            p50: 100.0,
            p99: 198.0,
            max: 200.0,
        };
        assert_eq!(latency(waits), Some(wanted));
        assert_eq!(latency(Vec::new()), None);
    }
}
