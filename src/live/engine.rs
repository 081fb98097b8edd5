//! The engine: the core on a thread of its own, fed with news, its plans handed to whoever carries them out.
//!
//! It decides nothing itself. It only says when: not before every kind is synced, shortly after
//! news that matters, and when the core asked to be woken. While nothing may be sent it only
//! listens: a decision that cannot leave is out of date when it can.

use super::hands::Hands;
use muster_api::kinds::Kind;
use muster_cluster::metrics::OfQueue;
use muster_cluster::pulse::{BEAT, Pulse};
use muster_cluster::{Clock, Explanations, Fence, Metrics, News};
use muster_lint::Linter;
use muster_model::resources::CORE;
use muster_model::units::{Millis, Time};
use muster_model::{Decision, Event, Neighbours, ObjectKey, Outcome, Plan, Span, SpanKind};
use muster_record::{Counts, Taped};
use std::collections::BTreeSet;
use std::future::pending;
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, sleep_until};

/// A cycle waits for so long without news ...
const QUIET: Duration = Duration::from_millis(2);
/// ... but no longer than this.
const DEBOUNCE: Duration = Duration::from_millis(10);
/// News taken at once.
const BATCH: usize = 512;

/// What the thread works with.
pub(super) struct Engine<H> {
    pub(super) core: Taped,
    /// What was written of the record, if there is one.
    pub(super) recorded: Option<Arc<Counts>>,
    pub(super) explanations: Arc<Explanations>,
    pub(super) news: mpsc::Receiver<News>,
    /// Who carries out what is decided.
    pub(super) hands: H,
    pub(super) fence: Fence,
    pub(super) clock: Clock,
    pub(super) metrics: Arc<Metrics>,
    /// That the thread moves.
    pub(super) pulse: Pulse,
    /// Looks at every plan; in debug builds, for it costs about as much as the plan.
    pub(super) linter: Option<Linter>,
    /// A queue is gone, of which metrics may show something.
    pub(super) queue_gone: bool,
}

/// A running engine.
pub(super) struct Running {
    stop: Option<oneshot::Sender<()>>,
    ended: oneshot::Receiver<()>,
}

impl Running {
    /// Returns when the thread has ended, however it came to that.
    pub(super) async fn ended(&mut self) {
        let _ = (&mut self.ended).await;
    }

    /// Asks the thread to stop deciding, and waits until it has.
    pub(super) async fn stop(mut self) {
        drop(self.stop.take());
        let _ = (&mut self.ended).await;
    }
}

impl<H: Hands> Engine<H> {
    /// Starts the thread.
    pub(super) fn start(self) -> io::Result<Running> {
        let (stop, stopped) = oneshot::channel();
        let (end, ended) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()?;
        thread::Builder::new()
            .name("engine".to_owned())
            .spawn(move || {
                // Dropped at the end, also of a panic.
                let _end = end;
                runtime.block_on(self.run(stopped));
            })?;
        Ok(Running {
            stop: Some(stop),
            ended,
        })
    }

    async fn run(mut self, mut stopped: oneshot::Receiver<()>) {
        let mut unsynced = BTreeSet::from(Kind::ALL);
        let mut batch = Vec::with_capacity(BATCH);
        let mut due: Option<Time> = None;
        loop {
            self.pulse.beat();
            tokio::select! {
                biased;
                _ = &mut stopped => break,
                taken = self.news.recv_many(&mut batch, BATCH) => if taken == 0 { break },
                () = turn(&self.clock, &self.fence, due) => {}
                () = at(&self.clock, self.hands.due()) => {}
                () = sleep(BEAT) => continue,
            }
            self.apply(&mut batch, &mut unsynced);
            self.settle(&mut batch, &mut unsynced).await;
            self.follow();
            let is_due = due.is_some_and(|due| due <= self.clock.now());
            if !unsynced.is_empty() {
                continue;
            }
            if !(is_due || self.core.scheduler().wants_cycle()) {
                // Whose groups are that are not ours is told without one.
                due = due.into_iter().chain(self.explain()).min();
                continue;
            }
            due = if self.fence.is_open() {
                self.decide(&mut batch, &mut unsynced)
            } else {
                Some(self.clock.now())
            };
            self.count();
        }
        // Those who bring news learn that nobody listens any more.
        self.news.close();
        self.hands.end(self.core.scheduler(), self.clock.now());
    }

