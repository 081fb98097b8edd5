//! What is said of topologies.

use super::words::condition;
use crate::state::{ClusterState, Network, Topology};
use muster_model::counted;
use muster_model::{Condition, TopologyDoubt, TopologyStatus};
use std::collections::BTreeMap;

/// What is odd about the topologies of others, where it is another than was `said` before.
pub(super) fn doubts(
    state: &ClusterState,
    said: &mut BTreeMap<String, String>,
) -> Vec<TopologyDoubt> {
    let doubts = state.topologies().doubts_of_others(state.nodes());
    let odd = doubts.into_iter().filter(|(_, doubts)| !doubts.is_empty());
    let now: BTreeMap<String, String> = odd
        .map(|(name, doubts)| (name.to_owned(), doubts.join("; ")))
        .collect();
    let news = now
        .iter()
        .filter(|(name, doubts)| said.get(*name) != Some(doubts));
    let news = news.map(|(name, doubts)| TopologyDoubt {
        topology: name.clone(),
        message: doubts.clone(),
    });
    let news = news.collect();
    *said = now;
    news
}

/// The statuses of all topologies of ours.
pub(super) fn statuses(state: &ClusterState) -> Vec<TopologyStatus> {
    let topologies = state.topologies().iter();
    let ours = topologies.filter(|(_, one)| one.spec.origin.is_ours());
    ours.map(|(_, one)| status(state, one)).collect()
}

fn status(state: &ClusterState, topology: &Topology) -> TopologyStatus {
    let (spec, network) = (&topology.spec, topology.network());
    let mut domains = Vec::new();
    if let Network::Tree(tree) = network {
        domains.resize(tree.levels().len(), 0);
        for (_, domain) in tree.domains() {
            domains[domain.level] += 1;
        }
    }
    let present = u32::try_from(state.nodes().present().len()).unwrap_or(u32::MAX);
    let nodes = match network {
        // Where the single node is the only level, no label is asked for.
        Network::Tree(tree) if tree.levels().is_empty() => present,
        _ => network.nodes(),
    };
    TopologyStatus {
        topology: spec.name.clone(),
        uid: spec.uid.clone(),
        observed_generation: spec.generation,
        nodes,
        outside: present.saturating_sub(nodes),
        domains,
        ready: ready(state, topology, present.saturating_sub(nodes)),
    }
}

/// Whether gangs may name it, and what an admin may not have meant.
fn ready(state: &ClusterState, topology: &Topology, outside: u32) -> Condition {
    if let Some(problem) = &topology.spec.invalid {
        return condition("Ready", false, "Invalid", problem);
    }
    let mut doubts = Vec::new();
    let nodes = (outside > 0).then(|| counted(outside as usize, "node"));
    match topology.network() {
        Network::Tree(tree) => {
            let labels = tree.levels().iter();
            let labels: Vec<&str> = labels.map(|one| one.label.as_str()).collect();
            let labels = labels.join(", ");
            doubts.extend(
                nodes.map(|nodes| {
                    format!("{nodes} without all of the labels {labels}: in no domain")
                }),
            );
            doubts.extend(tree.not_nested());
        }
        Network::Graph(graph) => {
            doubts.extend(nodes.map(|nodes| format!("{nodes} without links: near no other")));
            doubts.extend(graph.doubts());
        }
    }
    let valid = state.topologies().count();
    if valid > 1 {
        doubts.push(format!(
            "one of {valid} Topologies: PodGroups that name none are placed without any"
        ));
    }
    condition("Ready", true, "Ready", &doubts.join("; "))
}
