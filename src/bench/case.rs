//! What pods ask for beside amounts, as in the cases of kube-scheduler's own benchmark (scheduler_perf).

use serde_json::{Value, json};

/// The label of nodes that says in which zone they are.
pub(super) const ZONE: &str = "topology.kubernetes.io/zone";
/// The label of nodes that says which they are.
const HOST: &str = "kubernetes.io/hostname";
/// How many zones there are.
const ZONES: usize = 10;
/// The label of nodes that says in which rack they are.
pub(super) const RACK: &str = "muster.dev/bench-rack";
/// How many nodes a rack has.
const NODES_OF_A_RACK: usize = 20;
/// How many pods more one zone may have than another.
const MAX_SKEW: usize = 5;

/// What pods ask for beside amounts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Case {
    /// Nothing.
    #[default]
    Basic,
    /// Two of ten zones, by node affinity.
    NodeAffinity,
    /// To be in one zone with the others, by pod affinity.
    PodAffinity,
    /// A node without any of the others, by pod anti-affinity.
    PodAntiAffinity,
    /// To be spread over ten zones, with at most five more in one than in another.
    TopologySpread,
    /// Each gang in one rack of twenty nodes, by a Topology.
    RequiredRack,
    /// Rather in one zone with the others, by preferred pod affinity.
    PreferredPodAffinity,
    /// Rather on a node without the others, by preferred pod anti-affinity.
    PreferredPodAntiAffinity,
    /// Rather spread evenly over ten zones.
    PreferredTopologySpread,
    /// Nothing, behind 20,000 pods that no node has room for.
    Unschedulable,
    /// Nothing, while a node, a Service and a pod that no node has room for come and go ten times a second.
    MixedChurn,
}

impl Case {
    /// Its name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Basic => "basic",
            Self::NodeAffinity => "node-affinity",
            Self::PodAffinity => "pod-affinity",
            Self::PodAntiAffinity => "pod-anti-affinity",
            Self::TopologySpread => "topology-spread",
            Self::RequiredRack => "required-rack",
            Self::PreferredPodAffinity => "preferred-pod-affinity",
            Self::PreferredPodAntiAffinity => "preferred-pod-anti-affinity",
            Self::PreferredTopologySpread => "preferred-topology-spread",
            Self::Unschedulable => "unschedulable",
            Self::MixedChurn => "mixed-churn",
        }
    }

    /// How many pods wait for which no node has room.
    pub(super) const fn waiting(self) -> usize {
        match self {
            Self::Unschedulable => 20_000,
            _ => 0,
        }
    }

    /// The zone of the node of this number.
    pub(super) fn zone(node: usize) -> String {
        format!("zone-{}", node % ZONES)
    }

    /// The rack of the node of this number.
    pub(super) fn rack(node: usize) -> String {
        format!("rack-{}", node / NODES_OF_A_RACK)
    }

    /// On how many of the nodes the pods have to find room.
    pub(super) const fn usable(self, nodes: usize) -> usize {
        match self {
            Self::NodeAffinity => nodes * 2 / ZONES,
            Self::PodAffinity => nodes / ZONES,
            _ => nodes,
        }
    }

    /// Has a pod ask for it; `all` are the labels of all pods.
    pub(super) fn mark(self, pod: &mut Value, all: &Value) {
        let others = |key| json!([{"topologyKey": key, "labelSelector": {"matchLabels": all}}]);
        let rather = |key| json!([{"weight": 1, "podAffinityTerm": others(key)[0]}]);
        let required = "requiredDuringSchedulingIgnoredDuringExecution";
        let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
        let spread = |max_skew: usize, when: &str| {
            json!([{
                "topologyKey": ZONE,
                "maxSkew": max_skew,
                "whenUnsatisfiable": when,
                "labelSelector": {"matchLabels": all},
            }])
        };
        let spec = &mut pod["spec"];
        match self {
            // A rack is what the gang asks for.
            Self::Basic | Self::RequiredRack | Self::Unschedulable | Self::MixedChurn => {}
            Self::NodeAffinity => {
                let zones = [Self::zone(0), Self::zone(1)];
                let one = json!({"key": ZONE, "operator": "In", "values": zones});
                let terms = json!({"nodeSelectorTerms": [{"matchExpressions": [one]}]});
                spec["affinity"]["nodeAffinity"][required] = terms;
            }
            Self::PodAffinity => spec["affinity"]["podAffinity"][required] = others(ZONE),
            Self::PodAntiAffinity => {
                spec["affinity"]["podAntiAffinity"][required] = others(HOST);
            }
            Self::TopologySpread => {
                spec["topologySpreadConstraints"] = spread(MAX_SKEW, "DoNotSchedule");
            }
            Self::PreferredPodAffinity => {
                spec["affinity"]["podAffinity"][preferred] = rather(ZONE);
            }
            Self::PreferredPodAntiAffinity => {
                spec["affinity"]["podAntiAffinity"][preferred] = rather(HOST);
            }
            Self::PreferredTopologySpread => {
                spec["topologySpreadConstraints"] = spread(1, "ScheduleAnyway");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;
    use muster_api::convert::{self, Reading};
    use muster_model::Reads;

    #[test]
    fn muster_schedules_by_what_every_case_asks_for() {
        let reading = Reading {
            scheduler_names: vec!["muster".to_owned()],
            // As where nodes are scored as kube-scheduler scores them.
            reads: vec![Reads {
                spread: true,
                pod_terms: true,
                ..Reads::default()
            }],
            ..Reading::default()
        };
        let converted = |case: Case| {
            let mut pod = json!({
                "metadata": {"name": "p", "namespace": "a", "uid": "u", "labels": {"run": "r"}},
                "spec": {"schedulerName": "muster", "containers": [{"name": "main"}]},
            });
            case.mark(&mut pod, &json!({"run": "r"}));
            convert::pod(&serde_json::from_value(pod).unwrap(), &reading)
        };
        let basic = converted(Case::Basic).shape;
        for case in Case::value_variants() {
            let found = converted(*case);
            assert_eq!(found.unsupported, [""; 0], "{}", case.name());
            let asks_for_nothing = [
                Case::Basic,
                Case::RequiredRack,
                Case::Unschedulable,
                Case::MixedChurn,
            ];
            let is_basic = asks_for_nothing.contains(case);
            assert_eq!(found.shape == basic, is_basic, "{}", case.name());
        }
    }
}