    fn apply(&mut self, batch: &mut Vec<News>, unsynced: &mut BTreeSet<Kind>) {
        let now = self.clock.now();
        self.hear_of_writes(now);
        for news in batch.drain(..) {
            match news {
                News::Event(event) => {
                    for event in self.hands.told(event, now) {
                        self.hear(event, now);
                    }
                }
                News::Says(subject, said) => self.hands.says(&subject, said),
                News::Silent(subject) => self.hands.silence(&subject),
                News::Synced(kind) => {
                    unsynced.remove(&kind);
                    tracing::debug!(kind = kind.name(), waiting_for = unsynced.len(), "synced");
                    if unsynced.is_empty() {
                        tracing::info!("every kind is synced: deciding");
                        self.hands.begin(now);
                    }
                }
            }
        }
    }

    fn hear_of_writes(&mut self, now: Time) {
        for writes in self.fence.take_news() {
            self.hear(Event::Writes(writes), now);
        }
    }

    fn hear(&mut self, event: Event, now: Time) {
        let (linter, queue_gone) = (&mut self.linter, &mut self.queue_gone);
        self.core.hear(event, now, |event| {
            *queue_gone |= matches!(event, Event::Gone(ObjectKey::Queue(_)));
            look(linter, event);
        });
    }

    /// Hears what follows for whoever carries out from what was heard and decided, and from the time.
    fn follow(&mut self) {
        let now = self.clock.now();
        let told = self.hands.follow(self.core.scheduler(), now);
        for event in told {
            self.hear(event, now);
        }
    }

    /// Takes what else comes in a short while: news rarely comes alone. It is left to gather, for
    /// to wake up for each piece of it would cost more than to apply it.
    async fn settle(&mut self, batch: &mut Vec<News>, unsynced: &mut BTreeSet<Kind>) {
        let end = Instant::now() + DEBOUNCE;
        while Instant::now() < end {
            sleep(QUIET).await;
            if !self.take(batch) {
                return;
            }
            self.apply(batch, unsynced);
        }
    }

    /// Takes the news that is there, at most a batch; says whether there was any.
    fn take(&mut self, batch: &mut Vec<News>) -> bool {
        while batch.len() < BATCH {
            match self.news.try_recv() {
                Ok(news) => batch.push(news),
                Err(_) => break,
            }
        }
        !batch.is_empty()
    }

    /// Runs cycles until nothing is left to decide now; returns when the next one is due.
    fn decide(&mut self, batch: &mut Vec<News>, unsynced: &mut BTreeSet<Kind>) -> Option<Time> {
        loop {
            self.pulse.beat();
            let started = Instant::now();
            let now = self.clock.now();
            // The fence is open, and may not have been a moment ago.
            self.hear_of_writes(now);
            let linter = &mut self.linter;
            let plan = self.core.decide(now, |event| look(linter, event));
            self.metrics
                .cycle_seconds
                .observe(started.elapsed().as_secs_f64());
            if let Some(linter) = &mut self.linter {
                let notes = linter.look(&plan, now);
                assert!(notes.is_empty(), "a plan that must not be: {notes:#?}");
            }
            let Plan {
                effects,
                decisions,
                spans,
                wake_at,
                more,
                held: _,
                claims: _,
                onto_kept: _,
            } = plan;
            let mut is_answered = false;
            for effect in effects {
                for event in self.hands.carry_out(effect, now) {
                    is_answered = true;
                    self.hear(event, now);
                }
            }
            if is_answered {
                self.follow();
            }
            for decision in &decisions {
                log(decision);
                self.measure_ranks(decision);
            }
            spans.iter().for_each(|span| self.measure(span));
            let explain_at = self.explain();
            if !more && is_answered && self.core.scheduler().wants_cycle() {
                return Some(now);
            }
            if !more {
                let due = wake_at.into_iter().chain(explain_at);
                return due.chain(self.core.due()).min();
            }
            if !self.fence.is_open() {
                return Some(self.clock.now());
            }
            self.take(batch);
            self.apply(batch, unsynced);
        }
    }

