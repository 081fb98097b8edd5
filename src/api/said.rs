//! What an object says already, and whether that is what we want said: times apart, for since when
//! something is so is nobody's news.
//!
//! Both sides are digested from the same fields: what the core wants said ([`wanted_of_gang`] ...)
//! and what was read from the API server (`Said::from`).

use super::status::{
    QUEUE_FIELDS, QueueBooks, queue_books, queue_counts, scheduled, selector, timestamp,
    upstream_condition, volcano_condition, volcano_phase,
};
use super::upstream::INITIALLY_SCHEDULED;
use super::{crd, slim, upstream, volcano};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1;
use muster_model::{Condition, GangStatus, QueueStatus, TopologyStatus};
use muster_model::{PodWaits, Source, digest};
use serde::Deserialize;
use std::sync::Arc;

/// What is said of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// A digest of all of it.
    pub text: u64,
    /// A digest of what kind of thing it says: numbers apart.
    pub kind: u64,
    /// Since when its conditions have been what they are.
    pub since: Vec<Since>,
    /// The node that a pod is to have, or empty; wanted: `None`, where it makes no difference.
    pub nominated: Option<Arc<str>>,
}

/// Since when a condition has had its status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Since {
    /// The condition's type.
    pub condition: String,
    /// Whether it is true.
    pub is_true: bool,
    /// Since when.
    pub at: Timestamp,
}

impl Since {
    fn of(seen: &v1::Condition) -> Self {
        Self {
            condition: seen.type_.clone(),
            is_true: seen.status == "True",
            at: seen.last_transition_time.0,
        }
    }
}

impl Said {
    /// Whether nothing has to be written for it to say what is wanted.
    #[must_use]
    pub fn says(&self, wanted: &Self) -> bool {
        let nominated = wanted.nominated.is_none() || wanted.nominated == self.nominated;
        self.text == wanted.text && nominated
    }

    /// Since when a condition has had a status, if it has it.
    #[must_use]
    pub fn since(&self, condition: &str, is_true: bool) -> Option<Timestamp> {
        let same = |one: &&Since| one.condition == condition && one.is_true == is_true;
        self.since.iter().find(same).map(|one| one.at)
    }

    fn with_text(text: u64) -> Self {
        Self {
            text,
            kind: text,
            ..Self::default()
        }
    }
}

/// A condition as kinds without a type of ours have it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SeenCondition {
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Why.
    pub reason: String,
    /// In words.
    pub message: String,
    /// Since when.
    pub last_transition_time: Option<v1::Time>,
    /// The generation it speaks of.
    pub observed_generation: Option<i64>,
}

impl SeenCondition {
    fn since(&self) -> Option<Since> {
        Some(Since {
            condition: self.kind.clone(),
            is_true: self.status == "True",
            at: self.last_transition_time.as_ref()?.0,
        })
    }
}

/// Counts and phase, in one order for what is wanted and what is seen.
type Numbers = [Option<i64>; 8];

fn gang_digest<'a>(
    phase: &str,
    selector: Option<&str>,
    numbers: Numbers,
    conditions: impl Iterator<Item = (&'a str, bool, &'a str, &'a str, i64)>,
) -> u64 {
    let conditions: Vec<_> = conditions.collect();
    digest::of(&(phase, selector, numbers, conditions))
}

fn entry<'a>(
    found: &'a Condition,
    kind: &'a str,
    is_true: bool,
    generation: i64,
) -> (&'a str, bool, &'a str, &'a str, i64) {
    (kind, is_true, found.reason, &found.message, generation)
}

/// The same of a condition that was read.
fn seen_entry(found: &v1::Condition) -> (&str, bool, &str, &str, i64) {
    let generation = found.observed_generation.unwrap_or(0);
    let is_true = found.status == "True";
    (
        &found.type_,
        is_true,
        &found.reason,
        &found.message,
        generation,
    )
}

