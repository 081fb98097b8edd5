//! From a file, or its text, to a configuration.

use super::{ConfigError, SchedulerConfiguration};
use muster_api::yaml;
use std::fs;
use std::path::Path;

/// Reads a configuration file.
///
/// # Errors
/// When it cannot be read, or something in it is wrong: file, line, column, what was found, what
/// is allowed.
pub fn load(path: &Path) -> Result<SchedulerConfiguration, ConfigError> {
    let file = path.display().to_string();
    match fs::read(path) {
        Ok(bytes) => {
            let text = yaml::text(bytes).map_err(|wrong| in_file(&file, wrong))?;
            parse(&file, &text)
        }
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
    yaml::read(text).map_err(|wrong| in_file(file, wrong))
}

fn in_file(file: &str, wrong: yaml::Wrong) -> ConfigError {
    ConfigError::Wrong {
        file: file.to_owned(),
        line: wrong.line,
        column: wrong.column,
        message: wrong.message,
    }
}
