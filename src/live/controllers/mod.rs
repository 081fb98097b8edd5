//! Controllers on a cluster: watches tell a machine what is there, and what it wants written is sent.
//!
//! One task drives the machine: it brings news and answers, asks what is due, and sends no more at once than the
//! API server keeps up with, and no more in one namespace than leaves room for the others. As with the engine, nothing is watched before the lease is ours, and losing the
//! lease ends all at once.

mod loose;
mod room;

use super::Error;
use super::turn::Turn;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use http::{Method, Request};
use kube::client::Body;
use kube::core::DeserializeGuard;
use kube::{Api, Client};
use muster_api::kinds::{Identity, Kind, Watchable};
use muster_api::{crd, slim};
use muster_cluster::attempt::Answer as Reply;
use muster_cluster::encoding::Encodings;
use muster_cluster::health::{Health, Role, Watched};
use muster_cluster::lanes::{Made, Slots, send};
use muster_cluster::lease::LeaseOptions;
use muster_cluster::shares::{Ended, Shares};
use muster_cluster::watch::{self, Audience, Outlet};
use muster_cluster::{Alarm, Fence, Metrics, NEWS_BOUND, access};
use muster_controllers::batch_job::{self, BatchJobs};
use muster_controllers::queue_job::QueueJobs;
use muster_controllers::scheduling::Schedulings;
use muster_controllers::testbed::{Settings, Testbeds};
use muster_controllers::{
    All, Answer, Deed, Machine, ObjectName, Observation, Resource, Ticket, Write,
};
use muster_model::units::{Millis, Time};
use room::Left;
use std::convert::Infallible;
use std::fmt::Debug;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{self, Receiver};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{sleep_until, timeout};

/// What is watched.
pub const WATCHED: &[Kind] = &[
    Kind::Pods,
    Kind::Nodes,
    Kind::Namespaces,
    Kind::Testbeds,
    Kind::TestbedSlices,
];
/// How long a write waits that was one too many, where the API server does not say how long.
const THROTTLED: Millis = Millis(1_000);
/// How much news is taken in before it is asked what is due.
const NEWS_AT_ONCE: usize = 500;
/// While nothing may be written, it is looked so often whether it may.
const SHUT: Millis = Millis(100);
/// How long writes may take to finish at the end.
const FINISH_WITHIN: Duration = Duration::from_millis(2_500);

/// What running controllers need.
pub struct Options {
    /// For the watches.
    pub reader: Client,
    /// For all writes; repeats nothing by itself, and sends nothing while the fence is closed.
    pub writer: Client,
    /// Whether we may write: shut if there is a lease, which then opens it.
    pub fence: Fence,
    /// Who controls; `None`: we do, whoever else there is.
    pub lease: Option<(Client, LeaseOptions)>,
    /// How ghosts are made.
    pub settings: Settings,
    /// Writes in flight at once.
    pub in_flight: usize,
    /// What `/readyz` shows.
    pub health: Arc<Health>,
    /// What `/metrics` shows.
    pub metrics: Arc<Metrics>,
}

/// Controls until `stop` is there.
///
/// # Errors
/// When the lease is lost, or a task panics.
pub async fn run(options: Options, stop: impl Future<Output = ()>) -> Result<(), Error> {
    let mut stop = pin!(stop);
    let (health, alarm) = (Arc::clone(&options.health), Alarm::default());
    let mut checks = JoinSet::new();
    let (reader, namespace) = (
        options.reader.clone(),
        options.settings.ghost_namespace.clone(),
    );
    let checking = access::keep_checking_controllers(reader, Arc::clone(&health), namespace);
    checks.spawn(alarm.guard("the check of the controllers' permissions", checking));
    let (fence, lease) = (options.fence.clone(), options.lease.clone());
    let turn = Turn::wait(lease, &fence, &health, &alarm, stop.as_mut()).await?;
    let Some(mut turn) = turn else {
        return Ok(());
    };
    let result = lead(options, &mut turn, &alarm, stop).await;
    turn.end(&result).await;
    result
}

