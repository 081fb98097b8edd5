//! How cases are drawn: a file a rule.
//!
//! A rule adds to a case what it is about: to nodes, to pods that run and to the one that waits. The
//! weights are such that it refuses about as often as it does not.

mod cluster;
mod defaults;
mod features;
mod node_affinity;
mod pod_affinity;
mod ports;
mod preferences;
mod requests;
mod selectors;
mod spread;
mod taints;
mod volumes;

use super::case::Case;
use super::dice::Dice;

/// A rule.
pub(crate) struct Rule {
    /// The plugin of kube-scheduler that has it.
    pub(crate) name: &'static str,
    /// Whether Muster has it; else no case is drawn with it.
    pub(crate) there: bool,
    /// In how many of a hundred cases it has a part.
    percent: u64,
    /// Adds to a case.
    add: fn(&mut Case, &mut Dice),
    /// Words of kube-scheduler's that a long run must have come to, each often.
    pub(crate) words: &'static [&'static str],
}

/// All rules. A new one is a line here.
pub(crate) const RULES: [Rule; 12] = [
    Rule {
        name: "NodeResourcesFit",
        there: true,
        percent: 70,
        add: requests::add,
        words: &[
            "Insufficient cpu",
            "Insufficient memory",
            "Too many pods",
            "Insufficient hugepages-2Mi",
            "Insufficient example.com/gpu",
            "Insufficient ephemeral-storage",
        ],
    },
    Rule {
        name: "in-place resize",
        there: true,
        percent: 25,
        add: requests::resize,
        words: &[],
    },
    Rule {
        name: "TaintToleration",
        there: true,
        percent: 40,
        add: taints::add,
        words: &["node(s) had untolerated taint(s)"],
    },
    Rule {
        name: "NodeUnschedulable",
        there: true,
        percent: 15,
        add: taints::cordon,
        words: &["node(s) were unschedulable"],
    },
    Rule {
        name: "NodeAffinity",
        there: true,
        percent: 40,
        add: node_affinity::add,
        words: &[
            "node(s) didn't match Pod's node affinity/selector",
            "node(s) didn't satisfy plugin(s) [NodeAffinity]",
            "pod affinity terms conflict",
        ],
    },
    Rule {
        name: "NodePorts",
        there: true,
        percent: 25,
        add: ports::add,
        words: &["node(s) didn't have free ports for the requested pod ports"],
    },
    Rule {
        name: "NodeDeclaredFeatures",
        there: true,
        percent: 15,
        add: features::add,
        words: &["node(s) didn't match Pod's required features"],
    },
    Rule {
        name: "InterPodAffinity",
        there: true,
        percent: 35,
        add: pod_affinity::add,
        words: &[
            "node(s) didn't match pod affinity rules",
            "node(s) didn't match pod anti-affinity rules",
            "node(s) didn't satisfy existing pods anti-affinity rules",
        ],
    },
    Rule {
        name: "PodTopologySpread",
        there: true,
        percent: 35,
        add: spread::add,
        words: &[
            "node(s) didn't match pod topology spread constraints",
            "node(s) didn't match pod topology spread constraints (missing required label)",
        ],
    },
    Rule {
        name: "volumes",
        there: true,
        percent: 35,
        add: volumes::add,
        words: &[
            "node(s) didn't find available persistent volumes to bind",
            "node(s) didn't match PersistentVolume's node affinity",
            "node(s) did not have enough free storage",
            "node(s) had no available volume zone",
            "node(s) had no available disk",
            "node(s) exceed max volume count",
            "pod has unbound immediate PersistentVolumeClaims",
        ],
    },
    Rule {
        name: "scores",
        there: true,
        percent: 40,
        add: preferences::add,
        words: &[
            "TaintToleration tells nodes apart",
            "NodeAffinity tells nodes apart",
            "NodeResourcesFit tells nodes apart",
            "NodeResourcesBalancedAllocation tells nodes apart",
            "ImageLocality tells nodes apart",
            "InterPodAffinity tells nodes apart",
            "PodTopologySpread tells nodes apart",
            "VolumeBinding tells nodes apart",
        ],
    },
    Rule {
        name: "default constraints",
        there: true,
        percent: 20,
        add: defaults::add,
        words: &[],
    },
];

/// A case, the same for the same seed.
pub(crate) fn draw(dice: &mut Dice) -> Case {
    let mut case = cluster::draw(dice);
    // The first refusal is the one that is told. So in every other case one rule comes to the fore.
    let there: Vec<&str> = RULES
        .iter()
        .filter(|one| one.there)
        .map(|one| one.name)
        .collect();
    let chief = dice.percent(50).then(|| dice.one_of(&there));
    for rule in RULES.iter().filter(|rule| rule.there) {
        let percent = match chief {
            Some(chief) if chief == rule.name => 100,
            Some(_) => rule.percent / 4,
            None => rule.percent,
        };
        if dice.percent(percent) {
            dice.note(rule.name);
            (rule.add)(&mut case, dice);
        }
    }
    case
}
