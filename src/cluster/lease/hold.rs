//! Asks for the Lease, holds it and gives it back, as the election says.
//!
//! One request at a time. Nothing is decided here but how a request is made and how an answer is
//! read; what it means for the right to write is the election's matter.

use super::election::{Answer, Election, End, RETRY, Record, Request, UNKNOWN};
use super::watch::{News, Watch};
use super::{ANSWER_WITHIN, LeaseOptions, object};
use crate::attempt::{Answer as Write, Step};
use crate::clock::wall;
use crate::health::{Health, Role};
use crate::{Error, Fence};
use futures::FutureExt;
use futures::future::BoxFuture;
use k8s_openapi::api::coordination::v1::Lease as Object;
use kube::api::PostParams;
use kube::{Api, Client};
use muster_model::units::Time;
use std::sync::Arc;
use tokio::time::error::Elapsed;
use tokio::time::{Instant, sleep_until, timeout};

/// The manager of the fields that we write.
const MANAGER: &str = "muster";

/// What is said where the Lease may not be watched.
const MAY_NOT_WATCH: &str =
    "watch leases.coordination.k8s.io (a standby looks every 2 s whether the lease is free)";

/// A request on its way.
struct Asked {
    request: Request,
    sent: Time,
    answer: BoxFuture<'static, Result<kube::Result<Object>, Elapsed>>,
}

/// A lease that is asked for, held, or given back.
pub struct Lease {
    api: Api<Object>,
    options: LeaseOptions,
    election: Election,
    /// The object that the election knows.
    object: Option<Object>,
    watch: Watch,
    /// What was asked and not answered yet. It is kept when who waits for it is told to do something else: it may have
    /// taken the lease.
    asked: Option<Asked>,
    fence: Fence,
    health: Arc<Health>,
    /// What went wrong last, until something goes right.
    trouble: Option<String>,
}

impl Lease {
    /// Knows nothing yet. The fence opens when the lease is ours, and for as long.
    #[must_use]
    pub fn new(client: Client, options: LeaseOptions, fence: Fence, health: Arc<Health>) -> Self {
        Self {
            api: Api::namespaced(client, &options.namespace),
            election: Election::new(options.identity.clone(), fence.clock().now()),
            object: None,
            watch: Watch::new(Instant::now()),
            asked: None,
            options,
            fence,
            health,
            trouble: None,
        }
    }

    /// Waits until we may write, however long that takes. Who does not want to wait any longer [releases](Self::release)
    /// it: it may be ours by then.
    ///
    /// # Errors
    /// When it was ours and was lost before we might.
    pub async fn acquire(&mut self) -> Result<(), Error> {
        let (namespace, name) = (&self.options.namespace, &self.options.name);
        let me = self.options.identity.name();
        tracing::info!(namespace, name, identity = me, "asking for the lease");
        while !self.fence.is_open() {
            if let Some(end) = self.step().await {
                return Err(self.lost(end));
            }
            if self.trouble.is_none() {
                self.health.set_role(Role::StandingBy);
            }
        }
        self.watch.end();
        Ok(())
    }

    /// Renews the lease; returns how it was lost. The fence is closed by then.
    pub async fn hold(&mut self) -> Error {
        loop {
            if let Some(end) = self.step().await {
                return self.lost(end);
            }
        }
    }

    fn lost(&self, end: End) -> Error {
        Error::LeaseLost {
            namespace: self.options.namespace.clone(),
            name: self.options.name.clone(),
            reason: match end {
                End::Lost { reason } => reason,
                End::Released | End::NotOurs | End::RunsOut => "it was given back".to_owned(),
            },
        }
    }

    /// Gives the lease back, so that the next instance need not wait for its end. Nothing that was
    /// sent may still be able to happen, but for what was asked here: that is waited for.
    pub async fn release(mut self) {
        self.fence.close();
        self.hear().await;
        self.election.release(self.fence.clock().now());
        let ended = timeout(ANSWER_WITHIN, async {
            loop {
                if let Some(end) = self.step().await {
                    break end;
                }
            }
        });
        match ended.await {
            Ok(End::Released) => tracing::info!("the lease is given back"),
            Ok(End::NotOurs) => tracing::info!("the lease is not ours: nothing is given back"),
            _ => tracing::warn!("the lease was not given back and runs out by itself"),
        }
    }

    /// Does what is next; returns how it ended, if it did. Nothing is lost when it is dropped before it has.
    async fn step(&mut self) -> Option<End> {
        self.hear().await;
        let now = self.fence.clock().now();
        match self.election.next(now) {
            Step::Done(end) => {
                self.fence.close();
                return Some(end);
            }
            Step::WaitUntil(at) => self.wait(at).await,
            // One who cannot do the work does not keep others from it.
            Step::Send(Request::Replace { hold: true, .. }) if self.health.pulse().hangs() => {
                self.hangs();
                self.wait(now + RETRY).await;
            }
            Step::Send(request) => {
                self.ask(request);
                self.hear().await;
            }
        }
        let until = self.election.may_send_until(self.fence.clock().now());
        self.fence.allow_until(until.unwrap_or(Time::ZERO));
        None
    }

