//! `muster simulate`: plays a scenario and prints what came of it.
//!
//! Exit code 0 when it could be played, whatever became of the gangs; 2 on bad input; 3 when
//! Muster broke a rule of its own, and then nothing of what came of it can be trusted.

use super::explained::Explanation;
use super::recording::Record;
use super::why_target::Target;
use super::{BAD_INPUT, BUG, Extensions, input, whole_file};
use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressStyle};
use k8s_openapi::jiff::Timestamp;
use muster_api::duration;
use muster_config::SchedulerConfiguration;
use muster_core::engine::Policy;
use muster_model::Object;
use muster_model::explanation::Clock;
use muster_model::units::{Millis, Time};
use muster_sim::driver::Driver;
use muster_sim::network::Network;
use muster_sim::page::page;
use muster_sim::picture::{Subject, picture};
use muster_sim::recording::Recording;
use muster_sim::report::{Difference, Report, difference, difference_table, report, table};
use muster_sim::scenario::{self, Choices, Durations, Scenario, load_by};
use serde::Serialize;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of `muster simulate`.
#[derive(Clone, Debug, clap::Args)]
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

    /// Say why this is where it is at the end: podgroup/NAME, pod/NAME, queue/NAME or
    /// testbed/NAME; may be given several times
    #[arg(long, value_name = "WHAT")]
    why: Vec<Target>,

    /// Namespace of what --why names without one
    #[arg(short, long, value_name = "NAME", default_value = "default")]
    namespace: String,

    /// Refuse kinds that are not known also in what a cluster printed, and say of each field that is not known where
    /// it stands
    #[arg(long)]
    strict: bool,

    /// When objects of a cluster are played, as a date such as 2026-01-31T12:00:00Z; without it, at the newest time
    /// that is found in them
    #[arg(long, value_name = "DATE", value_parser = date)]
    now: Option<Time>,

    /// How long pods run of which nothing says it; without it, they run on
    #[arg(long, value_name = "DURATION", value_parser = span)]
    default_duration: Option<Millis>,

    /// File of durations by queue, namespace and labels, for pods of which nothing says how long they run
    #[arg(long, value_name = "FILE")]
    durations: Option<PathBuf>,

    /// YAML file of edits that are laid over what is played: an object of it changes the one of its name, or is one more.
    /// Both are played, without the edits and with them, and what differs is printed, too
    #[arg(long, value_name = "FILE")]
    what_if: Option<PathBuf>,

    /// How to print what came of it
    #[arg(long, value_enum, default_value_t)]
    output: Output,

    /// Also write the day as a picture: one page for any browser, which needs nothing from outside
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Also draw the cluster as an SVG file: what runs where, and what is left
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,

    /// When --svg draws it, such as 90s or 2h30m; without it, at the end
    #[arg(long, value_name = "DURATION", value_parser = until, requires = "svg")]
    at: Option<Time>,

    /// The Topology by whose domains --svg and --html draw the cluster; without it, the first by name
    #[arg(long, value_name = "NAME")]
    topology: Option<String>,

    #[command(flatten)]
    record: Record,
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
    Ok(Time::ZERO + span(text)?)
}

fn span(text: &str) -> Result<Millis, String> {
    duration::parse(text).map_err(|error| error.to_string())
}

