//! Requests and their answers.

use crate::Playground;
use crate::asked::{Query, Target};
use crate::discovery;
use crate::failure::Failure;
use crate::patch::Form;
use crate::protobuf::{self, Body as Sealed};
use crate::resources::{ALL, Id, ResourceId};
use crate::tables::{table, wants_table};
use crate::watching::watch;
use crate::why;
use crate::writes::{Done, How};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{FromRequestParts, Request, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, HOST, ORIGIN, UPGRADE, WARNING};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use muster_api::protobuf::MEDIA_TYPE;
use serde_json::{Value, json};
use std::net::IpAddr;
use std::time::Duration;
use tokio::time::timeout;

/// So many bytes of a body are read, in so much time.
const MOST_BODY: usize = 3 << 20;
const BODY_WITHIN: Duration = Duration::from_secs(10);

/// What answers requests.
pub(crate) fn router(playground: Playground) -> Router {
    Router::new().fallback(answer).with_state(playground)
}

async fn answer(State(playground): State<Playground>, request: Request) -> Response {
    respond(&playground, request)
        .await
        .unwrap_or_else(|failure| refused(&failure))
}

/// The answer that says why nothing is done.
fn refused(failure: &Failure) -> Response {
    (code(failure.code), in_json(&failure.status())).into_response()
}

