//! What the objects that choose pods tell the core: one `impl` a kind. They are looked at only where a profile
//! spreads pods that say nothing of it.

use super::{Identity, Kind, Watchable};
use crate::protobuf::{Decode, FromProtobuf};
use crate::{Reading, convert, slim};
use muster_model::{Object, ObjectKey, PodSelectorKey, SelectorKind};

fn gone(object: Identity, kind: SelectorKind) -> ObjectKey {
    ObjectKey::PodSelector(PodSelectorKey {
        namespace: object.namespace,
        kind,
        name: object.name,
    })
}

impl Watchable for slim::Service {
    const KIND: Kind = Kind::Services;
    const PROTOBUF: Option<Decode<Self>> = Some(Self::from_protobuf);

    fn is_read(reading: &Reading) -> bool {
        reading.reads_selectors()
    }

    fn exists(self, _: &Reading) -> Result<Object, String> {
        Ok(convert::service(&self).into())
    }

    fn gone(object: Identity) -> ObjectKey {
        gone(object, SelectorKind::Service)
    }
}

impl Watchable for slim::ReplicationController {
    const KIND: Kind = Kind::ReplicationControllers;
    const PROTOBUF: Option<Decode<Self>> = Some(Self::from_protobuf);

    fn is_read(reading: &Reading) -> bool {
        reading.reads_selectors()
    }

    fn exists(self, _: &Reading) -> Result<Object, String> {
        Ok(convert::replication_controller(&self).into())
    }

    fn gone(object: Identity) -> ObjectKey {
        gone(object, SelectorKind::ReplicationController)
    }
}

impl Watchable for slim::ReplicaSet {
    const KIND: Kind = Kind::ReplicaSets;
    const PROTOBUF: Option<Decode<Self>> = Some(Self::from_protobuf);

    fn is_read(reading: &Reading) -> bool {
        reading.reads_selectors()
    }

    fn exists(self, _: &Reading) -> Result<Object, String> {
        Ok(convert::replica_set(&self).into())
    }

    fn gone(object: Identity) -> ObjectKey {
        gone(object, SelectorKind::ReplicaSet)
    }
}

impl Watchable for slim::StatefulSet {
    const KIND: Kind = Kind::StatefulSets;
    const PROTOBUF: Option<Decode<Self>> = Some(Self::from_protobuf);

    fn is_read(reading: &Reading) -> bool {
        reading.reads_selectors()
    }

    fn exists(self, _: &Reading) -> Result<Object, String> {
        Ok(convert::stateful_set(&self).into())
    }

    fn gone(object: Identity) -> ObjectKey {
        gone(object, SelectorKind::StatefulSet)
    }
}
