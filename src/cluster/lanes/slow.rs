//! The slow lane: statuses of gangs, conditions of pods, events. Never in front of a bind.
//!
//! What is said here is not needed for a right decision, so it is coalesced (the latest word per
//! object), rate-limited and bounded; what does not fit is dropped and counted.

use super::bucket::Bucket;
use super::pending::Pending;
use super::queue::{Put, Queue, Rank};
use super::requests::{self, EventText, Made, cut};
use super::said::Said;
use super::send::write;
use super::{Context, MAX_MESSAGE};
use crate::api::status;
use crate::cluster::attempt::{Answer, is_transient};
use crate::cluster::clock::wall;
use crate::core::engine::{Evict, GangStatus, PodWaits, QueueStatus};
use crate::core::model::{PodKey, Source};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout};

/// Notes about pods that may wait.
const BOUND: usize = 20_000;
/// Writes under way at once.
const IN_FLIGHT: usize = 8;
/// Writes a second, and at once.
const RATE: (u32, u32) = (200, 400);
/// After so long, notes are written although binds are under way ...
const PATIENCE: Duration = Duration::from_secs(1);
/// ... one in this time.
const TRICKLE: Duration = Duration::from_millis(50);
/// How often a note is tried.
const TRIES: u8 = 4;
/// How long the lane rests when the API server is overloaded or cannot be reached.
const REST: Duration = Duration::from_secs(1);
/// The longest rest it may ask for.
const LONGEST_REST: Duration = Duration::from_secs(30);

/// How long to leave the API server alone after this answer.
fn rest(answer: &Answer) -> Duration {
    answer.retry_after().map_or(REST, |asked| {
        Duration::from_millis(asked.0).clamp(REST, LONGEST_REST)
    })
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Gang(Source, String),
    Queue(String),
    Condition(String),
    Event(String, &'static str),
}

#[derive(Clone, Debug)]
enum Note {
    Status(Box<GangStatus>),
    Queue(QueueStatus),
    Waits { order: PodWaits, first: bool },
    Event(PodEvent),
}

#[derive(Clone, Debug)]
struct PodEvent {
    pod: PodKey,
    kind: &'static str,
    reason: &'static str,
    action: &'static str,
    note: String,
}

impl Note {
    const fn rank(&self) -> Rank {
        match self {
            Self::Status(_) | Self::Queue(_) => Rank::Status,
            Self::Waits { .. } | Self::Event(_) => Rank::Pod,
        }
    }

    const fn kind(&self) -> &'static str {
        match self {
            Self::Status(_) | Self::Queue(_) => "status",
            Self::Waits { .. } => "condition",
            Self::Event(_) => "event",
        }
    }
}

#[derive(Debug)]
struct Inner {
    queue: Queue<Key, (Note, u8)>,
    said: Said,
    serial: u64,
    flushing: bool,
}

/// The lane's intake. Clones put into the same queue.
#[derive(Clone)]
pub(super) struct SlowLane {
    context: Context,
    binds: Arc<Pending>,
    inner: Arc<Mutex<Inner>>,
    /// Something was put in, or written.
    moved: Arc<Notify>,
}

impl SlowLane {
    pub(super) fn new(context: Context, binds: Arc<Pending>) -> Self {
        let inner = Inner {
            queue: Queue::new(BOUND),
            said: Said::default(),
            serial: 0,
            flushing: false,
        };
        Self {
            context,
            binds,
            inner: Arc::new(Mutex::new(inner)),
            moved: Arc::new(Notify::new()),
        }
    }

    /// A gang's status changed.
    pub(super) fn gang(&self, status: GangStatus) {
        let key = Key::Gang(status.source, status.uid.clone());
        self.put(key, Note::Status(Box::new(status)));
    }

    /// A queue's counts changed.
    pub(super) fn queue(&self, status: QueueStatus) {
        self.put(Key::Queue(status.uid.clone()), Note::Queue(status));
    }

    /// A pod waits.
    pub(super) fn waits(&self, order: PodWaits) {
        let uid = order.pod.uid.clone();
        let news = self.inner().said.waits(&uid, order.reason, &order.message);
        if news.event {
            let event = PodEvent {
                pod: order.pod.clone(),
                kind: "Warning",
                reason: "FailedScheduling",
                action: "Scheduling",
                note: order.message.clone(),
            };
            self.event(event);
        }
        if news.condition {
            let first = news.first;
            self.put(Key::Condition(uid), Note::Waits { order, first });
        }
    }

    /// A pod was bound.
    pub(super) fn scheduled(&self, pod: &PodKey, node: &str) {
        self.inner().said.forget(&pod.uid);
        self.event(PodEvent {
            pod: pod.clone(),
            kind: "Normal",
            reason: "Scheduled",
            action: "Binding",
            note: format!("Successfully assigned {pod} to {node}"),
        });
    }

    /// A pod was evicted.
    pub(super) fn evicted(&self, order: &Evict) {
        self.inner().said.forget(&order.pod.uid);
        self.event(PodEvent {
            pod: order.pod.clone(),
            kind: "Normal",
            reason: "Preempted",
            action: "Preempting",
            note: order.message.clone(),
        });
    }

