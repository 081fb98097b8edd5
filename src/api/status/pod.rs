//! What is said on a pod while it waits: condition `PodScheduled`, and the node that it is to have.

use super::Status;
use crate::condition::Condition;
use crate::said::Said;
use crate::slim;
use muster_model::{PodWaits, digest};
use serde::Serialize;

/// The status of a pod that waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodStatus {
    /// Why it waits. Without a time the one that is there stays.
    pub conditions: [Condition; 1],
    /// The node that it is to have; in it `None`: none any more. `None`: what is there stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nominated_node_name: Option<Option<String>>,
}

impl PodStatus {
    fn of(reason: &str, message: &str, nominated: Option<&str>) -> Self {
        let node = |name: &str| (!name.is_empty()).then(|| name.to_owned());
        Self {
            conditions: [Condition {
                kind: "PodScheduled".to_owned(),
                status: "False".to_owned(),
                reason: reason.to_owned(),
                message: message.to_owned(),
                ..Condition::default()
            }],
            nominated_node_name: nominated.map(node),
        }
    }

    /// What is kept of it. Of a pod nobody asks since when it waits.
    pub(super) fn said(&self) -> Said {
        let [
            Condition {
                reason, message, ..
            },
        ] = &self.conditions;
        let nominated = self.nominated_node_name.as_ref();
        Said {
            text: digest::of(&(reason, message)),
            kind: digest::of_kind(reason, message),
            nominated: nominated.map(|node| node.as_deref().unwrap_or_default().into()),
            ..Said::default()
        }
    }
}

impl From<&PodWaits> for Status {
    fn from(order: &PodWaits) -> Self {
        let nominated = order.nominated.as_deref();
        Self::Pod(PodStatus::of(&order.reason, &order.message, nominated))
    }
}

impl Status {
    /// What a pod says about why it waits, if it does.
    #[must_use]
    pub fn read_pod(pod: &slim::Pod) -> Option<Self> {
        let mut conditions = pod.status.conditions.iter();
        let found = conditions.find(|one| one.kind == "PodScheduled" && one.status == "False")?;
        let nominated = Some(pod.status.nominated_node_name.as_str());
        let status = PodStatus::of(&found.reason, &found.message, nominated);
        Some(Self::Pod(status))
    }
}
