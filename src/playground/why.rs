//! Why something is where it is, as `muster why` asks for it: of the instance that holds the Lease, which is always this one.

use crate::shown::date;
use crate::world::World;
use muster_model::explanation::Clock;
use serde::Serialize;
use serde_json::{Value, json};

/// Of what it is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    PodGroup(String, String),
    Queue(String),
    Testbed(String),
}

/// The pod that holds the Lease.
const POD: &str = "muster-playground";

impl Of {
    /// Reads a path.
    pub(crate) fn path(parts: &[&str]) -> Option<Self> {
        let own = str::to_owned;
        Some(match parts {
            ["debug", "why", "podgroups", namespace, name] => {
                Self::PodGroup(own(namespace), own(name))
            }
            ["debug", "why", "queues", name] => Self::Queue(own(name)),
            ["debug", "why", "testbeds", name] => Self::Testbed(own(name)),
            // By way of the API server.
            [
                "api",
                "v1",
                "namespaces",
                _,
                "pods",
                pod,
                "proxy",
                rest @ ..,
            ] => {
                let pod = pod.strip_prefix("http:")?;
                let is_ours = pod.split(':').next() == Some(POD);
                return Self::path(rest).filter(|_| is_ours);
            }
            _ => return None,
        })
    }

    /// What it is called where there is no such thing.
    pub(crate) fn title(&self) -> String {
        match self {
            Self::PodGroup(namespace, name) => format!("PodGroup {namespace}/{name}"),
            Self::Queue(name) => format!("Queue {name}"),
            Self::Testbed(name) => format!("Testbed {name}"),
        }
    }

    /// The answer; `None`: the scheduler knows no such thing.
    pub(crate) fn answer(&self, world: &World) -> Option<Value> {
        let scheduler = world.driver.brain()?.scheduler();
        let now = world.now();
        match self {
            Self::PodGroup(namespace, name) => {
                let key = scheduler.gang_named(namespace, name)?;
                let mut found = scheduler.explain_gang(&key, now, u32::MAX)?;
                found.clock = Clock::Utc;
                in_json(&found)
            }
            Self::Queue(name) => {
                let mut found = scheduler.explain_queue(name, now)?;
                found.clock = Clock::Utc;
                in_json(&found)
            }
            Self::Testbed(name) => {
                let mut found = scheduler.explain_testbed(name, now)?;
                found.clock = Clock::Utc;
                in_json(&found)
            }
        }
    }
}

fn in_json(found: &impl Serialize) -> Option<Value> {
    serde_json::to_value(found).ok()
}

/// The Lease by which it is known who schedules.
pub(crate) fn lease(namespace: &str, name: &str, world: &World) -> Value {
    // A pod, its uid, and its process.
    let holder = format!("{POD}_playground_1_1");
    let now = date(world.now());
    json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": now.replace('Z', ".000000Z")},
    })
}
