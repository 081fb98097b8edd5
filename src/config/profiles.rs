//! Profiles for pods of some `schedulerName`s, in the words of kube-scheduler's configuration: `profiles[]`
//! with `plugins` and `pluginConfig`.
//!
//! What is here is what has an effect; a field of kube-scheduler's that has none is refused.

use super::spread::SpreadArguments;
use super::values::{
    Bounded, Entry, ExtendedResource, FilterPoint, ObjectName, PluginName, PluginOrAll,
    SchedulerName, ScorePoint, unique,
};
use muster_api::Ignored;
use muster_core::plugins::Added;
use muster_core::plugins::scoring::{Arguments, Point, ResourceWeight, Strategy};
use muster_model::Operator;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error};
use std::sync::Arc;

/// A profile has a number of eight bits, and nobody needs more than these.
const MAX_PROFILES: usize = 32;

/// The plugins for pods of one `schedulerName`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NamedProfile {
    /// Whose pods: a value of `spec.schedulerName`.
    pub scheduler_name: SchedulerName,
    /// What it starts from.
    #[serde(default)]
    pub base: Base,
    /// Which plugins run besides, and which do not.
    #[serde(default)]
    pub plugins: Plugins,
    /// What plugins are told.
    #[serde(default, deserialize_with = "unique")]
    pub plugin_config: Vec<PluginConfig>,
}

/// What a profile starts from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Base {
    /// What runs where nothing is configured: packing.
    #[default]
    Default,
    /// kube-scheduler's scores and its preemption for pods without a gang.
    Kubernetes,
}

/// Which plugins of the points that can be chosen run, and which do not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Plugins {
    /// What makes a node unfit for a pod.
    pub filter: Filters,
    /// Which of the nodes that are fit is the best.
    pub score: Scores,
}

/// Changes to the filters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Filters {
    /// Those that run.
    #[serde(deserialize_with = "unique")]
    pub enabled: Vec<EnabledFilter>,
    /// Those of the base that do not.
    pub disabled: Vec<DisabledFilter>,
}

/// A filter that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnabledFilter {
    /// The plugin.
    pub name: PluginName<FilterPoint>,
}

/// A filter that does not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DisabledFilter {
    /// The plugin; `*` is all.
    pub name: PluginOrAll<FilterPoint>,
}

/// Changes to the scores.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Scores {
    /// Those that run.
    #[serde(deserialize_with = "unique")]
    pub enabled: Vec<super::WeightedPlugin>,
    /// Those of the base that do not.
    pub disabled: Vec<DisabledScore>,
}

/// A score that does not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DisabledScore {
    /// The plugin; `*` is all.
    pub name: PluginOrAll<ScorePoint>,
}

/// What a plugin is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", content = "args")]
pub enum PluginConfig {
    /// How nodes are scored by what is requested there.
    NodeResourcesFit(FitArguments),
    /// Which resources are to be used alike.
    NodeResourcesBalancedAllocation(BalancedArguments),
    /// What counts for every pod besides.
    NodeAffinity(AffinityArguments),
    /// What terms of pods that have their place weigh.
    InterPodAffinity(InterPodArguments),
    /// By what pods are spread that say nothing of it.
    PodTopologySpread(SpreadArguments),
}

/// Of `NodeResourcesFit`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct FitArguments {
    /// May be named, as in kube-scheduler's configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    /// May be named as well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// By which rule and by which resources.
    pub scoring_strategy: ScoringStrategy,
    /// Extended resources at which it does not look.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignored_resources: Vec<ExtendedResource>,
    /// The domains of such resources.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignored_resource_groups: Vec<ObjectName>,
}

/// By which rule a node is scored, and by which resources.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", try_from = "Unchecked")]
pub struct ScoringStrategy {
    /// The rule.
    #[serde(rename = "type")]
    pub kind: StrategyType,
    /// The resources.
    pub resources: Vec<Resource>,
    /// What a node scores of which so much is requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requested_to_capacity_ratio: Option<Ratio>,
}

/// A strategy that may not be complete.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Unchecked {
    #[serde(rename = "type", default)]
    kind: StrategyType,
    #[serde(default = "cpu_and_memory", deserialize_with = "unique")]
    resources: Vec<Resource>,
    #[serde(default)]
    requested_to_capacity_ratio: Option<Ratio>,
}

/// By which rule a node is scored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum StrategyType {
    /// The emptier the better.
    #[default]
    LeastAllocated,
    /// The fuller the better.
    MostAllocated,
    /// As a line says.
    RequestedToCapacityRatio,
}

/// A resource and how much it counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Resource {
    /// Its name.
    pub name: String,
    /// How much it counts.
    #[serde(default)]
    pub weight: Bounded<1, 100, 1>,
}

