//! By what an object is known from one piece of news to the next.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use muster_model::Source;

/// An object's identity: the name may be used again, the uid never is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity {
    /// Namespace; empty for cluster-scoped kinds.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// Uid.
    pub uid: String,
}

impl Identity {
    /// That of the object with this metadata.
    #[must_use]
    pub fn of(meta: &ObjectMeta) -> Self {
        Self {
            namespace: meta.namespace.clone().unwrap_or_default(),
            name: meta.name.clone().unwrap_or_default(),
            uid: meta.uid.clone().unwrap_or_default(),
        }
    }
}

/// An object of which something is said. Uids are never used again.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// The PodGroup of this kind and uid.
    Gang(Source, String),
    /// The Queue of this uid.
    Queue(String),
    /// The Topology of this uid.
    Topology(String),
    /// The pod of this uid.
    Pod(String),
}
