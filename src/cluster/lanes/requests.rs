//! The exact requests that Muster writes with. Nothing here sends anything.
//!
//! Bodies are minimal. Every write to an object names its uid, so that it never touches another
//! one that took the name. When a write ends is added where it is sent ([`ending`](crate::ending)).

use super::about::{About, api_version, plural};
use crate::attempt::Target;
use crate::clock::wall;
use crate::encoding::Encoding;
use crate::words::{Word, Write};
use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use http::{Method, Request};
use jiff::Timestamp;
use kube::client::Body;
use muster_api::names::{DISRUPTION_TARGET, PREEMPTION, SLOT};
use muster_api::protobuf::{self, ObjectReference, WrittenMeta};
use muster_model::units::Time;
use muster_model::{GangKey, PodKey, Source};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Who writes: `reportingController` of events and the manager of fields.
pub(super) const CONTROLLER: &str = "muster";

const JSON: &str = "application/json";
const MERGE_PATCH: &str = "application/merge-patch+json";
const STRATEGIC_PATCH: &str = "application/strategic-merge-patch+json";

/// A request, or why the object's name does not make one.
pub type Made = Result<Request<Body>, http::Error>;

/// `POST pods/NAME/binding`.
///
/// # Errors
/// When the pod's name cannot stand in a path.
pub fn bind(pod: &PodKey, target: &Target, encoding: Encoding) -> Made {
    let body = match encoding {
        Encoding::Json => {
            let mut metadata =
                json!({"namespace": pod.namespace, "name": pod.name, "uid": pod.uid});
            if target.slot.is_some() {
                metadata["annotations"] = json!(annotations(target));
            }
            in_json(&json!({
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": metadata,
                "target": {"apiVersion": "v1", "kind": "Node", "name": target.node},
            }))
        }
        Encoding::Protobuf => protobuf::sealed("v1", "Binding", &binding(pod, target)),
    };
    post(&format!("{}/binding", path_of(pod)), encoding, body)
}

/// What the API server writes into the pod with the binding (source: `assignPod` of its pod storage).
fn annotations(target: &Target) -> BTreeMap<String, String> {
    let slot = target.slot.map(|slot| (SLOT.to_owned(), slot.to_string()));
    slot.into_iter().collect()
}

fn binding(pod: &PodKey, target: &Target) -> protobuf::Binding {
    let pod = pod.clone();
    protobuf::Binding {
        metadata: WrittenMeta {
            name: pod.name,
            namespace: pod.namespace,
            uid: pod.uid,
            annotations: annotations(target),
        },
        target: ObjectReference {
            api_version: "v1".to_owned(),
            kind: "Node".to_owned(),
            name: target.node.clone(),
            ..ObjectReference::default()
        },
    }
}

/// `GET pods/NAME`.
pub(super) fn read(pod: &PodKey) -> Made {
    Request::get(path_of(pod))
        .header(ACCEPT, HeaderValue::from_static(JSON))
        .body(Body::empty())
}

/// `DELETE pods/NAME`, of this uid only.
pub(super) fn delete(pod: &PodKey) -> Made {
    let body = json!({
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"uid": pod.uid},
    });
    write(Method::DELETE, &path_of(pod), JSON, &body)
}

/// Condition `DisruptionTarget` on a pod that is about to be evicted.
pub(super) fn disruption_target(pod: &PodKey, message: &str, now: Timestamp) -> Made {
    let condition = json!({
        "type": DISRUPTION_TARGET,
        "status": "True",
        "reason": PREEMPTION,
        "message": message,
        "lastTransitionTime": seconds(now),
    });
    pod_status(pod, json!({"status": {"conditions": [condition]}}))
}

/// Strategic merge: conditions of other types stay, and fields that are not named.
fn pod_status(pod: &PodKey, patch: Value) -> Made {
    let path = format!("{}/status", path_of(pod));
    status(&path, &pod.uid, STRATEGIC_PATCH, patch)
}

fn status(path: &str, uid: &str, kind_of_patch: &'static str, mut patch: Value) -> Made {
    patch["metadata"]["uid"] = json!(uid);
    write(Method::PATCH, path, kind_of_patch, &patch)
}

/// What is said of an object, where that kind keeps it. Conditions that others put beside ours stay on
/// kinds that are built in; a kind of a CRD knows no strategic merge.
pub(super) fn word(write: &Write, now: Timestamp) -> Made {
    let said = write.status(now);
    let patch = said.map_or_else(|| json!({"status": {}}), |said| said.patch());
    match &write.word {
        Word::Gang(one) => {
            // A kind that is built in has conditions of others', and Volcano's has no subresource.
            let (subresource, kind_of_patch) = match one.source {
                Source::Volcano => ("", MERGE_PATCH),
                Source::Upstream => ("/status", STRATEGIC_PATCH),
                Source::Muster
                | Source::Coscheduling
                | Source::SchedulingSpec
                | Source::Implied => ("/status", MERGE_PATCH),
            };
            let (group, plural) = (api_version(one.source), plural(one.source));
            let GangKey {
                namespace, name, ..
            } = &one.gang;
            let path = format!("/apis/{group}/namespaces/{namespace}/{plural}/{name}{subresource}");
            status(&path, &one.uid, kind_of_patch, patch)
        }
        Word::Queue(one) => {
            let path = format!("/apis/muster.dev/v1alpha1/queues/{}/status", one.queue);
            status(&path, &one.uid, MERGE_PATCH, patch)
        }
        Word::Topology(one) => {
            let name = &one.topology;
            let path = format!("/apis/muster.dev/v1alpha1/topologies/{name}/status");
            status(&path, &one.uid, MERGE_PATCH, patch)
        }
        Word::Pod(order) => {
            let mut patch = patch;
            if let Some(version) = write.only_at() {
                patch["metadata"] = json!({"resourceVersion": version});
            }
            pod_status(&order.pod, patch)
        }
    }
}