/// What is to be said of a gang's object; `None` where there is nothing to say on that kind.
#[must_use]
pub fn wanted_of_gang(status: &GangStatus) -> Option<Said> {
    let number = |count: u32| Some(i64::from(count));
    let text = match status.source {
        Source::Muster => gang_digest(
            status.phase.as_str(),
            selector(&status.gang.name).as_deref(),
            [
                number(status.min_available),
                number(status.bound),
                number(status.running),
                number(status.succeeded),
                number(status.failed),
                status.position.map(i64::from),
                status.estimated_start.map(|at| timestamp(at).as_second()),
                status.max_hops.map(i64::from),
            ],
            status
                .conditions
                .iter()
                .map(|one| entry(one, one.kind, one.status, status.observed_generation)),
        ),
        Source::Volcano => gang_digest(
            volcano_phase(status.phase),
            None,
            volcano_numbers(status.running, status.succeeded, status.failed),
            scheduled(status)
                .map(|one| entry(one, volcano_condition(one.status), true, 0))
                .into_iter(),
        ),
        Source::Upstream => {
            let one = upstream_condition(status)?;
            upstream_digest(entry(
                &one,
                one.kind,
                one.status,
                status.observed_generation,
            ))
        }
    };
    Some(Said::with_text(text))
}

fn volcano_numbers(running: u32, succeeded: u32, failed: u32) -> Numbers {
    let number = |count: u32| Some(i64::from(count));
    [
        number(running),
        number(succeeded),
        number(failed),
        None,
        None,
        None,
        None,
        None,
    ]
}

fn upstream_digest(condition: (&str, bool, &str, &str, i64)) -> u64 {
    gang_digest("", None, [None; 8], std::iter::once(condition))
}

/// What is to be said of a queue.
#[must_use]
pub fn wanted_of_queue(status: &QueueStatus) -> Said {
    queue_said(&queue_counts(status), &queue_books(status))
}

fn queue_said(counts: &[u32; QUEUE_FIELDS.len()], books: &QueueBooks) -> Said {
    Said::with_text(digest::of(&(counts, books)))
}

/// The conditions of a Queue.
#[must_use]
pub fn conditions_of_queue(status: &QueueStatus) -> Vec<(String, bool)> {
    vec![("Ready".to_owned(), status.ready.status)]
}

/// What is to be said of a topology.
#[must_use]
pub fn wanted_of_topology(status: &TopologyStatus) -> Said {
    let ready = entry(
        &status.ready,
        status.ready.kind,
        status.ready.status,
        status.observed_generation,
    );
    let number = |count: u32| Some(i64::from(count));
    let domains: Vec<i64> = status.domains.iter().map(|one| i64::from(*one)).collect();
    let numbers = (number(status.nodes), number(status.outside), domains);
    Said::with_text(digest::of(&(numbers, vec![ready])))
}

/// The conditions of a Topology.
#[must_use]
pub fn conditions_of_topology(status: &TopologyStatus) -> Vec<(String, bool)> {
    vec![(status.ready.kind.to_owned(), status.ready.status)]
}

/// What is to be said on a pod.
#[must_use]
pub fn wanted_on_pod(order: &PodWaits) -> Said {
    Said {
        nominated: order.nominated.clone(),
        ..pod_waits(order.reason, &order.message)
    }
}

fn pod_waits(reason: &str, message: &str) -> Said {
    Said {
        text: digest::of(&(reason, message)),
        kind: digest::of_kind(reason, message),
        ..Said::default()
    }
}

impl From<&crd::PodGroup> for Said {
    fn from(group: &crd::PodGroup) -> Self {
        let Some(status) = &group.status else {
            return Self::default();
        };
        let count = |count: Option<i32>| count.map(i64::from);
        let text = gang_digest(
            status.phase.as_deref().unwrap_or_default(),
            status.selector.as_deref(),
            [
                count(status.min_available),
                count(status.bound),
                count(status.running),
                count(status.succeeded),
                count(status.failed),
                count(status.position),
                status.estimated_start.as_ref().map(|at| at.0.as_second()),
                count(status.max_hops),
            ],
            status.conditions.iter().map(seen_entry),
        );
        Self {
            since: status.conditions.iter().map(Since::of).collect(),
            ..Self::with_text(text)
        }
    }
}

impl From<&crd::Topology> for Said {
    fn from(topology: &crd::Topology) -> Self {
        let Some(status) = &topology.status else {
            return Self::default();
        };
        let conditions: Vec<_> = status.conditions.iter().map(seen_entry).collect();
        let count = |count: Option<i32>| count.map(i64::from);
        let domains: Vec<i64> = status.domains.iter().map(|one| i64::from(*one)).collect();
        let numbers = (count(status.nodes), count(status.nodes_outside), domains);
        Self {
            since: status.conditions.iter().map(Since::of).collect(),
            ..Self::with_text(digest::of(&(numbers, conditions)))
        }
    }
}

