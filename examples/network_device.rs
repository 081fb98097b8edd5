//! A dynamic cluster resource: devices that hang in the network, of which a cluster has so many, whatever
//! node uses them. This program is `muster` with a plugin `NetworkDevice`:
//!
//! ```text
//! cargo run --example network_device -- simulate tests/scenarios/plugins/network-device.yaml --config FILE
//! ```
//!
//! A pod with the label `example.dev/device` needs one. It is taken in Reserve, so that members of one gang
//! do not count on the same; attached to the pod's node before the bind, in PreBind, by a write on the API
//! server (here a ConfigMap that stands for the order to the device's driver); and given back, in both
//! places, if the decision or the bind comes to nothing. The ConfigMap belongs to the pod and goes with it.

use futures::FutureExt;
use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use muster::cli::Extensions;
use muster::cluster::answerer::{Answerer, Outside, WriteError};
use muster::core::framework::{
    Ask, EventHandler, Plugin, PreBind, PreBindVerdict, Profile, Reason, Refusal, Reserve,
    ReserveVerdict, Spot, Spots, WaitingGangs,
};
use muster::core::state::{ClusterState, GangId, Place};
use muster::model::Object;
use muster::model::ObjectKey;
use muster::model::units::Millis;
use muster::model::{Answer, AskedPlace, Event, PodKey, Point, Question, label_in};
use serde_json::json;
use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const NAME: &str = "NetworkDevice";
/// Pods with this label need a device.
const LABEL: &str = "example.dev/device";
/// How many there are.
const DEVICES: usize = 2;
/// How long it may take to attach one.
const ATTACHED_WITHIN: Millis = Millis(10_000);

#[allow(dead_code, reason = "tests take the plugin without the program")]
fn main() -> ExitCode {
    muster::cli::run_with(&extensions())
}

/// What this program adds to Muster.
pub(crate) fn extensions() -> Extensions {
    Extensions::default()
        .plugin(NAME, || {
            let plugin = Arc::new(NetworkDevice::default());
            Profile {
                reserve: vec![plugin.clone()],
                pre_bind: vec![plugin.clone()],
                events: vec![plugin],
                ..Profile::default()
            }
        })
        .answerer(NAME, Arc::new(Driver))
}

/// Who has a device. It follows from what the scheduler told, so one that takes over knows it, too.
#[derive(Default)]
struct Taken {
    by: BTreeSet<PodKey>,
    /// Who found none.
    waiting: BTreeSet<GangId>,
    freed: bool,
}

/// The plugin.
#[derive(Default)]
struct NetworkDevice(Mutex<Taken>);

impl NetworkDevice {
    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn give_back(&self, pod: &PodKey) {
        let mut taken = self.taken();
        taken.freed |= taken.by.remove(pod);
    }
}

fn needs_one(spot: &Spot<'_>) -> bool {
    spot.found_pod()
        .is_some_and(|pod| label_in(&pod.labels, LABEL).is_some())
}

impl Plugin for NetworkDevice {
    fn name(&self) -> &'static str {
        NAME
    }
}

impl Reserve for NetworkDevice {
    fn reserve(&self, spots: &Spots<'_>) -> ReserveVerdict {
        let mut taken = self.taken();
        for spot in spots.iter().filter(needs_one) {
            if taken.by.len() >= DEVICES {
                taken.waiting.insert(spots.gang);
                let words = format!("all {DEVICES} network devices are taken");
                return ReserveVerdict::Refuse(Refusal::of(&spot, Reason::Other(words)));
            }
            taken.by.insert(spot.pod.clone());
        }
        ReserveVerdict::Done
    }

    fn unreserve(&self, spots: &Spots<'_>) {
        for spot in spots.iter() {
            self.give_back(spot.pod);
        }
    }
}

impl PreBind for NetworkDevice {
    fn pre_bind(&self, spots: &Spots<'_>) -> PreBindVerdict {
        let mut users = spots.iter().filter(needs_one).peekable();
        if users.peek().is_none() {
            return PreBindVerdict::Agree;
        }
        let attach = Ask::of_plugin(NAME, Point::PreBind, String::new(), ATTACHED_WITHIN);
        PreBindVerdict::Ask(attach.about(users).to_be_undone())
    }
}

impl EventHandler for NetworkDevice {
    fn on_event(&self, state: &ClusterState, event: &Event, _: &mut WaitingGangs) {
        match event {
            // Also what another scheduler bound before this one started.
            Event::Is(Object::Pod(spec)) if spec.phase.is_terminal() => self.give_back(&spec.key),
            Event::Is(Object::Pod(spec)) => {
                let pod = state.find_pod(&spec.key).and_then(|id| state.pod(id));
                let has_one = pod.is_some_and(|pod| {
                    matches!(pod.place, Place::Bound(_)) && label_in(&pod.labels, LABEL).is_some()
                });
                if has_one {
                    self.taken().by.insert(spec.key.clone());
                }
            }
            Event::Gone(ObjectKey::Pod(pod)) => self.give_back(pod),
            _ => {}
        }
    }

    fn wakes(&self) -> Vec<GangId> {
        let mut taken = self.taken();
        if !std::mem::take(&mut taken.freed) {
            return Vec::new();
        }
        std::mem::take(&mut taken.waiting).into_iter().collect()
    }
}

/// Attaches and detaches, one after the other: twice is as good as once.
struct Driver;

impl Answerer for Driver {
    fn answer<'a>(&'a self, question: &'a Question, outside: &'a Outside) -> BoxFuture<'a, Answer> {
        async move {
            for AskedPlace { pod, node } in question.about.places() {
                let maps: Api<ConfigMap> =
                    Api::namespaced(outside.client().clone(), &pod.namespace);
                let name = format!("device-{}", pod.uid);
                let done = match question.undoes {
                    None => attach(outside, &maps, &name, pod, node).await,
                    Some(_) => detach(outside, &maps, &name).await,
                };
                if let Err(error) = done {
                    let message = format!("pod {}: {error}", pod.name);
                    return Answer::Failed { message };
                }
            }
            Answer::Yes(String::new())
        }
        .boxed()
    }
}

async fn attach(
    outside: &Outside,
    maps: &Api<ConfigMap>,
    name: &str,
    pod: &PodKey,
    node: &str,
) -> Result<(), WriteError> {
    let owner = json!({"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": pod.uid});
    let map = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "ownerReferences": [owner]},
        "data": {"node": node},
    });
    let by_us = PatchParams::apply("network-device").force();
    let patch = Patch::Apply(&map);
    outside.write(maps.patch(name, &by_us, &patch)).await?;
    Ok(())
}

async fn detach(outside: &Outside, maps: &Api<ConfigMap>, name: &str) -> Result<(), WriteError> {
    match outside
        .write(maps.delete(name, &DeleteParams::default()))
        .await
    {
        Err(WriteError::Answered(kube::Error::Api(status))) if status.code == 404 => Ok(()),
        Err(error) => Err(error),
        Ok(_) => Ok(()),
    }
}
