//! The `muster` binary: a thin shell around the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    muster::cli::run()
}
