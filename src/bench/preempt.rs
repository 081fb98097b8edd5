//! A gang that others have to make room for: how long it takes from its submission to its last bind.
//!
//! The pods have no grace period and no kubelet: one that is deleted is gone at once.

use super::objects::Objects;
use super::observe::Observer;
use super::requests::Requests;
use super::statistics::rate;
use super::{Error, IN_FLIGHT};
use serde::Serialize;
use std::time::Duration;
use tokio::time::Instant;

/// What came of a gang that needed room.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Preempted {
    /// Pods of the gang.
    pub size: usize,
    /// How many of them were bound.
    pub bound: usize,
    /// Pods evicted for it.
    pub evicted: usize,
    /// Evictions a second between the 10th and the 90th percentile of the times at which the pods were
    /// seen to be gone.
    pub evictions_per_second: Option<f64>,
    /// From the first request that made the gang to the first eviction that was seen.
    pub seconds_to_first_eviction: Option<f64>,
    /// From the first request that made the gang until its last pod was seen bound.
    pub seconds_to_last_bind: Option<f64>,
}

/// The gang, and who was there before it.
pub(super) struct Preempt {
    /// How many pods hold the nodes.
    pub(super) before: usize,
    /// Pods of the gang.
    pub(super) size: usize,
    /// Who schedules it.
    pub(super) scheduler_name: String,
    /// How long it may take.
    pub(super) timeout: Duration,
}

impl Preempt {
    /// Makes the gang, and watches until all of it is bound.
    pub(super) async fn measure(
        self,
        requests: &Requests,
        objects: &Objects,
        observer: &mut Observer,
        check: impl FnMut() -> Result<(), Error>,
    ) -> Result<Preempted, Error> {
        let Self {
            before,
            size,
            scheduler_name,
            timeout,
        } = self;
        let start = Instant::now();
        let (path, group) = objects.preemptors_group(size);
        if !path.is_empty() {
            requests.create(&path, &group).await?;
        }
        let (path, make) = (objects.pods_path(), objects.clone());
        let pod = move |index| {
            let pod = make.preemptor(before + index, &scheduler_name);
            (path.clone(), pod)
        };
        tokio::try_join!(
            requests.create_all(IN_FLIGHT, size, pod),
            observer.watch_until(
                |seen| seen.bound.range(before..).count() == size,
                start + timeout,
                check
            ),
        )?;
        let seen = observer.seen();
        let bound: Vec<Instant> = seen.bound.range(before..).map(|(_, at)| *at).collect();
        let gone: Vec<Instant> = seen.gone.range(..before).map(|(_, at)| *at).collect();
        let since_start = |at: &Instant| at.duration_since(start).as_secs_f64();
        Ok(Preempted {
            size,
            bound: bound.len(),
            evicted: gone.len(),
            seconds_to_first_eviction: gone.iter().min().map(since_start),
            seconds_to_last_bind: bound
                .iter()
                .max()
                .filter(|_| bound.len() == size)
                .map(since_start),
            evictions_per_second: rate(gone),
        })
    }
}