/// Controls while the lease is ours, or until told to stop.
async fn lead(
    options: Options,
    turn: &mut Turn,
    alarm: &Alarm,
    mut stop: Pin<&mut impl Future<Output = ()>>,
) -> Result<(), Error> {
    tracing::info!("controlling");
    let health = Arc::clone(&options.health);
    for resource in loose::ALL {
        health.set_beside(loose::beside(resource), Watched::Listing);
    }
    health.set_role(Role::Leading);
    let (sender, news) = mpsc::channel(NEWS_BOUND);
    let outlet = Outlet {
        news: sender,
        health: Arc::clone(&health),
        metrics: Arc::clone(&options.metrics),
        encodings: Encodings::default(),
        alarm: alarm.clone(),
    };
    let mut watches = JoinSet::new();
    watch::<slim::Pod>(&mut watches, &options.reader, &outlet);
    watch::<slim::Node>(&mut watches, &options.reader, &outlet);
    watch::<slim::Namespace>(&mut watches, &options.reader, &outlet);
    watch::<DeserializeGuard<crd::Testbed>>(&mut watches, &options.reader, &outlet);
    watch::<DeserializeGuard<crd::TestbedSlice>>(&mut watches, &options.reader, &outlet);
    for resource in loose::ALL {
        let (reader, news) = (options.reader.clone(), outlet.news.clone());
        let follow = loose::follow(reader, resource, news, Arc::clone(&health));
        watches.spawn(outlet.alarm.guard("a watch of the controllers", follow));
    }
    drop(outlet);
    let of_batch_jobs = batch_job::Settings {
        scheduler_name: options.settings.scheduler_name.clone(),
    };
    let mut driver = Driver {
        machine: All::of(vec![
            Box::new(Testbeds::new(options.settings)),
            Box::new(BatchJobs::new(of_batch_jobs)),
            Box::new(Schedulings::new()),
            Box::new(QueueJobs::new()),
        ]),
        executor: Executor {
            client: options.writer,
            fence: options.fence,
            slots: Slots::new(options.in_flight, None),
            metrics: options.metrics,
        },
        news,
        shares: Shares::with_at_most(room::of_each(options.in_flight)),
        flying: JoinSet::new(),
        alarm: alarm.clone(),
    };
    let result = {
        let drive = alarm.guard("the controllers", driver.drive());
        tokio::select! {
            () = &mut stop => Ok(()),
            lost = turn.lost() => Err(lost.into()),
            who = alarm.rung() => Err(Error::TaskPanicked(who)),
            never = drive => match never {},
        }
    };
    health.set_role(Role::Stopping);
    result?;
    drop(watches);
    let Driver {
        executor,
        mut flying,
        ..
    } = driver;
    let finish = async {
        let all = async { while flying.join_next().await.is_some() {} };
        // What is in doubt then whoever comes next finds out.
        let _ = timeout(FINISH_WITHIN, all).await;
        executor.fence.close();
        executor.fence.quiet().await;
    };
    tokio::select! {
        () = finish => Ok(()),
        lost = turn.lost() => Err(lost.into()),
    }
}

/// What came of a write.
struct Landed {
    ticket: Ticket,
    namespace: String,
    answer: Answer,
    took: Millis,
}

/// Drives a machine.
struct Driver<M> {
    machine: M,
    executor: Executor,
    news: Receiver<Observation>,
    /// What each namespace has on the wire, and how that did.
    shares: Shares,
    flying: JoinSet<Landed>,
    alarm: Alarm,
}

