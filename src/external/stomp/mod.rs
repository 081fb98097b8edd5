//! `/scheduler`: changes by STOMP over a WebSocket, as the earlier interface tells them.
//!
//! A client says who it is in the header of the upgrade, or, as browsers can set none, in the frame `CONNECT`. As with
//! the other streams nothing is kept for it: it reads from the book by its position, and one that falls behind what the
//! book keeps is told so and sent away. What it may do is asked again all the time that it stays.

mod frame;
mod session;
mod sockjs;

use super::book::Since;
use super::desk::{Answer, Desk, No, Place, bearer, either, json, refused, token};
use super::views::Kind;
use axum::Router;
use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use axum::routing::get;
use frame::{Decoder, Frame, MOST_FRAME};
use muster_cluster::external_metrics::{Refused, Stream};
use muster_cluster::reviews::Asked;
use session::{Request, Subscriptions};
use std::collections::VecDeque;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

/// How long a client may take to say who it is.
const GREETING_WITHIN: Duration = Duration::from_secs(10);
/// How long a connection lasts.
const CONNECTION_FOR: Duration = Duration::from_secs(3_600);
/// How often it is asked what its client may do ...
const RIGHTS_EVERY: Duration = Duration::from_secs(60);
/// ... and for how long nobody has to be able to say.
const RIGHTS_FOR: Duration = Duration::from_secs(300);
/// How long a client may take to read one message.
const SEND_WITHIN: Duration = Duration::from_secs(10);
/// How often it is asked whether it is there ...
const PING_EVERY: Duration = Duration::from_secs(25);
/// ... and how long it may say nothing.
const SILENT_FOR: Duration = Duration::from_secs(75);
/// How long a client may take to go.
const CLOSE_WITHIN: Duration = Duration::from_secs(2);
/// A message of a WebSocket, at most: SockJS writes some bytes of a frame as six.
const MOST_MESSAGE: usize = 4 * MOST_FRAME;
/// Changes taken at once.
const AT_ONCE: usize = 64;
/// What STOMP is called among the protocols that a WebSocket can be for.
const PROTOCOLS: [&str; 2] = ["v12.stomp", "v11.stomp"];

pub(crate) fn router() -> Router<Desk> {
    Router::new()
        .route("/scheduler", get(plain))
        .route("/scheduler/websocket", get(plain))
        .route("/scheduler/info", get(info))
        .route("/scheduler/{server}/{session}/websocket", get(sock))
}

type Upgrade = Result<WebSocketUpgrade, WebSocketUpgradeRejection>;

async fn plain(State(desk): State<Desk>, headers: HeaderMap, upgrade: Upgrade) -> Response {
    either(begin(desk, &headers, upgrade, Wire::Plain).await)
}

async fn sock(State(desk): State<Desk>, headers: HeaderMap, upgrade: Upgrade) -> Response {
    either(begin(desk, &headers, upgrade, Wire::SockJs).await)
}

async fn info() -> Response {
    let [a, b, c, d, ..] = RandomState::new().hash_one(0).to_be_bytes();
    let entropy = u32::from_be_bytes([a, b, c, d]);
    json(StatusCode::OK, sockjs::info(entropy).to_string())
}

async fn begin(desk: Desk, headers: &HeaderMap, upgrade: Upgrade, wire: Wire) -> Answer {
    let upgrade = upgrade.map_err(|why| refused(why.status(), &why.body_text()))?;
    let token = token(headers).filter(|_| is_of_no_other_page(headers));
    let token = token.map(str::to_owned);
    // Who shows one early is told early that it is worth nothing.
    if token.is_some() {
        let known = desk.is_known(token.as_deref()).await;
        known.map_err(|no| desk.noted(no).answer())?;
    }
    let greeting = Arc::clone(&desk.greetings).try_acquire_owned();
    let greeting = greeting.map_err(|_| {
        let words = "too many connections are being opened: try again".to_owned();
        desk.noted(No::Later(Refused::TooMany, words)).answer()
    })?;
    let upgrade = upgrade
        .protocols(PROTOCOLS)
        .read_buffer_size(MOST_FRAME)
        .max_message_size(MOST_MESSAGE)
        .max_frame_size(MOST_MESSAGE);
    Ok(upgrade.on_upgrade(move |socket| async move {
        let connection = Connection {
            socket,
            wire,
            decoder: Decoder::default(),
            texts: VecDeque::new(),
            heard: Instant::now(),
        };
        connection.live(&desk, token, greeting).await;
    }))
}

/// Whether no page of another origin wants this: of it a token counts that it shows itself, and none that something on
/// the way has put into the header.
fn is_of_no_other_page(headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).map(HeaderValue::to_str);
    match text(ORIGIN) {
        None => true,
        Some(Ok(origin)) => {
            let host = origin.split_once("://").map(|(_, host)| host);
            host.is_some() && host == text(HOST).and_then(Result::ok)
        }
        Some(Err(_)) => false,
    }
}

impl Desk {
    /// Whether a token is somebody's, whatever they may do.
    async fn is_known(&self, token: Option<&str>) -> Result<(), No> {
        match self.may_watch(token, Kind::Testbed).await {
            Err(No::Forbidden(_)) => Ok(()),
            other => other,
        }
    }

