//! Our own kinds: group `muster.dev`, version `v1alpha1`.
//!
//! A spec has only what this version honours, and CEL rules refuse what could never be valid:
//! at the API server, and by the same rules in [`validate`] where there is none.

mod batch_job;
mod pod_group;
mod queue;
mod queue_job;
mod scheduling;
mod scheduling_spec;
mod schema;
mod testbed;
mod testbed_slice;
mod topology;

pub use batch_job::{
    BatchJob, BatchJobSpec, BatchJobState, BatchJobStatus, CreationRequest, Run,
    SchedulingReference,
};
pub use pod_group::{
    Disruption, DisruptionPolicy, Granted, PodGroup, PodGroupSpec, PodGroupStatus, Subgroup,
};
pub use queue::{
    Queue, QueueOrder, QueuePreemption, QueueReservation, QueueSpec, QueueState, QueueStatus,
};
pub use queue_job::{QueueJob, QueueJobSpec, QueueJobStatus, SchedSpec, TaskSpec, TaskStatus};
pub use scheduling::{
    PlacedJob, QueuedJob, ScheduledJob, ScheduledJobState, Scheduling, SchedulingSpec,
    SchedulingState, SchedulingStatus, SlotBased, SlotMode,
};
pub use scheduling_spec::{JobSchedulingSpec, JobSpec};
pub use testbed::{NodeProblem, Slot, SlotState, Testbed, TestbedSpec, TestbedStatus};
pub use testbed_slice::{TestbedSlice, TestbedSliceSpec};
pub use topology::{
    Topology, TopologyConstraint, TopologyLevel, TopologyLink, TopologySpec, TopologyStatus,
};

use crate::yaml;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use kube::core::cel::{CompiledSchema, ValidationError, Validator, compile_schema};
use muster_model::units::Quantity;
use serde::Serialize;
use std::sync::LazyLock;

/// The definitions of all kinds, in a fixed order.
#[must_use]
pub fn definitions() -> [CustomResourceDefinition; 9] {
    [
        BatchJob::crd(),
        PodGroup::crd(),
        Queue::crd(),
        QueueJob::crd(),
        Scheduling::crd(),
        JobSchedulingSpec::crd(),
        Testbed::crd(),
        TestbedSlice::crd(),
        Topology::crd(),
    ]
}

/// The manifests of all kinds, as (file name, YAML), in a fixed order.
///
/// # Errors
/// When a definition cannot be written as YAML.
pub fn manifests() -> Result<Vec<(String, String)>, serde_saphyr::ser::Error> {
    let manifest = |crd: &CustomResourceDefinition| {
        let name = format!("{}_{}.yaml", crd.spec.group, crd.spec.names.plural);
        Ok((name, yaml::write(crd)?))
    };
    definitions().iter().map(manifest).collect()
}

/// Checks a PodGroup as the API server would.
///
/// # Errors
/// Everything that is wrong with it, each with its field path.
pub fn validate(group: &PodGroup) -> Result<(), Vec<String>> {
    let mut problems = POD_GROUP.problems(group);
    // Not a rule but the schema's pattern: the API server refuses it as well.
    for (name, quantity) in &group.spec.min_resources {
        if let Err(error) = Quantity::parse(&quantity.0) {
            problems.push(format!("spec.minResources.{name}: {error}"));
        }
    }
    none(problems)
}

/// Checks a Queue as the API server would.
///
/// # Errors
/// Everything that is wrong with it, each with its field path.
pub fn validate_queue(queue: &Queue) -> Result<(), Vec<String>> {
    let mut problems = QUEUE.problems(queue);
    let spec = &queue.spec;
    for (field, amounts) in [("guaranteed", &spec.guaranteed), ("limit", &spec.limit)] {
        for (name, quantity) in amounts {
            if let Err(error) = Quantity::parse(&quantity.0) {
                problems.push(format!("spec.{field}.{name}: {error}"));
            }
        }
    }
    none(problems)
}

/// Checks a Testbed as the API server would.
///
/// # Errors
/// Everything that is wrong with it, each with its field path.
pub fn validate_testbed(testbed: &Testbed) -> Result<(), Vec<String>> {
    let mut problems = TESTBED.problems(testbed);
    for (name, quantity) in &testbed.spec.resources_per_slot {
        if let Err(error) = Quantity::parse(&quantity.0) {
            problems.push(format!("spec.resourcesPerSlot.{name}: {error}"));
        }
    }
    none(problems)
}

/// Checks a BatchJob as the API server would.
///
/// # Errors
/// Everything that is wrong with it, each with its field path.
pub fn validate_batch_job(job: &BatchJob) -> Result<(), Vec<String>> {
    none(BATCH_JOB.problems(job))
}

/// Checks a QueueJob as the API server would.
///
/// # Errors
/// Everything that is wrong with it, each with its field path.
pub fn validate_queue_job(job: &QueueJob) -> Result<(), Vec<String>> {
    none(QUEUE_JOB.problems(job))
}

/// Checks a Scheduling as the API server would.
///
/// # Errors
/// Everything that is wrong with it, each with its field path.
pub fn validate_scheduling(scheduling: &Scheduling) -> Result<(), Vec<String>> {
    none(SCHEDULING.problems(scheduling))
}

/// Checks a SchedulingSpec as the API server would.
///
/// # Errors
/// Everything that is wrong with it, each with its field path.
pub fn validate_scheduling_spec(spec: &JobSchedulingSpec) -> Result<(), Vec<String>> {
    none(SCHEDULING_SPEC.problems(spec))
}

/// Checks a Topology as the API server would.
///
/// # Errors
/// Everything that is wrong with it, each with its field path.
pub fn validate_topology(topology: &Topology) -> Result<(), Vec<String>> {
    none(TOPOLOGY.problems(topology))
}

fn none(problems: Vec<String>) -> Result<(), Vec<String>> {
    if problems.is_empty() {
        Ok(())
    } else {
        Err(problems)
    }
}

static BATCH_JOB: LazyLock<Rules> = LazyLock::new(Rules::of::<BatchJob>);
static SCHEDULING_SPEC: LazyLock<Rules> = LazyLock::new(Rules::of::<JobSchedulingSpec>);
static POD_GROUP: LazyLock<Rules> = LazyLock::new(Rules::of::<PodGroup>);
static QUEUE: LazyLock<Rules> = LazyLock::new(Rules::of::<Queue>);
static QUEUE_JOB: LazyLock<Rules> = LazyLock::new(Rules::of::<QueueJob>);
static SCHEDULING: LazyLock<Rules> = LazyLock::new(Rules::of::<Scheduling>);
static TESTBED: LazyLock<Rules> = LazyLock::new(Rules::of::<Testbed>);
static TOPOLOGY: LazyLock<Rules> = LazyLock::new(Rules::of::<Topology>);

/// The rules of a kind, compiled once.
struct Rules {
    schema: CompiledSchema,
    validator: Validator,
}

impl Rules {
    fn of<K: CustomResourceExt>() -> Self {
        let definition = serde_json::to_value(K::crd()).unwrap_or_default();
        let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        Self {
            schema: compile_schema(schema),
            validator: Validator::new(),
        }
    }

    fn problems(&self, object: &impl Serialize) -> Vec<String> {
        let object = serde_json::to_value(object).unwrap_or_default();
        let Err(errors) = self
            .validator
            .validate_compiled(&self.schema, &object, None)
        else {
            return Vec::new();
        };
        let problem = |error: &ValidationError| format!("{}: {}", error.field_path, error.message);
        errors.iter().map(problem).collect()
    }
}

#[cfg(test)]
mod tests;
