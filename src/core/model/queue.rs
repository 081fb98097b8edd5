//! Queues, priority classes and namespaces as the core is told of them.

use super::{Amounts, Labels, Origin};
use crate::units::{Millis, Time};

/// The queue that exists by itself.
pub const DEFAULT_QUEUE: &str = "default";

/// A queue.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct QueueSpec {
    /// `metadata.name`.
    pub name: String,
    /// Whose it is.
    pub origin: Origin,
    /// `metadata.uid`; empty for the queue that exists by itself.
    pub uid: String,
    /// `metadata.generation`.
    pub generation: i64,
    /// `spec.parent`: the queue whose share it has a part of; `None`: the whole cluster's.
    pub parent: Option<String>,
    /// `spec.priority`: queues of a higher tier go first.
    pub tier: i32,
    /// `spec.weight`: its part among its siblings.
    pub weight: u32,
    /// `spec.guaranteed`: what others' gangs with an unlimited lifetime leave free for it.
    pub guaranteed: Amounts,
    /// `spec.limit`: the most that its gangs may hold.
    pub limit: Amounts,
    /// `spec.overShareFactor` in thousandths: how far gangs with an unlimited lifetime may raise
    /// its flow, in parts of its fair share.
    pub over_share: u64,
    /// `spec.excessBudget` in core-milliseconds; `None`: an hour of its fair share.
    pub excess_budget: Option<u64>,
    /// `spec.defaultLifetime`, of gangs that name none.
    pub default_lifetime: Option<Millis>,
    /// `spec.preemption.minRuntime`: for so long from its start nobody has a gang of it go.
    pub min_runtime: Option<Millis>,
    /// `spec.preemption.movable`: whether its gangs may be moved; `None`: as the nearest queue above it
    /// says.
    pub movable: Option<bool>,
    /// `spec.order`.
    pub order: QueueOrder,
    /// `spec.reservation`: whether its head is passed by.
    pub reservation: Reservation,
    /// `spec.reserveAfter`: how long its head waits before a place is held for it although nobody
    /// knows when that will be free.
    pub reserve_after: Millis,
    /// `spec.namespaceSelector`: who may use it; `None`: all.
    pub namespace_selector: Option<LabelSelector>,
    /// `spec.maxPriorityClassName`: no gang in it may have a higher priority.
    pub max_priority_class: Option<String>,
    /// `spec.state`: whether gangs that hold nothing yet may start.
    pub is_open: bool,
    /// `status.flow`, in worth, and its time: what an earlier process remembered.
    pub saved_flow: Option<(u64, Time)>,
    /// What cannot be honoured as it is written, in words; the queue takes no gangs while there is
    /// something.
    pub invalid: Option<String>,
}

/// A queue of Volcano's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct VolcanoQueueSpec {
    /// What it says in our words.
    pub queue: QueueSpec,
    /// It is ours to honour: we stand in for Volcano's scheduler, or it is claimed.
    pub counts: bool,
}

/// In which order gangs leave a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum QueueOrder {
    /// The higher priority first, then the earlier submission.
    #[default]
    Priority,
    /// The earlier submission first, whatever the priority.
    Fifo,
}

/// Who may pass the head of a queue that does not fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Reservation {
    /// Everybody who fits.
    None,
    /// Who does not delay it: its place is reserved.
    #[default]
    Easy,
    /// The same, and nobody of its own queue.
    Strict,
}

/// `spec.reserveAfter` where it is not given.
pub const DEFAULT_RESERVE_AFTER: Millis = Millis::from_secs(300);

/// `spec.overShareFactor` where it is not given, in thousandths.
pub const DEFAULT_OVER_SHARE: u64 = 1_200;

impl Default for QueueSpec {
    fn default() -> Self {
        Self {
            name: DEFAULT_QUEUE.to_owned(),
            origin: Origin::Muster,
            uid: String::new(),
            generation: 0,
            parent: None,
            tier: 0,
            weight: 1,
            guaranteed: Amounts::new(),
            limit: Amounts::new(),
            over_share: DEFAULT_OVER_SHARE,
            excess_budget: None,
            default_lifetime: None,
            min_runtime: None,
            movable: None,
            order: QueueOrder::default(),
            reservation: Reservation::default(),
            reserve_after: DEFAULT_RESERVE_AFTER,
            namespace_selector: None,
            max_priority_class: None,
            is_open: true,
            saved_flow: None,
            invalid: None,
        }
    }
}

