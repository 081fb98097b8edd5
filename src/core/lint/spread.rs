//! Whether pods are spread as their rules demand: counted pod by pod, by labels and names.

use super::Note;
use super::account::{Account, Pod};
use muster_model::{Constraints, Labels, PodKey, PodQuery, SpreadRule, labels_match};
use std::collections::BTreeMap;

/// What was counted for the pods of a plan: it is counted once for those alike, and then with every place.
#[derive(Debug, Default)]
pub(super) struct Spreads {
    by_likeness: BTreeMap<Likeness, Vec<Domains>>,
}

/// Pods for whom the same nodes and pods count.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Likeness {
    rules: Vec<SpreadRule>,
    constraints: Constraints,
    gang_selector: Labels,
}

/// How many pods each domain has, of those in which a node counts.
type Domains = BTreeMap<String, u32>;

impl Likeness {
    fn of(account: &Account, pod: &Pod) -> Self {
        let gang = account.gangs.get(&pod.gang);
        let spec = gang.and_then(|gang| gang.definition());
        Self {
            rules: pod.spread.clone(),
            constraints: pod.constraints.clone(),
            gang_selector: spec
                .map(|spec| spec.node_selector.clone())
                .unwrap_or_default(),
        }
    }

    /// The domain of a node for a rule, if the node counts.
    fn domain<'a>(&self, account: &'a Account, rule: &SpreadRule, node: &str) -> Option<&'a str> {
        let facts = account.facts(node)?;
        let (labels, taints) = (&facts.labels, &facts.taints);
        let has_all = self.rules.iter().all(|one| labels.contains_key(&one.key));
        let selected =
            || self.constraints.select(node, labels) && labels_match(&self.gang_selector, labels);
        let counts = has_all
            && (!rule.honors_affinity || selected())
            && (!rule.honors_taints || self.constraints.tolerate(taints));
        labels.get(&rule.key).filter(|_| counts).map(String::as_str)
    }

    fn count(&self, account: &Account) -> Vec<Domains> {
        let of_rule = |rule: &SpreadRule| {
            let mut domains = Domains::new();
            for node in account.node_names() {
                if let Some(domain) = self.domain(account, rule, node) {
                    let pods = account.pods_on(node).filter(|pod| is_counted(rule, pod));
                    let pods = u32::try_from(pods.count()).unwrap_or(u32::MAX);
                    *domains.entry(domain.to_owned()).or_default() += pods;
                }
            }
            domains
        };
        self.rules.iter().map(of_rule).collect()
    }
}

fn is_counted(rule: &SpreadRule, pod: &Pod) -> bool {
    let counts = |query: &PodQuery| {
        let (namespace, mut places) = (&pod.key.namespace, query.namespaces.iter());
        query.selector.matches(&pod.labels) && places.all(|one| one.has(namespace, |_| None))
    };
    !pod.terminating && rule.pods.as_ref().is_some_and(counts)
}

impl Spreads {
    /// Looks at a place before it is taken, and takes it.
    pub(super) fn look(&mut self, account: &Account, pod: &PodKey, node: &str) -> Option<Note> {
        let pod = account.pod(pod)?;
        let note = self.uneven(account, pod, node);
        for (likeness, all) in &mut self.by_likeness {
            for (rule, domains) in likeness.rules.iter().zip(all) {
                let domain = likeness.domain(account, rule, node);
                let domain = domain.and_then(|domain| domains.get_mut(domain));
                if let Some(pods) = domain.filter(|_| is_counted(rule, pod)) {
                    *pods += 1;
                }
            }
        }
        note
    }

    /// A place was given back: what was counted is not so any more.
    pub(super) fn forget(&mut self) {
        self.by_likeness.clear();
    }

    /// How a place breaks a rule of its pod.
    fn uneven(&mut self, account: &Account, pod: &Pod, node: &str) -> Option<Note> {
        if pod.spread.is_empty() {
            return None;
        }
        let labels = &account.facts(node)?.labels;
        let likeness = Likeness::of(account, pod);
        let all = self.by_likeness.entry(likeness.clone());
        let all = all.or_insert_with(|| likeness.count(account));
        let mut rules = likeness.rules.iter().zip(all);
        rules.find_map(|(rule, domains)| {
            let (key, pod) = (&rule.key, &pod.key);
            let Some(value) = labels.get(key) else {
                return Some(format!("{pod} gets a place on {node}: it has no label {key}"));
            };
            let enough = domains.len() >= rule.min_domains as usize;
            let fewest = domains.values().min().copied().filter(|_| enough);
            let fewest = fewest.unwrap_or(0);
            let there = domains.get(value).copied().unwrap_or(0) + u32::from(rule.counts_itself);
            let most = rule.max_skew;
            (there > fewest + most).then(|| {
                format!(
                    "{pod} gets a place on {node}: {there} in {key}={value}, which is more than {most} \
                     ahead of {fewest}"
                )
            })
        })
    }
}
