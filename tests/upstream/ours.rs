//! What Muster makes of a case: the objects go the way that they go on a cluster.

use super::case::{Case, NAMESPACE, OURS};
use muster::api::kinds::{Row, Visitor, Watchable, visit};
use muster::api::{Reading, creation, requests, slim};
use muster::config::SchedulerConfiguration;
use muster::core::engine::Scheduler;
use muster::core::framework::{Profile, Store};
use muster::core::placement::Placer;
use muster::core::placement::answers;
use muster::lint::Linter;
use muster::model::units::{Millis, Time};
use muster::model::{Effect, Plan};
use muster::model::{Event, PodKey};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What Muster makes of a case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ours {
    /// The reasons of each node; none where it fits.
    pub(crate) nodes: BTreeMap<String, Vec<String>>,
    /// Where the pod was bound.
    pub(crate) bound: Option<String>,
    /// What each plugin gives each node that fits, with its weight, in profile `kubernetes`.
    pub(crate) scores: BTreeMap<String, BTreeMap<String, i64>>,
    /// Why it waits: reason and message.
    pub(crate) waits: Option<(String, String)>,
    /// Effective requests by pod.
    pub(crate) requests: BTreeMap<String, BTreeMap<String, i64>>,
    /// What the linter of plans says.
    pub(crate) lint: Vec<String>,
}

/// How long it may be before the reason is said.
const PATIENCE: Millis = Millis(20_000);
/// How many cycles that may take.
const CYCLES: usize = 20;

/// Decides on a case.
pub(crate) fn ours(case: &Case) -> Ours {
    let configuration = configuration(case);
    let policy = configuration.policy().unwrap();
    let profile = match policy.more_profiles.first() {
        Some(named) => named.clone(),
        None => policy.profile.clone(),
    };
    let reading = configuration.reading(&policy);
    let mut scheduler = Scheduler::new(policy);
    let mut linter = Linter::default();
    let mut found = Ours::default();
    let mut now = Time::from_secs(1_000);
    for (kind, object) in objects(case) {
        let Some(event) = event(kind, object, &reading) else {
            continue;
        };
        linter.hear(&event);
        scheduler.apply(now, event);
    }
    for pod in case.pods.iter().chain([&case.pod]) {
        let key = format!("{}/{}", namespace_of(pod), super::case::name_of(pod));
        let read = created(pod);
        let amounts = requests::effective(&read).amounts;
        found.requests.insert(key, amounts.into_iter().collect());
    }
    let key = PodKey {
        namespace: namespace_of(&case.pod),
        name: super::case::name_of(&case.pod),
        uid: String::new(),
    };
    found.nodes = verdicts(&scheduler, &profile, &key);
    if case.scores {
        found.scores = scores(&scheduler, &profile, &key);
    }
    let end = now + PATIENCE;
    for _ in 0..CYCLES {
        let plan = scheduler.cycle(now);
        found.lint.extend(linter.look(&plan, now));
        take(&plan, &key, &mut found);
        let next = if plan.more { Some(now) } else { plan.wake_at };
        match next {
            Some(next) if next <= end && found.bound.is_none() && found.waits.is_none() => {
                now = next;
            }
            _ => break,
        }
    }
    if let Err(problem) = scheduler.audit() {
        found.lint.push(problem);
    }
    found
}

fn verdicts(
    scheduler: &Scheduler,
    profile: &Profile,
    key: &PodKey,
) -> BTreeMap<String, Vec<String>> {
    let state = scheduler.state();
    let pod = state.find_pod(key).unwrap();
    let found = answers(state, profile, &Store::default(), pod);
    let in_words = |(node, reasons): (_, Vec<muster::core::framework::Reason>)| {
        let words = reasons.iter().map(|one| one.describe(state.dimensions()));
        (state.nodes().name(node).to_owned(), words.collect())
    };
    found.into_iter().map(in_words).collect()
}

