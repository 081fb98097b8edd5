//! What small made-up worlds are made of, for every test that makes some: objects with few names, so that
//! things meet, and what they say drawn by lot.
//!
//! The plain objects are [`muster::model::plain`]'s, as those of the benchmarks are. The oracle of
//! placement (tests/oracle) has worlds of its own, on purpose.

#![allow(dead_code, reason = "each test uses a part of it")]

pub(crate) mod company;
pub(crate) mod gangs;
pub(crate) mod lot;
pub(crate) mod nearness;
pub(crate) mod queues;

use muster::model::plain::{self, amounts};
use muster::model::{Amounts, GangKey, GangRef, Labels, NodeSpec, PodSpec, Taint};

/// The namespace of all.
pub(crate) const NS: &str = "ns";
/// The label of a node that has its name.
pub(crate) const HOST: &str = "host";
/// The label of a node that says at which switch it is.
pub(crate) const RACK: &str = "rack";
/// The taint that some nodes have and some pods tolerate.
pub(crate) const TAINT: &str = "taint";
/// What only some nodes have.
pub(crate) const GPU: &str = "gpu";
/// The class that some PodGroups name.
pub(crate) const CLASS: &str = "class";

/// The key of a PodGroup.
pub(crate) fn key(name: impl Into<String>) -> GangKey {
    plain::key(NS, name)
}

/// A node in a rack.
pub(crate) fn node(name: impl Into<String>, rack: &str, allocatable: Amounts) -> NodeSpec {
    let name = name.into();
    NodeSpec {
        labels: Labels::from([
            (HOST.to_owned(), name.clone()),
            (RACK.to_owned(), rack.to_owned()),
        ]),
        ..plain::node(name, allocatable)
    }
}

/// What a node offers: so much CPU, and devices if it has any.
pub(crate) fn offers(cpu: i64, gpus: i64, pods: i64) -> Amounts {
    let mut offers = amounts([("cpu", cpu), ("pods", pods)]);
    offers.extend((gpus > 0).then(|| (GPU.to_owned(), gpus)));
    offers
}

/// What keeps pods off a node that do not tolerate it.
pub(crate) fn taint() -> Taint {
    Taint {
        key: TAINT.to_owned(),
        ..Taint::default()
    }
}

/// A pod of a PodGroup, or on its own.
pub(crate) fn pod(name: impl Into<String>, group: Option<&str>, cpu: i64) -> PodSpec {
    PodSpec {
        gang: group.map_or(GangRef::Own, plain::member_of),
        ..plain::pod(NS, name, amounts([("cpu", cpu)]))
    }
}
