//! Statuses as the kinds of the API have them: made of what the core says, or read from an object.
//!
//! Both are the same type, so whether an object says already what is wanted is whether the two are equal,
//! times apart, for since when something is so is nobody's news. What is written is the type in JSON.
//! One file a kind; what is compared and what is written is here, for all.

mod coscheduling;
mod pod;
mod pod_group;
mod queue;
mod topology;
mod upstream;
mod volcano;

pub use pod::PodStatus;

use crate::condition::Condition;
use crate::crd;
use crate::said::{Said, Since};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1;
use muster_model::digest::Fnv;
use muster_model::units::Time;
use muster_model::{GangStatus, Source};
use serde::Serialize;
use serde_json::{Value, json};
use std::hash::Hasher;
use std::io::{self, Write};

/// The status of an object, as far as it is ours.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Status {
    /// Of a PodGroup or a SchedulingSpec.
    PodGroup(crd::PodGroupStatus),
    /// Of a PodGroup of Volcano's.
    Volcano(crate::volcano::PodGroupStatus),
    /// Of a PodGroup of upstream's.
    Upstream(crate::upstream::PodGroupStatus),
    /// Of a PodGroup of coscheduling's.
    Coscheduling(crate::coscheduling::PodGroupStatus),
    /// Of a Queue.
    Queue(crd::QueueStatus),
    /// Of a Topology.
    Topology(crd::TopologyStatus),
    /// Of a pod that waits.
    Pod(PodStatus),
}

impl Status {
    /// What is to be said of a gang's object, without times; `None` where there is nothing to say on
    /// that kind.
    #[must_use]
    pub fn of_gang(status: &GangStatus) -> Option<Self> {
        match status.source {
            Source::Muster | Source::SchedulingSpec => Some(Self::PodGroup(status.into())),
            Source::Volcano => Some(Self::Volcano(status.into())),
            Source::Upstream => upstream::wanted(status).map(Self::Upstream),
            Source::Coscheduling => Some(Self::Coscheduling(status.into())),
            Source::Implied => None,
        }
    }

    /// Its conditions.
    #[must_use]
    pub fn conditions(&self) -> &[Condition] {
        match self {
            Self::PodGroup(status) => &status.conditions,
            Self::Volcano(status) => &status.conditions,
            Self::Upstream(status) => &status.conditions,
            Self::Coscheduling(_) => &[],
            Self::Queue(status) => &status.conditions,
            Self::Topology(status) => &status.conditions,
            Self::Pod(status) => &status.conditions,
        }
    }

    fn conditions_mut(&mut self) -> &mut [Condition] {
        match self {
            Self::PodGroup(status) => &mut status.conditions,
            Self::Volcano(status) => &mut status.conditions,
            Self::Upstream(status) => &mut status.conditions,
            Self::Coscheduling(_) => &mut [],
            Self::Queue(status) => &mut status.conditions,
            Self::Topology(status) => &mut status.conditions,
            Self::Pod(status) => &mut status.conditions,
        }
    }

    /// The same with the times of its conditions: since when one of this type has had this status.
    #[must_use]
    pub fn stamped(mut self, since: impl Fn(&str, bool) -> Timestamp) -> Self {
        for one in self.conditions_mut() {
            one.stamp(since(&one.kind, one.is_true()));
        }
        self
    }

    /// What is kept of it.
    #[must_use]
    pub fn said(mut self) -> Said {
        if let Self::Pod(status) = &self {
            return status.said();
        }
        let since = |one: &Condition| {
            Some(Since {
                condition: one.kind.clone(),
                is_true: one.is_true(),
                at: one.last_transition_time.as_ref()?.0,
            })
        };
        let since = self.conditions().iter().filter_map(since).collect();
        for one in self.conditions_mut() {
            one.set_times_apart();
        }
        let mut digest = Digest::default();
        // Nothing that is written to it fails.
        let _ = serde_json::to_writer(&mut digest, &self);
        let text = digest.0.finish();
        Said {
            text,
            kind: text,
            since,
            ..Said::default()
        }
    }

    /// The merge patch `{"status": ...}` for the object. Volcano's kind has no status subresource:
    /// there it goes to the object itself.
    #[must_use]
    pub fn patch(&self) -> Value {
        // What is not said any more has to go: a patch leaves what it does not name.
        let mut fields = match self {
            Self::PodGroup(_) => json!({
                "selector": null, "position": null, "estimatedStart": null, "maxHops": null, "conditions": [],
            }),
            Self::Topology(_) => json!({"domains": []}),
            _ => json!({}),
        };
        if let (Some(fields), Ok(Value::Object(said))) =
            (fields.as_object_mut(), serde_json::to_value(self))
        {
            fields.extend(said);
        }
        json!({ "status": fields })
    }
}

/// Takes what is written for a digest of it, without keeping it.
#[derive(Default)]
struct Digest(Fnv);

impl Write for Digest {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The condition `Scheduled` of a gang.
fn scheduled(status: &GangStatus) -> Option<&muster_model::Condition> {
    status.conditions.iter().find(|one| one.kind == "Scheduled")
}

/// A count as the API has it.
fn count(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

/// A time of the core as one of the API.
fn timestamp(at: Time) -> Timestamp {
    let milliseconds = i64::try_from(at.0).ok();
    let at = milliseconds.and_then(|at| Timestamp::from_millisecond(at).ok());
    at.unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests;
