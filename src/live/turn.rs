//! A turn at leading: from asking for the lease to giving it back. The same for whoever leads in anything.

use super::Error;
use kube::Client;
use muster_cluster::health::Health;
use muster_cluster::lease::{Lease, LeaseOptions};
use muster_cluster::{Alarm, Fence};
use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;

/// A turn that has begun.
pub(super) struct Turn {
    lease: Option<Lease>,
    fence: Fence,
}

impl Turn {
    /// Waits until the lease is ours, if there is one; `None` when told to stop before.
    ///
    /// # Errors
    /// When it was lost as it was had, or a task panicked.
    pub(super) async fn wait(
        lease: Option<(Client, LeaseOptions)>,
        fence: &Fence,
        health: &Arc<Health>,
        alarm: &Alarm,
        stop: Pin<&mut impl Future<Output = ()>>,
    ) -> Result<Option<Self>, Error> {
        let mut lease = lease
            .map(|(client, lease)| Lease::new(client, lease, fence.clone(), Arc::clone(health)));
        let is_told_to_stop = match &mut lease {
            Some(lease) => tokio::select! {
                acquired = lease.acquire() => { acquired?; false }
                who = alarm.rung() => return Err(Error::TaskPanicked(who)),
                () = stop => true,
            },
            None => false,
        };
        // What was asked last may have taken it, or take it yet.
        if is_told_to_stop && let Some(lease) = lease {
            lease.release().await;
            return Ok(None);
        }
        let fence = fence.clone();
        Ok(Some(Self { lease, fence }))
    }

    /// How the lease was lost; without one it never is.
    pub(super) async fn lost(&mut self) -> muster_cluster::Error {
        match &mut self.lease {
            Some(lease) => lease.hold().await,
            None => pending().await,
        }
    }

    /// Sends nothing more; after a turn that went well, the lease is given back.
    pub(super) async fn end(self, result: &Result<(), Error>) {
        self.fence.close();
        if let (Some(lease), Ok(())) = (self.lease, result) {
            lease.release().await;
        }
    }
}