impl From<&volcano::PodGroup> for Said {
    fn from(group: &volcano::PodGroup) -> Self {
        let status = &group.status;
        let conditions = status.conditions.iter().map(|one| {
            let is_true = one.status == "True";
            (
                one.kind.as_str(),
                is_true,
                one.reason.as_str(),
                one.message.as_str(),
                0,
            )
        });
        let text = gang_digest(
            &status.phase,
            None,
            volcano_numbers(status.running, status.succeeded, status.failed),
            conditions,
        );
        Self {
            since: status
                .conditions
                .iter()
                .filter_map(SeenCondition::since)
                .collect(),
            ..Self::with_text(text)
        }
    }
}

impl From<&upstream::PodGroup> for Said {
    fn from(group: &upstream::PodGroup) -> Self {
        let mut ours = group.status.conditions.iter();
        let Some(one) = ours.find(|one| one.kind == INITIALLY_SCHEDULED) else {
            return Self::default();
        };
        let text = upstream_digest((
            &one.kind,
            one.status == "True",
            &one.reason,
            &one.message,
            one.observed_generation.unwrap_or(0),
        ));
        Self {
            since: one.since().into_iter().collect(),
            ..Self::with_text(text)
        }
    }
}

impl From<&crd::Queue> for Said {
    fn from(queue: &crd::Queue) -> Self {
        let Some(status) = &queue.status else {
            return Self::default();
        };
        let counts = [
            status.pending,
            status.inqueue,
            status.running,
            status.unknown,
            status.finished,
            status.failed,
        ];
        // What is not there says nothing, not even zero.
        let counts: Option<Vec<u32>> = counts
            .into_iter()
            .map(|count| u32::try_from(count?).ok())
            .collect();
        let counts = counts.and_then(|counts| <[u32; 6]>::try_from(counts).ok());
        let ready = status.conditions.iter().find(|one| one.type_ == "Ready");
        let (Some(counts), Some(ready)) = (counts, ready) else {
            return Self::default();
        };
        let books = QueueBooks {
            usage: status.usage.clone().unwrap_or_default(),
            flow: status.flow.clone().unwrap_or_default(),
            flow_at: status
                .flow_time
                .as_ref()
                .map_or(0, |at| at.0.as_millisecond()),
            share: status.fair_share.clone().unwrap_or_default(),
            budget_left: status.budget_left.unwrap_or(-1),
            ready: (
                ready.status == "True",
                ready.reason.clone(),
                ready.message.clone(),
                ready.observed_generation.unwrap_or(0),
            ),
        };
        let since = Since {
            condition: ready.type_.clone(),
            is_true: ready.status == "True",
            at: ready.last_transition_time.0,
        };
        Self {
            since: vec![since],
            ..queue_said(&counts, &books)
        }
    }
}

/// What a pod says about why it waits, if it does.
#[must_use]
pub fn on_pod(pod: &slim::Pod) -> Option<Said> {
    let mut conditions = pod.status.conditions.iter();
    let found = conditions.find(|one| one.kind == "PodScheduled" && one.status == "False")?;
    Some(Said {
        nominated: Some(pod.status.nominated_node_name.as_str().into()),
        ..pod_waits(&found.reason, &found.message)
    })
}

