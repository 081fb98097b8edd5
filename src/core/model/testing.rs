//! Specs for tests: nodes with CPUs, gangs and pods in namespace `a`.

use super::{GangKey, GangRef, GangSpace, GangSpec, NodeSpec, PodKey, PodSpec, ShapeSpec};

/// A node with so many CPUs.
pub fn node(name: &str, cpus: i64) -> NodeSpec {
    let allocatable = vec![("cpu".to_owned(), cpus * 1000), ("pods".to_owned(), 110)];
    NodeSpec {
        name: name.into(),
        allocatable,
        ..NodeSpec::default()
    }
}

/// The key of a gang of this name.
pub fn key(name: &str) -> GangKey {
    GangKey {
        namespace: "a".into(),
        space: GangSpace::Named,
        name: name.into(),
    }
}

/// A gang of this name.
pub fn group(name: &str) -> GangSpec {
    GangSpec {
        key: key(name),
        uid: format!("group-{name}"),
        ..GangSpec::default()
    }
}

/// A pod of ours, of a gang or on its own, that asks for so many CPUs.
pub fn pod(name: &str, group: Option<&str>, cpus: i64) -> PodSpec {
    let gang = group.map_or(GangRef::Own, |name| GangRef::Named {
        space: GangSpace::Named,
        name: name.to_owned(),
    });
    let requests = vec![("cpu".to_owned(), cpus * 1000)];
    PodSpec {
        key: PodKey {
            namespace: "a".into(),
            name: name.into(),
            uid: format!("uid-{name}"),
        },
        ours: true,
        gang,
        shape: ShapeSpec {
            requests,
            ..ShapeSpec::default()
        },
        ..PodSpec::default()
    }
}