impl<M: Machine> Driver<M> {
    async fn drive(&mut self) -> Infallible {
        let clock = self.executor.fence.clock();
        let mut batch = Vec::new();
        loop {
            let is_open = self.executor.fence.is_open();
            if is_open {
                self.send_what_is_due(clock.now());
            }
            let mut wake = self.machine.wakes_at();
            if !is_open {
                let look = clock.now() + SHUT;
                wake = Some(wake.map_or(look, |at| at.min(look)));
            }
            // What is past was due, and is looked at again when there is room.
            let wake = wake.filter(|at| *at > clock.now());
            tokio::select! {
                _ = self.news.recv_many(&mut batch, NEWS_AT_ONCE) => {
                    for one in batch.drain(..) {
                        self.machine.observe(one, clock.now());
                    }
                }
                Some(landed) = self.flying.join_next(), if !self.flying.is_empty() => {
                    self.take(landed, clock.now());
                    while let Some(landed) = self.flying.try_join_next() {
                        self.take(landed, clock.now());
                    }
                }
                () = sleep_until(clock.instant(wake.unwrap_or(Time::ZERO))), if wake.is_some() => {}
            }
        }
    }

    /// Sends as much of what is due as there is room for: first that of namespaces of which nothing bad is known.
    fn send_what_is_due(&mut self, now: Time) {
        let slots = self.executor.slots.count().max(2);
        for prefers in [true, false] {
            let free = slots.saturating_sub(self.flying.len());
            let mut left = Left::new(&mut self.shares, (free, slots), prefers, now);
            let due = self.machine.due_in(&mut left, now);
            let is_all = !left.has_passed_over();
            for write in due {
                self.send(write, now);
            }
            if is_all {
                return;
            }
        }
    }

    fn send(&mut self, write: Write, now: Time) {
        let executor = self.executor.clone();
        let paces = !self.shares.is_in_trouble(&write.on.namespace, now);
        let sent = async move {
            let (answer, took) = executor.carry_out(&write, paces).await;
            Landed {
                ticket: write.ticket,
                namespace: write.on.namespace,
                answer,
                took,
            }
        };
        let sent = self.alarm.guard("a controller's write", sent);
        self.flying.spawn(sent);
    }

    fn take(&mut self, landed: Result<Landed, JoinError>, now: Time) {
        // One that panicked has rung the alarm.
        if let Ok(landed) = landed {
            let how = match &landed.answer {
                Answer::Lost => Ended::after(false, landed.took),
                // It says nothing of what hangs.
                Answer::Throttled { .. } => Ended::Unsent,
                Answer::Done(_)
                | Answer::Conflict
                | Answer::NotFound
                | Answer::AlreadyExists
                | Answer::Refused { .. } => Ended::after(true, landed.took),
            };
            self.shares.end(&landed.namespace, how, now);
            self.machine.answered(landed.ticket, landed.answer, now);
        }
    }
}

/// A kind of which a machine is told.
trait Observable: Watchable {
    const RESOURCE: Resource;

    fn observation(self) -> Result<Observation, String>;
}

/// Makes kinds observable.
macro_rules! observable {
    ($($object:ty, $resource:ident, $news:ident;)+) => {$(
        impl Observable for $object {
            const RESOURCE: Resource = Resource::$resource;

            fn observation(self) -> Result<Observation, String> {
                Ok(Observation::$news(Box::new(self)))
            }
        }
    )+};
}

observable! {
    slim::Pod, Pods, Pod;
    slim::Node, Nodes, Node;
    slim::Namespace, Namespaces, Namespace;
    crd::Testbed, Testbeds, Testbed;
    crd::TestbedSlice, TestbedSlices, TestbedSlice;
}

impl<K: Observable> Observable for DeserializeGuard<K> {
    const RESOURCE: Resource = K::RESOURCE;

    fn observation(self) -> Result<Observation, String> {
        self.0.map_err(|invalid| invalid.error)?.observation()
    }
}

/// A machine, as who listens to watches.
struct Observer;

impl<K: Observable> Audience<K> for Observer {
    type News = Observation;

    fn is(&self, object: K) -> Result<[Option<Observation>; 2], String> {
        Ok([Some(object.observation()?), None])
    }

