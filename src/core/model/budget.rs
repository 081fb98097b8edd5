//! PodDisruptionBudgets, and the labels of pods that they are matched with.

use super::{LabelSelector, Labels};
use crate::units::Time;
use std::collections::BTreeSet;

/// A `policy/v1` PodDisruptionBudget.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct DisruptionBudgetSpec {
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
    /// `spec.selector`; one without requirements chooses nobody, as in kube-scheduler.
    pub selector: LabelSelector,
    /// The gang that it defines.
    pub gang: Option<BudgetOfGang>,
    /// `status.disruptionsAllowed`.
    pub allowed: u32,
    /// The names in `status.disruptedPods`: pods whose eviction is counted already.
    pub disrupted: BTreeSet<String>,
}

/// What a PodDisruptionBudget says that has a controller: of its pods so many run, or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BudgetOfGang {
    /// The name of what controls it and the pods.
    pub controller: String,
    /// `spec.minAvailable`.
    pub min_available: u32,
    /// `metadata.creationTimestamp`.
    pub created: Time,
}

/// Labels of a pod as one text, `key=value` with commas between; neither may be in a key or a value.
/// There are very many pods, and hardly anybody asks.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PodLabels(String);

impl PodLabels {
    /// The text of labels.
    #[must_use]
    pub fn new(labels: &Labels) -> Self {
        let mut text = String::new();
        for (key, value) in labels {
            if !text.is_empty() {
                text.push(',');
            }
            text.push_str(key);
            text.push('=');
            text.push_str(value);
        }
        Self(text)
    }

    /// Labels that are such a text already.
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0
    }
}

/// The value of a label in such a text.
#[must_use]
pub fn label_in<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let mut pairs = text.split(',').filter_map(|pair| pair.split_once('='));
    pairs.find_map(|(one, value)| (one == key).then_some(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_found_in_their_text() {
        let labels = [("app", "db"), ("app.kubernetes.io/part-of", ""), ("b", "2")];
        let labels = labels.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let text = PodLabels::new(&labels.into());
        assert_eq!(label_in(text.text(), "app"), Some("db"));
        assert_eq!(label_in(text.text(), "app.kubernetes.io/part-of"), Some(""));
        assert_eq!(label_in(text.text(), "part-of"), None);
        assert_eq!(label_in("", "app"), None);
    }
}
