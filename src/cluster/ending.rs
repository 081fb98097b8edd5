//! The one place that says when a write of ours ends: the API server works on it for at most two
//! seconds, whoever of us sends it and in whatever way.
//!
//! What was sent has then happened or never will, soon enough for whoever leads next and for whoever
//! judges what became of it ([`WRITE_ENDS_WITHIN`]).

use http::uri::PathAndQuery;
use http::{Method, Request, Uri};
use muster_model::units::Millis;

/// After so long a write that was sent has happened or never will.
///
/// It is what three bounds come to, the clients' and the server's: bytes that the other end has
/// not confirmed within 0.4 s are thrown away by the kernel (`fenced_io`); the API server
/// works on a write for at most 2 s (`timeout=2s` in its address); and 0.1 s is for clocks that do
/// not run alike. The lanes wait for an answer as long.
pub const WRITE_ENDS_WITHIN: Millis = Millis(2_500);

/// How long the API server may work on a write. Shorter than anybody here waits for the answer.
const SERVER_TIMEOUT: &str = "timeout=2s";

/// The same request; a write with its end in its address.
#[must_use]
pub fn ending<B>(mut request: Request<B>) -> Request<B> {
    let reads = matches!(
        *request.method(),
        Method::GET | Method::HEAD | Method::OPTIONS
    );
    if !reads && let Some(uri) = with_end(request.uri()) {
        *request.uri_mut() = uri;
    }
    request
}

/// `None` where it is not an address with a path, which no request of ours lacks.
fn with_end(uri: &Uri) -> Option<Uri> {
    let query = match uri.query().unwrap_or_default().trim_end_matches('&') {
        "" => SERVER_TIMEOUT.to_owned(),
        others => format!("{others}&{SERVER_TIMEOUT}"),
    };
    let mut parts = uri.clone().into_parts();
    let path = format!("{}?{query}", uri.path());
    parts.path_and_query = Some(path.parse::<PathAndQuery>().ok()?);
    Uri::from_parts(parts).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(method: Method, uri: &str) -> String {
        let request = Request::builder().method(method).uri(uri).body(()).unwrap();
        ending(request).uri().to_string()
    }

    #[test]
    fn every_write_says_when_it_ends_and_no_read_does() {
        for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
            assert_eq!(sent(method.clone(), "/a/b"), "/a/b?timeout=2s");
            assert_eq!(sent(method.clone(), "/a/b?"), "/a/b?timeout=2s");
            let whole = "https://host:1/a?fieldManager=muster";
            assert_eq!(sent(method, whole), format!("{whole}&timeout=2s"));
        }
        assert_eq!(sent(Method::GET, "/a?watch=true"), "/a?watch=true");
    }
}
