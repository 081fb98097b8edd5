//! The command line: one file a command. This is where errors become words and exit codes.

mod bench;
mod bench_placement;
mod called;
mod check;
mod completion;
mod config;
mod controllers;
mod convert;
mod crds;
mod dry_run;
mod explained;
mod extensions;
mod external;
mod input;
mod log;
mod man;
mod playground;
mod plugin_schema;
mod probe;
mod program;
mod reach;
mod recording;
mod replay;
mod run;
mod simulate;
mod snapshot;
mod top;
mod variables;
mod whole_file;
mod why;
mod why_target;

pub use extensions::Extensions;

use called::Called;
use clap::{FromArgMatches, Parser, Subcommand};
use std::env;
use std::ffi::OsString;
use std::io::{ErrorKind, Write, stdout};
use std::process::ExitCode;
use tokio::signal::unix::{SignalKind, signal};

/// The exit code where what the user wrote cannot be used.
const BAD_INPUT: u8 = 2;

/// The exit code where Muster broke a rule of its own.
const BUG: u8 = 3;

/// A gang scheduler for Kubernetes that binds pods itself and can say why.
#[derive(Debug, Parser)]
#[command(name = "muster", version, propagate_version = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
enum Command {
    /// Schedules on a cluster until told to stop.
    Run(run::Arguments),
    /// Holds the slots of Testbeds on a cluster until told to stop.
    ///
    /// Free slots are held by pods that `muster run` binds and gives way to who claims a slot. docs/slots.md
    /// explains it.
    Controllers(controllers::Arguments),
    /// Plays a scenario on virtual time: the same scheduler, without a cluster.
    ///
    /// A pod without `schedulerName` is Muster's. Binds take no time; a pod that was on a node
    /// leaves it 100 ms after it is told to go, and one whose node is gone after a second.
    ///
    /// Exit code 0: it was played, whatever became of the gangs. 1: the report or the page could not
    /// be written. 2: something in a file or an argument is wrong. 3: Muster broke a rule of its own;
    /// standard error says which, and the report cannot be trusted.
    Simulate(simulate::Arguments),
    /// Asks the Muster in the same container whether it is alive, or ready: what kubelet runs.
    ///
    /// Exit code 0: it is. 1: it is not, or does not answer; standard error says why.
    Probe(probe::Arguments),
    Playground(playground::Arguments),
    Snapshot(snapshot::Arguments),
    Replay(replay::Arguments),
    /// Asks the instance that schedules why something is where it is.
    ///
    /// Who may `get` a PodGroup, a Queue or a Testbed may ask about it. docs/why.md explains the answer.
    Why(why::Arguments),
    /// Shows the queues and the gangs that wait, and keeps showing them until told to stop.
    ///
    /// It reads Queues and PodGroups from the API server, with the rights of the kubeconfig's user, and nothing from
    /// the scheduler.
    Top(top::Arguments),
    Bench(bench::Arguments),
    Convert(convert::Arguments),
    Check(check::Arguments),
    /// Prints the manifests of Muster's kinds, for `kubectl apply -f -`.
    Crds,
    /// Prints the JSON schema of what plugins in other processes are asked and answer.
    PluginSchema,
    /// Looks at configuration files.
    #[command(subcommand)]
    Config(config::Command),
    /// Prints what a shell needs to complete the line.
    Completion(completion::Arguments),
    /// Writes the pages for `man`.
    Man(man::Arguments),
}

/// Runs the command line of the process; errors have been printed when this returns.
#[must_use]
pub fn run() -> ExitCode {
    run_with(&Extensions::default())
}

/// The same with more plugins: `main` of a program that is Muster and these.
#[must_use]
pub fn run_with(extensions: &Extensions) -> ExitCode {
    let words: Vec<OsString> = env::args_os().collect();
    let called = Called::by(words.first().map(OsString::as_os_str));
    if let Some(code) = completion::answered(called, &words) {
        return code;
    }
    let mut command = called.command();
    let read = command.try_get_matches_from_mut(words);
    match read.and_then(|matches| Arguments::from_arg_matches(&matches)) {
        Ok(arguments) => arguments.run(extensions),
        Err(error) => {
            let error = error.format(&mut command);
            // Whoever reads may stop reading.
            let _ = error.print();
            ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(BAD_INPUT))
        }
    }
}

impl Arguments {
    /// Runs the command.
    fn run(self, extensions: &Extensions) -> ExitCode {
        match self.command {
            Command::Run(arguments) => run::run(arguments, extensions),
            Command::Controllers(arguments) => controllers::run(arguments),
            Command::Simulate(arguments) => simulate::run(&arguments, extensions),
            Command::Probe(arguments) => probe::run(&arguments),
            Command::Playground(arguments) => playground::run(&arguments, extensions),
            Command::Snapshot(arguments) => snapshot::run(&arguments),
            Command::Replay(arguments) => replay::run(&arguments, extensions),
            Command::Why(arguments) => why::run(&arguments),
            Command::Top(arguments) => top::run(&arguments),
            Command::Bench(arguments) => bench::run(arguments),
            Command::Convert(arguments) => convert::run(&arguments),
            Command::Check(arguments) => check::run(&arguments, extensions),
            Command::Crds => crds::run(),
            Command::PluginSchema => plugin_schema::run(),
            Command::Config(command) => config::run(&command, extensions),
            Command::Completion(arguments) => completion::run(&arguments),
            Command::Man(arguments) => man::run(&arguments),
        }
    }
}

/// Does what waits for others, on this thread; what came of it becomes the exit code, or is said to have failed.
fn ended<T>(
    work: impl Future<Output = anyhow::Result<T>>,
    done: impl FnOnce(T) -> ExitCode,
) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let result = match runtime {
        Ok(runtime) => runtime.block_on(work),
        Err(error) => Err(error.into()),
    };
    result.map_or_else(
        |error| {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        },
        done,
    )
}

/// Writes to standard output. Whoever reads may stop reading.
fn print(text: &str) -> ExitCode {
    match stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            eprintln!("cannot write to standard output: {error}");
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}

/// Listens for SIGTERM and SIGINT from now on; what it returns ends with the first of them.
fn told_to_stop() -> std::io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
