//! Why gangs keep what they have although another needs room.

use crate::Code;
use crate::units::Time;
#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};

/// Why a gang, or its members beyond the minimum, does not have to go for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Spared {
    /// It is the one that needs room, or holds no node.
    HoldsNothing,
    /// Its PodGroup does not exist: nobody knows how many of its members are needed.
    Undefined,
    /// It leaves its nodes already.
    Leaving,
    /// It is on the way to its minimum, or below it: it is completed, or released.
    Incomplete,
    /// The API server refused to delete one of its members; it is asked again then.
    Refused(Time),
    /// The queue of the gang that needs room would be beyond its fair share with it.
    NotEntitled,
    /// Its queue is within its fair share, or would be by then.
    WithinShare,
    /// It is more important than the gang that needs room, or as important.
    Priority,
    /// Its lifetime ends then; `None`: never.
    Lifetime(Option<Time>),
    /// It has no member beyond its minimum.
    NoSurplus,
    /// It has just started, and its queue's `preemption.minRuntime` protects it until then.
    MinRuntime(Time),
    /// It made room for others too often of late; its hour is over then.
    TooOften(Time),
    /// The gang that needs room made room for it, and does not take it back before then.
    Evictor(Time),
    /// One of its members is critical for the system.
    Critical,
    /// The plugin of this name spares it.
    Plugin(&'static str),
}

impl Spared {
    /// Its word: all that is said of it but when it is over, and the plugin.
    #[must_use]
    pub const fn code(self) -> Code {
        Code::new(match self {
            Self::HoldsNothing => "HoldsNothing",
            Self::Undefined => "Undefined",
            Self::Leaving => "Leaving",
            Self::Incomplete => "Incomplete",
            Self::Refused(_) => "Refused",
            Self::NotEntitled => "NotEntitled",
            Self::WithinShare => "WithinShare",
            Self::Priority => "Priority",
            Self::Lifetime(Some(_)) => "Lifetime",
            Self::Lifetime(None) => "Unlimited",
            Self::NoSurplus => "NoSurplus",
            Self::MinRuntime(_) => "MinRuntime",
            Self::TooOften(_) => "TooOften",
            Self::Evictor(_) => "Evictor",
            Self::Critical => "Critical",
            Self::Plugin(_) => "Plugin",
        })
    }

    /// When that is over by itself.
    #[must_use]
    pub const fn until(self) -> Option<Time> {
        match self {
            Self::Refused(at) | Self::MinRuntime(at) | Self::TooOften(at) | Self::Evictor(at) => {
                Some(at)
            }
            Self::Lifetime(at) => at,
            _ => None,
        }
    }

    /// The plugin that spares it.
    #[must_use]
    pub const fn plugin(self) -> Option<&'static str> {
        match self {
            Self::Plugin(name) => Some(name),
            _ => None,
        }
    }
}

/// How many gangs keep what they have for a reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(Serialize, Deserialize),
    serde(rename_all = "camelCase", default)
)]
pub struct SparedCount {
    /// The word of a [`Spared`].
    pub reason: Code,
    /// With `Plugin`: which.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub plugin: Option<String>,
    /// How many gangs.
    pub gangs: u32,
    /// One of them.
    pub example: String,
    /// When that is over for the first of them, where it ends by itself.
    #[cfg_attr(feature = "serde", serde(with = "super::seconds"))]
    pub until: Option<Time>,
}

impl SparedCount {
    /// So many gangs, with the name of one.
    #[must_use]
    pub fn new(why: Spared, gangs: u32, example: &str) -> Self {
        Self {
            reason: why.code(),
            plugin: why.plugin().map(str::to_owned),
            gangs,
            example: example.to_owned(),
            until: why.until(),
        }
    }
}
