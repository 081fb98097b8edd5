//! Which of the domains of one height comes first.

use muster_core::framework::{DomainOrder, DomainRoom, Inside, Plugin};

/// Best fit: the domain with least room (source: Slurm's topology/tree takes the lowest switch that
/// fits, and of its leaves those that fit best).
#[derive(Debug)]
pub(super) struct TightestDomain;

/// First fit: the first domain that holds the members.
#[derive(Debug)]
pub(super) struct FirstDomain;

/// Spread: the domain with most room.
#[derive(Debug)]
pub(super) struct EmptiestDomain;

/// KAI: the domain that is the fullest, which is the one with the least room where all are of one size;
/// inside, those with the most room are filled first (source: KAI's docs/topology).
#[derive(Debug)]
pub(super) struct FullestDomain;

impl Plugin for TightestDomain {
    fn name(&self) -> &'static str {
        "TightestDomain"
    }
}

impl DomainOrder for TightestDomain {
    fn rank(&self, domain: DomainRoom) -> [u64; 2] {
        tightest(domain)
    }
}

impl Plugin for FirstDomain {
    fn name(&self) -> &'static str {
        "FirstDomain"
    }
}

impl DomainOrder for FirstDomain {
    fn rank(&self, _: DomainRoom) -> [u64; 2] {
        [0, 0]
    }
}

impl Plugin for EmptiestDomain {
    fn name(&self) -> &'static str {
        "EmptiestDomain"
    }
}

impl DomainOrder for EmptiestDomain {
    fn rank(&self, domain: DomainRoom) -> [u64; 2] {
        [domain.room, domain.around].map(|room| u64::MAX - room)
    }
}

impl Plugin for FullestDomain {
    fn name(&self) -> &'static str {
        "FullestDomain"
    }
}

impl DomainOrder for FullestDomain {
    fn rank(&self, domain: DomainRoom) -> [u64; 2] {
        tightest(domain)
    }

    fn inside(&self) -> Inside {
        Inside::MostRoomFirst
    }
}

/// The one with the least room. Nodes are taken out of the domain with the least room: neither of the two
/// looks at single nodes before it has chosen the switch.
const fn tightest(domain: DomainRoom) -> [u64; 2] {
    if domain.is_node {
        [domain.around, domain.room]
    } else {
        [domain.room, 0]
    }
}
