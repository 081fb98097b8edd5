//! What the objects of each watched kind tell the core: one `impl` a kind.

use super::{Identity, Kind, Subject};
use crate::protobuf::{Decode, FromProtobuf};
use crate::said::Said;
use crate::status::Status;
use crate::{Reading, convert, coscheduling, crd, mpi_job, slim, topologies, upstream, volcano};
use bytes::Bytes;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::core::DeserializeGuard;
use kube::core::error_boundary::InvalidObject;
use muster_model::{GangKey, Object, ObjectKey, Origin, PodKey, Source};
use prost::DecodeError;
use serde::de::DeserializeOwned;
use std::fmt::Debug;
use std::sync::Arc;

/// How an object is decoded that cannot be as a whole, for which reason.
pub type Known<K> = fn(Bytes, &DecodeError) -> Result<K, DecodeError>;

/// A kind that can be watched.
pub trait Watchable:
    Resource<DynamicType = ()> + DeserializeOwned + Clone + Debug + Send + Sync + 'static
{
    /// Which one it is.
    const KIND: Kind;

    /// How it is read in protobuf; `None` where the API server has it in JSON only, as it has what
    /// a CustomResourceDefinition defines.
    const PROTOBUF: Option<Decode<Self>> = None;

    /// What is known of an object that cannot be decoded as a whole; `None` where such an object is left out.
    const AS_FAR_AS_KNOWN: Option<Known<Self>> = None;

    /// Why not all of it could be read, where that is so.
    fn unreadable(&self) -> Option<&str> {
        None
    }

    /// Whether anything that is configured looks at objects of this kind. Else they need not be watched.
    #[must_use]
    fn is_read(_reading: &Reading) -> bool {
        true
    }

    /// The object as the core is told of it.
    ///
    /// # Errors
    /// When the object cannot be read: why.
    fn exists(self, reading: &Reading) -> Result<Object, String>;

    /// What names it when it is gone.
    fn gone(object: Identity) -> ObjectKey;

    /// What it says of what we write on it; `None` where we write nothing.
    fn says(&self, _reading: &Reading) -> Option<Said> {
        None
    }

    /// Whether nothing is to be written on it any more.
    fn is_silent(&self, _reading: &Reading) -> bool {
        false
    }

    /// Under what that is kept; `None` where we write nothing on objects of this kind.
    fn subject(_uid: &str) -> Option<Subject> {
        None
    }
}

/// An object that does not fit its type is left out; the others are not affected.
impl<K: Watchable> Watchable for DeserializeGuard<K> {
    const KIND: Kind = K::KIND;
    const PROTOBUF: Option<Decode<Self>> = match K::PROTOBUF {
        Some(_) => Some(guarded::<K>),
        None => None,
    };

    fn is_read(reading: &Reading) -> bool {
        K::is_read(reading)
    }

    fn exists(self, reading: &Reading) -> Result<Object, String> {
        self.0.map_err(|invalid| invalid.error)?.exists(reading)
    }

    fn gone(object: Identity) -> ObjectKey {
        K::gone(object)
    }

    fn says(&self, reading: &Reading) -> Option<Said> {
        self.0.as_ref().ok()?.says(reading)
    }

    fn is_silent(&self, reading: &Reading) -> bool {
        self.0.as_ref().is_ok_and(|one| one.is_silent(reading))
    }

    fn subject(uid: &str) -> Option<Subject> {
        K::subject(uid)
    }
}

/// Decodes an object as it is without its guard.
fn guarded<K: Watchable>(bytes: Bytes) -> Result<DeserializeGuard<K>, DecodeError> {
    let object = match K::PROTOBUF {
        Some(decode) => Ok(decode(bytes)?),
        None => Err(InvalidObject {
            error: "this kind is read in JSON only".to_owned(),
            metadata: ObjectMeta::default(),
        }),
    };
    Ok(DeserializeGuard(object))
}

impl Watchable for slim::Pod {
    const KIND: Kind = Kind::Pods;
    const PROTOBUF: Option<Decode<Self>> = Some(Self::from_protobuf);
    /// What it takes of its node counts all the same.
    const AS_FAR_AS_KNOWN: Option<Known<Self>> = Some(Self::as_far_as_known);

    fn unreadable(&self) -> Option<&str> {
        self.unreadable.as_deref()
    }

    fn exists(self, reading: &Reading) -> Result<Object, String> {
        Ok(convert::pod(&self, reading).into())
    }

    fn gone(object: Identity) -> ObjectKey {
        ObjectKey::Pod(PodKey {
            namespace: object.namespace,
            name: object.name,
            uid: object.uid,
        })
    }

    /// Only why it waits is written on a pod, while it does.
    fn says(&self, reading: &Reading) -> Option<Said> {
        let bound = !self.spec.node_name.is_empty();
        let ours = reading.is_ours(self);
        (ours && !bound).then(|| Said {
            version: self.metadata.resource_version.as_deref().map(Arc::from),
            ..said(Status::read_pod(self))
        })
    }

