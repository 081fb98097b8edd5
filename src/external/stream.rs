//! `/api/v1/events`: changes as server-sent events.
//!
//! Each stream reads from the book by its position; nothing is kept for it, so that a slow reader costs no memory: one
//! that falls behind what the book keeps is told everything anew. A stream ends after some minutes, and whoever
//! comes back with `Last-Event-ID` goes on where it ended, once the API server has said again that they may.

use super::book::{Book, Change, Held, Since};
use super::desk::{Answer, Desk, No, Place, either, invalid};
use super::views::Kind;
use super::wishes::Invalid;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::stream;
use muster_cluster::external_metrics::Stream as Sort;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

/// How long a stream lasts.
const STREAM_FOR: Duration = Duration::from_secs(300);
/// How often it shows that it is alive.
const ALIVE: Duration = Duration::from_secs(15);
/// Changes taken at once.
const AT_ONCE: usize = 64;

pub(crate) async fn events(State(desk): State<Desk>, headers: HeaderMap, uri: Uri) -> Response {
    either(begin(&desk, &headers, uri.query()).await)
}

async fn begin(desk: &Desk, headers: &HeaderMap, query: Option<&str>) -> Answer {
    let namespace = namespace(query).map_err(|wrong| invalid(&wrong))?;
    for kind in Kind::ALL {
        let of = namespace.as_deref().filter(|_| kind != Kind::Testbed);
        desk.admit_reader(headers, "watch", kind, of, None).await?;
    }
    let place = desk.place_for(Sort::Events).map_err(No::answer)?;
    let last = headers.get("last-event-id");
    let last = last.and_then(|value| value.to_str().ok());
    let state = Stream {
        position: last.and_then(|id| position(id, desk.epoch)),
        changed: desk.book.changed(),
        book: Arc::clone(&desk.book),
        namespace,
        epoch: desk.epoch,
        waiting: VecDeque::new(),
        until: Instant::now() + STREAM_FOR,
        _place: place,
    };
    let events = stream::unfold(state, |mut state| async move {
        let event = state.next().await?;
        Some((Ok::<_, Infallible>(event), state))
    });
    let alive = KeepAlive::new().interval(ALIVE);
    let mut response = Sse::new(events).keep_alive(alive).into_response();
    // What stands in between is not to keep events back.
    let no = axum::http::HeaderValue::from_static("no");
    response.headers_mut().insert("x-accel-buffering", no);
    Ok(response)
}

/// The namespace that is asked for; `None`: all.
fn namespace(query: Option<&str>) -> Result<Option<String>, Invalid> {
    let mut found = None;
    for part in query.unwrap_or_default().split('&') {
        match part.split_once('=') {
            Some(("namespace", value)) if !value.is_empty() => found = Some(value.to_owned()),
            Some(("namespace", _)) => return Err(Invalid::new("namespace", "is empty")),
            _ => {}
        }
    }
    Ok(found)
}

/// The position in an id of ours; `None`: it is another process's, or no id.
fn position(id: &str, epoch: u64) -> Option<u64> {
    let (of, position) = id.split_once('-')?;
    let of = u64::from_str_radix(of, 16).ok()?;
    position.parse().ok().filter(|_| of == epoch)
}

/// What is still to be told.
enum Told {
    Reset,
    There(Arc<Held>),
    Synced(u64),
    Change(Change),
}

/// One reader.
struct Stream {
    book: Arc<Book>,
    changed: watch::Receiver<u64>,
    /// Up to where everything was told; `None`: nothing was.
    position: Option<u64>,
    namespace: Option<String>,
    epoch: u64,
    waiting: VecDeque<Told>,
    until: Instant,
    _place: Place,
}

impl Stream {
    async fn next(&mut self) -> Option<Event> {
        loop {
            if Instant::now() >= self.until {
                return None;
            }
            if let Some(told) = self.waiting.pop_front() {
                return Some(self.event(told));
            }
            self.changed.mark_unchanged();
            self.refill();
            if self.waiting.is_empty() {
                let changed = timeout_at(self.until, self.changed.changed()).await;
                changed.ok()?.ok()?;
            }
        }
    }

    /// Takes what has changed since, or everything.
    fn refill(&mut self) {
        let since = self.position.map(|at| self.book.since(at, AT_ONCE));
        if let Some(Since::Changes(changes)) = since {
            if let Some(last) = changes.last() {
                self.position = Some(last.position);
            }
            let mine = changes.into_iter().filter(|one| self.is_mine(&one.held));
            self.waiting = mine.map(Told::Change).collect();
            // What was for others only moves the position, and there may be more behind it.
            if self.waiting.is_empty() && self.position < Some(*self.changed.borrow()) {
                self.changed.mark_changed();
            }
            return;
        }
        let (position, all) = self.book.snapshot();
        let mine = all.into_iter().filter(|held| self.is_mine(held));
        let mut waiting = VecDeque::from([Told::Reset]);
        waiting.extend(mine.map(Told::There));
        waiting.push_back(Told::Synced(position));
        self.waiting = waiting;
        self.position = Some(position);
    }

    fn is_mine(&self, held: &Held) -> bool {
        let all = held.key.kind == Kind::Testbed;
        all || self
            .namespace
            .as_ref()
            .is_none_or(|mine| *mine == held.key.namespace)
    }

    fn event(&self, told: Told) -> Event {
        let id = |position: u64| format!("{:016x}-{position}", self.epoch);
        match told {
            Told::Reset => Event::default().event("reset").data("{}"),
            Told::There(held) => Event::default().event("change").data(data("ADDED", &held)),
            Told::Synced(position) => Event::default().event("synced").id(id(position)).data("{}"),
            Told::Change(change) => Event::default()
                .event("change")
                .id(id(change.position))
                .data(data(change.action.name(), &change.held)),
        }
    }
}

fn data(action: &str, held: &Held) -> String {
    let (kind, object) = (held.key.kind.name(), &held.text);
    format!("{{\"type\":\"{action}\",\"kind\":\"{kind}\",\"object\":{object}}}")
}
