//! Applications and PodGroups as they are found: whose they are, of which run, and how far they say that they are.

use super::life::Phase;
use super::wanted::RUN;
use crate::Resource;
use crate::machine::Other;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde_json::Value;

/// The kinds of applications.
pub(super) const APPLICATIONS: [Resource; 3] = [
    Resource::Jobs,
    Resource::SparkApplications,
    Resource::FlinkDeployments,
];

/// An application or a PodGroup.
#[derive(Clone, Debug)]
pub(super) struct Thing {
    pub(super) uid: String,
    pub(super) version: String,
    /// Who controls it.
    pub(super) owner: Option<OwnerReference>,
    pub(super) terminating: bool,
    /// For which run it was made, as it says.
    pub(super) run: String,
    /// How far it says that it is.
    pub(super) phase: Phase,
    /// Of a Job: it runs once so many of its pods have.
    pub(super) pods: usize,
}

impl Thing {
    pub(super) fn read(resource: Resource, other: &Other) -> Self {
        let meta = &other.metadata;
        let mut owners = meta.owner_references.iter().flatten();
        let annotations = meta.annotations.as_ref();
        let parallelism = other.spec.get("parallelism").and_then(Value::as_u64);
        Self {
            uid: meta.uid.clone().unwrap_or_default(),
            version: meta.resource_version.clone().unwrap_or_default(),
            owner: owners.find(|one| one.controller == Some(true)).cloned(),
            terminating: meta.deletion_timestamp.is_some(),
            run: annotations
                .and_then(|all| all.get(RUN))
                .cloned()
                .unwrap_or_default(),
            phase: match resource {
                Resource::Jobs => job(&other.status),
                Resource::SparkApplications => spark(&other.spec, &other.status),
                Resource::FlinkDeployments => flink(&other.status),
                _ => Phase::Submitted,
            },
            pods: parallelism.map_or(1, |one| usize::try_from(one).unwrap_or(usize::MAX)),
        }
    }

    /// The BatchJob that controls it: name and uid.
    pub(super) fn batch_job(&self) -> Option<(&str, &str)> {
        let owner = self.owner.as_ref()?;
        let ours = owner.kind == "BatchJob" && owner.api_version.starts_with("muster.dev/");
        ours.then_some((owner.name.as_str(), owner.uid.as_str()))
    }

    /// Whose it is, in words.
    pub(super) fn whose(&self) -> String {
        match &self.owner {
            Some(owner) => format!("it is controlled by {} {}", owner.kind, owner.name),
            None => "nobody controls it".to_owned(),
        }
    }
}

fn job(status: &Value) -> Phase {
    let conditions = status.get("conditions").and_then(Value::as_array);
    let is = |kind: &str| {
        let mut all = conditions.into_iter().flatten();
        all.any(|one| {
            let text = |field: &str| one.get(field).and_then(Value::as_str);
            text("type") == Some(kind) && text("status") == Some("True")
        })
    };
    if is("Complete") {
        Phase::Completed
    } else if is("Failed") {
        Phase::Failed
    } else {
        Phase::Submitted
    }
}

/// States of the operator: only those that it does not leave again are an end.
fn spark(spec: &Value, status: &Value) -> Phase {
    let state = status.pointer("/applicationState/state");
    match state.and_then(Value::as_str).unwrap_or_default() {
        "COMPLETED" => Phase::Completed,
        "FAILED" => Phase::Failed,
        "SUCCEEDING" => Phase::Running,
        "RUNNING" => {
            let executors = status.get("executorState").and_then(Value::as_object);
            let states = executors.into_iter().flatten();
            let run =
                states.filter(|(_, state)| matches!(state.as_str(), Some("RUNNING" | "COMPLETED")));
            let wanted = spec.pointer("/executor/instances").and_then(Value::as_u64);
            let wanted = wanted.map_or(1, |one| usize::try_from(one).unwrap_or(usize::MAX));
            if run.count() >= wanted {
                Phase::Running
            } else {
                Phase::Submitted
            }
        }
        _ => Phase::Submitted,
    }
}

fn flink(status: &Value) -> Phase {
    let state = status.pointer("/jobStatus/state").and_then(Value::as_str);
    let failed = status.get("lifecycleState").and_then(Value::as_str) == Some("FAILED");
    match state.unwrap_or_default() {
        "FINISHED" => Phase::Completed,
        "FAILED" | "CANCELED" => Phase::Failed,
        _ if failed => Phase::Failed,
        // Its job needs all TaskManagers before it is that.
        "RUNNING" => Phase::Running,
        _ => Phase::Submitted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_job_ends_by_its_conditions() {
        let with =
            |kind: &str, is: &str| job(&json!({"conditions": [{"type": kind, "status": is}]}));
        assert_eq!(with("Complete", "True"), Phase::Completed);
        assert_eq!(with("Failed", "True"), Phase::Failed);
        assert_eq!(with("Failed", "False"), Phase::Submitted);
        assert_eq!(job(&json!({"conditions": 7})), Phase::Submitted);
    }

    #[test]
    fn a_spark_application_runs_when_its_executors_do_and_ends_where_the_operator_stays() {
        let spec = json!({"executor": {"instances": 2}});
        let with = |state: &str, executors: Value| {
            let status = json!({"applicationState": {"state": state}, "executorState": executors});
            spark(&spec, &status)
        };
        let both = json!({"a": "RUNNING", "b": "COMPLETED"});
        let one = json!({"a": "RUNNING", "b": "PENDING"});
        assert_eq!(with("RUNNING", both.clone()), Phase::Running);
        assert_eq!(with("RUNNING", one), Phase::Submitted);
        assert_eq!(with("SUBMITTED", both), Phase::Submitted);
        for state in [
            "",
            "SUBMISSION_FAILED",
            "FAILING",
            "PENDING_RERUN",
            "UNKNOWN",
            "new",
        ] {
            assert_eq!(with(state, json!({})), Phase::Submitted, "{state}");
        }
        assert_eq!(with("SUCCEEDING", json!({})), Phase::Running);
        assert_eq!(with("COMPLETED", json!({})), Phase::Completed);
        assert_eq!(with("FAILED", json!({})), Phase::Failed);
        assert_eq!(spark(&spec, &Value::Null), Phase::Submitted);
    }

    #[test]
    fn a_flink_deployment_ends_with_its_job() {
        let with = |state: &str, life: &str| {
            flink(&json!({"jobStatus": {"state": state}, "lifecycleState": life}))
        };
        assert_eq!(with("RUNNING", "STABLE"), Phase::Running);
        assert_eq!(with("FINISHED", "STABLE"), Phase::Completed);
        assert_eq!(with("FAILED", "STABLE"), Phase::Failed);
        assert_eq!(with("CANCELED", "STABLE"), Phase::Failed);
        assert_eq!(with("RECONCILING", "FAILED"), Phase::Failed);
        assert_eq!(with("RESTARTING", "DEPLOYED"), Phase::Submitted);
    }
}
