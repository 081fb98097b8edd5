//! Which build this is.

/// The version.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The commit, where whoever built it said so by `MUSTER_REVISION`.
pub const REVISION: Option<&str> = option_env!("MUSTER_REVISION");

/// The version, with the commit where it is known.
#[must_use]
pub fn described() -> String {
    REVISION.map_or_else(
        || VERSION.to_owned(),
        |revision| format!("{VERSION} ({revision})"),
    )
}