    async fn may_watch(&self, token: Option<&str>, kind: Kind) -> Result<(), No> {
        let asked = Asked {
            verb: "watch",
            resource: kind.resource(),
            namespace: self.place(kind).map(str::to_owned),
            name: None,
        };
        self.judge(token, &asked).await
    }
}

/// How messages are packed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wire {
    Plain,
    SockJs,
}

/// Why a connection ends.
#[derive(Debug)]
enum End {
    /// The client wanted it.
    Wanted,
    /// It is not there any more, or does not read.
    Gone,
    /// For this reason, which it is told; the frame that was wrong may have wanted a receipt.
    Because(String, Option<String>),
}

impl From<No> for End {
    fn from(no: No) -> Self {
        Self::Because(no.words().to_owned(), None)
    }
}

/// A WebSocket that carries frames.
struct Connection {
    socket: WebSocket,
    wire: Wire,
    decoder: Decoder,
    /// What has come and is not decoded.
    texts: VecDeque<Vec<u8>>,
    /// When something last came.
    heard: Instant,
}

/// A client that was let in.
struct Client {
    token: Option<String>,
    subscriptions: Subscriptions,
    changed: watch::Receiver<u64>,
    /// Up to where it was told what has changed.
    position: u64,
    /// How often it wants signs of life.
    beats: Option<Duration>,
    /// When it was last known what it may do.
    judged: Instant,
    until: Instant,
    _place: Place,
}

impl Connection {
    /// Serves it until it ends. It counts as one of those that are open until it is closed.
    async fn live(mut self, desk: &Desk, token: Option<String>, greeting: OwnedSemaphorePermit) {
        let greeted = timeout(GREETING_WITHIN, self.greet(desk, token)).await;
        let late = |_| End::Because("CONNECT did not come within 10 s".to_owned(), None);
        let mut client = match greeted.map_err(late).flatten() {
            Ok(client) => client,
            Err(end) => return self.close(end).await,
        };
        drop(greeting);
        let served = timeout_at(client.until, self.serve(desk, &mut client)).await;
        let end = match served {
            Ok(Ok(never)) => match never {},
            Ok(Err(end)) => end,
            Err(_) => {
                let words = "this connection has lasted an hour: connect again";
                End::Because(words.to_owned(), None)
            }
        };
        self.close(end).await;
    }

    /// Lets a client in.
    async fn greet(&mut self, desk: &Desk, token: Option<String>) -> Result<Client, End> {
        if self.wire == Wire::SockJs {
            self.put(sockjs::OPEN.to_owned()).await?;
        }
        let frame = self.frame().await?;
        let wrong = |words: &str| End::Because(words.to_owned(), receipt_of(&frame));
        let request = session::request(&frame).map_err(|words| wrong(&words))?;
        let Request::Connect {
            version,
            authorization,
            beats,
        } = request
        else {
            return Err(wrong("the first frame has to be CONNECT"));
        };
        let token = match authorization {
            Some(value) => bearer(&value).map(str::to_owned),
            None => token,
        };
        let known = desk.is_known(token.as_deref()).await;
        known.map_err(|no| desk.noted(no))?;
        desk.complete().map_err(|no| wrong(no.words()))?;
        let place = desk.place_for(Stream::Stomp);
        let place = place.map_err(|no| wrong(no.words()))?;
        self.send(session::connected(version)).await?;
        let changed = desk.book.changed();
        let (now, position) = (Instant::now(), *changed.borrow());
        Ok(Client {
            token,
            subscriptions: Subscriptions::default(),
            changed,
            position,
            beats,
            judged: now,
            until: now + CONNECTION_FOR,
            _place: place,
        })
    }

    async fn serve(
        &mut self,
        desk: &Desk,
        client: &mut Client,
    ) -> Result<std::convert::Infallible, End> {
        let now = Instant::now();
        let (mut ping, mut rights) = (now + PING_EVERY, now + RIGHTS_EVERY);
        let mut beat = client.beats.map(|every| now + every);
        loop {
            let next = [ping, rights].into_iter().chain(beat);
            let next = next.min().unwrap_or(ping);
            tokio::select! {
                frame = self.frame() => self.take(desk, client, &frame?).await?,
                changed = client.changed.changed() => {
                    // The book is there as long as its desk.
                    changed.map_err(|_| End::Gone)?;
                    self.tell(desk, client).await?;
                }
                () = sleep_until(next) => {}
            }
            let now = Instant::now();
            if now >= self.heard + SILENT_FOR {
                return Err(End::Gone);
            }
            if now >= ping {
                self.give(Message::Ping(Vec::new().into())).await?;
                ping = now + PING_EVERY;
            }
            if let (Some(at), Some(every)) = (beat, client.beats)
                && now >= at
            {
                self.send("\n".to_owned()).await?;
                beat = Some(now + every);
            }
            if now >= rights {
                client.judge(desk).await?;
                rights = now + RIGHTS_EVERY;
            }
        }
    }

