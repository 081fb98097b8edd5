//! What other projects say of topologies, and what Volcano's PodGroups wish of them.
//!
//! What cannot be honoured is named on the spec, and the rest of it holds. Nothing is written on these
//! objects.

use super::filled;
use super::policy::selector;
use crate::topologies::{HyperNode, Levels, Selector, Tier};
use crate::volcano::NetworkTopology;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use muster_model::{
    HOSTNAME, HYPER_NODES, HyperNodeSpec, Level, NamePattern, NodeChoice, Origin, TopologySpec,
    TopologyWish,
};
use std::collections::BTreeSet;

/// How long a regular expression may be.
const LONGEST_PATTERN: usize = 1024;
/// The highest tier that is taken for one.
const HIGHEST_TIER: u32 = 1_000_000;
/// As many levels as a Topology may have, with Kueue and with KAI as here.
const MAX_LEVELS: usize = 16;

/// What a topology of others is called here. No object can have such a name, so it is nobody else's.
#[must_use]
pub fn name_of_others(origin: Origin, name: &str) -> String {
    match origin {
        Origin::Muster => name.to_owned(),
        Origin::Kueue => format!("kueue:{name}"),
        Origin::Kai => format!("kai:{name}"),
        Origin::Volcano => HYPER_NODES.to_owned(),
        Origin::Label => TopologySpec::by_label(name).name,
    }
}

/// Kueue's or KAI's Topology: levels of labels, as ours.
#[must_use]
pub fn topology_of_others(origin: Origin, meta: &ObjectMeta, spec: &Levels) -> TopologySpec {
    let mut problems = Vec::new();
    let named = &spec.levels;
    if named.is_empty() || named.len() > MAX_LEVELS {
        problems.push(format!(
            "spec.levels: must have between 1 and {MAX_LEVELS} items"
        ));
    }
    let mut seen = BTreeSet::new();
    for (index, level) in named.iter().enumerate() {
        let label = &level.node_label;
        if label.is_empty() {
            problems.push(format!("spec.levels[{index}].nodeLabel: must not be empty"));
        } else if !seen.insert(label) {
            problems.push(format!(
                "spec.levels[{index}].nodeLabel: {label} is twice there"
            ));
        }
        if label == HOSTNAME && index + 1 < named.len() {
            problems.push(format!(
                "spec.levels[{index}].nodeLabel: {HOSTNAME} can only be the last level"
            ));
        }
    }
    let has_hosts = named.last().is_some_and(|last| last.node_label == HOSTNAME);
    let narrowest = named.len().saturating_sub(usize::from(has_hosts));
    let levels = named.iter().enumerate().map(|(index, level)| Level {
        label: level.node_label.clone(),
        aliases: filled(Some(&level.alias)).into_iter().collect(),
        hops: u32::try_from(2 * narrowest.saturating_sub(index)).unwrap_or(u32::MAX),
    });
    TopologySpec {
        name: name_of_others(origin, meta.name.as_deref().unwrap_or_default()),
        origin,
        uid: meta.uid.clone().unwrap_or_default(),
        generation: meta.generation.unwrap_or(0),
        levels: levels.collect(),
        links: Vec::new(),
        invalid: (!problems.is_empty()).then(|| problems.join("; ")),
    }
}

