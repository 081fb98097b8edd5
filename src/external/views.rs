//! What is shown of Testbeds, BatchJobs and Schedulings: what their specs and statuses say, without what only
//! controllers need.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::ObjectMeta;
use muster_api::condition::Condition;
use muster_api::crd::{
    BatchJob, BatchJobState, QueuedJob, Scheduling, SchedulingReference, SchedulingState,
    SlotBased, SlotState, Testbed,
};
use muster_api::crd::{ScheduledJob, TestbedStatus};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// The annotation of a BatchJob with what a scheduler keeps there for itself: a JSON object.
pub const FREE_STORE: &str = "muster.dev/external-scheduler";
/// How long what a scheduler keeps there may be.
pub const MOST_KEPT: usize = 64 << 10;

/// What is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Testbeds.
    Testbed,
    /// BatchJobs.
    BatchJob,
    /// Schedulings.
    Scheduling,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Testbed, Self::BatchJob, Self::Scheduling];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Testbed => "Testbed",
            Self::BatchJob => "BatchJob",
            Self::Scheduling => "Scheduling",
        }
    }

    /// Its name in paths and rights.
    #[must_use]
    pub const fn resource(self) -> &'static str {
        match self {
            Self::Testbed => "testbeds",
            Self::BatchJob => "batchjobs",
            Self::Scheduling => "schedulings",
        }
    }
}

/// Which object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Its kind.
    pub kind: Kind,
    /// Its namespace; empty for a Testbed.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl Key {
    /// The key of an object of these names.
    #[must_use]
    pub fn new(kind: Kind, namespace: &str, name: &str) -> Self {
        Self {
            kind,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }
}

/// Whose view it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Identity {
    /// Its namespace, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// As of which version this is.
    pub resource_version: String,
}

impl Identity {
    fn of(meta: &ObjectMeta) -> Self {
        Self {
            namespace: meta.namespace.clone(),
            name: meta.name.clone().unwrap_or_default(),
            uid: meta.uid.clone().unwrap_or_default(),
            resource_version: meta.resource_version.clone().unwrap_or_default(),
        }
    }
}

/// A slot.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SlotView {
    /// Its number.
    pub position: i32,
    /// Its node.
    pub node: String,
    /// What the label of the Testbed says on that node.
    pub node_id: String,
    /// Which of the slots of its node it is.
    pub node_position: i32,
    /// Whether somebody sits there.
    pub state: SlotState,
    /// Who, as `namespace/name`.
    pub pod: Option<String>,
    /// Its uid.
    pub pod_uid: Option<String>,
    /// The pod that holds it while it is free.
    #[serde(skip)]
    pub ghost: String,
}

/// What is wrong on a node.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodeProblemView {
    /// The node.
    pub node: String,
    /// In words.
    pub message: String,
}

/// A Testbed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TestbedView {
    /// Which.
    #[serde(flatten)]
    pub identity: Identity,
    /// The label of its nodes.
    pub node_label: String,
    /// How many slots each of them has.
    pub slots_per_node: i32,
    /// What a pod on a slot may ask for.
    pub resources_per_slot: BTreeMap<String, String>,
    /// Nodes with slots.
    pub nodes: i32,
    /// Slots.
    pub total: i32,
    /// Those that may be claimed.
    pub free: i32,
    /// Those whose pod is on its way.
    pub reserved: i32,
    /// Those on which a pod sits.
    pub occupied: i32,
    /// Whether every free slot is held; `null`: nobody has said so yet.
    pub ready: Option<bool>,
    /// Why not, in words.
    pub message: String,
    /// The slots, by their numbers.
    pub slots: Vec<SlotView>,
    /// What is wrong on single nodes.
    pub node_problems: Vec<NodeProblemView>,
}

/// A run of a BatchJob that has ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunView {
    /// Completed, Failed, or Ready: it was released before it ended.
    pub state: BatchJobState,
    /// Which Scheduling ran it.
    pub scheduling: String,
    /// On which Testbed.
    pub testbed: String,
    /// On which slots.
    pub slots: Vec<i32>,
    /// When all its pods first ran, if they did.
    pub started_at: Option<Time>,
    /// When it ended.
    pub completed_at: Option<Time>,
}

/// A BatchJob.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JobView {
    /// Which.
    #[serde(flatten)]
    pub identity: Identity,
    /// What it runs: `Job`, `SparkApplication` or `FlinkDeployment`.
    pub application: &'static str,
    /// How far it is.
    pub state: BatchJobState,
    /// The Scheduling that claims it.
    pub active_scheduling: Option<String>,
    /// Where it runs, or ran last.
    pub testbed: Option<String>,
    /// On which slots.
    pub slots: Vec<i32>,
    /// When all its pods first ran in this run, or the last.
    pub started_at: Option<Time>,
    /// When this run, or the last, ended.
    pub completed_at: Option<Time>,
    /// The runs that have ended, the newest last.
    pub history: Vec<RunView>,
    /// Whether it can do what its spec says; `null`: nobody has said so yet.
    pub accepted: Option<bool>,
    /// Why not, in words.
    pub message: String,
    /// What a scheduler keeps here for itself.
    pub external_scheduler: Value,
}

