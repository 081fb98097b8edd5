//! `muster bench`: how fast a scheduler binds, and releases gangs that lost a pod, beside how fast
//! the API server could.
//!
//! It makes nodes and pods on a cluster, watches them being bound by whoever answers to their
//! scheduler's name, and takes everything away again. It knows nothing of how Muster schedules:
//! any scheduler is measured in the same way. Only the raw rate of evictions is that of Muster's
//! own requests.

mod case;
mod convention;
mod objects;
mod observe;
pub mod placement;
mod preempt;
mod raw;
mod release;
mod report;
mod requests;
mod slots;
mod statistics;
mod subject;

pub use case::Case;
pub use convention::Convention;
pub use objects::GPUS;
pub use preempt::Preempted;
pub use raw::RawRate;
pub use release::Released;
pub use report::{Report, Scheduled};
pub use slots::{RawSlots, Slots};
pub use statistics::Latency;

use kube::Client;
use muster_cluster::client::Transport;
use muster_cluster::encoding::Encoding;
use objects::Objects;
use observe::{Observer, Seen};
use preempt::Preempt;
use raw::Raw;
use release::Release;
use requests::Requests;
use std::time::Duration;
use subject::Subject;
use thiserror::Error;
use tokio::time::{Instant, sleep};

/// How many objects are created or bound at once, where that is not what is measured.
const IN_FLIGHT: usize = 32;
/// The scheduler's name of pods that no scheduler shall touch.
const NOBODY: &str = "muster-bench-nobody";

/// The names of the pods that the scheduler shall bind begin so.
const SCHEDULED: &str = "pod";

/// The names of those for which no node has room.
const WAITING: &str = "waiting";

/// How long what comes and goes is there.
const CHURN_EVERY: Duration = Duration::from_millis(100);

/// Why there is no measurement.
#[derive(Debug, Error)]
pub enum Error {
    /// The API server refused a request.
    #[error("{request}: {code}: {message}")]
    Refused {
        /// Method and path.
        request: String,
        /// The status code.
        code: u16,
        /// The answer's message.
        message: String,
    },
    /// A request got no answer.
    #[error("{request}: no answer: {cause}")]
    Unanswered {
        /// Method and path.
        request: String,
        /// What went wrong.
        cause: String,
    },
    /// The kind that a convention needs is not there.
    #[error(
        "the cluster does not serve {0} podgroups, which --convention needs; install their CRD"
    )]
    KindMissing(&'static str),
    /// The scheduler could not be started.
    #[error("--exec {command:?} cannot be started: {cause}")]
    Start {
        /// The command.
        command: String,
        /// What went wrong.
        cause: std::io::Error,
    },
    /// The scheduler ended before it had bound everything.
    #[error("--exec {command:?} ended by itself: {status}")]
    Ended {
        /// The command.
        command: String,
        /// How it ended.
        status: String,
    },
    /// The watch on the pods ended for good.
    #[error("the watch on the pods ended")]
    Blind,
}

/// What a scheduler is measured at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Measure {
    /// How fast it binds.
    Bind,
    /// How fast it releases gangs, too: when all are bound, one pod of each is deleted.
    Release,
    /// How fast it has others make room, too: pods with a GPU each fill the nodes, and then a gang of
    /// higher priority comes that needs all GPUs of half of them.
    Preempt,
    /// How fast slots are held, and then given to pods that claim them: as many slots as pods, on all nodes.
    Slots,
}

impl Measure {
    /// Whether pods are evicted.
    const fn evicts(self) -> bool {
        matches!(self, Self::Release | Self::Preempt)
    }
}

/// What is measured, and on what.
#[derive(Clone)]
pub struct Options {
    /// What the scheduler, and the API server, are measured at.
    pub measure: Measure,
    /// Nodes to make.
    pub nodes: usize,
    /// Pods to have scheduled; 0: none.
    pub pods: usize,
    /// Pods in a gang; 1: pods on their own, without a PodGroup.
    pub gang_size: usize,
    /// What pods ask for beside amounts.
    pub case: Case,
    /// How gangs are named.
    pub convention: Convention,
    /// Queues to make, between which the gangs are dealt out in turn; 0: none.
    pub queues: usize,
    /// `spec.schedulerName` of the pods.
    pub scheduler_name: String,
    /// The scheduler to start when all pods exist; `None`: it runs already.
    pub exec: Option<String>,
    /// The controllers to start for `Measure::Slots`; `None`: they run already.
    pub controllers: Option<String>,
    /// Pods for each raw rate; 0: none is measured.
    pub raw_pods: usize,
    /// The numbers of pods in flight at which the raw rate is measured.
    pub raw_in_flight: Vec<usize>,
    /// How raw binds are written.
    pub raw_encoding: Encoding,
    /// Clients that share the requests of the raw rate.
    pub raw_clients: Vec<Client>,
    /// How those travel, for the report.
    pub transport: Transport,
    /// How long the scheduler may take to bind all pods, and then to release or preempt them.
    pub timeout: Duration,
    /// Whether everything stays as it is at the end.
    pub keep: bool,
    /// Distinguishes this run's objects from those of others.
    pub run: String,
}

