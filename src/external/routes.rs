//! `/api/v1`: Testbeds, BatchJobs and Schedulings, and the description of all that.

use super::desk::{
    Answer, Desk, either, invalid, items, json, no_such, not_written, read, refused, shown,
};
use super::views::{Key, Kind, MOST_KEPT};
use super::wishes::{self, Invalid, Write};
use super::{counted, earlier_routes, page, stomp, stream};
use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, put};

/// All pages.
pub fn router(desk: Desk) -> Router {
    let of_namespace = "/api/v1/namespaces/{namespace}";
    let paths = |rest: &str| format!("{of_namespace}/{rest}");
    Router::new()
        .route("/", get(page::page))
        .route("/api/v1/openapi.json", get(description))
        .route("/api/v1/events", get(stream::events))
        .route("/api/v1/testbeds", get(testbeds))
        .route("/api/v1/testbeds/{name}", get(testbed))
        .route(&paths("batchjobs"), get(jobs))
        .route(&paths("batchjobs/{name}"), get(job))
        .route(&paths("batchjobs/{name}/external-scheduler"), put(keep))
        .route(&paths("schedulings"), get(schedulings).post(create))
        .route(
            &paths("schedulings/{name}"),
            get(scheduling).put(replace).delete(delete),
        )
        .merge(earlier_routes::router())
        .merge(stomp::router())
        .fallback(nowhere)
        .method_not_allowed_fallback(not_so)
        .layer(from_fn_with_state(desk.clone(), counted::count))
        .with_state(desk)
}

async fn nowhere() -> Response {
    refused(StatusCode::NOT_FOUND, "there is no such path")
}

async fn not_so() -> Response {
    let words = "this path does not know this method";
    refused(StatusCode::METHOD_NOT_ALLOWED, words)
}

async fn description() -> Response {
    json(StatusCode::OK, include_str!("openapi.json").to_owned())
}

async fn testbeds(State(desk): State<Desk>, headers: HeaderMap) -> Response {
    either(list(&desk, &headers, Kind::Testbed, None).await)
}

async fn testbed(
    State(desk): State<Desk>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Response {
    either(one(&desk, &headers, Kind::Testbed, None, &name).await)
}

async fn jobs(
    State(desk): State<Desk>,
    Path(namespace): Path<String>,
    headers: HeaderMap,
) -> Response {
    either(list(&desk, &headers, Kind::BatchJob, Some(&namespace)).await)
}

async fn job(
    State(desk): State<Desk>,
    Path((namespace, name)): Path<(String, String)>,
    headers: HeaderMap,
) -> Response {
    either(one(&desk, &headers, Kind::BatchJob, Some(&namespace), &name).await)
}

async fn schedulings(
    State(desk): State<Desk>,
    Path(namespace): Path<String>,
    headers: HeaderMap,
) -> Response {
    either(list(&desk, &headers, Kind::Scheduling, Some(&namespace)).await)
}

async fn scheduling(
    State(desk): State<Desk>,
    Path((namespace, name)): Path<(String, String)>,
    headers: HeaderMap,
) -> Response {
    either(one(&desk, &headers, Kind::Scheduling, Some(&namespace), &name).await)
}

async fn list(desk: &Desk, headers: &HeaderMap, kind: Kind, namespace: Option<&str>) -> Answer {
    desk.admit_reader(headers, "list", kind, namespace, None)
        .await?;
    let found = desk.book.list(kind, namespace);
    let texts = found.iter().map(|held| held.text.as_str());
    Ok(items(texts, desk.book.left_out()))
}

async fn one(
    desk: &Desk,
    headers: &HeaderMap,
    kind: Kind,
    namespace: Option<&str>,
    name: &str,
) -> Answer {
    desk.admit_reader(headers, "get", kind, namespace, Some(name))
        .await?;
    let key = Key::new(kind, namespace.unwrap_or_default(), name);
    let held = desk.book.get(&key).ok_or_else(|| no_such(kind, name))?;
    Ok(json(StatusCode::OK, held.text.clone()))
}

async fn create(
    State(desk): State<Desk>,
    Path(namespace): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    either(
        async {
            let kind = Kind::Scheduling;
            desk.admit(&headers, "create", kind, Some(&namespace), None)
                .await?;
            let body = read(body).await?;
            let wish =
                wishes::scheduling(&body, &namespace, None).map_err(|wrong| invalid(&wrong))?;
            write(&desk, Write::Create(wish), StatusCode::CREATED).await
        }
        .await,
    )
}

async fn replace(
    State(desk): State<Desk>,
    Path((namespace, name)): Path<(String, String)>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    either(
        async {
            let kind = Kind::Scheduling;
            desk.admit(&headers, "update", kind, Some(&namespace), Some(&name))
                .await?;
            let body = read(body).await?;
            let wish = wishes::scheduling(&body, &namespace, Some(&name))
                .map_err(|wrong| invalid(&wrong))?;
            write(&desk, Write::Replace(wish), StatusCode::OK).await
        }
        .await,
    )
}

async fn delete(
    State(desk): State<Desk>,
    Path((namespace, name)): Path<(String, String)>,
    headers: HeaderMap,
) -> Response {
    either(
        async {
            let kind = Kind::Scheduling;
            desk.admit(&headers, "delete", kind, Some(&namespace), Some(&name))
                .await?;
            let asked = Write::Delete { namespace, name };
            write(&desk, asked, StatusCode::OK).await
        }
        .await,
    )
}

async fn keep(
    State(desk): State<Desk>,
    Path((namespace, name)): Path<(String, String)>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    either(
        async {
            let kind = Kind::BatchJob;
            desk.admit(&headers, "patch", kind, Some(&namespace), Some(&name))
                .await?;
            let body = read(body).await?;
            let kept = wishes::object(&body).map_err(|wrong| invalid(&wrong))?;
            let text = serde_json::Value::Object(kept).to_string();
            if text.len() > MOST_KEPT {
                let words = format!("has {} bytes, must have at most {MOST_KEPT}", text.len());
                return Err(invalid(&Invalid::new("", words)));
            }
            let asked = Write::Keep {
                namespace,
                name,
                text,
            };
            write(&desk, asked, StatusCode::OK).await
        }
        .await,
    )
}

async fn write(desk: &Desk, write: Write, code: StatusCode) -> Answer {
    match desk.write(write).await {
        Ok(Some(view)) => Ok(shown(code, &view)),
        Ok(None) => Ok(StatusCode::NO_CONTENT.into_response()),
        Err(refusal) => Err(not_written(&refusal)),
    }
}
