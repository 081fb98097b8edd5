//! The slow lane: statuses of gangs and queues, conditions of pods, events. Never in front of a
//! bind or an eviction.
//!
//! What an object is to say is kept in [`Words`], which knows when it has to be written; events
//! are posted once and then forgotten. Both are rate-limited.

use super::Context;
use super::bucket::Bucket;
use super::events::{self, Event, Events};
use super::pending::Pending;
use super::requests::{self, EventText, NewEvent};
use super::send::{write, write_in};
use crate::attempt::{Answer, is_transient};
use crate::clock::wall;
use crate::shares::{Ended, Shares};
use crate::words::{Word, Words, Write, Written};
use muster_api::kinds::Subject;
use muster_api::said::Said;
use muster_model::PodKey;
use muster_model::{Evict, EvictCause};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout};

/// Writes under way at once.
const IN_FLIGHT: usize = 8;
/// An event, as the metrics call it.
const EVENT: &str = "event";
/// Writes a second, and at once.
const RATE: (u32, u32) = (200, 400);
/// While binds or evictions are under way, one write in this time.
const TRICKLE: Duration = Duration::from_millis(50);
/// How long the lane rests when the API server is overloaded or cannot be reached.
const REST: Duration = Duration::from_secs(1);
/// The longest rest it may ask for.
const LONGEST_REST: Duration = Duration::from_secs(30);
/// How many pods are remembered whose eviction was not taken.
const REFUSED_BOUND: usize = 10_000;

/// How long to leave the API server alone after this answer.
fn rest(answer: &Answer) -> Duration {
    answer.retry_after().map_or(REST, |asked| {
        Duration::from_millis(asked.0).clamp(REST, LONGEST_REST)
    })
}

#[derive(Debug, Default)]
struct Inner {
    words: Words,
    events: Events,
    /// What each namespace has on the wire of each kind: a webhook hangs for one, and the others are written.
    shares: Shares,
    /// Pods whose eviction was not taken, and the answer that was said of it.
    refused: BTreeMap<String, Arc<str>>,
    serial: u64,
    writing: usize,
    /// At the end only events are posted: what objects say is left to the next one.
    closing: bool,
}

/// Something to write.
enum Item {
    Word(Box<Write>),
    Event(Event),
}

impl Item {
    fn share(&self) -> String {
        match self {
            Self::Word(write) => share_of_word(&write.word),
            Self::Event(event) => share(EVENT, &event.about.namespace),
        }
    }
}

/// What counts together in [`Shares`]. What has no namespace counts as one more.
fn share(kind: &str, namespace: &str) -> String {
    format!("{kind} {namespace}")
}

fn share_of_word(word: &Word) -> String {
    share(kind_of(word), word.namespace())
}

/// As the metrics call it.
const fn kind_of(word: &Word) -> &'static str {
    match word {
        Word::Gang(_) | Word::Queue(_) | Word::Topology(_) => "status",
        Word::Pod(_) => "condition",
    }
}

/// The lane's intake. Clones put into the same memory.
#[derive(Clone)]
pub(super) struct SlowLane {
    context: Context,
    /// Whom it gives way to.
    ahead: [Arc<Pending>; 2],
    inner: Arc<Mutex<Inner>>,
    /// Something was put in, or written.
    moved: Arc<Notify>,
}

