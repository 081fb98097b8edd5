//! `muster controllers`: hold the slots of Testbeds on a cluster until told to stop.

use super::external::External;
use super::program::{self, Program, READ_WITHIN, WRITE_WITHIN};
use clap::Args;
use kube::Config;
use muster_cluster::{Fence, Health, Metrics, client};
use muster_config::SchedulerConfiguration;
use muster_controllers::testbed::Settings;
use muster_live::controllers::{Options, WATCHED};
use muster_serve::Shown;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;

/// The name of the controllers' Lease.
const LEASE: &str = "muster-controllers";
/// Writes in flight at once, at most.
const IN_FLIGHT: usize = 64;
/// Where the pages are without a flag: beside those of the scheduler.
const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 10271);

/// How ghosts are made.
#[derive(Debug, Args)]
pub(super) struct Ghosts {
    /// What the pods run that hold free slots
    #[arg(
        long,
        value_name = "IMAGE",
        default_value = "registry.k8s.io/pause:3.10"
    )]
    ghost_image: String,
    /// Their PriorityClass, below everybody else's
    #[arg(long, value_name = "NAME", default_value = "muster-ghost")]
    ghost_priority_class: String,
}

/// Arguments of `muster controllers`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    program: Program,
    #[command(flatten)]
    ghosts: Ghosts,
    #[command(flatten)]
    external: External,
}

/// Runs until SIGTERM or SIGINT.
pub(super) fn run(arguments: Arguments) -> ExitCode {
    let Arguments {
        program,
        ghosts,
        external,
    } = arguments;
    program.run(|program| control(program, ghosts, external))
}

async fn control(program: Program, ghosts: Ghosts, external: External) -> anyhow::Result<()> {
    let (configuration, cluster) = program.load().await?;
    let metrics = Arc::new(Metrics::new()?);
    let options = options(&program, &ghosts, &configuration, &cluster, metrics)?;
    let metrics = Arc::clone(&options.metrics);
    let shown = Shown {
        health: Arc::clone(&options.health),
        metrics: Arc::clone(&metrics),
        desk: None,
    };
    let stop = program::stop()?;
    let pages = program.serve(LISTEN, shown).await?;
    let external = external.serve(&cluster, &metrics).await?;
    let result = muster_live::controllers::run(options, stop).await;
    drop(pages);
    if let Some(external) = external {
        external.abort();
    }
    Ok(result?)
}

/// What running controllers need.
pub(super) fn options(
    program: &Program,
    ghosts: &Ghosts,
    configuration: &SchedulerConfiguration,
    cluster: &Config,
    metrics: Arc<Metrics>,
) -> anyhow::Result<Options> {
    let election = &configuration.leader_election;
    let lease = match program.lease(election, LEASE, &program::identity()) {
        Some(lease) => Some((client::lease(cluster)?, lease)),
        None => None,
    };
    let fence = if lease.is_some() {
        Fence::shut()
    } else {
        Fence::open()
    };
    let names = &configuration.scheduler_names;
    let usual = Settings::default();
    let scheduler_name = names.first().map(|name| name.as_str().to_owned());
    Ok(Options {
        reader: client::reader(cluster, READ_WITHIN)?,
        writer: client::writer(cluster, WRITE_WITHIN, &fence)?,
        fence,
        lease,
        settings: Settings {
            ghost_namespace: configuration.ghost_namespace.as_str().to_owned(),
            scheduler_name: scheduler_name.unwrap_or(usual.scheduler_name),
            image: ghosts.ghost_image.clone(),
            priority_class: ghosts.ghost_priority_class.clone(),
            sizes: usual.sizes,
        },
        in_flight: IN_FLIGHT,
        health: Arc::new(Health::of(WATCHED)),
        metrics,
    })
}
