//! Gangs built from Permit alone, as Kubernetes' scheduling framework describes it: every pod is placed by
//! itself, takes its node, and waits there until enough others of its gang have one, too. This program is
//! `muster` with a plugin `GangByPermit`.
//!
//! Pods say `example.dev/gang: NAME` and `example.dev/size: "N"`. Where there is room for all, this comes to
//! the same as a PodGroup. Where there is not, it does not: gangs that each have a part of their nodes keep
//! them from each other until their time is over, again and again, and nobody runs. A PodGroup's members are
//! placed together or not at all, so one of two gangs runs (tests/local/plugins.rs plays both).

use muster::cli::Extensions;
use muster::core::framework::{
    EventHandler, Permit, PermitVerdict, Plugin, Profile, Spots, WaitingGangs,
};
use muster::core::state::{ClusterState, GangId, Place, Pod};
use muster::model::Object;
use muster::model::ObjectKey;
use muster::model::units::{Millis, Time};
use muster::model::{AskedPlace, Event, PodKey, label_in};
use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const NAME: &str = "GangByPermit";
const GANG: &str = "example.dev/gang";
const SIZE: &str = "example.dev/size";
/// How long a pod waits for the others.
const PATIENCE: Millis = Millis(10_000);

#[allow(dead_code, reason = "tests take the plugin without the program")]
fn main() -> ExitCode {
    muster::cli::run_with(&extensions())
}

/// What this program adds to Muster.
pub(crate) fn extensions() -> Extensions {
    Extensions::default().plugin(NAME, || {
        let plugin = Arc::new(GangByPermit::default());
        Profile {
            permit: vec![plugin.clone()],
            events: vec![plugin],
            ..Profile::default()
        }
    })
}

/// A namespace and the name of a gang in it.
type Gang = (String, String);

/// The plugin; it knows who is bound.
#[derive(Default)]
struct GangByPermit(Mutex<BTreeMap<Gang, BTreeSet<PodKey>>>);

impl GangByPermit {
    fn bound(&self) -> MutexGuard<'_, BTreeMap<Gang, BTreeSet<PodKey>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn forget(&self, pod: &PodKey) {
        self.bound().retain(|_, pods| {
            pods.remove(pod);
            !pods.is_empty()
        });
    }
}

fn gang_of(pod: &Pod) -> Option<(Gang, usize)> {
    let name = label_in(&pod.labels, GANG)?.to_owned();
    let size = label_in(&pod.labels, SIZE)?.parse().ok()?;
    Some(((pod.key.namespace.clone(), name), size))
}

impl Plugin for GangByPermit {
    fn name(&self) -> &'static str {
        NAME
    }
}

impl Permit for GangByPermit {
    /// To Muster each of these pods is a gang by itself.
    fn permit(&self, spots: &Spots<'_>, _: Time, waiting: &mut WaitingGangs) -> PermitVerdict {
        let state = spots.state;
        let mut gangs = spots.iter().filter_map(|spot| gang_of(spot.found_pod()?));
        let Some((gang, size)) = gangs.next() else {
            return PermitVerdict::Allow;
        };
        let is_same = |place: &AskedPlace| {
            let pod = state.find_pod(&place.pod).and_then(|id| state.pod(id));
            pod.and_then(gang_of).is_some_and(|(of, _)| of == gang)
        };
        let others = waiting.iter();
        let others = others.filter(|(_, other)| other.places.iter().any(is_same));
        let others: Vec<GangId> = others.map(|(id, _)| id).collect();
        let bound = self.bound().get(&gang).map_or(0, BTreeSet::len);
        if bound + others.len() + 1 < size {
            return PermitVerdict::Wait(PATIENCE);
        }
        for other in others {
            waiting.approve(other, NAME);
        }
        PermitVerdict::Allow
    }
}

impl EventHandler for GangByPermit {
    fn on_event(&self, state: &ClusterState, event: &Event, _: &mut WaitingGangs) {
        match event {
            Event::Is(Object::Pod(spec)) if spec.phase.is_terminal() => self.forget(&spec.key),
            Event::Gone(ObjectKey::Pod(pod)) => self.forget(pod),
            Event::Is(Object::Pod(_)) | Event::BindResult(..) => {
                let key = match event {
                    Event::Is(Object::Pod(spec)) => &spec.key,
                    Event::BindResult(key, _) => key,
                    _ => return,
                };
                let pod = state.find_pod(key).and_then(|id| state.pod(id));
                let bound = pod.filter(|pod| matches!(pod.place, Place::Bound(_)));
                if let Some((gang, _)) = bound.and_then(gang_of) {
                    self.bound().entry(gang).or_default().insert(key.clone());
                }
            }
            _ => {}
        }
    }
}
