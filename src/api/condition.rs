//! A condition of an object's status, the same for all kinds that have some.

use super::slim::nullable;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::{Deserialize, Serialize};

/// One condition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Condition {
    /// Its type.
    #[serde(rename = "type", deserialize_with = "nullable")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    #[serde(deserialize_with = "nullable")]
    pub status: String,
    /// Why.
    #[serde(deserialize_with = "nullable")]
    pub reason: String,
    /// In words.
    #[serde(deserialize_with = "nullable")]
    pub message: String,
    /// Since when; written in whole seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
    /// The generation it speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Of Volcano only: of which object's which transition it tells. It is not read.
    #[serde(
        rename = "transitionID",
        skip_deserializing,
        skip_serializing_if = "Option::is_none"
    )]
    pub transition_id: Option<String>,
}

impl Condition {
    /// What the core says, without a time.
    pub(crate) fn of(found: &muster_model::Condition, generation: i64) -> Self {
        Self {
            kind: found.kind.to_string(),
            status: truth(found.status),
            reason: found.reason.to_string(),
            message: found.message.clone(),
            observed_generation: Some(generation),
            ..Self::default()
        }
    }

    /// Whether it is so.
    #[must_use]
    pub fn is_true(&self) -> bool {
        self.status == "True"
    }

    /// Says since when it is so.
    pub(crate) fn stamp(&mut self, since: Timestamp) {
        self.last_transition_time = Some(Time(since));
        if let Some(of) = &mut self.transition_id {
            *of = format!("{of}-{}", since.as_millisecond());
        }
    }

    /// Leaves of it what is compared: that it is so or not, and not since when.
    pub(crate) fn set_times_apart(&mut self) {
        self.status = truth(self.is_true());
        self.observed_generation.get_or_insert_default();
        self.last_transition_time = None;
        self.transition_id = None;
    }
}

fn truth(is_true: bool) -> String {
    if is_true { "True" } else { "False" }.to_owned()
}