    fn gone(&self, object: Identity) -> [Option<Observation>; 2] {
        [Some(Observation::Gone(K::RESOURCE, object)), None]
    }

    fn synced(&self) -> Observation {
        Observation::Synced(K::RESOURCE)
    }
}

fn watch<K: Observable + Debug>(
    watches: &mut JoinSet<()>,
    client: &Client,
    outlet: &Outlet<Observation>,
) {
    let api = Api::<K>::all(client.clone());
    let task = watch::follow(api, Arc::new(Observer), outlet.clone());
    watches.spawn(outlet.alarm.guard(K::KIND.name(), task));
}

/// Carries out writes.
#[derive(Clone)]
struct Executor {
    client: Client,
    fence: Fence,
    slots: Slots,
    metrics: Arc<Metrics>,
}

impl Executor {
    /// Sends a write once; says what came of it, and after how long. Whether that counts for how many are sent at once
    /// is `paces`.
    async fn carry_out(&self, write: &Write, paces: bool) -> (Answer, Millis) {
        let slot = self.slots.take().await;
        let sent = self.fence.clock().now();
        let reply = send(&self.client, &self.fence, request(write)).await;
        let now = self.fence.clock().now();
        let judged = reply.as_ref().err().unwrap_or(&Reply::Accepted);
        if paces {
            self.slots.answered(judged, sent, now);
        }
        drop(slot);
        let answer = answer(write, reply, now);
        let (deed, result) = (word_of(&write.deed), word(&answer));
        let counter = &self.metrics.controller_writes;
        counter.with_label_values(&[deed, result]).inc();
        if let Answer::Refused { message } = &answer {
            let (name, words) = (&write.on.name, message);
            tracing::warn!(name, deed, words, "a write of a controller is refused");
        }
        (answer, now.since(sent))
    }
}

/// The request of a write.
fn request(write: &Write) -> Made {
    let path = path(&write.on, &write.deed);
    let (method, kind, body) = match &write.deed {
        Deed::Create(body) => (Method::POST, "application/json", body.to_string()),
        Deed::PatchStatus {
            uid,
            version,
            operations,
        }
        | Deed::Patch {
            uid,
            version,
            operations,
        } => {
            let patch = Deed::json_patch(uid, version, operations);
            (
                Method::PATCH,
                "application/json-patch+json",
                patch.to_string(),
            )
        }
        Deed::Delete { uid } => {
            let options = serde_json::json!({
                "apiVersion": "v1",
                "kind": "DeleteOptions",
                "preconditions": {"uid": uid},
                // Of a Job the API server would leave its pods behind, if nobody said otherwise.
                "propagationPolicy": "Background",
            });
            (Method::DELETE, "application/json", options.to_string())
        }
    };
    Request::builder()
        .method(method)
        .uri(path)
        .header(ACCEPT, HeaderValue::from_static("application/json"))
        .header(CONTENT_TYPE, HeaderValue::from_static(kind))
        .body(Body::from(body.into_bytes()))
}

fn path(on: &ObjectName, deed: &Deed) -> String {
    let ObjectName {
        resource,
        namespace,
        name,
    } = on;
    let all = resource.path(namespace);
    match deed {
        Deed::Create(_) => format!("{all}?fieldManager=muster"),
        Deed::PatchStatus { .. } => format!("{all}/{name}/status?fieldManager=muster"),
        Deed::Patch { .. } => format!("{all}/{name}?fieldManager=muster"),
        Deed::Delete { .. } => format!("{all}/{name}"),
    }
}

