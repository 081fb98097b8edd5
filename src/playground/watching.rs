//! Watches: what happens to objects, as it happens, as lines of a body that does not end or as messages of a WebSocket.

use crate::Playground;
use crate::asked::Query;
use crate::failure::Failure;
use crate::log::{Change, Kind};
use crate::resources::{ALL, ResourceId};
use crate::tables::table;
use crate::world::World;
use axum::body::Body;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::stream;
use http::header::CONTENT_TYPE;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::fmt::Write as _;
use tokio::sync::watch::Receiver;
use tokio::time::{Instant, timeout_at};

/// So many bytes of what a client says over a WebSocket are read at once.
const MOST_HEARD: usize = 4 << 10;

/// A watch that is held.
struct Watch {
    playground: Playground,
    resource: ResourceId,
    namespace: Option<String>,
    query: Query,
    is_table: bool,
    changed: Receiver<u64>,
    /// Up to which version it was told; `None`: of nothing.
    told: Option<u64>,
    until: Instant,
    is_over: bool,
}

/// Tells of what happens until its time is over; over a WebSocket to who asks for one, an event a message, as the
/// clients of Java do first.
pub(crate) fn watch(
    playground: &Playground,
    resource: ResourceId,
    namespace: Option<String>,
    query: &Query,
    is_table: bool,
    upgrade: Option<WebSocketUpgrade>,
) -> Response {
    let watch = Watch {
        playground: playground.clone(),
        resource,
        namespace,
        query: query.clone(),
        is_table,
        changed: playground.shared.changed.subscribe(),
        told: query.version.filter(|_| !query.initial),
        until: Instant::now() + query.lasts,
        is_over: false,
    };
    if let Some(upgrade) = upgrade {
        let upgrade = upgrade
            .read_buffer_size(MOST_HEARD)
            .max_message_size(MOST_HEARD)
            .max_frame_size(MOST_HEARD);
        return upgrade.on_upgrade(|socket| watch.over(socket));
    }
    let pieces = stream::unfold(watch, |mut watch| async {
        let text = watch.next().await?;
        Some((Ok::<Bytes, Infallible>(Bytes::from(text)), watch))
    });
    let head = [(CONTENT_TYPE, "application/json")];
    (head, Body::from_stream(pieces)).into_response()
}

impl Watch {
    /// Until its time is over, or the client leaves.
    async fn over(mut self, mut socket: WebSocket) {
        loop {
            let text = tokio::select! {
                text = self.next() => text,
                heard = socket.recv() => match heard {
                    Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                    // There is nothing that it could say.
                    Some(Ok(_)) => continue,
                },
            };
            let Some(text) = text else {
                // Who has left need not be told.
                _ = socket.send(Message::Close(None)).await;
                return;
            };
            for event in text.lines() {
                if socket.send(Message::text(event)).await.is_err() {
                    return;
                }
            }
        }
    }

    /// What is told next; `None` when its time is over.
    async fn next(&mut self) -> Option<String> {
        while !self.is_over {
            // What comes after this is news.
            self.changed.mark_unchanged();
            let playground = self.playground.clone();
            let text = playground.with(|world| self.news(world));
            if !text.is_empty() {
                return Some(text);
            }
            match timeout_at(self.until, self.changed.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => return None,
            }
        }
        None
    }

    /// What happened since it was told something, a line each.
    fn news(&mut self, world: &World) -> String {
        let version = world.log.version();
        let mut text = String::new();
        let Some(told) = self.told else {
            let all = world.list(self.resource, self.namespace.as_deref());
            for object in all.filter(|one| self.query.selection.has(one)) {
                self.line(&mut text, "ADDED", object, world);
            }
            if self.query.initial {
                self.mark(&mut text, version);
            }
            self.told = Some(version);
            return text;
        };
        match world.log.since(told) {
            Ok(changes) => {
                for change in changes {
                    self.tell(&mut text, change, world);
                }
                self.told = Some(version.max(told));
            }
            Err(failure) => {
                self.is_over = true;
                self.error(&mut text, &failure);
            }
        }
        text
    }

    fn tell(&self, text: &mut String, change: &Change, world: &World) {
        let id = &change.id;
        let is_elsewhere = |namespace: &String| *namespace != id.namespace;
        if id.resource != self.resource || self.namespace.as_ref().is_some_and(is_elsewhere) {
            return;
        }
        let selection = &self.query.selection;
        let was = change
            .before
            .as_deref()
            .is_some_and(|one| selection.has(one));
        let is = change.kind != Kind::Deleted && selection.has(&change.object);
        let kind = match (was, is) {
            (false, true) => "ADDED",
            (true, true) => "MODIFIED",
            (true, false) => "DELETED",
            (false, false) => return,
        };
        self.line(text, kind, &change.object, world);
    }

    fn line(&self, text: &mut String, kind: &str, object: &Value, world: &World) {
        let event = if self.is_table {
            let one = std::iter::once(object);
            let (now, version) = (world.now(), world.log.version());
            let table = table(&ALL[self.resource], one, self.query.include, now, version);
            json!({"type": kind, "object": table})
        } else {
            json!({"type": kind, "object": object})
        };
        // Nothing that is written to a text fails.
        let _ = writeln!(text, "{event}");
    }

    /// All that there was has been told.
    fn mark(&self, text: &mut String, version: u64) {
        let kind = &ALL[self.resource];
        let event = json!({"type": "BOOKMARK", "object": {
            "kind": kind.kind, "apiVersion": kind.api_version(),
            "metadata": {
                "resourceVersion": version.to_string(), "annotations": {"k8s.io/initial-events-end": "true"},
            },
        }});
        let _ = writeln!(text, "{event}");
    }

    fn error(&self, text: &mut String, failure: &Failure) {
        let event = json!({"type": "ERROR", "object": failure.status()});
        let _ = writeln!(text, "{event}");
    }
}
