//! What a controller is told, and what it says: the protocol of all of them.

use crate::room::{Room, UpTo};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use muster_api::kinds::Identity;
use muster_api::{crd, slim};
use muster_model::units::Time;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

/// A controller.
///
/// What it wants is a function of what it was told. It remembers nothing that cannot be observed again but
/// which writes are on their way, and when the next may be tried: a new one that is told what exists goes
/// on where another one died.
pub trait Machine: std::fmt::Debug {
    /// Of which resources it has to be told. Nothing is due before all of them are
    /// [synced](Observation::Synced).
    fn needs(&self) -> Vec<Resource>;

    /// Takes news. The same news twice, and news that is older than what is known, change nothing.
    fn observe(&mut self, news: Observation, now: Time);

    /// What is to be sent now, as far as there is room; never two writes of one object. Each is in flight from
    /// here on, until it is [answered](Self::answered).
    fn due_in(&mut self, room: &mut dyn Room, now: Time) -> Vec<Write>;

    /// The same, with room for so many, wherever they are.
    fn due(&mut self, now: Time, most: usize) -> Vec<Write> {
        self.due_in(&mut UpTo(most), now)
    }

    /// Takes the one answer to a write. One to a write that is not in flight changes nothing.
    fn answered(&mut self, ticket: Ticket, answer: Answer, now: Time);

    /// When to ask for what is due although nothing happens; `None`: then nothing will be.
    fn wakes_at(&self) -> Option<Time>;
}

/// What may be observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resource {
    /// `v1` Pods.
    Pods,
    /// `v1` Nodes.
    Nodes,
    /// `v1` Namespaces.
    Namespaces,
    /// `muster.dev` Testbeds.
    Testbeds,
    /// `muster.dev` TestbedSlices.
    TestbedSlices,
    /// `muster.dev` BatchJobs.
    BatchJobs,
    /// `muster.dev` Schedulings.
    Schedulings,
    /// `muster.dev` PodGroups.
    PodGroups,
    /// `muster.dev` QueueJobs.
    QueueJobs,
    /// `muster.dev` SchedulingSpecs.
    SchedulingSpecs,
    /// `batch/v1` Jobs.
    Jobs,
    /// `sparkoperator.k8s.io/v1beta2` SparkApplications.
    SparkApplications,
    /// `flink.apache.org/v1beta1` FlinkDeployments.
    FlinkDeployments,
}

/// What a resource is to an API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Definition {
    /// Its group; empty for the core's.
    pub group: &'static str,
    /// Its version.
    pub version: &'static str,
    /// Its kind.
    pub kind: &'static str,
    /// What it is called in paths.
    pub plural: &'static str,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
}

impl Resource {
    /// What it is to an API server.
    #[must_use]
    pub const fn definition(self) -> Definition {
        const OURS: (&str, &str) = ("muster.dev", "v1alpha1");
        const SPARK: (&str, &str) = ("sparkoperator.k8s.io", "v1beta2");
        const FLINK: (&str, &str) = ("flink.apache.org", "v1beta1");
        let ((group, version), kind, plural, namespaced) = match self {
            Self::Pods => (("", "v1"), "Pod", "pods", true),
            Self::Nodes => (("", "v1"), "Node", "nodes", false),
            Self::Namespaces => (("", "v1"), "Namespace", "namespaces", false),
            Self::Testbeds => (OURS, "Testbed", "testbeds", false),
            Self::TestbedSlices => (OURS, "TestbedSlice", "testbedslices", false),
            Self::BatchJobs => (OURS, "BatchJob", "batchjobs", true),
            Self::Schedulings => (OURS, "Scheduling", "schedulings", true),
            Self::PodGroups => (OURS, "PodGroup", "podgroups", true),
            Self::QueueJobs => (OURS, "QueueJob", "queuejobs", true),
            Self::SchedulingSpecs => (OURS, "SchedulingSpec", "schedulingspecs", true),
            Self::Jobs => (("batch", "v1"), "Job", "jobs", true),
            Self::SparkApplications => (SPARK, "SparkApplication", "sparkapplications", true),
            Self::FlinkDeployments => (FLINK, "FlinkDeployment", "flinkdeployments", true),
        };
        Definition {
            group,
            version,
            kind,
            plural,
            namespaced,
        }
    }

    /// Where its objects of a namespace are on an API server.
    #[must_use]
    pub fn path(self, namespace: &str) -> String {
        let Definition {
            group,
            version,
            plural,
            namespaced,
            ..
        } = self.definition();
        let group = match group {
            "" => format!("/api/{version}"),
            group => format!("/apis/{group}/{version}"),
        };
        if namespaced {
            format!("{group}/namespaces/{namespace}/{plural}")
        } else {
            format!("{group}/{plural}")
        }
    }
}

