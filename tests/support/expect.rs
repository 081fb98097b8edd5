//! What a scenario expects: the last document of a file in `tests/scenarios`.
//!
//! It speaks only of what can be seen on virtual time and on a real API server alike. Whoever
//! plays a scenario fills in [`Observed`]; times only have to be comparable with each other.

#![allow(dead_code, unreachable_pub, reason = "each test binary uses its part")]

use crate::facts::{Expected, Facts, Words};
use muster::api::Reading;
use muster::config::SchedulerConfiguration;
use muster::core::engine::Policy;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The document `kind: Expect`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Expect {
    /// `test.muster.dev/v1`.
    pub api_version: String,
    /// `Expect`.
    pub kind: String,
    /// What the scenario shows, in one sentence.
    pub shows: String,
    /// All must hold after so many seconds, and still hold two seconds later.
    #[serde(default = "Expect::default_within")]
    pub within_seconds: u64,
    /// With which configuration it is played; without one, the defaults.
    #[serde(default)]
    pub configuration: Option<SchedulerConfiguration>,
    /// Pods that were bound at some time.
    #[serde(default)]
    pub bound: Vec<String>,
    /// Pods that were never bound.
    #[serde(default)]
    pub never_bound: Vec<String>,
    /// How many of the pods whose names begin with a text were bound at some time.
    #[serde(default)]
    pub bound_count: BTreeMap<String, usize>,
    /// The nodes a pod may have been bound to.
    #[serde(default)]
    pub nodes: BTreeMap<String, Vec<String>>,
    /// Gangs in the order in which their minimum was bound; equal times are in order.
    #[serde(default)]
    pub order: Vec<Vec<String>>,
    /// Gangs of which none has a pod bound while one of another's is bound.
    #[serde(default)]
    pub apart: Vec<Vec<String>>,
    /// `status.phase` of gangs.
    #[serde(default)]
    pub phases: BTreeMap<String, String>,
    /// Texts in the reason or message that a gang gives.
    #[serde(default)]
    pub gang_says: BTreeMap<String, Vec<String>>,
    /// `status.maxHops` of gangs, when last it had one.
    #[serde(default)]
    pub hops: BTreeMap<String, u32>,
    /// Texts in the message of a pod's condition `PodScheduled`.
    #[serde(default)]
    pub pod_says: BTreeMap<String, Vec<String>>,
    /// PodGroups and pods of which nothing is said.
    #[serde(default)]
    pub silent: Vec<String>,
    /// What holds of BatchJobs, Schedulings, Testbeds and slots in the end ([`crate::facts`]).
    #[serde(default)]
    pub states: Words,
    /// The same so many seconds after the beginning.
    #[serde(default)]
    pub states_at: BTreeMap<u64, Words>,
    /// What holds together at some time.
    #[serde(default)]
    pub together: Vec<Words>,
    /// What never holds together.
    #[serde(default)]
    pub not_together: Vec<Words>,
    /// What holds for the first time one after the other; equal times are in order.
    #[serde(default)]
    pub in_order: Vec<Vec<Words>>,
}

/// What was seen. Names are `name` in namespace `default`, else `namespace/name`.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// Pods.
    pub pods: BTreeMap<String, ObservedPod>,
    /// PodGroups.
    pub gangs: BTreeMap<String, ObservedGang>,
    /// BatchJobs, Schedulings, Testbeds and slots.
    pub facts: Facts,
}

/// A pod as it was seen.
#[derive(Clone, Debug, Default)]
pub struct ObservedPod {
    /// Its PodGroup.
    pub gang: Option<String>,
    /// Its node.
    pub node: Option<String>,
    /// When it was bound, in milliseconds.
    pub bound_at: Option<u64>,
    /// When it ended or was deleted.
    pub ended_at: Option<u64>,
    /// The message of `PodScheduled=False`.
    pub message: Option<String>,
}

/// A PodGroup as it was seen.
#[derive(Clone, Debug, Default)]
pub struct ObservedGang {
    /// `status.phase`.
    pub phase: Option<String>,
    /// Reasons and messages of its conditions with status False, and of `Disrupted`.
    pub says: String,
    /// When its minimum was bound, in milliseconds.
    pub scheduled_at: Option<u64>,
    /// The largest number of hops between two of its pods, when last it had one.
    pub hops: Option<u32>,
}

impl Expect {
    /// By what is decided.
    ///
    /// # Errors
    /// When the configuration names a plugin that does not exist.
    pub fn policy(&self) -> Result<Policy, String> {
        let policy = self
            .configuration
            .as_ref()
            .map(SchedulerConfiguration::policy);
        let policy = policy.transpose().map_err(|error| error.to_string())?;
        Ok(policy.unwrap_or_default())
    }

    /// How objects are read for it.
    ///
    /// # Errors
    /// As [`Expect::policy`].
    pub fn reading(&self) -> Result<Reading, String> {
        let policy = self.policy()?;
        let default = SchedulerConfiguration::default();
        let configuration = self.configuration.as_ref().unwrap_or(&default);
        Ok(configuration.reading(&policy))
    }
}

/// Takes a file apart: the scenario, and what it expects.
///
/// # Errors
/// When the last document is no `Expect`.
pub fn split(text: &str) -> Result<(&str, Expect), String> {
    let at = text.rfind("\n---\n").ok_or("no document but one")?;
    let expect: Expect =
        serde_saphyr::from_str(&text[at + 5..]).map_err(|error| error.to_string())?;
    if (expect.api_version.as_str(), expect.kind.as_str()) != ("test.muster.dev/v1", "Expect") {
        return Err("the last document is no Expect of test.muster.dev/v1".to_owned());
    }
    Ok((&text[..=at], expect))
}

