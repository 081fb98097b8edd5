//! Specs for tests: nodes with CPUs, gangs and pods in namespace `a`.

use super::plain::{self, amounts};
use super::{GangKey, GangRef, GangSpec, NodeSpec, PodSpec};

/// A node with so many CPUs.
pub fn node(name: &str, cpus: i64) -> NodeSpec {
    plain::node(name, amounts([("cpu", cpus * 1000), ("pods", 110)]))
}

/// The key of a gang of this name.
pub fn key(name: &str) -> GangKey {
    plain::key("a", name)
}

/// A gang of this name.
pub fn group(name: &str) -> GangSpec {
    plain::group(key(name), GangSpec::default().min_available)
}

/// A pod of ours, of a gang or on its own, that asks for so many CPUs.
pub fn pod(name: &str, group: Option<&str>, cpus: i64) -> PodSpec {
    PodSpec {
        gang: group.map_or(GangRef::Own, plain::member_of),
        ..plain::pod("a", name, amounts([("cpu", cpus * 1000)]))
    }
}
