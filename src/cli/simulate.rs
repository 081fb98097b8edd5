//! `muster simulate`: plays a scenario and prints what came of it.
//!
//! Exit code 0 when it could be played, whatever became of the gangs; 2 on bad input.

use super::BAD_INPUT;
use crate::api::convert::Reading;
use crate::api::duration;
use crate::config;
use crate::core::engine::Policy;
use crate::core::units::Time;
use crate::sim::driver::Driver;
use crate::sim::network::Network;
use crate::sim::report::{Report, report, table};
use crate::sim::scenario::{Object, Scenario, load_files};
use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of `muster simulate`.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// YAML files with nodes, pods, jobs, PodGroups, queues ...; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// SchedulerConfiguration file; without it, the defaults hold
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Stop after this much virtual time, such as 90s or 2h30m
    #[arg(long, value_name = "DURATION", value_parser = until)]
    until: Option<Time>,

    /// Seed of all that is drawn by lot; the same input and seed give the same output
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,

    /// How to print what came of it
    #[arg(long, value_enum, default_value_t)]
    output: Output,
}

#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
enum Output {
    /// Tables for people
    #[default]
    Table,
    /// One JSON object
    Json,
}

fn until(text: &str) -> Result<Time, String> {
    let span = duration::parse(text).map_err(|error| error.to_string())?;
    Ok(Time::ZERO + span)
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> ExitCode {
    let (scenario, policy) = match read(arguments) {
        Ok(read) => read,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(BAD_INPUT);
        }
    };
    for warning in &scenario.warnings {
        eprintln!("warning: {warning}");
    }
    let until = arguments.until.unwrap_or(Time(u64::MAX));
    let report = play(scenario, policy, until, arguments.seed);
    match print(&report, arguments.output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn read(arguments: &Arguments) -> anyhow::Result<(Scenario, Policy)> {
    let configuration = config::load_or_default(arguments.config.as_deref())?;
    let reading = Reading {
        scheduler_names: configuration.names(),
    };
    let scenario = load_files(&arguments.files, &reading)?;
    Ok((scenario, configuration.policy()?))
}

fn play(scenario: Scenario, policy: Policy, until: Time, seed: u64) -> Report {
    let bar = progress_bar(&scenario);
    let mut driver = Driver::new(scenario, policy, Network::calm(seed));
    let end = driver.run(until, |driver| {
        bar.set_position(driver.ledger().started as u64);
    });
    bar.finish_and_clear();
    report(&mut driver, end)
}

/// Counts pods that were started; silent where standard error is no terminal.
fn progress_bar(scenario: &Scenario) -> ProgressBar {
    let pods = scenario.entries.iter().map(|entry| match &entry.object {
        Object::Pod(_) => 1,
        Object::Job(job) => job.pods.len(),
        _ => 0,
    });
    let bar = ProgressBar::new(pods.sum::<usize>() as u64);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} pods started") {
        bar.set_style(style);
    }
    bar
}

fn print(report: &Report, output: Output) -> anyhow::Result<()> {
    let text = match output {
        Output::Table => table(report),
        Output::Json => serde_json::to_string_pretty(report)? + "\n",
    };
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        // Whoever reads may stop reading.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other.context("cannot write to standard output"),
    }
}
