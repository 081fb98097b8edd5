//! `muster run`: schedule on a cluster until told to stop.

use super::Extensions;
use super::controllers::{self, Ghosts};
use super::dry_run::DryRun;
use super::external::External;
use super::program::{self, Program, READ_WITHIN, WRITE_WITHIN};
use super::recording::Record;
use clap::Args;
use kube::Config;
use muster_cluster::client::{self, Transport};
use muster_cluster::lease::Identity;
use muster_cluster::remote::Directory;
use muster_cluster::reviews::Reviews;
use muster_cluster::{Explanations, Fence, Health, Metrics};
use muster_config::SchedulerConfiguration;
use muster_live::Options;
use muster_serve::{Desk, Shown};
use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// How long the API server may take to say who somebody is.
const REVIEW_WITHIN: Duration = Duration::from_secs(5);

/// Arguments of `muster run`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    program: Program,
    /// Also does what `muster controllers` does, under that one's Lease
    #[arg(long)]
    controllers: bool,
    #[command(flatten)]
    ghosts: Ghosts,
    #[command(flatten)]
    external: External,
    #[command(flatten)]
    record: Record,
    #[command(flatten)]
    dry_run: DryRun,
}

/// Runs until SIGTERM or SIGINT.
pub(super) fn run(arguments: Arguments, extensions: &Extensions) -> ExitCode {
    let Arguments {
        program,
        controllers,
        ghosts,
        external,
        record,
        dry_run,
    } = arguments;
    if dry_run.is_asked_for() {
        return program.run(|program| dry_run.run(program, record, extensions));
    }
    let ghosts = controllers.then_some(ghosts);
    program.run(|program| schedule(program, ghosts, external, record, extensions))
}

/// Schedules; returns an error when Muster cannot start, loses its lease or ends by itself.
async fn schedule(
    program: Program,
    ghosts: Option<Ghosts>,
    external: External,
    record: Record,
    extensions: &Extensions,
) -> anyhow::Result<()> {
    if ghosts.is_none() {
        external.without_controllers()?;
    }
    record.check()?;
    let (configuration, cluster) = program.load().await?;
    let metrics = Arc::new(Metrics::new()?);
    let controllers = match ghosts {
        Some(ghosts) => {
            let metrics = Arc::clone(&metrics);
            let options =
                controllers::options(&program, &ghosts, &configuration, &cluster, metrics);
            Some(options?)
        }
        None => None,
    };
    let identity = program::identity();
    let mut options = options(
        &program,
        &configuration,
        &cluster,
        Arc::clone(&metrics),
        &identity,
        extensions,
    )?;
    options.recording = record.of_cluster(&configuration, &identity);
    let reviewer = client::client(&cluster, Transport::Http1, REVIEW_WITHIN)?;
    let shown = Shown {
        health: Arc::clone(&options.health),
        metrics: Arc::clone(&options.metrics),
        desk: Some(Desk {
            health: Arc::clone(&options.health),
            explanations: Arc::clone(&options.explanations),
            reviews: Arc::new(Reviews::new(reviewer)),
        }),
    };
    let stop = program::stop()?;
    let pages = program.serve(configuration.listen.get(), shown).await?;
    let external = external.serve(&cluster, &metrics).await?;
    // Whoever ends first ends the other, in good order.
    let (tell, told) = watch::channel(false);
    let scheduling = async {
        let result = muster_live::run(options, until(told.clone())).await;
        tell.send_replace(true);
        result
    };
    let controlling = async {
        let Some(options) = controllers else {
            return Ok(());
        };
        let result = muster_live::controllers::run(options, until(told.clone())).await;
        tell.send_replace(true);
        result
    };
    let mut both = pin!(async { tokio::join!(scheduling, controlling) });
    let (scheduled, controlled) = tokio::select! {
        results = &mut both => results,
        () = stop => {
            tell.send_replace(true);
            both.await
        }
    };
    drop(pages);
    if let Some(external) = external {
        external.abort();
    }
    scheduled?;
    Ok(controlled?)
}

/// Ends when it is told.
async fn until(mut told: watch::Receiver<bool>) {
    // Who would tell is there as long as this is waited for.
    let _ = told.wait_for(|told| *told).await;
}

fn options(
    program: &Program,
    configuration: &SchedulerConfiguration,
    cluster: &Config,
    metrics: Arc<Metrics>,
    identity: &Identity,
    extensions: &Extensions,
) -> anyhow::Result<Options> {
    let election = &configuration.leader_election;
    let lease = match program.lease(election, election.lease_name.as_str(), identity) {
        Some(lease) => Some((client::lease(cluster)?, lease)),
        None => None,
    };
    let fence = if lease.is_some() {
        Fence::shut()
    } else {
        Fence::open()
    };
    let mut answerers = extensions.answerers();
    Directory::new(configuration, fence.clock(), &metrics)?.join(&mut answerers);
    let policy = extensions.policy(configuration)?;
    Ok(Options {
        reader: client::reader(cluster, READ_WITHIN)?,
        writer: client::writer(cluster, WRITE_WITHIN, &fence)?,
        fence,
        reading: configuration.reading(&policy),
        policy,
        answerers,
        lease,
        binds_in_flight: configuration.bind_concurrency.get() as usize,
        instance: identity.name().to_owned(),
        health: Arc::new(Health::default()),
        metrics,
        explanations: Arc::new(Explanations::default()),
        recording: None,
    })
}