    /// Waits until it is time, or until there is news.
    async fn wait(&mut self, until: Time) {
        let clock = self.fence.clock();
        let until = sleep_until(clock.instant(until));
        let Some(version) = self.election.watch_from().map(str::to_owned) else {
            return until.await;
        };
        let news = self.watch.next(&self.api, &self.options.name, &version);
        tokio::select! {
            () = until => {}
            news = news => {
                let record = match news {
                    News::Is(object) => Some(self.know(*object)),
                    News::Gone => None,
                };
                self.election.heard(record, clock.now());
                self.health.set_holder(self.election.holder());
            }
        }
        let unwatched = self.watch.is_refused().then_some(MAY_NOT_WATCH);
        self.health.set_lease_unwatched(unwatched);
    }

    /// Sends a request.
    fn ask(&mut self, request: Request) {
        let sent = self.fence.clock().now();
        let answer = timeout(ANSWER_WITHIN, self.send(&request)).boxed();
        self.asked = Some(Asked {
            request,
            sent,
            answer,
        });
    }

    /// Waits for the answer to what was asked, if anything was.
    async fn hear(&mut self) {
        let Some(asked) = &mut self.asked else {
            return;
        };
        let answered = (&mut asked.answer).await;
        if let Some(Asked { request, sent, .. }) = self.asked.take() {
            let answer = self.read(&request, answered);
            tracing::trace!(?request, ?answer, "lease");
            self.note(&request, &answer, sent);
            let now = self.fence.clock().now();
            self.election.answered(answer, sent, now);
            self.health.set_holder(self.election.holder());
        }
    }

    /// What came back, in the election's words.
    fn read(
        &mut self,
        request: &Request,
        answered: Result<kube::Result<Object>, Elapsed>,
    ) -> Answer {
        match answered {
            Ok(Ok(object)) => {
                self.well();
                let record = self.know(object);
                if *request == Request::Read {
                    Answer::Found(record)
                } else {
                    Answer::Written(record)
                }
            }
            Ok(Err(kube::Error::Api(status))) if status.code == 409 => Answer::Conflict,
            // What is created where there is nothing: no namespace.
            Ok(Err(kube::Error::Api(status)))
                if status.code == 404 && *request != Request::Create =>
            {
                self.well();
                Answer::Absent
            }
            Ok(Err(error)) => self.failed(request, &error.to_string()),
            Err(_) => self.failed(request, "no answer in time"),
        }
    }

    /// Notes whether anything comes of writes: so that is known also when nobody else writes.
    fn note(&self, request: &Request, answer: &Answer, sent: Time) {
        match (answer, request) {
            (Answer::Failed, _) => self.fence.read(&Write::Lost, sent),
            (_, Request::Read) => {}
            _ => self.fence.written(&Write::Accepted, sent),
        }
    }

    fn send(&self, request: &Request) -> BoxFuture<'static, kube::Result<Object>> {
        let (api, name) = (self.api.clone(), self.options.name.clone());
        let now = wall(self.fence.clock().now());
        let params = PostParams {
            field_manager: Some(MANAGER.to_owned()),
            ..PostParams::default()
        };
        match request {
            Request::Read => async move { api.get(&name).await }.boxed(),
            Request::Create => {
                let mut lease = object::next(None, Some(UNKNOWN), now);
                lease.metadata.name = Some(name);
                async move { api.create(&params, &lease).await }.boxed()
            }
            Request::Replace { version, hold } => {
                let holder = hold.then_some(self.options.identity.name());
                let mut lease = object::next(self.object.as_ref(), holder, now);
                lease.metadata.resource_version = Some(version.clone());
                async move { api.replace(&name, &params, &lease).await }.boxed()
            }
        }
    }

    fn know(&mut self, object: Object) -> Record {
        let record = object::record(&object);
        self.object = Some(object);
        record
    }

    fn failed(&mut self, request: &Request, error: &str) -> Answer {
        let what = match request {
            Request::Read => "cannot be read",
            Request::Create => "cannot be created",
            Request::Replace { .. } => "cannot be written",
        };
        let (namespace, name) = (&self.options.namespace, &self.options.name);
        let trouble = format!("the lease {namespace}/{name} {what}: {error}");
        if self.trouble.as_ref() != Some(&trouble) {
            tracing::warn!("{trouble}");
        }
        self.health.set_lease_problem(Some(trouble.clone()));
        self.trouble = Some(trouble);
        Answer::Failed
    }

    fn hangs(&mut self) {
        let trouble = "the engine does not move: the lease is not renewed";
        if self.trouble.as_deref() != Some(trouble) {
            tracing::error!("{trouble}");
        }
        self.health.set_lease_problem(Some(trouble.to_owned()));
        self.trouble = Some(trouble.to_owned());
    }

    fn well(&mut self) {
        if self.trouble.take().is_some() {
            tracing::info!("the lease can be asked for again");
        }
        self.health.set_lease_problem(None);
    }
}
