//! Counting what is asked: by the route of a path, never by the path itself, of which anybody can make many.

use super::desk::Desk;
use axum::extract::{MatchedPath, Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;
use muster_cluster::Metrics;

/// What is served, and the code of success of each.
const SERVED: [(&str, &str, u16); 26] = [
    ("/", "GET", 200),
    ("/api/v1/openapi.json", "GET", 200),
    ("/api/v1/events", "GET", 200),
    ("/api/v1/testbeds", "GET", 200),
    ("/api/v1/testbeds/{name}", "GET", 200),
    ("/api/v1/namespaces/{namespace}/batchjobs", "GET", 200),
    (
        "/api/v1/namespaces/{namespace}/batchjobs/{name}",
        "GET",
        200,
    ),
    (
        "/api/v1/namespaces/{namespace}/batchjobs/{name}/external-scheduler",
        "PUT",
        200,
    ),
    ("/api/v1/namespaces/{namespace}/schedulings", "GET", 200),
    ("/api/v1/namespaces/{namespace}/schedulings", "POST", 201),
    (
        "/api/v1/namespaces/{namespace}/schedulings/{name}",
        "GET",
        200,
    ),
    (
        "/api/v1/namespaces/{namespace}/schedulings/{name}",
        "PUT",
        200,
    ),
    (
        "/api/v1/namespaces/{namespace}/schedulings/{name}",
        "DELETE",
        200,
    ),
    ("/external/testbeds", "GET", 200),
    ("/external/testbeds/{name}", "GET", 200),
    ("/external/jobs", "GET", 200),
    ("/external/jobs", "PUT", 200),
    ("/external/jobs/{name}", "GET", 200),
    ("/external/schedulings", "GET", 200),
    ("/external/schedulings", "POST", 200),
    ("/external/schedulings/{name}", "GET", 200),
    ("/external/schedulings/{name}", "DELETE", 200),
    ("/scheduler", "GET", 101),
    ("/scheduler/websocket", "GET", 101),
    ("/scheduler/info", "GET", 200),
    ("/scheduler/{server}/{session}/websocket", "GET", 101),
];
/// Whatever else somebody asks for.
const OTHER: &str = "other";

/// Has all that is served appear in the metrics, from the start.
pub fn show(metrics: &Metrics) {
    for (route, method, code) in SERVED {
        metrics.external.show(route, method, code);
    }
}

/// Counts a request by its answer.
pub(crate) async fn count(State(desk): State<Desk>, request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>().cloned();
    let method = known(request.method());
    let response = next.run(request).await;
    let route = path.as_ref().map_or(OTHER, MatchedPath::as_str);
    let code = response.status().as_u16();
    let external = &desk.metrics.external;
    // The same with a slash behind it is no other route.
    let end = if route.len() > 1 {
        route.trim_end_matches('/')
    } else {
        route
    };
    external.answered(end, method, code);
    response
}

/// A method, if it is one that HTTP has.
fn known(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => OTHER,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Bench;
    use super::*;
    use crate::book::Bounds;
    use std::collections::BTreeMap;

    /// What was counted: more than nothing, by route, method and code.
    fn counted(bench: &Bench) -> BTreeMap<String, String> {
        let text = bench.desk.metrics.text().unwrap();
        let lines = text.lines().filter_map(|line| {
            let (name, value) = line.rsplit_once(' ')?;
            let name = name.strip_prefix("muster_external_")?;
            (value != "0").then(|| (name.to_owned(), value.to_owned()))
        });
        lines.collect()
    }

    #[tokio::test]
    async fn requests_are_counted_by_route_and_never_by_path() {
        let bench = Bench::of(Bounds::default());
        for name in ["bed", "bed", "nobody"] {
            let line = format!("GET /api/v1/testbeds/{name}");
            bench.ask("all", &line, "").await;
        }
        bench.ask("all", "GET /external/jobs/", "").await;
        bench.ask("all", "BREW /api/v1/testbeds", "").await;
        for line in ["GET /a", "GET /b", "PUT /c"] {
            bench.ask("all", line, "").await;
        }
        bench.ask("", "GET /api/v1/testbeds", "").await;
        let expected = [
            (r#"refusals_total{reason="unknown"}"#, "1"),
            (
                r#"requests_total{code="200",method="GET",route="/api/v1/testbeds/{name}"}"#,
                "2",
            ),
            (
                r#"requests_total{code="200",method="GET",route="/external/jobs"}"#,
                "1",
            ),
            (
                r#"requests_total{code="401",method="GET",route="/api/v1/testbeds"}"#,
                "1",
            ),
            (
                r#"requests_total{code="404",method="GET",route="/api/v1/testbeds/{name}"}"#,
                "1",
            ),
            (
                r#"requests_total{code="404",method="GET",route="other"}"#,
                "2",
            ),
            (
                r#"requests_total{code="404",method="PUT",route="other"}"#,
                "1",
            ),
            (
                r#"requests_total{code="405",method="other",route="/api/v1/testbeds"}"#,
                "1",
            ),
        ];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(counted(&bench), expected.into());
    }

    #[tokio::test]
    async fn what_is_shown_from_the_start_is_what_is_served() {
        let bench = Bench::of(Bounds::default());
        for (route, method, _) in SERVED {
            let path = route.replace(['{', '}'], "");
            let (code, _) = bench.ask("", &format!("{method} {path}"), "").await;
            let name =
                format!(r#"requests_total{{code="{code}",method="{method}",route="{route}"}}"#);
            assert_ne!(code, 405, "{route} {method}");
            assert!(counted(&bench).contains_key(&name), "{name}");
        }
        let description: serde_json::Value =
            serde_json::from_str(include_str!("openapi.json")).unwrap();
        for (path, methods) in description["paths"].as_object().unwrap() {
            for method in methods.as_object().unwrap().keys() {
                let method = method.to_uppercase();
                if !["GET", "PUT", "POST", "DELETE"].contains(&method.as_str()) {
                    continue;
                }
                let is_it = |(route, known, _): &(&str, &str, u16)| {
                    *route == path.as_str() && *known == method
                };
                assert!(SERVED.iter().any(is_it), "{method} {path}");
            }
        }
    }

    #[tokio::test]
    async fn streams_count_as_long_as_they_are_open() {
        let bench = Bench::of(Bounds::default());
        let open = bench.ask_for_stream().await;
        assert_eq!(counted(&bench)[r#"streams{stream="events"}"#], "1");
        drop(open);
        assert!(!counted(&bench).contains_key(r#"streams{stream="events"}"#));
    }
}
