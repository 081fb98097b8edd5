//! What a pod says of itself that is taken over as it is, as one value: a field that is new cannot be
//! forgotten where pods are made, changed and compared.

use muster_model::units::Millis;
use muster_model::{PodPhase, PodSpec, Rank, SpreadByDefault};

/// What a pod says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodFacts {
    /// What it says in its subgroup label.
    pub subgroup_label: Option<String>,
    /// Where it stands in the line of its gang.
    pub rank: Option<Rank>,
    /// Priority as admission resolved it.
    pub priority: Option<i32>,
    /// Priority class, where admission did not.
    pub priority_class: Option<String>,
    /// Whether it makes nobody go, where admission says so.
    pub never_preempts: Option<bool>,
    /// Queue label, for a pod that is a gang of its own.
    pub queue: Option<String>,
    /// Its queue in the words of another scheduler.
    pub queue_if_declared: Option<String>,
    /// How long it is protected, if it is a gang of its own.
    pub lifetime: Option<Millis>,
    /// Phase as last seen.
    pub phase: PodPhase,
    /// A DaemonSet controls it.
    pub daemon: bool,
    /// Scheduling gates still set.
    pub gates: Vec<String>,
    /// Fields that cannot be honoured.
    pub unsupported: Vec<String>,
    /// The node that somebody outside means it to have, or we did.
    pub wishes: Option<String>,
    /// The slot that it says it sits on.
    pub slot: Option<u32>,
    /// It is spread by the rules of its profile.
    pub spread_by_default: Option<Box<SpreadByDefault>>,
}

impl PodFacts {
    /// Takes them out of what was told. All of it is named here: the rest is kept elsewhere.
    pub(super) fn take(spec: &mut PodSpec) -> Self {
        let PodSpec {
            subgroup,
            rank,
            priority,
            priority_class,
            never_preempts,
            queue,
            queue_if_declared,
            lifetime,
            phase,
            daemon,
            gates,
            unsupported,
            nominated,
            slot,
            spread_by_default,
            key: _,
            created: _,
            ours: _,
            other_scheduler: _,
            node: _,
            bound_at: _,
            terminating: _,
            gang: _,
            implied: _,
            labels: _,
            shape: _,
            volumes: _,
            ghost_of: _,
        } = spec;
        Self {
            subgroup_label: subgroup.take(),
            rank: *rank,
            priority: *priority,
            priority_class: priority_class.take(),
            never_preempts: *never_preempts,
            queue: queue.take(),
            queue_if_declared: queue_if_declared.take(),
            lifetime: *lifetime,
            phase: *phase,
            daemon: *daemon,
            gates: std::mem::take(gates),
            unsupported: std::mem::take(unsupported),
            wishes: nominated.take(),
            slot: *slot,
            spread_by_default: spread_by_default.take(),
        }
    }

    /// Whether its gang has to be looked at again where these become those, apart from what a pod counts
    /// as and where it is. A rank makes a difference as long as it is not placed.
    pub(super) fn tell_apart(&self, after: &Self, placed: bool) -> bool {
        let Self {
            rank,
            priority,
            priority_class,
            never_preempts,
            queue,
            queue_if_declared,
            lifetime,
            gates,
            unsupported,
            // What it counts as, and where it is, is compared elsewhere.
            subgroup_label: _,
            phase: _,
            daemon: _,
            wishes: _,
            slot: _,
            // What comes of it is in its shape.
            spread_by_default: _,
        } = self;
        *priority != after.priority
            || *priority_class != after.priority_class
            || *never_preempts != after.never_preempts
            || *queue != after.queue
            || *queue_if_declared != after.queue_if_declared
            || *lifetime != after.lifetime
            || *gates != after.gates
            || *unsupported != after.unsupported
            || !placed && *rank != after.rank
    }
}