fn date(text: &str) -> Result<Time, String> {
    let at = text.parse::<Timestamp>().ok();
    let at = at.and_then(|at| u64::try_from(at.as_millisecond()).ok());
    at.map(Time)
        .ok_or_else(|| format!("{text:?} is not a date such as 2026-01-31T12:00:00Z"))
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments, extensions: &Extensions) -> ExitCode {
    let Input {
        base,
        scenario,
        policy,
        configuration,
    } = match read(arguments, extensions) {
        Ok(input) => input,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(BAD_INPUT);
        }
    };
    for note in &scenario.notes {
        eprintln!("{note}");
    }
    for warning in &scenario.warnings {
        eprintln!("warning: {warning}");
    }
    if let Err(error) = check(&scenario, arguments) {
        eprintln!("{error}");
        return ExitCode::from(BAD_INPUT);
    }
    if let Err(error) = check_files(arguments).and_then(|()| arguments.record.check()) {
        eprintln!("{error:#}");
        return ExitCode::FAILURE;
    }
    let recording = arguments.record.of_scenario(scenario.begin, &configuration);
    let without = arguments.what_if.is_some().then(|| {
        // Of this one no more is asked.
        let bare = Arguments {
            html: None,
            svg: None,
            why: Vec::new(),
            ..arguments.clone()
        };
        play(base, policy.clone(), &bare, None).report
    });
    let Played {
        report,
        why,
        files,
        recorded,
    } = play(scenario, policy, arguments, recording);
    let changed = without.as_ref().map(|without| difference(without, &report));
    let broken = broken_rules(&report.violations);
    eprint!("{}", broken.as_deref().unwrap_or_default());
    let written = files
        .iter()
        .map(|(file, text)| whole_file::write(file, text));
    let written: Vec<anyhow::Result<()>> = written.collect();
    let written = written.into_iter().chain([recorded]);
    let written = written.collect::<anyhow::Result<()>>();
    let why = match why {
        Ok(why) => why,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(BAD_INPUT);
        }
    };
    // Neither is left out because the other cannot be written.
    let printed = print(&report, &why, changed.as_ref(), arguments.output);
    match written.and(printed) {
        Ok(()) if broken.is_some() => ExitCode::from(BUG),
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

/// A file and what is to stand in it.
type Page = (PathBuf, String);

/// Whether the arguments fit each other and what is played.
fn check(scenario: &Scenario, arguments: &Arguments) -> anyhow::Result<()> {
    if let (Some(at), Some(until)) = (arguments.at, arguments.until)
        && at > until
    {
        let [at, until] = [at, until].map(|time| time.since(Time::ZERO));
        bail!("--at: at {at} nothing is played any more: --until ends it at {until}");
    }
    let Some(name) = &arguments.topology else {
        return Ok(());
    };
    if arguments.svg.is_none() && arguments.html.is_none() {
        bail!("--topology: it says how --svg and --html draw the cluster, and neither is given");
    }
    let objects = scenario.entries.iter().map(|entry| &entry.object);
    let names = objects.filter_map(|object| match object {
        scenario::Played::Plain(Object::Topology(topology)) => Some(topology.name.as_str()),
        _ => None,
    });
    let names: BTreeSet<&str> = names.collect();
    if !names.contains(name.as_str()) {
        let names: Vec<&str> = names.into_iter().take(10).collect();
        let there = match names.as_slice() {
            [] => "there is none".to_owned(),
            names => format!("there is {}", names.join(", ")),
        };
        bail!("--topology: there is no Topology {name} in what is played; {there}");
    }
    Ok(())
}

fn check_files(arguments: &Arguments) -> anyhow::Result<()> {
    for file in arguments.html.iter().chain(&arguments.svg) {
        whole_file::check(file, &arguments.files)?;
    }
    if arguments.svg.is_some() && arguments.svg == arguments.html {
        bail!("--svg and --html: one file cannot be both");
    }
    Ok(())
}

/// What is read.
struct Input {
    /// What is played without edits; empty where there are none.
    base: Scenario,
    /// What is played.
    scenario: Scenario,
    policy: Policy,
    configuration: SchedulerConfiguration,
}

fn read(arguments: &Arguments, extensions: &Extensions) -> anyhow::Result<Input> {
    let configuration = muster_config::load_or_default(arguments.config.as_deref())?;
    let policy = extensions.policy(&configuration)?;
    let sources = input::sources(&arguments.files)?;
    let durations = match &arguments.durations {
        Some(file) => {
            let text = input::text(file).map_err(anyhow::Error::msg)?;
            Durations::read(&file.display().to_string(), &text)?
        }
        None => Durations::default(),
    };
    let choices = Choices {
        strict: arguments.strict,
        now: arguments.now,
        durations: durations.or(arguments.default_duration),
        seed: arguments.seed,
    };
    let reading = configuration.reading(&policy);
    let mut base = load_by(&sources, &[], &reading, &choices)?;
    let scenario = match &arguments.what_if {
        Some(edits) => {
            let edits = input::sources(std::slice::from_ref(edits))?;
            load_by(&sources, &edits, &reading, &choices)?
        }
        None => std::mem::take(&mut base),
    };
    Ok(Input {
        base,
        scenario,
        policy,
        configuration,
    })
}

/// What came of a scenario.
struct Played {
    report: Report,
    why: Result<Vec<Explanation>, String>,
    files: Vec<Page>,
    /// Whether the record is whole, if there is one.
    recorded: anyhow::Result<()>,
}

fn play(
    scenario: Scenario,
    policy: Policy,
    arguments: &Arguments,
    recording: Option<Recording>,
) -> Played {
    let bar = progress_bar(&scenario);
    let mut driver = Driver::new(scenario, policy, Network::calm(arguments.seed));
    if arguments.html.is_some() || arguments.svg.is_some() {
        driver = driver.with_story();
    }
    if let Some(recording) = &recording {
        driver.set_tapes(Box::new(recording.clone()));
    }
    let targets = arguments.why.iter();
    let targets: Vec<Target> = targets
        .map(|one| one.within(&arguments.namespace))
        .collect();
    let from_begin = |at: Time| driver.begin() + at.since(Time::ZERO);
    let (until, at) = (
        arguments.until.map(from_begin),
        arguments.at.map(from_begin),
    );
    // The scheduler's timers go on when nothing more is to come: what is asked is asked before.
    let mut asked = None;
    let mut each = |driver: &Driver| {
        bar.set_position(driver.ledger().started as u64);
        let last = driver.last_change();
        let known = asked.as_ref().is_some_and(|(at, _)| *at == last);
        if until.is_none() && !targets.is_empty() && driver.is_quiet() && !known {
            asked = Some((last, explain_all(driver, &targets, driver.now())));
        }
    };
    let subject = Subject {
        files: names(arguments),
        seed: arguments.seed,
        topology: arguments.topology.clone(),
    };
    let mut files = Vec::new();
    if let (Some(file), Some(at)) = (&arguments.svg, at) {
        driver.run(at, &mut each);
        files.push((file.clone(), drawn(&driver, &subject, at)));
    }
    let end = driver.run(until.unwrap_or(Time(u64::MAX)), each);
    bar.finish_and_clear();
    let why = match asked {
        Some((_, why)) => why,
        None => explain_all(&driver, &targets, until.unwrap_or(end)),
    };
    let report = report(&mut driver, end);
    if let (Some(file), None) = (&arguments.svg, arguments.at) {
        files.push((file.clone(), drawn(&driver, &subject, until.unwrap_or(end))));
    }
    if let Some(file) = &arguments.html {
        files.push((file.clone(), page_of(&mut driver, &report, &subject)));
    }
    // Records are ended with what writes them.
    drop(driver);
    let recorded = recording.map_or(Ok(()), |recording| recording.end());
    Played {
        report,
        why,
        files,
        recorded: recorded.context("--record"),
    }
}

fn drawn(driver: &Driver, subject: &Subject, at: Time) -> String {
    picture(driver, subject, Time::ZERO + at.since(driver.begin()))
}

fn explain_all(driver: &Driver, targets: &[Target], now: Time) -> Result<Vec<Explanation>, String> {
    let explain = |target: &Target| {
        let found = explain(driver, target, now);
        let at = now.since(driver.begin());
        found.ok_or_else(|| {
            format!("--why: there is no {target} at {at}; --until chooses another time")
        })
    };
    targets.iter().map(explain).collect()
}

fn explain(driver: &Driver, target: &Target, now: Time) -> Option<Explanation> {
    let scheduler = driver.brain()?.scheduler();
    // What began at a date is told by dates.
    let clock = if driver.begin() > Time::ZERO {
        Clock::Utc
    } else {
        Clock::Scenario
    };
    Explanation::of(scheduler, target, now, clock)
}

fn page_of(driver: &mut Driver, report: &Report, subject: &Subject) -> String {
    driver.end_story();
    page(driver, report, subject)
}

/// The names of what is played.
fn names(arguments: &Arguments) -> String {
    let name = |file: &PathBuf| match file.file_name() {
        Some(name) if name != "-" => name.to_string_lossy().into_owned(),
        _ => "standard input".to_owned(),
    };
    let names: Vec<String> = arguments.files.iter().map(name).collect();
    names.join(", ")
}

/// More lines than this about what must not happen are summed up.
const MAX_LINES: usize = 20;

/// What is said where Muster broke a rule of its own.
fn broken_rules(violations: &[String]) -> Option<String> {
    if violations.is_empty() {
        return None;
    }
    let mut text = "this is a bug in Muster, and nothing of this report can be trusted; please \
                    report it with this scenario:\n"
        .to_owned();
    for line in violations.iter().take(MAX_LINES) {
        text += &format!("  {line}\n");
    }
    if violations.len() > MAX_LINES {
        text += "  and more: --output json has them in `violations`\n";
    }
    Some(text)
}

/// Counts pods that were started; silent where standard error is no terminal.
fn progress_bar(scenario: &Scenario) -> ProgressBar {
    let pods = scenario.entries.iter().map(|entry| match &entry.object {
        scenario::Played::Pod(_) => 1,
        scenario::Played::Job(job) => job.pods.len(),
        _ => 0,
    });
    let bar = ProgressBar::new(pods.sum::<usize>() as u64);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} pods started") {
        bar.set_style(style);
    }
    bar
}

