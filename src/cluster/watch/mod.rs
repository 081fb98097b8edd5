//! Watches: one task per kind that lists, watches, and tells the engine what changed.
//!
//! `source` does the listing in pages, the bookmarks and the 410. What is told of it stands here:
//! what a new list lacks, a list that stalls, how long to wait after failures, and what `/readyz`
//! says. Nothing here decides anything. kube's watcher would do some of it, but in JSON only.

mod audience;
mod codec;
mod frames;
mod known;
mod source;
mod unreadable;

pub use audience::Audience;
pub use known::Known;
use muster_model::units::Doubling;
use muster_model::units::Millis;

use super::encoding::Encodings;
use super::health::{Health, Watched};
use super::{Alarm, Metrics, News, error_text};
use codec::Came;
use futures::StreamExt;
use kube::core::Status;
use kube::runtime::watcher;
use kube::{Api, Client};
use muster_api::Reading;
use muster_api::kinds::{self, Identity, Kind, Row, Visitor, Watchable};
use source::{Source, meta};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use unreadable::Unreadable;

/// How long a page of a list may take.
const LIST_STALL: Duration = Duration::from_secs(60);
/// How long a watch that failed must run before it counts as well again.
const SETTLE: Duration = Duration::from_secs(2);
/// Failures further apart than this are not counted together.
const FORGET_FAILURES: Duration = Duration::from_secs(60);
/// After so many failures in a row that are no lack of an answer and no overload, everything is listed anew; after so many
/// of whatever sort it is said.
const RELIST_AFTER: u32 = 3;
/// How often is looked whether an optional kind is served by now.
const LOOK_AGAIN: Duration = Duration::from_secs(30);
/// For no longer is it waited where the server asks for a wait.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// After failures.
const WAITS: Doubling = Doubling {
    first: Millis(200),
    longest: Millis(10_000),
};

/// Where a watch reports to.
#[derive(Debug)]
pub struct Outlet<N = News> {
    /// What changed.
    pub news: mpsc::Sender<N>,
    /// How the watch is doing, for `/readyz`.
    pub health: Arc<Health>,
    /// How often it had to start anew.
    pub metrics: Arc<Metrics>,
    /// In which encodings the API server answers.
    pub encodings: Encodings,
    /// Told of a watch that panics.
    pub alarm: Alarm,
}

impl<N> Clone for Outlet<N> {
    fn clone(&self) -> Self {
        Self {
            news: self.news.clone(),
            health: Arc::clone(&self.health),
            metrics: Arc::clone(&self.metrics),
            encodings: self.encodings.clone(),
            alarm: self.alarm.clone(),
        }
    }
}

/// Starts the watches of all kinds. They run until the set is dropped.
#[must_use]
pub fn start(client: &Client, reading: &Arc<Reading>, outlet: &Outlet) -> JoinSet<()> {
    let mut starting = Starting {
        tasks: JoinSet::new(),
        client,
        reading,
        outlet,
    };
    kinds::visit(&mut starting);
    starting.tasks
}

/// Starts a watch for every row of the table.
struct Starting<'a> {
    tasks: JoinSet<()>,
    client: &'a Client,
    reading: &'a Arc<Reading>,
    outlet: &'a Outlet,
}

impl Visitor for Starting<'_> {
    fn visit<R: Row>(&mut self) {
        let api = Api::<R::Watched>::all(self.client.clone());
        let reading = Arc::clone(self.reading);
        let alarm = &self.outlet.alarm;
        if !R::is_read(&reading) {
            let task = pass_over(R::KIND, self.outlet.clone());
            self.tasks.spawn(alarm.guard(R::KIND.name(), task));
            return;
        }
        let task = follow(api, reading, self.outlet.clone());
        self.tasks.spawn(alarm.guard(R::KIND.name(), task));
    }
}

/// Says of a kind at which nothing looks that all is known of it.
async fn pass_over(kind: Kind, outlet: Outlet) {
    outlet.health.set_kind(kind, Watched::Unread);
    // Who hears no more of it has stopped.
    let _ = outlet.news.send(News::Synced(kind)).await;
    std::future::pending::<()>().await;
}

