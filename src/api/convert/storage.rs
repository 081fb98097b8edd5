//! Claims, volumes, classes, and what nodes can attach.

use super::filled;
use super::term::term;
use super::unsupported::Unsupported;
use super::volumes::{AZURE_DISK, CINDER, PORTWORX};
use crate::{names, slim};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use muster_model::units::Quantity;
use muster_model::{
    AccessModes, AttachmentSpec, BindingMode, ClaimKey, ClaimRef, ClaimSpec, CsiDriverSpec,
    CsiNodeSpec, Disk, Handle, Labels, NodeSelector, Operator, Requirement, StorageCapacitySpec,
    StorageClassSpec, Term, VolumeSpec,
};
use std::collections::BTreeSet;

/// A PersistentVolumeClaim.
#[must_use]
pub fn claim(claim: &slim::PersistentVolumeClaim) -> ClaimSpec {
    let (meta, spec) = (&claim.metadata, &claim.spec);
    let owners = meta.owner_references.iter().flatten();
    let mut controllers = owners.filter(|owner| owner.controller == Some(true));
    ClaimSpec {
        key: key_of(meta),
        uid: meta.uid.clone().unwrap_or_default(),
        owner: controllers.next().map(|owner| owner.uid.clone()),
        class: class_of(meta, spec.storage_class_name.as_deref()),
        volume: spec.volume_name.clone(),
        bind_completed: names::annotation(meta, names::BIND_COMPLETED).is_some(),
        selected_node: names::annotation(meta, names::SELECTED_NODE).map(str::to_owned),
        lost: claim.status.phase == "Lost",
        deleting: meta.deletion_timestamp.is_some(),
        size: size(spec.resources.requests.get("storage")),
        modes: modes(&spec.access_modes),
        block: spec.volume_mode.as_deref() == Some("Block"),
        selector: spec.selector.as_ref().map(requirements),
        attributes_class: filled(spec.volume_attributes_class_name.as_ref()).unwrap_or_default(),
    }
}

/// A PersistentVolume.
#[must_use]
pub fn volume(volume: &slim::PersistentVolume) -> VolumeSpec {
    let (meta, spec) = (&volume.metadata, &volume.spec);
    let labels = meta.labels.clone().unwrap_or_default();
    let required = spec.node_affinity.as_ref();
    let required = required.and_then(|affinity| affinity.required.as_ref());
    let affinity = required.map(terms);
    let handle = handle_of(&spec.source, &labels);
    let plugin = handle.as_ref().and_then(|one| one.in_tree.as_deref());
    let key = plugin.and_then(topology_key);
    let migrated_affinity = match (plugin, key) {
        (Some(_), Some(key)) => migrated(affinity.as_ref(), &labels, key),
        (Some(_), None) => affinity.clone(),
        (None, _) => None,
    };
    VolumeSpec {
        name: meta.name.clone().unwrap_or_default(),
        size: size(spec.capacity.get("storage")).unwrap_or(0),
        modes: modes(&spec.access_modes),
        block: spec.volume_mode.as_deref() == Some("Block"),
        class: class_of(meta, Some(&spec.storage_class_name)),
        attributes_class: filled(spec.volume_attributes_class_name.as_ref()).unwrap_or_default(),
        claim: spec.claim_ref.as_ref().map(|of| ClaimRef {
            key: ClaimKey {
                namespace: of.namespace.clone(),
                name: of.name.clone(),
            },
            uid: of.uid.clone(),
        }),
        available: volume.status.phase == "Available",
        deleting: meta.deletion_timestamp.is_some(),
        affinity,
        migrated_affinity,
        handle,
        labels,
    }
}

/// A StorageClass.
#[must_use]
pub fn storage_class(class: &slim::StorageClass) -> StorageClassSpec {
    let mode = match class.volume_binding_mode.as_deref() {
        Some("WaitForFirstConsumer") => BindingMode::WaitForFirstConsumer,
        _ => BindingMode::Immediate,
    };
    let term = |term: &slim::TopologyTerm| Term {
        labels: (term.match_label_expressions.iter())
            .map(|one| Requirement {
                key: one.key.clone(),
                operator: Operator::In,
                values: one.values.clone(),
            })
            .collect(),
        fields: Vec::new(),
    };
    StorageClassSpec {
        name: class.metadata.name.clone().unwrap_or_default(),
        provisioner: class.provisioner.clone(),
        mode,
        topologies: class.allowed_topologies.iter().map(term).collect(),
    }
}

/// A CSINode.
#[must_use]
pub fn csi_node(node: &slim::CSINode) -> CsiNodeSpec {
    let limit = |driver: &slim::CSINodeDriver| {
        let count = driver.allocatable.as_ref()?.count?;
        Some(u32::try_from(count).unwrap_or(0))
    };
    let migrated = names::annotation(&node.metadata, names::MIGRATED_PLUGINS);
    let migrated = migrated.unwrap_or_default().split(',');
    CsiNodeSpec {
        name: node.metadata.name.clone().unwrap_or_default(),
        drivers: (node.spec.drivers.iter())
            .map(|driver| (driver.name.clone(), limit(driver)))
            .collect(),
        migrated: (migrated.filter(|plugin| !plugin.is_empty()))
            .map(str::to_owned)
            .collect(),
    }
}