/// The line of `RequestedToCapacityRatio`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ratio {
    /// Its points.
    pub shape: Vec<RatioPoint>,
}

/// A point of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RatioPoint {
    /// How much is requested, in percent.
    pub utilization: Bounded<0, 100, 0>,
    /// What that scores, at most 10.
    pub score: Bounded<0, 10, 0>,
}

/// Of `NodeResourcesBalancedAllocation`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BalancedArguments {
    /// May be named, as in kube-scheduler's configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    /// May be named as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The resources. What they weigh makes no difference.
    #[serde(default = "cpu_and_memory", deserialize_with = "unique")]
    pub resources: Vec<Resource>,
}

/// Of `NodeAffinity`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct AffinityArguments {
    /// May be named, as in kube-scheduler's configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    /// May be named as well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Node affinity of every pod, besides its own.
    pub added_affinity: AddedAffinity,
}

/// Of `InterPodAffinity`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct InterPodArguments {
    /// May be named, as in kube-scheduler's configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    /// May be named as well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// What a required term of affinity weighs, of a pod that has its place, for one that it is about.
    pub hard_pod_affinity_weight: Bounded<0, 100, 1>,
    /// Whether preferred terms of pods that have their place count only for those that have some of their
    /// own.
    pub ignore_preferred_terms_of_existing_pods: bool,
}

/// Node affinity as a pod has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AddedAffinity {
    /// What a node must have.
    #[serde(
        rename = "requiredDuringSchedulingIgnoredDuringExecution",
        skip_serializing_if = "Option::is_none"
    )]
    pub required: Option<Terms>,
    /// What it had better have.
    #[serde(rename = "preferredDuringSchedulingIgnoredDuringExecution")]
    pub preferred: Vec<PreferredTerm>,
}

/// Terms of which one must hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Terms {
    /// The terms.
    pub node_selector_terms: Vec<Term>,
}

/// A term and how much it counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PreferredTerm {
    /// How much it counts.
    pub weight: Bounded<1, 100, 1>,
    /// The term.
    pub preference: Term,
}

/// Expressions that must all hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Term {
    /// Over labels.
    pub match_expressions: Vec<Requirement>,
    /// Over fields: only `metadata.name`.
    pub match_fields: Vec<Requirement>,
}

/// One expression.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Requirement {
    /// Label key or field path.
    pub key: String,
    /// How it compares.
    pub operator: Comparison,
    /// With what.
    #[serde(default)]
    pub values: Vec<String>,
}

/// How an expression compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Comparison {
    /// The value is among those given.
    In,
    /// It is not, or there is none.
    NotIn,
    /// There is one.
    Exists,
    /// There is none.
    DoesNotExist,
    /// It is an integer greater than the one given.
    Gt,
    /// It is one less than that.
    Lt,
}

/// Reads profiles: one for each `schedulerName`, and not too many.
pub(super) fn few<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<NamedProfile>, D::Error> {
    let list: Vec<NamedProfile> = unique(deserializer)?;
    match list.len() {
        0..=MAX_PROFILES => Ok(list),
        many => Err(D::Error::custom(format!(
            "found {many} profiles: at most {MAX_PROFILES} are allowed"
        ))),
    }
}

fn cpu_and_memory() -> Vec<Resource> {
    let one = |one: ResourceWeight| Resource {
        name: one.name,
        weight: Bounded::default(),
    };
    ResourceWeight::cpu_and_memory()
        .into_iter()
        .map(one)
        .collect()
}

impl Default for ScoringStrategy {
    fn default() -> Self {
        Self {
            kind: StrategyType::default(),
            resources: cpu_and_memory(),
            requested_to_capacity_ratio: None,
        }
    }
}

impl TryFrom<Unchecked> for ScoringStrategy {
    type Error = String;

    fn try_from(found: Unchecked) -> Result<Self, String> {
        let points = found.requested_to_capacity_ratio.as_ref();
        let points = points.map_or(&[][..], |ratio| &ratio.shape);
        let by_line = found.kind == StrategyType::RequestedToCapacityRatio;
        if by_line && points.is_empty() {
            return Err("RequestedToCapacityRatio needs a shape of at least one point".to_owned());
        }
        let rising = |pair: &[RatioPoint]| pair[0].utilization.get() < pair[1].utilization.get();
        if !points.windows(2).all(rising) {
            return Err("the points of a shape have to be in the order of utilization".to_owned());
        }
        Ok(Self {
            kind: found.kind,
            resources: found.resources,
            requested_to_capacity_ratio: found.requested_to_capacity_ratio,
        })
    }
}

impl Entry for NamedProfile {
    fn key(&self) -> &str {
        self.scheduler_name.as_str()
    }
}