    /// Once it is bound, by whomever, nothing more is said of it.
    fn is_silent(&self, reading: &Reading) -> bool {
        !self.spec.node_name.is_empty() && reading.is_ours(self)
    }

    fn subject(uid: &str) -> Option<Subject> {
        Some(Subject::Pod(uid.to_owned()))
    }
}

impl Watchable for slim::Node {
    const KIND: Kind = Kind::Nodes;
    const PROTOBUF: Option<Decode<Self>> = Some(Self::from_protobuf);

    fn exists(self, reading: &Reading) -> Result<Object, String> {
        Ok(convert::node(&self, reading).into())
    }

    fn gone(object: Identity) -> ObjectKey {
        ObjectKey::Node(object.name)
    }
}

impl Watchable for slim::Namespace {
    const KIND: Kind = Kind::Namespaces;
    const PROTOBUF: Option<Decode<Self>> = Some(Self::from_protobuf);

    fn exists(self, reading: &Reading) -> Result<Object, String> {
        Ok(convert::namespace(&self, reading).into())
    }

    fn gone(object: Identity) -> ObjectKey {
        ObjectKey::Namespace(object.name)
    }
}

impl Watchable for slim::PriorityClass {
    const KIND: Kind = Kind::PriorityClasses;
    const PROTOBUF: Option<Decode<Self>> = Some(Self::from_protobuf);

    fn exists(self, _: &Reading) -> Result<Object, String> {
        Ok(convert::priority_class(&self).into())
    }

    fn gone(object: Identity) -> ObjectKey {
        ObjectKey::PriorityClass(object.name)
    }
}

impl Watchable for slim::PodDisruptionBudget {
    const KIND: Kind = Kind::PodDisruptionBudgets;
    const PROTOBUF: Option<Decode<Self>> = Some(Self::from_protobuf);

    fn exists(self, _: &Reading) -> Result<Object, String> {
        let budget = convert::disruption_budget(&self);
        Ok(budget.into())
    }

    fn gone(object: Identity) -> ObjectKey {
        ObjectKey::DisruptionBudget(object.namespace, object.name)
    }
}

impl Watchable for crd::Queue {
    const KIND: Kind = Kind::Queues;

    fn exists(self, _: &Reading) -> Result<Object, String> {
        Ok(convert::queue(&self).into())
    }

    fn gone(object: Identity) -> ObjectKey {
        ObjectKey::Queue(object.name)
    }

    fn says(&self, _: &Reading) -> Option<Said> {
        Some(said(Status::read_queue(self)))
    }

    fn subject(uid: &str) -> Option<Subject> {
        Some(Subject::Queue(uid.to_owned()))
    }
}

impl Watchable for crd::Topology {
    const KIND: Kind = Kind::Topologies;

    fn exists(self, _: &Reading) -> Result<Object, String> {
        Ok(convert::topology(&self).into())
    }

    fn gone(object: Identity) -> ObjectKey {
        ObjectKey::Topology(object.name)
    }

    fn says(&self, _: &Reading) -> Option<Said> {
        Some(said(self.status.clone().map(Status::Topology)))
    }

    fn subject(uid: &str) -> Option<Subject> {
        Some(Subject::Topology(uid.to_owned()))
    }
}

impl Watchable for crd::Testbed {
    const KIND: Kind = Kind::Testbeds;

    fn exists(self, reading: &Reading) -> Result<Object, String> {
        Ok(convert::testbed(&self, reading).into())
    }

    fn gone(object: Identity) -> ObjectKey {
        ObjectKey::Testbed(object.name)
    }
}

impl Watchable for crd::TestbedSlice {
    const KIND: Kind = Kind::TestbedSlices;

    fn exists(self, reading: &Reading) -> Result<Object, String> {
        Ok(convert::testbed_slice(&self, reading).into())
    }

    fn gone(object: Identity) -> ObjectKey {
        ObjectKey::TestbedSlice(object.name)
    }
}

impl Watchable for crd::PodGroup {
    const KIND: Kind = Kind::PodGroups;

    fn exists(self, _: &Reading) -> Result<Object, String> {
        Ok(convert::muster_gang(&self).into())
    }

    fn gone(object: Identity) -> ObjectKey {
        gang_gone(object, Source::Muster)
    }

    fn says(&self, _: &Reading) -> Option<Said> {
        Some(said(self.status.clone().map(Status::PodGroup)))
    }

    fn subject(uid: &str) -> Option<Subject> {
        Some(Subject::Gang(Source::Muster, uid.to_owned()))
    }
}

impl Watchable for crd::JobSchedulingSpec {
    const KIND: Kind = Kind::SchedulingSpecs;

    fn exists(self, _: &Reading) -> Result<Object, String> {
        Ok(convert::scheduling_spec_gang(&self).into())
    }

