//! The pods of applications, by who is above them: how many have run, and whether they came as they were to.

use super::things::Thing;
use crate::desk::Name;
use muster_api::kinds::Identity;
use muster_api::kinds::is_older;
use muster_api::{names, slim};
use std::collections::{BTreeMap, BTreeSet};

/// Namespace and name of a pod.
type Place = (String, String);

/// Label of the Spark operator on its pods: the name of their application.
const APPLICATION: &str = "sparkoperator.k8s.io/app-name";

/// Who is above a pod.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Above {
    /// Who controls it, by uid: an application, or the driver of one.
    Uid(String),
    /// The application of this name, as the pod says itself. It is the operator's webhook that gives a driver its owner:
    /// where there is none, there is no owner either.
    Named(Name),
}

/// A pod of an application.
#[derive(Clone, Debug)]
struct Pod {
    uid: String,
    version: String,
    above: Above,
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
    /// By who is above them, with the number of those that have run.
    of: BTreeMap<Above, (BTreeSet<Place>, usize)>,
    /// By the uid of a pod, who is above it.
    above: BTreeMap<String, Above>,
}

impl Pods {
    /// A pod is so; the application that may be concerned.
    pub(super) fn is(&mut self, pod: &slim::Pod) -> Option<Above> {
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
        let labels = meta.labels.as_ref();
        let mut owners = meta.owner_references.iter().flatten();
        let above = match owners.find(|one| one.controller == Some(true)) {
            Some(owner) => {
                if !matches!(owner.kind.as_str(), "Job" | "SparkApplication" | "Pod") {
                    return None;
                }
                Above::Uid(owner.uid.clone())
            }
            None => {
                let name = labels.and_then(|all| all.get(APPLICATION))?;
                Above::Named((id.namespace, name.clone()))
            }
        };
        let seen = Pod {
            uid: id.uid.clone(),
            version: meta.resource_version.clone().unwrap_or_default(),
            above,
            has_run: matches!(pod.status.phase.as_str(), "Running" | "Succeeded"),
            scheduler: pod.spec.scheduler_name.clone(),
            gang: labels.and_then(|all| all.get(names::POD_GROUP)).cloned(),
        };
        let (places, run) = self.of.entry(seen.above.clone()).or_default();
        places.insert(place.clone());
        *run += usize::from(seen.has_run);
        self.above.insert(id.uid, seen.above.clone());
        let top = self.top(&seen.above);
        self.pods.insert(place, seen);
        Some(top)
    }

    /// A pod is gone; the application that may be concerned.
    pub(super) fn gone(&mut self, id: &Identity) -> Option<Above> {
        let place = (id.namespace.clone(), id.name.clone());
        let known = self.pods.get(&place)?;
        if known.uid != id.uid {
            return None;
        }
        let top = self.top(&known.above);
        self.forget(&place);
        Some(top)
    }

    /// Who is above this one, if it is a pod; else itself.
    fn top(&self, above: &Above) -> Above {
        let upper = match above {
            Above::Uid(uid) => self.above.get(uid),
            Above::Named(_) => None,
        };
        upper.unwrap_or(above).clone()
    }

    fn forget(&mut self, place: &Place) {
        let Some(pod) = self.pods.remove(place) else {
            return;
        };
        self.above.remove(&pod.uid);
        if let Some((places, run)) = self.of.get_mut(&pod.above) {
            places.remove(place);
            *run = run.saturating_sub(usize::from(pod.has_run));
            if places.is_empty() {
                self.of.remove(&pod.above);
            }
        }
    }

    /// Whether so many pods have run as a Job has at a time.
    pub(super) fn all_run(&self, job: &Thing) -> bool {
        let run = self.of.get(&Above::Uid(job.uid.clone()));
        let run = run.map_or(0, |(_, run)| *run);
        job.pods > 0 && run >= job.pods
    }

    /// A pod of this application, or of a pod of that, that does not say that this scheduler places it in this gang, and
    /// what it says instead.
    pub(super) fn astray(
        &self,
        (name, uid): (&Name, &str),
        scheduler: &str,
        gang: &str,
    ) -> Option<String> {
        let above = [Above::Named(name.clone()), Above::Uid(uid.to_owned())];
        let drivers = above.iter().filter_map(|above| self.of.get(above));
        let drivers = drivers.flat_map(|(places, _)| places);
        let uids = drivers.clone().filter_map(|place| self.pods.get(place));
        let below = uids.filter_map(|pod| self.of.get(&Above::Uid(pod.uid.clone())));
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
