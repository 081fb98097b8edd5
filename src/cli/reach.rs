//! Which cluster a command asks, as whom.

use clap::Args;
use kube::Config;
use muster_cluster::{Error, client};
use std::path::PathBuf;

/// Flags that kubectl has, too, with the same meaning.
#[derive(Debug, Args)]
pub(super) struct Reach {
    /// Kubeconfig file; else $KUBECONFIG, the pod's service account, ~/.kube/config
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig; else its current one
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
}

impl Reach {
    /// Where the API server is.
    pub(super) async fn config(&self) -> Result<Config, Error> {
        client::kube_config_in(self.kubeconfig.as_deref(), self.context.as_deref()).await
    }
}
