//! `/debug/why/...`: the engine's explanations, for those who may read the object they are about.
//!
//! Who asks shows a token (`Authorization: Bearer`, or [`FORWARDED`] through the API server's proxy,
//! which keeps the former to itself, and then in TLS only). The API server says whose it is and whether they may `get` the
//! object; nothing is looked up before. Names of gangs of other namespaces are for who may list PodGroups there. Nothing is
//! changed, and no body is read.

use axum::Router;
use axum::extract::{Path, RawQuery, State};
use axum::http::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use muster_cluster::health::Role;
use muster_cluster::reviews::{Asked, Object, Reviews, Verdict};
use muster_cluster::{Explanations, Health};
use serde::Serialize;
use std::iter;
use std::sync::Arc;

/// The header with the token where a proxy keeps `Authorization` to itself.
pub const FORWARDED: &str = "x-muster-authorization";

/// No name in Kubernetes is longer.
const MAX_NAME: usize = 253;

/// Who answers.
#[derive(Clone)]
pub struct Desk {
    /// Whether this instance leads.
    pub health: Arc<Health>,
    /// What there is to say.
    pub explanations: Arc<Explanations>,
    /// Who may hear it.
    pub reviews: Arc<Reviews>,
}

/// A desk, and how who comes there has come.
#[derive(Clone)]
struct Window {
    desk: Desk,
    encrypted: bool,
}

/// The pages.
pub(super) fn router(desk: Desk, encrypted: bool) -> Router {
    let window = Window { desk, encrypted };
    Router::new()
        .route("/debug/why/podgroups/{namespace}/{name}", get(pod_group))
        .route("/debug/why/queues/{name}", get(queue))
        .route("/debug/why/testbeds/{name}", get(testbed))
        .with_state(window)
}

async fn pod_group(
    State(window): State<Window>,
    Path((namespace, name)): Path<(String, String)>,
    headers: HeaderMap,
) -> Response {
    let object = Object {
        resource: "podgroups",
        namespace: Some(namespace.clone()),
        name: name.clone(),
    };
    let sight = match window.admit(&headers, &object, Some(&namespace)).await {
        Ok(sight) => sight,
        Err(refusal) => return refusal,
    };
    let mut found = window.desk.explanations.gang(&namespace, &name);
    if let (Some(found), Sight::Of(namespace)) = (&mut found, sight) {
        found.hide_others(namespace.as_deref());
    }
    answer(found.as_ref(), &format!("PodGroup {namespace}/{name}"))
}

async fn queue(
    State(window): State<Window>,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let object = Object {
        resource: "queues",
        namespace: None,
        name: name.clone(),
    };
    let reader = reader_in(query.as_deref());
    let sight = match window.admit(&headers, &object, reader.as_deref()).await {
        Ok(sight) => sight,
        Err(refusal) => return refusal,
    };
    let mut found = window.desk.explanations.queue(&name);
    if let (Some(found), Sight::Of(namespace)) = (&mut found, sight) {
        Arc::make_mut(found).hide_others(namespace.as_deref());
    }
    answer(found.as_deref(), &format!("Queue {name}"))
}

async fn testbed(
    State(window): State<Window>,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let object = Object {
        resource: "testbeds",
        namespace: None,
        name: name.clone(),
    };
    let reader = reader_in(query.as_deref());
    let sight = match window.admit(&headers, &object, reader.as_deref()).await {
        Ok(sight) => sight,
        Err(refusal) => return refusal,
    };
    let mut found = window.desk.explanations.testbed(&name);
    if let (Some(found), Sight::Of(namespace)) = (&mut found, sight) {
        Arc::make_mut(found).hide_others(namespace.as_deref());
    }
    answer(found.as_deref(), &format!("Testbed {name}"))
}

/// Whose gangs somebody may read.
enum Sight {
    /// Everybody's.
    Everybody,
    /// Those of a namespace, or nobody's.
    Of(Option<String>),
}

/// The namespace of which who asks about something that has none says that they are at home there.
fn reader_in(query: Option<&str>) -> Option<String> {
    let mut said = form_urlencoded::parse(query?.as_bytes());
    let namespace = said.find(|(name, _)| name == "namespace")?.1.into_owned();
    is_name(&namespace).then_some(namespace)
}

