//! Topologies, and what PodGroups wish of them.

use super::filled;
use crate::api::crd;
use crate::core::model::{HOSTNAME, Level, TopologySpec, TopologyWish};

/// A Topology. Hops that do not fall from level to level make it invalid.
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
        });
    }
    if levels.is_empty() {
        problems.push("spec.levels: must have between 1 and 16 items".to_owned());
    }
    TopologySpec {
        name: meta.name.clone().unwrap_or_default(),
        uid: meta.uid.clone().unwrap_or_default(),
        generation: meta.generation.unwrap_or(0),
        levels,
        invalid: (!problems.is_empty()).then(|| problems.join("; ")),
    }
}

/// What a PodGroup or a subgroup wishes.
pub(super) fn wish(said: Option<&crd::TopologyConstraint>) -> Option<TopologyWish> {
    let said = said?;
    Some(TopologyWish {
        name: filled(said.name.as_ref()),
        max_hops: said.max_hops.map(|hops| u32::try_from(hops).unwrap_or(0)),
        required_level: filled(said.required_level.as_ref()),
        preferred_level: filled(said.preferred_level.as_ref()),
    })
}
