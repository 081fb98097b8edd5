//! Plugins in other processes: how they are asked, and what is believed of what they say.
//!
//! Each has its own connections, its own bound of requests at once, a limit to the time and the length of
//! its answers, and a [`Breaker`]: one that hangs or dies is left alone, and costs the
//! others nothing. What it says is checked by [`api::remote`](muster_api::remote). Nothing here decides
//! anything, and nothing is repeated: who asks learns that there is no answer, and why.

pub mod breaker;
mod directory;
mod extender;
mod http;
mod plugin;
#[cfg(test)]
mod tests;
mod together;

pub use directory::Directory;
use extender::{Extender, Verbs};
pub use http::{Failure, Tls};
pub use plugin::{Endpoint, Plugin};

use super::{Clock, Metrics};
use ::http::Uri;
use breaker::Breaker;
use bytes::Bytes;
use http::Http;
use muster_model::units::Time;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

/// What may be asked of whom, and how.
#[derive(Clone, Debug)]
pub struct Limits {
    /// How long an answer may take, with the wait for a turn.
    pub within: Duration,
    /// How many bytes of it are read.
    pub bytes: usize,
    /// How many questions it is asked at once.
    pub at_once: usize,
}

/// The way to one process.
#[derive(Debug)]
struct Line {
    name: Arc<str>,
    /// Where it is, for its certificate's name.
    url: Uri,
    tls: Tls,
    limits: Limits,
    turns: Semaphore,
    breaker: Mutex<Breaker>,
    /// Its connections; none before the first question, and after a failure they are made anew, with
    /// certificates as they are by then.
    http: tokio::sync::Mutex<Option<Http>>,
    clock: Clock,
    metrics: Arc<Metrics>,
}

/// What became of a question, as the metrics call it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Answered,
    Failed,
    Late,
    Wrong,
    LeftAlone,
}

impl Outcome {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Failed => "failed",
            Self::Late => "late",
            Self::Wrong => "wrong",
            Self::LeftAlone => "left_alone",
        }
    }
}

impl Line {
    fn new(
        name: Arc<str>,
        url: Uri,
        tls: Tls,
        limits: Limits,
        clock: Clock,
        metrics: Arc<Metrics>,
    ) -> Self {
        metrics.show_plugin(&name);
        Self {
            name,
            url,
            tls,
            turns: Semaphore::new(limits.at_once),
            limits,
            breaker: Mutex::default(),
            http: tokio::sync::Mutex::default(),
            clock,
            metrics,
        }
    }

    fn breaker(&self) -> MutexGuard<'_, Breaker> {
        self.breaker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Time {
        self.clock.now()
    }

    /// Asks, and has the answer read; counts what became of it. What is sent is made only for a question that is
    /// let pass, at its turn: so one that fails costs nothing, and no more of them are in memory than turns. The time
    /// of the making is not its own, nor is a failure of it.
    async fn ask<T>(
        &self,
        point: &'static str,
        url: &Uri,
        body: impl Future<Output = Result<Vec<u8>, String>> + Send,
        read: impl FnOnce(&Bytes) -> Result<T, String>,
    ) -> Result<T, String> {
        let begun = Instant::now();
        let end = begun + self.limits.within;
        // The turns are never closed. One that comes too late is none.
        let turn = timeout_at(end, self.turns.acquire()).await;
        let Some(_turn) = turn
            .ok()
            .and_then(Result::ok)
            .filter(|_| Instant::now() < end)
        else {
            let at_once = self.limits.at_once;
            let words = format!("{at_once} other questions were not answered in time");
            return self.note(point, begun, Outcome::LeftAlone, Err(words));
        };
        if !self.breaker().lets_pass(self.now()) {
            let words = "it failed several times in a row and is left alone for a while".to_owned();
            return self.note(point, begun, Outcome::LeftAlone, Err(words));
        }
        // Whoever drops this future in between has not heard of an answer.
        let mut pass = Pass {
            line: Some(self),
            is_sent: false,
        };
        let making = Instant::now();
        let body = body.await?;
        let end = end + making.elapsed();
        pass.is_sent = true;
        let (outcome, answer) = match self.exchange(url, body, end).await {
            Ok(answer) => match read(&answer) {
                Ok(answer) => (Outcome::Answered, Ok(answer)),
                Err(wrong) => (Outcome::Wrong, Err(wrong)),
            },
            Err(failure) => {
                let late = matches!(failure, Failure::Late(_));
                let outcome = if late { Outcome::Late } else { Outcome::Failed };
                (outcome, Err(failure.to_string()))
            }
        };
        pass.line = None;
        if outcome == Outcome::Answered {
            self.breaker().succeeded();
        } else {
            self.breaker().failed(self.now());
            if let Ok(mut http) = self.http.try_lock() {
                *http = None;
            }
        }
        self.note(point, begun, outcome, answer)
    }

    async fn exchange(&self, url: &Uri, body: Vec<u8>, end: Instant) -> Result<Bytes, Failure> {
        let late = || Failure::Late(self.limits.within);
        let http = timeout_at(end, self.connections()).await;
        let http = http.map_err(|_| late())??;
        let left = end.saturating_duration_since(Instant::now());
        let answer = http.post(url, body, left, self.limits.bytes).await;
        answer.map_err(|failure| match failure {
            Failure::Late(_) => late(),
            other => other,
        })
    }

    async fn connections(&self) -> Result<Http, Failure> {
        let mut http = self.http.lock().await;
        if let Some(http) = &*http {
            return Ok(http.clone());
        }
        let made = Http::new(&self.url, &self.tls).await?;
        Ok(http.insert(made).clone())
    }

    fn note<T>(
        &self,
        point: &'static str,
        begun: Instant,
        outcome: Outcome,
        answer: Result<T, String>,
    ) -> Result<T, String> {
        let metrics = &self.metrics;
        metrics
            .plugin_requests
            .with_label_values(&[&self.name, point, outcome.as_str()])
            .inc();
        if outcome != Outcome::LeftAlone {
            metrics
                .plugin_seconds
                .with_label_values(&[&self.name])
                .observe(begun.elapsed().as_secs_f64());
        }
        let open = self.breaker().is_open();
        let gauge = metrics.plugin_breaker.with_label_values(&[&self.name]);
        if gauge.get() != i64::from(open) {
            gauge.set(i64::from(open));
            if open {
                let words = answer.as_ref().err().map(String::as_str);
                tracing::warn!(
                    plugin = &*self.name,
                    words,
                    "a plugin fails and is left alone for a while"
                );
            } else {
                tracing::info!(plugin = &*self.name, "a plugin answers again");
            }
        }
        answer
    }
}

/// A question under way. One that is dropped did not succeed, if it was sent: the breaker would wait for it for ever.
struct Pass<'a> {
    line: Option<&'a Line>,
    is_sent: bool,
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        if let Some(line) = self.line.take() {
            let now = line.now();
            if self.is_sent {
                line.breaker().failed(now);
            } else {
                line.breaker().withdrew(now);
            }
        }
    }
}
