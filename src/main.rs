//! The `muster` binary: a thin shell around the library.

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    muster::cli::Arguments::parse().run()
}
