//! Who wrote what and when, as the API server's audit log has it.

use jiff::Timestamp;
use muster_devcluster::ControlPlane;
use serde_json::Value;
use std::fmt;

/// A write.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    /// `create`, `patch`, `delete` ...
    pub(crate) verb: String,
    /// Without the query.
    pub(crate) path: String,
    /// The answer's status code.
    pub(crate) code: u64,
    /// When the API server got it.
    pub(crate) came: Timestamp,
    /// When it was done.
    pub(crate) done: Timestamp,
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.verb, self.path, self.code)
    }
}

/// What this user wrote, in the order in which it was done.
pub(crate) fn written(plane: &ControlPlane, user: &str) -> Vec<Written> {
    let text = |event: &Value, place: &str| {
        let found = event.pointer(place).and_then(Value::as_str);
        found.unwrap_or_default().to_owned()
    };
    let time = |event: &Value, place: &str| text(event, place).parse::<Timestamp>().unwrap();
    let log = plane.audit().unwrap();
    let of_user = log
        .iter()
        .filter(|event| text(event, "/user/username") == user);
    let mut all: Vec<Written> = of_user
        .map(|event| Written {
            verb: text(event, "/verb"),
            path: text(event, "/requestURI")
                .split('?')
                .next()
                .unwrap()
                .to_owned(),
            code: event["responseStatus"]["code"].as_u64().unwrap_or_default(),
            came: time(event, "/requestReceivedTimestamp"),
            done: time(event, "/stageTimestamp"),
        })
        .collect();
    all.sort_by_key(|one| one.done);
    all
}

/// The time as the API server tells it.
#[expect(clippy::disallowed_methods, reason = "the audit log tells real time")]
pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}
