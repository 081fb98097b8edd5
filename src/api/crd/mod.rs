//! Our own kinds: group `muster.dev`, version `v1alpha1`.
//!
//! A spec has only what this version honours, and CEL rules refuse what could never be valid:
//! at the API server, and by the same rules in [`validate`] where there is none.

mod pod_group;
mod queue;
mod schema;

pub use pod_group::{PodGroup, PodGroupSpec, PodGroupStatus, Subgroup};
pub use queue::{Queue, QueueSpec, QueueStatus};

use crate::core::units::Quantity;
use kube::CustomResourceExt;

/// The manifests of all kinds, as (file name, YAML), in a fixed order.
///
/// # Errors
/// When a definition cannot be written as YAML.
pub fn manifests() -> Result<Vec<(String, String)>, serde_saphyr::ser::Error> {
    [PodGroup::crd(), Queue::crd()]
        .iter()
        .map(|crd| {
            let name = format!("{}_{}.yaml", crd.spec.group, crd.spec.names.plural);
            Ok((name, serde_saphyr::to_string(crd)?))
        })
        .collect()
}

/// Checks a PodGroup as the API server would.
///
/// # Errors
/// Everything that is wrong with it, each with its field path.
pub fn validate(group: &PodGroup) -> Result<(), Vec<String>> {
    let mut problems = cel_problems(group.validate_cel());
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
    none(cel_problems(queue.validate_cel()))
}

fn none(problems: Vec<String>) -> Result<(), Vec<String>> {
    if problems.is_empty() {
        Ok(())
    } else {
        Err(problems)
    }
}

fn cel_problems(checked: Result<(), kube::core::cel::ValidationErrors>) -> Vec<String> {
    let Err(errors) = checked else {
        return Vec::new();
    };
    let problem = |error: &kube::core::cel::ValidationError| {
        format!("{}: {}", error.field_path, error.message)
    };
    errors.iter().map(problem).collect()
}

#[cfg(test)]
mod tests;