/// What came of a write, in the machine's words.
fn answer(write: &Write, reply: Result<Vec<u8>, Reply>, now: Time) -> Answer {
    let (code, message, retry_after) = match reply {
        Ok(body) => return Answer::Done(seen(write, &body)),
        Err(Reply::Status {
            code,
            message,
            retry_after,
        }) => (code, message, retry_after),
        Err(_) => return Answer::Lost,
    };
    match (code, &write.deed) {
        (404, _) => Answer::NotFound,
        (429, _) => Answer::Throttled {
            until: now + retry_after.unwrap_or(THROTTLED),
        },
        // A quota that others write at the same time is a conflict, too.
        (409, Deed::Create(_)) if message.ends_with("already exists") => Answer::AlreadyExists,
        (409, _) => Answer::Conflict,
        // An index of the list, or the uid, is of another version.
        (422, Deed::PatchStatus { .. } | Deed::Patch { .. }) => Answer::Conflict,
        (400..500, _) if code != 408 => Answer::Refused { message },
        _ => Answer::Lost,
    }
}

/// The object that came back. Of a delete it is how the object was.
fn seen(write: &Write, body: &[u8]) -> Option<Observation> {
    if matches!(write.deed, Deed::Delete { .. }) {
        return None;
    }
    let mut body = serde_json::Deserializer::from_slice(body);
    let seen = Observation::read(write.on.resource, &mut body)?;
    body.end().ok().map(|()| seen)
}

fn word_of(deed: &Deed) -> &'static str {
    match deed {
        Deed::Create(_) => "create",
        Deed::PatchStatus { .. } | Deed::Patch { .. } => "patch",
        Deed::Delete { .. } => "delete",
    }
}

fn word(answer: &Answer) -> &'static str {
    match answer {
        Answer::Done(_) => "done",
        Answer::Conflict => "conflict",
        Answer::NotFound => "not_found",
        Answer::AlreadyExists => "already_exists",
        Answer::Refused { .. } => "refused",
        Answer::Throttled { .. } => "throttled",
        Answer::Lost => "lost",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(deed: Deed) -> Write {
        Write {
            ticket: Ticket(0),
            on: ObjectName {
                resource: Resource::Pods,
                namespace: "n".to_owned(),
                name: "p".to_owned(),
            },
            deed,
        }
    }

    #[test]
    fn every_answer_of_the_api_server_means_one_thing() {
        let create = write(Deed::Create(serde_json::Value::Null));
        let delete = write(Deed::Delete {
            uid: "u".to_owned(),
        });
        let said = |write: &Write, code, message: &str| {
            let reply = Reply::Status {
                code,
                message: message.to_owned(),
                retry_after: None,
            };
            word(&answer(write, Err(reply), Time(0)))
        };
        assert_eq!(
            said(&create, 409, "pods \"p\" already exists"),
            "already_exists"
        );
        assert_eq!(
            said(&create, 409, "Operation cannot be fulfilled"),
            "conflict"
        );
        assert_eq!(said(&delete, 409, "Precondition failed"), "conflict");
        assert_eq!(said(&delete, 404, ""), "not_found");
        assert_eq!(said(&create, 403, "exceeded quota"), "refused");
        assert_eq!(said(&create, 429, ""), "throttled");
        assert_eq!(said(&create, 500, ""), "lost");
        assert_eq!(word(&answer(&create, Err(Reply::Lost), Time(0))), "lost");
        assert_eq!(word(&answer(&delete, Ok(Vec::new()), Time(0))), "done");
    }

    #[test]
    fn a_write_is_one_request_with_its_precondition() {
        let made = request(&write(Deed::Delete {
            uid: "u".to_owned(),
        }))
        .unwrap();
        assert_eq!(made.method(), Method::DELETE);
        assert_eq!(made.uri().path(), "/api/v1/namespaces/n/pods/p");
        let patch = Deed::PatchStatus {
            uid: "u".to_owned(),
            version: "7".to_owned(),
            operations: Vec::new(),
        };
        let on = ObjectName {
            resource: Resource::Testbeds,
            namespace: String::new(),
            name: "t".to_owned(),
        };
        let made = request(&Write { on, ..write(patch) }).unwrap();
        let uri = "/apis/muster.dev/v1alpha1/testbeds/t/status";
        assert_eq!((made.method(), made.uri().path()), (&Method::PATCH, uri));
    }
}
