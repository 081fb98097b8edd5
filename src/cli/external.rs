//! `--external`: where schedulers that plan by themselves are served, and by which clients.

use super::program::{READ_WITHIN, WRITE_WITHIN};
use anyhow::{Context, bail};
use clap::Args;
use kube::Config;
use muster_cluster::{Fence, Metrics, client};
use muster_config::Address;
use muster_external::cluster::{Options, serve};
use muster_external::wishes::is_name;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// Whether and where it is served.
#[derive(Debug, Args)]
pub(super) struct External {
    /// Where Testbeds, BatchJobs and Schedulings are served to other schedulers and to people (docs/external.md):
    /// a loopback address, with tokens and without TLS. Without it, nowhere
    #[arg(long, value_name = "ADDRESS")]
    external: Option<Address>,
    /// Lets --external be an address that others can reach, behind something that speaks TLS
    #[arg(long, requires = "external")]
    external_allow_remote: bool,
    /// The namespace of the paths below /external, which name none
    #[arg(long, value_name = "NAME", default_value = "default")]
    external_namespace: String,
}

impl External {
    /// Fails if it is asked for where nobody carries out what it is told.
    pub(super) fn without_controllers(&self) -> anyhow::Result<()> {
        if let Some(address) = self.external.map(Address::get) {
            bail!(
                "--external {address}: it is served beside the controllers; give --controllers, too"
            );
        }
        Ok(())
    }

    /// Serves, if it is asked for. Any instance does, whoever leads: the API server judges each write.
    pub(super) async fn serve(
        &self,
        cluster: &Config,
        metrics: &Arc<Metrics>,
    ) -> anyhow::Result<Option<JoinHandle<()>>> {
        let Some(address) = self.external.map(Address::get) else {
            return Ok(None);
        };
        if !address.ip().is_loopback() && !self.external_allow_remote {
            bail!(
                "--external {address}: others can reach it; give a loopback address such as 127.0.0.1:{}, or \
                 --external-allow-remote",
                address.port()
            );
        }
        if !is_name(&self.external_namespace, 63) {
            bail!(
                "--external-namespace {}: is no name of a namespace",
                self.external_namespace
            );
        }
        let options = Options {
            reader: client::reader(cluster, READ_WITHIN)?,
            writer: client::writer(cluster, WRITE_WITHIN, &Fence::open())?,
            namespace: self.external_namespace.clone(),
            metrics: Arc::clone(metrics),
        };
        let listener = TcpListener::bind(address)
            .await
            .with_context(|| format!("--external {address}"))?;
        tracing::info!(address = %listener.local_addr()?, "serving the external interface");
        Ok(Some(tokio::spawn(serve(listener, options))))
    }
}
