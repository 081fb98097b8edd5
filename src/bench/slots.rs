//! Slots: how fast controllers make a ghost for each, and how fast a scheduler then gives all of them to pods
//! that claim them, beside how fast the API server takes the same writes with nothing decided.
//!
//! The pods have no grace period and no kubelet: one that is deleted is gone at once.

use super::observe::{Observer, Seen};
use super::requests::{Requests, for_all};
use super::statistics::rate;
use super::subject::Subject;
use super::{Bench, Error, NOBODY, SCHEDULED};
use futures::StreamExt;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, ResourceExt};
use muster_api::slim::Pod;
use muster_cluster::{Clock, error_text, lanes};
use muster_controllers::testbed::Settings;
use muster_controllers::testbed::ghosts::{self, Hold};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout_at};

/// Where the ghosts are.
const GHOSTS: &str = "muster-system";
const TESTBEDS: &str = "/apis/muster.dev/v1alpha1/testbeds";
/// Writes in flight: as many as the controllers have, and as many as the scheduler has.
const CREATES: usize = 64;
const HANDOVERS: usize = 128;
/// What a ghost is told before it goes: as long as what a scheduler says.
const MESSAGE: &str = "slot 999 is for muster-bench/muster-bench-0";
/// What a slot has.
const SLOT: [(&str, &str); 2] = [("cpu", "100m"), ("memory", "100Mi")];
/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// What the API server makes of the same writes, nothing decided.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RawSlots {
    /// Pods like ghosts made a second by nobody in particular, 64 in flight: between the 10th and the 90th percentile
    /// of the times at which they were seen.
    pub raw_creates_per_second: Option<f64>,
    /// Pods bound a second where for each of them one of those is told why, and deleted, before: what the writes that
    /// a slot takes leave of the raw rate, 128 in flight.
    pub raw_handovers_per_second: Option<f64>,
}

/// What became of the slots.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Slots {
    /// How many there are.
    pub slots: usize,
    /// Ghosts made a second.
    pub ghosts_per_second: Option<f64>,
    /// From the Testbed's creation until its last ghost was seen.
    pub seconds_to_last_ghost: Option<f64>,
    /// Until all of them were seen bound, from the start of the scheduler.
    pub seconds_to_held: Option<f64>,
    /// Pods bound a second that claimed the slots, all at once.
    pub handovers_per_second: Option<f64>,
    /// How many of them were bound.
    pub bound: usize,
    /// From the start of the scheduler, when all of them waited, until the last was seen bound.
    pub seconds_to_last_bind: Option<f64>,
}

/// When each ghost was first seen, and when it was first seen bound, by its uid.
#[derive(Debug, Default)]
struct Ghosts {
    made: BTreeMap<String, Instant>,
    bound: BTreeMap<String, Instant>,
}

impl Ghosts {
    fn note(&mut self, pod: &Pod) {
        let Some(uid) = pod.uid() else { return };
        let now = Instant::now();
        if !pod.spec.node_name.is_empty() {
            self.bound.entry(uid.clone()).or_insert(now);
        }
        self.made.entry(uid).or_insert(now);
    }
}

