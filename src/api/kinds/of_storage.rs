//! What the objects of storage tell the core: one `impl` a kind.

use super::{Identity, Kind, Watchable};
use crate::protobuf::{Decode, FromProtobuf};
use crate::{Reading, convert, slim};
use muster_model::{ClaimKey, Event, StorageEvent};

fn key_of(object: Identity) -> ClaimKey {
    ClaimKey {
        namespace: object.namespace,
        name: object.name,
    }
}

impl Watchable for slim::PersistentVolumeClaim {
    const KIND: Kind = Kind::PersistentVolumeClaims;
    const PROTOBUF: Option<Decode<Self>> = Some(Self::from_protobuf);

    fn exists(self, _: &Reading) -> Result<Event, String> {
        let found = StorageEvent::Claim(convert::claim(&self));
        Ok(Event::Storage(Box::new(found)))
    }

    fn gone(object: Identity) -> Event {
        let gone = StorageEvent::ClaimDeleted(key_of(object));
        Event::Storage(Box::new(gone))
    }
}

impl Watchable for slim::PersistentVolume {
    const KIND: Kind = Kind::PersistentVolumes;
    const PROTOBUF: Option<Decode<Self>> = Some(Self::from_protobuf);

    fn exists(self, _: &Reading) -> Result<Event, String> {
        let found = StorageEvent::Volume(convert::volume(&self));
        Ok(Event::Storage(Box::new(found)))
    }

    fn gone(object: Identity) -> Event {
        let gone = StorageEvent::VolumeDeleted(object.name);
        Event::Storage(Box::new(gone))
    }
}

impl Watchable for slim::StorageClass {
    const KIND: Kind = Kind::StorageClasses;
    const PROTOBUF: Option<Decode<Self>> = Some(Self::from_protobuf);

    fn exists(self, _: &Reading) -> Result<Event, String> {
        let found = StorageEvent::Class(convert::storage_class(&self));
        Ok(Event::Storage(Box::new(found)))
    }

    fn gone(object: Identity) -> Event {
        let gone = StorageEvent::ClassDeleted(object.name);
        Event::Storage(Box::new(gone))
    }
}

impl Watchable for slim::CSINode {
    const KIND: Kind = Kind::CsiNodes;
    const PROTOBUF: Option<Decode<Self>> = Some(Self::from_protobuf);

    fn exists(self, _: &Reading) -> Result<Event, String> {
        let found = StorageEvent::CsiNode(convert::csi_node(&self));
        Ok(Event::Storage(Box::new(found)))
    }

    fn gone(object: Identity) -> Event {
        let gone = StorageEvent::CsiNodeDeleted(object.name);
        Event::Storage(Box::new(gone))
    }
}

impl Watchable for slim::CSIDriver {
    const KIND: Kind = Kind::CsiDrivers;
    const PROTOBUF: Option<Decode<Self>> = Some(Self::from_protobuf);

    fn exists(self, _: &Reading) -> Result<Event, String> {
        let found = StorageEvent::CsiDriver(convert::csi_driver(&self));
        Ok(Event::Storage(Box::new(found)))
    }

    fn gone(object: Identity) -> Event {
        let gone = StorageEvent::CsiDriverDeleted(object.name);
        Event::Storage(Box::new(gone))
    }
}

impl Watchable for slim::CSIStorageCapacity {
    const KIND: Kind = Kind::CsiStorageCapacities;
    const PROTOBUF: Option<Decode<Self>> = Some(Self::from_protobuf);

    fn exists(self, _: &Reading) -> Result<Event, String> {
        let found = StorageEvent::Capacity(convert::capacity(&self));
        Ok(Event::Storage(Box::new(found)))
    }

    fn gone(object: Identity) -> Event {
        let gone = StorageEvent::CapacityDeleted(key_of(object));
        Event::Storage(Box::new(gone))
    }
}

impl Watchable for slim::VolumeAttachment {
    const KIND: Kind = Kind::VolumeAttachments;
    const PROTOBUF: Option<Decode<Self>> = Some(Self::from_protobuf);

    fn exists(self, _: &Reading) -> Result<Event, String> {
        let found = StorageEvent::Attachment(convert::attachment(&self));
        Ok(Event::Storage(Box::new(found)))
    }

    fn gone(object: Identity) -> Event {
        let gone = StorageEvent::AttachmentDeleted(object.name);
        Event::Storage(Box::new(gone))
    }
}
