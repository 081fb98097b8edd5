//! What kubectl sends in protobuf although nobody asked for it: `kubectl create namespace`, `kubectl drain`.
//!
//! Tags are those of the `generated.proto` files of Kubernetes. Of other kinds the way round is told.

use crate::failure::Failure;
use bytes::Bytes;
use muster_api::protobuf::open;
use prost::Message;
use serde_json::{Value, json};
use std::collections::BTreeMap;

#[derive(Message)]
struct Metadata {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "3")]
    namespace: String,
    #[prost(btree_map = "string, string", tag = "11")]
    labels: BTreeMap<String, String>,
    #[prost(btree_map = "string, string", tag = "12")]
    annotations: BTreeMap<String, String>,
}

/// A Namespace, as far as it is read.
#[derive(Message)]
struct Namespace {
    #[prost(message, optional, tag = "1")]
    metadata: Option<Metadata>,
}

/// An Eviction.
#[derive(Message)]
struct Eviction {
    #[prost(message, optional, tag = "2")]
    options: Option<DeleteOptions>,
}

/// How something is deleted.
#[derive(Message)]
struct DeleteOptions {
    #[prost(message, optional, tag = "2")]
    preconditions: Option<Preconditions>,
    #[prost(string, repeated, tag = "5")]
    dry_run: Vec<String>,
}

#[derive(Message)]
struct Preconditions {
    #[prost(string, optional, tag = "1")]
    uid: Option<String>,
}

impl DeleteOptions {
    fn in_json(&self) -> Value {
        let uid = self.preconditions.as_ref().and_then(|one| one.uid.as_ref());
        json!({"preconditions": {"uid": uid}, "dryRun": self.dry_run})
    }
}

/// What a body is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    Namespace,
    Eviction,
    Deletion,
}

/// A body in protobuf as it would be in JSON.
///
/// # Errors
/// It is none, or of another kind.
pub(crate) fn in_json(bytes: &Bytes, body: Option<Body>) -> Result<Value, Failure> {
    let Some(body) = body else {
        return Err(Failure::unsupported(
            "objects of this kind are read in JSON, not in protobuf: `kubectl create ... --dry-run=client -o yaml | \
             kubectl apply -f -` sends them so",
        ));
    };
    let wrong = |error: &dyn std::fmt::Display| Failure::bad_request(error.to_string());
    let inside = open(bytes).map_err(|error| wrong(&error))?;
    let value = match body {
        Body::Namespace => Namespace::decode(inside).map(|found| {
            let metadata = found.metadata.unwrap_or_default();
            json!({"metadata": {
                "name": metadata.name, "labels": metadata.labels, "annotations": metadata.annotations,
            }})
        }),
        Body::Eviction => Eviction::decode(inside).map(|found| {
            let options = found.options.unwrap_or_default();
            json!({"deleteOptions": options.in_json()})
        }),
        Body::Deletion => DeleteOptions::decode(inside).map(|found| found.in_json()),
    };
    value.map_err(|error| wrong(&error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_api::protobuf::sealed;

    #[test]
    fn namespaces_and_evictions_are_read() {
        let metadata = Metadata {
            name: "a".to_owned(),
            labels: BTreeMap::from([("x".to_owned(), "y".to_owned())]),
            ..Metadata::default()
        };
        let namespace = Namespace {
            metadata: Some(metadata),
        };
        let bytes = Bytes::from(sealed("v1", "Namespace", &namespace));
        let read = in_json(&bytes, Some(Body::Namespace)).unwrap();
        assert_eq!(read["metadata"]["name"], "a");
        assert_eq!(read["metadata"]["labels"]["x"], "y");
        let options = DeleteOptions {
            preconditions: Some(Preconditions {
                uid: Some("1".to_owned()),
            }),
            dry_run: vec!["All".to_owned()],
        };
        let eviction = Eviction {
            options: Some(options),
        };
        let bytes = Bytes::from(sealed("policy/v1", "Eviction", &eviction));
        let read = in_json(&bytes, Some(Body::Eviction)).unwrap();
        assert_eq!(read["deleteOptions"]["preconditions"]["uid"], "1");
    }

    #[test]
    fn of_other_kinds_the_way_round_is_told_and_what_is_no_protobuf_is_refused() {
        let error = in_json(&Bytes::new(), None).unwrap_err();
        assert_eq!(error.code, 415);
        assert!(error.message.contains("--dry-run=client"), "{error:?}");
        for bytes in [&b""[..], b"k8s\0\xff\xff", b"{}"] {
            let error = in_json(&Bytes::from_static(bytes), Some(Body::Namespace)).unwrap_err();
            assert_eq!(error.code, 400, "{bytes:?}");
        }
    }
}
