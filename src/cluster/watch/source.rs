//! Where the objects of one kind come from: a list in pages, then one watch after the other.
//!
//! The same for both encodings, which are told apart by what the server answers. An error leads
//! back to the list, unless it is known that nothing was missed. A page that could not be had is asked for again,
//! and the first one only where the list has become too old.

use super::codec::{Came, Change, Codec, Page, is_protobuf, malformed, refusal};
use super::frames::Frames;
use crate::encoding::Encodings;
use bytes::Bytes;
use futures::stream::{self, Stream};
use http::header::{ACCEPT, ACCEPT_ENCODING, HeaderValue};
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Limited};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{ListParams, WatchParams};
use kube::client::Body;
use kube::runtime::watcher::{Error, Event};
use kube::{Api, Client};
use muster_api::kinds::Watchable;
use muster_api::protobuf::EITHER;
use std::mem;
use std::time::Duration;
use tokio::time::timeout;

/// After how long the server ends a watch, so that a new one begins where it ended.
const WATCH_SECONDS: u32 = 120;
/// A watch that says nothing, and does not end when it should, is given up.
const WATCH_IDLE: Duration = Duration::from_secs(WATCH_SECONDS as u64 + 5);
/// Objects per page of a list.
const PAGE: u32 = 500;
/// How long a page may be.
const PAGE_LIMIT: usize = 256 << 20;
/// How long a refusal may be.
const REFUSAL_LIMIT: usize = 1 << 20;

/// The objects of one kind, and what happens to them.
pub(super) struct Source<K> {
    client: Client,
    requests: kube::core::Request,
    encodings: Encodings,
    /// Whether protobuf is offered to the server: until it answers in JSON.
    offers_protobuf: bool,
    state: State<K>,
}

enum State<K> {
    /// Nothing is known.
    Start,
    /// A page is to be asked for.
    Ask { next: Option<String> },
    /// A page has come, and its objects are told.
    Tell(Page<K>),
    /// Everything up to this version is told.
    Told { version: String },
    /// What happens after this version is told as it comes.
    Watch {
        version: String,
        changes: Changes<K>,
    },
}

impl<K: Watchable> Source<K> {
    pub(super) fn new(api: Api<K>, encodings: Encodings) -> Self {
        Self {
            requests: kube::core::Request::new(api.resource_url()),
            client: api.into_client(),
            encodings,
            offers_protobuf: K::PROTOBUF.is_some(),
            state: State::Start,
        }
    }

    /// Everything there is, and then everything that happens. The stream has no end.
    pub(super) fn events(&mut self) -> impl Stream<Item = Result<Event<Came<K>>, Error>> {
        self.state = State::Start;
        stream::unfold(self, async |source| Some((source.next().await, source)))
    }

    async fn next(&mut self) -> Result<Event<Came<K>>, Error> {
        loop {
            // Who fails and leaves no other state begins anew.
            let event = match mem::replace(&mut self.state, State::Start) {
                State::Start => {
                    self.state = State::Ask { next: None };
                    Some(Event::Init)
                }
                State::Ask { next } => {
                    let page = self.list(next.clone()).await;
                    if !page.as_ref().is_err_and(is_too_old) {
                        self.state = State::Ask { next };
                    }
                    self.state = State::Tell(page?);
                    None
                }
                State::Tell(page) => self.tell(page)?,
                State::Told { version } => {
                    self.watch(version).await?;
                    None
                }
                State::Watch { version, changes } => self.listen(version, changes).await?,
            };
            if let Some(event) = event {
                return Ok(event);
            }
        }
    }

    async fn list(&mut self, next: Option<String>) -> Result<Page<K>, Error> {
        let params = ListParams {
            limit: Some(PAGE),
            continue_token: next,
            ..ListParams::default()
        };
        let page = async {
            let request = self.requests.list(&params);
            let request = request.map_err(kube::Error::BuildRequest)?;
            let (codec, body) = self.ask(request).await?;
            codec.page(&whole(body, PAGE_LIMIT).await?)
        };
        page.await.map_err(Error::InitialListFailed)
    }

    /// The next object of a page; after the last, whether there is another page.
    fn tell(&mut self, mut page: Page<K>) -> Result<Option<Event<Came<K>>>, Error> {
        if let Some(object) = page.items.next() {
            let object = object.map_err(Error::InitialListFailed)?;
            self.state = State::Tell(page);
            return Ok(Some(Event::InitApply(object)));
        }
        if !page.next.is_empty() {
            self.state = State::Ask {
                next: Some(page.next),
            };
            return Ok(None);
        }
        if page.version.is_empty() {
            return Err(Error::NoResourceVersion);
        }
        self.state = State::Told {
            version: page.version,
        };
        Ok(Some(Event::InitDone))
    }

    async fn watch(&mut self, version: String) -> Result<(), Error> {
        let params = WatchParams::default().timeout(WATCH_SECONDS);
        let begun = async {
            let request = self.requests.watch(&params, &version);
            let request = request.map_err(kube::Error::BuildRequest)?;
            self.ask(request).await
        };
        match begun.await {
            Ok((codec, body)) => {
                let changes = Changes::new(codec, body);
                self.state = State::Watch { version, changes };
                Ok(())
            }
            Err(error) => {
                if !is_gone(&error) {
                    self.state = State::Told { version };
                }
                Err(Error::WatchStartFailed(error))
            }
        }
    }

