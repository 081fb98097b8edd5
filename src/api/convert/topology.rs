//! Topologies, and what PodGroups wish of them.

use super::filled;
use crate::crd;
use muster_model::{HOSTNAME, Level, Link, MAX_COST, Origin, TopologySpec, TopologyWish};

/// A Topology. Hops that do not fall from level to level make it invalid, and costs out of bounds.
#[must_use]
pub fn topology(topology: &crd::Topology) -> TopologySpec {
    let meta = &topology.metadata;
    let named = &topology.spec.levels;
    let mut problems = Vec::new();
    let has_hosts = named.last().is_some_and(|last| last.node_label == HOSTNAME);
    let narrower = named.len() - usize::from(has_hosts);
    let mut levels: Vec<Level> = Vec::with_capacity(named.len());
    for (index, level) in named.iter().enumerate() {
        let by_height = 2 * narrower.saturating_sub(index);
        let said = level.hops.and_then(|hops| u32::try_from(hops).ok());
        let hops = said.unwrap_or_else(|| u32::try_from(by_height).unwrap_or(u32::MAX));
        if let Some(wider) = levels.last().filter(|wider| wider.hops <= hops) {
            problems.push(format!(
                "spec.levels[{index}].hops: {hops} must be less than the {} of {}, which is wider",
                wider.hops, wider.label
            ));
        }
        levels.push(Level {
            label: level.node_label.clone(),
            hops,
            ..Level::default()
        });
    }
    let links = links(&topology.spec.links, &mut problems);
    if levels.is_empty() == links.is_empty() {
        problems.push("spec: needs either levels or links".to_owned());
    }
    TopologySpec {
        name: meta.name.clone().unwrap_or_default(),
        origin: Origin::Muster,
        uid: meta.uid.clone().unwrap_or_default(),
        generation: meta.generation.unwrap_or(0),
        levels,
        links,
        invalid: (!problems.is_empty()).then(|| problems.join("; ")),
    }
}

/// The links. Costs that no API server with our definition lets in are a problem, of which the first is
/// said.
fn links(named: &[crd::TopologyLink], problems: &mut Vec<String>) -> Vec<Link> {
    let cost = |link: &crd::TopologyLink| match link.cost {
        None => Some(1),
        Some(cost) => u32::try_from(cost)
            .ok()
            .filter(|cost| (1..=MAX_COST).contains(cost)),
    };
    if let Some(index) = named.iter().position(|link| cost(link).is_none()) {
        problems.push(format!(
            "spec.links[{index}].cost: must be between 1 and {MAX_COST}"
        ));
    }
    let link = |link: &crd::TopologyLink| Link {
        a: link.a.clone(),
        b: link.b.clone(),
        cost: cost(link).unwrap_or(1),
    };
    named.iter().map(link).collect()
}

/// What a PodGroup or a subgroup wishes.
pub(super) fn wish(said: Option<&crd::TopologyConstraint>) -> Option<TopologyWish> {
    let said = said?;
    Some(TopologyWish {
        name: filled(said.name.as_ref()),
        max_hops: said.max_hops.map(|hops| u32::try_from(hops).unwrap_or(0)),
        required_level: filled(said.required_level.as_ref()),
        preferred_level: filled(said.preferred_level.as_ref()),
        ..TopologyWish::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read(spec: &Value) -> TopologySpec {
        let object = json!({
            "apiVersion": "muster.dev/v1alpha1", "kind": "Topology",
            "metadata": {"name": "t"}, "spec": spec,
        });
        topology(&serde_json::from_value(object).unwrap())
    }

    fn refused(spec: &Value) -> String {
        let object = json!({
            "apiVersion": "muster.dev/v1alpha1", "kind": "Topology",
            "metadata": {"name": "t"}, "spec": spec,
        });
        let object: crd::Topology = serde_json::from_value(object).unwrap();
        crd::validate_topology(&object).unwrap_err().join("; ")
    }

    #[test]
    fn a_link_counts_for_one_hop_where_it_says_nothing_else() {
        let spec =
            read(&json!({"links": [{"a": "s", "b": "n1"}, {"a": "s", "b": "n2", "cost": 7}]}));
        assert_eq!(spec.invalid, None);
        let costs: Vec<u32> = spec.links.iter().map(|one| one.cost).collect();
        assert_eq!(costs, [1, 7]);
        assert!(spec.levels.is_empty());
    }

    #[test]
    fn levels_and_links_exclude_each_other_and_one_of_them_has_to_be() {
        let both = json!({"levels": [{"nodeLabel": "rack"}], "links": [{"a": "s", "b": "n"}]});
        for spec in [both, json!({})] {
            assert!(refused(&spec).contains("needs either levels or links"));
            assert!(read(&spec).invalid.is_some());
        }
    }

    #[test]
    fn costs_that_are_negative_zero_or_huge_are_refused() {
        for cost in [-1, 0, 1_000_001] {
            let spec = json!({"links": [{"a": "s", "b": "n", "cost": cost}]});
            assert!(refused(&spec).contains("must be between 1 and 1000000"));
            let problem = "spec.links[0].cost: must be between 1 and 1000000";
            assert_eq!(read(&spec).invalid.as_deref(), Some(problem));
        }
        let spec = json!({"links": [{"a": "", "b": "n"}]});
        assert!(refused(&spec).contains("must have between 1 and 253 characters"));
    }
}
