//! `/external`: the paths of an earlier interface, in one namespace.

use super::desk::{Answer, Desk, either, invalid, json, no_such, not_written, read, refused};
use super::earlier;
use super::views::{Key, Kind, MOST_KEPT, View};
use super::wishes::{Invalid, Write};
use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::{Map, Value};

/// Names in the queues of one answer, at most.
const MOST_NAMES: usize = 1_000_000;

pub(crate) fn router() -> Router<Desk> {
    Router::new()
        .route("/external/testbeds", get(testbeds))
        .route("/external/testbeds/{name}", get(testbed))
        .route("/external/jobs", get(jobs).put(keep))
        .route("/external/jobs/", get(jobs).put(keep))
        .route("/external/jobs/{name}", get(job))
        .route("/external/schedulings", get(schedulings).post(write))
        .route(
            "/external/schedulings/{name}",
            get(scheduling).delete(delete),
        )
}

/// What is shown of an object on these paths.
pub(crate) fn shown(view: &View) -> Value {
    match view {
        View::Testbed(view) => earlier::testbed(view),
        View::BatchJob(view) => earlier::job(view),
        View::Scheduling(view) => earlier::scheduling(view),
    }
}

impl Desk {
    pub(crate) fn place(&self, kind: Kind) -> Option<&str> {
        (kind != Kind::Testbed).then_some(self.namespace.as_str())
    }
}

async fn all(
    desk: &Desk,
    headers: &HeaderMap,
    kind: Kind,
) -> Result<Vec<(String, Value)>, Response> {
    let namespace = desk.place(kind);
    desk.admit_reader(headers, "list", kind, namespace, None)
        .await?;
    let found = desk.book.list(kind, namespace);
    let names = found.iter().map(|held| match &held.view {
        View::Scheduling(view) => earlier::queued(view),
        View::Testbed(_) | View::BatchJob(_) => 0,
    });
    if names.sum::<usize>() > MOST_NAMES {
        let words = "the queues together have too many names: ask /api/v1";
        return Err(refused(StatusCode::INTERNAL_SERVER_ERROR, words));
    }
    let named = found.iter();
    let named = named.map(|held| (held.key.name.clone(), shown(&held.view)));
    Ok(named.collect())
}

async fn one(desk: &Desk, headers: &HeaderMap, kind: Kind, name: &str) -> Answer {
    let namespace = desk.place(kind);
    desk.admit_reader(headers, "get", kind, namespace, Some(name))
        .await?;
    let key = Key::new(kind, namespace.unwrap_or_default(), name);
    let held = desk.book.get(&key).ok_or_else(|| no_such(kind, name))?;
    Ok(json(StatusCode::OK, shown(&held.view).to_string()))
}

async fn listed(desk: &Desk, headers: &HeaderMap, kind: Kind) -> Response {
    let found = all(desk, headers, kind).await;
    either(found.map(|all| {
        let values: Vec<Value> = all.into_iter().map(|(_, value)| value).collect();
        json(StatusCode::OK, Value::Array(values).to_string())
    }))
}

async fn testbeds(State(desk): State<Desk>, headers: HeaderMap) -> Response {
    listed(&desk, &headers, Kind::Testbed).await
}

async fn testbed(
    State(desk): State<Desk>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Response {
    either(one(&desk, &headers, Kind::Testbed, &name).await)
}

/// By their names.
async fn jobs(State(desk): State<Desk>, headers: HeaderMap) -> Response {
    let found = all(&desk, &headers, Kind::BatchJob).await;
    either(found.map(|all| {
        let by_name: Map<String, Value> = all.into_iter().collect();
        json(StatusCode::OK, Value::Object(by_name).to_string())
    }))
}

async fn job(State(desk): State<Desk>, Path(name): Path<String>, headers: HeaderMap) -> Response {
    either(one(&desk, &headers, Kind::BatchJob, &name).await)
}

async fn schedulings(State(desk): State<Desk>, headers: HeaderMap) -> Response {
    listed(&desk, &headers, Kind::Scheduling).await
}

async fn scheduling(
    State(desk): State<Desk>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Response {
    either(one(&desk, &headers, Kind::Scheduling, &name).await)
}

/// Keeps in a BatchJob what a scheduler wants kept, and changes nothing else of it.
async fn keep(State(desk): State<Desk>, headers: HeaderMap, body: Body) -> Response {
    let answer = async {
        let namespace = desk.namespace.clone();
        let body = read(body).await?;
        let (name, kept) = earlier::kept(&body).map_err(|wrong| invalid(&wrong))?;
        desk.admit(
            &headers,
            "patch",
            Kind::BatchJob,
            Some(&namespace),
            Some(&name),
        )
        .await?;
        let text = Value::Object(kept).to_string();
        if text.len() > MOST_KEPT {
            let words = format!("has {} bytes, must have at most {MOST_KEPT}", text.len());
            return Err(invalid(&Invalid::new("externalScheduler", words)));
        }
        let asked = Write::Keep {
            namespace,
            name,
            text,
        };
        let view = desk.write(asked).await.map_err(|no| not_written(&no))?;
        Ok(answered(view))
    };
    either(answer.await)
}

fn answered(view: Option<View>) -> Response {
    match view {
        Some(view) => json(StatusCode::OK, shown(&view).to_string()),
        None => StatusCode::OK.into_response(),
    }
}

/// Makes a Scheduling, or replaces the one of its name: who asks has to have the right to both.
async fn write(State(desk): State<Desk>, headers: HeaderMap, body: Body) -> Response {
    let answer = async {
        let (kind, namespace) = (Kind::Scheduling, desk.namespace.as_str());
        desk.admit(&headers, "create", kind, Some(namespace), None)
            .await?;
        let body = read(body).await?;
        let wish = earlier::wish(&body, namespace).map_err(|wrong| invalid(&wrong))?;
        let view = match desk.write(Write::Create(wish.clone())).await {
            Err(refusal) if refusal.code == StatusCode::CONFLICT.as_u16() => {
                desk.admit(&headers, "update", kind, Some(namespace), Some(&wish.name))
                    .await?;
                desk.write(Write::Replace(wish)).await
            }
            other => other,
        };
        let view = view.map_err(|no| not_written(&no))?;
        Ok(answered(view))
    };
    either(answer.await)
}

/// One that is not there: nothing has changed.
async fn delete(
    State(desk): State<Desk>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Response {
    let answer = async {
        let (kind, namespace) = (Kind::Scheduling, desk.namespace.clone());
        desk.admit(&headers, "delete", kind, Some(&namespace), Some(&name))
            .await?;
        match desk.write(Write::Delete { namespace, name }).await {
            Ok(_) => Ok(StatusCode::OK.into_response()),
            Err(refusal) if refusal.code == StatusCode::NOT_FOUND.as_u16() => {
                Ok(StatusCode::NOT_MODIFIED.into_response())
            }
            Err(refusal) => Err(not_written(&refusal)),
        }
    };
    either(answer.await)
}
