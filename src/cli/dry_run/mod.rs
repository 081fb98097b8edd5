//! `muster run --dry-run`: decide on a cluster's shadow, write nothing, and report.

mod shown;

use super::Extensions;
use super::program::{self, Program, READ_WITHIN};
use super::recording::Record;
use clap::{Args, ValueEnum};
use muster_api::duration;
use muster_cluster::{Health, Metrics, client};
use muster_config::{ConfigError, SchedulerConfiguration, SchedulerName};
use muster_live::shadow::{self, Options};
use muster_model::units::Millis;
use muster_serve::Shown;
use muster_shadow::Report;
use shown::{json, text};
use std::io::{Write, stdout};
use std::sync::Arc;
use std::thread;
use tokio::sync::{mpsc, oneshot};

/// Whose pods are considered if nobody says it.
const CONSIDERED: &str = "default-scheduler";
/// How often it is reported.
const EVERY: Millis = Millis::from_secs(60);
const SELDOM: Millis = Millis::from_secs(86_400);
/// Reports that may wait for who reads them.
const REPORTS: usize = 16;

/// Whether it is a dry run, and of what.
#[derive(Debug, Args)]
pub(super) struct DryRun {
    /// Decides beside the scheduler that the cluster has, on a shadow of it, writes nothing, and reports what it would have
    /// done differently (docs/shadow.md)
    #[arg(long, conflicts_with_all = ["controllers", "external"])]
    dry_run: bool,
    /// In a dry run: the scheduler whose pods are considered, as they name it; several with commas, or by the flag given again
    /// [default: default-scheduler]
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = scheduler_name, requires = "dry_run")]
    dry_run_scheduler_name: Vec<SchedulerName>,
    /// In a dry run: how often it reports [default: 1m]
    #[arg(long, value_name = "DURATION", value_parser = every, requires = "dry_run")]
    report_every: Option<Millis>,
    /// In a dry run: how its reports are printed, on standard output [default: text]
    #[arg(short, long, value_enum, requires = "dry_run")]
    output: Option<Output>,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Output {
    /// Tables for people
    #[default]
    Text,
    /// One JSON object a line
    Json,
}

fn scheduler_name(name: &str) -> Result<SchedulerName, String> {
    SchedulerName::try_from(name.to_owned())
}

fn every(text: &str) -> Result<Millis, String> {
    let span = duration::parse(text).map_err(|error| error.to_string())?;
    if (Millis::from_secs(1)..=SELDOM).contains(&span) {
        return Ok(span);
    }
    Err("it has to be from 1s to 24h".to_owned())
}

impl DryRun {
    /// Whether it is one.
    pub(super) const fn is_asked_for(&self) -> bool {
        self.dry_run
    }

    /// Whose pods are considered, and nobody else's.
    fn consider(&self, configuration: &mut SchedulerConfiguration) -> Result<(), ConfigError> {
        configuration.scheduler_names = if self.dry_run_scheduler_name.is_empty() {
            vec![scheduler_name(CONSIDERED).unwrap_or_default()]
        } else {
            self.dry_run_scheduler_name.clone()
        };
        let outside = [
            ("remotePlugins", configuration.remote_plugins.is_empty()),
            ("extenders", configuration.extenders.is_empty()),
        ];
        match outside.into_iter().find(|(_, is_empty)| !is_empty) {
            Some((field, _)) => Err(ConfigError::Unsupported {
                field: field.to_owned(),
                why: "in a dry run nobody outside is asked, for what they do is not known; give a file without them",
            }),
            None => Ok(()),
        }
    }

    /// Runs until told to stop, or nobody reads what is reported.
    pub(super) async fn run(
        self,
        program: Program,
        record: Record,
        extensions: &Extensions,
    ) -> anyhow::Result<()> {
        record.check()?;
        let (mut configuration, cluster) = program.load().await?;
        self.consider(&mut configuration)?;
        let policy = extensions.policy(&configuration)?;
        let metrics = Arc::new(Metrics::new()?);
        let health = Arc::new(Health::where_not_installed());
        let (reports, told) = mpsc::channel(REPORTS);
        let names = configuration.names();
        tracing::info!(
            schedulers = names.join(", "),
            "a dry run: nothing is written"
        );
        let options = Options {
            reader: client::read_only(&cluster, READ_WITHIN)?,
            reading: configuration.reading(&policy),
            policy,
            health: Arc::clone(&health),
            metrics: Arc::clone(&metrics),
            recording: record.of_cluster(&configuration, &program::identity()),
            every: self.report_every.unwrap_or(EVERY),
            reports,
        };
        // Who says why would have to ask the API server who asks, and that is a write.
        let desk = None;
        let shown = Shown {
            health,
            metrics,
            desk,
        };
        let stop = program::stop()?;
        let pages = program.serve(configuration.listen.get(), shown).await?;
        let (end, unread) = oneshot::channel::<()>();
        let output = self.output.unwrap_or_default();
        let printing = thread::Builder::new().name("reports".to_owned());
        let printing = printing.spawn(move || {
            let _end = end;
            print(told, &names, output);
        })?;
        let stop = async {
            tokio::select! {
                () = stop => {}
                _ = unread => tracing::warn!("nobody reads the reports any more"),
            }
        };
        shadow::run(options, stop).await?;
        drop(pages);
        // The last report is printed; the thread has nothing else to do.
        tokio::task::spawn_blocking(move || printing.join())
            .await?
            .map_err(|_| anyhow::anyhow!("printing the reports stopped by itself"))
    }
}

/// Prints reports as they come, on a thread of its own: who reads them slowly makes nobody else wait.
fn print(mut reports: mpsc::Receiver<Report>, names: &[String], output: Output) {
    while let Some(report) = reports.blocking_recv() {
        let text = match output {
            Output::Text => text(&report, names),
            Output::Json => json(&report, names).to_string(),
        };
        let mut out = stdout().lock();
        if writeln!(out, "{text}").and_then(|()| out.flush()).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dry_run(names: &[&str]) -> DryRun {
        DryRun {
            dry_run: true,
            dry_run_scheduler_name: names
                .iter()
                .map(|name| scheduler_name(name).unwrap())
                .collect(),
            report_every: None,
            output: None,
        }
    }

    #[test]
    fn the_schedulers_that_are_named_count_in_place_of_those_of_the_file() {
        let mut configuration = SchedulerConfiguration::default();
        dry_run(&[]).consider(&mut configuration).unwrap();
        assert_eq!(configuration.names(), ["default-scheduler"]);
        dry_run(&["volcano", "muster"])
            .consider(&mut configuration)
            .unwrap();
        assert_eq!(configuration.names(), ["volcano", "muster"]);
    }

    #[test]
    fn a_configuration_that_asks_others_is_refused() {
        let text = "apiVersion: config.muster.dev/v1alpha1\nkind: SchedulerConfiguration\n\
                    extenders: [{urlPrefix: 'http://127.0.0.1:1/', filterVerb: filter}]\n";
        let mut configuration = muster_config::parse("file", text).unwrap();
        let said = dry_run(&[]).consider(&mut configuration).unwrap_err();
        let wanted = "extenders: in a dry run nobody outside is asked";
        assert!(said.to_string().starts_with(wanted), "{said}");
    }

    #[test]
    fn reports_come_every_second_at_most_and_every_day_at_least() {
        assert_eq!(every("90s"), Ok(Millis::from_secs(90)));
        for wrong in ["0s", "999ms", "25h"] {
            assert_eq!(every(wrong).unwrap_err(), "it has to be from 1s to 24h");
        }
        assert!(every("soon").is_err());
    }
}