    fn gone(object: Identity) -> ObjectKey {
        gang_gone(object, Source::SchedulingSpec)
    }

    fn says(&self, _: &Reading) -> Option<Said> {
        Some(said(self.status.clone().map(Status::PodGroup)))
    }

    fn subject(uid: &str) -> Option<Subject> {
        Some(Subject::Gang(Source::SchedulingSpec, uid.to_owned()))
    }
}

impl Watchable for volcano::PodGroup {
    const KIND: Kind = Kind::VolcanoPodGroups;

    fn exists(self, reading: &Reading) -> Result<Object, String> {
        Ok(convert::volcano_gang(&self, reading).into())
    }

    fn gone(object: Identity) -> ObjectKey {
        gang_gone(object, Source::Volcano)
    }

    fn says(&self, _: &Reading) -> Option<Said> {
        Some(Status::Volcano(self.status.clone()).said())
    }

    fn subject(uid: &str) -> Option<Subject> {
        Some(Subject::Gang(Source::Volcano, uid.to_owned()))
    }
}

impl Watchable for volcano::Queue {
    const KIND: Kind = Kind::VolcanoQueues;

    fn exists(self, reading: &Reading) -> Result<Object, String> {
        convert::volcano_queue(&self, reading).map(Object::from)
    }

    fn gone(object: Identity) -> ObjectKey {
        ObjectKey::VolcanoQueue(object.name)
    }
}

impl Watchable for upstream::PodGroup {
    const KIND: Kind = Kind::UpstreamPodGroups;
    const PROTOBUF: Option<Decode<Self>> = Some(Self::from_protobuf);

    fn exists(self, reading: &Reading) -> Result<Object, String> {
        Ok(convert::upstream_gang(&self, reading).into())
    }

    fn gone(object: Identity) -> ObjectKey {
        gang_gone(object, Source::Upstream)
    }

    fn says(&self, _: &Reading) -> Option<Said> {
        Some(said(Status::read_upstream(self)))
    }

    fn subject(uid: &str) -> Option<Subject> {
        Some(Subject::Gang(Source::Upstream, uid.to_owned()))
    }
}

impl Watchable for coscheduling::PodGroup {
    const KIND: Kind = Kind::CoschedulingPodGroups;

    fn exists(self, reading: &Reading) -> Result<Object, String> {
        Ok(convert::coscheduling_gang(&self, reading).into())
    }

    fn gone(object: Identity) -> ObjectKey {
        gang_gone(object, Source::Coscheduling)
    }

    fn says(&self, _: &Reading) -> Option<Said> {
        Some(Status::Coscheduling(self.status.clone()).said())
    }

    fn subject(uid: &str) -> Option<Subject> {
        Some(Subject::Gang(Source::Coscheduling, uid.to_owned()))
    }
}

impl Watchable for mpi_job::MpiJob {
    const KIND: Kind = Kind::MpiJobs;

    fn exists(self, _: &Reading) -> Result<Object, String> {
        Ok(self.read().into())
    }

    fn gone(object: Identity) -> ObjectKey {
        ObjectKey::MpiJob(object.namespace, object.name)
    }
}

impl Watchable for topologies::HyperNode {
    const KIND: Kind = Kind::HyperNodes;

    fn exists(self, _: &Reading) -> Result<Object, String> {
        convert::hyper_node(&self).map(Object::from)
    }

    fn gone(object: Identity) -> ObjectKey {
        ObjectKey::HyperNode(object.name)
    }
}

impl Watchable for topologies::KueueTopology {
    const KIND: Kind = Kind::KueueTopologies;

    fn exists(self, _: &Reading) -> Result<Object, String> {
        let (meta, spec) = (&self.metadata, &self.spec);
        let topology = convert::topology_of_others(Origin::Kueue, meta, spec);
        Ok(topology.into())
    }

    fn gone(object: Identity) -> ObjectKey {
        ObjectKey::Topology(convert::name_of_others(Origin::Kueue, &object.name))
    }
}

impl Watchable for topologies::KaiTopology {
    const KIND: Kind = Kind::KaiTopologies;

    fn exists(self, _: &Reading) -> Result<Object, String> {
        let (meta, spec) = (&self.metadata, &self.spec);
        let topology = convert::topology_of_others(Origin::Kai, meta, spec);
        Ok(topology.into())
    }

    fn gone(object: Identity) -> ObjectKey {
        ObjectKey::Topology(convert::name_of_others(Origin::Kai, &object.name))
    }
}

/// What an object says, which may have no status.
fn said(status: Option<Status>) -> Said {
    status.map(Status::said).unwrap_or_default()
}

fn gang_gone(object: Identity, source: Source) -> ObjectKey {
    let key = GangKey {
        namespace: object.namespace,
        space: source.space(),
        name: object.name,
    };
    ObjectKey::Gang(key, source)
}
