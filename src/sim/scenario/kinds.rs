//! The kinds a scenario may contain, and what each is read as.
//!
//! Objects are checked against the schemas of their full types, so that a typo is noticed even in
//! a field that Muster does not read; then they are converted as live ones are.

use super::behaviour::Behaviour;
use super::jobs;
use super::model::{Amount, BudgetPlan, JobPlan, Needed, Object, PodPlan};
use super::schema;
use crate::api::convert::{self, Reading};
use crate::api::yaml::short;
use crate::api::{crd, slim, upstream, volcano};
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::api::{batch, policy, scheduling, storage};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A kind that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Node,
    Pod,
    Job,
    MusterPodGroup,
    VolcanoPodGroup,
    UpstreamPodGroup,
    Queue,
    PriorityClass,
    Namespace,
    DisruptionBudget,
    /// Read, and without effect in this version.
    Inert,
}

/// A kind with the schema of its full type.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) kind: Kind,
    pub(super) schema: fn() -> Value,
}

const fn known<T: JsonSchema>(kind: Kind) -> Known {
    Known {
        kind,
        schema: schema::of::<T>,
    }
}

/// A kind whose type is not at hand.
const fn unchecked(kind: Kind) -> Known {
    Known {
        kind,
        schema: || Value::Bool(true),
    }
}

/// All kinds, by API version and name.
#[rustfmt::skip]
const KINDS: &[(&str, &str, Known)] = &[
    ("v1", "Node", known::<core::Node>(Kind::Node)),
    ("v1", "Pod", known::<core::Pod>(Kind::Pod)),
    ("batch/v1", "Job", known::<batch::v1::Job>(Kind::Job)),
    ("muster.dev/v1alpha1", "PodGroup", known::<crd::PodGroup>(Kind::MusterPodGroup)),
    ("muster.dev/v1alpha1", "Queue", known::<crd::Queue>(Kind::Queue)),
    ("scheduling.volcano.sh/v1beta1", "PodGroup", unchecked(Kind::VolcanoPodGroup)),
    ("scheduling.k8s.io/v1beta1", "PodGroup",
        known::<scheduling::v1beta1::PodGroup>(Kind::UpstreamPodGroup)),
    ("scheduling.k8s.io/v1", "PriorityClass",
        known::<scheduling::v1::PriorityClass>(Kind::PriorityClass)),
    ("v1", "Namespace", known::<core::Namespace>(Kind::Namespace)),
    ("v1", "ConfigMap", known::<core::ConfigMap>(Kind::Inert)),
    ("v1", "PersistentVolume", known::<core::PersistentVolume>(Kind::Inert)),
    ("v1", "PersistentVolumeClaim", known::<core::PersistentVolumeClaim>(Kind::Inert)),
    ("v1", "Service", known::<core::Service>(Kind::Inert)),
    ("v1", "ServiceAccount", known::<core::ServiceAccount>(Kind::Inert)),
    ("policy/v1", "PodDisruptionBudget", known::<policy::v1::PodDisruptionBudget>(Kind::DisruptionBudget)),
    ("storage.k8s.io/v1", "CSINode", known::<storage::v1::CSINode>(Kind::Inert)),
    ("storage.k8s.io/v1", "StorageClass", known::<storage::v1::StorageClass>(Kind::Inert)),
    ("muster.dev/v1alpha1", "BatchJob", unchecked(Kind::Inert)),
    ("muster.dev/v1alpha1", "QueueJob", unchecked(Kind::Inert)),
    ("muster.dev/v1alpha1", "Scheduling", unchecked(Kind::Inert)),
    ("muster.dev/v1alpha1", "SchedulingSpec", unchecked(Kind::Inert)),
    ("muster.dev/v1alpha1", "Testbed", unchecked(Kind::Inert)),
    ("muster.dev/v1alpha1", "Topology", unchecked(Kind::Inert)),
];

/// What stands before the list of all kinds in a message.
pub(super) const KNOWN_KINDS: &str = "; known kinds: ";

/// Looks a kind up.
pub(super) fn find(api_version: &str, kind: &str) -> Result<Known, String> {
    let found = |(version, name, _): &&(&str, &str, _)| *version == api_version && *name == kind;
    if let Some((_, _, known)) = KINDS.iter().find(found) {
        return Ok(*known);
    }
    let same_name = KINDS.iter().filter(|(_, name, _)| *name == kind);
    let versions: Vec<_> = same_name.map(|(version, ..)| *version).collect();
    if !versions.is_empty() {
        let (found, versions) = (short(api_version), versions.join(", "));
        return Err(format!(
            "kind {kind} is not known in apiVersion {found:?}; known in: {versions}"
        ));
    }
    let mut names: Vec<_> = KINDS.iter().map(|(_, name, _)| *name).collect();
    names.sort_unstable();
    names.dedup();
    let one = kind.strip_suffix('s').unwrap_or(kind);
    let same = |name: &&&str| name.eq_ignore_ascii_case(kind) || name.eq_ignore_ascii_case(one);
    let hint = match names.iter().find(same) {
        Some(name) => format!(": did you mean {name}?"),
        None if kind == "SchedulerConfiguration" => ": a configuration is given by --config".into(),
        None => KNOWN_KINDS.to_owned() + &names.join(", "),
    };
    Err(format!("kind {:?} is not known{hint}", short(kind)))
}

impl Kind {
    /// Whether objects of this kind live in a namespace.
    pub(super) const fn is_namespaced(self) -> bool {
        !matches!(
            self,
            Self::Node | Self::Queue | Self::PriorityClass | Self::Namespace
        )
    }

