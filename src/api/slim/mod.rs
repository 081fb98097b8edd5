//! Slim types: of each Kubernetes object, only the fields that Muster reads.
//!
//! A full pod costs many kilobytes in memory; these skip the rest while decoding. They say what
//! an object contains, not what it means: that is `convert`'s work. `null` reads as absent.
//!
//! One declaration serves both encodings: a field's name is that of the JSON, its tag that of the
//! `generated.proto` beside the Go types (`k8s.io/api/core/v1` and so on). A text, a list or a
//! number that is empty means the same as one that is absent, as it does in Go, so it has no
//! `Option` but where Go has a pointer.

mod cluster;
mod known_pod;
mod meta;
mod object;
mod persistent;
mod pod;
mod policy;
mod selecting;
mod selection;
mod storage;
mod text;
mod volume;

pub use cluster::{Image, Namespace, Node, NodeSpec, NodeStatus, PriorityClass, Taint};
pub use meta::Moment;
pub use persistent::{
    ClaimReference, PersistentVolume, PersistentVolumeClaim, PersistentVolumeClaimSpec,
    PersistentVolumeClaimStatus, PersistentVolumeSource, PersistentVolumeSpec,
    PersistentVolumeStatus,
};
pub use pod::{
    Affinity, Container, ContainerPort, ContainerStatus, EphemeralCommon, EphemeralContainer, Gate,
    Mounts, Pod, PodCondition, PodSpec, PodStatus, PodTerms, Resources, RestartRule,
    SchedulingGroup, SpreadConstraint, WeightedPodTerm,
};
pub use policy::{
    IntOrString, LabelSelector, PodDisruptionBudget, PodDisruptionBudgetSpec,
    PodDisruptionBudgetStatus,
};
pub use selecting::{
    ReplicaSet, ReplicationController, Selecting, SelectingLabels, Service, StatefulSet,
};
pub use selection::{
    NodeAffinity, NodeSelector, PodTerm, PreferredTerm, Requirement, Term, Toleration,
};
pub use storage::{
    CSIDriver, CSIDriverSpec, CSINode, CSINodeDriver, CSINodeSpec, CSIStorageCapacity,
    StorageClass, TopologyTerm, VolumeAttachment, VolumeAttachmentSpec,
};
pub use text::{Present, Text, Texts};
pub use volume::{
    AwsDisk, AzureDisk, ClaimSource, GceDisk, ImageVolume, IscsiDisk, NamedVolume, RbdDisk, Volume,
    VolumeSource,
};

pub(crate) use meta::{annotation_is_read, trimmed};
pub(crate) use object::Object;
pub(crate) use text::nullable;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{upstream, volcano};
    use kube::Resource;
    use serde_json::json;

    #[test]
    fn null_reads_as_absent_and_numbers_as_quantities() {
        let pod: Pod = serde_json::from_value(json!({
            "metadata": {"name": "p", "creationTimestamp": null, "labels": null, "annotations": null},
            "spec": {
                "containers": [{
                    "name": "a", "ports": null,
                    "resources": {"requests": {"cpu": 1, "memory": 1.5, "x/y": "2"}, "limits": null},
                }],
                "initContainers": null, "affinity": null, "nodeSelector": null, "volumes": null,
            },
            "status": null,
        }))
        .unwrap();
        let requests = &pod.spec.containers[0].resources.requests;
        let texts: Vec<&str> = requests.values().map(|text| text.0.as_str()).collect();
        assert_eq!(texts, ["1", "1.5", "2"]);
        assert_eq!(pod.status, PodStatus::default());
    }

    #[test]
    fn fields_that_are_not_read_are_skipped() {
        let bare = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "a"}]}});
        let mut full = bare.clone();
        full["metadata"]["managedFields"] = json!([{"fieldsV1": {"f:spec": {}}}]);
        full["spec"]["dnsPolicy"] = json!("ClusterFirst");
        full["spec"]["containers"][0]["env"] = json!([{"name": "A", "value": "b"}]);
        full["spec"]["containers"][0]["command"] = json!(["sleep"]);
        full["status"] = json!({"hostIP": "1.2.3.4", "qosClass": "Burstable"});
        let read = |value| serde_json::from_value::<Pod>(value).unwrap();
        assert_eq!(read(full), read(bare));
    }

    #[test]
    fn slim_kinds_are_found_where_the_full_ones_are() {
        assert_eq!(Pod::url_path(&(), Some("n")), "/api/v1/namespaces/n/pods");
        assert_eq!(Node::url_path(&(), None), "/api/v1/nodes");
        assert_eq!(Namespace::url_path(&(), None), "/api/v1/namespaces");
        let classes = PriorityClass::url_path(&(), None);
        assert_eq!(classes, "/apis/scheduling.k8s.io/v1/priorityclasses");
        let budgets = PodDisruptionBudget::url_path(&(), Some("n"));
        assert_eq!(budgets, "/apis/policy/v1/namespaces/n/poddisruptionbudgets");
        let groups = upstream::PodGroup::url_path(&(), None);
        assert_eq!(groups, "/apis/scheduling.k8s.io/v1beta1/podgroups");
        let groups = volcano::PodGroup::url_path(&(), None);
        assert_eq!(groups, "/apis/scheduling.volcano.sh/v1beta1/podgroups");
    }
}