impl Window {
    /// Lets in who may read the object; says whose gangs they may read, of this namespace if not of all.
    async fn admit(
        &self,
        headers: &HeaderMap,
        object: &Object,
        reader: Option<&str>,
    ) -> Result<Sight, Response> {
        let namespace = object.namespace.as_deref().unwrap_or("default");
        if !is_name(namespace) || !is_name(&object.name) {
            return Err(said(
                StatusCode::BAD_REQUEST,
                "this is no name of an object",
            ));
        }
        if headers.contains_key(FORWARDED) && !self.encrypted {
            let words = "a token that comes through the API server has to come encrypted: ask https:POD:PORT";
            return Err(said(StatusCode::BAD_REQUEST, words));
        }
        let Some(token) = token(headers) else {
            let mut response = said(StatusCode::UNAUTHORIZED, "a bearer token is wanted");
            let scheme = "Bearer".parse();
            if let Ok(scheme) = scheme {
                response.headers_mut().insert(WWW_AUTHENTICATE, scheme);
            }
            return Err(response);
        };
        let (kind, name) = (object.resource, &object.name);
        let what = match &object.namespace {
            Some(namespace) => format!("get {kind}.muster.dev {name} in {namespace}"),
            None => format!("get {kind}.muster.dev {name}"),
        };
        let desk = &self.desk;
        let verdict = desk.reviews.may_get(token, object).await;
        if let Some(user) = is_refused(verdict, &what)? {
            let words = format!("{user} may not {what}");
            return Err(said(StatusCode::FORBIDDEN, &words));
        }
        if desk.health.role() != Role::Leading {
            let holder = desk.health.holder();
            let holder = holder.unwrap_or_else(|| "nobody".to_owned());
            let words = format!("this instance does not schedule: {holder} has the lease");
            return Err(said(StatusCode::SERVICE_UNAVAILABLE, &words));
        }
        for namespace in iter::once(None).chain(reader.map(Some)) {
            let list = Asked {
                verb: "list",
                resource: "podgroups",
                namespace: namespace.map(str::to_owned),
                name: None,
            };
            let verdict = desk.reviews.may(token, &list).await;
            if is_refused(verdict, "list podgroups.muster.dev")?.is_none() {
                return Ok(match namespace {
                    None => Sight::Everybody,
                    Some(namespace) => Sight::Of(Some(namespace.to_owned())),
                });
            }
        }
        Ok(Sight::Of(None))
    }
}

/// Whom the API server does not let do something, or why nobody knows.
fn is_refused(verdict: Verdict, what: &str) -> Result<Option<String>, Unknown> {
    match verdict {
        Verdict::Allowed => Ok(None),
        Verdict::Forbidden(user) => Ok(Some(user)),
        Verdict::Unknown => {
            let words = "the API server does not know this token";
            Err(Unknown(StatusCode::UNAUTHORIZED, words.to_owned()))
        }
        Verdict::Busy => {
            let words = "too many ask at once; try again in a second";
            Err(Unknown(StatusCode::TOO_MANY_REQUESTS, words.to_owned()))
        }
        Verdict::Failed(error) => {
            let words = format!("nobody could say whether you may {what}: {error}");
            Err(Unknown(StatusCode::SERVICE_UNAVAILABLE, words))
        }
    }
}

/// Why nobody knows what somebody may.
struct Unknown(StatusCode, String);

impl From<Unknown> for Response {
    fn from(Unknown(code, words): Unknown) -> Self {
        said(code, &words)
    }
}

/// The token of a request.
fn token(headers: &HeaderMap) -> Option<&str> {
    let forwarded = headers.get(FORWARDED);
    let value = forwarded.or_else(|| headers.get(AUTHORIZATION))?;
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// Whether it can be the name of an object.
fn is_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    !name.is_empty() && name.len() <= MAX_NAME && name.bytes().all(allowed)
}

fn answer(found: Option<&impl Serialize>, what: &str) -> Response {
    let Some(found) = found else {
        let words = format!("the scheduler knows no {what}");
        return said(StatusCode::NOT_FOUND, &words);
    };
    match serde_json::to_string(found) {
        Ok(text) => {
            let headers = [
                (CONTENT_TYPE, "application/json"),
                (CACHE_CONTROL, "no-store"),
            ];
            (headers, text).into_response()
        }
        Err(error) => said(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

fn said(code: StatusCode, words: &str) -> Response {
    let headers = [(CACHE_CONTROL, "no-store")];
    (code, headers, format!("{words}\n")).into_response()
}
