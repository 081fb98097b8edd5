//! How long pods run of which nobody says it: one duration for all, or drawn by queue, namespace and labels.

use super::problems::{Place, ScenarioError};
use crate::random::Random;
use muster_api::duration;
use muster_api::yaml;
use muster_model::PodSpec;
use muster_model::units::Millis;
use serde::Deserialize;
use std::collections::BTreeMap;

const API_VERSION: &str = "simulate.muster.dev/v1";
const KIND: &str = "Durations";

/// The rules of a file, of which the first that fits a pod counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Durations {
    rules: Vec<Rule>,
    /// For pods that no rule fits.
    default: Option<Millis>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    queue: Option<String>,
    namespace: Option<String>,
    labels: BTreeMap<String, String>,
    /// Each is as likely as any other.
    durations: Vec<Millis>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct File {
    api_version: String,
    kind: String,
    rules: Vec<Written>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Written {
    queue: Option<String>,
    namespace: Option<String>,
    #[serde(default)]
    match_labels: BTreeMap<String, String>,
    durations: Vec<String>,
}

impl Durations {
    /// Reads a file of rules.
    ///
    /// # Errors
    /// What is wrong with it, with file and line.
    pub fn read(file: &str, text: &str) -> Result<Self, ScenarioError> {
        let wrong = |place: Place, message: String| {
            ScenarioError::Wrong(vec![format!("{place}: {message}")])
        };
        let start = || Place::start(file);
        let found: File = yaml::read(text).map_err(|error| {
            let place = Place {
                file: file.to_owned(),
                line: error.line,
                column: Some(error.column),
            };
            wrong(place, error.message)
        })?;
        if (found.api_version.as_str(), found.kind.as_str()) != (API_VERSION, KIND) {
            let (version, kind) = (yaml::short(&found.api_version), yaml::short(&found.kind));
            let message = format!(
                "found kind {kind:?} of {version:?}: expected kind {KIND} of {API_VERSION}"
            );
            return Err(wrong(start(), message));
        }
        let rule = |(number, written): (usize, Written)| {
            let path = format!("rules.{number}.durations");
            if written.durations.is_empty() {
                return Err(wrong(start(), format!("{path}: there is none in it")));
            }
            let durations = written.durations.iter();
            let durations = durations.map(|text| duration::parse(text));
            let durations = durations.collect::<Result<_, _>>();
            Ok(Rule {
                queue: written.queue,
                namespace: written.namespace,
                labels: written.match_labels,
                durations: durations.map_err(|error| wrong(start(), format!("{path}: {error}")))?,
            })
        };
        let rules = found.rules.into_iter().enumerate().map(rule);
        Ok(Self {
            rules: rules.collect::<Result<_, _>>()?,
            default: None,
        })
    }

    /// The same, and so long for pods that no rule fits.
    #[must_use]
    pub fn or(self, default: Option<Millis>) -> Self {
        Self { default, ..self }
    }

    /// Whether nothing is said of any pod.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty() && self.default.is_none()
    }

    /// How long a pod runs that has run for so long. Of those of its rule's durations that are longer one is drawn;
    /// where none is, it is at its end. The same pod and seed draw the same.
    pub(super) fn of(&self, pod: &PodSpec, queue: &str, ran: Millis, seed: u64) -> Option<Millis> {
        let fits = |rule: &&Rule| {
            let has = |(key, value): (&String, &String)| {
                let wanted = format!("{key}={value}");
                pod.labels.text().split(',').any(|one| one == wanted)
            };
            rule.queue.as_ref().is_none_or(|name| name == queue)
                && rule
                    .namespace
                    .as_ref()
                    .is_none_or(|name| *name == pod.key.namespace)
                && rule.labels.iter().all(has)
        };
        let Some(rule) = self.rules.iter().find(fits) else {
            return self.default;
        };
        let longer = rule.durations.iter().filter(|one| **one > ran);
        let longer: Vec<Millis> = longer.copied().collect();
        let name = [&pod.key.namespace, &pod.key.name, &pod.key.uid];
        let mixed = name
            .iter()
            .flat_map(|text| text.bytes())
            .fold(seed ^ OFFSET, mix);
        let drawn = Random::new(mixed).below(longer.len() as u64);
        let drawn = usize::try_from(drawn).unwrap_or(0);
        Some(longer.get(drawn).copied().unwrap_or(ran))
    }
}

/// Where FNV-1a starts.
const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a, a byte at a time.
const fn mix(hash: u64, byte: u8) -> u64 {
    (hash ^ byte as u64).wrapping_mul(0x0100_0000_01b3)
}
