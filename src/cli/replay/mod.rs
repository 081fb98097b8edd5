//! `muster replay`: plays a record by the core again, and says whether it decides the same; or lists what was decided, or
//! says why something was where it was.

mod play;
mod time;
mod words;

use super::explained::Explanation;
use super::why_target::Target;
use super::{BAD_INPUT, Extensions};
use anyhow::{Context, bail};
use muster_config::SchedulerConfiguration;
use muster_core::engine::Policy;
use muster_record::{About, Decisions, Folder, Player, Read, Reader, RecordError, Term};
use play::{Came, Outcome};
use serde::Serialize;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use time::Moment;

/// Plays a record by the core again, and says whether it decides the same.
///
/// `muster run --record` and `muster simulate --record` write one. Without --decisions and --why all that was heard is heard
/// again, and each plan is compared with the one that is recorded.
///
/// Exit code 0: every plan was the same, or what was asked was answered. 1: a plan was another, or not all could be
/// compared, for entries are missing; or standard output cannot be written. 2: something in a file or an argument is wrong.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The folder with the record
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Go no further than this: a date such as 2026-01-31T12:00:00Z, or a duration from the beginning such as 90s
    #[arg(long, value_name = "TIME")]
    at: Option<Moment>,
    /// Say why this was where it was, at the end or at the time of --at: podgroup/NAME, pod/NAME, queue/NAME or
    /// testbed/NAME; may be given several times
    #[arg(long, value_name = "WHAT", conflicts_with = "decisions")]
    why: Vec<Target>,
    /// Namespace of what --why names without one
    #[arg(short, long, value_name = "NAME", default_value = "default")]
    namespace: String,
    /// List who was placed where, who was evicted for whom and why, and who was refused for what
    #[arg(long)]
    decisions: bool,
    /// Decide by this SchedulerConfiguration file instead of the one that is recorded, up to the first plan that is
    /// another
    #[arg(long, value_name = "CONFIG", conflicts_with_all = ["decisions", "why"])]
    against: Option<PathBuf>,
    /// How to print what came of it
    #[arg(short, long, value_enum, default_value_t)]
    output: Output,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum Output {
    /// Plain words
    #[default]
    Text,
    /// JSON: one object, and with --decisions one a line
    Json,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments, extensions: &Extensions) -> ExitCode {
    match arguments.answer(extensions) {
        Ok(code) => code,
        Err(error) => match error.downcast_ref::<io::Error>() {
            // Whoever reads may stop reading.
            Some(error) if error.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
            Some(error) => {
                eprintln!("cannot write to standard output: {error}");
                ExitCode::FAILURE
            }
            None => {
                eprintln!("{error:#}");
                ExitCode::from(BAD_INPUT)
            }
        },
    }
}

impl Arguments {
    fn answer(&self, extensions: &Extensions) -> anyhow::Result<ExitCode> {
        let folder = Folder::open(&self.folder)?;
        if self.decisions {
            self.list(&folder)
        } else if self.why.is_empty() {
            self.compare(&folder, extensions)
        } else {
            self.explain(&folder, extensions)
        }
    }

    /// Prints what was decided.
    fn list(&self, folder: &Folder) -> anyhow::Result<ExitCode> {
        let mut out = BufWriter::new(io::stdout().lock());
        for term in &folder.terms {
            let Some(mut reader) = open(term)? else {
                continue;
            };
            let until = self.until(reader.about())?;
            let clock = reader.about().clock;
            let mut decisions = Decisions::default();
            while let Some(read) = reader.read()? {
                let line = match read {
                    Read::Line(line) => line,
                    Read::Gap(gap) => {
                        eprintln!("{}: {gap}", term.name);
                        continue;
                    }
                    Read::CutOff { file, lines } => {
                        eprintln!("{}", words::cut_off(&file, lines));
                        continue;
                    }
                };
                let entry = line.entry()?;
                if until.is_some_and(|until| entry.at() > until) {
                    break;
                }
                for decided in decisions.of(&entry, line.entry) {
                    match self.output {
                        Output::Text => writeln!(out, "{}", words::decided(&decided, clock))?,
                        Output::Json => {
                            let row = Row {
                                term: &term.name,
                                decided: &decided,
                            };
                            writeln!(out, "{}", serde_json::to_string(&row)?)?;
                        }
                    }
                }
            }
        }
        out.flush()?;
        Ok(ExitCode::SUCCESS)
    }

