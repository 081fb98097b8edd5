//! Which nodes a pod allows, and what keeps pods off a node.

use super::{GangKey, Labels, NodeFeatures, ProfileId, VolumeNeeds};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What a taint does to pods that do not tolerate it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum TaintEffect {
    /// No new pods.
    #[default]
    NoSchedule,
    /// Better no new pods; only scores.
    PreferNoSchedule,
    /// No new pods, and running ones are evicted (by another controller).
    NoExecute,
}

/// A taint of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Taint {
    /// The key.
    pub key: String,
    /// The value, often empty.
    pub value: String,
    /// The effect.
    pub effect: TaintEffect,
}

/// How a toleration compares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum TolerationOperator {
    /// Key and value must be equal.
    #[default]
    Equal,
    /// The key is enough.
    Exists,
    /// The taint's value is an integer less than the one given.
    Lt,
    /// The taint's value is an integer greater than the one given.
    Gt,
}

/// A toleration of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Toleration {
    /// The key; empty with `Exists` tolerates every taint.
    pub key: String,
    /// How it compares.
    pub operator: TolerationOperator,
    /// What the taint's value is compared with.
    pub value: String,
    /// The effect it tolerates; `None` is every effect.
    pub effect: Option<TaintEffect>,
}

impl Toleration {
    /// Whether it tolerates `taint` (source: Kubernetes' `Toleration.ToleratesTaint`, as it is where the
    /// API server takes `Lt` and `Gt`).
    #[must_use]
    pub fn tolerates(&self, taint: &Taint) -> bool {
        let effect = self.effect.is_none_or(|effect| effect == taint.effect);
        let key = self.key.is_empty() || self.key == taint.key;
        let numbers = || Some((decimal(&taint.value)?, decimal(&self.value)?));
        effect
            && key
            && match self.operator {
                TolerationOperator::Exists => true,
                TolerationOperator::Equal => self.value == taint.value,
                TolerationOperator::Lt => numbers().is_some_and(|(found, bound)| found < bound),
                TolerationOperator::Gt => numbers().is_some_and(|(found, bound)| found > bound),
            }
    }
}

/// An integer as the API writes it: without a plus, leading zeros or a negative zero.
fn decimal(text: &str) -> Option<i64> {
    let value: i64 = text.parse().ok()?;
    (value.to_string() == text).then_some(value)
}

/// How a requirement compares a label.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Operator {
    /// The value is among those given.
    #[default]
    In,
    /// The label is absent or its value is not among those given.
    NotIn,
    /// The label is there.
    Exists,
    /// The label is not there.
    DoesNotExist,
    /// The label's value is an integer greater than the one given.
    Gt,
    /// The label's value is an integer less than the one given.
    Lt,
}

/// One expression over labels or fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Requirement {
    /// Label key, or field path for fields.
    pub key: String,
    /// The comparison.
    pub operator: Operator,
    /// What it is compared with.
    pub values: Vec<String>,
}

impl Requirement {
    /// Whether a label of this value (`None`: absent) satisfies it (source: Kubernetes'
    /// `labels.Requirement.Matches`; what cannot be parsed as an integer matches neither
    /// `Gt` nor `Lt`).
    #[must_use]
    pub fn matches(&self, value: Option<&str>) -> bool {
        let among = |value: &str| self.values.iter().any(|one| one == value);
        let compare = |test: fn(&i64, &i64) -> bool| {
            let bound = self.values.first().and_then(|one| one.parse::<i64>().ok());
            let found = value.and_then(|one| one.parse::<i64>().ok());
            matches!((found, bound), (Some(found), Some(bound)) if test(&found, &bound))
        };
        match self.operator {
            Operator::In => value.is_some_and(among),
            Operator::NotIn => !value.is_some_and(among),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::Gt => compare(i64::gt),
            Operator::Lt => compare(i64::lt),
        }
    }
}

/// The only field of nodes that terms may speak of.
const NODE_NAME: &str = "metadata.name";

/// Expressions that must all hold. A term without any matches nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Term {
    /// `matchExpressions`, over the node's labels.
    pub labels: Vec<Requirement>,
    /// `matchFields`: only `metadata.name`.
    pub fields: Vec<Requirement>,
}

impl Term {
    /// Whether the node of this name and these labels satisfies the term.
    #[must_use]
    pub fn matches(&self, name: &str, labels: &Labels) -> bool {
        let label = |one: &Requirement| one.matches(labels.get(&one.key).map(String::as_str));
        let field = |one: &Requirement| one.key == NODE_NAME && one.matches(Some(name));
        (!self.labels.is_empty() || !self.fields.is_empty())
            && self.labels.iter().all(label)
            && self.fields.iter().all(field)
    }
}

/// The names that a requirement names nodes by; `None` if it does not.
fn names(one: &Requirement) -> Option<&[String]> {
    (one.key == NODE_NAME && one.operator == Operator::In).then_some(&one.values)
}

impl Term {
    /// Whether the term holds of nodes of certain names only.
    #[must_use]
    pub fn names_nodes(&self) -> bool {
        self.named().is_some()
    }

    /// The names of the nodes that it may hold of; `None` if it does not name them.
    pub fn named(&self) -> Option<&[String]> {
        self.fields.iter().find_map(names)
    }