    /// Does what a frame asks for.
    async fn take(&mut self, desk: &Desk, client: &mut Client, frame: &Frame) -> Result<(), End> {
        let wanted = receipt_of(frame);
        let wrong = |words: String| End::Because(words, wanted.clone());
        let mut last = false;
        match session::request(frame).map_err(wrong)? {
            Request::Connect { .. } => {
                return Err(wrong("you are connected already".to_owned()));
            }
            Request::Subscribe {
                id,
                destination,
                topic,
            } => {
                let may = desk.may_watch(client.token.as_deref(), topic.kind).await;
                may.map_err(|no| wrong(desk.noted(no).words().to_owned()))?;
                let after = *client.changed.borrow();
                let added = client.subscriptions.add(id, destination, topic, after);
                added.map_err(wrong)?;
            }
            Request::Unsubscribe { id } => client.subscriptions.remove(&id),
            Request::Disconnect => last = true,
        }
        if let Some(id) = &wanted {
            self.send(session::receipt(id)).await?;
        }
        if last { Err(End::Wanted) } else { Ok(()) }
    }

    /// Tells some of what has changed; of more there will be news at once.
    async fn tell(&mut self, desk: &Desk, client: &mut Client) -> Result<(), End> {
        let Since::Changes(changes) = desk.book.since(client.position, AT_ONCE) else {
            desk.metrics.external.refused(Refused::Slow);
            let words = "you read too slowly, and changes are lost: connect again";
            return Err(End::Because(words.to_owned(), None));
        };
        for change in changes {
            client.position = change.position;
            let key = &change.held.key;
            if desk
                .place(key.kind)
                .is_some_and(|mine| mine != key.namespace)
            {
                continue;
            }
            for told in client.subscriptions.told(&change) {
                self.send(told.message()).await?;
            }
        }
        if client.position < *client.changed.borrow() {
            client.changed.mark_changed();
        }
        Ok(())
    }

    /// The next frame. What has come is kept, whenever waiting for more is given up.
    async fn frame(&mut self) -> Result<Frame, End> {
        loop {
            let found = self.decoder.next();
            if let Some(frame) = found.map_err(|wrong| End::Because(wrong, None))? {
                return Ok(frame);
            }
            if let Some(text) = self.texts.pop_front() {
                self.decoder.feed(&text);
                continue;
            }
            let message = self.socket.recv().await;
            self.heard = Instant::now();
            match message {
                Some(Ok(Message::Text(text))) if self.wire == Wire::SockJs => {
                    let texts = sockjs::unwrapped(&text);
                    let texts = texts.ok_or_else(|| {
                        let words = "SockJS packs messages as a list of texts";
                        End::Because(words.to_owned(), None)
                    })?;
                    self.texts.extend(texts.into_iter().map(String::into_bytes));
                }
                Some(Ok(Message::Text(text))) => self.texts.push_back(text.as_bytes().to_vec()),
                Some(Ok(Message::Binary(bytes))) => self.texts.push_back(bytes.to_vec()),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(Message::Close(_)) | Err(_)) | None => return Err(End::Gone),
            }
        }
    }

    /// Sends a frame.
    async fn send(&mut self, text: String) -> Result<(), End> {
        let text = match self.wire {
            Wire::Plain => text,
            Wire::SockJs => sockjs::wrapped(&text),
        };
        self.put(text).await
    }

    async fn put(&mut self, text: String) -> Result<(), End> {
        self.give(Message::Text(text.into())).await
    }

    /// Gives it a message, which it reads within some time.
    async fn give(&mut self, message: Message) -> Result<(), End> {
        match timeout(SEND_WITHIN, self.socket.send(message)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(End::Gone),
        }
    }

    /// Says why it ends, and waits a little for the client to have read that.
    async fn close(mut self, end: End) {
        let said = match end {
            End::Gone => return,
            End::Wanted => Ok(()),
            End::Because(words, receipt) => {
                self.send(session::error(&words, receipt.as_deref())).await
            }
        };
        let mut said = said.is_ok();
        if self.wire == Wire::SockJs {
            said = said && self.put(sockjs::close()).await.is_ok();
        }
        if said && self.give(Message::Close(None)).await.is_ok() {
            let until = Instant::now() + CLOSE_WITHIN;
            while let Ok(Some(Ok(_))) = timeout_at(until, self.socket.recv()).await {}
        }
    }
}

impl Client {
    /// Asks again what it may do. That nobody can say is borne for some time.
    async fn judge(&mut self, desk: &Desk) -> Result<(), End> {
        let token = self.token.as_deref();
        let mut judged = desk.is_known(token).await;
        for kind in self.subscriptions.kinds() {
            if judged.is_ok() {
                judged = desk.may_watch(token, kind).await;
            }
        }
        let now = Instant::now();
        match judged {
            Ok(()) => self.judged = now,
            Err(No::Later(..)) if now < self.judged + RIGHTS_FOR => {}
            Err(no) => return Err(desk.noted(no).into()),
        }
        Ok(())
    }
}

/// What a frame wants to be answered with.
fn receipt_of(frame: &Frame) -> Option<String> {
    frame.header("receipt").map(str::to_owned)
}

#[cfg(test)]
mod tests;