fn scores(
    scheduler: &Scheduler,
    profile: &Profile,
    key: &PodKey,
) -> BTreeMap<String, BTreeMap<String, i64>> {
    let state = scheduler.state();
    let pod = state.find_pod(key).unwrap();
    let mut found: BTreeMap<String, BTreeMap<String, i64>> = BTreeMap::new();
    for (node, scores) in Placer::default().scores_of(state, profile, pod) {
        for ((plugin, score), one) in scores.iter().zip(&profile.score) {
            let of_plugin = found.entry((*plugin).to_owned()).or_default();
            of_plugin.insert(state.nodes().name(node).to_owned(), score * one.weight);
        }
    }
    found
}

fn take(plan: &Plan, key: &PodKey, found: &mut Ours) {
    // Its place is found, and its volumes are not bound yet.
    let mut held = plan.held.iter().filter(|one| one.pod.name == key.name);
    found.bound = held.next_back().and_then(|one| one.node.clone());
    for effect in &plan.effects {
        match effect {
            Effect::Bind(bind) if bind.pod.name == key.name => {
                found.bound = Some(bind.node.clone());
            }
            Effect::PodWaits(waits) if waits.pod.name == key.name => {
                found.waits = Some((waits.reason.to_string(), waits.message.to_string()));
            }
            _ => {}
        }
    }
}

/// The configuration that has a case's arguments.
pub(crate) fn configuration(case: &Case) -> SchedulerConfiguration {
    let mut configuration = json!({
        "apiVersion": "config.muster.dev/v1alpha1", "kind": "SchedulerConfiguration",
    });
    if case.scores {
        let args = case.args.iter();
        let args: Vec<Value> = args
            .map(|(name, args)| json!({"name": name, "args": args}))
            .collect();
        configuration["profiles"] = json!([
            {"schedulerName": OURS, "base": "kubernetes", "pluginConfig": args},
        ]);
        configuration["schedulerNames"] = json!(["another"]);
    } else {
        configuration["schedulerNames"] = json!([OURS]);
    }
    serde_json::from_value(configuration).unwrap()
}

/// All objects, each with what it is called.
pub(crate) fn objects(case: &Case) -> Vec<(&'static str, Value)> {
    let mut all = Vec::new();
    for (field, _, kind) in super::case::KINDS {
        all.extend(case.of_kind(field).iter().map(|one| (kind, one.clone())));
    }
    all.extend(case.nodes.iter().map(|one| ("Node", one.clone())));
    let pods = case.pods.iter().chain([&case.pod]);
    all.extend(pods.map(|one| ("Pod", one.clone())));
    all
}

/// What an object tells the core; nothing where its kind is not read.
fn event(kind: &str, mut object: Value, reading: &Reading) -> Option<Event> {
    if !object["metadata"]["uid"].is_string() {
        let uid = format!(
            "{kind}/{}/{}",
            namespace_of(&object),
            super::case::name_of(&object)
        );
        object["metadata"]["uid"] = json!(uid);
    }
    if kind == "Pod" {
        return Some(Event::Is(created(&object).exists(reading).unwrap()));
    }
    struct Reader<'a> {
        kind: &'a str,
        object: Value,
        reading: &'a Reading,
        event: Option<Event>,
    }
    impl Visitor for Reader<'_> {
        fn visit<R: Row>(&mut self) {
            let core = ["", "apps", "storage.k8s.io"].contains(&&*R::group(&()));
            if R::kind(&()) == self.kind && core {
                let object: R = read(&self.object);
                self.event = Some(Event::Is(object.exists(self.reading).unwrap()));
            }
        }
    }
    let mut reader = Reader {
        kind,
        object,
        reading,
        event: None,
    };
    visit(&mut reader);
    reader.event
}

/// A pod as the API server has it.
fn created(pod: &Value) -> slim::Pod {
    let mut pod: slim::Pod = read(pod);
    creation::complete(&mut pod);
    pod
}

fn read<T: DeserializeOwned>(object: &Value) -> T {
    serde_json::from_value(object.clone()).unwrap_or_else(|error| panic!("{error}: {object}"))
}

fn namespace_of(object: &Value) -> String {
    let named = object["metadata"]["namespace"].as_str();
    named.unwrap_or(NAMESPACE).to_owned()
}
