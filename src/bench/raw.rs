//! The raw rate: what a scheduler sends, as fast as the API server answers, nothing decided.
//!
//! It is seen by the same observer as a scheduler's work is: what the watch costs the server, it
//! costs both.

use super::objects::Objects;
use super::observe::Observer;
use super::requests::{Requests, for_all};
use super::statistics::rate;
use super::{Error, Measure};
use muster_cluster::encoding::Encoding;
use muster_cluster::{Clock, lanes};
use serde::Serialize;
use std::time::Duration;
use tokio::time::Instant;

/// What a pod is told before it is deleted: as long as what a scheduler says.
const MESSAGE: &str = "only 999 of 1000 members are left; pod muster-bench-0 was deleted";

/// The rates at one number of pods in flight.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RawRate {
    /// Binds, or evictions, in flight at once.
    pub in_flight: usize,
    /// `POST pods/binding` a second between the 10th and the 90th percentile of the times at
    /// which they were seen; `None` where not all were seen in time.
    pub binds_per_second: Option<f64>,
    /// The same of evictions: the condition by `PATCH`, and then `DELETE`.
    pub evictions_per_second: Option<f64>,
}

/// Whose pods are bound and evicted, and how.
pub(super) struct Raw {
    /// The requests are spread over these.
    pub(super) clients: Vec<Requests>,
    /// The pods' names begin so.
    pub(super) prefix: String,
    /// How many pods.
    pub(super) count: usize,
    /// Pods in flight at once.
    pub(super) in_flight: usize,
    /// How binds are written.
    pub(super) encoding: Encoding,
    /// What is measured.
    pub(super) measure: Measure,
    /// How long it may take.
    pub(super) timeout: Duration,
}

impl Raw {
    /// Binds the pods, and evicts them where that is measured.
    pub(super) async fn measure(
        self,
        objects: &Objects,
        mut observer: Observer,
    ) -> Result<RawRate, Error> {
        let binds_per_second = self.bind(objects, &mut observer).await?;
        let evictions_per_second = match (self.measure, binds_per_second) {
            (measure, Some(_)) if measure.evicts() => self.evict(objects, &mut observer).await?,
            _ => None,
        };
        Ok(RawRate {
            in_flight: self.in_flight,
            binds_per_second,
            evictions_per_second,
        })
    }

    async fn bind(&self, objects: &Objects, observer: &mut Observer) -> Result<Option<f64>, Error> {
        let (count, deadline) = (self.count, Instant::now() + self.timeout);
        let (make, prefix) = (objects.clone(), self.prefix.clone());
        let encoding = self.encoding;
        let bind = move |requests: Requests, index| {
            let binding = make.binding(&prefix, index, encoding);
            async move { requests.write(binding).await }
        };
        tokio::try_join!(
            for_all(&self.clients, self.in_flight, count, bind),
            observer.watch_until(|seen| seen.bound.len() == count, deadline, || Ok(())),
        )?;
        Ok(self.rate_of_all(observer.seen().bound.values()))
    }

    async fn evict(
        &self,
        objects: &Objects,
        observer: &mut Observer,
    ) -> Result<Option<f64>, Error> {
        let (count, deadline) = (self.count, Instant::now() + self.timeout);
        let (make, prefix) = (objects.clone(), self.prefix.clone());
        let uids: Vec<String> = observer.seen().uids.values().cloned().collect();
        let now = Clock::start().now();
        let evict = move |requests: Requests, index| {
            let uid = uids.get(index).map_or("", String::as_str);
            let pod = make.pod_key(&prefix, index, uid);
            async move {
                let make = || lanes::eviction(&pod, MESSAGE, now);
                requests.evict(make).await
            }
        };
        tokio::try_join!(
            for_all(&self.clients, self.in_flight, count, evict),
            observer.watch_until(|seen| seen.gone.len() == count, deadline, || Ok(())),
        )?;
        Ok(self.rate_of_all(observer.seen().gone.values()))
    }

    /// The rate of a part would be another one.
    fn rate_of_all<'a>(&self, times: impl ExactSizeIterator<Item = &'a Instant>) -> Option<f64> {
        if times.len() == self.count {
            rate(times.copied().collect())
        } else {
            None
        }
    }
}
