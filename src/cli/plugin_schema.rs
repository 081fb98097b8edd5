//! `muster plugin-schema`: prints the JSON schema of the messages of plugins in other processes.

use super::print;
use muster_api::remote;
use std::process::ExitCode;

/// Prints the schema.
pub(super) fn run() -> ExitCode {
    print(&remote::schema())
}
