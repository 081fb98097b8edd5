//! Why a configuration cannot be used: one line, as a compiler would print it.

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file could not be read.
    #[error("{file}: {error}")]
    Unreadable {
        /// The file, as given.
        file: String,
        /// Why.
        error: std::io::Error,
    },
    /// Something in it is wrong.
    #[error("{file}:{line}:{column}: {message}")]
    Wrong {
        /// The file, as given.
        file: String,
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
        /// What was found, and what is allowed.
        message: String,
    },
    /// Something that this version cannot honour.
    #[error("{field}: {why}")]
    Unsupported {
        /// Where it stands.
        field: String,
        /// Why it is refused.
        why: &'static str,
    },
    /// A plugin that was named is not there.
    #[error("profile.{point}: there is no plugin {name}")]
    UnknownPlugin {
        /// The extension point.
        point: &'static str,
        /// The name.
        name: String,
    },
}