impl Entry for EnabledFilter {
    fn key(&self) -> &str {
        self.name.as_str()
    }
}

impl Entry for Resource {
    fn key(&self) -> &str {
        &self.name
    }
}

impl Entry for PluginConfig {
    fn key(&self) -> &str {
        match self {
            Self::NodeResourcesFit(_) => "NodeResourcesFit",
            Self::NodeResourcesBalancedAllocation(_) => "NodeResourcesBalancedAllocation",
            Self::NodeAffinity(_) => "NodeAffinity",
            Self::InterPodAffinity(_) => "InterPodAffinity",
            Self::PodTopologySpread(_) => "PodTopologySpread",
        }
    }
}

impl NamedProfile {
    /// What its plugins are told.
    pub(super) fn arguments(&self) -> Arguments {
        let mut arguments = Arguments::default();
        for one in &self.plugin_config {
            match one {
                PluginConfig::NodeResourcesFit(args) => {
                    arguments.strategy = args.scoring_strategy.in_core();
                    arguments.resources = weights(&args.scoring_strategy.resources);
                }
                PluginConfig::NodeResourcesBalancedAllocation(args) => {
                    arguments.balanced = weights(&args.resources);
                }
                PluginConfig::NodeAffinity(args) => {
                    arguments.added_affinity = Arc::new(args.added_affinity.in_core());
                }
                PluginConfig::InterPodAffinity(args) => {
                    let weight = args.hard_pod_affinity_weight.get();
                    arguments.hard_pod_affinity_weight = i64::from(weight);
                    arguments.ignore_preferred_terms_of_existing_pods =
                        args.ignore_preferred_terms_of_existing_pods;
                }
                PluginConfig::PodTopologySpread(args) => {
                    arguments.default_spread = args.in_core().unwrap_or(arguments.default_spread);
                }
            }
        }
        arguments
    }

    /// The resources at which its filter does not look.
    pub(super) fn ignored(&self) -> Ignored {
        let fit = self.plugin_config.iter().find_map(|one| match one {
            PluginConfig::NodeResourcesFit(args) => Some(args),
            _ => None,
        });
        let names = fit.iter().flat_map(|args| &args.ignored_resources);
        let groups = fit.iter().flat_map(|args| &args.ignored_resource_groups);
        Ignored {
            names: names.map(|one| one.as_str().to_owned()).collect(),
            groups: groups.map(|one| one.as_str().to_owned()).collect(),
        }
    }
}

fn weights(resources: &[Resource]) -> Vec<ResourceWeight> {
    let weight = |one: &Resource| ResourceWeight {
        name: one.name.clone(),
        weight: i64::from(one.weight.get()),
    };
    resources.iter().map(weight).collect()
}

impl ScoringStrategy {
    fn in_core(&self) -> Strategy {
        let shape = self.requested_to_capacity_ratio.iter();
        let point = |one: &RatioPoint| Point {
            utilization: i64::from(one.utilization.get()),
            // There are ten points here, and a hundred there.
            score: i64::from(one.score.get()) * 10,
        };
        match self.kind {
            StrategyType::LeastAllocated => Strategy::LeastAllocated,
            StrategyType::MostAllocated => Strategy::MostAllocated,
            StrategyType::RequestedToCapacityRatio => Strategy::RequestedToCapacityRatio(
                shape.flat_map(|ratio| &ratio.shape).map(point).collect(),
            ),
        }
    }
}

impl AddedAffinity {
    fn in_core(&self) -> Added {
        let required = self.required.as_ref();
        let preferred = |one: &PreferredTerm| muster_model::Preferred {
            weight: i32::try_from(one.weight.get()).unwrap_or(1),
            term: one.preference.in_core(),
        };
        Added {
            required: required
                .map(|one| one.node_selector_terms.iter().map(Term::in_core).collect()),
            preferred: self.preferred.iter().map(preferred).collect(),
        }
    }
}

impl Term {
    fn in_core(&self) -> muster_model::Term {
        let all = |list: &[Requirement]| list.iter().map(Requirement::in_core).collect();
        muster_model::Term {
            labels: all(&self.match_expressions),
            fields: all(&self.match_fields),
        }
    }
}

impl Requirement {
    fn in_core(&self) -> muster_model::Requirement {
        muster_model::Requirement {
            key: self.key.clone(),
            operator: match self.operator {
                Comparison::In => Operator::In,
                Comparison::NotIn => Operator::NotIn,
                Comparison::Exists => Operator::Exists,
                Comparison::DoesNotExist => Operator::DoesNotExist,
                Comparison::Gt => Operator::Gt,
                Comparison::Lt => Operator::Lt,
            },
            values: self.values.clone(),
        }
    }
}
