//! Objects that controllers write: what becomes of a write, and what the scheduler is told of it.

use super::Driver;
use super::controllers::Controllers;
use crate::scenario::made_pod;
use crate::server::Pod;
use crate::whole::Change;
use muster_api::{convert, crd};
use muster_controllers::{Answer, Deed, ObjectName, Observation, Resource, Write};
use muster_model::{GangKey, GangSpec, ObjectKey, PodKey, Source};
use serde::Deserialize;
use serde_json::{Value, json};

impl Driver {
    /// An object is created, or changed but for what controllers write.
    pub(super) fn put_whole(&mut self, resource: Resource, value: Value) {
        // Alone it is nothing for controllers: where no QueueJob is, nobody misses its owner.
        if resource != Resource::SchedulingSpecs {
            self.begin_to_control();
        }
        self.server.wholes_mut().put(resource, value, self.now);
        self.follow_wholes(false);
    }

    /// An object was there before the beginning.
    pub(super) fn keep_whole(&mut self, resource: Resource, value: Value) {
        if resource != Resource::SchedulingSpecs {
            self.begin_to_control();
        }
        self.server.wholes_mut().keep(resource, value);
        self.follow_wholes(true);
    }

    /// There is a Job of the scenario, which controllers see by its name: its pods are not theirs to make.
    pub(super) fn put_job(&mut self, namespace: &str, name: &str) {
        let job = json!({
            "metadata": {"namespace": namespace, "name": name}, "spec": {"parallelism": 0},
        });
        let there = self.server.wholes().get(&job_named(namespace, name));
        if there.is_none() {
            let wholes = self.server.wholes_mut();
            wholes.put(Resource::Jobs, job, self.now);
            self.follow_wholes(false);
        }
    }

    /// An object is deleted.
    pub(super) fn delete_whole(&mut self, on: &ObjectName) {
        // One that is not there is gone.
        _ = self.server.wholes_mut().delete(on, None, self.now);
        self.follow_wholes(false);
    }

    /// Has what the scheduler is told follow.
    fn follow_wholes(&mut self, kept: bool) {
        for change in self.server.wholes_mut().take_changes() {
            let (Change::Is(on, _) | Change::Gone(on)) = &change;
            self.note_whole(on);
            match change {
                Change::Is(on, value) => self.whole_is(&on, &value, kept),
                Change::Gone(on) => match on.resource {
                    Resource::Testbeds => self.delete_plain(&ObjectKey::Testbed(on.name)),
                    Resource::TestbedSlices => {
                        self.delete_plain(&ObjectKey::TestbedSlice(on.name));
                    }
                    resource => match source_of(resource) {
                        Some(source) => {
                            self.delete_plain(&ObjectKey::Gang(gang_of(&on, source), source));
                        }
                        None => self.last_change = self.now,
                    },
                },
            }
        }
    }

    fn whole_is(&mut self, on: &ObjectName, value: &Value, kept: bool) {
        match on.resource {
            Resource::Testbeds => {
                if let Ok(found) = crd::Testbed::deserialize(value) {
                    let testbed = convert::testbed(&found, &self.reading);
                    self.server.put(testbed.into(), self.now);
                }
            }
            Resource::TestbedSlices => {
                if let Ok(found) = crd::TestbedSlice::deserialize(value) {
                    let slice = convert::testbed_slice(&found, &self.reading);
                    self.server.put(slice.into(), self.now);
                }
            }
            Resource::PodGroups => {
                if let Ok(found) = crd::PodGroup::deserialize(value) {
                    self.whole_gang(convert::muster_gang(&found), kept);
                }
            }
            Resource::SchedulingSpecs => {
                if let Ok(found) = crd::JobSchedulingSpec::deserialize(value) {
                    self.whole_gang(convert::scheduling_spec_gang(&found), kept);
                }
            }
            _ => self.last_change = self.now,
        }
    }

    fn whole_gang(&mut self, gang: GangSpec, kept: bool) {
        if kept {
            self.keep_gang(gang);
        } else {
            self.put_gang(gang);
        }
    }

