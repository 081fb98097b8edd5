//! A pod's volumes: those that decide where it may run.

use crate::slim;
use muster_model::{Disk, Handle, PodVolume};

/// The volumes of a pod, of the kinds that bind it to some nodes or count against a node's limit.
pub(super) fn of_pod(pod: &slim::Pod) -> Vec<PodVolume> {
    let name = pod.metadata.name.as_deref().unwrap_or_default();
    let volumes = pod.spec.volumes.iter();
    volumes.filter_map(|one| volume(name, one)).collect()
}

fn volume(pod: &str, volume: &slim::Volume) -> Option<PodVolume> {
    let source = &volume.source;
    if let Some(claim) = &source.persistent_volume_claim {
        return Some(PodVolume::Claim(claim.claim_name.clone()));
    }
    if source.ephemeral.is_some() {
        return Some(PodVolume::Ephemeral(format!("{pod}-{}", volume.name)));
    }
    disk(source).map(PodVolume::Disk)
}

fn disk(source: &slim::VolumeSource) -> Option<Disk> {
    if let Some(gce) = &source.gce_persistent_disk {
        return Some(Disk::Gce {
            name: gce.pd_name.clone(),
            read_only: gce.read_only,
        });
    }
    if let Some(aws) = &source.aws_elastic_block_store {
        return Some(Disk::Aws {
            id: aws.volume_id.clone(),
        });
    }
    if let Some(iscsi) = &source.iscsi {
        return Some(Disk::Iscsi {
            iqn: iscsi.iqn.clone(),
            read_only: iscsi.read_only,
        });
    }
    if let Some(rbd) = &source.rbd {
        let pool = if rbd.pool.is_empty() {
            "rbd"
        } else {
            &rbd.pool
        };
        return Some(Disk::Rbd {
            monitors: rbd.monitors.clone(),
            pool: pool.to_owned(),
            image: rbd.image.clone(),
            read_only: rbd.read_only,
        });
    }
    let counted = |(driver, plugin): (&str, &str), handle: &str| {
        Disk::Counted(Handle {
            driver: driver.to_owned(),
            handle: handle.to_owned(),
            in_tree: Some(plugin.to_owned()),
        })
    };
    let cinder = source.cinder.as_ref();
    let azure = source.azure_disk.as_ref();
    let portworx = source.portworx_volume.as_ref();
    cinder
        .map(|one| counted(CINDER, &one.volume_id))
        .or_else(|| azure.map(|one| counted(AZURE_DISK, &one.disk_uri)))
        .or_else(|| portworx.map(|one| counted(PORTWORX, &one.volume_id)))
}

/// Drivers, and the plugins of Kubernetes that they stand in for (source: csi-translation-lib).
pub(super) const CINDER: (&str, &str) = ("cinder.csi.openstack.org", "kubernetes.io/cinder");
pub(super) const AZURE_DISK: (&str, &str) = ("disk.csi.azure.com", "kubernetes.io/azure-disk");
pub(super) const PORTWORX: (&str, &str) = ("pxd.portworx.com", "kubernetes.io/portworx-volume");

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn volumes_that_decide_where_a_pod_runs_are_read() {
        let pod = json!({"metadata": {"name": "p"}, "spec": {"volumes": [
            {"name": "a", "persistentVolumeClaim": {"claimName": "c"}},
            {"name": "b", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
            {"name": "c", "emptyDir": {}},
            {"name": "d", "rbd": {"monitors": ["m"], "image": "i", "readOnly": true}},
            {"name": "e", "awsElasticBlockStore": {"volumeID": "vol-1"}},
            {"name": "f", "azureDisk": {"diskName": "x", "diskURI": "uri"}},
        ]}});
        let found = of_pod(&serde_json::from_value(pod).unwrap());
        let counted = Handle {
            driver: "disk.csi.azure.com".to_owned(),
            handle: "uri".to_owned(),
            in_tree: Some("kubernetes.io/azure-disk".to_owned()),
        };
        assert_eq!(
            found,
            [
                PodVolume::Claim("c".to_owned()),
                PodVolume::Ephemeral("p-b".to_owned()),
                PodVolume::Disk(Disk::Rbd {
                    monitors: vec!["m".to_owned()],
                    pool: "rbd".to_owned(),
                    image: "i".to_owned(),
                    read_only: true,
                }),
                PodVolume::Disk(Disk::Aws {
                    id: "vol-1".to_owned()
                }),
                PodVolume::Disk(Disk::Counted(counted)),
            ]
        );
    }
}
