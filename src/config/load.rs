//! From a file, or its text, to a configuration.

use super::{ConfigError, SchedulerConfiguration};
use std::fs;
use std::path::Path;

/// Reads a configuration file.
///
/// # Errors
/// When it cannot be read, or something in it is wrong: file, line, column, what was found, what
/// is allowed.
pub fn load(path: &Path) -> Result<SchedulerConfiguration, ConfigError> {
    let file = path.display().to_string();
    match fs::read_to_string(path) {
        Ok(text) => parse(&file, &text),
        Err(error) => Err(ConfigError::Unreadable { file, error }),
    }
}

/// Reads a configuration file; without one, the defaults hold.
///
/// # Errors
/// As [`load`].
pub fn load_or_default(path: Option<&Path>) -> Result<SchedulerConfiguration, ConfigError> {
    path.map_or_else(|| Ok(SchedulerConfiguration::default()), load)
}

/// Reads a configuration from its text; `file` is what errors call it.
///
/// # Errors
/// As [`load`].
pub fn parse(file: &str, text: &str) -> Result<SchedulerConfiguration, ConfigError> {
    serde_saphyr::from_str(text).map_err(|error| {
        let place = error.location();
        ConfigError::Wrong {
            file: file.to_owned(),
            line: place.map_or(1, |place| place.line().max(1)),
            column: place.map_or(1, |place| place.column().max(1)),
            message: without_place(&error.without_snippet().to_string()),
        }
    })
}

/// The parser's message without the place, which stands before it.
fn without_place(message: &str) -> String {
    let end = message.find(" at line ").unwrap_or(message.len());
    let line = message[..end].lines().next().unwrap_or_default();
    line.trim_end_matches([':', ',', ' ']).to_owned()
}
