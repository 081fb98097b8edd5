//! Volumes and claims for the pods of a world.

use crate::small::NS;
use crate::world::entry;
use muster::model::{
    AccessModes, BindingMode, ClaimKey, ClaimSpec, CsiNodeSpec, HOSTNAME, Object, Operator,
    PodVolume, Requirement, StorageClassSpec, Term, VolumeSpec,
};
use muster::sim::random::Random;
use muster::sim::scenario::{Entry, Played};

/// Who makes volumes.
const DRIVER: &str = "driver";

/// Some pods have a claim, of a class whose volumes are made at once, or when a pod has a node, or which
/// are there already; some share one.
pub(crate) fn volumes(random: &mut Random, entries: &mut Vec<Entry>) {
    let classes = [
        ("now", DRIVER, BindingMode::Immediate),
        ("late", DRIVER, BindingMode::WaitForFirstConsumer),
        ("local", "", BindingMode::WaitForFirstConsumer),
    ];
    let mut more: Vec<Object> = Vec::new();
    for (name, provisioner, mode) in classes {
        more.push(Object::from(StorageClassSpec {
            name: name.to_owned(),
            provisioner: provisioner.to_owned(),
            mode,
            topologies: Vec::new(),
        }));
    }
    for entry in entries.iter_mut() {
        let Played::Plain(Object::Node(node)) = &mut entry.object else {
            continue;
        };
        node.labels.insert(HOSTNAME.to_owned(), node.name.clone());
        for index in 0..random.below(4) {
            let on_node = Requirement {
                key: HOSTNAME.to_owned(),
                operator: Operator::In,
                values: vec![node.name.clone()],
            };
            let term = Term {
                labels: vec![on_node],
                fields: Vec::new(),
            };
            more.push(Object::from(VolumeSpec {
                name: format!("{}-{index}", node.name),
                size: 5 + i64::try_from(random.below(10)).unwrap(),
                class: "local".to_owned(),
                affinity: (!random.per_mille(200)).then(|| vec![term]),
                ..VolumeSpec::default()
            }));
        }
        if random.per_mille(500) {
            let limit = 1 + u32::try_from(random.below(4)).unwrap();
            more.push(Object::from(CsiNodeSpec {
                name: node.name.clone(),
                drivers: [(DRIVER.to_owned(), Some(limit))].into(),
                migrated: [].into(),
            }));
        }
    }
    for entry in entries.iter_mut() {
        let Played::Pod(plan) = &mut entry.object else {
            continue;
        };
        if !plan.spec.ours || !random.per_mille(400) {
            continue;
        }
        let class = classes[usize::try_from(random.below(3)).unwrap()].0;
        let claim = ClaimSpec {
            key: ClaimKey {
                namespace: NS.to_owned(),
                name: format!("{}-data", plan.spec.key.name),
            },
            class: class.to_owned(),
            size: Some(1 + i64::try_from(random.below(12)).unwrap()),
            ..ClaimSpec::default()
        };
        let name = claim.key.name.clone();
        match random.below(10) {
            0..6 => {
                more.push(Object::from(claim));
                plan.spec.volumes.push(PodVolume::Claim(name));
            }
            6..8 => {
                plan.claims.push(claim);
                plan.spec.volumes.push(PodVolume::Ephemeral(name));
            }
            _ => plan
                .spec
                .volumes
                .push(PodVolume::Claim("shared".to_owned())),
        }
    }
    more.push(Object::from(ClaimSpec {
        key: ClaimKey {
            namespace: NS.to_owned(),
            name: "shared".to_owned(),
        },
        class: "late".to_owned(),
        size: Some(1),
        modes: if random.per_mille(300) {
            AccessModes::READ_WRITE_ONCE_POD
        } else {
            AccessModes::default()
        },
        ..ClaimSpec::default()
    }));
    for event in more {
        let at = if random.per_mille(300) {
            random.below(10_000)
        } else {
            0
        };
        entries.push(entry(at, Played::Plain(event)));
    }
}
