//! What a field may hold: types that cannot be made from anything else.
//!
//! Each says in its error what was found and what is allowed; the parser adds the place.

mod names;
mod numbers;
mod qualified;
mod remote;
mod schema;

pub use names::{Address, ObjectName, PluginName, PluginOrAll, Point, SchedulerName};
pub(super) use names::{FilterPoint, QueueSortPoint, ScorePoint};
pub use numbers::{Bounded, CoresWorth, Span};
pub use qualified::{ExtendedResource, LabelKey};
pub use remote::{HttpUrl, RemoteName, Timeout};

use serde::{Deserialize, Deserializer, de::Error};

/// What tells the entries of a list apart.
pub(super) trait Entry {
    /// Two entries of one list must not share it.
    fn key(&self) -> &str;
}

/// Reads a list in which nothing stands twice.
///
/// # Errors
/// What stands there twice.
pub(super) fn unique<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Entry,
{
    let list = Vec::<T>::deserialize(deserializer)?;
    for (index, entry) in list.iter().enumerate() {
        let key = entry.key();
        if list[..index].iter().any(|before| before.key() == key) {
            return Err(D::Error::custom(format!("{key:?} stands there twice")));
        }
    }
    Ok(list)
}

/// Reads a list that is not empty and in which nothing stands twice.
///
/// # Errors
/// What stands there twice, or that nothing does.
pub(super) fn filled<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Entry,
{
    let list = unique(deserializer)?;
    if list.is_empty() {
        return Err(D::Error::custom(
            "the list is empty: at least one is needed",
        ));
    }
    Ok(list)
}