/// Tells of all objects of one kind, for as long as somebody listens.
pub async fn follow<K: Watchable, A: Audience<K>>(
    api: Api<K>,
    audience: Arc<A>,
    outlet: Outlet<A::News>,
) {
    let mut source = Source::new(api, outlet.encodings.clone());
    let mut follower = Follower::new(audience, outlet);
    while follower.follow_once(&mut source).await.is_ok() {}
}

/// Nobody listens any more.
struct Deaf;

struct Follower<A, N> {
    audience: Arc<A>,
    outlet: Outlet<N>,
    known: Known,
    unreadable: Unreadable,
    /// A list is under way.
    listing: bool,
    /// The list before it came to its end: the next one is a new start.
    complete: bool,
    /// All objects were told at least once.
    synced: bool,
    /// What `/readyz` says of this kind.
    state: Watched,
    failures: u32,
    /// Those of them after which what is known may have to be listed anew.
    doubts: u32,
    failed_at: Instant,
}

impl<A, N> Follower<A, N> {
    fn new(audience: Arc<A>, outlet: Outlet<N>) -> Self {
        Self {
            audience,
            outlet,
            known: Known::default(),
            unreadable: Unreadable::default(),
            listing: true,
            complete: false,
            synced: false,
            state: Watched::Listing,
            failures: 0,
            doubts: 0,
            failed_at: Instant::now(),
        }
    }

    /// One list and the watches after it, until a new list is needed.
    async fn follow_once<K: Watchable>(&mut self, source: &mut Source<K>) -> Result<(), Deaf>
    where
        A: Audience<K, News = N>,
    {
        let mut stream = pin!(source.events());
        self.listing = true;
        loop {
            let next = match self.patience() {
                Some(limit) => timeout(limit, stream.next()).await,
                None => Ok(stream.next().await),
            };
            match next {
                Ok(Some(Ok(event))) => self.told::<K>(event).await?,
                Ok(Some(Err(error))) => {
                    let relist = self.failed(&error).await?;
                    if relist {
                        return Ok(());
                    }
                }
                Ok(None) => return Ok(()),
                Err(_) if self.listing => {
                    tracing::warn!(kind = K::KIND.name(), "a list stalled");
                    self.count_failure();
                    return Ok(());
                }
                Err(_) => self.well(K::KIND),
            }
        }
    }

    /// How long to wait for what comes next.
    const fn patience(&self) -> Option<Duration> {
        if self.listing {
            Some(LIST_STALL)
        } else if matches!(self.state, Watched::Failing(_)) {
            Some(SETTLE)
        } else {
            None
        }
    }

    async fn told<K: Watchable>(&mut self, event: watcher::Event<Came<K>>) -> Result<(), Deaf>
    where
        A: Audience<K, News = N>,
    {
        match event {
            watcher::Event::Init => {
                self.begins(K::KIND);
                Ok(())
            }
            watcher::Event::InitApply(object) => self.exists(object).await,
            watcher::Event::InitDone => self.listed::<K>().await,
            watcher::Event::Apply(object) => {
                self.well(K::KIND);
                self.exists(object).await
            }
            watcher::Event::Delete(object) => {
                self.well(K::KIND);
                let object = Identity::of(meta(&object));
                self.can_be_read(K::KIND, &object);
                if self.known.gone(&object) {
                    self.gone::<K>(object).await?;
                }
                Ok(())
            }
        }
    }

    /// A list begins. That a kind is listed anew is said and counted once, however many lists it
    /// takes; a kind that was never listed, because it is not installed, begins in silence.
    fn begins(&mut self, kind: Kind) {
        self.listing = true;
        self.known.begin_list();
        self.unreadable.begin_list();
        if std::mem::take(&mut self.complete) {
            let kind = kind.name();
            let restarts = &self.outlet.metrics.watch_restarts;
            restarts.with_label_values(&[kind]).inc();
            tracing::info!(kind, "listing anew");
        }
    }