/// Volcano's HyperNode.
///
/// # Errors
/// When its tier is none: whatever it has would be nobody knows how near.
pub fn hyper_node(hyper_node: &HyperNode) -> Result<HyperNodeSpec, String> {
    let (meta, spec) = (&hyper_node.metadata, &hyper_node.spec);
    let tier = match &spec.tier {
        Tier::Number(number) => u32::try_from(*number).ok(),
        Tier::Text(text) => text.parse().ok(),
    };
    let said = match &spec.tier {
        Tier::Number(number) => number.to_string(),
        Tier::Text(text) => format!("{text:?}"),
    };
    let tier = tier.filter(|tier| *tier <= HIGHEST_TIER);
    let bounds = || format!("spec.tier: {said} must be between 0 and {HIGHEST_TIER}");
    let mut found = HyperNodeSpec {
        name: meta.name.clone().unwrap_or_default(),
        tier: tier.ok_or_else(bounds)?,
        tier_name: filled(Some(&spec.tier_name)),
        ..HyperNodeSpec::default()
    };
    for (index, member) in spec.members.iter().enumerate() {
        let path = format!("spec.members[{index}]");
        let chosen = match member.kind.as_str() {
            "Node" => nodes(&member.selector).map(|choice| found.nodes.push(choice)),
            "HyperNode" => name(&member.selector).map(|name| found.members.push(name)),
            kind => Err(format!(".type: {kind:?} is neither Node nor HyperNode")),
        };
        if let Err(problem) = chosen {
            found.problems.push(format!("{path}{problem}: left out"));
        }
    }
    Ok(found)
}

/// The nodes that a member stands for.
fn nodes(selected: &Selector) -> Result<NodeChoice, String> {
    match (
        &selected.exact_match,
        &selected.regex_match,
        &selected.label_match,
    ) {
        (Some(one), None, None) if !one.name.is_empty() => Ok(NodeChoice::Named(one.name.clone())),
        (None, Some(one), None) if !one.pattern.is_empty() => pattern(&one.pattern),
        (None, None, Some(one)) => match selector(one) {
            Some(selector) if !selector.requirements.is_empty() => {
                Ok(NodeChoice::Labelled(selector))
            }
            Some(_) => Err(".selector.labelMatch: an empty one chooses no node".to_owned()),
            None => Err(".selector.labelMatch: an operator is not known".to_owned()),
        },
        _ => Err(
            ".selector: must have one of exactMatch, regexMatch and labelMatch, with a value"
                .to_owned(),
        ),
    }
}

/// The HyperNode that a member stands for. As with Volcano it has to be named.
fn name(selected: &Selector) -> Result<String, String> {
    match selected {
        Selector {
            exact_match: Some(one),
            regex_match: None,
            label_match: None,
        } if !one.name.is_empty() => Ok(one.name.clone()),
        _ => Err(".selector: a HyperNode is a member by exactMatch only".to_owned()),
    }
}

fn pattern(text: &str) -> Result<NodeChoice, String> {
    let path = ".selector.regexMatch.pattern";
    if text.len() > LONGEST_PATTERN {
        return Err(format!("{path}: must have at most {LONGEST_PATTERN} bytes"));
    }
    match NamePattern::of_expression(text) {
        Ok(pattern) => Ok(NodeChoice::Like(pattern)),
        Err(why) => Err(format!("{path}: {text:?} cannot be read: {why}")),
    }
}

impl NetworkTopology {
    /// Whether it is more than a preference. Without a tier it is none (source: Volcano's
    /// `IsHardTopologyMode`).
    pub(super) fn is_bound(&self) -> bool {
        let bound = self.highest_tier_allowed.is_some() || !self.highest_tier_name.is_empty();
        self.mode != "soft" && bound
    }
}