    /// Whether the term, which names nodes, names this one.
    #[must_use]
    pub fn may_name(&self, name: &str) -> bool {
        let mut lists = self.fields.iter().filter_map(names);
        lists.all(|list| list.iter().any(|one| one == name))
    }

    /// Whether the term, which names nodes, names none: its lists exclude each other.
    #[must_use]
    pub fn names_nobody(&self) -> bool {
        let mut lists = self.fields.iter().filter_map(names);
        let first = lists.next().unwrap_or_default();
        !first.iter().any(|name| self.may_name(name))
    }
}

/// Terms of which one must hold: `requiredDuringSchedulingIgnoredDuringExecution`.
pub type NodeSelector = Vec<Term>;

/// Whether `labels` carry every pair of `wanted`.
#[must_use]
pub fn labels_match(wanted: &Labels, labels: &Labels) -> bool {
    wanted
        .iter()
        .all(|(key, value)| labels.get(key) == Some(value))
}

/// With whom a pod shares a node, if it is of a gang that wants nodes for itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Housemates {
    /// Its gang: members share nodes.
    pub gang: GangKey,
    /// Whether it wants its node for its gang; else only others of its gang do.
    pub exclusive: bool,
}

/// What a gang wants of the nodes of its members, those of one subgroup.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct GangWants {
    /// `nodeSelector` of its PodGroup.
    pub selector: Labels,
    /// Labels without which a node is nowhere in the topology that the gang goes by, whatever their values.
    pub labels: BTreeSet<String>,
    /// With whom they share nodes, if it wants nodes for itself.
    pub housemates: Option<Housemates>,
}

/// What of a pod depends on the node's identity, labels and taints alone: two pods with equal
/// constraints are allowed on the same nodes, whatever they request.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct Constraints {
    /// By which profile it is scheduled: another one may ask other filters, or the same in another way.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub profile: ProfileId,
    /// `spec.nodeSelector`.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub selector: Labels,
    /// What its gang wants of its nodes. The state fills it in: a pod does not know.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub gang: GangWants,
    /// `requiredDuringScheduling` node affinity; `None` where the pod has none.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub affinity: Option<NodeSelector>,
    /// `spec.tolerations`.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub tolerations: Vec<Toleration>,
    /// What the kubelet must have declared.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub features: NodeFeatures,
    /// What its volumes ask of the node, if they do. The state fills it in, too.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub volumes: Option<Arc<VolumeNeeds>>,
}

impl Constraints {
    /// Whether the pod's selector and its required affinity allow the node of this name and these labels.
    #[must_use]
    pub fn select(&self, name: &str, labels: &Labels) -> bool {
        let affinity = self.affinity.as_ref();
        affinity.is_none_or(|terms| terms.iter().any(|term| term.matches(name, labels)))
            && labels_match(&self.selector, labels)
    }

    /// Whether none of these taints keeps the pod off; PreferNoSchedule never does.
    #[must_use]
    pub fn tolerate(&self, taints: &[Taint]) -> bool {
        let repels = |taint: &Taint| {
            taint.effect != TaintEffect::PreferNoSchedule
                && !self.tolerations.iter().any(|one| one.tolerates(taint))
        };
        !taints.iter().any(repels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_name_nodes_by_all_of_their_lists() {
        let named = |values: &[&str]| Requirement {
            key: NODE_NAME.to_owned(),
            operator: Operator::In,
            values: values.iter().map(|one| (*one).to_owned()).collect(),
        };
        let term = |fields: Vec<Requirement>| Term {
            labels: Vec::new(),
            fields,
        };
        let both = term(vec![named(&["a", "b"]), named(&["b", "c"])]);
        assert!(both.names_nodes() && !both.names_nobody());
        assert!(both.may_name("b") && !both.may_name("a") && !both.may_name("d"));
        assert!(term(vec![named(&["a"]), named(&["c"])]).names_nobody());
        let not_in = Requirement {
            operator: Operator::NotIn,
            ..named(&["a"])
        };
        assert!(!term(vec![not_in]).names_nodes());
    }

    #[test]
    fn tolerations_compare_integers_as_they_are_written() {
        let tolerates = |operator, value: &str, taint: &str| {
            let toleration = Toleration {
                key: "k".to_owned(),
                operator,
                value: value.to_owned(),
                effect: None,
            };
            toleration.tolerates(&Taint {
                key: "k".to_owned(),
                value: taint.to_owned(),
                effect: TaintEffect::NoSchedule,
            })
        };
        let (less, greater) = (TolerationOperator::Lt, TolerationOperator::Gt);
        for (value, taint, is_less, is_greater) in [
            ("5", "4", true, false),
            ("5", "5", false, false),
            ("-5", "-4", false, true),
            ("05", "4", false, false),
            ("5", "+4", false, false),
            ("5", "", false, false),
            ("5", "99999999999999999999", false, false),
        ] {
            assert_eq!(tolerates(less, value, taint), is_less, "{taint} < {value}");
            assert_eq!(
                tolerates(greater, value, taint),
                is_greater,
                "{taint} > {value}"
            );
        }
    }
}
