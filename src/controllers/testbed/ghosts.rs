//! Ghosts: the pods that hold free slots, as they are made and as they are found.

use super::Settings;
use super::slots::truncated;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use muster_api::kinds::is_older;
use muster_api::{names, slim, slots};
use muster_model::Amounts;
use muster_model::units::Time;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The group of our kinds.
const GROUP: &str = "muster.dev/";
/// The most that the value of a label may have.
const LABEL: usize = 63;
/// How much of what is said of a pod is said again.
const WORDS: usize = 300;

/// What a ghost is made for.
#[derive(Clone, Copy, Debug)]
pub struct Hold<'a> {
    /// The name of the Testbed.
    pub testbed: &'a str,
    /// Its uid.
    pub testbed_uid: &'a str,
    /// What a slot asks for.
    pub request: &'a BTreeMap<String, Quantity>,
    /// The node of the slot.
    pub node: &'a str,
    /// The name of the ghost.
    pub ghost: &'a str,
}

/// The pod that holds a slot. It is not bound here: that is the scheduler's work.
#[must_use]
pub fn body(hold: &Hold<'_>, settings: &Settings) -> Value {
    let mut resources = Map::new();
    resources.insert("requests".to_owned(), json!(hold.request));
    // Of what a node cannot have promised twice, the API server asks for a limit as well.
    let limited = hold.request.iter().filter(|(name, _)| is_exclusive(name));
    let limited: BTreeMap<_, _> = limited.collect();
    if !limited.is_empty() {
        resources.insert("limits".to_owned(), json!(limited));
    }
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "namespace": settings.ghost_namespace,
            "name": hold.ghost,
            "labels": {names::GHOST_OF: truncated(hold.testbed, LABEL)},
            "ownerReferences": [{
                "apiVersion": "muster.dev/v1alpha1",
                "kind": "Testbed",
                "name": hold.testbed,
                "uid": hold.testbed_uid,
                "controller": true,
                "blockOwnerDeletion": false,
            }],
        },
        "spec": {
            "schedulerName": settings.scheduler_name,
            "priorityClassName": settings.priority_class,
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": false,
            "enableServiceLinks": false,
            "tolerations": [{"operator": "Exists"}],
            "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchFields": [
                    {"key": "metadata.name", "operator": "In", "values": [hold.node]},
                ]}],
            }}},
            "securityContext": {
                "runAsNonRoot": true,
                "runAsUser": 65535,
                "runAsGroup": 65535,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [{
                "name": "ghost",
                "image": settings.image,
                "resources": resources,
                "securityContext": {
                    "allowPrivilegeEscalation": false,
                    "readOnlyRootFilesystem": true,
                    "capabilities": {"drop": ["ALL"]},
                },
            }],
        },
    })
}

/// Whether a resource is one of which requests and limits have to be the same (source:
/// `ValidateResourceRequirements`: what may not be overcommitted).
pub(crate) fn is_exclusive(name: &str) -> bool {
    let of_kubernetes = name
        .split_once('/')
        .is_none_or(|(domain, _)| domain == "kubernetes.io" || domain.ends_with(".kubernetes.io"));
    name.starts_with("hugepages-") || !of_kubernetes
}

/// A pod that is a ghost by where it is and whose it is.
#[derive(Clone, Debug)]
pub(super) struct Ghost {
    pub(super) uid: String,
    pub(super) version: String,
    /// The uid of its Testbed.
    pub(super) owner: String,
    /// Where it is bound.
    pub(super) node: Option<String>,
    /// It is about to go.
    pub(super) terminating: bool,
    /// The scheduler told it that it goes for somebody.
    pub(super) gives_way: bool,
    /// Its containers have ended: it holds nothing.
    finished: bool,
    asks_for: Amounts,
    scheduler: String,
    /// Why it is not bound.
    pub(super) waits_for: Option<String>,
    /// It was deleted, or made, by us at this time, and nobody has told of that yet.
    pub(super) untold: Option<Time>,
}

/// The owner of a pod that is a ghost: it is in the namespace of the ghosts, and controlled by a Testbed.
fn owner<'a>(pod: &'a slim::Pod, settings: &Settings) -> Option<&'a OwnerReference> {
    let meta = &pod.metadata;
    if meta.namespace.as_deref() != Some(settings.ghost_namespace.as_str()) {
        return None;
    }
    let mut owners = meta.owner_references.iter().flatten();
    owners.find(|owner| owner.kind == "Testbed" && owner.api_version.starts_with(GROUP))
}

