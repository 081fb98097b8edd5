//! `muster run`: schedule on a cluster until told to stop.

use super::log::{self, Format};
use super::{BAD_INPUT, Extensions};
use anyhow::Context;
use clap::Args;
use muster_cluster::client::{self, Transport};
use muster_cluster::lease::{Identity, LeaseOptions};
use muster_cluster::remote::Directory;
use muster_cluster::reviews::Reviews;
use muster_cluster::{Explanations, Fence, Health, Metrics};
use muster_config::{Address, ConfigError, LeaderElection};
use muster_live::Options;
use muster_serve::{Desk, Shown};
use std::env;
use std::path::PathBuf;
use std::process::{self, ExitCode};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;

/// How long a watch or a list may take to begin to answer.
const READ_WITHIN: Duration = Duration::from_secs(30);
/// How long a write may.
const WRITE_WITHIN: Duration = Duration::from_secs(10);
/// How long the API server may take to say who somebody is.
const REVIEW_WITHIN: Duration = Duration::from_secs(5);
/// The lease's namespace outside of a cluster.
const LEASE_NAMESPACE: &str = "kube-system";

/// Arguments of `muster run`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// SchedulerConfiguration file; without it, the defaults hold
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Kubeconfig file; else $KUBECONFIG, the pod's service account, ~/.kube/config
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Where /metrics, /healthz and /readyz are served, without authentication, and /debug/why
    /// [default: 127.0.0.1:10270]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<Address>,
    /// Whether only the holder of a Lease schedules; `false` is for development
    /// [default: true]
    #[arg(long, value_name = "BOOL")]
    leader_elect: Option<bool>,
    /// Namespace of the Lease; else the pod's own, else kube-system
    #[arg(long, value_name = "NAME")]
    lease_namespace: Option<String>,
    /// How the log is written, on standard error; $RUST_LOG says how much of it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    log_format: Format,
}

/// Runs until SIGTERM or SIGINT.
pub(super) fn run(arguments: Arguments, extensions: &Extensions) -> ExitCode {
    log::start(arguments.log_format, "info");
    // One thread for all that waits for the network, beside the engine's: passing requests from
    // thread to thread costs more than there is to do for them (docs/performance.md).
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let result = match runtime {
        Ok(runtime) => runtime.block_on(arguments.schedule(extensions)),
        Err(error) => Err(error.into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(error = format!("{error:#}"), "ended");
            if error.is::<ConfigError>() {
                ExitCode::from(BAD_INPUT)
            } else {
                ExitCode::FAILURE
            }
        }
    }
}

impl Arguments {
    /// Schedules; returns an error when Muster cannot start, loses its lease or ends by itself.
    async fn schedule(self, extensions: &Extensions) -> anyhow::Result<()> {
        let configuration = muster_config::load_or_default(self.config.as_deref())?;
        let cluster = client::kube_config(self.kubeconfig.as_deref()).await?;
        tracing::info!(server = %cluster.cluster_url, version = env!("CARGO_PKG_VERSION"), "starting");
        let identity = identity();
        let lease = match self.lease(&configuration.leader_election, &identity) {
            Some(lease) => Some((client::lease(&cluster)?, lease)),
            None => None,
        };
        let fence = if lease.is_some() {
            Fence::shut()
        } else {
            Fence::open()
        };
        let metrics = Arc::new(Metrics::new()?);
        let mut answerers = extensions.answerers();
        Directory::new(&configuration, fence.clock(), &metrics)?.join(&mut answerers);
        let policy = extensions.policy(&configuration)?;
        let options = Options {
            reader: client::reader(&cluster, READ_WITHIN)?,
            writer: client::writer(&cluster, WRITE_WITHIN, &fence)?,
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
        };
        let reviewer = client::client(&cluster, Transport::Http1, REVIEW_WITHIN)?;
        let listen = self.listen.unwrap_or(configuration.listen).get();
        let listener = TcpListener::bind(listen)
            .await
            .with_context(|| format!("--listen {listen}"))?;
        tracing::info!(address = %listener.local_addr()?, "serving /metrics, /healthz, /readyz");
        let shown = Shown {
            health: Arc::clone(&options.health),
            metrics: Arc::clone(&options.metrics),
            desk: Some(Desk {
                health: Arc::clone(&options.health),
                explanations: Arc::clone(&options.explanations),
                reviews: Arc::new(Reviews::new(reviewer)),
            }),
        };
        let pages = tokio::spawn(muster_serve::serve(listener, shown));
        let stop = super::told_to_stop()?;
        let result = muster_live::run(options, stop).await;
        pages.abort();
        Ok(result?)
    }

    /// The lease to hold, if one is: flags first, then the configuration, then where we run.
    fn lease(&self, configured: &LeaderElection, identity: &Identity) -> Option<LeaseOptions> {
        if !self.leader_elect.unwrap_or(configured.enabled) {
            return None;
        }
        let in_file = configured.lease_namespace.as_ref();
        let namespace = self
            .lease_namespace
            .clone()
            .or_else(|| in_file.map(|name| name.as_str().to_owned()))
            .or_else(client::own_namespace)
            .unwrap_or_else(|| LEASE_NAMESPACE.to_owned());
        Some(LeaseOptions {
            namespace,
            name: configured.lease_name.as_str().to_owned(),
            identity: identity.clone(),
        })
    }
}

/// A name that no other process has: the pod's or host's, and this process on it.
fn identity() -> Identity {
    let host = env::var("POD_NAME").or_else(|_| env::var("HOSTNAME"));
    let host = host.unwrap_or_else(|_| "muster".to_owned());
    let started = muster_cluster::Clock::start().now().0;
    let process = format!("{}_{started}", process::id());
    match env::var("POD_UID") {
        Ok(uid) if !uid.is_empty() => Identity::in_pod(&host, &uid, &process),
        _ => Identity::of_process(format!("{host}_{process}")),
    }
}