fn code(code: u16) -> StatusCode {
    StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

fn in_json(value: &Value) -> impl IntoResponse + use<> {
    ([(CONTENT_TYPE, "application/json")], value.to_string())
}

/// A header as text; empty where it is none.
fn header(headers: &HeaderMap, name: HeaderName) -> &str {
    let value = headers.get(name).map(HeaderValue::to_str);
    value.and_then(Result::ok).unwrap_or_default()
}

async fn respond(playground: &Playground, request: Request) -> Result<Response, Failure> {
    must_be_meant(request.headers())?;
    let uri = request.uri().clone();
    let target = Target::of(uri.path())?;
    let query = Query::of(uri.query().unwrap_or_default())?;
    match target {
        Target::Many(resource, namespace) => {
            many(playground, resource, namespace, &query, request).await
        }
        Target::One(resource, namespace, name, part) => {
            let id = id(resource, namespace, name, uri.path())?;
            one(playground, id, part.as_deref(), &query, request).await
        }
        told => {
            must_be_read(request.method(), uri.path())?;
            tell(playground, told, uri.path())
        }
    }
}

/// A page of another site must not reach what answers on loopback: it would be asked by another name, or write from
/// another origin.
fn must_be_meant(headers: &HeaderMap) -> Result<(), Failure> {
    let is_loopback = |host: &str| {
        let name = host
            .rsplit_once(':')
            .filter(|(_, port)| port.bytes().all(|one| one.is_ascii_digit()));
        let name = name.map_or(host, |(name, _)| name);
        let name = name.trim_start_matches('[').trim_end_matches(']');
        name == "localhost" || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    };
    let (host, origin) = (header(headers, HOST), header(headers, ORIGIN));
    if !is_loopback(host) {
        let message = "the playground answers to a loopback address or localhost only";
        return Err(Failure::forbidden(message));
    }
    if headers.contains_key(ORIGIN) && origin.strip_prefix("http://") != Some(host) {
        return Err(Failure::forbidden("a page of another site asks"));
    }
    Ok(())
}

fn must_be_read(method: &Method, path: &str) -> Result<(), Failure> {
    if [Method::GET, Method::HEAD].contains(method) {
        return Ok(());
    }
    Err(Failure::not_allowed(format!("{path} can be read only")))
}

/// What is told of the cluster as a whole.
fn tell(playground: &Playground, target: Target, path: &str) -> Result<Response, Failure> {
    let nowhere = || Failure::no_such_path(path);
    let value = match target {
        Target::Page => {
            let page = playground.with(|world| world.page());
            let head = [
                (CONTENT_TYPE, "text/html; charset=utf-8"),
                (CACHE_CONTROL, "no-store"),
            ];
            return Ok((head, page).into_response());
        }
        Target::Health => return Ok("ok".into_response()),
        Target::Version => discovery::version(),
        Target::Core => discovery::core(),
        Target::Groups => discovery::all_groups(),
        Target::Group(group) => discovery::group(&group).ok_or_else(nowhere)?,
        Target::Resources(group, version) => {
            discovery::resources(&group, &version).ok_or_else(nowhere)?
        }
        // Those who look for a kind here that is not served find that there is none.
        Target::OpenApi2 => {
            let head = [(
                CONTENT_TYPE,
                "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
            )];
            return Ok((head, Bytes::new()).into_response());
        }
        Target::OpenApi => discovery::documents(),
        Target::OpenApiOf(group, version) => {
            discovery::document(&group, &version).ok_or_else(nowhere)?
        }
        Target::Lease(namespace, name) => {
            playground.with(|world| why::lease(&namespace, &name, world))
        }
        Target::Why(of) => {
            let found = playground.with(|world| of.answer(world));
            let Some(found) = found else {
                let words = format!("the scheduler knows no {}\n", of.title());
                return Ok((StatusCode::NOT_FOUND, words).into_response());
            };
            found
        }
        Target::Many(..) | Target::One(..) => return Err(nowhere()),
    };
    Ok(in_json(&value).into_response())
}

/// Which object a path names.
fn id(
    resource: ResourceId,
    namespace: Option<String>,
    name: String,
    path: &str,
) -> Result<Id, Failure> {
    if ALL[resource].is_namespaced != namespace.is_some() {
        return Err(Failure::no_such_path(path));
    }
    Ok(Id {
        resource,
        namespace: namespace.unwrap_or_default(),
        name,
    })
}

fn must_be_writable(resource: ResourceId) -> Result<(), Failure> {
    let resource = &ALL[resource];
    if !resource.is_read_only {
        return Ok(());
    }
    let name = resource.full_name();
    Err(Failure::not_allowed(format!(
        "{name} are written by the playground alone"
    )))
}

/// The WebSocket that is asked for, if one is: who asks for one waits for ever for an answer that is none.
async fn upgrade(request: Request) -> Result<Option<WebSocketUpgrade>, Failure> {
    if !header(request.headers(), UPGRADE).eq_ignore_ascii_case("websocket") {
        return Ok(None);
    }
    let (mut parts, _) = request.into_parts();
    let upgrade = WebSocketUpgrade::from_request_parts(&mut parts, &()).await;
    let upgrade = upgrade.map_err(|why| Failure::bad_request(why.body_text()))?;
    Ok(Some(upgrade))
}

async fn many(
    playground: &Playground,
    resource: ResourceId,
    namespace: Option<String>,
    query: &Query,
    request: Request,
) -> Result<Response, Failure> {
    let accept = header(request.headers(), ACCEPT).to_owned();
    match *request.method() {
        Method::GET | Method::HEAD if query.watch => {
            let upgrade = upgrade(request).await?;
            let is_table = wants_table(&accept);
            Ok(watch(
                playground, resource, namespace, query, is_table, upgrade,
            ))
        }
        Method::GET | Method::HEAD => {
            let answer = playground.with(|world| {
                let all = world.list(resource, namespace.as_deref());
                let found = all.map(|one| &**one).filter(|one| query.selection.has(one));
                let (now, version) = (world.now(), world.log.version());
                let kind = &ALL[resource];
                if wants_table(&accept) {
                    return table(kind, found, query.include, now, version);
                }
                let items: Vec<Value> = found.cloned().collect();
                json!({
                    "kind": format!("{}List", kind.kind), "apiVersion": kind.api_version(),
                    "metadata": {"resourceVersion": version.to_string()}, "items": items,
                })
            });
            Ok(in_json(&answer).into_response())
        }
        Method::POST => {
            must_be_writable(resource)?;
            let is_namespaces =
                ALL[resource].group.is_empty() && ALL[resource].plural == "namespaces";
            let value = object(request, is_namespaces.then_some(Sealed::Namespace)).await?;
            let namespace = namespace.as_deref();
            let done =
                playground.with(|world| world.create(resource, namespace, value, how(query)))?;
            Ok(written(
                StatusCode::CREATED,
                &done,
                resource,
                &accept,
                playground,
            ))
        }
        Method::DELETE => Err(Failure::not_allowed(
            "the playground deletes objects one by one: `kubectl delete --all` does that",
        )),
        ref other => Err(Failure::not_allowed(format!(
            "{other} is nothing that can be done to a list"
        ))),
    }
}

async fn one(
    playground: &Playground,
    id: Id,
    part: Option<&str>,
    query: &Query,
    request: Request,
) -> Result<Response, Failure> {
    let accept = header(request.headers(), ACCEPT).to_owned();
    if let Some(part) = part {
        return of_part(playground, &id, part, query, request).await;
    }
    let resource = id.resource;
    let done = match *request.method() {
        Method::GET | Method::HEAD => Done {
            object: playground.with(|world| world.get(&id).cloned())?,
            warnings: Vec::new(),
        },
        Method::PUT => {
            must_be_writable(resource)?;
            let value = object(request, None).await?;
            playground.with(|world| world.update(&id, value, how(query)))?
        }
        Method::PATCH => {
            must_be_writable(resource)?;
            let kind = content_type(request.headers());
            let form = Form::of(&kind)?;
            let patch = json_of(&body(request).await?)?;
            playground.with(|world| {
                let value = form.apply(world.get(&id)?, &patch)?;
                world.update(&id, value, how(query))
            })?
        }
        Method::DELETE => {
            must_be_writable(resource)?;
            let options = options(request).await?;
            let uid = options["preconditions"]["uid"].as_str();
            let dry = query.dry
                || options["dryRun"]
                    .as_array()
                    .is_some_and(|all| !all.is_empty());
            let answer = playground.with(|world| {
                if dry {
                    return Ok((**world.get(&id)?).clone());
                }
                let before = world.objects.get(&id).cloned();
                let left = world.delete(&id, uid)?;
                Ok(left.map_or_else(|| deleted(&id, before.as_deref()), |one| (*one).clone()))
            })?;
            return Ok(in_json(&answer).into_response());
        }
        ref other => {
            return Err(Failure::not_allowed(format!(
                "{other} is nothing that can be done to an object"
            )));
        }
    };
    Ok(written(
        StatusCode::OK,
        &done,
        resource,
        &accept,
        playground,
    ))
}

/// Parts of objects: what is served of them is the status, to be read, and the eviction of a pod.
async fn of_part(
    playground: &Playground,
    id: &Id,
    part: &str,
    query: &Query,
    request: Request,
) -> Result<Response, Failure> {
    let kind = id.kind();
    let is_pod = kind.group.is_empty() && kind.plural == "pods";
    match (request.method().clone(), part) {
        (Method::GET | Method::HEAD, "status") => {
            let found = playground.with(|world| world.get(id).cloned())?;
            Ok(in_json(&found).into_response())
        }
        (Method::POST, "eviction") if is_pod => {
            let eviction = object(request, Some(Sealed::Eviction)).await?;
            let uid = eviction["deleteOptions"]["preconditions"]["uid"].as_str();
            if !query.dry {
                playground.with(|world| world.delete(id, uid))?;
            }
            let done =
                json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"});
            Ok((StatusCode::CREATED, in_json(&done)).into_response())
        }
        (_, "log" | "exec" | "attach" | "portforward") if is_pod => {
            playground.with(|world| world.get(id).map(|_| ()))?;
            Err(Failure::not_allowed(format!(
                "nothing runs in the pods of the playground: there is no {part}"
            )))
        }
        (_, "status") => Err(Failure::not_allowed(
            "the status of an object is written by the playground alone",
        )),
        _ => Err(Failure::no_such_path(request.uri().path())),
    }
}

/// What is left of an object that is gone.
fn deleted(id: &Id, before: Option<&Value>) -> Value {
    let kind = id.kind();
    let uid = before.map_or(&Value::Null, |before| &before["metadata"]["uid"]);
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
        "details": {
            "name": id.name, "group": kind.group, "kind": kind.plural, "uid": uid,
        },
    })
}