    /// What is played for an object; `None` for kinds without effect.
    pub(super) fn object(
        self,
        value: &Value,
        behaviour: &Behaviour,
        reading: &Reading,
    ) -> Result<Option<Object>, String> {
        let object = match self {
            Self::Node => {
                let node = read::<slim::Node>(value)?;
                none(&convert::unreadable_amounts(&node))?;
                Object::Node(convert::node(&node))
            }
            Self::Pod => Object::Pod(Box::new(pod(value, behaviour, None, reading)?)),
            Self::Job => Object::Job(Box::new(job(value, behaviour, reading)?)),
            Self::MusterPodGroup => {
                let group = read::<crd::PodGroup>(value)?;
                crd::validate(&group).or_else(|problems| none(&problems))?;
                Object::Gang(Box::new(convert::muster_gang(&group)))
            }
            Self::VolcanoPodGroup => {
                let group = read::<volcano::PodGroup>(value)?;
                Object::Gang(Box::new(convert::volcano_gang(&group)))
            }
            Self::UpstreamPodGroup => {
                let group = read::<upstream::PodGroup>(value)?;
                Object::Gang(Box::new(convert::upstream_gang(&group)))
            }
            Self::Queue => {
                let queue = read::<crd::Queue>(value)?;
                crd::validate_queue(&queue).or_else(|problems| none(&problems))?;
                Object::Queue(convert::queue(&queue))
            }
            Self::PriorityClass => {
                let class = read::<slim::PriorityClass>(value)?;
                Object::PriorityClass(convert::priority_class(&class))
            }
            Self::Namespace => {
                let namespace = read::<slim::Namespace>(value)?;
                Object::Namespace(convert::namespace(&namespace))
            }
            Self::DisruptionBudget => {
                let budget = read::<slim::PodDisruptionBudget>(value)?;
                Object::Budget(Box::new(BudgetPlan {
                    spec: convert::disruption_budget(&budget),
                    needed: needed(value)?,
                }))
            }
            Self::Inert => return Ok(None),
        };
        Ok(Some(object))
    }
}

/// From what it follows how many pods of a PodDisruptionBudget may go, unless its status says so.
fn needed(value: &Value) -> Result<Option<Needed>, String> {
    if !value["status"]["disruptionsAllowed"].is_null() {
        return Ok(None);
    }
    let field = |name: &str| {
        let found = &value["spec"][name];
        (!found.is_null()).then(|| amount(found).map_err(|error| format!("spec.{name}: {error}")))
    };
    match (field("minAvailable"), field("maxUnavailable")) {
        (Some(_), Some(_)) => {
            Err("spec.minAvailable and spec.maxUnavailable exclude each other".to_owned())
        }
        (Some(least), None) => Ok(Some(Needed::Available(least?))),
        (None, Some(most)) => Ok(Some(Needed::Unavailable(most?))),
        (None, None) => Ok(Some(Needed::Available(Amount::Count(0)))),
    }
}

/// A number of pods, or a percentage.
fn amount(value: &Value) -> Result<Amount, String> {
    let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
    let percent = value
        .as_str()
        .and_then(|text| text.strip_suffix('%')?.parse().ok());
    let amount = number.map(Amount::Count).or(percent.map(Amount::Percent));
    amount.ok_or_else(|| format!("{value} is neither a number of pods nor a percentage"))
}

fn job(value: &Value, behaviour: &Behaviour, reading: &Reading) -> Result<JobPlan, String> {
    let made = jobs::expand(value)?;
    let plan = |value: &Value| {
        let of_template = Behaviour::of(value)?;
        pod(value, &of_template, Some(behaviour), reading)
    };
    let text = |field: &str| value["metadata"][field].as_str().unwrap_or_default();
    Ok(JobPlan {
        namespace: text("namespace").to_owned(),
        name: text("name").to_owned(),
        pods: made.pods.iter().map(plan).collect::<Result<_, _>>()?,
        parallelism: made.parallelism,
    })
}

/// What `status.phase` of a pod may be; nothing is `Pending`.
const PHASES: [&str; 6] = ["", "Pending", "Running", "Succeeded", "Failed", "Unknown"];

fn pod(
    value: &Value,
    behaviour: &Behaviour,
    owner: Option<&Behaviour>,
    reading: &Reading,
) -> Result<PodPlan, String> {
    let mut pod = read::<slim::Pod>(value)?;
    let phase = pod.status.phase.as_str();
    if !PHASES.contains(&phase) {
        let (found, known) = (short(phase), PHASES[1..].join(", "));
        return Err(format!("status.phase: {found:?} is none of {known}"));
    }
    // The simulated API server knows one scheduler, and so defaults to it.
    if pod.spec.scheduler_name.is_empty()
        && let Some(name) = reading.scheduler_names.first()
    {
        pod.spec.scheduler_name.clone_from(name);
    }
    Ok(PodPlan {
        spec: convert::pod(&pod, reading),
        run: behaviour.run(owner),
    })
}

/// Fine if there are no problems.
fn none(problems: &[String]) -> Result<(), String> {
    if problems.is_empty() {
        return Ok(());
    }
    Err(problems.join("; "))
}

fn read<T: DeserializeOwned>(value: &Value) -> Result<T, String> {
    T::deserialize(value).map_err(|error| {
        let words = error.to_string();
        words.replace("expected i32", "expected a whole number up to 2147483647")
    })
}
