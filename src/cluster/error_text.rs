//! The client's errors in words: what the API server said, or how far a request came. The
//! library's own show its types, and hide what the system said.

use kube::core::Status;
use kube::runtime::watcher;
use std::error::Error;
use std::iter::successors;

/// So many causes of causes are told.
const MAX_CAUSES: usize = 8;

/// A request that failed.
#[must_use]
pub fn request(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => said(status),
        kube::Error::Service(cause) => chain(cause.as_ref()),
        kube::Error::ReadEvents(cause) => chain(cause),
        other => chain(other),
    }
}

/// A list or a watch that failed.
#[must_use]
pub fn watch(error: &watcher::Error) -> String {
    match error {
        watcher::Error::InitialListFailed(cause) => format!("list: {}", request(cause)),
        watcher::Error::WatchStartFailed(cause) | watcher::Error::WatchFailed(cause) => {
            format!("watch: {}", request(cause))
        }
        watcher::Error::WatchError(status) => format!("watch: {}", said(status)),
        watcher::Error::NoResourceVersion => error.to_string(),
    }
}

fn said(status: &Status) -> String {
    let words = [&status.message, &status.reason];
    let words = words.into_iter().find(|words| !words.is_empty());
    words.map_or_else(
        || format!("HTTP {}", status.code),
        |words| format!("{words} (HTTP {})", status.code),
    )
}

/// An error and what caused it, without saying twice what an error says of its own cause.
#[must_use]
pub fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    for cause in causes(error).take(MAX_CAUSES) {
        let more = cause.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
    }
    text
}

fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    successors(error.source(), |cause: &&'a (dyn Error + 'static)| {
        (*cause).source()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("client error (Connect)")]
    struct Outer(#[source] std::io::Error);

    #[test]
    fn what_the_server_said_is_told_without_the_types_it_came_in() {
        let status = Status::failure("pods is forbidden", "Forbidden").with_code(403);
        let error = watcher::Error::InitialListFailed(kube::Error::Api(status.boxed()));
        assert_eq!(watch(&error), "list: pods is forbidden (HTTP 403)");
        let status = Status::failure("", "").with_code(500).boxed();
        assert_eq!(request(&kube::Error::Api(status)), "HTTP 500");
    }

    #[test]
    fn how_far_a_request_came_is_told_down_to_the_system() {
        let refused = std::io::Error::other("Connection refused");
        let error = kube::Error::Service(Box::new(Outer(refused)));
        assert_eq!(
            watch(&watcher::Error::WatchStartFailed(error)),
            "watch: client error (Connect): Connection refused"
        );
    }
}
