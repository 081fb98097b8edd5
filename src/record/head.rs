//! The first and the last line of a part: what it is, and how it ended.

use muster_model::explanation::Clock;
use muster_model::units::Time;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version that is written, and read.
pub const VERSION: &str = "record.muster.dev/v1";
/// The group of all versions.
pub(crate) const GROUP: &str = "record.muster.dev/";
/// The kind of the head.
pub(crate) const HEAD: &str = "Record";
/// The kind of the end.
pub(crate) const END: &str = "RecordEnd";

/// What a term is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// Who decided: the name of a process, of letters, digits, `-` and `.`.
    pub instance: String,
    /// When the core was started.
    pub started: Time,
    /// What times are counted from.
    pub clock: Clock,
    /// By what it decided, as the configuration file says it; `None`: by what a test or a benchmark chose.
    pub configuration: Option<Value>,
}

/// The first line of a part.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Head {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    /// The version of Muster that wrote it.
    pub(crate) muster: String,
    pub(crate) instance: String,
    pub(crate) started: Time,
    pub(crate) clock: Clock,
    pub(crate) part: u32,
    /// How many entries of the term were before this part, those that are missing included.
    pub(crate) entries_before: u64,
    /// Why some of those just before it are missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) gap: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) configuration: Option<Value>,
}

impl Head {
    /// That of a part.
    pub(crate) fn of(about: &About, part: u32, entries_before: u64, gap: Option<String>) -> Self {
        Self {
            api_version: VERSION.to_owned(),
            kind: HEAD.to_owned(),
            muster: env!("CARGO_PKG_VERSION").to_owned(),
            instance: about.instance.clone(),
            started: about.started,
            clock: about.clock,
            part,
            entries_before,
            gap,
            configuration: about.configuration.clone(),
        }
    }

    /// What it says of its term.
    pub(crate) fn about(&self) -> About {
        About {
            instance: self.instance.clone(),
            started: self.started,
            clock: self.clock,
            configuration: self.configuration.clone(),
        }
    }
}

/// The last line of a part that was ended in good order.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct End {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    /// How many entries of the term there were up to here, those that are missing included.
    pub(crate) entries: u64,
    /// Whether another part follows.
    pub(crate) more: bool,
}

impl End {
    pub(crate) fn of(entries: u64, more: bool) -> Self {
        Self {
            api_version: VERSION.to_owned(),
            kind: END.to_owned(),
            entries,
            more,
        }
    }
}
