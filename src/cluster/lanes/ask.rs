//! The ask lane: questions to the outside, each by whoever goes by the name it is addressed to.
//!
//! Which may be asked when is [`asking`](crate::asking)'s business; here it meets those who
//! answer. Each question gets exactly one answer, whatever becomes of who works on it.

use super::Context;
use crate::News;
use crate::answerer::{Answerer, Outside};
use crate::asking::Asking;
use crate::volumes::VolumeBinder;
use muster_model::units::Time;
use muster_model::{Answer, Body, Event, Question, QuestionId, VOLUME_BINDING};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{sleep_until, timeout};

/// Questions to one addressee at once.
const IN_FLIGHT: usize = 64;

/// Who answers, by name.
#[derive(Clone)]
pub struct Answerers(BTreeMap<String, Arc<dyn Answerer>>);

/// Those for whom the core asks by itself.
impl Default for Answerers {
    fn default() -> Self {
        let mut answerers = Self(BTreeMap::new());
        answerers.add(VOLUME_BINDING, Arc::new(VolumeBinder));
        answerers
    }
}

impl Answerers {
    /// Has somebody answer what is addressed to a name, in place of who did.
    pub fn add(&mut self, name: &str, answerer: Arc<dyn Answerer>) {
        self.0.insert(name.to_owned(), answerer);
    }

    /// Asks once whoever it is addressed to. There is always an answer.
    pub(super) async fn ask(&self, question: &Question, context: &Context) -> Answer {
        let name = question.body.addressee();
        let Some(answerer) = self.0.get(name) else {
            let message = format!("nobody answers for {name}");
            return Answer::Failed { message };
        };
        let outside = Outside::new(context.client.clone(), context.fence.clone());
        let at_most = Duration::from_millis(question.at_most.0);
        let answered = timeout(at_most, answerer.answer(question, &outside)).await;
        answered.unwrap_or_else(|_| Answer::Failed {
            message: format!("no answer within {}", question.at_most),
        })
    }

    /// The names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

/// The lane's intake and its workings. Clones share both.
#[derive(Clone)]
pub(super) struct AskLane {
    context: Context,
    answerers: Arc<Answerers>,
    asking: Arc<Mutex<Asking>>,
    /// Something came, or ended.
    moved: Arc<Notify>,
}

impl AskLane {
    pub(super) fn new(context: Context, answerers: Arc<Answerers>) -> Self {
        Self {
            context,
            answerers,
            asking: Arc::new(Mutex::new(Asking::new(IN_FLIGHT))),
            moved: Arc::new(Notify::new()),
        }
    }

    fn asking(&self) -> MutexGuard<'_, Asking> {
        self.asking.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Time {
        self.context.clock.now()
    }

    /// Takes a question.
    pub(super) fn put(&self, question: Question) {
        self.asking().put(question, self.now());
        self.moved.notify_one();
    }

    /// Nobody waits for this answer any more.
    pub(super) fn give_up(&self, id: QuestionId) {
        self.asking().give_up(id, self.now());
        self.moved.notify_one();
    }

    /// Asks, for ever.
    pub(super) async fn run(self) {
        let mut at_work = JoinSet::new();
        loop {
            while at_work.try_join_next().is_some() {}
            let open = self.context.fence.is_open();
            let (questions, answers, due) = self.look(open);
            for question in questions {
                at_work.spawn(
                    self.context
                        .alarm
                        .guard("a question", self.clone().ask(question)),
                );
            }
            for (id, answer) in answers {
                self.tell(id, answer).await;
            }
            let later = async {
                match due.filter(|_| open) {
                    Some(due) => sleep_until(self.context.clock.instant(due)).await,
                    None if open => std::future::pending().await,
                    None => self.context.fence.opened().await,
                }
            };
            tokio::select! {
                () = self.moved.notified() => {}
                () = later => {}
            }
        }
    }

    /// What is to be asked now, what is answered, and when there is more to do.
    fn look(&self, open: bool) -> (Vec<Question>, Vec<(QuestionId, Answer)>, Option<Time>) {
        let now = self.now();
        let mut asking = self.asking();
        let mut questions = Vec::new();
        if open {
            asking.expire(now);
            questions.extend(std::iter::from_fn(|| asking.next(now)));
        } else {
            asking.cease(now);
        }
        let (all, undo) = asking.counts();
        let gauge = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.context
            .metrics
            .questions_pending
            .set(gauge(all - undo));
        self.context.metrics.undos_pending.set(gauge(undo));
        (questions, asking.take_answers(), asking.due())
    }

    async fn ask(self, question: Question) {
        let begun = self.now();
        let answer = self.answerers.ask(&question, &self.context).await;
        let now = self.now();
        let result = match &answer {
            Answer::Yes(_) | Answer::OfNodes(_) | Answer::Skip => "yes",
            Answer::No { .. } => "no",
            Answer::Failed { .. } => "failed",
            // It is counted where the core is told.
            Answer::Unsent => "",
        };
        if !result.is_empty() {
            let metrics = &self.context.metrics;
            metrics.questions.with_label_values(&[result]).inc();
            let took = Duration::from_millis(now.since(begun).0).as_secs_f64();
            let histogram = metrics.question_seconds.with_label_values(&[result]);
            histogram.observe(took);
        }
        // Plugins in other processes have metrics and a breaker that speak for them.
        let speaks = !matches!(question.body, Body::Remote(_));
        if let Answer::No { message } | Answer::Failed { message } = &answer
            && speaks
        {
            let (plugin, about) = (question.body.addressee(), &question.about);
            let undoes = question.undoes.is_some();
            tracing::warn!(plugin, %about, undoes, result, words = message, "asked");
        }
        self.asking().ended(&question, answer, now);
        self.moved.notify_one();
    }

    async fn tell(&self, id: QuestionId, answer: Answer) {
        if answer == Answer::Unsent {
            let unsent = self
                .context
                .metrics
                .questions
                .with_label_values(&["unsent"]);
            unsent.inc();
        }
        // Nobody listens only when the process is about to end.
        let news = News::Event(Event::Answer(id, answer));
        let _ = self.context.news.send(news).await;
    }
}