impl Options {
    /// How many gangs there are.
    const fn gangs(&self) -> usize {
        self.pods / self.gang_size
    }

    /// How many pods the gang has for which others are to go: half of the nodes.
    const fn preemptors(&self) -> usize {
        self.nodes.div_ceil(2)
    }
}

/// Measures, and takes away what it made however the measurement ended.
///
/// # Errors
/// When the cluster refuses something or the scheduler cannot be started or ends. Pods that are
/// not bound, or not released, in time are no error: the report says so.
pub async fn run(
    client: Client,
    options: &Options,
    stop: impl Future<Output = ()>,
) -> Result<Option<Report>, Error> {
    let bench = Bench {
        requests: Requests::new(client.clone()),
        objects: Objects::new(options),
        client,
        options,
    };
    let measured = tokio::select! {
        report = bench.measure() => report.map(Some),
        () = stop => Ok(None),
    };
    if !options.keep {
        bench.clean_up().await?;
    }
    measured
}

/// What a scheduler did.
#[derive(Debug)]
struct Done {
    scheduled: Scheduled,
    /// Where that was measured and all had been bound.
    released: Option<Released>,
    preempted: Option<Preempted>,
}

struct Bench<'a> {
    client: Client,
    requests: Requests,
    objects: Objects,
    options: &'a Options,
}