    async fn exists<K: Watchable>(&mut self, object: Came<K>) -> Result<(), Deaf>
    where
        A: Audience<K, News = N>,
    {
        let id = Identity::of(meta(&object));
        match object.as_ref().map(Watchable::unreadable) {
            Ok(None) => self.can_be_read(K::KIND, &id),
            Ok(Some(error)) => self.cannot_be_read(K::KIND, &id, error),
            // It is said below.
            Err(_) => {}
        }
        let found = object.map_err(|invalid| invalid.error);
        match found.and_then(|object| self.audience.is(object)) {
            Ok(news) => {
                if let Some(before) = self.known.exists(&id) {
                    self.gone::<K>(before).await?;
                }
                self.tell_all(news).await
            }
            Err(error) => {
                self.cannot_be_read(K::KIND, &id, &error);
                if self.known.gone(&id) {
                    self.gone::<K>(id).await?;
                }
                Ok(())
            }
        }
    }

    /// Says of an object that it is left out, once.
    fn cannot_be_read(&mut self, kind: Kind, object: &Identity, error: &str) {
        if !self.unreadable.note(object) {
            return;
        }
        let (namespace, name) = (&object.namespace, &object.name);
        let kind_name = kind.name();
        tracing::warn!(
            kind = kind_name,
            namespace,
            name,
            error,
            "cannot be read: left out"
        );
        let count = &self.outlet.metrics.unreadable;
        count.with_label_values(&[kind_name]).inc();
        self.show_unreadable(kind);
    }

    fn can_be_read(&mut self, kind: Kind, object: &Identity) {
        if self.unreadable.forget(object) {
            self.show_unreadable(kind);
        }
    }

    fn show_unreadable(&self, kind: Kind) {
        if !self.listing {
            self.outlet
                .health
                .set_unreadable(kind, self.unreadable.in_words());
        }
    }

    async fn gone<K: Watchable>(&self, object: Identity) -> Result<(), Deaf>
    where
        A: Audience<K, News = N>,
    {
        self.tell_all(self.audience.gone(object)).await
    }

    /// A list is complete: what it lacks is gone.
    async fn listed<K: Watchable>(&mut self) -> Result<(), Deaf>
    where
        A: Audience<K, News = N>,
    {
        for object in self.known.sweep() {
            self.gone::<K>(object).await?;
        }
        self.listing = false;
        self.complete = true;
        self.unreadable.end_list();
        self.show_unreadable(K::KIND);
        if !self.synced {
            self.synced = true;
            self.tell(self.audience.synced()).await?;
        }
        // Where watching failed, a list alone does not show that it works again.
        if !matches!(self.state, Watched::Failing(_)) {
            self.well(K::KIND);
        }
        Ok(())
    }

    /// Notes an error, waits, and says whether to list anew.
    async fn failed<K: Watchable>(&mut self, error: &watcher::Error) -> Result<bool, Deaf>
    where
        A: Audience<K, News = N>,
    {
        let kind = K::KIND;
        self.count_failure();
        let code = status_code(error);
        // What is known is as good as it was: an API server that starts again is not to list everything for all.
        // (A 504 may say that what is known is newer than what the server has: its data were restored.)
        let later = is_unanswered(error) || matches!(code, Some(429 | 503));
        self.doubts += u32::from(!later);
        // Where there was nothing to watch, that the server cannot be reached changes nothing:
        // the kinds that are watched say so.
        let unreachable = self.state == Watched::NotServed && is_unanswered(error);
        let error_words = error_text::watch(error);
        tracing::debug!(
            kind = kind.name(),
            error = error_words,
            failures = self.failures,
            "a watch failed"
        );
        let state = match code {
            Some(404) if self.listing => Some(Watched::NotServed),
            Some(403) => Some(Watched::Failing(format!(
                "no permission to list and watch: {error_words}"
            ))),
            _ if self.failures >= RELIST_AFTER && !unreachable => {
                Some(Watched::Failing(error_words))
            }
            _ => None,
        };
        if let Some(state) = state {
            let blocked = matches!(code, Some(403 | 404));
            self.set_health(kind, state);
            if self.outlet.health.is_optional(kind) && blocked && !self.synced {
                self.synced = true;
                self.tell(self.audience.synced()).await?;
            }
        }
        let absent = self.outlet.health.is_optional(kind) && code == Some(404);
        let wait = self.wait().max(asked_to_wait(error));
        sleep(if absent { LOOK_AGAIN } else { wait }).await;
        let relist = self.doubts >= RELIST_AFTER;
        if relist {
            self.doubts = 0;
        }
        Ok(relist)
    }