    async fn listen(
        &mut self,
        version: String,
        mut changes: Changes<K>,
    ) -> Result<Option<Event<Came<K>>>, Error> {
        let Ok(next) = timeout(WATCH_IDLE, changes.next()).await else {
            tracing::debug!(kind = K::KIND.name(), "a watch that should have ended");
            self.state = State::Told { version };
            return Ok(None);
        };
        let (version, event) = match next {
            Next::Change(Change::Exists(object)) => (version_of(&object)?, Event::Apply(object)),
            Next::Change(Change::Gone(object)) => (version_of(&object)?, Event::Delete(object)),
            Next::Change(Change::Bookmark(version)) => {
                self.state = State::Watch { version, changes };
                return Ok(None);
            }
            Next::Change(Change::Failed(status)) => {
                if status.code != StatusCode::GONE.as_u16() {
                    self.state = State::Told { version };
                }
                return Err(Error::WatchError(status));
            }
            Next::Ended => {
                self.state = State::Told { version };
                return Ok(None);
            }
            Next::Broken(error) => {
                self.state = State::Told { version };
                return Err(Error::WatchFailed(error));
            }
            Next::Malformed(error) => return Err(Error::WatchFailed(error)),
        };
        self.state = State::Watch { version, changes };
        Ok(Some(event))
    }

    /// Asks in both encodings, or in JSON if the server knows no other, and says which one came.
    async fn ask(&mut self, request: Request<Vec<u8>>) -> kube::Result<(Codec<K>, Body)> {
        loop {
            let request = with_accept(request.clone(), self.offers_protobuf);
            let response = self.client.send(request).await?;
            let (head, body) = response.into_parts();
            if head.status == StatusCode::NOT_ACCEPTABLE && self.offers_protobuf {
                self.offer_no_more();
                continue;
            }
            if !head.status.is_success() {
                let body = whole(body, REFUSAL_LIMIT).await?;
                return Err(refusal(&head.headers, head.status.as_u16(), &body));
            }
            let codec = match K::PROTOBUF.filter(|_| is_protobuf(&head.headers)) {
                Some(decode) => {
                    self.encodings.heard_protobuf();
                    Codec::Protobuf(decode)
                }
                None => {
                    self.offer_no_more();
                    Codec::Json
                }
            };
            return Ok((codec, body));
        }
    }

    fn offer_no_more(&mut self) {
        if mem::take(&mut self.offers_protobuf) {
            self.encodings.heard_json();
        }
    }
}

fn with_accept(request: Request<Vec<u8>>, protobuf: bool) -> Request<Body> {
    let mut request = request.map(Body::from);
    let accept = if protobuf { EITHER } else { "application/json" };
    let headers = request.headers_mut();
    headers.insert(ACCEPT, HeaderValue::from_static(accept));
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    request
}

async fn whole(body: Body, limit: usize) -> kube::Result<Bytes> {
    let whole = Limited::new(body, limit).collect().await;
    Ok(whole.map_err(kube::Error::Service)?.to_bytes())
}

/// Whether a list has to begin anew.
fn is_too_old(error: &Error) -> bool {
    matches!(error, Error::InitialListFailed(error) if is_gone(error))
}

fn is_gone(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == StatusCode::GONE.as_u16())
}

fn version_of<K: Watchable>(object: &Came<K>) -> Result<String, Error> {
    let version = meta(object).resource_version.clone();
    version
        .filter(|version| !version.is_empty())
        .ok_or(Error::NoResourceVersion)
}

/// The metadata of an object, as far as it is known.
pub(super) fn meta<K: Watchable>(object: &Came<K>) -> &ObjectMeta {
    match object {
        Ok(object) => object.meta(),
        Err(invalid) => &invalid.metadata,
    }
}

/// The changes that one watch tells.
struct Changes<K> {
    codec: Codec<K>,
    frames: Frames,
    body: Body,
}

/// What comes next of a watch.
enum Next<K> {
    Change(Change<K>),
    /// It ended, as every watch does.
    Ended,
    /// It broke off; what came before is whole.
    Broken(kube::Error),
    /// What came makes no sense: something may have been missed.
    Malformed(kube::Error),
}

impl<K: Watchable> Changes<K> {
    fn new(codec: Codec<K>, body: Body) -> Self {
        let frames = codec.frames();
        Self {
            codec,
            frames,
            body,
        }
    }

    async fn next(&mut self) -> Next<K> {
        loop {
            match self.frames.take() {
                Ok(Some(frame)) => {
                    return match self.codec.change(frame) {
                        Ok(change) => Next::Change(change),
                        Err(error) => Next::Malformed(error),
                    };
                }
                Ok(None) => {}
                Err(too_long) => return Next::Malformed(malformed(too_long)),
            }
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    if let Some(chunk) = frame.data_ref() {
                        self.frames.put(chunk);
                    }
                }
                Some(Err(error)) => return Next::Broken(error),
                None if self.frames.is_empty() => return Next::Ended,
                None => return Next::Broken(malformed("it ended in the middle of an event")),
            }
        }
    }
}
