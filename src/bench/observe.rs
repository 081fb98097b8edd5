//! When each pod is seen to be bound.
//!
//! By list and watch, and by listing again whenever a watch ends: otherwise a stall of the
//! observer would be reported as one of the scheduler. Only bound pods are asked for, so that
//! nothing else costs the server or us anything.

use super::Error;
use super::objects::index_of;
use crate::api::slim::Pod;
use crate::cluster::error_text;
use futures::StreamExt;
use futures::stream::BoxStream;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// How often it is looked at whether waiting still makes sense.
const CHECK_EVERY: Duration = Duration::from_millis(200);

pub(super) struct Observer {
    events: BoxStream<'static, watcher::Result<Event<Pod>>>,
    bound: BTreeMap<usize, Instant>,
}

impl Observer {
    /// Watches a namespace; returns once it sees.
    pub(super) async fn start(client: &Client, namespace: &str) -> Result<Self, Error> {
        let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
        let bound = watcher::Config::default().fields("spec.nodeName!=");
        let events = watcher(pods, bound).default_backoff().boxed();
        let mut observer = Self {
            events,
            bound: BTreeMap::new(),
        };
        loop {
            match observer.events.next().await {
                Some(Ok(Event::InitDone)) => return Ok(observer),
                Some(Ok(_)) => {}
                Some(Err(error)) => {
                    tracing::warn!(error = error_text::watch(&error), "a watch failed");
                }
                None => return Err(Error::Blind),
            }
        }
    }

    /// Waits until so many pods are bound, or until `deadline`, and as long as `check` has no
    /// objection. Says when each was first seen bound, by its number.
    pub(super) async fn wait_for(
        mut self,
        count: usize,
        deadline: Instant,
        mut check: impl FnMut() -> Result<(), Error>,
    ) -> Result<BTreeMap<usize, Instant>, Error> {
        let mut next_check = Instant::now() + CHECK_EVERY;
        while self.bound.len() < count && Instant::now() < deadline {
            match timeout_at(next_check.min(deadline), self.events.next()).await {
                Ok(Some(Ok(event))) => self.see(&event),
                Ok(Some(Err(error))) => {
                    tracing::warn!(error = error_text::watch(&error), "a watch failed");
                }
                Ok(None) => return Err(Error::Blind),
                Err(_) => {
                    check()?;
                    next_check = Instant::now() + CHECK_EVERY;
                }
            }
        }
        Ok(self.bound)
    }

    fn see(&mut self, event: &Event<Pod>) {
        let (Event::Apply(pod) | Event::InitApply(pod)) = event else {
            return;
        };
        let name = pod.metadata.name.as_deref();
        if let Some(index) = name.and_then(index_of) {
            self.bound.entry(index).or_insert_with(Instant::now);
        }
    }
}
