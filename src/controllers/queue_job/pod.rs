//! A pod of a QueueJob, as far as it matters.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use muster_api::{names, slim};

/// A pod that a QueueJob controls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pod {
    pub(super) uid: String,
    pub(super) terminating: bool,
    /// Somebody has it go, and whatever comes of it is no failure of its own.
    pub(super) disrupted: bool,
    pub(super) phase: Phase,
    /// Of which template it was made.
    pub(super) hash: String,
    /// After so many restarts, as its label says.
    pub(super) restart: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Pending,
    Running,
    Succeeded,
    Failed,
}

/// Whose something is: the QueueJob that controls it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) uid: String,
    pub(super) name: String,
}

impl Owner {
    /// That of an object with these owners; `None`: no QueueJob controls it.
    pub(super) fn of(meta: &ObjectMeta) -> Option<Self> {
        let mut owners = meta.owner_references.iter().flatten();
        let owner = owners.find(|one| one.controller == Some(true))?;
        let ours = owner.kind == "QueueJob" && owner.api_version.starts_with("muster.dev/");
        ours.then(|| Self {
            uid: owner.uid.clone(),
            name: owner.name.clone(),
        })
    }
}

impl Pod {
    pub(super) fn read(pod: &slim::Pod) -> Self {
        let meta = &pod.metadata;
        let label = |key: &str| {
            let labels = meta.labels.as_ref();
            labels
                .and_then(|labels| labels.get(key))
                .cloned()
                .unwrap_or_default()
        };
        let mut conditions = pod.status.conditions.iter();
        Self {
            uid: meta.uid.clone().unwrap_or_default(),
            terminating: meta.deletion_timestamp.is_some(),
            disrupted: conditions
                .any(|one| one.kind == names::DISRUPTION_TARGET && one.status == "True"),
            phase: match pod.status.phase.as_str() {
                "Succeeded" => Phase::Succeeded,
                "Failed" => Phase::Failed,
                "Running" => Phase::Running,
                _ => Phase::Pending,
            },
            hash: label(names::TEMPLATE_HASH),
            restart: label(names::RESTART),
        }
    }

    pub(super) fn is_active(&self) -> bool {
        !self.terminating && matches!(self.phase, Phase::Pending | Phase::Running)
    }
}
