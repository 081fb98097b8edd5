//! The pods of applications, by the uids of who controls them: how many have run, and whether they came as they were to.

use super::things::Thing;
use crate::machine::is_older;
use muster_api::kinds::Identity;
use muster_api::{names, slim};
use std::collections::{BTreeMap, BTreeSet};

/// Namespace and name of a pod.
type Place = (String, String);

/// A pod of an application.
#[derive(Clone, Debug)]
struct Pod {
    uid: String,
    version: String,
    /// The uid of who controls it: an application, or the driver of one.
    owner: String,
    has_run: bool,
    /// Who schedules it.
    scheduler: String,
    /// Its gang.
    gang: Option<String>,
}

/// All pods that are of an application, or of another pod.
#[derive(Debug, Default)]
pub(super) struct Pods {
    pods: BTreeMap<Place, Pod>,
    /// By the uid of who controls them, with the number of those that have run.
    of: BTreeMap<String, (BTreeSet<Place>, usize)>,
    /// By the uid of a pod, the uid of who controls it.
    above: BTreeMap<String, String>,
}

impl Pods {
    /// A pod is so; the uid of the application that may be concerned.
    pub(super) fn is(&mut self, pod: &slim::Pod) -> Option<String> {
        let id = Identity::of(&pod.metadata);
        let place = (id.namespace.clone(), id.name.clone());
        if let Some(known) = self.pods.get(&place)
            && known.uid == id.uid
            && is_older(&pod.metadata, &known.version)
        {
            return None;
        }
        self.forget(&place);
        let meta = &pod.metadata;
        let mut owners = meta.owner_references.iter().flatten();
        let owner = owners.find(|one| one.controller == Some(true))?;
        if !matches!(owner.kind.as_str(), "Job" | "SparkApplication" | "Pod") {
            return None;
        }
        let labels = meta.labels.as_ref();
        let seen = Pod {
            uid: id.uid.clone(),
            version: meta.resource_version.clone().unwrap_or_default(),
            owner: owner.uid.clone(),
            has_run: matches!(pod.status.phase.as_str(), "Running" | "Succeeded"),
            scheduler: pod.spec.scheduler_name.clone(),
            gang: labels.and_then(|all| all.get(names::POD_GROUP)).cloned(),
        };
        let (places, run) = self.of.entry(seen.owner.clone()).or_default();
        places.insert(place.clone());
        *run += usize::from(seen.has_run);
        self.above.insert(id.uid, seen.owner.clone());
        let top = self.top(&seen.owner);
        self.pods.insert(place, seen);
        Some(top)
    }

    /// A pod is gone; the uid of the application that may be concerned.
    pub(super) fn gone(&mut self, id: &Identity) -> Option<String> {
        let place = (id.namespace.clone(), id.name.clone());
        let known = self.pods.get(&place)?;
        if known.uid != id.uid {
            return None;
        }
        let top = self.top(&known.owner);
        self.forget(&place);
        Some(top)
    }

    /// The uid of who is above the pods of this owner, if that is one of them.
    fn top(&self, owner: &str) -> String {
        self.above
            .get(owner)
            .map_or(owner, String::as_str)
            .to_owned()
    }

    fn forget(&mut self, place: &Place) {
        let Some(pod) = self.pods.remove(place) else {
            return;
        };
        self.above.remove(&pod.uid);
        if let Some((places, run)) = self.of.get_mut(&pod.owner) {
            places.remove(place);
            *run = run.saturating_sub(usize::from(pod.has_run));
            if places.is_empty() {
                self.of.remove(&pod.owner);
            }
        }
    }

    /// Whether so many pods have run as a Job has at a time.
    pub(super) fn all_run(&self, job: &Thing) -> bool {
        let run = self.of.get(&job.uid).map_or(0, |(_, run)| *run);
        job.pods > 0 && run >= job.pods
    }

    /// A pod of this application, or of a pod of that, that does not say that this scheduler places it in this gang, and
    /// what it says instead.
    pub(super) fn astray(&self, uid: &str, scheduler: &str, gang: &str) -> Option<String> {
        let (drivers, _) = self.of.get(uid)?;
        let drivers = drivers.iter();
        let uids = drivers.clone().filter_map(|place| self.pods.get(place));
        let below = uids.filter_map(|pod| self.of.get(&pod.uid));
        let below = below.flat_map(|(places, _)| places);
        let mut all = drivers.chain(below).filter_map(|place| {
            let pod = self.pods.get(place)?;
            Some((place, pod))
        });
        let (place, pod) =
            all.find(|(_, pod)| pod.scheduler != scheduler || pod.gang.as_deref() != Some(gang))?;
        let has = if pod.scheduler == scheduler {
            format!("without the label {}: {gang}", names::POD_GROUP)
        } else {
            format!(
                "with schedulerName {:?} instead of {scheduler:?}",
                pod.scheduler
            )
        };
        Some(format!("pod {}/{} came {has}", place.0, place.1))
    }
}
