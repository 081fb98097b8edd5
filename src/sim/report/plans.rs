//! BatchJobs and Schedulings, as their statuses say.

use crate::server::Server;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time as Date;
use muster_api::crd::{self, BatchJobState, ScheduledJobState, SchedulingState};
use muster_controllers::Resource;
use muster_model::units::Time;
use serde::Serialize;

/// One BatchJob.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BatchJobReport {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// How far it is.
    pub state: BatchJobState,
    /// When all its pods first ran in its last run.
    pub started_at: Option<f64>,
    /// When that ended.
    pub completed_at: Option<f64>,
    /// On which slots its pods are, or were last.
    pub slots: Vec<i32>,
    /// Who claims it.
    #[serde(skip)]
    pub scheduling: Option<String>,
    /// Why it cannot go on.
    #[serde(skip)]
    pub message: Option<String>,
}

/// One Scheduling.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SchedulingReport {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// How far it is.
    pub state: SchedulingState,
    /// How far its BatchJobs are.
    pub jobs: Vec<ScheduledReport>,
    /// Its Testbed.
    #[serde(skip)]
    pub testbed: String,
    /// What it waits for.
    #[serde(skip)]
    pub message: Option<String>,
}

/// A BatchJob of a Scheduling.
#[derive(Clone, Debug, Serialize)]
pub struct ScheduledReport {
    /// Its name.
    pub name: String,
    /// How far it is.
    pub state: ScheduledJobState,
    /// Its slots.
    pub slots: Vec<i32>,
}

/// All BatchJobs, by namespace and name.
pub(super) fn batch_jobs(server: &Server, begin: Time) -> Vec<BatchJobReport> {
    let seconds = |date: &Date| seconds(date, begin);
    let report = |job: crd::BatchJob| {
        let status = job.status.unwrap_or_default();
        BatchJobReport {
            namespace: job.metadata.namespace.unwrap_or_default(),
            name: job.metadata.name.unwrap_or_default(),
            state: status.state.unwrap_or_default(),
            started_at: status.started_at.as_ref().map(seconds),
            completed_at: status.completed_at.as_ref().map(seconds),
            slots: status.slots,
            scheduling: status.active_scheduling.map(|one| one.name),
            message: why(&status.conditions),
        }
    };
    server.whole_of(Resource::BatchJobs).map(report).collect()
}

/// All Schedulings, by namespace and name.
pub(super) fn schedulings(server: &Server) -> Vec<SchedulingReport> {
    let report = |scheduling: crd::Scheduling| {
        let status = scheduling.status.unwrap_or_default();
        let jobs = status.jobs.into_iter().map(|job| ScheduledReport {
            name: job.name,
            state: job.state,
            slots: job.slots,
        });
        SchedulingReport {
            namespace: scheduling.metadata.namespace.unwrap_or_default(),
            name: scheduling.metadata.name.unwrap_or_default(),
            state: status.state.unwrap_or_default(),
            jobs: jobs.collect(),
            testbed: scheduling.spec.testbed,
            message: why(&status.conditions),
        }
    };
    server.whole_of(Resource::Schedulings).map(report).collect()
}

/// Why something is not as it is to be.
fn why(conditions: &[muster_api::condition::Condition]) -> Option<String> {
    let mut wrong = conditions.iter().filter(|one| !one.is_true());
    wrong.next().map(|one| one.message.clone())
}

#[expect(
    clippy::cast_precision_loss,
    reason = "virtual time stays far below 2^53 s"
)]
fn seconds(date: &Date, begin: Time) -> f64 {
    let begin = i64::try_from(begin.0 / 1_000).unwrap_or(i64::MAX);
    date.0.as_second().saturating_sub(begin) as f64
}