    /// Plays all of it, and prints whether the same was decided.
    fn compare(&self, folder: &Folder, extensions: &Extensions) -> anyhow::Result<ExitCode> {
        let mut outcomes = Vec::new();
        for term in &folder.terms {
            let Some(mut reader) = open(term)? else {
                continue;
            };
            let until = self.until(reader.about())?;
            let policy = self.policy(term, reader.about(), extensions)?;
            outcomes.push(play::compare(term, &mut reader, policy, until)?);
        }
        let text = match self.output {
            Output::Text => {
                let against = self.against.as_ref();
                let against = against.map(|file| file.display().to_string());
                outcomes
                    .iter()
                    .map(|one| words::outcome(one, against.as_deref()))
                    .collect()
            }
            Output::Json => serde_json::to_string_pretty(&Outcomes { terms: &outcomes })? + "\n",
        };
        io::stdout().lock().write_all(text.as_bytes())?;
        let is_expected = |one: &Outcome| match one.came {
            Came::Same => true,
            Came::Differs => self.against.is_some(),
            Came::Gap | Came::NoBeginning => false,
        };
        Ok(if outcomes.iter().all(is_expected) {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        })
    }

    /// Plays up to a time, and prints why things were where they were.
    fn explain(&self, folder: &Folder, extensions: &Extensions) -> anyhow::Result<ExitCode> {
        let (term, mut reader) = self.term(folder)?;
        let until = self.until(reader.about())?;
        let clock = reader.about().clock;
        let policy = self.policy(term, reader.about(), extensions)?;
        let mut player = Player::new(policy);
        let last = play::up_to(term, &mut reader, &mut player, until)?;
        let now = until.unwrap_or(last);
        let mut found = Vec::new();
        for target in &self.why {
            let target = target.within(&self.namespace);
            let one = Explanation::of(player.scheduler(), &target, now, clock);
            let at = time::in_words(now, clock);
            found.push(one.with_context(|| {
                format!("--why: there is no {target} at {at}; --at chooses another time")
            })?);
        }
        let text = match (self.output, found.as_slice()) {
            (Output::Text, found) => {
                let pages: Vec<String> = found.iter().map(Explanation::in_words).collect();
                pages.join("\n")
            }
            (Output::Json, [one]) => serde_json::to_string_pretty(one)? + "\n",
            (Output::Json, found) => serde_json::to_string_pretty(found)? + "\n",
        };
        io::stdout().lock().write_all(text.as_bytes())?;
        Ok(ExitCode::SUCCESS)
    }

    /// The term in which the time of --at is: the last that had begun.
    fn term<'a>(&self, folder: &'a Folder) -> anyhow::Result<(&'a Term, Reader)> {
        let mut found = None;
        for term in &folder.terms {
            let Some(reader) = open(term)? else {
                continue;
            };
            let until = self.until(reader.about())?;
            if until.is_some_and(|until| reader.about().started > until) {
                if found.is_none() {
                    let (started, clock) = (reader.about().started, reader.about().clock);
                    let begins = time::in_words(started, clock);
                    bail!("--at: nothing is recorded at that time: the record begins at {begins}");
                }
                break;
            }
            found = Some((term, reader));
        }
        found.context("there is no record")
    }

    /// The time of --at in a term.
    fn until(&self, about: &About) -> anyhow::Result<Option<muster_model::units::Time>> {
        let at = self.at.map(|at| at.of(about)).transpose();
        at.map_err(|why| anyhow::anyhow!("--at: {why}"))
    }

    /// By what is decided.
    fn policy(
        &self,
        term: &Term,
        about: &About,
        extensions: &Extensions,
    ) -> anyhow::Result<Policy> {
        let recorded = || recorded(term, about);
        let Some(file) = &self.against else {
            let configuration = recorded()?.with_context(|| {
                format!(
                    "{}: it does not say by which configuration it was decided; --against FILE says one",
                    term.name
                )
            })?;
            return Ok(extensions.policy(&configuration)?);
        };
        let configuration = muster_config::load(file)?;
        let policy = extensions.policy(&configuration)?;
        if let Some(recorded) = recorded()? {
            let before = recorded.reading(&extensions.policy(&recorded)?);
            if before != configuration.reading(&policy) {
                eprintln!(
                    "{}: schedulerNames, profiles, missingPodGroupTimeout, requireSchedulingSpec, gangsByLabels and \
                     ghostNamespace are as recorded: what was heard was read by them",
                    file.display()
                );
            }
        }
        Ok(policy)
    }
}

/// Begins to read a term; `None`, and a note, where whoever writes it has only just begun.
fn open(term: &Term) -> anyhow::Result<Option<Reader>> {
    match Reader::open(term) {
        Err(error @ RecordError::NotBegun { .. }) => {
            eprintln!("{error}");
            Ok(None)
        }
        reader => Ok(Some(reader?)),
    }
}

/// The configuration that a term says.
fn recorded(term: &Term, about: &About) -> anyhow::Result<Option<SchedulerConfiguration>> {
    let Some(value) = &about.configuration else {
        return Ok(None);
    };
    let configuration = serde_json::from_value(value.clone());
    configuration
        .map(Some)
        .with_context(|| format!("{}: the configuration that is recorded", term.name))
}

/// What was decided, on a line.
#[derive(Serialize)]
struct Row<'a> {
    term: &'a str,
    #[serde(flatten)]
    decided: &'a muster_record::Decided,
}

/// What came of all terms.
#[derive(Serialize)]
struct Outcomes<'a> {
    terms: &'a [Outcome],
}