/// A CSIDriver.
#[must_use]
pub fn csi_driver(driver: &slim::CSIDriver) -> CsiDriverSpec {
    let spec = &driver.spec;
    CsiDriverSpec {
        name: driver.metadata.name.clone().unwrap_or_default(),
        tracks_capacity: spec.storage_capacity == Some(true),
        must_be_installed: spec.prevent_pod_scheduling_if_missing == Some(true),
    }
}

/// A CSIStorageCapacity.
#[must_use]
pub fn capacity(capacity: &slim::CSIStorageCapacity) -> StorageCapacitySpec {
    StorageCapacitySpec {
        key: key_of(&capacity.metadata),
        class: capacity.storage_class_name.clone(),
        nodes: capacity.node_topology.as_ref().map(requirements),
        capacity: size(capacity.capacity.as_ref()),
        largest: size(capacity.maximum_volume_size.as_ref()),
    }
}

/// A VolumeAttachment.
#[must_use]
pub fn attachment(attachment: &slim::VolumeAttachment) -> AttachmentSpec {
    let spec = &attachment.spec;
    let volume = spec.source.persistent_volume_name.as_ref();
    AttachmentSpec {
        name: attachment.metadata.name.clone().unwrap_or_default(),
        node: spec.node_name.clone(),
        driver: spec.attacher.clone(),
        volume: volume.cloned().unwrap_or_default(),
    }
}

/// Sizes that are no quantities, by field path.
#[must_use]
pub fn unreadable_sizes<'a>(
    sizes: impl IntoIterator<Item = (&'a str, Option<&'a slim::Text>)>,
) -> Vec<String> {
    let problem = |(path, text): (&str, Option<&slim::Text>)| {
        let error = Quantity::parse(&text?.0).err()?;
        Some(format!("{path}: {error}"))
    };
    sizes.into_iter().filter_map(problem).collect()
}

fn key_of(meta: &ObjectMeta) -> ClaimKey {
    ClaimKey {
        namespace: meta.namespace.clone().unwrap_or_default(),
        name: meta.name.clone().unwrap_or_default(),
    }
}

/// The class of a claim or a volume: the annotation of old counts first.
fn class_of(meta: &ObjectMeta, class: Option<&str>) -> String {
    let old = names::annotation(meta, names::BETA_STORAGE_CLASS);
    old.or(class).unwrap_or_default().to_owned()
}

/// Whole bytes; what cannot be read counts as absent.
fn size(text: Option<&slim::Text>) -> Option<i64> {
    Some(Quantity::parse(&text?.0).ok()?.value())
}

fn modes(words: &[String]) -> AccessModes {
    let mode = |word: &String| match word.as_str() {
        "ReadWriteOnce" => AccessModes::READ_WRITE_ONCE,
        "ReadOnlyMany" => AccessModes::READ_ONLY_MANY,
        "ReadWriteMany" => AccessModes::READ_WRITE_MANY,
        "ReadWriteOncePod" => AccessModes::READ_WRITE_ONCE_POD,
        _ => AccessModes::UNKNOWN,
    };
    words
        .iter()
        .map(mode)
        .fold(AccessModes::default(), AccessModes::with)
}

/// What nothing satisfies.
fn never() -> Requirement {
    Requirement {
        operator: Operator::In,
        ..Requirement::default()
    }
}

/// The terms of a node selector; one that cannot be read holds nowhere.
fn terms(selector: &slim::NodeSelector) -> NodeSelector {
    let terms = selector.node_selector_terms.iter();
    let read = |found: &slim::Term| {
        let mut notes = Unsupported::default();
        let mut term = term("", found, &mut notes);
        if !notes.paths.is_empty() {
            term.labels.push(never());
        }
        term
    };
    terms.map(read).collect()
}

/// What a label selector demands; one that cannot be read is satisfied by nothing.
fn requirements(selector: &slim::LabelSelector) -> Vec<Requirement> {
    let equal = selector
        .match_labels
        .iter()
        .map(|(key, value)| Requirement {
            key: key.clone(),
            operator: Operator::In,
            values: vec![value.clone()],
        });
    let others = selector.match_expressions.iter().map(|one| {
        let operator = match one.operator.as_str() {
            "In" => Operator::In,
            "NotIn" => Operator::NotIn,
            "Exists" => Operator::Exists,
            "DoesNotExist" => Operator::DoesNotExist,
            _ => return never(),
        };
        Requirement {
            key: one.key.clone(),
            operator,
            values: one.values.clone(),
        }
    });
    equal.chain(others).collect()
}