impl SlowLane {
    pub(super) fn new(context: Context, ahead: [Arc<Pending>; 2]) -> Self {
        Self {
            context,
            ahead,
            inner: Arc::default(),
            moved: Arc::new(Notify::new()),
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The core wants something said.
    pub(super) fn want(&self, word: Word) {
        let now = self.context.clock.now();
        self.inner().words.want(word, now);
        self.moved.notify_one();
    }

    /// The core says nothing of it any more.
    pub(super) fn silence(&self, subject: &Subject) {
        self.inner().words.silence(subject);
    }

    /// Nothing is to be said of an object any more, whatever it says.
    pub(super) fn forget(&self, subject: &Subject) {
        self.inner().words.forget(subject);
    }

    /// A watch saw what an object says; `None`: it is gone.
    pub(super) fn seen(&self, subject: &Subject, said: Option<Said>) {
        let now = self.context.clock.now();
        let mut inner = self.inner();
        match said {
            Some(said) => inner.words.seen(subject, said, now),
            None => {
                inner.words.forget(subject);
                if let Subject::Pod(uid) = subject {
                    inner.refused.remove(uid);
                }
            }
        }
        drop(inner);
        self.moved.notify_one();
    }

    /// A pod was bound.
    pub(super) fn scheduled(&self, pod: &PodKey, node: &str) {
        self.forget(&Subject::Pod(pod.uid.clone()));
        self.event(Event {
            about: pod.into(),
            kind: "Normal",
            reason: "Scheduled",
            action: "Binding",
            note: format!("Successfully assigned {pod} to {node}").into(),
        });
    }

    /// A pod was evicted.
    pub(super) fn evicted(&self, order: &Evict) {
        self.inner().refused.remove(&order.pod.uid);
        let (reason, action) = match order.cause {
            EvictCause::Release => ("Released", "Releasing"),
            EvictCause::Preemption => ("Preempted", "Preempting"),
        };
        self.event(Event {
            about: (&order.pod).into(),
            kind: "Normal",
            reason,
            action,
            note: Arc::clone(&order.message),
        });
    }

    /// The eviction of a pod was not taken: said once for each answer.
    pub(super) fn eviction_not_taken(&self, order: &Evict, reason: &'static str, answer: &str) {
        let mut inner = self.inner();
        let known = inner.refused.get(&order.pod.uid);
        if known.is_some_and(|known| **known == *answer) || inner.refused.len() >= REFUSED_BOUND {
            return;
        }
        inner.refused.insert(order.pod.uid.clone(), answer.into());
        drop(inner);
        self.event(Event {
            about: (&order.pod).into(),
            kind: "Warning",
            reason,
            action: "Releasing",
            note: format!("{answer} (to be evicted, for {})", order.message).into(),
        });
    }

    fn event(&self, event: Event) {
        let now = self.context.clock.now();
        if !self.inner().events.put(event, now) {
            self.count(EVENT, "dropped");
        }
        self.moved.notify_one();
    }

    fn count(&self, kind: &str, result: &str) {
        let notes = &self.context.metrics.notes;
        notes.with_label_values(&[kind, result]).inc();
    }

    /// Writes what is to be written, for ever.
    pub(super) async fn run(self) {
        let slots = Arc::new(Semaphore::new(IN_FLIGHT));
        let mut bucket = Bucket::new(RATE.0, RATE.1, Instant::now());
        let mut writes = JoinSet::new();
        loop {
            let slot = Arc::clone(&slots).acquire_owned().await.ok();
            let item = self.next(&mut bucket).await;
            while writes.try_join_next().is_some() {}
            let lane = self.clone();
            let write = async move {
                lane.carry_out(item).await;
                drop(slot);
            };
            writes.spawn(self.context.alarm.guard("a status or an event", write));
        }
    }

    /// The next thing to write, when it may be written.
    async fn next(&self, bucket: &mut Bucket) -> Item {
        loop {
            self.something_is_due().await;
            self.give_way().await;
            while let Err(at) = bucket.take(Instant::now()) {
                sleep_until(at).await;
            }
            if let Some(item) = self.take() {
                return item;
            }
            // Those that wait may not begin yet, or there are none. What comes first is of no interest.
            let _ = timeout(TRICKLE, self.moved.notified()).await;
        }
    }

    /// Takes the next thing that is due, words before events, of those whose namespace may begin another write.
    fn take(&self) -> Option<Item> {
        let now = self.context.clock.now();
        let mut inner = self.inner();
        let inner = &mut *inner;
        // There may be many words of few shares.
        let known = RefCell::new(BTreeMap::new());
        let may_begin = |share: String| {
            let find = |share: &String| inner.shares.may_begin_among(IN_FLIGHT, share, now);
            *known.borrow_mut().entry(share).or_insert_with_key(find)
        };
        let word = if inner.closing {
            None
        } else {
            inner.words.take(now, |word| may_begin(share_of_word(word)))
        };
        let word = word.map(|write| Item::Word(Box::new(write)));
        let may_post = |namespace: &str| may_begin(share(EVENT, namespace));
        let item = word.or_else(|| {
            let (event, dropped) = inner.events.take(may_post, now);
            (0..dropped).for_each(|_| self.count(EVENT, "dropped"));
            event.map(Item::Event)
        });
        let waiting = inner.words.waiting() + inner.events.len();
        let waiting = i64::try_from(waiting).unwrap_or(i64::MAX);
        self.context.metrics.notes_waiting.set(waiting);
        self.context.metrics.show_words(inner.words.len());
        if let Some(item) = &item {
            inner.writing += 1;
            inner.shares.begin(&item.share());
        }
        item
    }

    fn is_finished(&self) -> bool {
        let inner = self.inner();
        inner.events.is_empty() && inner.writing == 0
    }

    async fn something_is_due(&self) {
        loop {
            let due = {
                let inner = self.inner();
                if !inner.events.is_empty() {
                    return;
                }
                inner.words.next_due().filter(|_| !inner.closing)
            };
            let clock = self.context.clock;
            match due {
                Some(at) if at <= clock.now() => return,
                Some(at) => tokio::select! {
                    () = self.moved.notified() => {}
                    () = sleep_until(clock.instant(at)) => {}
                },
                None => self.moved.notified().await,
            }
        }
    }

    /// Waits while binds or evictions are under way, but not for ever.
    async fn give_way(&self) {
        if self.inner().closing {
            return;
        }
        let idle = async {
            for pending in &self.ahead {
                pending.idle().await;
            }
        };
        // What comes first is of no interest.
        let _ = timeout(TRICKLE, idle).await;
    }

    async fn carry_out(&self, item: Item) {
        let share = item.share();
        let begun = self.context.clock.now();
        let rest = match item {
            Item::Event(event) => self.post(&event).await,
            Item::Word(word) => self.say(*word).await,
        };
        let now = self.context.clock.now();
        let how = Ended::after(rest.is_none(), now.since(begun));
        let alone = {
            let mut inner = self.inner();
            inner.shares.end(&share, how, now);
            inner.shares.is_in_trouble(&share, now)
        };
        // What fails in one namespace alone says nothing of the API server. Else who is overloaded is asked less: the
        // rest holds back a slot of the lane, and of the share.
        if let Some(rest) = rest.filter(|_| !alone) {
            self.inner().shares.begin(&share);
            sleep(rest).await;
            self.inner().shares.end(&share, Ended::Unsent, now);
        }
        self.inner().writing -= 1;
        self.moved.notify_one();
    }

    /// Posts an event, once.
    async fn post(&self, event: &Event) -> Option<Duration> {
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
        let context = &self.context;
        let new = NewEvent {
            about: &event.about,
            text,
            instance: &context.instance,
            now: context.clock.now(),
            serial,
        };
        let answer = write_in(context, |encoding| requests::event(new, encoding)).await;
        let (result, rest) = judge(&answer);
        self.count(EVENT, result);
        rest
    }

    /// Writes a word on its object.
    async fn say(&self, word: Write) -> Option<Duration> {
        let kind = kind_of(&word.word);
        let at = wall(self.context.clock.now());
        let answer = write(&self.context, requests::word(&word, at)).await;
        let (result, rest) = judge(&answer);
        self.count(kind, result);
        let written = word.answered(&answer, at);
        if let (Answer::Status { code, message, .. }, "failed") = (&answer, result) {
            tracing::warn!(kind, code, words = message, "not written");
        }
        let is_news = word.is_news && matches!(written, Written::Done(_));
        if let Some(event) = is_news.then(|| events::of_word(&word.word)).flatten() {
            self.event(event);
        }
        let now = self.context.clock.now();
        self.inner().words.written(&word.subject, written, now);
        rest
    }

    /// Posts the events that wait, without giving way, for at most `limit`. What objects are to say
    /// is left to whoever leads next, who compares it with what they say.
    pub(super) async fn close(&self, limit: Duration) {
        self.inner().closing = true;
        self.moved.notify_one();
        let finished = async {
            while !self.is_finished() {
                sleep(Duration::from_millis(5)).await;
            }
        };
        let _ = timeout(limit, finished).await;
    }
}

/// What became of a write, in a word for metrics, and how long to rest after it.
fn judge(answer: &Answer) -> (&'static str, Option<Duration>) {
    match answer {
        Answer::Accepted => ("written", None),
        Answer::Status { code: 404, .. } => ("gone", None),
        // Another writer came between, or another object has the name.
        Answer::Status { code: 409, .. } => ("retried", None),
        Answer::Status { code, .. } if !is_transient(*code) => ("failed", None),
        _ => ("retried", Some(rest(answer))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_model::units::Time;
    use muster_model::{GangKey, GangStatus, PodWaits, Source};

    #[test]
    fn that_another_kind_of_word_of_a_namespace_is_written_says_nothing_of_those_that_hang() {
        let condition = Word::Pod(PodWaits {
            pod: PodKey {
                namespace: "deaf".to_owned(),
                ..PodKey::default()
            },
            reason: "Unschedulable".into(),
            message: "0/1 nodes are available".into(),
            nominated: None,
        });
        let status = Word::Gang(Box::new(GangStatus {
            source: Source::Muster,
            gang: GangKey {
                namespace: "deaf".to_owned(),
                ..GangKey::default()
            },
            ..GangStatus::default()
        }));
        let shares = &mut Shares::default();
        let (hangs, well) = (share_of_word(&condition), share_of_word(&status));
        shares.begin(&hangs);
        shares.end(&hangs, Ended::Badly, Time(2_000));
        for other in [&well, &share(EVENT, "deaf")] {
            shares.begin(other);
            shares.end(other, Ended::Judged, Time(2_010));
        }
        assert!(shares.is_in_trouble(&hangs, Time(2_020)));
        shares.begin(&hangs);
        assert!(!shares.may_begin(&hangs, Time(2_020)), "one at a time");
        assert!(shares.may_begin(&well, Time(2_020)));
    }
}
