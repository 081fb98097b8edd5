//! The status of a Topology.

use super::{Status, count};
use crate::condition::Condition;
use crate::crd;
use muster_model::TopologyStatus;

impl From<&TopologyStatus> for Status {
    fn from(status: &TopologyStatus) -> Self {
        Self::Topology(crd::TopologyStatus {
            nodes: Some(count(status.nodes)),
            nodes_outside: Some(count(status.outside)),
            domains: status.domains.iter().copied().map(count).collect(),
            conditions: vec![Condition::of(&status.ready, status.observed_generation)],
        })
    }
}
