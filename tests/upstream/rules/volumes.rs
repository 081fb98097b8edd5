//! Claims, volumes, and what binds pods to where these are.

use super::super::case::{Case, NAMESPACE, list, name_of};
use super::super::dice::Dice;
use serde_json::{Value, json};

const ZONE: &str = "topology.kubernetes.io/zone";
const DRIVER: &str = "csi.example.com";
/// Its claims wait for a pod, and are given volumes that are there.
const LOCAL: &str = "local";
/// Its claims wait for a pod, and volumes are made for them.
const MADE: &str = "made";
/// Its claims are bound at once.
const AT_ONCE: &str = "at-once";

pub(super) fn add(case: &mut Case, dice: &mut Dice) {
    classes(case, dice);
    csi_nodes(case, dice);
    case.pod["metadata"]["uid"] = json!("uid-of-the-pod");
    for index in 0..case.pods.len() {
        if dice.percent(35) {
            let name = format!("used-{index}");
            let modes = dice.one_of(&["ReadWriteOnce", "ReadWriteOnce", "ReadWriteOncePod"]);
            bound_claim(case, &name, modes, dice);
            mount(&mut case.pods[index], &name);
        }
        if dice.percent(10) {
            let disk = disk(dice);
            list(&mut case.pods[index], &["spec", "volumes"]).push(disk);
        }
    }
    for index in 0..dice.one_of(&[1, 1, 1, 2, 3]) {
        claim(case, &format!("claim-{index}"), dice);
    }
    if dice.percent(30) {
        let disk = disk(dice);
        for pod in &mut case.pods {
            // Else it is never the disk that keeps it off a node.
            if dice.percent(50) {
                list(pod, &["spec", "volumes"]).push(disk.clone());
            }
        }
        list(&mut case.pod, &["spec", "volumes"]).push(disk);
    }
}

