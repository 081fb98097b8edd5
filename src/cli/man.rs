//! `muster man`: writes a page for `man` of each command, from what `--help` says.

use super::called::Called;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of `muster man`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The folder for the pages, such as /usr/local/share/man/man1; it has to be there
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> ExitCode {
    match clap_mangen::generate_to(Called::Muster.command(), &arguments.folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cannot write to {}: {error}", arguments.folder.display());
            ExitCode::FAILURE
        }
    }
}
