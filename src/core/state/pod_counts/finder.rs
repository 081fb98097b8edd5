//! Finds the queries that a pod may match, without trying all there are: by its namespace, and by a
//! label with a value that a query insists on.

use super::super::ids::QueryId;
use muster_model::{LabelCondition, LabelRequirement, PodQuery};
use std::collections::{BTreeMap, BTreeSet};

/// A query that insists on one of more values than this is looked for by its namespace alone.
const MAX_VALUES: usize = 16;

/// Queries by namespace; the empty name stands for all.
#[derive(Clone, Debug, Default)]
pub(super) struct Finder(BTreeMap<String, Here>);

/// The queries about one namespace.
#[derive(Clone, Debug, Default)]
struct Here {
    /// By a label's name and value.
    by_label: BTreeMap<String, BTreeMap<String, BTreeSet<QueryId>>>,
    /// Those that insist on no value.
    others: BTreeSet<QueryId>,
}

impl Here {
    fn is_empty(&self) -> bool {
        self.by_label.is_empty() && self.others.is_empty()
    }
}

/// The label on which a query insists, and its values.
fn insists_on(query: &PodQuery) -> Option<(&str, &[String])> {
    let values = |one: &LabelRequirement| match &one.holds {
        LabelCondition::In(values) => values.len(),
        _ => usize::MAX,
    };
    let all = query.requirements().iter();
    let one = all.min_by_key(|one| values(one))?;
    match &one.holds {
        LabelCondition::In(values) if values.len() <= MAX_VALUES => Some((&one.key, values)),
        _ => None,
    }
}

/// The namespaces under which a query is kept.
fn places(query: &PodQuery) -> Vec<&str> {
    let named = query.namespaces.iter().find(|one| !one.has_selector());
    match named {
        Some(one) => one.names().iter().map(String::as_str).collect(),
        None => vec![""],
    }
}

impl Finder {
    pub(super) fn insert(&mut self, id: QueryId, query: &PodQuery) {
        let insists_on = insists_on(query);
        if insists_on.is_some_and(|(_, values)| values.is_empty()) {
            // Nobody matches it.
            return;
        }
        for place in places(query) {
            let here = self.0.entry(place.to_owned()).or_default();
            let Some((key, values)) = insists_on else {
                here.others.insert(id);
                continue;
            };
            for value in values {
                let by_value = here.by_label.entry(key.to_owned()).or_default();
                by_value.entry(value.clone()).or_default().insert(id);
            }
        }
    }

    pub(super) fn remove(&mut self, id: QueryId, query: &PodQuery) {
        for place in places(query) {
            let Some(here) = self.0.get_mut(place) else {
                continue;
            };
            here.others.remove(&id);
            if let Some((key, values)) = insists_on(query)
                && let Some(by_value) = here.by_label.get_mut(key)
            {
                for value in values {
                    if let Some(ids) = by_value.get_mut(value) {
                        ids.remove(&id);
                        if ids.is_empty() {
                            by_value.remove(value);
                        }
                    }
                }
                if by_value.is_empty() {
                    here.by_label.remove(key);
                }
            }
            if here.is_empty() {
                self.0.remove(place);
            }
        }
    }

    /// Those that a pod with these labels (as text) in this namespace may match; some perhaps not.
    pub(super) fn candidates(&self, namespace: &str, labels: &str) -> BTreeSet<QueryId> {
        let mut found = BTreeSet::new();
        for place in [namespace, ""] {
            let Some(here) = self.0.get(place) else {
                continue;
            };
            found.extend(&here.others);
            if here.by_label.is_empty() {
                continue;
            }
            for (key, value) in labels.split(',').filter_map(|pair| pair.split_once('=')) {
                let ids = here.by_label.get(key).and_then(|one| one.get(value));
                found.extend(ids.into_iter().flatten());
            }
        }
        found
    }
}