    fn event(&self, event: PodEvent) {
        let key = Key::Event(event.pod.uid.clone(), event.reason);
        self.put(key, Note::Event(event));
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, key: Key, note: Note) {
        let (rank, kind) = (note.rank(), note.kind());
        let put = self.inner().queue.put(rank, key, (note, 0), Instant::now());
        self.counted(put, kind);
    }

    /// Puts a note back. Only now may a later one about the same thing be written, so that it
    /// is never overtaken by the earlier.
    fn put_back(&self, key: Key, note: Note, tries: u8) {
        let (rank, kind) = (note.rank(), note.kind());
        let put = {
            let mut inner = self.inner();
            inner.queue.written(&key);
            inner
                .queue
                .put_back(rank, key, (note, tries), Instant::now())
        };
        self.counted(put, kind);
    }

    fn counted(&self, put: Put, kind: &str) {
        match put {
            Put::Queued => self.context.metrics.notes_waiting.inc(),
            Put::Replaced => {}
            Put::Dropped => self.count(kind, "dropped"),
        }
        self.moved.notify_one();
    }

    fn count(&self, kind: &str, result: &str) {
        let notes = &self.context.metrics.notes;
        notes.with_label_values(&[kind, result]).inc();
    }

    /// Writes what is put in, for ever.
    pub(super) async fn run(self) {
        let slots = Arc::new(Semaphore::new(IN_FLIGHT));
        let mut bucket = Bucket::new(RATE.0, RATE.1, Instant::now());
        let mut writes = JoinSet::new();
        loop {
            let slot = Arc::clone(&slots).acquire_owned().await.ok();
            let (key, note, tries) = self.next(&mut bucket).await;
            while writes.try_join_next().is_some() {}
            let lane = self.clone();
            writes.spawn(async move {
                lane.carry_out(key, note, tries).await;
                drop(slot);
            });
        }
    }

    /// The next note, when it may be written.
    async fn next(&self, bucket: &mut Bucket) -> (Key, Note, u8) {
        loop {
            let oldest = self.inner().queue.oldest();
            let Some(oldest) = oldest else {
                self.moved.notified().await;
                continue;
            };
            self.give_way(oldest).await;
            while let Err(at) = bucket.take(Instant::now()) {
                sleep_until(at).await;
            }
            let taken = self.inner().queue.take();
            if let Some((key, (note, tries))) = taken {
                self.context.metrics.notes_waiting.dec();
                return (key, note, tries);
            }
        }
    }

    /// Waits while binds are under way, but not for ever.
    async fn give_way(&self, oldest: Instant) {
        if self.binds.is_idle() || self.inner().flushing {
            return;
        }
        let until = (oldest + PATIENCE).max(Instant::now() + TRICKLE);
        tokio::select! {
            () = self.binds.idle() => {}
            () = sleep_until(until) => {}
        }
    }

    async fn carry_out(&self, key: Key, note: Note, tries: u8) {
        let answer = write(&self.context, self.request(&note)).await;
        let kind = note.kind();
        let result = match &answer {
            Answer::Accepted => "written",
            // The object is gone, or another one has its name.
            Answer::Status {
                code: 404 | 409, ..
            } => "gone",
            Answer::Status { code, message, .. } if !is_transient(*code) => {
                tracing::warn!(?key, code, message, "not written");
                "failed"
            }
            _ if tries + 1 >= TRIES => {
                tracing::warn!(?key, ?answer, "not written");
                "failed"
            }
            _ => "retried",
        };
        self.count(kind, result);
        if result == "retried" {
            // The rest holds back a slot of the lane: who is overloaded is asked less.
            sleep(rest(&answer)).await;
            self.put_back(key, note, tries + 1);
        } else {
            self.inner().queue.written(&key);
            self.moved.notify_one();
        }
    }

    fn request(&self, note: &Note) -> Made {
        let now = self.context.clock.now();
        match note {
            Note::Status(status) => {
                let patch = status::patch(status, &wall);
                requests::gang_status(&status.gang, status.source, &status.uid, patch)
            }
            Note::Queue(status) => requests::queue_status(status, status::queue_patch(status)),
            Note::Waits { order, first } => {
                let message = cut(&order.message, MAX_MESSAGE).to_owned();
                let order = PodWaits {
                    message,
                    ..order.clone()
                };
                requests::waits(&order, first.then(|| wall(now)))
            }
            Note::Event(event) => {
                let serial = {
                    let mut inner = self.inner();
                    inner.serial += 1;
                    inner.serial
                };
                let text = EventText {
                    kind: event.kind,
                    reason: event.reason,
                    action: event.action,
                    note: &event.note,
                };
                requests::event(&event.pod, text, &self.context.instance, now, serial)
            }
        }
    }

    /// Writes what waits without giving way, for at most `limit`.
    pub(super) async fn flush(&self, limit: Duration) {
        self.inner().flushing = true;
        self.moved.notify_one();
        let finished = async {
            while !self.inner().queue.is_finished() {
                sleep(Duration::from_millis(5)).await;
            }
        };
        // What is left is written by the next start, which derives it anew.
        let _ = timeout(limit, finished).await;
    }
}
