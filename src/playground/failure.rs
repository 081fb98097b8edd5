//! What an API server says where it does not do what it is asked.

use crate::resources::Resource;
use serde_json::{Value, json};

/// Why something is not done, as the `Status` that clients of Kubernetes read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) code: u16,
    reason: &'static str,
    pub(crate) message: String,
    /// Of which object: its resource, group and name.
    details: Option<Box<(String, String, String)>>,
}

impl Failure {
    fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason,
            message: message.into(),
            details: None,
        }
    }

    fn of(self, resource: &Resource, name: &str) -> Self {
        let (plural, group) = (resource.plural.clone(), resource.group.clone());
        Self {
            details: Some(Box::new((plural, group, name.to_owned()))),
            ..self
        }
    }

    /// What was sent cannot be understood.
    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// Whoever asks is not whom this is for, or there is too much already.
    pub(crate) fn forbidden(message: impl Into<String>) -> Self {
        Self::new(403, "Forbidden", message)
    }

    /// There is nothing at this path.
    pub(crate) fn no_such_path(path: &str) -> Self {
        let message = format!(
            "the playground serves nothing at {path}; `kubectl api-resources` tells what it serves"
        );
        Self::new(404, "NotFound", message)
    }

    /// There is no such object.
    pub(crate) fn not_found(resource: &Resource, name: &str) -> Self {
        let message = format!("{} \"{name}\" not found", resource.full_name());
        Self::new(404, "NotFound", message).of(resource, name)
    }

    /// That cannot be done to it.
    pub(crate) fn not_allowed(message: impl Into<String>) -> Self {
        Self::new(405, "MethodNotAllowed", message)
    }

    /// The name is taken.
    pub(crate) fn exists(resource: &Resource, name: &str) -> Self {
        let message = format!("{} \"{name}\" already exists", resource.full_name());
        Self::new(409, "AlreadyExists", message).of(resource, name)
    }

    /// It is another one, or another version of it.
    pub(crate) fn conflict(resource: &Resource, name: &str, why: &str) -> Self {
        let full = resource.full_name();
        let message = format!("Operation cannot be fulfilled on {full} \"{name}\": {why}");
        Self::new(409, "Conflict", message).of(resource, name)
    }

    /// What is older than this is not known any more.
    pub(crate) fn expired(version: u64, oldest: u64) -> Self {
        let message = format!("too old resource version: {version} ({oldest})");
        Self::new(410, "Expired", message)
    }

    /// Too many bytes.
    pub(crate) fn too_large(most: usize) -> Self {
        let message = format!("the request is too large: at most {most} bytes are read");
        Self::new(413, "RequestEntityTooLarge", message)
    }

    /// It did not come in time.
    pub(crate) fn too_slow(message: impl Into<String>) -> Self {
        Self::new(408, "Timeout", message)
    }

    /// It is written in a form that is not read.
    pub(crate) fn unsupported(message: impl Into<String>) -> Self {
        Self::new(415, "UnsupportedMediaType", message)
    }

    /// What is in it cannot be.
    pub(crate) fn unprocessable(message: impl Into<String>) -> Self {
        Self::new(422, "Invalid", message)
    }

    /// It is an object that cannot be.
    pub(crate) fn invalid(resource: &Resource, name: &str, why: &str) -> Self {
        let message = format!("{} \"{name}\" is invalid: {why}", resource.kind);
        Self::new(422, "Invalid", message).of(resource, name)
    }

    /// As it is sent.
    pub(crate) fn status(&self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "reason": self.reason, "code": self.code,
        });
        if let Some(details) = &self.details {
            let (plural, group, name) = &**details;
            status["details"] = json!({"name": name, "group": group, "kind": plural});
        }
        status
    }
}
