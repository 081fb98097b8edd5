//! The command line: one file a command. This is where errors become words and exit codes.

mod bench;
mod run;
mod simulate;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// A gang scheduler for Kubernetes that binds pods itself and can say why.
#[derive(Debug, Parser)]
#[command(name = "muster", version, about, propagate_version = true)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
enum Command {
    /// Schedules on a cluster until told to stop.
    Run(run::Arguments),
    /// Plays a scenario on virtual time: the same scheduler, without a cluster.
    Simulate(simulate::Arguments),
    Bench(bench::Arguments),
}

impl Arguments {
    /// Runs the command; its error has been printed when this returns.
    #[must_use]
    pub fn run(self) -> ExitCode {
        match self.command {
            Command::Run(arguments) => run::run(arguments),
            Command::Simulate(arguments) => simulate::run(&arguments),
            Command::Bench(arguments) => bench::run(arguments),
        }
    }
}
