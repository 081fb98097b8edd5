//! The status of a Queue: how many of its gangs are where, and its books.

use super::{Status, count, v1};
use crate::condition::Condition;
use crate::crd;
use jiff::Timestamp;
use muster_model::resources::CORE;
use muster_model::units::thousandths_in_text;
use muster_model::{GangPhase, QueueStatus};

impl From<&QueueStatus> for Status {
    fn from(status: &QueueStatus) -> Self {
        let gangs = |phase: GangPhase| status.gangs[phase as usize];
        let flow_at = i64::try_from(status.flow_at.0).unwrap_or(i64::MAX);
        let ready = Condition {
            kind: READY.to_owned(),
            ..Condition::of(&status.ready, status.observed_generation)
        };
        Self::Queue(crd::QueueStatus {
            pending: Some(count(gangs(GangPhase::Pending))),
            inqueue: Some(count(gangs(GangPhase::Inqueue))),
            running: Some(count(
                gangs(GangPhase::Running) + gangs(GangPhase::Scheduling),
            )),
            unknown: Some(count(gangs(GangPhase::Unknown))),
            finished: Some(count(gangs(GangPhase::Finished))),
            failed: Some(count(gangs(GangPhase::Failed))),
            usage: Some(cores(status.usage)),
            flow: Some(cores(status.flow)),
            flow_time: Some(micro_time(flow_at)),
            fair_share: Some(cores(status.share)),
            budget_left: Some(i64::try_from(status.budget_left / 60_000).unwrap_or(i64::MAX)),
            conditions: vec![ready],
        })
    }
}

impl Status {
    /// What a Queue says: of its conditions only what is ours, and times as the core counts them.
    #[must_use]
    pub fn read_queue(queue: &crd::Queue) -> Option<Self> {
        let mut status = queue.status.clone()?;
        status.conditions.retain(|one| one.kind == READY);
        let flow_time = status.flow_time.as_ref();
        status.flow_time = flow_time.map(|at| micro_time(at.0.as_millisecond()));
        Some(Self::Queue(status))
    }
}

/// The condition of a Queue.
const READY: &str = "Ready";

/// A time in milliseconds since 1970.
fn micro_time(at: i64) -> v1::MicroTime {
    v1::MicroTime(Timestamp::from_millisecond(at).unwrap_or_default())
}

/// Worth as a quantity of cores, to the thousandth.
fn cores(worth: u64) -> String {
    let milli = worth / (CORE / 1_000);
    thousandths_in_text(i64::try_from(milli).unwrap_or(i64::MAX))
}