/// What Volcano's PodGroup wishes: hard is a bound, soft what is tried anyway.
pub(super) fn wish(
    path: &str,
    said: &NetworkTopology,
    problems: &mut Vec<String>,
) -> Option<TopologyWish> {
    if !matches!(said.mode.as_str(), "" | "hard" | "soft") {
        problems.push(format!(
            "{path}.mode: {:?} is neither hard nor soft",
            said.mode
        ));
    }
    let tier_name = filled(Some(&said.highest_tier_name));
    if said.highest_tier_allowed.is_some() && tier_name.is_some() {
        problems.push(format!(
            "{path}: highestTierAllowed and highestTierName exclude each other"
        ));
    }
    let mut wish = TopologyWish {
        name: Some(HYPER_NODES.to_owned()),
        if_there: !said.is_bound(),
        ..TopologyWish::default()
    };
    if said.is_bound() {
        wish.required_level = tier_name;
        wish.highest_tier = said.highest_tier_allowed.map(|tier| {
            u32::try_from(tier).unwrap_or_else(|_| {
                problems.push(format!(
                    "{path}.highestTierAllowed: {tier} must be between 0 and {HIGHEST_TIER}"
                ));
                0
            })
        });
    }
    Some(wish)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::needless_pass_by_value, reason = "json! reads best as it is")]

    use super::*;
    use muster_model::Labels;
    use serde_json::{Value, json};

    fn read(spec: Value) -> HyperNodeSpec {
        try_read(spec).unwrap()
    }

    fn try_read(spec: Value) -> Result<HyperNodeSpec, String> {
        let value = json!({"metadata": {"name": "s0"}, "spec": spec});
        hyper_node(&serde_json::from_value(value).unwrap())
    }

    fn node(selector: Value) -> HyperNodeSpec {
        read(json!({"tier": 1, "members": [{"type": "Node", "selector": selector}]}))
    }

    fn wished(topology: Value) -> Result<TopologyWish, String> {
        let mut problems = Vec::new();
        let said = serde_json::from_value(topology).unwrap();
        let wish = wish("spec.networkTopology", &said, &mut problems).unwrap();
        if problems.is_empty() {
            Ok(wish)
        } else {
            Err(problems.join("; "))
        }
    }

    fn labelled(key: &str, value: &str) -> Labels {
        Labels::from([(key.to_owned(), value.to_owned())])
    }

    #[test]
    fn members_are_chosen_by_name_by_pattern_and_by_labels() {
        let none = Labels::new();
        let one = node(json!({"exactMatch": {"name": "n1"}}));
        assert!(one.chooses("n1", &none) && !one.chooses("n12", &none));
        // As in Go, a pattern need not be all of the name.
        let one = node(json!({"regexMatch": {"pattern": "n[0-9]"}}));
        assert!(one.chooses("node-n7-x", &none) && !one.chooses("nx", &none));
        let one = node(json!({"labelMatch": {"matchLabels": {"rack": "r1"}}}));
        assert!(one.chooses("any", &labelled("rack", "r1")));
        assert!(!one.chooses("any", &labelled("rack", "r2")) && !one.chooses("any", &none));
        let one = read(json!({"tier": 2, "tierName": "spine", "members": [
            {"type": "HyperNode", "selector": {"exactMatch": {"name": "s1"}}},
        ]}));
        assert_eq!((one.tier, one.tier_name.as_deref()), (2, Some("spine")));
        assert_eq!(
            (one.members, one.problems),
            (vec!["s1".to_owned()], Vec::new())
        );
    }

    #[test]
    fn a_tier_may_be_a_text_and_zero_may_be_left_out() {
        assert_eq!(read(json!({"tier": "3"})).tier, 3);
        let absent = read(json!(null));
        assert_eq!((absent.tier, absent.problems), (0, Vec::new()));
    }

    #[test]
    fn what_cannot_be_honoured_is_left_out_with_its_path_and_the_rest_is_kept() {
        let said = |one: HyperNodeSpec| {
            assert_eq!(one.nodes.len() + one.members.len(), 0);
            one.problems.join("; ")
        };
        let bad = said(node(json!({"regexMatch": {"pattern": "n[0-"}})));
        assert!(
            bad.starts_with("spec.members[0].selector.regexMatch.pattern: \"n[0-\""),
            "{bad}"
        );
        assert!(!bad.contains('\n'), "{bad}");
        let huge = said(node(json!({"regexMatch": {"pattern": "(x{1000}){1000}"}})));
        assert!(huge.contains("cannot be read"), "{huge}");
        let long = said(node(json!({"regexMatch": {"pattern": "x".repeat(1025)}})));
        assert!(long.contains("at most 1024 bytes"), "{long}");
        let nothing = said(node(json!({})));
        assert!(nothing.contains("must have one of exactMatch"), "{nothing}");
        let empty = said(node(json!({"labelMatch": {}})));
        assert!(empty.contains("chooses no node"), "{empty}");
        let kind = said(read(json!({"members": [{"type": "Rack", "selector": {}}]})));
        assert!(
            kind.contains("\"Rack\" is neither Node nor HyperNode"),
            "{kind}"
        );
        let group = json!({"type": "HyperNode", "selector": {"regexMatch": {"pattern": "s"}}});
        let group = said(read(json!({"tier": 2, "members": [group]})));
        assert!(group.contains("by exactMatch only"), "{group}");
        let tier = try_read(json!({"tier": -1})).unwrap_err();
        assert_eq!(tier, "spec.tier: -1 must be between 0 and 1000000");
        assert!(try_read(json!({"tier": "low"})).is_err());
        let both = read(json!({"tier": 1, "members": [
            {"type": "Node", "selector": {"regexMatch": {"pattern": "("}}},
            {"type": "Node", "selector": {"exactMatch": {"name": "n"}}},
        ]}));
        assert_eq!((both.nodes.len(), both.problems.len()), (1, 1));
    }

    #[test]
    fn kueues_and_kais_levels_are_as_ours() {
        let read = |origin, levels: Value| {
            let meta = ObjectMeta {
                name: Some("t".to_owned()),
                ..ObjectMeta::default()
            };
            let spec = serde_json::from_value(json!({"levels": levels})).unwrap();
            topology_of_others(origin, &meta, &spec)
        };
        let levels = json!([{"nodeLabel": "block"}, {"nodeLabel": "rack", "alias": "r"},
            {"nodeLabel": HOSTNAME}]);
        let found = read(Origin::Kai, levels.clone());
        assert_eq!((found.name.as_str(), found.invalid), ("kai:t", None));
        let hops: Vec<u32> = found.levels.iter().map(|one| one.hops).collect();
        assert_eq!(hops, [4, 2, 0]);
        assert!(found.levels[1].is_called("r") && found.levels[1].is_called("rack"));
        assert_eq!(read(Origin::Kueue, levels).name, "kueue:t");
        let words = |levels: Value| read(Origin::Kueue, levels).invalid.unwrap();
        assert!(words(json!([])).contains("between 1 and 16"));
        let twice = words(json!([{"nodeLabel": "a"}, {"nodeLabel": "a"}]));
        assert_eq!(twice, "spec.levels[1].nodeLabel: a is twice there");
        let host = words(json!([{"nodeLabel": HOSTNAME}, {"nodeLabel": "a"}]));
        assert!(host.contains("can only be the last level"), "{host}");
        assert!(words(json!([{}])).contains("must not be empty"));
    }

    #[test]
    fn hard_is_a_bound_and_soft_is_none() {
        let hard = wished(json!({"mode": "hard", "highestTierAllowed": 2})).unwrap();
        assert_eq!(hard.name.as_deref(), Some(HYPER_NODES));
        assert_eq!((hard.highest_tier, hard.if_there), (Some(2), false));
        let unsaid = wished(json!({"highestTierAllowed": 0})).unwrap();
        assert_eq!((unsaid.highest_tier, unsaid.if_there), (Some(0), false));
        let named = wished(json!({"mode": "hard", "highestTierName": "spine"})).unwrap();
        assert_eq!(named.required_level.as_deref(), Some("spine"));
        let soft = wished(json!({"mode": "soft", "highestTierAllowed": 2})).unwrap();
        assert_eq!((soft.highest_tier, soft.if_there), (None, true));
        let without = wished(json!({"mode": "hard"})).unwrap();
        assert_eq!((without.highest_tier, without.if_there), (None, true));
    }

    #[test]
    fn a_network_topology_that_cannot_be_meant_is_said() {
        let both = wished(json!({"highestTierAllowed": 1, "highestTierName": "spine"}));
        assert!(both.unwrap_err().contains("exclude each other"));
        let negative = wished(json!({"highestTierAllowed": -1})).unwrap_err();
        assert!(negative.contains("-1 must be between 0"), "{negative}");
        let mode = wished(json!({"mode": "firm"})).unwrap_err();
        assert_eq!(
            mode,
            "spec.networkTopology.mode: \"firm\" is neither hard nor soft"
        );
    }
}
