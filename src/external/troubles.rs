//! What is wrong with a watch, in words for the log: the same for all kinds.

use kube::core::error_boundary::InvalidObject;
use kube::runtime::watcher;

/// Says that an object is not shown, for it cannot be read.
pub(super) fn say_left_out(kind: &str, name: &str, invalid: &InvalidObject) {
    let why = &invalid.error;
    tracing::warn!(
        kind,
        name,
        why,
        "an object cannot be read, and is not shown"
    );
}

/// Says that a watch failed.
pub(super) fn say_failed(kind: &str, error: &watcher::Error) {
    tracing::warn!(kind, %error, "a watch of the external interface failed");
}
