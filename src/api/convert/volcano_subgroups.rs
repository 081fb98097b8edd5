//! Volcano's `spec.subGroupPolicy`: groups inside of a group, by the values of their pods' labels.

use super::{count, policy, topologies};
use crate::volcano::SubGroupPolicy;
use muster_model::{LabelSelector, LabelledSubgroups, MAX_NAMED_SUBGROUPS};

/// The policies as subgroups by values of labels.
pub(super) fn labelled(
    policies: &[SubGroupPolicy],
    problems: &mut Vec<String>,
) -> Vec<LabelledSubgroups> {
    let mut found: Vec<LabelledSubgroups> = Vec::new();
    for (index, policy) in policies.iter().enumerate() {
        let path = format!("spec.subGroupPolicy[{index}]");
        let selector = policy
            .label_selector
            .as_ref()
            .map_or_else(|| Some(LabelSelector::default()), policy::selector);
        let selector = selector.unwrap_or_else(|| {
            problems.push(format!(
                "{path}.labelSelector: an operator is none of In, NotIn, Exists and DoesNotExist"
            ));
            LabelSelector::nothing()
        });
        let size = policy.sub_group_size.unwrap_or(1);
        if size < 1 {
            problems.push(format!("{path}.subGroupSize: {size} is less than 1"));
        }
        let is_taken = found.iter().any(|one| one.name == policy.name);
        let name = if policy.name.is_empty() || is_taken {
            format!("subGroupPolicy[{index}]")
        } else {
            policy.name.clone()
        };
        let min_groups = policy.min_sub_groups.unwrap_or(0);
        let topology = policy
            .network_topology
            .as_ref()
            .and_then(|wish| topologies::wish(&format!("{path}.networkTopology"), wish, problems));
        found.push(LabelledSubgroups {
            name,
            selector,
            keys: policy.match_label_keys.clone(),
            min_groups: count(&format!("{path}.minSubGroups"), min_groups, problems),
            size: u32::try_from(size).unwrap_or(1).max(1),
            topology,
        });
    }
    let wanted = found
        .iter()
        .fold(0_u32, |sum, one| sum.saturating_add(one.min_groups));
    if wanted as usize > MAX_NAMED_SUBGROUPS {
        problems.push(format!(
            "spec.subGroupPolicy: {wanted} groups must run, and at most {MAX_NAMED_SUBGROUPS} may have to"
        ));
        return Vec::new();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_model::{HYPER_NODES, Labels, PodLabels};
    use serde_json::{Value, json};

    fn read(policies: Value) -> (Vec<LabelledSubgroups>, Vec<String>) {
        let policies: Vec<SubGroupPolicy> = serde_json::from_value(policies).unwrap();
        let mut problems = Vec::new();
        let found = labelled(&policies, &mut problems);
        (found, problems)
    }

    fn labels(of: &[(&str, &str)]) -> PodLabels {
        let pairs = of
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        PodLabels::new(&pairs.collect::<Labels>())
    }

    #[test]
    fn a_policy_groups_whom_it_selects_by_the_values_of_its_keys() {
        let (found, problems) = read(json!([{
            "name": "prefill", "subGroupSize": 4, "minSubGroups": 2,
            "labelSelector": {"matchLabels": {"role": "prefill"}, "matchExpressions": [{"key": "old", "operator": "DoesNotExist"}]},
            "matchLabelKeys": ["replica", "part"],
            "networkTopology": {"mode": "hard", "highestTierAllowed": 1},
        }]));
        assert_eq!(problems, [""; 0]);
        let one = &found[0];
        assert_eq!((one.min_groups, one.size), (2, 4));
        let topology = one.topology.as_ref().unwrap();
        assert_eq!(topology.name.as_deref(), Some(HYPER_NODES));
        assert_eq!((topology.highest_tier, topology.if_there), (Some(1), false));
        let name = |of: &[(&str, &str)]| one.name_of(&labels(of));
        let of_group = [("role", "prefill"), ("replica", "3"), ("part", "b")];
        assert_eq!(name(&of_group).as_deref(), Some("prefill/3/b"));
        assert_eq!(
            name(&[("role", "decode"), ("replica", "3"), ("part", "b")]),
            None
        );
        assert_eq!(name(&[("role", "prefill"), ("replica", "3")]), None);
        let old = [
            ("role", "prefill"),
            ("replica", "3"),
            ("part", "b"),
            ("old", ""),
        ];
        assert_eq!(name(&old), None);
    }

    #[test]
    fn what_is_not_said_is_as_volcano_has_it() {
        let (found, problems) =
            read(json!([{"name": "all"}, {"name": "all", "labelSelector": null}]));
        assert_eq!(problems, [""; 0]);
        assert_eq!((found[0].min_groups, found[0].size), (0, 1));
        assert_eq!(found[0].topology, None);
        let names = found.iter().map(|one| one.name_of(&PodLabels::default()));
        let names: Vec<Option<String>> = names.collect();
        assert_eq!(
            names,
            [Some("all".to_owned()), Some("subGroupPolicy[1]".to_owned())]
        );
    }

    #[test]
    fn what_cannot_be_meant_is_said() {
        let says = |policy: Value| read(json!([policy])).1.join("; ");
        assert_eq!(
            says(json!({"subGroupSize": 0})),
            "spec.subGroupPolicy[0].subGroupSize: 0 is less than 1"
        );
        assert_eq!(
            says(json!({"minSubGroups": -1})),
            "spec.subGroupPolicy[0].minSubGroups: -1 is negative"
        );
        assert_eq!(
            says(json!({"minSubGroups": 64})),
            "spec.subGroupPolicy: 64 groups must run, and at most 63 may have to"
        );
        let selector = json!({"matchExpressions": [{"key": "a", "operator": "Near"}]});
        assert_eq!(
            says(json!({"labelSelector": selector})),
            "spec.subGroupPolicy[0].labelSelector: an operator is none of In, NotIn, Exists and DoesNotExist"
        );
        assert_eq!(
            says(json!({"networkTopology": {"mode": "firm"}})),
            "spec.subGroupPolicy[0].networkTopology.mode: \"firm\" is neither hard nor soft"
        );
    }
}
