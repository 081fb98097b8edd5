//! News of the one Lease, for those who stand by: they act as soon as it is given back.
//!
//! News may be late or missing; nothing is safe because of it. A watch that ends is begun anew.

use super::duration;
use super::election::RETRY;
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::api::{WatchEvent, WatchParams};
use tokio::time::{Instant, sleep_until};

/// After how long the server ends a watch, so that a new one begins where it ended.
const WATCH_SECONDS: u32 = 120;

/// What happened to the Lease.
#[derive(Debug)]
pub(super) enum News {
    /// It is this now.
    Is(Box<Lease>),
    /// It was deleted.
    Gone,
}

/// A watch that comes and goes.
pub(super) struct Watch {
    events: Option<BoxStream<'static, kube::Result<WatchEvent<Lease>>>>,
    /// When the next may begin.
    not_before: Instant,
    /// We may not watch, in the API server's words.
    refused: Option<String>,
}

impl Watch {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            events: None,
            not_before: now,
            refused: None,
        }
    }

    /// What happens next to the Lease of this name after this resourceVersion. Nothing is lost
    /// when it is dropped before it has an answer.
    pub(super) async fn next(&mut self, api: &Api<Lease>, name: &str, version: &str) -> News {
        loop {
            let Some(events) = &mut self.events else {
                sleep_until(self.not_before).await;
                self.not_before = Instant::now() + duration(RETRY);
                self.events = Some(begin(api.clone(), name, version.to_owned()));
                continue;
            };
            match events.next().await {
                Some(Ok(WatchEvent::Added(lease) | WatchEvent::Modified(lease))) => {
                    self.refused = None;
                    return News::Is(Box::new(lease));
                }
                Some(Ok(WatchEvent::Deleted(_))) => return News::Gone,
                Some(Ok(WatchEvent::Bookmark(_))) => {}
                Some(Err(kube::Error::Api(status))) if status.code == 403 => {
                    self.events = None;
                    let message = status.message;
                    if self.refused.is_none() {
                        tracing::warn!("the lease cannot be watched, only looked at: {message}");
                    }
                    self.refused = Some(message);
                }
                ended => {
                    tracing::debug!(?ended, "the watch of the lease ended");
                    self.events = None;
                }
            }
        }
    }

    /// Whether we may not watch, as far as is known.
    pub(super) const fn is_refused(&self) -> bool {
        self.refused.is_some()
    }

    /// Ends the watch: nobody needs it while we lead.
    pub(super) fn end(&mut self) {
        self.events = None;
    }
}

fn begin(
    api: Api<Lease>,
    name: &str,
    version: String,
) -> BoxStream<'static, kube::Result<WatchEvent<Lease>>> {
    let one = WatchParams::default()
        .fields(&format!("metadata.name={name}"))
        .timeout(WATCH_SECONDS);
    let begun = async move { api.watch(&one, &version).await };
    stream::once(begun).try_flatten().boxed()
}
