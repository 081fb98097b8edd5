//! `TopologyExists`: a gang waits for the Topology it names.

use crate::framework::{Plugin, PreEnqueue};
use crate::state::{ClusterState, Gang, WishError};
use muster_model::{BY_LABEL, Why};

/// Holds back gangs whose wishes for closeness mean nothing.
#[derive(Debug)]
pub(super) struct TopologyExists;

impl Plugin for TopologyExists {
    fn name(&self) -> &'static str {
        "TopologyExists"
    }
}

impl PreEnqueue for TopologyExists {
    fn guards_admission(&self) -> bool {
        true
    }

    fn holds_back(&self, state: &ClusterState, gang: &Gang) -> Option<Why> {
        let of_all = state.closeness_of_all(gang).err();
        let subgroups = gang.subgroups.iter();
        let mut of_groups = subgroups.filter_map(|one| state.closeness(gang, one).err());
        let error = of_all.or_else(|| of_groups.next())?;
        Some(match error {
            WishError::NotFound(name) => {
                let message = match name.strip_prefix(BY_LABEL) {
                    Some(label) => format!("no node has the label {label}"),
                    None => format!("Topology \"{name}\" does not exist"),
                };
                Why::new("TopologyNotFound", &message)
            }
            WishError::Unnamed(count) => {
                let there = match count {
                    0 => "there is none".to_owned(),
                    many => format!("there are {many}"),
                };
                let message = format!("spec.topology names no Topology, and {there}");
                Why::new("TopologyNotFound", &message)
            }
            WishError::Invalid(name, problem) => {
                let problem = problem.as_deref().unwrap_or("its condition says why");
                let message = format!("Topology \"{name}\" is not Ready: {problem}");
                Why::new("TopologyNotReady", &message)
            }
            WishError::NoLevel(name, label, levels) => {
                let levels = levels.join(", ");
                let message =
                    format!("Topology {name} has no level {label}; its levels are {levels}");
                Why::new("LevelNotFound", &message)
            }
            WishError::NoLevels(name, label) => {
                let message = format!("Topology {name} is made of links and has no level {label}");
                Why::new("LevelNotFound", &message)
            }
        })
    }
}