    fn count_failure(&mut self) {
        let now = Instant::now();
        if now.duration_since(self.failed_at) > FORGET_FAILURES {
            (self.failures, self.doubts) = (0, 0);
        }
        self.failures = self.failures.saturating_add(1);
        self.failed_at = now;
    }

    fn wait(&self) -> Duration {
        let wait = WAITS.after(self.failures.saturating_sub(1));
        Duration::from_millis(wait.0)
    }

    /// Changes come in.
    fn well(&mut self, kind: Kind) {
        (self.failures, self.doubts) = (0, 0);
        if self.state != Watched::Synced {
            self.set_health(kind, Watched::Synced);
        }
    }

    fn set_health(&mut self, kind: Kind, state: Watched) {
        let gauge = self.outlet.metrics.synced.with_label_values(&[kind.name()]);
        gauge.set(i64::from(state == Watched::Synced));
        if state == self.state {
            return;
        }
        log(kind, &self.state, &state, &self.outlet.health);
        self.outlet.health.set_kind(kind, state.clone());
        self.state = state;
    }

    async fn tell_all(&self, news: impl IntoIterator<Item = Option<N>>) -> Result<(), Deaf> {
        for one in news.into_iter().flatten() {
            self.tell(one).await?;
        }
        Ok(())
    }

    async fn tell(&self, news: N) -> Result<(), Deaf> {
        self.outlet.news.send(news).await.map_err(|_| Deaf)
    }
}

/// Says what is worth a line when a watch goes from one state to another. That a first list is
/// complete is said by the engine.
fn log(kind: Kind, before: &Watched, now: &Watched, health: &Health) {
    let name = kind.name();
    match (before, now, health.problem(kind, now)) {
        (_, Watched::NotServed, None) => {
            tracing::info!(kind = name, "not installed: looked for again now and then");
        }
        (Watched::Failing(_), Watched::Failing(error), _) => {
            tracing::debug!(kind = name, error, "cannot be listed or watched");
        }
        (_, Watched::Failing(_) | Watched::NotServed, Some(error)) => {
            tracing::warn!(kind = name, error, "cannot be listed or watched");
        }
        (Watched::NotServed, Watched::Synced, _) => tracing::info!(kind = name, "installed now"),
        (Watched::Failing(_), Watched::Synced, _) => tracing::info!(kind = name, "watched again"),
        _ => {}
    }
}

/// Whether no answer came, or it broke off.
const fn is_unanswered(error: &watcher::Error) -> bool {
    use kube::Error::{HyperError, ReadEvents, Service};
    use watcher::Error::{InitialListFailed, WatchFailed, WatchStartFailed};
    matches!(
        error,
        InitialListFailed(Service(_) | HyperError(_))
            | WatchStartFailed(Service(_) | HyperError(_))
            | WatchFailed(Service(_) | HyperError(_) | ReadEvents(_))
    )
}

/// For how long the server asks to be left alone; not for ever.
fn asked_to_wait(error: &watcher::Error) -> Duration {
    let seconds = status_of(error)
        .and_then(|status| status.details.as_ref())
        .map_or(0, |details| details.retry_after_seconds);
    Duration::from_secs(seconds.into()).min(LONGEST_WAIT)
}

fn status_code(error: &watcher::Error) -> Option<u16> {
    status_of(error).map(|status| status.code)
}

fn status_of(error: &watcher::Error) -> Option<&Status> {
    match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status))
        | watcher::Error::WatchFailed(kube::Error::Api(status)) => Some(&**status),
        watcher::Error::WatchError(status) => Some(&**status),
        _ => None,
    }
}