/// Chooses objects by their labels (`metav1.LabelSelector`): all of its requirements must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LabelSelector {
    /// What must hold.
    pub requirements: Vec<LabelRequirement>,
}

/// One requirement on a label.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LabelRequirement {
    /// The label's name.
    pub key: String,
    /// What its value must be.
    pub holds: LabelCondition,
}

/// What a label must be.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum LabelCondition {
    /// One of these.
    In(Vec<String>),
    /// None of these, or absent.
    NotIn(Vec<String>),
    /// There.
    Exists,
    /// Absent.
    DoesNotExist,
}

impl LabelSelector {
    /// One that nothing satisfies: what an absent selector means in some places.
    #[must_use]
    pub fn nothing() -> Self {
        Self {
            requirements: vec![LabelRequirement {
                key: String::new(),
                holds: LabelCondition::In(Vec::new()),
            }],
        }
    }

    /// Whether labels satisfy it.
    #[must_use]
    pub fn matches(&self, labels: &Labels) -> bool {
        self.matches_with(|key| labels.get(key).map(String::as_str))
    }

    /// The same by who knows the value of a label.
    #[must_use]
    pub fn matches_with<'a>(&self, value_of: impl Fn(&str) -> Option<&'a str>) -> bool {
        let among = |values: &[String], value: &str| values.iter().any(|one| one == value);
        self.requirements.iter().all(|one| {
            let value = value_of(&one.key);
            match &one.holds {
                LabelCondition::In(values) => value.is_some_and(|value| among(values, value)),
                LabelCondition::NotIn(values) => value.is_none_or(|value| !among(values, value)),
                LabelCondition::Exists => value.is_some(),
                LabelCondition::DoesNotExist => value.is_none(),
            }
        })
    }
}

/// From this priority on a pod is critical for the system (source: Kubernetes'
/// `SystemCriticalPriority`): it never makes room for others.
pub const CRITICAL_PRIORITY: i32 = 2_000_000_000;

/// Whether a priority class is one of the system's own (source: Kubernetes' `SystemPriorityClassPrefix`).
#[must_use]
pub fn is_critical_class(name: &str) -> bool {
    name.starts_with("system-")
}

/// A `scheduling.k8s.io/v1` PriorityClass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct PriorityClassSpec {
    /// `metadata.name`.
    pub name: String,
    /// `value`.
    pub value: i32,
    /// `preemptionPolicy: Never`: who has it makes nobody go.
    pub never_preempts: bool,
    /// `globalDefault`: what pods without a class get.
    pub global_default: bool,
}

/// A namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct NamespaceSpec {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.labels`.
    pub labels: Labels,
    /// Annotation `muster.dev/queue`: the queue of gangs here that name none.
    pub queue: Option<String>,
    /// Whether its label `muster.dev/scheduler-name` claims its groups for us before they have pods.
    pub claims: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selector_matches_as_kubernetes_matches() {
        let labels = Labels::from([("team".to_owned(), "a".to_owned())]);
        let matches = |key: &str, holds| {
            let requirements = vec![LabelRequirement {
                key: key.to_owned(),
                holds,
            }];
            LabelSelector { requirements }.matches(&labels)
        };
        let a = || vec!["a".to_owned()];
        assert!(matches("team", LabelCondition::In(a())));
        assert!(!matches("team", LabelCondition::NotIn(a())));
        assert!(matches("other", LabelCondition::NotIn(a())));
        assert!(!matches("other", LabelCondition::In(a())));
        assert!(matches("team", LabelCondition::Exists));
        assert!(matches("other", LabelCondition::DoesNotExist));
        assert!(
            LabelSelector::default().matches(&labels),
            "an empty one chooses all"
        );
    }
}