/// One volume of the waiting pod.
fn claim(case: &mut Case, name: &str, dice: &mut Dice) {
    let kind = dice.one_of(&[
        "bound",
        "bound",
        "bound",
        "another's",
        "local",
        "local",
        "local",
        "made",
        "made",
        "at once",
        "missing",
        "going",
        "lost",
        "ephemeral",
        "no volume",
    ]);
    dice.note(format!("volumes: {kind}"));
    match kind {
        "bound" => {
            let modes = dice.one_of(&["ReadWriteOnce", "ReadWriteOncePod"]);
            bound_claim(case, name, modes, dice);
        }
        "another's" => {
            let others = case.of_kind("persistentVolumeClaims").iter().map(name_of);
            let others: Vec<String> = others.filter(|one| one.starts_with("used-")).collect();
            if others.is_empty() {
                return;
            }
            let other = others[dice.below(others.len())].clone();
            let volumes = list(&mut case.pod, &["spec", "volumes"]);
            if !volumes.iter().any(|one| one["name"] == json!(other)) {
                mount(&mut case.pod, &other);
            }
            return;
        }
        "local" => {
            for index in 0..dice.below(4) {
                free_volume(case, &format!("{name}-{index}"), dice);
            }
            unbound(case, name, LOCAL, dice);
        }
        "made" => unbound(case, name, MADE, dice),
        "at once" => unbound(case, name, dice.one_of(&[AT_ONCE, ""]), dice),
        "missing" => {}
        "going" => {
            bound_claim(case, name, "ReadWriteOnce", dice);
            let claims = case.others["persistentVolumeClaims"]
                .as_array_mut()
                .unwrap();
            let claim = claims.last_mut().unwrap();
            claim["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
            claim["metadata"]["finalizers"] = json!(["kubernetes.io/pvc-protection"]);
        }
        "lost" => {
            bound_claim(case, name, "ReadWriteOnce", dice);
            let claims = case.others["persistentVolumeClaims"]
                .as_array_mut()
                .unwrap();
            claims.last_mut().unwrap()["status"]["phase"] = json!("Lost");
        }
        "ephemeral" => {
            let owned = dice.percent(70);
            let of_the_pod = format!("pending-{name}");
            if dice.percent(80) {
                unbound(case, &of_the_pod, LOCAL, dice);
                free_volume(case, &format!("{name}-0"), dice);
                let claims = case.others["persistentVolumeClaims"]
                    .as_array_mut()
                    .unwrap();
                if owned {
                    claims.last_mut().unwrap()["metadata"]["ownerReferences"] = json!([{
                        "apiVersion": "v1", "kind": "Pod", "name": "pending",
                        "uid": "uid-of-the-pod", "controller": true,
                    }]);
                }
            }
            list(&mut case.pod, &["spec", "volumes"]).push(json!({
                "name": name, "ephemeral": {"volumeClaimTemplate": {"spec": {}}},
            }));
            return;
        }
        _ => {
            bound_claim(case, name, "ReadWriteOnce", dice);
            let volumes = case.others["persistentVolumes"].as_array_mut().unwrap();
            volumes.pop();
        }
    }
    mount(&mut case.pod, name);
}

fn mount(pod: &mut Value, claim: &str) {
    list(pod, &["spec", "volumes"]).push(json!({
        "name": claim, "persistentVolumeClaim": {"claimName": claim},
    }));
}

/// A claim with its volume.
fn bound_claim(case: &mut Case, name: &str, modes: &str, dice: &mut Dice) {
    let volume = format!("v-{name}");
    case.add(
        "persistentVolumeClaims",
        json!({
            "metadata": {
                "name": name, "namespace": NAMESPACE, "uid": format!("uid-{name}"),
                "annotations": {"pv.kubernetes.io/bind-completed": "yes"},
            },
            "spec": {
                "volumeName": volume, "accessModes": [modes], "storageClassName": "",
                "resources": {"requests": {"storage": "1Gi"}},
            },
            "status": {"phase": "Bound"},
        }),
    );
    let mut made = volume_of(&volume, dice);
    made["spec"]["claimRef"] = json!({"kind": "PersistentVolumeClaim", "namespace": NAMESPACE, "name": name, "uid": format!("uid-{name}")});
    made["spec"]["accessModes"] = json!([modes]);
    made["status"] = json!({"phase": "Bound"});
    case.add("persistentVolumes", made);
}

/// A volume of some kind, somewhere.
fn volume_of(name: &str, dice: &mut Dice) -> Value {
    let mut volume = json!({
        "metadata": {"name": name, "uid": format!("uid-{name}"), "labels": {}},
        "spec": {
            "capacity": {"storage": dice.one_of(&["1Gi", "2Gi", "5Gi"])},
            "accessModes": ["ReadWriteOnce"], "persistentVolumeReclaimPolicy": "Retain",
        },
        "status": {"phase": "Available"},
    });
    if dice.percent(60) {
        dice.note("volumes: by CSI");
        let handle = format!("h-{}", dice.one_of(&["0", "1", name]));
        volume["spec"]["csi"] = json!({"driver": DRIVER, "volumeHandle": handle});
    } else {
        volume["spec"]["hostPath"] = json!({"path": "/v"});
    }
    if dice.percent(30) {
        dice.note("volumes: with affinity");
        let zones = dice.one_of(&[&["z1"][..], &["z1", "z2"], &["z3"], &["z9"]]);
        let one = json!({"key": ZONE, "operator": "In", "values": zones});
        volume["spec"]["nodeAffinity"] =
            json!({"required": {"nodeSelectorTerms": [{"matchExpressions": [one]}]}});
    }
    if dice.percent(25) {
        dice.note("volumes: with a zone label");
        let key = dice.one_of(&[ZONE, "failure-domain.beta.kubernetes.io/zone"]);
        volume["metadata"]["labels"][key] = json!(dice.one_of(&["z1", "z2", "z1__z3", "z9"]));
    }
    volume
}

fn free_volume(case: &mut Case, name: &str, dice: &mut Dice) {
    let mut volume = volume_of(&format!("free-{name}"), dice);
    volume["spec"]["storageClassName"] = json!(dice.one_of(&[LOCAL, LOCAL, LOCAL, MADE]));
    if dice.percent(20) {
        volume["spec"]["accessModes"] = json!(["ReadOnlyMany"]);
    }
    if dice.percent(15) {
        volume["spec"]["volumeMode"] = json!("Block");
    }
    volume["metadata"]["labels"]["tier"] = json!(dice.one_of(&["gold", "tin"]));
    case.add("persistentVolumes", volume);
}

fn unbound(case: &mut Case, name: &str, class: &str, dice: &mut Dice) {
    let mut claim = json!({
        "metadata": {"name": name, "namespace": NAMESPACE, "uid": format!("uid-{name}")},
        "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": class,
            "resources": {"requests": {"storage": dice.one_of(&["1Gi", "2Gi", "4Gi"])}},
        },
        "status": {"phase": "Pending"},
    });
    if class == LOCAL && dice.percent(25) {
        dice.note("volumes: by selector");
        claim["spec"]["selector"] = json!({"matchLabels": {"tier": "gold"}});
    }
    if class == MADE && dice.percent(15) && !case.nodes.is_empty() {
        dice.note("volumes: with a node selected");
        let node = name_of(&case.nodes[dice.below(case.nodes.len())]);
        claim["metadata"]["annotations"] = json!({"volume.kubernetes.io/selected-node": node});
    }
    case.add("persistentVolumeClaims", claim);
}

