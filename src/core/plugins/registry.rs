//! Names to plugins, and the profile that runs when nothing is configured.

use super::allocated::{LeastAllocated, MostAllocated};
use super::default_binder::DefaultBinder;
use super::exclusive::Exclusive;
use super::gang_members::GangMembers;
use super::gang_selector::GangSelector;
use super::inter_pod_affinity::{self, InterPodAffinity, PreferredTerms};
use super::minimum_first::MinimumFirst;
use super::node_affinity::{self, NamedNodes, NodeAffinity};
use super::node_declared_features::NodeDeclaredFeatures;
use super::node_ports::NodePorts;
use super::node_resources::{self, NodeResourcesFit};
use super::node_unschedulable::NodeUnschedulable;
use super::one_profile::OneProfile;
use super::packing::{self, Packing};
use super::priority::Priority;
use super::queue_exists::QueueExists;
use super::scoring::{
    Arguments, FitScore, ImageLocality, NodeResourcesBalancedAllocation, StorageCapacity,
};
use super::slots::Slots;
use super::submission::Submission;
use super::supported_fields::SupportedFields;
use super::taints::TaintToleration;
use super::topology_exists::TopologyExists;
use super::topology_spread::{self, PodTopologySpread};
use super::valid_definition::ValidDefinition;
use super::volume_binding::{self, VolumeBinding};
use super::volume_limits::NodeVolumeLimits;
use super::volume_restrictions::VolumeRestrictions;
use super::volume_zone::VolumeZone;
use crate::framework::{
    Filter, PreBind, PreEnqueue, Preemption, Profile, Profiles, QueueSort, Score, Weighted,
};
use muster_model::units::Millis;
use muster_model::{DefaultSpread, Exemptions, VOLUME_BINDING};
use std::sync::Arc;

/// The filters by name, in the order in which kube-scheduler runs them.
#[must_use]
pub fn filters() -> Vec<Arc<dyn Filter>> {
    filters_by(&Arguments::default())
}

/// The same, as they were told to be.
#[must_use]
pub fn filters_by(arguments: &Arguments) -> Vec<Arc<dyn Filter>> {
    vec![
        Arc::new(NodeUnschedulable),
        Arc::new(TaintToleration),
        Arc::new(node_affinity(arguments)),
        Arc::new(NodePorts),
        Arc::new(NodeResourcesFit),
        Arc::new(VolumeRestrictions),
        Arc::new(NodeVolumeLimits),
        Arc::new(VolumeBinding::default()),
        Arc::new(VolumeZone),
        Arc::new(PodTopologySpread),
        Arc::new(InterPodAffinity),
        Arc::new(NodeDeclaredFeatures),
    ]
}

/// What filters in every profile: what a PodGroup asks for is not for a configuration to leave out.
/// Then what the chosen ones say before any of them filters, and the chosen ones.
#[must_use]
pub fn with_the_gangs_own(chosen: Vec<Arc<dyn Filter>>) -> Vec<Arc<dyn Filter>> {
    let mut all: Vec<Arc<dyn Filter>> =
        vec![Arc::new(GangSelector), Arc::new(Exclusive), Arc::new(Slots)];
    if chosen.iter().any(|one| one.name() == node_affinity::NAME) {
        all.push(Arc::new(NamedNodes));
    }
    all.extend(chosen);
    all
}

/// The orders of gangs inside a queue by name, the most important first.
#[must_use]
pub fn queue_sorts() -> Vec<Arc<dyn QueueSort>> {
    vec![
        Arc::new(Priority),
        Arc::new(MinimumFirst),
        Arc::new(Submission),
    ]
}

/// The scores by name.
#[must_use]
pub fn scores() -> Vec<Arc<dyn Score>> {
    scores_by(&Arguments::default())
}

/// The same, as they were told to be: Muster's own, then kube-scheduler's.
#[must_use]
pub fn scores_by(arguments: &Arguments) -> Vec<Arc<dyn Score>> {
    vec![
        Arc::new(Packing),
        Arc::new(LeastAllocated),
        Arc::new(MostAllocated),
        Arc::new(TaintToleration),
        Arc::new(node_affinity(arguments)),
        Arc::new(FitScore {
            strategy: arguments.strategy.clone(),
            resources: arguments.resources.clone(),
        }),
        Arc::new(NodeResourcesBalancedAllocation {
            resources: arguments.balanced.clone(),
        }),
        Arc::new(ImageLocality),
        Arc::new(PreferredTerms {
            required: arguments.hard_pod_affinity_weight,
            own_only: arguments.ignore_preferred_terms_of_existing_pods,
        }),
        Arc::new(PodTopologySpread),
        Arc::new(StorageCapacity),
    ]
}

fn node_affinity(arguments: &Arguments) -> NodeAffinity {
    NodeAffinity {
        added: Arc::clone(&arguments.added_affinity),
    }
}

