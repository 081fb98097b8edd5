//! The raw rate: `POST pods/binding` as fast as the API server answers, nothing decided.

use super::Error;
use super::objects::Objects;
use super::requests::{Requests, create_all};
use super::statistics::rate;
use serde::Serialize;

/// The rate at one number of binds in flight.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RawRate {
    /// Binds in flight at once.
    pub in_flight: usize,
    /// Binds a second between the 10th and the 90th percentile of their answers.
    pub binds_per_second: Option<f64>,
}

/// Binds the pods of this prefix.
pub(super) async fn measure(
    clients: Vec<Requests>,
    objects: Objects,
    prefix: String,
    count: usize,
    in_flight: usize,
) -> Result<RawRate, Error> {
    let binding = move |index| objects.binding(&prefix, index);
    let answered = create_all(&clients, in_flight, count, binding).await?;
    Ok(RawRate {
        in_flight,
        binds_per_second: rate(answered),
    })
}