/// What an event says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EventText<'a> {
    /// `Normal` or `Warning`.
    pub(super) kind: &'static str,
    /// At most 128 bytes.
    pub(super) reason: &'static str,
    /// At most 128 bytes.
    pub(super) action: &'static str,
    /// In words; cut to what an event may hold.
    pub(super) note: &'a str,
}

/// An event that is to be posted.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewEvent<'a> {
    /// About what.
    pub(super) about: &'a About,
    /// What it says.
    pub(super) text: EventText<'a>,
    /// The name of this process.
    pub(super) instance: &'a str,
    /// When.
    pub(super) now: Time,
    /// Makes the name unique.
    pub(super) serial: u64,
}

/// `POST events`.
pub(super) fn event(new: NewEvent<'_>, encoding: Encoding) -> Made {
    let body = match encoding {
        Encoding::Json => in_json(&new.json()),
        Encoding::Protobuf => protobuf::sealed("events.k8s.io/v1", "Event", &new.message()),
    };
    let namespace = &new.about.namespace;
    let path = format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events");
    post(&path, encoding, body)
}

impl NewEvent<'_> {
    fn name(&self) -> String {
        let name = cut(&self.about.name, MAX_NAME - 34);
        format!("{name}.{:016x}{:016x}", self.now.0, self.serial)
    }

    fn json(&self) -> Value {
        let (about, text) = (self.about, self.text);
        json!({
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"namespace": about.namespace, "name": self.name()},
            "type": text.kind,
            "reason": text.reason,
            "action": text.action,
            "note": cut(text.note, MAX_NOTE),
            "eventTime": micros(wall(self.now)),
            "reportingController": CONTROLLER,
            "reportingInstance": cut(self.instance, MAX_INSTANCE),
            "regarding": {
                "apiVersion": about.api_version,
                "kind": about.kind,
                "namespace": about.namespace,
                "name": about.name,
                "uid": about.uid,
            },
        })
    }

    fn message(&self) -> protobuf::Event {
        let (about, text) = (self.about.clone(), self.text);
        protobuf::Event {
            metadata: WrittenMeta {
                name: self.name(),
                namespace: about.namespace.clone(),
                ..WrittenMeta::default()
            },
            kind: text.kind.to_owned(),
            reason: text.reason.to_owned(),
            action: text.action.to_owned(),
            note: cut(text.note, MAX_NOTE).to_owned(),
            event_time: wall(self.now).into(),
            reporting_controller: CONTROLLER.to_owned(),
            reporting_instance: cut(self.instance, MAX_INSTANCE).to_owned(),
            regarding: ObjectReference {
                api_version: about.api_version.to_owned(),
                kind: about.kind.to_owned(),
                namespace: about.namespace,
                name: about.name,
                uid: about.uid,
            },
        }
    }
}

/// Bytes in an object's name.
const MAX_NAME: usize = 253;
/// Bytes in `reportingInstance`.
const MAX_INSTANCE: usize = 128;
/// Bytes in `note` (source: validation of events.k8s.io/v1).
const MAX_NOTE: usize = 1024;

/// The longest beginning of `text` of at most `limit` bytes that ends between characters.
#[must_use]
pub(super) fn cut(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

fn path_of(pod: &PodKey) -> String {
    format!("/api/v1/namespaces/{}/pods/{}", pod.namespace, pod.name)
}

fn write(method: Method, path: &str, content: &'static str, body: &Value) -> Made {
    send(method, path, [content, JSON], in_json(body))
}

/// What may be written in both encodings is answered in both.
fn post(path: &str, encoding: Encoding, body: Vec<u8>) -> Made {
    let content_and_accept = match encoding {
        Encoding::Json => [JSON, JSON],
        Encoding::Protobuf => [protobuf::MEDIA_TYPE, protobuf::EITHER],
    };
    send(Method::POST, path, content_and_accept, body)
}

fn in_json(body: &Value) -> Vec<u8> {
    body.to_string().into_bytes()
}

fn send(method: Method, path: &str, [content, accept]: [&'static str; 2], body: Vec<u8>) -> Made {
    Request::builder()
        .method(method)
        .uri(format!("{path}?fieldManager={CONTROLLER}"))
        .header(CONTENT_TYPE, HeaderValue::from_static(content))
        .header(ACCEPT, HeaderValue::from_static(accept))
        .body(Body::from(body))
}

fn seconds(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn micros(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(cut("abc", 5), "abc");
        assert_eq!(cut("aé", 2), "a");
        assert_eq!(cut("日本", 4), "日");
        assert_eq!(cut("", 0), "");
    }

    #[test]
    fn times_are_written_as_kubernetes_reads_them() {
        let at = Timestamp::from_microsecond(1_700_000_000_123_456).unwrap();
        assert_eq!(seconds(at), "2023-11-14T22:13:20Z");
        assert_eq!(micros(at), "2023-11-14T22:13:20.123456Z");
    }

    #[test]
    fn the_name_of_an_event_fits_whatever_the_pod_is_called() {
        let pod = PodKey {
            namespace: "ns".to_owned(),
            name: "p".repeat(253),
            uid: "u".to_owned(),
        };
        let text = EventText {
            kind: "Normal",
            reason: "Scheduled",
            action: "Binding",
            note: "",
        };
        let about = About::from(&pod);
        let new = NewEvent {
            about: &about,
            text,
            instance: "muster",
            now: Time(u64::MAX),
            serial: u64::MAX,
        };
        assert_eq!(new.name().len(), 252);
        for encoding in [Encoding::Json, Encoding::Protobuf] {
            assert!(event(new, encoding).is_ok());
        }
    }
}
