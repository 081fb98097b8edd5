//! What pods ask for beside amounts, as in the cases of kube-scheduler's own benchmark (scheduler_perf).

use serde_json::{Value, json};

/// The label of nodes that says in which zone they are.
pub(super) const ZONE: &str = "topology.kubernetes.io/zone";
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
            Self::Basic | Self::PodAntiAffinity | Self::TopologySpread | Self::RequiredRack => {
                nodes
            }
            Self::NodeAffinity => nodes * 2 / ZONES,
            Self::PodAffinity => nodes / ZONES,
        }
    }

    /// Has a pod ask for it; `all` are the labels of all pods.
    pub(super) fn mark(self, pod: &mut Value, all: &Value) {
        let others = |key| json!([{"topologyKey": key, "labelSelector": {"matchLabels": all}}]);
        let required = "requiredDuringSchedulingIgnoredDuringExecution";
        let spec = &mut pod["spec"];
        match self {
            // A rack is what the gang asks for.
            Self::Basic | Self::RequiredRack => {}
            Self::NodeAffinity => {
                let zones = [Self::zone(0), Self::zone(1)];
                let one = json!({"key": ZONE, "operator": "In", "values": zones});
                let terms = json!({"nodeSelectorTerms": [{"matchExpressions": [one]}]});
                spec["affinity"]["nodeAffinity"][required] = terms;
            }
            Self::PodAffinity => spec["affinity"]["podAffinity"][required] = others(ZONE),
            Self::PodAntiAffinity => {
                spec["affinity"]["podAntiAffinity"][required] = others("kubernetes.io/hostname");
            }
            Self::TopologySpread => {
                spec["topologySpreadConstraints"] = json!([{
                    "topologyKey": ZONE,
                    "maxSkew": MAX_SKEW,
                    "whenUnsatisfiable": "DoNotSchedule",
                    "labelSelector": {"matchLabels": all},
                }]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::convert::{self, Reading};
    use clap::ValueEnum;

    #[test]
    fn muster_schedules_by_what_every_case_asks_for() {
        let reading = Reading {
            scheduler_names: vec!["muster".to_owned()],
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
            assert_eq!(
                found.shape == basic,
                matches!(case, Case::Basic | Case::RequiredRack),
                "{}",
                case.name()
            );
        }
    }
}
