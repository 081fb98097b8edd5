//! What a pod asks of other pods: beside which it has to be, and beside which it may not be.

use super::{LabelRequirement, LabelSelector, label_in};

/// The label that every namespace has, with its name for a value: the API server sees to that.
pub const METADATA_NAME: &str = "kubernetes.io/metadata.name";

/// Some namespaces: those that are named, and those whose labels are chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct NamespaceChoice {
    /// By name; sorted, each once.
    names: Vec<String>,
    /// By labels; `None` chooses none.
    selector: Option<LabelSelector>,
}

impl NamespaceChoice {
    /// These, and those whose labels are chosen.
    #[must_use]
    pub fn new(mut names: Vec<String>, selector: Option<LabelSelector>) -> Self {
        names.sort_unstable();
        names.dedup();
        Self { names, selector }
    }

    /// One.
    #[must_use]
    pub fn only(name: &str) -> Self {
        Self::new(vec![name.to_owned()], None)
    }

    /// Those that are named.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether labels choose some.
    #[must_use]
    pub const fn has_selector(&self) -> bool {
        self.selector.is_some()
    }

    /// Whether a namespace is among them, by the values of its labels.
    #[must_use]
    pub fn has<'a>(&self, name: &str, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        let named = self
            .names
            .binary_search_by(|one| one.as_str().cmp(name))
            .is_ok();
        named
            || self
                .selector
                .as_ref()
                .is_some_and(|one| one.matches_with(label))
    }
}

/// One term of pod affinity or anti-affinity (`PodAffinityTerm`).
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PodTerm {
    /// Where the pods are looked for.
    pub namespaces: NamespaceChoice,
    /// Which pods it is about.
    pub selector: LabelSelector,
    /// The node label whose value says which nodes are together.
    pub topology_key: String,
}

/// A term that a pod had better satisfy (`WeightedPodAffinityTerm`).
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct WeightedPodTerm {
    /// How much that counts: 1 to 100, or as much below zero where it is one of anti-affinity.
    pub weight: i32,
    /// The term.
    pub term: PodTerm,
}

/// What a pod asks of other pods.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct PodRules {
    /// Required affinity: all of these terms hold together, of pods that match all of them.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub affinity: Vec<PodTerm>,
    /// Required anti-affinity: each of these terms holds by itself.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub anti_affinity: Vec<PodTerm>,
    /// Preferred affinity and anti-affinity; none unless a profile scores by it.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub preferred: Vec<WeightedPodTerm>,
    /// Whether a profile scores by such terms: then those of pods that have their place draw others there,
    /// the required ones of affinity included.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "crate::is_default"))]
    pub draws: bool,
}

impl PodRules {
    /// Whether it asks for nothing.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.affinity.is_empty() && self.anti_affinity.is_empty() && self.preferred.is_empty()
    }
}

/// Which of the pods with a node count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Counted {
    /// All that take room, and those for whom room is only held: what must not be near.
    #[default]
    All,
    /// Those that have their place: what has to be near. Whom room is only held for may never come.
    Placed,
    /// Those that have their place, but for those that are being deleted: what is spread.
    Staying,
    /// Those that have their place, for scores: nobody who waits is asked again because of them.
    Scored,
}

/// Which pods are counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PodQuery {
    /// Where they are: in each of these choices.
    pub namespaces: Vec<NamespaceChoice>,
    /// What their labels are.
    pub selector: LabelSelector,
    /// How far they are.
    pub counted: Counted,
}

impl PodQuery {
    /// Those that match all of some terms.
    #[must_use]
    pub fn of_all<'a>(terms: impl IntoIterator<Item = &'a PodTerm>, counted: Counted) -> Self {
        let mut query = Self {
            counted,
            ..Self::default()
        };
        for term in terms {
            query.namespaces.push(term.namespaces.clone());
            let more = term.selector.requirements.iter();
            query.selector.requirements.extend(more.cloned());
        }
        query.namespaces.sort_unstable();
        query.namespaces.dedup();
        query.selector.requirements.sort_unstable();
        query.selector.requirements.dedup();
        query
    }

    /// Whether a pod is among them, by its labels as text (see [`super::PodLabels`]) and the values
    /// of its namespace's labels.
    #[must_use]
    pub fn matches<'a>(
        &self,
        namespace: &str,
        labels: &str,
        of_namespace: impl Fn(&str) -> Option<&'a str> + Copy,
    ) -> bool {
        self.selector.matches_with(|key| label_in(labels, key))
            && self
                .namespaces
                .iter()
                .all(|one| one.has(namespace, of_namespace))
    }

    /// Whether it depends on the labels of namespaces.
    #[must_use]
    pub fn reads_namespaces(&self) -> bool {
        self.namespaces.iter().any(NamespaceChoice::has_selector)
    }

    /// What must hold of the labels.
    #[must_use]
    pub fn requirements(&self) -> &[LabelRequirement] {
        &self.selector.requirements
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LabelCondition;

    fn has(key: &str, value: &str) -> LabelSelector {
        LabelSelector {
            requirements: vec![LabelRequirement {
                key: key.to_owned(),
                holds: LabelCondition::In(vec![value.to_owned()]),
            }],
        }
    }

    fn no_labels(_: &str) -> Option<&'static str> {
        None
    }

    #[test]
    fn namespaces_are_those_named_and_those_chosen() {
        let team = |key: &str| (key == "team").then_some("a");
        let choice = NamespaceChoice::new(vec!["y".into(), "x".into()], Some(has("team", "a")));
        assert!(choice.has("x", no_labels) && choice.has("y", no_labels));
        assert!(choice.has("z", team) && !choice.has("z", no_labels));
        assert!(!NamespaceChoice::only("x").has("z", team));
        let all = NamespaceChoice::new(Vec::new(), Some(LabelSelector::default()));
        assert!(all.has("anything", no_labels));
    }

    #[test]
    fn a_pod_matches_all_terms_or_it_is_not_counted() {
        let term = |namespace: &str, key: &str| PodTerm {
            namespaces: NamespaceChoice::only(namespace),
            selector: has(key, "1"),
            topology_key: "zone".to_owned(),
        };
        let query = PodQuery::of_all(&[term("n", "a"), term("n", "b")], Counted::Placed);
        assert!(query.matches("n", "a=1,b=1", no_labels));
        assert!(!query.matches("n", "a=1", no_labels));
        assert!(!query.matches("m", "a=1,b=1", no_labels));
        let apart = PodQuery::of_all(&[term("n", "a"), term("m", "a")], Counted::Placed);
        assert!(!apart.matches("n", "a=1", no_labels));
        assert!(!apart.matches("m", "a=1", no_labels));
    }

    #[test]
    fn an_absent_selector_matches_nothing_and_an_empty_one_everything() {
        let query = |selector| PodQuery {
            namespaces: vec![NamespaceChoice::only("n")],
            selector,
            counted: Counted::All,
        };
        assert!(!query(LabelSelector::nothing()).matches("n", "a=1", no_labels));
        assert!(query(LabelSelector::default()).matches("n", "", no_labels));
    }
}
