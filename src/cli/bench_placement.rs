//! `muster bench placement`: how good placements are, against other rules, on virtual time.
//!
//! Exit code 0 when it was played; 3 when Muster broke a rule of its own.

use super::{BUG, print};
use muster_bench::placement::{self, Options, Rule, Workload, table};
use muster_cluster::Clock;
use std::process::ExitCode;

/// Compare where gangs are placed with other rules: utilisation, waiting times, hops.
///
/// Plays workloads drawn from a seed on virtual time, without a cluster, with the same queues and the same
/// backfill for every rule. The same arguments give the same output. docs/performance.md says what is
/// measured and has the results.
#[derive(clap::Args, Debug)]
pub(super) struct Arguments {
    /// What arrives; may be given several times [default: all]
    #[arg(long, value_enum, value_name = "NAME")]
    workload: Vec<Workload>,
    /// By what it is chosen between places; may be given several times [default: all]
    #[arg(long, value_enum, value_name = "NAME")]
    rule: Vec<Rule>,
    /// What the workloads are drawn from
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// For how many hours of virtual time gangs arrive, 1 to 1000
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    hours: u32,
    /// How the result is printed
    #[arg(long, value_enum, default_value_t)]
    output: Output,
}

/// How the result is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum Output {
    /// For people: tables in Markdown
    #[default]
    Table,
    /// One JSON object
    Json,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> ExitCode {
    let options = Options {
        workloads: chosen(&arguments.workload, &Workload::ALL),
        rules: chosen(&arguments.rule, &Rule::ALL),
        seed: arguments.seed,
        hours: arguments.hours,
    };
    let clock = Clock::start();
    let start = clock.now();
    let report = placement::run(&options, |workload, rule| {
        let since = clock.now().since(start);
        eprintln!("{since:>9}: {} with {} ...", workload.name(), rule.name());
    });
    eprintln!("{:>9}: done", clock.now().since(start));
    let text = match arguments.output {
        Output::Table => Ok(table(&report)),
        Output::Json => serde_json::to_string_pretty(&report).map(|text| text + "\n"),
    };
    let printed = match text {
        Ok(text) => print(&text),
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let mut violations = report.violations().peekable();
    if violations.peek().is_none() {
        return printed;
    }
    eprintln!("this is a bug in Muster, and nothing of this report can be trusted:");
    violations.for_each(|line| eprintln!("  {line}"));
    ExitCode::from(BUG)
}

/// Each once, in the order of the first mention; all where none is named.
fn chosen<T: Copy + PartialEq>(named: &[T], all: &[T]) -> Vec<T> {
    let mut once = Vec::new();
    let wanted = if named.is_empty() { all } else { named };
    for one in wanted {
        if !once.contains(one) {
            once.push(*one);
        }
    }
    once
}
