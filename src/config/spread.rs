//! What `PodTopologySpread` is told: by what pods are spread that say nothing of it.

use super::values::{Bounded, LabelKey};
use muster_model::{DefaultSpread, SpreadRule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Of `PodTopologySpread`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", try_from = "UncheckedSpread")]
pub struct SpreadArguments {
    /// May be named, as in kube-scheduler's configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    /// May be named as well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// By what pods are spread that have no constraints of their own, with `List`.
    pub default_constraints: Vec<DefaultConstraint>,
    /// Whether that list counts, or what kube-scheduler has built in.
    pub defaulting_type: DefaultingType,
}

/// Such arguments, which may not go together.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct UncheckedSpread {
    #[serde(default)]
    api_version: Option<String>,
    #[serde(default)]
    kind: Option<String>,
    #[serde(default)]
    default_constraints: Vec<DefaultConstraint>,
    #[serde(default)]
    defaulting_type: DefaultingType,
}

/// By what pods are spread that have no constraints of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DefaultingType {
    /// As far as that goes over hosts (`maxSkew: 3`) and zones (`maxSkew: 5`).
    #[default]
    System,
    /// By `defaultConstraints`.
    List,
}

/// One of `defaultConstraints`: a constraint without a selector.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DefaultConstraint {
    /// How many more pods a domain may have than the one with fewest.
    pub max_skew: Bounded<1, 2_147_483_647, 1>,
    /// The label of nodes whose values are the domains.
    pub topology_key: LabelKey,
    /// Whether it decides on nodes, or is for scores.
    pub when_unsatisfiable: WhenUnsatisfiable,
    /// With fewer domains than this the one with fewest pods counts as empty.
    #[serde(default)]
    pub min_domains: Bounded<1, 2_147_483_647, 1>,
    /// Whether only nodes count that the pod's node selector and affinity allow.
    #[serde(default = "NodePolicy::honor")]
    pub node_affinity_policy: NodePolicy,
    /// Whether only nodes count whose taints the pod tolerates.
    #[serde(default = "NodePolicy::ignore")]
    pub node_taints_policy: NodePolicy,
}

/// Whether a constraint decides on nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum WhenUnsatisfiable {
    /// A node that breaks it is left out.
    DoNotSchedule,
    /// A node that breaks it is worse.
    ScheduleAnyway,
}

/// Whether something counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum NodePolicy {
    /// It does.
    Honor,
    /// It does not.
    Ignore,
}

impl NodePolicy {
    const fn honor() -> Self {
        Self::Honor
    }

    const fn ignore() -> Self {
        Self::Ignore
    }
}

impl TryFrom<UncheckedSpread> for SpreadArguments {
    type Error = String;

    fn try_from(found: UncheckedSpread) -> Result<Self, String> {
        let list = &found.default_constraints;
        if found.defaulting_type == DefaultingType::System && !list.is_empty() {
            return Err(format!(
                "defaultConstraints: found {} with defaultingType: System, which has its own: \
                 allowed with defaultingType: List",
                list.len()
            ));
        }
        for (index, one) in list.iter().enumerate() {
            let alike = |other: &DefaultConstraint| {
                other.topology_key == one.topology_key
                    && other.when_unsatisfiable == one.when_unsatisfiable
            };
            if list.iter().take(index).any(alike) {
                return Err(format!(
                    "defaultConstraints[{index}]: found topologyKey {} with whenUnsatisfiable: {:?} \
                     again: allowed once",
                    one.topology_key.as_str(),
                    one.when_unsatisfiable
                ));
            }
        }
        Ok(Self {
            api_version: found.api_version,
            kind: found.kind,
            default_constraints: found.default_constraints,
            defaulting_type: found.defaulting_type,
        })
    }
}

impl SpreadArguments {
    /// The constraints, if they are not those that are built in.
    pub(super) fn in_core(&self) -> Option<DefaultSpread> {
        if self.defaulting_type == DefaultingType::System {
            return None;
        }
        let rule = |one: &DefaultConstraint| SpreadRule {
            key: one.topology_key.as_str().to_owned(),
            max_skew: one.max_skew.get(),
            min_domains: one.min_domains.get(),
            honors_affinity: one.node_affinity_policy == NodePolicy::Honor,
            honors_taints: one.node_taints_policy == NodePolicy::Honor,
            ..SpreadRule::default()
        };
        let of = |what: WhenUnsatisfiable| {
            let all = self.default_constraints.iter();
            let all = all.filter(move |one| one.when_unsatisfiable == what);
            all.map(rule).collect()
        };
        Some(DefaultSpread {
            required: of(WhenUnsatisfiable::DoNotSchedule),
            preferred: of(WhenUnsatisfiable::ScheduleAnyway),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read(args: Value) -> Result<Option<DefaultSpread>, String> {
        let found: Result<SpreadArguments, _> = serde_json::from_value(args);
        found
            .map(|one| one.in_core())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn constraints_of_a_list_are_those_of_a_pod_without_selectors() {
        let list = json!({"defaultingType": "List", "defaultConstraints": [
            {"maxSkew": 2, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule",
             "minDomains": 3, "nodeTaintsPolicy": "Honor"},
            {"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "ScheduleAnyway",
             "nodeAffinityPolicy": "Ignore"},
        ]});
        let found = read(list).unwrap().unwrap();
        let rule = |max_skew, min_domains, honors| SpreadRule {
            key: "rack".to_owned(),
            max_skew,
            min_domains,
            honors_affinity: honors,
            honors_taints: honors,
            ..SpreadRule::default()
        };
        assert_eq!(found.required, [rule(2, 3, true)]);
        assert_eq!(found.preferred, [rule(1, 1, false)]);
        assert_eq!(
            read(json!({"defaultingType": "List"})),
            Ok(Some(DefaultSpread::default()))
        );
    }

    #[test]
    fn what_is_built_in_is_the_default() {
        assert_eq!(read(json!({})), Ok(None));
        assert_eq!(read(json!({"defaultingType": "System"})), Ok(None));
    }

    #[test]
    fn what_cannot_be_is_refused_in_words() {
        let one = json!({"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "ScheduleAnyway"});
        for (args, words) in [
            (
                json!({"defaultConstraints": [one]}),
                "found 1 with defaultingType: System",
            ),
            (
                json!({"defaultingType": "List", "defaultConstraints": [one, one]}),
                "defaultConstraints[1]: found topologyKey a with whenUnsatisfiable: ScheduleAnyway again",
            ),
            (
                json!({"defaultingType": "List", "defaultConstraints": [
                    {"maxSkew": 0, "topologyKey": "a", "whenUnsatisfiable": "ScheduleAnyway"}]}),
                "found 0: expected a number from 1",
            ),
            (
                json!({"defaultingType": "List", "defaultConstraints": [
                    {"maxSkew": 1, "topologyKey": "", "whenUnsatisfiable": "ScheduleAnyway"}]}),
                "expected the key of a label",
            ),
            (
                json!({"defaultingType": "List", "defaultConstraints": [
                    {"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "ScheduleAnyway",
                     "labelSelector": {}}]}),
                "unknown field `labelSelector`",
            ),
        ] {
            let error = read(args).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }
}