    /// Carries out a write of controllers.
    pub(super) fn carry_out_write(
        &mut self,
        write: Write,
        controllers: &mut Controllers,
    ) -> Answer {
        let on = write.on;
        match (on.resource, write.deed) {
            (Resource::Pods, Deed::Create(value)) => self.make_pod(value, controllers),
            (Resource::Pods, Deed::Delete { uid }) => {
                let key = PodKey {
                    namespace: on.namespace,
                    name: on.name,
                    uid,
                };
                match self.server.pod_named(&key.namespace, &key.name) {
                    None => Answer::NotFound,
                    Some(found) if found.spec.key != key => Answer::Conflict,
                    Some(_) => {
                        self.terminate(&key, false);
                        let found = self.server.pod(&key);
                        Answer::Done(found.and_then(|found| controllers.told(found)))
                    }
                }
            }
            (
                Resource::Testbeds
                | Resource::TestbedSlices
                | Resource::BatchJobs
                | Resource::Schedulings
                | Resource::QueueJobs
                | Resource::SchedulingSpecs
                | Resource::PodGroups
                | Resource::Jobs,
                deed,
            ) => self.write_whole(&on, deed),
            (resource, deed) => Answer::Refused {
                message: format!("nobody writes {deed:?} on {resource:?} here"),
            },
        }
    }

    fn write_whole(&mut self, on: &ObjectName, deed: Deed) -> Answer {
        let now = self.now;
        let of_scenario = self.server.wholes().get(on).is_none()
            && source_of(on.resource)
                .is_some_and(|source| self.server.has_gang(&gang_of(on, source), source));
        let wholes = self.server.wholes_mut();
        let done = match deed {
            Deed::Create(_) if of_scenario => Err(Answer::AlreadyExists),
            Deed::Create(value) => wholes.create(on, value, now),
            Deed::Delete { uid } => wholes.delete(on, Some(&uid), now),
            patch => wholes.patch(on, &patch),
        };
        self.follow_wholes(false);
        let found = || self.server.wholes().get(on).cloned();
        done.map_or_else(
            |answer| answer,
            |()| Answer::Done(found().and_then(|value| Observation::read(on.resource, value))),
        )
    }

    fn make_pod(&mut self, value: Value, controllers: &mut Controllers) -> Answer {
        let plan = match made_pod(&value, &self.reading) {
            Ok(plan) => plan,
            Err(message) => return Answer::Refused { message },
        };
        let key = &plan.spec.key;
        let name = (key.namespace.clone(), key.name.clone());
        if self.server.pod_named(&name.0, &name.1).is_some() {
            return Answer::AlreadyExists;
        }
        let in_namespace = |pod: &&Pod| {
            let key = &pod.spec.key;
            key.namespace == name.0 && !pod.spec.phase.is_terminal()
        };
        let there = || self.server.pods().filter(in_namespace).count();
        if let Some(message) = self.network.over_quota(there, self.now) {
            return Answer::Refused { message };
        }
        controllers.note(name.clone(), value);
        self.add_made(plan);
        let made = self.server.pod_named(&name.0, &name.1);
        Answer::Done(made.and_then(|made| controllers.told(made)))
    }
}

/// The Job of this name.
pub(super) fn job_named(namespace: &str, name: &str) -> ObjectName {
    ObjectName {
        resource: Resource::Jobs,
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    }
}

/// As what controllers know it, where they do.
pub(super) fn whole_named(key: &ObjectKey) -> Option<ObjectName> {
    let (key, resource) = match key {
        ObjectKey::Gang(key, Source::Muster) => (key, Resource::PodGroups),
        ObjectKey::Gang(key, Source::SchedulingSpec) => (key, Resource::SchedulingSpecs),
        _ => return None,
    };
    Some(ObjectName {
        resource,
        namespace: key.namespace.clone(),
        name: key.name.clone(),
    })
}

/// Of what kind its objects are for the scheduler, where they define gangs.
const fn source_of(resource: Resource) -> Option<Source> {
    match resource {
        Resource::PodGroups => Some(Source::Muster),
        Resource::SchedulingSpecs => Some(Source::SchedulingSpec),
        _ => None,
    }
}

fn gang_of(on: &ObjectName, source: Source) -> GangKey {
    GangKey {
        namespace: on.namespace.clone(),
        space: source.space(),
        name: on.name.clone(),
    }
}