fn how(query: &Query) -> How {
    How {
        strict: query.strict,
        dry: query.dry,
    }
}

/// The answer that has an object.
fn written(
    status: StatusCode,
    done: &Done,
    resource: ResourceId,
    accept: &str,
    playground: &Playground,
) -> Response {
    let value = if wants_table(accept) {
        let (now, version) = playground.with(|world| (world.now(), world.log.version()));
        let objects = std::iter::once(&*done.object);
        table(
            &ALL[resource],
            objects,
            crate::asked::Include::Metadata,
            now,
            version,
        )
    } else {
        (*done.object).clone()
    };
    let mut response = (status, in_json(&value)).into_response();
    for warning in &done.warnings {
        let text: String = warning.chars().filter(|one| !one.is_control()).collect();
        let text = text.replace('\\', "\\\\").replace('"', "\\\"");
        if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{text}\"")) {
            response.headers_mut().append(WARNING, value);
        }
    }
    response
}

fn content_type(headers: &HeaderMap) -> String {
    let whole = header(headers, CONTENT_TYPE);
    let kind = whole.split(';').next().unwrap_or_default();
    kind.trim().to_ascii_lowercase()
}

/// The object that a request has; in protobuf only where it is said to be what.
async fn object(request: Request, sealed: Option<Sealed>) -> Result<Value, Failure> {
    match content_type(request.headers()).as_str() {
        "application/json" => json_of(&body(request).await?),
        MEDIA_TYPE => protobuf::in_json(&body(request).await?, sealed),
        kind => Err(Failure::unsupported(format!(
            "a body of content type {kind:?} is not read: application/json is"
        ))),
    }
}

/// How something is to be deleted; nothing where nothing is said.
async fn options(request: Request) -> Result<Value, Failure> {
    let kind = content_type(request.headers());
    let bytes = body(request).await?;
    match kind.as_str() {
        _ if bytes.is_empty() => Ok(Value::Null),
        MEDIA_TYPE => protobuf::in_json(&bytes, Some(Sealed::Deletion)),
        _ => json_of(&bytes),
    }
}

fn json_of(bytes: &Bytes) -> Result<Value, Failure> {
    serde_json::from_slice(bytes)
        .map_err(|error| Failure::bad_request(format!("the body is no JSON: {error}")))
}

async fn body(request: Request) -> Result<Bytes, Failure> {
    let body: Body = request.into_body();
    match timeout(BODY_WITHIN, to_bytes(body, MOST_BODY)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(_)) => Err(Failure::too_large(MOST_BODY)),
        Err(_) => Err(Failure::too_slow("the body did not come in time")),
    }
}
