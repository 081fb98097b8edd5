//! `muster convert`: writes queues, jobs and configuration of other schedulers as ours, and says what it cannot.

use super::{BAD_INPUT, input, print};
use clap::Args;
use muster_api::yaml;
use muster_convert::{Converted, convert};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Writes Volcano's Queues, Jobs and configuration, YuniKorn's `queues.yaml` and Kueue's ClusterQueues as Muster's.
///
/// What comes out is for `kubectl apply -f -`, and is to be read before. Standard error says what was not
/// converted, and why. docs/migrate has more on each.
///
/// Exit code 0: it was written. 2: something in a file is wrong, or there is nothing in it that could be converted.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// What `kubectl get -o yaml` prints, or a file as the other scheduler reads it; `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> ExitCode {
    let mut documents = Vec::new();
    for file in &arguments.files {
        let name = file.display();
        let found = match read(file) {
            Ok(found) => found,
            Err(words) => {
                eprintln!("{words}");
                return ExitCode::from(BAD_INPUT);
            }
        };
        found
            .notes
            .iter()
            .for_each(|note| eprintln!("{name}: {note}"));
        for object in &found.objects {
            match yaml::write(object) {
                Ok(yaml) => documents.push(yaml),
                Err(error) => {
                    eprintln!("{name}: {error}");
                    return ExitCode::FAILURE;
                }
            }
        }
    }
    if documents.is_empty() {
        eprintln!("there is nothing to convert");
        return ExitCode::from(BAD_INPUT);
    }
    print(&documents.join("---\n"))
}

/// What is in a file, or why it cannot be read.
fn read(file: &Path) -> Result<Converted, String> {
    let text = input::text(file)?;
    convert(&text).map_err(|wrong| format!("{}:{wrong}", file.display()))
}