/// kube-scheduler's scores and what it weighs them with.
pub const KUBERNETES_SCORES: [(&str, i64); 8] = [
    ("TaintToleration", 3),
    (node_affinity::NAME, 2),
    (node_resources::NAME, 1),
    (topology_spread::NAME, 2),
    (inter_pod_affinity::NAME, 2),
    (VOLUME_BINDING, 1),
    ("NodeResourcesBalancedAllocation", 1),
    ("ImageLocality", 1),
];

/// What schedules as kube-scheduler does, but for gangs, queues and their order.
#[must_use]
pub fn kubernetes_profile() -> Profile {
    let known = scores();
    let weighted = KUBERNETES_SCORES.iter().filter_map(|(name, weight)| {
        let plugin = known.iter().find(|one| one.name() == *name)?;
        Some(Weighted {
            plugin: Arc::clone(plugin),
            weight: *weight,
        })
    });
    let mut profile = Profile {
        score: weighted.collect(),
        preemption: Preemption::ByNode,
        ..default_profile()
    };
    spread_by_default(&mut profile, &Arguments::default());
    profile
}

/// Has pods of a profile spread that say nothing of it, as far as one of its plugins looks at that.
pub fn spread_by_default(profile: &mut Profile, arguments: &Arguments) {
    let mut filters = profile.filter.iter();
    let mut scores = profile.score.iter();
    let filters = filters.any(|one| one.name() == topology_spread::NAME);
    let scores = scores.any(|one| one.plugin.name() == topology_spread::NAME);
    let DefaultSpread {
        required,
        preferred,
    } = arguments.default_spread.clone();
    profile.default_spread = Arc::new(DefaultSpread {
        required: if filters { required } else { Vec::new() },
        preferred: if scores { preferred } else { Vec::new() },
    });
}

/// What holds gangs back whose pods are of different profiles, which are known by these names.
#[must_use]
pub fn one_profile(names: Vec<String>) -> Arc<dyn PreEnqueue> {
    Arc::new(OneProfile { names })
}

/// The scores that run when nothing is configured: packing.
#[must_use]
pub fn default_scores() -> Vec<Arc<dyn Score>> {
    vec![Arc::new(Packing)]
}

/// What has the claims of a decision bound, within a time.
#[must_use]
pub fn volume_binding(at_most: Millis) -> Arc<dyn PreBind> {
    Arc::new(VolumeBinding { at_most })
}

/// What runs when nothing is configured.
#[must_use]
pub fn default_profile() -> Profile {
    Profile {
        queue_sort: queue_sorts(),
        pre_enqueue: vec![
            Arc::new(ValidDefinition),
            Arc::new(QueueExists),
            Arc::new(TopologyExists),
            Arc::new(SupportedFields),
            Arc::new(GangMembers),
        ],
        pre_filter: vec![Arc::new(VolumeBinding::default())],
        filter: with_the_gangs_own(filters()),
        score: default_scores()
            .into_iter()
            .map(|plugin| Weighted { plugin, weight: 1 })
            .collect(),
        pre_bind: vec![volume_binding(volume_binding::BIND_TIMEOUT)],
        bind: vec![Arc::new(DefaultBinder)],
        ..Profile::default()
    }
}

/// Whether a profile gives a node more than it offers: it leaves out the filter that looks at that.
#[must_use]
pub fn overcommits(profile: &Profile) -> bool {
    let mut filters = profile.filter.iter();
    !filters.any(|plugin| plugin.name() == node_resources::NAME)
}

/// What no plan of a scheduler with these profiles need look at.
#[must_use]
pub fn exemptions(profiles: Profiles<'_>) -> Exemptions {
    let of_any = |broken: fn(&Profile) -> bool| profiles.iter().any(broken);
    Exemptions {
        overcommit: of_any(overcommits),
        uneven: of_any(leaves_uneven),
        unfit: of_any(takes_unfit_nodes),
        unchecked: profiles.unchecked().cloned().collect(),
    }
}

/// Whether a profile leaves out the filter that spreads pods.
fn leaves_uneven(profile: &Profile) -> bool {
    let mut filters = profile.filter.iter();
    !filters.any(|plugin| plugin.name() == topology_spread::NAME)
}

/// Whether a profile gives a pod a node that its fields rule out: it leaves out a filter that looks at
/// them.
fn takes_unfit_nodes(profile: &Profile) -> bool {
    let by_facts = [
        "NodeUnschedulable",
        "TaintToleration",
        node_affinity::NAME,
        "NodeDeclaredFeatures",
        "NodePorts",
    ];
    let runs = |name: &str| profile.filter.iter().any(|one| one.name() == name);
    !by_facts.into_iter().all(runs)
}

/// Whether a profile asks for nothing but packing: then what loses least is what it wants.
#[must_use]
pub fn packs(profile: &Profile) -> bool {
    let [only] = &profile.score[..] else {
        return false;
    };
    only.plugin.name() == packing::NAME
}
