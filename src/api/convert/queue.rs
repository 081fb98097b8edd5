//! Queues.

use super::filled;
use crate::written::{amounts, selector_of};
use crate::{crd, duration};
use muster_model::resources::CORE;
use muster_model::units::{self as quantity, Time};
use muster_model::{
    DEFAULT_OVER_SHARE, DEFAULT_RESERVE_AFTER, Origin, QueueOrder, QueueSpec, Reservation,
};

/// Milliseconds of a minute, and millionths of a core: a core-minute in the core's units.
const CORE_MINUTE: u64 = 60_000;

/// A queue. A weight below 1, which the API server refuses, counts as 1; what cannot be read
/// makes the queue invalid.
#[must_use]
pub fn queue(queue: &crd::Queue) -> QueueSpec {
    let spec = &queue.spec;
    let mut problems = Vec::new();
    let mut span = |field: &str, text: Option<&String>| {
        let problem = |error| problems.push(format!("spec.{field}: {error}"));
        duration::parse(text?).map_err(problem).ok()
    };
    let default_lifetime = span("defaultLifetime", spec.default_lifetime.as_ref());
    let preemption = spec.preemption.as_ref();
    let min_runtime = preemption.and_then(|one| one.min_runtime.as_ref());
    let min_runtime = span("preemption.minRuntime", min_runtime);
    let reserve_after = span("reserveAfter", spec.reserve_after.as_ref());
    let guaranteed = amounts("spec.guaranteed", &spec.guaranteed, &mut problems);
    let limit = amounts("spec.limit", &spec.limit, &mut problems);
    for (name, most) in &limit {
        let floor = guaranteed.iter().find(|(one, _)| one == name);
        if floor.is_some_and(|(_, floor)| floor > most) {
            problems.push(format!("spec.limit.{name} is below spec.guaranteed.{name}"));
        }
    }
    let selector = spec.namespace_selector.as_ref();
    let namespace_selector = selector.map(|one| selector_of(one, &mut problems));
    QueueSpec {
        name: queue.metadata.name.clone().unwrap_or_default(),
        origin: Origin::Muster,
        uid: queue.metadata.uid.clone().unwrap_or_default(),
        generation: queue.metadata.generation.unwrap_or(0),
        parent: filled(spec.parent.as_ref()),
        tier: spec.priority,
        weight: u32::try_from(spec.weight).unwrap_or(1).max(1),
        guaranteed,
        limit,
        over_share: thousandths(spec.over_share_factor),
        excess_budget: spec.excess_budget.map(|minutes| {
            let minutes = u64::try_from(minutes).unwrap_or(0);
            minutes.saturating_mul(CORE_MINUTE)
        }),
        default_lifetime,
        min_runtime,
        movable: preemption.and_then(|one| one.movable),
        order: match spec.order {
            crd::QueueOrder::Priority => QueueOrder::Priority,
            crd::QueueOrder::Fifo => QueueOrder::Fifo,
        },
        reservation: match spec.reservation {
            crd::QueueReservation::Easy => Reservation::Easy,
            crd::QueueReservation::Strict => Reservation::Strict,
            crd::QueueReservation::None => Reservation::None,
        },
        reserve_after: reserve_after.unwrap_or(DEFAULT_RESERVE_AFTER),
        namespace_selector,
        max_priority_class: filled(spec.max_priority_class_name.as_ref()),
        saved_flow: saved_flow(queue.status.as_ref()),
        is_open: spec.state == crd::QueueState::Open,
        invalid: (!problems.is_empty()).then(|| problems.join("; ")),
    }
}

/// What the status says of the flow. Who may write it is who may write queues.
fn saved_flow(status: Option<&crd::QueueStatus>) -> Option<(u64, Time)> {
    let status = status?;
    let flow = quantity::Quantity::parse(status.flow.as_deref()?).ok()?;
    let worth = u64::try_from(flow.milli_value())
        .ok()?
        .saturating_mul(CORE / 1_000);
    let at = u64::try_from(status.flow_time.as_ref()?.0.as_millisecond()).ok()?;
    Some((worth, Time(at)))
}

/// A factor in thousandths, between 1 and a million times.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it was brought into bounds"
)]
fn thousandths(factor: f64) -> u64 {
    if !factor.is_finite() {
        return DEFAULT_OVER_SHARE;
    }
    (factor.clamp(1.0, 1e6) * 1_000.0).round() as u64
}

#[cfg(test)]
mod tests {
    #![expect(clippy::needless_pass_by_value, reason = "json! reads best as it is")]

    use super::*;
    use muster_model::units::Millis;
    use serde_json::{Value, json};

    fn read(spec: Value) -> QueueSpec {
        let value = json!({
            "apiVersion": "muster.dev/v1alpha1", "kind": "Queue",
            "metadata": {"name": "q"}, "spec": spec,
        });
        queue(&serde_json::from_value(value).unwrap())
    }

    #[test]
    fn a_queue_has_a_weight_of_at_least_one() {
        let found = read(json!({"weight": 3, "priority": -2}));
        assert_eq!((found.weight, found.tier), (3, -2));
        assert_eq!(read(json!({})).weight, 1);
        assert_eq!(read(json!({"weight": -4})).weight, 1);
    }

    #[test]
    fn all_of_a_queue_is_read_in_the_cores_units() {
        let found = read(json!({
            "parent": "p", "guaranteed": {"cpu": 2}, "limit": {"cpu": "2500m", "memory": "1Gi"},
            "overShareFactor": 1.5, "excessBudget": 600, "defaultLifetime": "1h",
            "preemption": {"minRuntime": "10m"}, "order": "FIFO", "maxPriorityClassName": "high", "state": "Closed",
            "namespaceSelector": {
                "matchLabels": {"team": "a"},
                "matchExpressions": [{"key": "x", "operator": "Exists"}],
            },
        }));
        assert_eq!(found.parent.as_deref(), Some("p"));
        assert_eq!(found.guaranteed, [("cpu".to_owned(), 2_000)]);
        assert_eq!(
            found.limit,
            [("cpu".to_owned(), 2_500), ("memory".to_owned(), 1 << 30)]
        );
        assert_eq!(
            (found.over_share, found.excess_budget),
            (1_500, Some(36_000_000))
        );
        assert_eq!(found.default_lifetime, Some(Millis(3_600_000)));
        assert_eq!(found.min_runtime, Some(Millis(600_000)));
        assert_eq!((found.order, found.is_open), (QueueOrder::Fifo, false));
        assert_eq!(found.namespace_selector.unwrap().requirements.len(), 2);
        assert_eq!(found.invalid, None);
    }

    #[test]
    fn what_cannot_be_honoured_makes_it_invalid() {
        let cases = [
            (
                json!({"limit": {"cpu": 1}, "guaranteed": {"cpu": 2}}),
                "spec.limit.cpu is below",
            ),
            (json!({"defaultLifetime": "soon"}), "spec.defaultLifetime: "),
            (
                json!({"preemption": {"minRuntime": "a while"}}),
                "spec.preemption.minRuntime: ",
            ),
            (json!({"limit": {"cpu": "much"}}), "spec.limit"),
            (
                json!({"namespaceSelector": {"matchExpressions": [{"key": "x", "operator": "Like"}]}}),
                "spec.namespaceSelector: operator \"Like\"",
            ),
        ];
        for (spec, problem) in cases {
            let invalid = read(spec).invalid.unwrap();
            assert!(invalid.contains(problem), "{invalid}");
        }
    }
}