    /// Puts some of what is new to be told at hand; says when there is more.
    fn explain(&mut self) -> Option<Time> {
        let (news, due) = self.core.take_explained(self.clock.now());
        self.explanations.take(news);
        due
    }

    /// Shows how long something took.
    fn measure(&self, span: &Span) {
        let what = match span.kind {
            SpanKind::Waiting => OfQueue::Wait,
            SpanKind::PartlyBound => OfQueue::Partial,
        };
        self.metrics
            .measure(what, &span.queue, seconds(span.length));
    }

    /// Shows how far members of a gang are from the next by rank.
    fn measure_ranks(&self, decision: &Decision) {
        if let Outcome::Placed {
            ranks: Some(ranks), ..
        } = &decision.outcome
        {
            let hops = mean_hops(*ranks);
            self.metrics
                .measure(OfQueue::RankHops, &decision.queue, hops);
        }
    }

    /// Shows what the core counts.
    fn count(&mut self) {
        let stats = self.core.scheduler().stats();
        let metrics = &self.metrics;
        metrics.show(&stats);
        if let Some(recorded) = &self.recorded {
            metrics.show_recorded(recorded.written(), recorded.lost());
        }
        metrics.show_reserved(self.core.scheduler().reserved());
        let queues = self.core.scheduler().state().queues();
        // One that is only named goes without news of it.
        let gone = std::mem::take(&mut self.queue_gone);
        if gone || metrics.queues_shown() > queues.len() {
            metrics.keep_queues(|name| queues.find(name).is_some());
        }
        let since = stats.partial_since.map(|since| self.clock.instant(since));
        metrics.set_partial_since(since);
    }
}

/// Shows news to who judges plans, if there is one.
fn look(linter: &mut Option<Linter>, event: &Event) {
    if let Some(linter) = linter {
        linter.hear(event);
    }
}

fn seconds(span: Millis) -> f64 {
    Duration::from_millis(span.0).as_secs_f64()
}

fn mean_hops(ranks: Neighbours) -> f64 {
    f64::from(ranks.hops) / f64::from(ranks.pairs)
}

/// Waits until a cycle is due and may be run.
async fn turn(clock: &Clock, fence: &Fence, due: Option<Time>) {
    at(clock, due).await;
    fence.opened().await;
}

/// Waits until then.
async fn at(clock: &Clock, due: Option<Time>) {
    match due {
        Some(due) => sleep_until(clock.instant(due)).await,
        None => pending().await,
    }
}

/// One line per decision.
fn log(decision: &Decision) {
    let Decision {
        gang,
        queue,
        outcome,
        ..
    } = decision;
    match outcome {
        Outcome::Placed {
            pods,
            nodes,
            lost,
            at_least,
            ranks,
        } => {
            let lost_millicores = lost / (CORE / 1_000);
            let least_millicores = at_least.map(|worth| worth / (CORE / 1_000));
            let rank_hops = ranks.map(mean_hops);
            tracing::info!(
                gang,
                queue,
                pods,
                nodes,
                lost_millicores,
                least_millicores,
                rank_hops,
                "placed"
            );
        }
        Outcome::Waits { reason, message } => {
            tracing::info!(gang, queue, reason = &**reason, words = &**message, "waits");
        }
        Outcome::Released { pods, message } => {
            tracing::info!(gang, queue, pods, words = &**message, "released");
        }
    }
}
