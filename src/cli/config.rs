//! `muster config check`: says whether a configuration file can be used, and else why not.

use super::{BAD_INPUT, Extensions, print};
use crate::config;
use clap::Subcommand;
use std::path::PathBuf;
use std::process::ExitCode;

/// What can be done with a configuration file.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Checks a file: prints `ok`, or what is wrong and where, with exit code 2
    Check {
        /// SchedulerConfiguration file
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

/// Runs the command.
pub(super) fn run(command: &Command, extensions: &Extensions) -> ExitCode {
    let Command::Check { file } = command;
    let checked = config::load(file).and_then(|config| extensions.policy(&config));
    match checked {
        Ok(_) => print("ok\n"),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(BAD_INPUT)
        }
    }
}
