//! The raw rate: `POST pods/binding` as fast as the API server answers, nothing decided.
//!
//! It is seen by the same observer as a scheduler's binds are: what the watch costs the server,
//! it costs both.

use super::Error;
use super::objects::Objects;
use super::observe::Observer;
use super::requests::{Requests, create_all};
use super::statistics::rate;
use serde::Serialize;
use std::time::Duration;
use tokio::time::Instant;

/// The rate at one number of binds in flight.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RawRate {
    /// Binds in flight at once.
    pub in_flight: usize,
    /// Binds a second between the 10th and the 90th percentile of the times at which they
    /// were seen; `None` where not all were seen in time.
    pub binds_per_second: Option<f64>,
}

/// What is bound, and how.
pub(super) struct Raw {
    /// The binds are spread over these.
    pub(super) clients: Vec<Requests>,
    /// The pods' names begin so.
    pub(super) prefix: String,
    /// How many pods.
    pub(super) count: usize,
    /// Binds in flight at once.
    pub(super) in_flight: usize,
    /// How long it may take.
    pub(super) timeout: Duration,
}

impl Raw {
    /// Binds the pods.
    pub(super) async fn measure(
        self,
        objects: &Objects,
        observer: Observer,
    ) -> Result<RawRate, Error> {
        let Self {
            count, in_flight, ..
        } = self;
        let deadline = Instant::now() + self.timeout;
        let (make, prefix) = (objects.clone(), self.prefix);
        let binding = move |index| make.binding(&prefix, index);
        let (_, seen) = tokio::try_join!(
            create_all(&self.clients, in_flight, count, binding),
            observer.wait_for(count, deadline, || Ok(())),
        )?;
        // The rate of a part would be another one.
        let all = (seen.len() == count).then(|| seen.into_values().collect());
        Ok(RawRate {
            in_flight,
            binds_per_second: all.and_then(rate),
        })
    }
}
