//! The release of gangs: each loses a pod for good, and its scheduler takes the others off their
//! nodes.
//!
//! The pods have no grace period and no kubelet: one that is deleted is gone at once.

use super::objects::Objects;
use super::observe::{Observer, Seen};
use super::requests::{Requests, for_all};
use super::statistics::{Latency, latency, rate};
use super::{Error, IN_FLIGHT};
use serde::Serialize;
use std::time::Duration;
use tokio::time::Instant;

/// What became of gangs that lost a pod.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Released {
    /// Pods evicted.
    pub evicted: usize,
    /// Evictions a second between the 10th and the 90th percentile of the times at which the
    /// pods were seen to be gone.
    pub evictions_per_second: Option<f64>,
    /// From the first of these times to the last.
    pub evicting_seconds: Option<f64>,
    /// From the moment a gang lost its pod until the next one of it was gone.
    pub delay_seconds: Option<Latency>,
}

/// Which gangs lose a pod, and how long they may take to go.
pub(super) struct Release {
    /// How many gangs.
    pub(super) gangs: usize,
    /// Pods in each; the first is the one that is lost.
    pub(super) gang_size: usize,
    /// The pods' names begin so.
    pub(super) prefix: &'static str,
    /// How long it may take.
    pub(super) timeout: Duration,
}

impl Release {
    /// Deletes a pod of each gang, and watches until all others are gone.
    pub(super) async fn measure(
        self,
        requests: &Requests,
        objects: &Objects,
        observer: &mut Observer,
        check: impl FnMut() -> Result<(), Error>,
    ) -> Result<Released, Error> {
        let Self {
            gangs,
            gang_size,
            prefix,
            timeout,
        } = self;
        let (deadline, pods) = (Instant::now() + timeout, gangs * gang_size);
        let make = objects.clone();
        let lose = move |requests: Requests, gang| {
            let path = make.pod_path(prefix, gang * gang_size);
            async move { requests.delete(&path).await }
        };
        let (lost, ()) = tokio::try_join!(
            for_all(std::slice::from_ref(requests), IN_FLIGHT, gangs, lose),
            observer.watch_until(|seen| seen.gone.len() == pods, deadline, check),
        )?;
        Ok(Released::new(observer.seen(), &lost, gang_size))
    }
}

impl Released {
    /// From what was seen, and the moment at which each gang lost its first pod.
    fn new(seen: &Seen, lost: &[Instant], gang_size: usize) -> Self {
        let evicted = seen.gone.iter().filter(|(index, _)| *index % gang_size > 0);
        let times: Vec<Instant> = evicted.map(|(_, at)| *at).collect();
        let first_of = |gang: usize| {
            let others = gang * gang_size + 1..(gang + 1) * gang_size;
            seen.gone.range(others).map(|(_, at)| *at).min()
        };
        let delays = lost.iter().enumerate();
        let delays = delays.filter_map(|(gang, lost)| Some(first_of(gang)?.duration_since(*lost)));
        let ends = times.iter().min().zip(times.iter().max());
        Self {
            evicted: times.len(),
            evicting_seconds: ends.map(|(first, last)| (*last - *first).as_secs_f64()),
            delay_seconds: latency(delays.collect()),
            evictions_per_second: rate(times),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pods_that_were_lost_are_not_evicted_and_start_the_clock_of_their_gangs() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut seen = Seen::default();
        // Gangs {0, 1, 2}, {3, 4, 5} and {6, 7, 8}, of which the last is not released.
        let gone = [
            (0, 0),
            (1, 5_250),
            (2, 5_500),
            (3, 100),
            (4, 6_250),
            (5, 5_600),
        ];
        seen.gone = gone.map(|(index, ms)| (index, at(ms))).into();
        let released = Released::new(&seen, &[at(0), at(100), at(200)], 3);
        assert_eq!(released.evicted, 4);
        assert_eq!(released.evicting_seconds, Some(1.0));
        let delay = released.delay_seconds.unwrap();
        assert_eq!((delay.p50, delay.max), (5.25, 5.5));
        assert_eq!(released.evictions_per_second, Some(3.0));
    }

    #[test]
    fn where_nobody_releases_there_is_nothing_to_say() {
        let released = Released::new(&Seen::default(), &[Instant::now()], 3);
        assert_eq!(released.evicted, 0);
        assert_eq!(released.delay_seconds, None);
        assert_eq!(released.evicting_seconds, None);
    }
}
