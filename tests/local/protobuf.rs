//! What is read in protobuf is what is read in JSON; and bytes that are neither are refused.

use crate::schema::{GO, Style, any_object, encode, envelope};
use bytes::Bytes;
use muster::api::protobuf::{self, FromProtobuf};
use muster::api::{slim, upstream};
use proptest::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::fmt::Debug;

fn any_style() -> impl Strategy<Value = Style> {
    any::<(bool, bool)>().prop_map(|(zeros, noise)| Style { zeros, noise })
}

/// Reads an object in both encodings, and compares.
fn same<K>(message: &str, object: &Value, style: Style) -> Result<(), TestCaseError>
where
    K: FromProtobuf + DeserializeOwned + PartialEq + Debug,
{
    // Metadata is all that JSON has to have.
    let mut json = object.clone();
    if json.get("metadata").is_none() {
        json["metadata"] = json!({});
    }
    let by_json: K = serde_json::from_value(json).unwrap();
    let bytes = encode(message, object, style);
    let by_protobuf = K::from_protobuf(Bytes::from(bytes)).unwrap();
    prop_assert_eq!(by_protobuf, by_json);
    Ok(())
}

proptest! {
    #[test]
    fn pods_are_the_same_in_both_encodings(pod in any_object("Pod"), style in any_style()) {
        same::<slim::Pod>("Pod", &pod, style)?;
    }

    #[test]
    fn nodes_are_the_same_in_both_encodings(node in any_object("Node"), style in any_style()) {
        same::<slim::Node>("Node", &node, style)?;
    }

    #[test]
    fn small_kinds_are_the_same_in_both_encodings(
        namespace in any_object("Namespace"),
        class in any_object("PriorityClass"),
        budget in any_object("PodDisruptionBudget"),
        group in any_object("PodGroup"),
        style in any_style(),
    ) {
        same::<slim::Namespace>("Namespace", &namespace, style)?;
        same::<slim::PriorityClass>("PriorityClass", &class, style)?;
        same::<slim::PodDisruptionBudget>("PodDisruptionBudget", &budget, style)?;
        same::<upstream::PodGroup>("PodGroup", &group, style)?;
    }

    #[test]
    fn claims_and_volumes_are_the_same_in_both_encodings(
        claim in any_object("PersistentVolumeClaim"),
        volume in any_object("PersistentVolume"),
        style in any_style(),
    ) {
        same::<slim::PersistentVolumeClaim>("PersistentVolumeClaim", &claim, style)?;
        same::<slim::PersistentVolume>("PersistentVolume", &volume, style)?;
    }

    #[test]
    fn what_chooses_pods_is_the_same_in_both_encodings(
        service in any_object("Service"),
        controller in any_object("ReplicationController"),
        replicas in any_object("ReplicaSet"),
        stateful in any_object("StatefulSet"),
        style in any_style(),
    ) {
        same::<slim::Service>("Service", &service, style)?;
        same::<slim::ReplicationController>("ReplicationController", &controller, style)?;
        same::<slim::ReplicaSet>("ReplicaSet", &replicas, style)?;
        same::<slim::StatefulSet>("StatefulSet", &stateful, style)?;
    }

    #[test]
    fn kinds_of_storage_are_the_same_in_both_encodings(
        class in any_object("StorageClass"),
        node in any_object("CSINode"),
        driver in any_object("CSIDriver"),
        capacity in any_object("CSIStorageCapacity"),
        attachment in any_object("VolumeAttachment"),
        style in any_style(),
    ) {
        same::<slim::StorageClass>("StorageClass", &class, style)?;
        same::<slim::CSINode>("CSINode", &node, style)?;
        same::<slim::CSIDriver>("CSIDriver", &driver, style)?;
        same::<slim::CSIStorageCapacity>("CSIStorageCapacity", &capacity, style)?;
        same::<slim::VolumeAttachment>("VolumeAttachment", &attachment, style)?;
    }

    #[test]
    fn bytes_that_were_cut_or_changed_are_an_error_or_an_object_but_no_panic(
        pod in any_object("Pod"),
        cut in any::<prop::sample::Index>(),
        change in any::<(prop::sample::Index, u8)>(),
    ) {
        let whole = envelope("PodList", &json!({"items": [pod]}), GO);
        let mut bytes = whole.clone();
        let at = change.0.index(bytes.len());
        bytes[at] = change.1;
        read_list(&bytes);
        read_list(&whole[..cut.index(whole.len())]);
    }

    #[test]
    fn any_bytes_are_an_error_or_an_object_but_no_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        read_list(&bytes);
        read_list(&[b"k8s\0", &bytes[..]].concat());
        let _ = protobuf::change(Bytes::from(bytes.clone()));
        let _ = protobuf::status(&Bytes::from(bytes));
    }
}

/// Reads as far as it can be read.
fn read_list(bytes: &[u8]) {
    let Ok(page) = protobuf::page(&Bytes::copy_from_slice(bytes)) else {
        return;
    };
    for item in page.items {
        let _ = slim::Pod::from_protobuf(item);
    }
}

#[test]
fn what_is_no_protobuf_is_named() {
    let html = protobuf::page(&Bytes::from_static(b"<html>")).unwrap_err();
    assert_eq!(
        html.to_string(),
        "not an object in protobuf: it does not begin with \"k8s\\0\""
    );
    let mut pod = encode("Pod", &json!({"spec": {"nodeName": "n"}}), GO);
    pod.pop();
    let cut = slim::Pod::from_protobuf(Bytes::from(pod)).unwrap_err();
    assert!(cut.to_string().starts_with("failed to decode"), "{cut}");
}