/// A Scheduling.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SchedulingView {
    /// Which.
    #[serde(flatten)]
    pub identity: Identity,
    /// The Testbed.
    pub testbed: String,
    /// BatchJobs, one after the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_based: Option<Vec<QueuedJob>>,
    /// BatchJobs on given slots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slot_based: Option<SlotBased>,
    /// How far it is.
    pub state: SchedulingState,
    /// How far its BatchJobs are, in their order.
    pub jobs: Vec<ScheduledJob>,
    /// When the first of them was asked to start.
    pub started_at: Option<Time>,
    /// When the last of them ended.
    pub completed_at: Option<Time>,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// What it waits for, in words.
    pub message: String,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum View {
    /// A Testbed.
    Testbed(TestbedView),
    /// A BatchJob.
    BatchJob(JobView),
    /// A Scheduling.
    Scheduling(SchedulingView),
}

impl View {
    /// Which object it shows.
    #[must_use]
    pub fn key(&self) -> Key {
        let (kind, identity) = match self {
            Self::Testbed(view) => (Kind::Testbed, &view.identity),
            Self::BatchJob(view) => (Kind::BatchJob, &view.identity),
            Self::Scheduling(view) => (Kind::Scheduling, &view.identity),
        };
        let namespace = identity.namespace.as_deref().unwrap_or_default();
        Key::new(kind, namespace, &identity.name)
    }
}

/// Whether a condition of this type holds, and its words if it does not.
fn said(conditions: &[Condition], kind: &str) -> (Option<bool>, String) {
    match conditions.iter().find(|one| one.kind == kind) {
        None => (None, String::new()),
        Some(one) if one.is_true() => (Some(true), String::new()),
        Some(one) if one.status == "False" => (Some(false), one.message.clone()),
        Some(one) => (None, one.message.clone()),
    }
}

fn slots(status: &TestbedStatus) -> Vec<SlotView> {
    let views = status.slots.iter().map(|slot| SlotView {
        position: slot.position,
        node: slot.node_name.clone(),
        node_id: slot.node_id.clone(),
        node_position: slot.node_position,
        state: slot.state,
        pod: slot.pod_name.as_ref().map(|name| {
            let namespace = slot.pod_namespace.as_deref().unwrap_or_default();
            format!("{namespace}/{name}")
        }),
        pod_uid: slot.pod_uid.clone(),
        ghost: slot.ghost.clone(),
    });
    views.collect()
}

impl From<&Testbed> for View {
    fn from(testbed: &Testbed) -> Self {
        let status = testbed.status.clone().unwrap_or_default();
        let (ready, message) = said(&status.conditions, "Ready");
        let resources = testbed.spec.resources_per_slot.iter();
        let problems = status.node_problems.iter().map(|one| NodeProblemView {
            node: one.node_name.clone(),
            message: one.message.clone(),
        });
        Self::Testbed(TestbedView {
            identity: Identity::of(&testbed.metadata),
            node_label: testbed.spec.node_label.clone(),
            slots_per_node: testbed.spec.slots_per_node,
            resources_per_slot: resources
                .map(|(name, amount)| (name.clone(), amount.0.clone()))
                .collect(),
            nodes: status.nodes.unwrap_or_default(),
            total: status.total.unwrap_or_default(),
            free: status.free.unwrap_or_default(),
            reserved: status.reserved.unwrap_or_default(),
            occupied: status.occupied.unwrap_or_default(),
            ready,
            message,
            slots: slots(&status),
            node_problems: problems.collect(),
        })
    }
}

/// What a BatchJob keeps for a scheduler, or an empty object where it is none or too long.
fn kept(meta: &ObjectMeta) -> Value {
    let annotations = meta.annotations.as_ref();
    let text = annotations.and_then(|all| all.get(FREE_STORE));
    let text = text.filter(|text| text.len() <= MOST_KEPT);
    let value = text.and_then(|text| serde_json::from_str::<Value>(text).ok());
    let value = value.filter(Value::is_object);
    value.unwrap_or_else(|| Value::Object(serde_json::Map::new()))
}

impl From<&BatchJob> for View {
    fn from(job: &BatchJob) -> Self {
        let status = job.status.clone().unwrap_or_default();
        let (accepted, message) = said(&status.conditions, "Accepted");
        let spec = &job.spec;
        let application = if spec.spark_application.is_some() {
            "SparkApplication"
        } else if spec.flink_deployment.is_some() {
            "FlinkDeployment"
        } else {
            "Job"
        };
        let claim: Option<SchedulingReference> = status.active_scheduling;
        let history = status.history.into_iter().map(|run| RunView {
            state: run.state,
            scheduling: run.scheduling.name,
            testbed: run.testbed,
            slots: run.slots,
            started_at: run.started_at,
            completed_at: run.completed_at,
        });
        Self::BatchJob(JobView {
            identity: Identity::of(&job.metadata),
            application,
            state: status.state.unwrap_or_default(),
            active_scheduling: claim.map(|claim| claim.name),
            testbed: status.testbed,
            slots: status.slots,
            started_at: status.started_at,
            completed_at: status.completed_at,
            history: history.collect(),
            accepted,
            message,
            external_scheduler: kept(&job.metadata),
        })
    }
}

impl From<&Scheduling> for View {
    fn from(scheduling: &Scheduling) -> Self {
        let status = scheduling.status.clone().unwrap_or_default();
        let (_, message) = said(&status.conditions, "Accepted");
        Self::Scheduling(SchedulingView {
            identity: Identity::of(&scheduling.metadata),
            testbed: scheduling.spec.testbed.clone(),
            queue_based: scheduling.spec.queue_based.clone(),
            slot_based: scheduling.spec.slot_based.clone(),
            state: status.state.unwrap_or_default(),
            jobs: status.jobs,
            started_at: status.started_at,
            completed_at: status.completed_at,
            deleting: scheduling.metadata.deletion_timestamp.is_some(),
            message,
        })
    }
}
