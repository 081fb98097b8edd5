//! When each pod is seen to be bound, and when it is seen to be gone.
//!
//! By list and watch, and by listing again whenever a watch ends: otherwise a stall of the
//! observer would be reported as one of the scheduler. Only bound pods are asked for, so that
//! nothing else costs the server or us anything.

use super::Error;
use super::objects::index_of;
use futures::StreamExt;
use futures::stream::BoxStream;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client};
use muster_api::slim::Pod;
use muster_cluster::error_text;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// How often it is looked at whether waiting still makes sense.
const CHECK_EVERY: Duration = Duration::from_millis(200);

/// Watches the bound pods of a namespace.
pub(super) struct Observer {
    events: BoxStream<'static, watcher::Result<Event<Pod>>>,
    seen: Seen,
}

/// What was seen so far, of pods by their number.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// When each was first seen bound.
    pub(super) bound: BTreeMap<usize, Instant>,
    /// When each of these was seen to be gone.
    pub(super) gone: BTreeMap<usize, Instant>,
    /// The uid of each that was seen bound.
    pub(super) uids: BTreeMap<usize, String>,
    /// While everything is listed again: what was listed.
    listed: BTreeSet<usize>,
}

impl Observer {
    /// Returns once it sees.
    pub(super) async fn start(client: &Client, namespace: &str) -> Result<Self, Error> {
        let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
        let bound = watcher::Config::default().fields("spec.nodeName!=");
        let events = watcher(pods, bound).default_backoff().boxed();
        let mut observer = Self {
            events,
            seen: Seen::default(),
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

    /// What was seen so far.
    pub(super) const fn seen(&self) -> &Seen {
        &self.seen
    }

    /// Watches until `enough` is seen, or until `deadline`, and as long as `check` has no
    /// objection.
    pub(super) async fn watch_until(
        &mut self,
        enough: impl Fn(&Seen) -> bool,
        deadline: Instant,
        mut check: impl FnMut() -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut next_check = Instant::now() + CHECK_EVERY;
        while !enough(&self.seen) && Instant::now() < deadline {
            match timeout_at(next_check.min(deadline), self.events.next()).await {
                Ok(Some(Ok(event))) => self.seen.note(event, Instant::now()),
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
        Ok(())
    }
}

impl Seen {
    fn note(&mut self, event: Event<Pod>, now: Instant) {
        match event {
            Event::Apply(pod) => {
                self.note_bound(pod, now);
            }
            Event::Delete(pod) => {
                if let Some(index) = self.note_bound(pod, now) {
                    self.gone.entry(index).or_insert(now);
                }
            }
            Event::Init => self.listed.clear(),
            Event::InitApply(pod) => {
                let index = self.note_bound(pod, now);
                self.listed.extend(index);
            }
            // What is not listed went while nobody looked.
            Event::InitDone => {
                for index in self.bound.keys() {
                    if !self.listed.contains(index) {
                        self.gone.entry(*index).or_insert(now);
                    }
                }
            }
        }
    }

    /// Notes that a pod is bound, and returns its number.
    fn note_bound(&mut self, pod: Pod, now: Instant) -> Option<usize> {
        let index = index_of(pod.metadata.name.as_deref()?)?;
        if let Some(uid) = pod.metadata.uid
            && !self.bound.contains_key(&index)
        {
            self.bound.insert(index, now);
            self.uids.insert(index, uid);
        }
        Some(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(index: usize) -> Pod {
        let name = format!("pod-{index}");
        let object = json!({"metadata": {"name": name, "uid": format!("uid-{index}")}});
        serde_json::from_value(object).unwrap()
    }

    fn seen(events: Vec<Event<Pod>>) -> (Seen, impl Fn(u64) -> Instant) {
        let start = Instant::now();
        let at = move |second| start + Duration::from_secs(second);
        let mut seen = Seen::default();
        for (event, second) in events.into_iter().zip(0..) {
            seen.note(event, at(second));
        }
        (seen, at)
    }

    #[test]
    fn the_first_sight_of_a_pod_and_its_end_count() {
        let apply = || Event::Apply(pod(7));
        let (seen, at) = seen(vec![apply(), apply(), Event::Delete(pod(7))]);
        assert_eq!(seen.bound, BTreeMap::from([(7, at(0))]));
        assert_eq!(seen.gone, BTreeMap::from([(7, at(2))]));
        assert_eq!(seen.uids[&7], "uid-7");
    }

    #[test]
    fn a_pod_that_a_new_list_lacks_is_gone() {
        let (seen, at) = seen(vec![
            Event::Apply(pod(1)),
            Event::Apply(pod(2)),
            Event::Init,
            Event::InitApply(pod(2)),
            Event::InitApply(pod(3)),
            Event::InitDone,
        ]);
        assert_eq!(seen.gone, BTreeMap::from([(1, at(5))]));
        assert_eq!(seen.bound[&3], at(4));
    }
}
