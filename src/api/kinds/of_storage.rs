//! What the objects of storage tell the core: one `impl` a kind.

use super::{Identity, Kind, Watchable};
use crate::protobuf::{Decode, FromProtobuf};
use crate::{Reading, convert, slim};
use muster_model::{ClaimKey, Object, ObjectKey};

fn key_of(object: Identity) -> ClaimKey {
    ClaimKey {
        namespace: object.namespace,
        name: object.name,
    }
}

impl Watchable for slim::PersistentVolumeClaim {
    const KIND: Kind = Kind::PersistentVolumeClaims;
    const PROTOBUF: Option<Decode<Self>> = Some(Self::from_protobuf);

    fn exists(self, _: &Reading) -> Result<Object, String> {
        Ok(convert::claim(&self).into())
    }

    fn gone(object: Identity) -> ObjectKey {
        ObjectKey::Claim(key_of(object))
    }
}

impl Watchable for slim::PersistentVolume {
    const KIND: Kind = Kind::PersistentVolumes;
    const PROTOBUF: Option<Decode<Self>> = Some(Self::from_protobuf);

    fn exists(self, _: &Reading) -> Result<Object, String> {
        Ok(convert::volume(&self).into())
    }

    fn gone(object: Identity) -> ObjectKey {
        ObjectKey::Volume(object.name)
    }
}

impl Watchable for slim::StorageClass {
    const KIND: Kind = Kind::StorageClasses;
    const PROTOBUF: Option<Decode<Self>> = Some(Self::from_protobuf);

    fn exists(self, _: &Reading) -> Result<Object, String> {
        Ok(convert::storage_class(&self).into())
    }

    fn gone(object: Identity) -> ObjectKey {
        ObjectKey::StorageClass(object.name)
    }
}

impl Watchable for slim::CSINode {
    const KIND: Kind = Kind::CsiNodes;
    const PROTOBUF: Option<Decode<Self>> = Some(Self::from_protobuf);

    fn exists(self, _: &Reading) -> Result<Object, String> {
        Ok(convert::csi_node(&self).into())
    }

    fn gone(object: Identity) -> ObjectKey {
        ObjectKey::CsiNode(object.name)
    }
}

impl Watchable for slim::CSIDriver {
    const KIND: Kind = Kind::CsiDrivers;
    const PROTOBUF: Option<Decode<Self>> = Some(Self::from_protobuf);

    fn exists(self, _: &Reading) -> Result<Object, String> {
        Ok(convert::csi_driver(&self).into())
    }

    fn gone(object: Identity) -> ObjectKey {
        ObjectKey::CsiDriver(object.name)
    }
}

impl Watchable for slim::CSIStorageCapacity {
    const KIND: Kind = Kind::CsiStorageCapacities;
    const PROTOBUF: Option<Decode<Self>> = Some(Self::from_protobuf);

    fn exists(self, _: &Reading) -> Result<Object, String> {
        Ok(convert::capacity(&self).into())
    }

    fn gone(object: Identity) -> ObjectKey {
        ObjectKey::StorageCapacity(key_of(object))
    }
}

impl Watchable for slim::VolumeAttachment {
    const KIND: Kind = Kind::VolumeAttachments;
    const PROTOBUF: Option<Decode<Self>> = Some(Self::from_protobuf);

    fn exists(self, _: &Reading) -> Result<Object, String> {
        Ok(convert::attachment(&self).into())
    }

    fn gone(object: Identity) -> ObjectKey {
        ObjectKey::VolumeAttachment(object.name)
    }
}
