//! Where the truth about the objects of each resource is.

use crate::resources::{self, ALL, Id, ResourceId};
use muster_controllers::{ObjectName, Resource as Controlled};
use muster_model::{GangKey, ObjectKey, Source};
use std::sync::LazyLock;

/// Where it is known what becomes of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// A pod of the simulator.
    Pod,
    /// A PodGroup of this kind: as it was written, with what the scheduler says.
    Gang(Source),
    /// A Queue, the same.
    Queue,
    /// A Topology, the same.
    Topology,
    /// Controllers write it.
    Whole(Controlled),
    /// A claim, which gets a volume.
    Claim,
    /// It is as it was written.
    Stored,
}

static ROLES: LazyLock<Vec<Role>> = LazyLock::new(|| {
    let roles = ALL
        .iter()
        .map(|one| match (one.group.as_str(), one.plural.as_str()) {
            ("", "pods") => Role::Pod,
            ("", "persistentvolumeclaims") => Role::Claim,
            ("batch", "jobs") => Role::Whole(Controlled::Jobs),
            ("muster.dev", "podgroups") => Role::Gang(Source::Muster),
            ("scheduling.volcano.sh", "podgroups") => Role::Gang(Source::Volcano),
            ("scheduling.k8s.io", "podgroups") => Role::Gang(Source::Upstream),
            ("scheduling.x-k8s.io", "podgroups") => Role::Gang(Source::Coscheduling),
            ("muster.dev", "queues") => Role::Queue,
            ("muster.dev", "topologies") => Role::Topology,
            ("muster.dev", "schedulingspecs") => Role::Whole(Controlled::SchedulingSpecs),
            ("muster.dev", "testbeds") => Role::Whole(Controlled::Testbeds),
            ("muster.dev", "testbedslices") => Role::Whole(Controlled::TestbedSlices),
            ("muster.dev", "batchjobs") => Role::Whole(Controlled::BatchJobs),
            ("muster.dev", "schedulings") => Role::Whole(Controlled::Schedulings),
            ("muster.dev", "queuejobs") => Role::Whole(Controlled::QueueJobs),
            _ => Role::Stored,
        });
    roles.collect()
});

/// That of the objects of a resource.
pub(crate) fn role(resource: ResourceId) -> Role {
    ROLES[resource]
}

/// Which object the simulator means; `None` for those that are as they were written.
pub(crate) fn id_of_key(key: &ObjectKey) -> Option<Id> {
    let of_gang = |key: &GangKey, source: Source| match source {
        Source::SchedulingSpec => id("muster.dev", "schedulingspecs", &key.namespace, &key.name),
        source => {
            let resource = ROLES.iter().position(|role| *role == Role::Gang(source))?;
            Some(Id {
                resource,
                namespace: key.namespace.clone(),
                name: key.name.clone(),
            })
        }
    };
    match key {
        ObjectKey::Pod(key) => id("", "pods", &key.namespace, &key.name),
        ObjectKey::Gang(key, source) => of_gang(key, *source),
        ObjectKey::Queue(name) => id("muster.dev", "queues", "", name),
        ObjectKey::Topology(name) => id("muster.dev", "topologies", "", name),
        ObjectKey::Claim(key) => id("", "persistentvolumeclaims", &key.namespace, &key.name),
        _ => None,
    }
}

fn id(group: &str, plural: &str, namespace: &str, name: &str) -> Option<Id> {
    Some(Id {
        resource: resources::of_plural(group, plural)?,
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    })
}

/// Which object controllers mean.
pub(crate) fn id_of_whole(on: &ObjectName) -> Option<Id> {
    let of = |role: &Role| match role {
        Role::Gang(Source::Muster) => on.resource == Controlled::PodGroups,
        Role::Whole(resource) => on.resource == *resource,
        _ => false,
    };
    Some(Id {
        resource: ROLES.iter().position(of)?,
        namespace: on.namespace.clone(),
        name: on.name.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_role_is_found_and_leads_back_to_its_resource() {
        let count = ROLES.iter().filter(|role| **role != Role::Stored).count();
        assert_eq!(count, 15);
        for (resource, role) in ROLES.iter().enumerate() {
            let (namespace, name) = ("n".to_owned(), "a".to_owned());
            let found = match role {
                Role::Whole(of) => id_of_whole(&ObjectName {
                    resource: *of,
                    namespace,
                    name,
                }),
                Role::Gang(source) => {
                    let space = source.space();
                    let key = GangKey {
                        namespace,
                        space,
                        name,
                    };
                    id_of_key(&ObjectKey::Gang(key, *source))
                }
                _ => continue,
            };
            assert_eq!(found.map(|id| id.resource), Some(resource), "{role:?}");
        }
    }
}