impl Bench<'_> {
    async fn measure(&self) -> Result<Report, Error> {
        let Options { nodes, pods, .. } = *self.options;
        if pods > 0 && self.options.gang_size > 1 {
            self.requests.expect_served(self.options.convention).await?;
        }
        let namespace = self.objects.namespace();
        self.requests
            .create("/api/v1/namespaces", &namespace)
            .await?;
        for (path, body) in self.objects.cluster_wide() {
            self.requests.create(&path, &body).await?;
        }
        let make = self.objects.clone();
        let node = move |index| ("/api/v1/nodes".to_owned(), make.node(index));
        self.requests.create_all(IN_FLIGHT, nodes, node).await?;
        if self.options.measure == Measure::Slots {
            let (mut raw, mut slots) = (None, None);
            if self.options.raw_pods > 0 {
                raw = Some(self.raw_slots().await?);
            }
            if pods > 0 {
                self.requests.delete_all(&self.objects.pods_path()).await?;
                slots = Some(self.slots().await?);
            }
            return Ok(Report::new(self.options, Vec::new(), None).with(raw, slots));
        }
        let mut raw = Vec::new();
        if self.options.raw_pods > 0 {
            for &in_flight in &self.options.raw_in_flight {
                raw.push(self.raw(in_flight).await?);
            }
        }
        let done = match pods {
            0 => None,
            _ => Some(self.schedule().await?),
        };
        Ok(Report::new(self.options, raw, done))
    }

    /// Binds, and evicts, pods of nobody as fast as the API server takes it.
    async fn raw(&self, in_flight: usize) -> Result<RawRate, Error> {
        let count = self.options.raw_pods;
        let prefix = format!("raw-{in_flight}");
        let observer = Observer::start(&self.client, self.objects.namespace_name()).await?;
        self.create_pods(&prefix, count, NOBODY).await?;
        let clients = self.options.raw_clients.iter().cloned();
        let raw = Raw {
            clients: clients.map(Requests::new).collect(),
            prefix,
            count,
            in_flight,
            encoding: self.options.raw_encoding,
            measure: self.options.measure,
            timeout: self.options.timeout,
        };
        let rate = raw.measure(&self.objects, observer).await?;
        self.requests.delete_all(&self.objects.pods_path()).await?;
        Ok(rate)
    }

    /// Has pods scheduled, and then released or preempted, and watches.
    async fn schedule(&self) -> Result<Done, Error> {
        let Options {
            pods,
            ref exec,
            timeout,
            measure,
            ..
        } = *self.options;
        let mut observer = Observer::start(&self.client, self.objects.namespace_name()).await?;
        self.create_pod_groups().await?;
        let name = self.options.scheduler_name.as_str();
        let waiting = self.options.case.waiting();
        self.create_pods(WAITING, waiting, name).await?;
        let created = self.create_pods(SCHEDULED, pods, name).await?;
        let start = Instant::now();
        let mut subject = exec.as_deref().map(Subject::start).transpose()?;
        let mut check = || subject.as_mut().map_or(Ok(()), Subject::check);
        let all_bound = |seen: &Seen| seen.bound.len() == pods;
        let bound = observer.watch_until(all_bound, start + timeout, &mut check);
        tokio::select! {
            watched = bound => watched?,
            Err(error) = self.churn() => return Err(error),
        }
        let (mut released, mut preempted) = (None, None);
        match measure {
            Measure::Release if all_bound(observer.seen()) => {
                released = Some(self.release(&mut observer, check).await?);
            }
            Measure::Preempt if all_bound(observer.seen()) => {
                preempted = Some(self.preempt(&mut observer, check).await?);
            }
            _ => {}
        }
        let peak_resident_bytes = subject.as_ref().and_then(Subject::peak_resident_bytes);
        if let Some(subject) = subject {
            subject.stop().await;
        }
        // A pod waits from its creation, or from the moment there was someone to bind it.
        let since = |index: usize| match (exec, created.get(index)) {
            (None, Some(created)) => *created,
            _ => start,
        };
        let bound = observer.seen().bound.range(..pods);
        let scheduled = Scheduled::new(bound, since, peak_resident_bytes);
        Ok(Done {
            scheduled,
            released,
            preempted,
        })
    }

    async fn release(
        &self,
        observer: &mut Observer,
        check: impl FnMut() -> Result<(), Error>,
    ) -> Result<Released, Error> {
        let release = Release {
            gangs: self.options.gangs(),
            gang_size: self.options.gang_size,
            prefix: SCHEDULED,
            timeout: self.options.timeout,
        };
        release
            .measure(&self.requests, &self.objects, observer, check)
            .await
    }

    async fn preempt(
        &self,
        observer: &mut Observer,
        check: impl FnMut() -> Result<(), Error>,
    ) -> Result<Preempted, Error> {
        let preempt = Preempt {
            before: self.options.pods,
            size: self.options.preemptors(),
            scheduler_name: self.options.scheduler_name.clone(),
            timeout: self.options.timeout,
        };
        preempt
            .measure(&self.requests, &self.objects, observer, check)
            .await
    }

    /// Has other things come and go, for ever, where that belongs to the case.
    async fn churn(&self) -> Result<(), Error> {
        if self.options.case != Case::MixedChurn {
            return std::future::pending().await;
        }
        let all = self.objects.passing(&self.options.scheduler_name);
        loop {
            for (path, body) in &all {
                self.requests.create(path, body).await?;
            }
            sleep(CHURN_EVERY).await;
            for (path, body) in &all {
                let name = body["metadata"]["name"].as_str().unwrap_or_default();
                self.requests.delete(&format!("{path}/{name}")).await?;
            }
        }
    }

    async fn create_pod_groups(&self) -> Result<(), Error> {
        if self.options.gang_size == 1 || self.objects.pod_groups_path().is_none() {
            return Ok(());
        }
        let make = self.objects.clone();
        let group = move |index| make.pod_group(index);
        let gangs = self.options.gangs();
        self.requests.create_all(IN_FLIGHT, gangs, group).await?;
        Ok(())
    }

    /// Creates pods and says when each was there.
    async fn create_pods(
        &self,
        prefix: &str,
        count: usize,
        scheduler_name: &str,
    ) -> Result<Vec<Instant>, Error> {
        let path = self.objects.pods_path();
        let make = self.objects.clone();
        let (prefix, scheduler_name) = (prefix.to_owned(), scheduler_name.to_owned());
        let pod = move |index| (path.clone(), make.pod(&prefix, index, &scheduler_name));
        self.requests.create_all(IN_FLIGHT, count, pod).await
    }

    async fn clean_up(&self) -> Result<(), Error> {
        self.requests.delete_all(&self.objects.pods_path()).await?;
        if let Some(path) = self.objects.pod_groups_path() {
            self.requests.delete_all(&path).await?;
        }
        for path in self.objects.cluster_wide_paths() {
            self.requests.delete_all(&path).await?;
        }
        self.requests.delete_all(&self.objects.nodes_path()).await?;
        self.requests.delete(&self.objects.namespace_path()).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run of this size with Muster's convention.
    pub(super) fn options(nodes: usize, pods: usize, gang_size: usize) -> Options {
        Options {
            measure: Measure::Bind,
            nodes,
            pods,
            gang_size,
            case: Case::Basic,
            convention: Convention::Muster,
            queues: 0,
            scheduler_name: "muster".to_owned(),
            exec: None,
            controllers: None,
            raw_pods: 0,
            raw_in_flight: Vec::new(),
            raw_encoding: Encoding::Json,
            raw_clients: Vec::new(),
            transport: Transport::Http2,
            timeout: Duration::from_secs(1),
            keep: false,
            run: "run".to_owned(),
        }
    }
}