fn classes(case: &mut Case, dice: &mut Dice) {
    let waits = "WaitForFirstConsumer";
    case.add(
        "storageClasses",
        json!({
            "metadata": {"name": LOCAL}, "provisioner": "kubernetes.io/no-provisioner",
            "volumeBindingMode": waits,
        }),
    );
    case.add(
        "storageClasses",
        json!({
            "metadata": {"name": AT_ONCE}, "provisioner": DRIVER, "volumeBindingMode": "Immediate",
        }),
    );
    let mut made = json!({
        "metadata": {"name": MADE}, "provisioner": DRIVER, "volumeBindingMode": waits,
    });
    if dice.percent(40) {
        dice.note("volumes: allowed topologies");
        made["allowedTopologies"] = json!([{
            "matchLabelExpressions": [{"key": ZONE, "values": ["z1", "z2"]}],
        }]);
    }
    case.add("storageClasses", made);
    let tracked = dice.percent(40);
    case.add(
        "csiDrivers",
        json!({"metadata": {"name": DRIVER}, "spec": {"storageCapacity": tracked}}),
    );
    if tracked {
        dice.note("volumes: capacity is tracked");
        for (index, zone) in ["z1", "z2"].into_iter().enumerate() {
            let mut capacity = json!({
                "metadata": {"name": format!("capacity-{index}"), "namespace": NAMESPACE},
                "storageClassName": MADE,
                "nodeTopology": {"matchLabels": {ZONE: zone}},
                "capacity": dice.one_of(&["1Gi", "3Gi", "10Gi"]),
            });
            if dice.percent(30) {
                capacity["maximumVolumeSize"] = json!(dice.one_of(&["1Gi", "3Gi"]));
            }
            case.add("csiStorageCapacities", capacity);
        }
    }
}

fn csi_nodes(case: &mut Case, dice: &mut Dice) {
    for name in case.node_names() {
        if dice.percent(15) {
            continue;
        }
        let mut driver = json!({"name": DRIVER, "nodeID": name});
        if dice.percent(70) {
            driver["allocatable"] = json!({"count": dice.one_of(&[0, 1, 1, 2, 5])});
        }
        let drivers = if dice.percent(10) {
            json!([])
        } else {
            json!([driver])
        };
        case.add(
            "csiNodes",
            json!({"metadata": {"name": name}, "spec": {"drivers": drivers}}),
        );
    }
}

/// A disk that goes to one node at a time.
fn disk(dice: &mut Dice) -> Value {
    let kind = dice.one_of(&["gcePersistentDisk", "awsElasticBlockStore", "iscsi", "rbd"]);
    dice.note(format!("volumes: {kind}"));
    let read_only = dice.percent(40);
    let mut source = match kind {
        "gcePersistentDisk" => json!({"pdName": dice.one_of(&["d0", "d1"])}),
        "awsElasticBlockStore" => json!({"volumeID": dice.one_of(&["d0", "d1"])}),
        "iscsi" => {
            json!({"targetPortal": "10.0.0.1:3260", "iqn": dice.one_of(&["i0", "i1"]), "lun": 0})
        }
        _ => json!({"monitors": [dice.one_of(&["m0", "m1"])], "image": "i", "pool": "p"}),
    };
    source["readOnly"] = json!(read_only);
    json!({"name": format!("disk-{}", dice.below(1_000_000)), kind: source})
}