/// Whether this is how a scheduler tells a pod that somebody else gets its room; who drains a node has other reasons.
fn tells_to_give_way(one: &slim::PodCondition) -> bool {
    one.kind == names::DISRUPTION_TARGET && one.status == "True" && one.reason == names::PREEMPTION
}

impl Ghost {
    /// Reads a pod; `None` if it is no ghost.
    pub(super) fn read(pod: &slim::Pod, settings: &Settings) -> Option<Self> {
        let owner = owner(pod, settings)?;
        let (meta, spec, status) = (&pod.metadata, &pod.spec, &pod.status);
        let mut conditions = status.conditions.iter();
        let waits = conditions.find(|one| one.kind == "PodScheduled" && one.status == "False");
        let node = (!spec.node_name.is_empty()).then(|| spec.node_name.clone());
        let words = waits.map(|one| one.message.chars().take(WORDS).collect());
        Some(Self {
            uid: meta.uid.clone().unwrap_or_default(),
            version: meta.resource_version.clone().unwrap_or_default(),
            owner: owner.uid.clone(),
            waits_for: words.filter(|_| node.is_none()),
            node,
            terminating: meta.deletion_timestamp.is_some(),
            gives_way: status.conditions.iter().any(tells_to_give_way),
            finished: matches!(status.phase.as_str(), "Succeeded" | "Failed"),
            asks_for: slots::asks_for(pod),
            scheduler: spec.scheduler_name.clone(),
            untold: None,
        })
    }

    /// Whether this news of a pod is older than what is known of it.
    pub(super) fn is_newer_than(&self, news: &slim::Pod) -> bool {
        is_older(&news.metadata, &self.version)
    }

    /// It holds the room of its slot.
    pub(super) fn holds(&self) -> bool {
        self.node.is_some() && !self.terminating && !self.finished
    }

    /// Whether it can hold a slot of this request on this node; else it has to be made anew.
    pub(super) fn suits(&self, node: &str, request: &Amounts, settings: &Settings) -> bool {
        let here = match &self.node {
            Some(bound) => bound == node,
            None => self.scheduler == settings.scheduler_name,
        };
        // What admission adds to a pod, such as a LimitRange's defaults, is none of the slot's.
        let asks_for = |one: &(String, i64)| self.asks_for.contains(one);
        here && !self.finished && request.iter().all(asks_for)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_promised_twice_has_a_limit() {
        for name in [
            "cpu",
            "memory",
            "ephemeral-storage",
            "example.kubernetes.io/x",
        ] {
            assert!(!is_exclusive(name), "{name}");
        }
        for name in ["nvidia.com/gpu", "hugepages-2Mi"] {
            assert!(is_exclusive(name), "{name}");
        }
    }

    fn made(cpu: &str) -> Value {
        let request = BTreeMap::from([("cpu".to_owned(), Quantity(cpu.to_owned()))]);
        let hold = Hold {
            testbed: "bed",
            testbed_uid: "u",
            request: &request,
            node: "node-1",
            ghost: "bed-0-1",
        };
        body(&hold, &Settings::default())
    }

    #[test]
    fn a_ghost_as_it_is_made_is_one_and_suits_its_slot() {
        let settings = Settings::default();
        let pod: slim::Pod = serde_json::from_value(made("500m")).unwrap();
        let ghost = Ghost::read(&pod, &settings).unwrap();
        assert_eq!((ghost.owner.as_str(), ghost.node.as_ref()), ("u", None));
        let request = vec![("cpu".to_owned(), 500)];
        assert!(ghost.suits("node-1", &request, &settings));
        assert!(!ghost.suits("node-1", &vec![("cpu".to_owned(), 501)], &settings));
        assert!(!ghost.holds());
    }

    #[test]
    fn a_pod_elsewhere_or_of_another_owner_is_no_ghost_whatever_its_labels() {
        let settings = Settings::default();
        let read = |change: fn(&mut Value)| {
            let mut pod = made("1");
            change(&mut pod);
            Ghost::read(&serde_json::from_value(pod).unwrap(), &settings).is_some()
        };
        assert!(read(|pod| pod["metadata"]["labels"] = json!({})));
        assert!(!read(|pod| pod["metadata"]["namespace"] = json!("default")));
        assert!(!read(|pod| pod["metadata"]["ownerReferences"] = json!([])));
        assert!(!read(|pod| {
            pod["metadata"]["ownerReferences"][0]["controller"] = json!(false);
        }));
        assert!(!read(|pod| {
            pod["metadata"]["ownerReferences"][0]["apiVersion"] = json!("other.dev/v1");
        }));
    }
}
