//! What the commands share that work on a cluster until told to stop: where it is, who leads, what is served.

use super::log::{self, Format};
use super::{BAD_INPUT, told_to_stop};
use anyhow::Context;
use clap::Args;
use kube::Config;
use muster_cluster::client;
use muster_cluster::lease::{Identity, LeaseOptions};
use muster_config::{Address, ConfigError, LeaderElection, SchedulerConfiguration};
use muster_serve::Shown;
use std::env;
use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{self, ExitCode};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// How long a watch or a list may take to begin to answer.
pub(super) const READ_WITHIN: Duration = Duration::from_secs(30);
/// How long a write may.
pub(super) const WRITE_WITHIN: Duration = Duration::from_secs(10);
/// The lease's namespace outside of a cluster.
const LEASE_NAMESPACE: &str = "kube-system";

/// Arguments of such a command.
#[derive(Debug, Args)]
pub(super) struct Program {
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
    /// Where /healthz and /readyz are served for `muster probe` as well, on loopback: with connections that nobody else
    /// can take
    #[arg(long, value_name = "ADDRESS")]
    probes: Option<Address>,
    /// Whether only the holder of a Lease does the work; `false` is for development
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

impl Program {
    /// Starts the log, and runs what the command does until it ends.
    pub(super) fn run<W: Future<Output = anyhow::Result<()>>>(
        self,
        work: impl FnOnce(Self) -> W,
    ) -> ExitCode {
        log::start(self.log_format, "info");
        // One thread for all that waits for the network, beside the engine's: passing requests from
        // thread to thread costs more than there is to do for them (docs/performance.md).
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let result = match runtime {
            Ok(runtime) => runtime.block_on(work(self)),
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

    /// The configuration, and where the API server is.
    pub(super) async fn load(&self) -> anyhow::Result<(SchedulerConfiguration, Config)> {
        let configuration = muster_config::load_or_default(self.config.as_deref())?;
        let cluster = client::kube_config(self.kubeconfig.as_deref()).await?;
        tracing::info!(server = %cluster.cluster_url, version = env!("CARGO_PKG_VERSION"), "starting");
        Ok((configuration, cluster))
    }

    /// The lease of this name to hold, if one is: flags first, then the configuration, then where we run.
    pub(super) fn lease(
        &self,
        configured: &LeaderElection,
        name: &str,
        identity: &Identity,
    ) -> Option<LeaseOptions> {
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
            name: name.to_owned(),
            identity: identity.clone(),
        })
    }

    /// Serves the pages at the address of the flag, or else at this one, and probes where they are asked for.
    pub(super) async fn serve(
        &self,
        otherwise: SocketAddr,
        shown: Shown,
    ) -> anyhow::Result<JoinSet<()>> {
        let mut serving = JoinSet::new();
        if let Some(probes) = self.probes.map(Address::get) {
            anyhow::ensure!(
                probes.ip().is_loopback(),
                "--probes {probes}: it is for this host alone: 127.0.0.1 or [::1] and a port"
            );
            let listener = TcpListener::bind(probes)
                .await
                .with_context(|| format!("--probes {probes}"))?;
            tracing::info!(address = %listener.local_addr()?, "serving probes");
            serving.spawn(muster_serve::serve_probes(listener, shown.clone()));
        }
        let listen = self.listen.map_or(otherwise, Address::get);
        let listener = TcpListener::bind(listen)
            .await
            .with_context(|| format!("--listen {listen}"))?;
        tracing::info!(address = %listener.local_addr()?, "serving /metrics, /healthz, /readyz");
        serving.spawn(muster_serve::serve(listener, shown));
        Ok(serving)
    }
}

/// Ends when the process is told to.
pub(super) fn stop() -> std::io::Result<impl Future<Output = ()>> {
    told_to_stop()
}

/// A name that no other process has: the pod's or host's, and this process on it.
pub(super) fn identity() -> Identity {
    let host = env::var("POD_NAME").or_else(|_| env::var("HOSTNAME"));
    let host = host.unwrap_or_else(|_| "muster".to_owned());
    let started = muster_cluster::Clock::start().now().0;
    let process = format!("{}_{started}", process::id());
    match env::var("POD_UID") {
        Ok(uid) if !uid.is_empty() => Identity::in_pod(&host, &uid, &process),
        _ => Identity::of_process(format!("{host}_{process}")),
    }
}
