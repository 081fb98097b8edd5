//! What can go wrong on the way to the API server, before any request is answered.

use super::error_text;
use thiserror::Error;

/// Why there is no working client, or no lease any more.
#[derive(Debug, Error)]
pub enum Error {
    /// A kubeconfig that cannot be read or used.
    #[error("kubeconfig {place}: {error}")]
    Kubeconfig {
        /// Where it was looked for.
        place: String,
        /// What is wrong with it.
        error: kube::config::KubeconfigError,
    },
    /// The credentials or certificates cannot be used.
    #[error("cannot make a client: {}", error_text::request(.0))]
    Client(Box<kube::Error>),
    /// `proxy-url` is set.
    #[error("kubeconfig: proxy-url {0}: proxies are not supported")]
    Proxy(String),
    /// `tls-server-name` is not a name.
    #[error("kubeconfig: tls-server-name {0:?}: not a DNS name or an IP address")]
    ServerName(String),
    /// A plugin's URL, with its verb, is none.
    #[error("{0:?}: not a URL")]
    PluginUrl(String),
    /// A metric could not be registered.
    #[error("metrics: {0}")]
    Metrics(#[from] prometheus::Error),
    /// Another instance leads, or may.
    #[error("lost the lease {namespace}/{name}: {reason}")]
    LeaseLost {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// How.
        reason: String,
    },
}