/// One piece of news.
#[derive(Clone, Debug)]
pub enum Observation {
    /// A pod is so.
    Pod(Box<slim::Pod>),
    /// A node is so.
    Node(Box<slim::Node>),
    /// A namespace is so.
    Namespace(Box<slim::Namespace>),
    /// A Testbed is so.
    Testbed(Box<crd::Testbed>),
    /// A part of a Testbed's slots is so.
    TestbedSlice(Box<crd::TestbedSlice>),
    /// A BatchJob is so.
    BatchJob(Box<crd::BatchJob>),
    /// A Scheduling is so.
    Scheduling(Box<crd::Scheduling>),
    /// A QueueJob is so.
    QueueJob(Box<crd::QueueJob>),
    /// An object of a kind that has no type here is so.
    Other(Resource, Box<Other>),
    /// An object does not exist any more.
    Gone(Resource, Identity),
    /// All objects of this resource that exist have been told.
    Synced(Resource),
    /// The API server knows no such kind, until it is told again that all of its objects have been told.
    NotServed(Resource),
}

impl Observation {
    /// An object as an API server sends it; `None`: it cannot be read.
    #[must_use]
    pub fn read<'de>(resource: Resource, object: impl Deserializer<'de>) -> Option<Self> {
        fn from<'de, T: Deserialize<'de>>(object: impl Deserializer<'de>) -> Option<Box<T>> {
            T::deserialize(object).ok().map(Box::new)
        }
        match resource {
            Resource::Pods => from(object).map(Self::Pod),
            Resource::Nodes => from(object).map(Self::Node),
            Resource::Namespaces => from(object).map(Self::Namespace),
            Resource::Testbeds => from(object).map(Self::Testbed),
            Resource::TestbedSlices => from(object).map(Self::TestbedSlice),
            Resource::BatchJobs => from(object).map(Self::BatchJob),
            Resource::Schedulings => from(object).map(Self::Scheduling),
            Resource::QueueJobs => from(object).map(Self::QueueJob),
            Resource::PodGroups
            | Resource::SchedulingSpecs
            | Resource::Jobs
            | Resource::SparkApplications
            | Resource::FlinkDeployments => from(object).map(|one| Self::Other(resource, one)),
        }
    }

    /// Of which resource it is.
    #[must_use]
    pub const fn resource(&self) -> Resource {
        match self {
            Self::Pod(_) => Resource::Pods,
            Self::Node(_) => Resource::Nodes,
            Self::Namespace(_) => Resource::Namespaces,
            Self::Testbed(_) => Resource::Testbeds,
            Self::TestbedSlice(_) => Resource::TestbedSlices,
            Self::BatchJob(_) => Resource::BatchJobs,
            Self::Scheduling(_) => Resource::Schedulings,
            Self::QueueJob(_) => Resource::QueueJobs,
            Self::Other(resource, _)
            | Self::Gone(resource, _)
            | Self::Synced(resource)
            | Self::NotServed(resource) => *resource,
        }
    }
}

/// An object of a kind that has no type here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Other {
    /// What all objects have.
    pub metadata: ObjectMeta,
    /// What it is to be.
    pub spec: Value,
    /// What it is.
    pub status: Value,
}

/// Which object is written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectName {
    /// Of which resource it is.
    pub resource: Resource,
    /// Its namespace; empty where it has none.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// A write on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// A write.
#[derive(Clone, Debug, PartialEq)]
pub struct Write {
    /// By which it is answered.
    pub ticket: Ticket,
    /// The object.
    pub on: ObjectName,
    /// What is done to it.
    pub deed: Deed,
}

/// What is done to an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Deed {
    /// It is created, under its own name: so nothing is created twice.
    Create(Value),
    /// Its status is changed, if it is the object of this uid and version.
    PatchStatus {
        /// Its uid.
        uid: String,
        /// Its `resourceVersion`.
        version: String,
        /// Operations of RFC 6902 on the object, all below `/status`.
        operations: Vec<Value>,
    },
    /// Something but its status is changed, if it is the object of this uid and version.
    Patch {
        /// Its uid.
        uid: String,
        /// Its `resourceVersion`.
        version: String,
        /// Operations of RFC 6902 on the object, none of them below `/status`.
        operations: Vec<Value>,
    },
    /// It is deleted, if it is the object of this uid.
    Delete {
        /// Its uid.
        uid: String,
    },
}

impl Deed {
    /// The JSON Patch of [`PatchStatus`](Self::PatchStatus) with its preconditions: a test of the uid, and the version
    /// written over what is there, which the API server answers by 409 where they differ.
    #[must_use]
    pub fn json_patch(uid: &str, version: &str, operations: &[Value]) -> Value {
        let mut all = vec![
            json!({"op": "test", "path": "/metadata/uid", "value": uid}),
            json!({"op": "replace", "path": "/metadata/resourceVersion", "value": version}),
        ];
        all.extend_from_slice(operations);
        Value::Array(all)
    }
}

/// What came of a write.
#[derive(Clone, Debug)]
pub enum Answer {
    /// It was done. With the object as it is now, where it is still there and was sent back.
    Done(Option<Observation>),
    /// The object is another one, or of another version, than the precondition says.
    Conflict,
    /// There is no such object; of a create: there is no such namespace.
    NotFound,
    /// An object of this name is there.
    AlreadyExists,
    /// It is not to be, for this reason.
    Refused {
        /// In the API server's words.
        message: String,
    },
    /// There are too many writes; before this time it is not to be tried again.
    Throttled {
        /// When it may be tried again.
        until: Time,
    },
    /// Nobody knows whether it was done.
    Lost,
}