/// `name` in namespace `default`, else `namespace/name`.
pub fn short_name(namespace: &str, name: &str) -> String {
    match namespace {
        "default" => name.to_owned(),
        other => format!("{other}/{name}"),
    }
}

impl Expect {
    const fn default_within() -> u64 {
        30
    }

    /// What does not hold, one line each.
    pub fn check(&self, seen: &Observed) -> Vec<String> {
        let mut wrong = Vec::new();
        self.check_pods(seen, &mut wrong);
        self.check_gangs(seen, &mut wrong);
        let expected = Expected {
            states: &self.states,
            states_at: &self.states_at,
            together: &self.together,
            not_together: &self.not_together,
            in_order: &self.in_order,
        };
        expected.check(&seen.facts, &mut wrong);
        for gangs in &self.apart {
            for (index, one) in gangs.iter().enumerate() {
                for other in &gangs[index + 1..] {
                    apart(seen, one, other, &mut wrong);
                }
            }
        }
        wrong
    }

    fn check_pods(&self, seen: &Observed, wrong: &mut Vec<String>) {
        let was_bound = |name: &String| {
            seen.pods
                .get(name)
                .is_some_and(|pod| pod.bound_at.is_some())
        };
        for name in self.bound.iter().filter(|name| !was_bound(name)) {
            wrong.push(format!("pod {name} was not bound"));
        }
        for name in &self.never_bound {
            if !seen.pods.contains_key(name) {
                wrong.push(format!("pod {name} does not exist"));
            } else if was_bound(name) {
                wrong.push(format!("pod {name} was bound"));
            }
        }
        for (prefix, expected) in &self.bound_count {
            let mut names = seen.pods.keys().filter(|name| name.starts_with(prefix));
            let found = names.by_ref().filter(|name| was_bound(name)).count();
            if found != *expected {
                wrong.push(format!("{found} pods {prefix}* were bound, not {expected}"));
            }
        }
        for (name, allowed) in &self.nodes {
            let node = seen.pods.get(name).and_then(|pod| pod.node.as_ref());
            if !node.is_some_and(|node| allowed.contains(node)) {
                wrong.push(format!(
                    "pod {name} is on {node:?}, not on one of {allowed:?}"
                ));
            }
        }
        for (name, texts) in &self.pod_says {
            let message = seen.pods.get(name).and_then(|pod| pod.message.as_deref());
            let message = message.unwrap_or_default();
            for text in texts.iter().filter(|text| !message.contains(text.as_str())) {
                wrong.push(format!("pod {name} says {message:?}, without {text:?}"));
            }
        }
    }

    fn check_gangs(&self, seen: &Observed, wrong: &mut Vec<String>) {
        for (name, expected) in &self.phases {
            let phase = seen.gangs.get(name).and_then(|gang| gang.phase.as_ref());
            if phase != Some(expected) {
                wrong.push(format!("gang {name} is {phase:?}, not {expected}"));
            }
        }
        for (name, expected) in &self.hops {
            let hops = seen.gangs.get(name).and_then(|gang| gang.hops);
            if hops != Some(*expected) {
                wrong.push(format!("gang {name} has maxHops {hops:?}, not {expected}"));
            }
        }
        for (name, texts) in &self.gang_says {
            let says = seen.gangs.get(name).map_or("", |gang| gang.says.as_str());
            for text in texts.iter().filter(|text| !says.contains(text.as_str())) {
                wrong.push(format!("gang {name} says {says:?}, without {text:?}"));
            }
        }
        for name in &self.silent {
            let gang = seen.gangs.get(name);
            let gang = gang.filter(|gang| gang.phase.is_some() || !gang.says.is_empty());
            let pod = seen.pods.get(name).and_then(|pod| pod.message.as_ref());
            if gang.is_some() || pod.is_some() {
                wrong.push(format!("{name} is not silent: {gang:?} {pod:?}"));
            }
        }
        for gangs in &self.order {
            let started = |name: &String| seen.gangs.get(name).and_then(|gang| gang.scheduled_at);
            for name in gangs.iter().filter(|name| started(name).is_none()) {
                wrong.push(format!("gang {name} did not start"));
            }
            for pair in gangs.windows(2) {
                if let (Some(first), Some(second)) = (started(&pair[0]), started(&pair[1]))
                    && first > second
                {
                    wrong.push(format!("gang {} started after {}", pair[0], pair[1]));
                }
            }
        }
    }
}

fn apart(seen: &Observed, one: &str, other: &str, wrong: &mut Vec<String>) {
    let spans = |gang: &str| -> Vec<(u64, u64)> {
        let pods = seen.pods.values();
        let pods = pods.filter(|pod| pod.gang.as_deref() == Some(gang));
        pods.filter_map(|pod| Some((pod.bound_at?, pod.ended_at.unwrap_or(u64::MAX))))
            .collect()
    };
    for (from, to) in spans(one) {
        for (other_from, other_to) in spans(other) {
            if from < other_to && other_from < to {
                wrong.push(format!(
                    "gangs {one} and {other} were bound at the same time"
                ));
                return;
            }
        }
    }
}