/// The report, with what was asked beside it.
#[derive(Serialize)]
struct Answer<'a> {
    #[serde(flatten)]
    report: &'a Report,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    why: &'a [Explanation],
    /// What edits changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<&'a Difference>,
}

fn print(
    report: &Report,
    why: &[Explanation],
    difference: Option<&Difference>,
    output: Output,
) -> anyhow::Result<()> {
    let text = match output {
        Output::Table => {
            let mut text = table(report);
            for one in why {
                text.push('\n');
                text.push_str(&one.in_words());
            }
            if let Some(difference) = difference {
                text.push('\n');
                text.push_str(&difference_table(difference));
            }
            text
        }
        Output::Json => {
            let answer = Answer {
                report,
                why,
                difference,
            };
            serde_json::to_string_pretty(&answer)? + "\n"
        }
    };
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        // Whoever reads may stop reading.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other.context("cannot write to standard output"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_api::convert::Reading;

    const INVALID: &str = "
apiVersion: v1
kind: Node
metadata: {name: n}
status: {allocatable: {cpu: 4, pods: 10}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: g}
spec: {minMember: 1, networkTopology: {mode: firm}}
---
apiVersion: v1
kind: Pod
metadata: {name: p, annotations: {scheduling.k8s.io/group-name: g}}
spec: {containers: [{name: c, image: i}]}
";

    fn played(policy: Policy) -> Report {
        let reading = Reading {
            scheduler_names: vec!["muster".to_owned()],
            ..Reading::default()
        };
        let source = scenario::Source {
            name: "-".to_owned(),
            text: INVALID.to_owned(),
        };
        let scenario = scenario::load(&[source], &reading).unwrap();
        let arguments = Arguments {
            files: Vec::new(),
            config: None,
            until: None,
            seed: 0,
            strict: false,
            now: None,
            default_duration: None,
            durations: None,
            what_if: None,
            output: Output::Table,
            html: None,
            svg: None,
            at: None,
            topology: None,
            why: Vec::new(),
            namespace: "default".to_owned(),
            record: Record::default(),
        };
        play(scenario, policy, &arguments, None).report
    }

    #[test]
    fn a_plan_that_must_not_be_is_said_to_be_a_bug() {
        let report = played(Policy::default());
        assert_eq!(broken_rules(&report.violations), None);
        assert!(
            !serde_json::to_string(&report)
                .unwrap()
                .contains("violations")
        );

        // Without what guards admission, the core does what it must not.
        let mut policy = Policy::default();
        policy.profile.pre_enqueue.clear();
        let report = played(policy);
        let said = broken_rules(&report.violations).unwrap();
        assert!(said.starts_with("this is a bug in Muster"), "{said}");
        assert!(said.contains("gang default/g is bound although"), "{said}");
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["violations"][0], report.violations[0]);
    }

    #[test]
    fn of_many_broken_rules_the_first_are_shown() {
        let many = vec!["a rule".to_owned(); MAX_LINES + 1];
        let said = broken_rules(&many).unwrap();
        assert_eq!(said.lines().count(), MAX_LINES + 2);
        assert!(said.ends_with("in `violations`\n"), "{said}");
    }
}
