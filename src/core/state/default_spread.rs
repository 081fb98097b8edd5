//! Spreading of pods that say nothing of it: by the rules of their profile, which count whom the Services of
//! a pod and its controller choose.
//!
//! Who waits has these rules in its shape, and other ones as soon as Services or its controller choose
//! otherwise. Who is bound keeps those by which it was placed.

use super::ClusterState;
use super::ids::PodId;
use super::pods::Place;
use muster_model::{
    Counted, DefaultSpread, LabelRequirement, LabelSelector, NamespaceChoice, PodKey, PodQuery,
    PodSelectorKey, PodSelectorSpec, PodSpec, ProfileId, SelectorKind, SpreadByDefault, SpreadRule,
    label_in,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// By which rules pods are spread that have none, and who chooses pods.
#[derive(Clone, Debug, Default)]
pub(super) struct DefaultSpreads {
    /// By the number of the profile.
    rules: Vec<Arc<DefaultSpread>>,
    /// Who chooses pods, by namespace.
    selectors: BTreeMap<String, BTreeMap<(SelectorKind, String), LabelSelector>>,
    /// Who is spread so and has no node yet, by namespace.
    waiting: BTreeMap<String, BTreeSet<PodId>>,
}

impl DefaultSpreads {
    /// Whether no profile spreads so: then nothing is kept.
    fn is_off(&self) -> bool {
        self.rules.iter().all(|rules| rules.is_empty())
    }

    /// Takes what an object chooses now; returns what it chose before.
    fn set(
        &mut self,
        key: &PodSelectorKey,
        selector: Option<LabelSelector>,
    ) -> Option<LabelSelector> {
        let own = (key.kind, key.name.clone());
        let Some(selector) = selector else {
            let here = self.selectors.get_mut(&key.namespace)?;
            let before = here.remove(&own);
            if here.is_empty() {
                self.selectors.remove(&key.namespace);
            }
            return before;
        };
        let here = self.selectors.entry(key.namespace.clone()).or_default();
        here.insert(own, selector)
    }

    /// Who is counted for a pod (source: kube-scheduler's `DefaultSelector`): what all its Services choose
    /// together, and its controller.
    fn selector(&self, namespace: &str, labels: &str, by: &SpreadByDefault) -> LabelSelector {
        let Some(here) = self.selectors.get(namespace) else {
            return LabelSelector::default();
        };
        let services = (SelectorKind::Service, String::new())
            ..(SelectorKind::ReplicationController, String::new());
        let services = here.range(services).map(|(_, selector)| selector);
        let chosen_by = services.filter(|one| one.matches_with(|key| label_in(labels, key)));
        let all = chosen_by.flat_map(|one| &one.requirements);
        let mut by_key: BTreeMap<&str, &LabelRequirement> =
            all.map(|one| (one.key.as_str(), one)).collect();
        let controller = by.controller.as_ref();
        let controller = controller.and_then(|key| Some((key.0, here.get(key)?)));
        let mut more = None;
        match controller {
            // Its labels are put beside those of the Services, or in their place.
            Some((SelectorKind::ReplicationController, selector)) => {
                let own = selector.requirements.iter();
                by_key.extend(own.map(|one| (one.key.as_str(), one)));
            }
            Some((_, selector)) => more = Some(&selector.requirements),
            None => {}
        }
        let all = by_key.into_values().chain(more.into_iter().flatten());
        let mut requirements: Vec<LabelRequirement> = all.cloned().collect();
        requirements.sort_unstable();
        requirements.dedup();
        LabelSelector { requirements }
    }

    /// By which rules a pod is spread: by none if nobody chooses it.
    fn rules_for(
        &self,
        profile: ProfileId,
        namespace: &str,
        labels: &str,
        by: &SpreadByDefault,
    ) -> DefaultSpread {
        let rules = self.rules.get(usize::from(profile.0));
        let Some(rules) = rules.filter(|rules| !rules.is_empty()) else {
            return DefaultSpread::default();
        };
        let selector = self.selector(namespace, labels, by);
        if selector.requirements.is_empty() {
            return DefaultSpread::default();
        }
        let counts_itself = selector.matches_with(|key| label_in(labels, key));
        let filled = |rule: &SpreadRule| SpreadRule {
            counts_itself,
            pods: Some(PodQuery {
                namespaces: vec![NamespaceChoice::only(namespace)],
                selector: selector.clone(),
                counted: Counted::Staying,
            }),
            ..rule.clone()
        };
        DefaultSpread {
            required: rules.required.iter().map(filled).collect(),
            preferred: rules.preferred.iter().map(filled).collect(),
        }
    }
}

impl ClusterState {
    /// Sets by which rules pods of each profile are spread that have none: before any news.
    pub fn set_default_spread(&mut self, rules: Vec<Arc<DefaultSpread>>) {
        self.default_spreads.rules = rules;
    }

    /// Fills in by what a pod is spread that says nothing of it. `known` is the pod as it was.
    pub(super) fn fill_in_spread(&self, known: Option<PodId>, spec: &mut PodSpec) {
        let Some(by) = &spec.spread_by_default else {
            return;
        };
        let rules = if spec.node.is_none() {
            let (profile, text) = (spec.shape.constraints.profile, spec.labels.text());
            let all = &self.default_spreads;
            all.rules_for(profile, &spec.key.namespace, text, by)
        } else {
            let shape = known.and_then(|id| self.shape_of(id));
            shape.map_or_else(DefaultSpread::default, |one| self.shapes.spread_of(one))
        };
        spec.shape.spread = rules.required;
        spec.shape.preferences.spread = rules.preferred;
    }

    /// Notes whether a pod waits that is spread so.
    pub(super) fn note_default_spread(&mut self, id: PodId) {
        let Some(pod) = self.pods.get(id) else { return };
        let bound = matches!(pod.place, Place::Bound(_));
        let waits = pod.facts.spread_by_default.is_some() && !bound;
        let key = pod.key.clone();
        if waits {
            let here = self.default_spreads.waiting.entry(key.namespace);
            here.or_default().insert(id);
        } else {
            self.forget_default_spread(id, &key);
        }
    }

    /// A pod waits no more, or is about to go.
    pub(super) fn forget_default_spread(&mut self, id: PodId, key: &PodKey) {
        let waiting = &mut self.default_spreads.waiting;
        if let Some(here) = waiting.get_mut(&key.namespace) {
            here.remove(&id);
            if here.is_empty() {
                waiting.remove(&key.namespace);
            }
        }
    }

    /// What chooses pods appeared or changed.
    pub(super) fn upsert_selector(&mut self, spec: PodSelectorSpec) {
        self.selector_is(&spec.key, spec.selector);
    }

    /// What chooses pods is gone.
    pub(super) fn remove_selector(&mut self, key: &PodSelectorKey) {
        self.selector_is(key, None);
    }

    fn selector_is(&mut self, key: &PodSelectorKey, selector: Option<LabelSelector>) {
        if self.default_spreads.is_off() {
            return;
        }
        let before = self.default_spreads.set(key, selector.clone());
        if before == selector {
            return;
        }
        let all = self.default_spreads.waiting.get(&key.namespace);
        // To read all the rules of all who wait, whenever anything changes, would be a lot.
        let selectors = [before, selector];
        let concerned = |id: &&PodId| {
            let Some(pod) = self.pods.get(**id) else {
                return false;
            };
            if key.kind == SelectorKind::Service {
                let mut selectors = selectors.iter().flatten();
                return selectors.any(|one| one.matches_with(|name| label_in(&pod.labels, name)));
            }
            let by = pod.facts.spread_by_default.as_ref();
            by.and_then(|by| by.controller.as_ref())
                .is_some_and(|(kind, name)| (*kind, name) == (key.kind, &key.name))
        };
        let all = all.into_iter().flatten().filter(concerned);
        let all: Vec<PodId> = all.copied().collect();
        for id in all {
            self.spread_anew(id);
        }
    }

    /// By what a pod that waits is to be spread.
    fn default_spread_of(&self, id: PodId) -> Option<DefaultSpread> {
        let pod = self.pods.get(id)?;
        let profile = self.shapes.profile(self.shape_of(id)?);
        let by = pod.facts.spread_by_default.as_ref()?;
        let all = &self.default_spreads;
        Some(all.rules_for(profile, &pod.key.namespace, &pod.labels, by))
    }

    fn spread_anew(&mut self, id: PodId) {
        let shape = self.shape_of(id);
        let before = shape.map(|shape| self.shapes.spread_of(shape));
        let Some(rules) = self.default_spread_of(id) else {
            return;
        };
        if before.as_ref() != Some(&rules) {
            self.give_shape(id, |shapes, shape, _| shapes.with_spread(shape, &rules));
        }
    }

    /// Finds anew who is spread so, and by what, and compares.
    pub(super) fn audit_default_spreads(&self) -> Result<(), String> {
        let mut waiting: BTreeMap<String, BTreeSet<PodId>> = BTreeMap::new();
        for (id, pod) in self.pods.iter() {
            let bound = matches!(pod.place, Place::Bound(_));
            let (Some(rules), false) = (self.default_spread_of(id), bound) else {
                continue;
            };
            let noted = self.shape_of(id).map(|shape| self.shapes.spread_of(shape));
            if noted.as_ref() != Some(&rules) {
                let key = &pod.key;
                return Err(format!("pod {key} is spread by {noted:?}, not {rules:?}"));
            }
            let here = waiting.entry(pod.key.namespace.clone()).or_default();
            here.insert(id);
        }
        let noted = &self.default_spreads.waiting;
        match *noted == waiting {
            true => Ok(()),
            false => Err(format!("spread by default: {noted:?}, not {waiting:?}")),
        }
    }
}