impl Bench<'_> {
    /// Has slots held and then claimed, and watches.
    pub(super) async fn slots(&self) -> Result<Slots, Error> {
        let count = self.options.pods;
        let namespace = json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": GHOSTS},
        });
        match self.requests.create("/api/v1/namespaces", &namespace).await {
            Ok(()) | Err(Error::Refused { code: 409, .. }) => {}
            Err(error) => return Err(error),
        }
        let mut controllers = self.start(self.options.controllers.as_deref())?;
        let started = Instant::now();
        self.requests.create(TESTBEDS, &self.testbed(count)).await?;
        let mut ghosts = Ghosts::default();
        let all_made = |ghosts: &Ghosts| ghosts.made.len() == count;
        self.watch_ghosts(GHOSTS, &mut ghosts, all_made, &mut controllers)
            .await?;
        let last = ghosts.made.values().max().filter(|_| all_made(&ghosts));
        let seconds_to_last_ghost = last.map(|at| (*at - started).as_secs_f64());
        let made = rate(ghosts.made.values().copied().collect());
        // One scheduler has them held, and another one finds all that claim them.
        let mut scheduler = self.start(self.options.exec.as_deref())?;
        let started = Instant::now();
        let all_bound = |ghosts: &Ghosts| ghosts.bound.len() == count;
        self.watch_ghosts(GHOSTS, &mut ghosts, all_bound, &mut scheduler)
            .await?;
        let held = ghosts.bound.values().max().filter(|_| all_bound(&ghosts));
        let seconds_to_held = held.map(|at| (*at - started).as_secs_f64());
        self.until_all_are_free(count).await?;
        if let Some(scheduler) = scheduler {
            scheduler.stop().await;
        }
        let mut observer = Observer::start(&self.client, self.objects.namespace_name()).await?;
        let (path, make) = (self.objects.pods_path(), self.objects.clone());
        let (name, bed) = (
            self.options.scheduler_name.clone(),
            self.options.run.clone(),
        );
        let claimant = move |index| {
            let mut pod = make.pod(SCHEDULED, index, &name);
            let labels = &mut pod["metadata"]["labels"];
            labels["muster.dev/testbed"] = json!(bed);
            labels["muster.dev/slots"] = json!(format!("0-{}", count - 1));
            (path.clone(), pod)
        };
        self.requests
            .create_all(super::IN_FLIGHT, count, claimant)
            .await?;
        let mut scheduler = self.start(self.options.exec.as_deref())?;
        let started = Instant::now();
        let check = || scheduler.as_mut().map_or(Ok(()), Subject::check);
        let all = |seen: &Seen| seen.bound.len() == count;
        observer
            .watch_until(all, started + self.options.timeout, check)
            .await?;
        for one in [scheduler, controllers].into_iter().flatten() {
            one.stop().await;
        }
        let bound = &observer.seen().bound;
        let last = bound.values().max().filter(|_| bound.len() == count);
        Ok(Slots {
            slots: count,
            ghosts_per_second: made,
            seconds_to_last_ghost,
            seconds_to_held,
            handovers_per_second: rate(bound.values().copied().collect()),
            bound: bound.len(),
            seconds_to_last_bind: last.map(|at| (*at - started).as_secs_f64()),
        })
    }

    /// The same writes without anybody who decides: as many pods like ghosts are made and bound, as many others are
    /// made, and then take their places.
    pub(super) async fn raw_slots(&self) -> Result<RawSlots, Error> {
        let (count, encoding) = (self.options.raw_pods, self.options.raw_encoding);
        let clients = self.options.raw_clients.iter().cloned();
        let clients: Vec<Requests> = clients.map(Requests::new).collect();
        let ghost = format!("{}-0", self.options.run);
        let creates = self.raw_ghosts(&clients, &ghost, count).await?;
        let mut observer = Observer::start(&self.client, self.objects.namespace_name()).await?;
        let (objects, prefix) = (self.objects.clone(), ghost.clone());
        let bind = move |requests: Requests, index| {
            let binding = objects.binding(&prefix, index, encoding);
            async move { requests.write(binding).await }
        };
        for_all(&clients, HANDOVERS, count, bind).await?;
        let deadline = Instant::now() + self.options.timeout;
        let held = |seen: &Seen| seen.bound.range(..count).count() == count;
        observer.watch_until(held, deadline, || Ok(())).await?;
        // Those that come after have numbers of their own, for they are seen by them.
        let (path, make) = (self.objects.pods_path(), self.objects.clone());
        let after = move |index| (path.clone(), make.pod("after", count + index, NOBODY));
        self.requests
            .create_all(super::IN_FLIGHT, count, after)
            .await?;
        let uids = observer.seen().uids.clone();
        let now = Clock::start().now();
        let objects = self.objects.clone();
        let hand_over = move |requests: Requests, index| {
            let uid = uids.get(&index).map_or("", String::as_str);
            let ghost = objects.pod_key(&ghost, index, uid);
            let binding = objects.binding("after", count + index, encoding);
            async move {
                let make = || lanes::eviction(&ghost, MESSAGE, now);
                requests.evict(make).await?;
                requests.write(binding).await
            }
        };
        let deadline = Instant::now() + self.options.timeout;
        let all = |seen: &Seen| seen.bound.range(count..).count() == count;
        tokio::try_join!(
            for_all(&clients, HANDOVERS, count, hand_over),
            observer.watch_until(all, deadline, || Ok(())),
        )?;
        let times = observer.seen().bound.range(count..);
        let handovers = rate(times.map(|(_, at)| *at).collect());
        Ok(RawSlots {
            raw_creates_per_second: rate(creates),
            raw_handovers_per_second: handovers,
        })
    }

    /// Makes as many ghosts of nobody, where nobody looks after them. When each was seen.
    async fn raw_ghosts(
        &self,
        clients: &[Requests],
        prefix: &str,
        count: usize,
    ) -> Result<Vec<Instant>, Error> {
        let settings = Settings {
            ghost_namespace: self.objects.namespace_name().to_owned(),
            scheduler_name: NOBODY.to_owned(),
            ..Settings::default()
        };
        let (objects, path) = (self.objects.clone(), self.objects.pods_path());
        let (run, prefix) = (self.options.run.clone(), prefix.to_owned());
        let request = SLOT.map(|(name, amount)| (name.to_owned(), Quantity(amount.to_owned())));
        let request = BTreeMap::from(request);
        let ghost = move |index| {
            let hold = Hold {
                testbed: &run,
                testbed_uid: "00000000-0000-0000-0000-000000000000",
                request: &request,
                node: &objects.node_name(index),
                ghost: &objects.pod_key(&prefix, index, "").name,
            };
            (path.clone(), ghosts::body(&hold, &settings))
        };
        let mut seen = Ghosts::default();
        let all = |seen: &Ghosts| seen.made.len() == count;
        // What the watch costs the server, it costs both.
        let (namespace, nobody) = (self.objects.namespace_name(), &mut None);
        tokio::try_join!(
            super::requests::create_all(clients, CREATES, count, ghost),
            self.watch_ghosts(namespace, &mut seen, all, nobody),
        )?;
        Ok(seen.made.into_values().collect())
    }

    fn start(&self, command: Option<&str>) -> Result<Option<Subject>, Error> {
        command.map(Subject::start).transpose()
    }

    fn testbed(&self, count: usize) -> Value {
        json!({
            "apiVersion": "muster.dev/v1alpha1",
            "kind": "Testbed",
            "metadata": {"name": self.options.run},
            "spec": {
                "nodeLabel": super::objects::LABEL,
                "slotsPerNode": count / self.options.nodes,
                "resourcesPerSlot": BTreeMap::from(SLOT),
            },
        })
    }

    /// Watches the ghosts in a namespace until `enough` is seen, or time is over.
    async fn watch_ghosts(
        &self,
        namespace: &str,
        ghosts: &mut Ghosts,
        enough: impl Fn(&Ghosts) -> bool,
        subject: &mut Option<Subject>,
    ) -> Result<(), Error> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
        let only = watcher::Config::default().labels("muster.dev/ghost-of");
        let mut events = watcher(pods, only).default_backoff().boxed();
        let deadline = Instant::now() + self.options.timeout;
        let mut look = Instant::now() + LOOK_EVERY;
        while !enough(ghosts) && Instant::now() < deadline {
            match timeout_at(look.min(deadline), events.next()).await {
                Ok(Some(Ok(Event::Apply(pod) | Event::InitApply(pod)))) => ghosts.note(&pod),
                Ok(Some(Ok(_))) => {}
                Ok(Some(Err(error))) => {
                    tracing::warn!(error = error_text::watch(&error), "a watch failed");
                }
                Ok(None) => return Err(Error::Blind),
                Err(_) => {
                    subject.as_mut().map_or(Ok(()), Subject::check)?;
                    look = Instant::now() + LOOK_EVERY;
                }
            }
        }
        Ok(())
    }

    /// Waits until the Testbed says that all of its slots are free.
    async fn until_all_are_free(&self, count: usize) -> Result<(), Error> {
        let deadline = Instant::now() + self.options.timeout;
        while Instant::now() < deadline {
            let path = format!("{TESTBEDS}/{}", self.options.run);
            let testbed = self.requests.read(&path).await?;
            let conditions = testbed["status"]["conditions"].as_array();
            let held = conditions.is_some_and(|all| all.iter().any(|one| one["reason"] == "Held"));
            if held && testbed["status"]["free"] == json!(count) {
                return Ok(());
            }
            sleep(LOOK_EVERY).await;
        }
        Ok(())
    }
}
