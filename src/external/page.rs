//! The web page: one file, with a policy that lets it load nothing and run only what is in it.

use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

/// The page, in which this word stands for the nonce.
const PAGE: &str = include_str!("page.html");
const NONCE: &str = "NONCE-OF-THIS-ANSWER";

pub(crate) async fn page() -> Response {
    // Two keys that nobody outside can foresee.
    let part = || RandomState::new().hash_one(0);
    let nonce = format!("{:016x}{:016x}", part(), part());
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8".to_owned()),
        (CACHE_CONTROL, "no-store".to_owned()),
        (CONTENT_SECURITY_POLICY, policy),
    ];
    let more = [
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
    ];
    (headers, more, PAGE.replace(NONCE, &nonce)).into_response()
}
