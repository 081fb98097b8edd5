//! The extension points: one trait each, in the order in which a gang meets them.
//!
//! The names and their meaning are those of Kubernetes' scheduling framework; where that speaks of
//! a pod and a node at a time, the traits here have a form for many nodes at once beside it. A
//! plugin is an object that implements one or more of them; a [`Profile`] says which plugins run
//! where, in which order and with which weight.
//!
//! **Invariant:** plugins decide from the state alone: no clock, no I/O, no randomness.

mod addition;
mod decision_points;
mod gang_points;
mod node_points;
mod profile;
mod reason;
mod remote;
mod store;
mod waiting;

pub use addition::Addition;
pub use decision_points::{
    Ask, BindVerdict, Binder, MAX_WAIT, Permit, PermitVerdict, PostBind, PreBind, PreBindVerdict,
    Refusal, Reserve, ReserveVerdict, Spot, Spots,
};
pub use gang_points::{
    DomainOrder, DomainRoom, EventHandler, GangDomains, Inside, PostFilter, PreEnqueue, QueueSort,
    VictimFilter,
};
pub use node_points::{
    Context, Filter, Mates, PreFilter, PreFilterVerdict, PreScore, Scope, Score, Verdict,
};
pub use profile::{MAX_SCORE, Preemption, Profile, Profiles, Weighted};
pub use reason::Reason;
pub use remote::{Remote, asked_gang, asked_pod};
pub use store::Store;
pub use waiting::{Rejection, WaitingGang, WaitingGangs};

/// Every plugin has a name: what the configuration calls it.
pub trait Plugin: Send + Sync {
    /// The name, in CamelCase.
    fn name(&self) -> &'static str;
}
