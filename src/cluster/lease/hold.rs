//! Who decides: one instance at a time, by a Lease.
//!
//! A lease does not fence: a holder that cannot renew must stop by itself before the lease runs
//! out. So a renewal that fails is tried again for a short while only, and then the lease counts
//! as lost, whatever the API server would say. Losing it ends the process.

use crate::cluster::Error;
use kube::Client;
use kube_lease_manager::{LeaseManager, LeaseManagerBuilder};
use std::pin::pin;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// For how long a lease holds after it was renewed, in seconds.
const DURATION_SECONDS: u64 = 15;
/// It is renewed so long before it ends: every five seconds.
const GRACE_SECONDS: u64 = 10;
/// How long a request to renew it may take; the client given must see to that.
pub const ANSWER_WITHIN: Duration = Duration::from_secs(2);
/// How long a renewal may fail. The first failure is known at most 5 + 2 x 2 s after the last
/// renewal; 4 s later the lease still holds for 2 s.
const FAIL_FOR: Duration = Duration::from_secs(4);
/// The wait between two tries.
const RETRY: Duration = Duration::from_millis(500);

/// Where the lease is and who asks for it.
#[derive(Clone, Debug)]
pub struct LeaseOptions {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Our name in it; no two instances may share one.
    pub identity: String,
}

/// A lease that is asked for, or held.
pub struct Lease {
    manager: LeaseManager,
    options: LeaseOptions,
}

impl Lease {
    /// Finds or creates the lease.
    ///
    /// # Errors
    /// When it cannot be read or created.
    pub async fn open(client: Client, options: LeaseOptions) -> Result<Self, Error> {
        let manager = LeaseManagerBuilder::new(client, options.name.as_str())
            .with_namespace(options.namespace.as_str())
            .with_identity(options.identity.as_str())
            .with_field_manager(format!("muster-{}", options.identity))
            .with_duration(DURATION_SECONDS)
            .with_grace(GRACE_SECONDS)
            .build()
            .await
            .map_err(|error| Error::Lease {
                namespace: options.namespace.clone(),
                name: options.name.clone(),
                error,
            })?;
        Ok(Self { manager, options })
    }

    /// Waits until the lease is ours.
    pub async fn acquire(&self) {
        loop {
            match self.manager.changed().await {
                Ok(true) => return,
                Ok(false) => {}
                Err(error) => {
                    tracing::warn!(%error, "the lease cannot be asked for");
                    sleep(RETRY).await;
                }
            }
        }
    }

    /// Renews the lease for as long as that works; returns how it was lost.
    pub async fn hold(&self) -> Error {
        let mut failing_since: Option<Instant> = None;
        loop {
            let mut changed = pin!(self.manager.changed());
            let ended = loop {
                // Silence for longer than a failing renewal takes means that it succeeded.
                match timeout(ANSWER_WITHIN * 3, &mut changed).await {
                    Ok(ended) => break ended,
                    Err(_) => failing_since = None,
                }
            };
            let reason = match ended {
                Ok(true) => continue,
                Ok(false) => "another instance holds it".to_owned(),
                Err(error) => {
                    let since = *failing_since.get_or_insert_with(Instant::now);
                    tracing::warn!(%error, "the lease cannot be renewed");
                    if since.elapsed() < FAIL_FOR {
                        sleep(RETRY).await;
                        continue;
                    }
                    format!("it cannot be renewed: {error}")
                }
            };
            return Error::LeaseLost {
                namespace: self.options.namespace.clone(),
                name: self.options.name.clone(),
                reason,
            };
        }
    }

    /// Gives the lease back, so that the next instance need not wait for its end.
    pub async fn release(&self) {
        if let Err(error) = self.manager.release().await {
            tracing::warn!(%error, "the lease was not given back and runs out by itself");
        }
    }
}
