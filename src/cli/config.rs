//! `muster config check`: says whether a configuration file can be used, and what runs then; else why not. `muster config
//! schema` is for who writes one.

use super::{BAD_INPUT, Extensions, print};
use clap::Subcommand;
use muster_core::engine::Policy;
use muster_core::framework::{Preemption, Profile};
use std::path::PathBuf;
use std::process::ExitCode;

/// What can be done with a configuration file.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Checks a file: prints `ok` and what runs for whom, or what is wrong and where, with exit code 2
    Check {
        /// SchedulerConfiguration file
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Prints the JSON schema of the file, for editors: a file that begins with
    /// `# yaml-language-server: $schema=FILE` is checked and completed as it is written. What no schema can say, such
    /// as the bounds of durations, is for `muster config check`
    Schema,
}

/// Runs the command.
pub(super) fn run(command: &Command, extensions: &Extensions) -> ExitCode {
    let file = match command {
        Command::Check { file } => file,
        Command::Schema => return print(&muster_config::schema()),
    };
    let checked = muster_config::load(file).and_then(|config| {
        let policy = extensions.policy(&config)?;
        Ok(explained(&config.profile_names(), &policy))
    });
    match checked {
        Ok(text) => print(&text),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(BAD_INPUT)
        }
    }
}

/// `ok`, and what each profile runs.
fn explained(names: &[String], policy: &Policy) -> String {
    let mut text = "ok\n".to_owned();
    let profiles = names.iter().zip(policy.profiles().iter());
    for (name, profile) in profiles.filter(|(name, _)| !name.is_empty()) {
        text.push_str(&format!("pods with schedulerName {name}:\n"));
        text.push_str(&lines(profile));
    }
    text
}

fn lines(profile: &Profile) -> String {
    let order: Vec<_> = profile.queue_sort.iter().map(|one| one.name()).collect();
    let filters: Vec<_> = profile.filter.iter().map(|one| one.name()).collect();
    let score = profile.score.iter();
    let scores: Vec<String> = score
        .map(|one| format!("{} x{}", one.plugin.name(), one.weight))
        .collect();
    let preemption = match profile.preemption {
        Preemption::ByHarm => "those go who lose least",
        Preemption::ByNode => {
            "for a pod without a gang as kube-scheduler chooses, for gangs those go who lose least"
        }
    };
    let lines = [
        ("order", order.join(", ")),
        ("filters", filters.join(", ")),
        ("scores", scores.join(", ")),
        ("preemption", preemption.to_owned()),
    ];
    let line = |(point, list): &(&str, String)| {
        let list = if list.is_empty() { "none" } else { list };
        format!("  {point}: {list}\n")
    };
    lines.iter().map(line).collect()
}
