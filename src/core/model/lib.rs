//! What the core is told and what it orders: plain data about nodes, pods, gangs and queues, with
//! quantities and times as integers.
//!
//! These types carry names and strings, as news from outside does; the core's state interns them into
//! ids. Nothing here decides anything. Who only carries news in and orders out needs no more than this.

mod budget;
mod code;
mod constraints;
pub mod digest;
mod effect;
mod event;
mod exemptions;
pub mod explanation;
mod features;
mod gang;
mod hyper_node;
mod image;
mod mpi_job;
mod name_pattern;
mod natural;
mod node;
mod object;
mod objects;
pub mod plain;
mod plan;
mod pod;
mod pod_rules;
mod profile;
mod question;
mod queue;
mod rank;
mod remote;
pub mod resources;
mod spread;
mod stats;
mod status;
mod tables;
mod testbed;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod text;
mod topology;
pub mod units;
mod volumes;
mod whose;
mod why;

pub use budget::{BudgetOfGang, DisruptionBudgetSpec, PodLabels, label_in};
pub use code::Code;
pub use constraints::{
    Constraints, GangWants, Housemates, NodeSelector, Operator, Requirement, Taint, TaintEffect,
    Term, Toleration, TolerationOperator, labels_match,
};
pub use effect::{Bind, Evict, EvictCause, PodWaits};
pub use event::{BindOutcome, Event, EvictOutcome, Writes};
pub use exemptions::Exemptions;
pub use features::NodeFeatures;
pub use gang::{
    GangKey, GangSpace, GangSpec, GrantedTerms, Implied, LabelledSubgroups, LetIn, Lifetime,
    MAX_NAMED_SUBGROUPS, Recalled, Source, SubgroupSpec,
};
pub use hyper_node::{HYPER_NODES, HyperNodeSpec, MAX_TIERS, NodeChoice, level_of_tier};
pub use image::NodeImage;
pub use mpi_job::MpiJobSpec;
pub use name_pattern::NamePattern;
pub use natural::natural;
pub use node::NodeSpec;
pub use object::{Object, ObjectKey, ObjectKind, Spec};
pub use objects::Objects;
pub use plan::{
    AmountsOn, ClaimNews, Decision, Effect, HeldPlace, Neighbours, OntoKept, Outcome, Plan, Span,
    SpanKind,
};
pub use pod::{GangRef, HostPort, PodKey, PodPhase, PodSpec, Protocol, ShapeSpec};
pub use pod_rules::{
    Counted, METADATA_NAME, NamespaceChoice, PodQuery, PodRules, PodTerm, WeightedPodTerm,
};
pub use profile::{Preferences, Preferred, ProfileId, Reads};
pub use question::{
    About, Answer, AskedPlace, Body, Inquiry, Point, Question, QuestionId,
    in_words as places_in_words,
};
pub use queue::{
    CRITICAL_PRIORITY, DEFAULT_OVER_SHARE, DEFAULT_QUEUE, DEFAULT_RESERVE_AFTER, LabelCondition,
    LabelRequirement, LabelSelector, NamespaceSpec, PriorityClassSpec, QueueOrder, QueueSpec,
    Reservation, VolcanoQueueSpec, is_critical_class,
};
pub use rank::Rank;
pub use remote::{
    AskedGang, AskedNode, AskedPod, MAX_ASKED_PODS, NodeVerdicts, RemoteAnswer, RemotePoint,
    RemoteQuestion,
};
pub use spread::{
    DefaultSpread, PodSelectorKey, PodSelectorSpec, SelectorKind, SpreadByDefault, SpreadRule,
};
pub use stats::{LostSums, MoveCounts, PackingCounts, RoomCounts, RoomNote, Stats};
pub use status::{
    Condition, GangPhase, GangStatus, PHASES, QueueStatus, SHOWN_POSITIONS, TopologyDoubt,
    TopologyStatus,
};
pub use tables::{Table, Tables};
pub use testbed::{GhostOf, SliceSpec, SlotClaim, SlotSpec, TestbedSpec};
pub use text::{MAX_MESSAGE, counted, cut};
pub use topology::{
    ANY_OF_KUEUE, BY_LABEL, HOSTNAME, Level, Link, MAX_COST, Origin, TopologySpec, TopologyWish,
};
pub use volumes::{
    AccessModes, Attach, AttachmentSpec, BindingMode, ClaimKey, ClaimRef, ClaimSpec, CsiDriverSpec,
    CsiNodeSpec, Disk, Handle, PodVolume, Reach, StorageCapacitySpec, StorageClassSpec,
    VOLUME_BINDING, VolumeDeed, VolumeNeeds, VolumePlace, VolumeSpec, VolumeTask, VolumeWant,
};
pub use whose::{Named, is_ours};
pub use why::Why;

use std::collections::BTreeMap;

/// Labels of an object.
pub type Labels = BTreeMap<String, String>;

/// Amounts by resource name: `cpu` in thousandths of a core, everything else in whole units
/// (bytes, devices). Names are Kubernetes' own; a name occurs once.
pub type Amounts = Vec<(String, i64)>;

/// Whether a value is what it is where nothing is said: then it is not written down.
#[cfg(feature = "serde")]
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