/// The conditions of a gang's object as they are written: type and status.
#[must_use]
pub fn conditions_of_gang(status: &GangStatus) -> Vec<(String, bool)> {
    match status.source {
        Source::Muster => status
            .conditions
            .iter()
            .map(|one| (one.kind.to_owned(), one.status))
            .collect(),
        Source::Volcano => scheduled(status)
            .map(|one| (volcano_condition(one.status).to_owned(), true))
            .into_iter()
            .collect(),
        Source::Upstream => upstream_condition(status)
            .map(|one| (one.kind.to_owned(), one.status))
            .into_iter()
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status;
    use muster_model::GangKey;
    use muster_model::GangPhase;
    use muster_model::units::Time;
    use serde_json::{Value, json};

    fn statuses(source: Source) -> Vec<GangStatus> {
        let condition = |kind, status, message: &str| Condition {
            kind,
            status,
            reason: "Reason",
            message: message.to_owned(),
        };
        let mut all = Vec::new();
        for phase in GangPhase::ALL {
            for position in [None, Some(3)] {
                for scheduled in [false, true] {
                    all.push(GangStatus {
                        gang: GangKey::default(),
                        source,
                        uid: "u".into(),
                        observed_generation: 4,
                        phase,
                        min_available: 3,
                        bound: 2,
                        running: 1,
                        succeeded: 0,
                        failed: 6,
                        position,
                        estimated_start: position.map(|_| Time(1_700_000_000_000)),
                        max_hops: position,
                        conditions: vec![
                            condition("Admitted", true, ""),
                            condition("Scheduled", scheduled, "why \u{e4}"),
                        ],
                    });
                }
            }
        }
        all
    }

    /// What the API server holds after a merge patch on an object without a status.
    fn stored(patch: &Value) -> Value {
        let mut status = patch["status"].clone();
        status
            .as_object_mut()
            .unwrap()
            .retain(|_, value| !value.is_null());
        json!({
            "apiVersion": "v1", "kind": "PodGroup", "status": status,
            "metadata": {"name": "g", "namespace": "n"}, "spec": {},
        })
    }

    fn at(kind: &str, _: bool) -> Timestamp {
        Timestamp::from_second(if kind == "Admitted" { 5 } else { 7 }).unwrap()
    }

    #[test]
    fn what_is_written_is_what_is_read_back() {
        for source in [Source::Muster, Source::Volcano, Source::Upstream] {
            for status in statuses(source) {
                let object = stored(&status::patch(&status, &at));
                let read = |object: Value| -> Said {
                    match source {
                        Source::Muster => {
                            let read: crd::PodGroup = serde_json::from_value(object).unwrap();
                            Said::from(&read)
                        }
                        Source::Volcano => {
                            let read: volcano::PodGroup = serde_json::from_value(object).unwrap();
                            Said::from(&read)
                        }
                        Source::Upstream => {
                            let read: upstream::PodGroup = serde_json::from_value(object).unwrap();
                            Said::from(&read)
                        }
                    }
                };
                let (wanted, seen) = (wanted_of_gang(&status).unwrap(), read(object));
                assert_eq!(wanted.text, seen.text, "{status:?}");
                for (condition, is_true) in conditions_of_gang(&status) {
                    let since = seen.since(&condition, is_true);
                    assert_eq!(since, Some(at(&condition, is_true)), "{condition}");
                }
            }
        }
    }

    #[test]
    fn a_status_that_differs_in_anything_but_times_is_another_one() {
        let all = statuses(Source::Muster);
        let digests: std::collections::BTreeSet<u64> = all
            .iter()
            .map(|status| wanted_of_gang(status).unwrap().text)
            .collect();
        assert_eq!(digests.len(), all.len());
    }

    #[test]
    fn a_queue_without_counts_does_not_say_zero() {
        let status = QueueStatus {
            queue: "q".into(),
            uid: "u".into(),
            ..QueueStatus::default()
        };
        let read = |status: Value| {
            let queue: crd::Queue = serde_json::from_value(json!({
                "apiVersion": "muster.dev/v1alpha1", "kind": "Queue",
                "metadata": {"name": "q"}, "spec": {}, "status": status,
            }))
            .unwrap();
            Said::from(&queue).text
        };
        let zero = status::queue_patch(&status, &|_, _| Timestamp::UNIX_EPOCH)["status"].clone();
        assert_eq!(read(zero), wanted_of_queue(&status).text);
        assert_ne!(read(json!({})), wanted_of_queue(&status).text);
        assert_ne!(read(Value::Null), wanted_of_queue(&status).text);
    }

    #[test]
    fn why_a_pod_waits_is_read_from_its_condition() {
        let order = PodWaits {
            pod: Default::default(),
            reason: "Unschedulable",
            message: "0/3 nodes".into(),
            nominated: None,
        };
        let pod = |status: &str| -> slim::Pod {
            serde_json::from_value(
                json!({"metadata": {"name": "p"}, "status": {"conditions": [{
                    "type": "PodScheduled", "status": status, "reason": "Unschedulable",
                    "message": "0/3 nodes",
                }]}}),
            )
            .unwrap()
        };
        let seen = on_pod(&pod("False")).unwrap();
        assert!(seen.says(&wanted_on_pod(&order)));
        assert_eq!(on_pod(&pod("True")), None);
        // Where nobody is to be named, somebody else's word stays; else it has to be ours.
        let named = |node: &str| PodWaits {
            nominated: Some(node.into()),
            ..order.clone()
        };
        assert!(seen.says(&wanted_on_pod(&named(""))));
        assert!(!seen.says(&wanted_on_pod(&named("n1"))));
        let mut pod = pod("False");
        pod.status.nominated_node_name = "n1".to_owned();
        let seen = on_pod(&pod).unwrap();
        assert!(seen.says(&wanted_on_pod(&order)));
        assert!(seen.says(&wanted_on_pod(&named("n1"))));
        assert!(!seen.says(&wanted_on_pod(&named(""))));
    }
}
