//! The rules that are compared: Muster's own, and four that others use, as plugins of a profile.
//!
//! Each says which node is the best, and which of the domains of one height. Limits of topologies, fewest
//! hops first, queues, backfill and preemption are the same for all.

mod domains;
mod scores;

use domains::{EmptiestDomain, FirstDomain, FullestDomain, TightestDomain};
use muster_core::engine::Policy;
use muster_core::framework::{DomainOrder, Score, Weighted};
use scores::{BestFit, Binpack, FirstFit, Spread};
use std::sync::Arc;

/// How it is chosen between places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Rule {
    /// The default: packing by lost opportunity; domains by what they lose.
    Muster,
    /// The node, and the domain, on which least stays free.
    BestFit,
    /// The first node, and the first domain, that has room.
    FirstFit,
    /// The node (LeastAllocated of kube-scheduler), and the domain, on which most stays free.
    Spread,
    /// KAI's: the fullest domain; inside, racks with the most room first, and the node with the fewest
    /// free GPUs, or CPUs for pods without GPUs, which keep off nodes with GPUs while there are others.
    FullestDomain,
}

impl Rule {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Muster,
        Self::BestFit,
        Self::FirstFit,
        Self::Spread,
        Self::FullestDomain,
    ];

    /// What people call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Muster => "muster",
            Self::BestFit => "best-fit",
            Self::FirstFit => "first-fit",
            Self::Spread => "spread",
            Self::FullestDomain => "fullest-domain",
        }
    }

    /// The default policy with this rule in it.
    pub(super) fn policy(self) -> Policy {
        let mut policy = Policy::default();
        let (score, order): (Arc<dyn Score>, Arc<dyn DomainOrder>) = match self {
            Self::Muster => return policy,
            Self::BestFit => (Arc::new(BestFit), Arc::new(TightestDomain)),
            Self::FirstFit => (Arc::new(FirstFit), Arc::new(FirstDomain)),
            Self::Spread => (Arc::new(Spread::default()), Arc::new(EmptiestDomain)),
            Self::FullestDomain => (Arc::new(Binpack), Arc::new(FullestDomain)),
        };
        policy.profile.score = vec![Weighted {
            plugin: score,
            weight: 1,
        }];
        policy.profile.domain_order = Some(order);
        policy
    }
}