/// What a node attaches for a volume, where that is counted (source: csi-translation-lib).
fn handle_of(source: &slim::PersistentVolumeSource, labels: &Labels) -> Option<Handle> {
    let in_tree = |(driver, plugin): (&str, &str), handle: &str| Handle {
        driver: driver.to_owned(),
        handle: handle.to_owned(),
        in_tree: Some(plugin.to_owned()),
    };
    if let Some(csi) = &source.csi {
        return Some(Handle {
            driver: csi.driver.clone(),
            handle: csi.volume_handle.clone(),
            in_tree: None,
        })
        .filter(|one| !one.driver.is_empty() && !one.handle.is_empty());
    }
    if let Some(gce) = &source.gce_persistent_disk {
        let handle = Disk::Gce {
            name: gce.pd_name.clone(),
            read_only: gce.read_only,
        }
        .handle()?;
        let zone = [OLD_ZONE, ZONE].into_iter().find_map(|key| labels.get(key));
        let disk = &gce.pd_name;
        let handle_in = |place: &str| Handle {
            handle: format!("projects/UNSPECIFIED/{place}/disks/{disk}"),
            ..handle.clone()
        };
        let zones = zone.filter(|zone| !zone.is_empty());
        return Some(
            match zones.map(|zones| zones.split("__").collect::<Vec<_>>()) {
                None => handle.clone(),
                Some(one) if one.len() == 1 => handle_in(&format!("zones/{}", one[0])),
                Some(several) => {
                    let region = several[0].rsplit_once('-').map_or("", |(region, _)| region);
                    handle_in(&format!("regions/{region}"))
                }
            },
        );
    }
    if let Some(aws) = &source.aws_elastic_block_store {
        let id = aws.volume_id.clone();
        return Disk::Aws { id }.handle();
    }
    let cinder = source.cinder.as_ref();
    let azure = source.azure_disk.as_ref();
    let portworx = source.portworx_volume.as_ref();
    cinder
        .map(|one| in_tree(CINDER, &one.volume_id))
        .or_else(|| azure.map(|one| in_tree(AZURE_DISK, &one.disk_uri)))
        .or_else(|| portworx.map(|one| in_tree(PORTWORX, &one.volume_id)))
}

const ZONE: &str = "topology.kubernetes.io/zone";
const REGION: &str = "topology.kubernetes.io/region";
const OLD_ZONE: &str = "failure-domain.beta.kubernetes.io/zone";
const OLD_REGION: &str = "failure-domain.beta.kubernetes.io/region";

/// The label by which the driver that stands in for a plugin knows zones.
fn topology_key(plugin: &str) -> Option<&'static str> {
    match plugin {
        "kubernetes.io/aws-ebs" => Some("topology.ebs.csi.aws.com/zone"),
        "kubernetes.io/gce-pd" => Some("topology.gke.io/zone"),
        "kubernetes.io/cinder" => Some("topology.cinder.csi.openstack.org/zone"),
        _ => None,
    }
}

/// The nodes that reach a volume, where a driver stands in for its plugin: the driver's label takes
/// the place of the zone (source: csi-translation-lib's `translateTopologyFromInTreeToCSI`).
fn migrated(affinity: Option<&NodeSelector>, labels: &Labels, key: &str) -> Option<NodeSelector> {
    let uses = |wanted: &str| {
        let terms = affinity.into_iter().flatten();
        let mut requirements = terms.flat_map(|term| &term.labels);
        requirements.any(|one| one.key == wanted)
    };
    let labelled_of_old = labels.contains_key(OLD_ZONE) && !labels.contains_key(ZONE);
    let is_old = !uses(ZONE) && (uses(OLD_ZONE) || labelled_of_old);
    let zone = if is_old { OLD_ZONE } else { ZONE };
    let mut terms = affinity.cloned();
    let named: BTreeSet<&String> = (affinity.into_iter().flatten())
        .flat_map(|term| &term.labels)
        .filter(|one| one.key == zone)
        .flat_map(|one| &one.values)
        .collect();
    let rename = |terms: &mut NodeSelector, from: &str, to: &str| {
        let requirements = terms.iter_mut().flat_map(|term| &mut term.labels);
        for one in requirements.filter(|one| one.key == from) {
            to.clone_into(&mut one.key);
        }
    };
    if !named.is_empty() {
        if let Some(terms) = &mut terms {
            rename(terms, zone, key);
        }
    } else if let Some(zones) = labels.get(zone) {
        let zones: BTreeSet<&str> = zones.split("__").map(str::trim).collect();
        let values: Vec<String> = (zones.into_iter().filter(|zone| !zone.is_empty()))
            .map(str::to_owned)
            .collect();
        if !values.is_empty() {
            let wanted = Requirement {
                key: key.to_owned(),
                operator: Operator::In,
                values,
            };
            let terms = terms.get_or_insert_default();
            if terms.is_empty() {
                terms.push(Term::default());
            }
            for term in terms {
                term.labels.push(wanted.clone());
            }
        }
    }
    if let Some(terms) = terms.as_mut().filter(|_| is_old) {
        rename(terms, OLD_REGION, REGION);
    }
    terms
}
