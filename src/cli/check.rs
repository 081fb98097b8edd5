//! `muster check`: what of a cluster would wait if Muster scheduled it, and what would be read otherwise than it is
//! written.

use super::{BAD_INPUT, Extensions, input, print};
use clap::{Args, ValueEnum};
use muster_core::implied::Implied;
use muster_model::units::Time;
use muster_model::{
    Event, GangKey, GangRef, GangSpec, Object, PodPhase, PodSpec, QueueSpec, Source, counted,
};
use muster_sim::scenario::{Choices, Played, Scenario, load_by};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::ExitCode;

/// Whose pods Muster may take over as they are: docs/migrate has a page for each.
const OTHERS: [&str; 5] = [
    "default-scheduler",
    "volcano",
    "scheduler-plugins-scheduler",
    "yunikorn",
    "kai-scheduler",
];
/// How many names a line has.
const NAMES: usize = 5;
/// The queue of whoever names none. It is there without an object.
const DEFAULT_QUEUE: &str = "default";

/// Looks at what is on a cluster, and says what would wait if Muster scheduled it, and what it reads otherwise than it is
/// written.
///
/// Pods that have ended are passed over. What waits for room alone is no finding: `muster simulate` plays that.
///
/// Exit code 0: nothing was found. 1: something was. 2: something in a file or an argument is wrong.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// What `muster snapshot` writes, or `kubectl get -A -o yaml` prints; `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// `SchedulerConfiguration` file; without it, the defaults hold
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The schedulers whose pods Muster would take over, beside those of the configuration; without it, those that
    /// docs/migrate has a page for
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    scheduler: Vec<String>,
    /// How what is found is printed
    #[arg(short, long, value_enum, default_value_t)]
    output: Output,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Output {
    /// Text for people
    #[default]
    Text,
    /// One JSON object
    Json,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments, extensions: &Extensions) -> ExitCode {
    let checked = match arguments.check(extensions) {
        Ok(checked) => checked,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(BAD_INPUT);
        }
    };
    let text = match arguments.output {
        Output::Text => checked.text(),
        Output::Json => match serde_json::to_string_pretty(&checked) {
            Ok(text) => text + "\n",
            Err(error) => {
                eprintln!("{error}");
                return ExitCode::from(BAD_INPUT);
            }
        },
    };
    let found = !checked.findings.is_empty();
    match print(&text) {
        ExitCode::SUCCESS if found => ExitCode::FAILURE,
        code => code,
    }
}

impl Arguments {
    fn check(&self, extensions: &Extensions) -> anyhow::Result<Checked> {
        let configuration = muster_config::load_or_default(self.config.as_deref())?;
        let policy = extensions.policy(&configuration)?;
        let mut reading = configuration.reading(&policy);
        let more: Vec<&str> = match self.scheduler.as_slice() {
            [] => OTHERS.into(),
            names => names.iter().map(String::as_str).collect(),
        };
        let more = more.into_iter().map(str::to_owned);
        reading.scheduler_names.extend(more);
        let sources = input::sources(&self.files)?;
        let scenario = load_by(&sources, &[], &reading, &Choices::default())?;
        Ok(Cluster::of(&scenario).checked())
    }
}

/// What is looked at.
#[derive(Default)]
struct Cluster {
    pods: Vec<PodSpec>,
    /// How many pods are of schedulers that Muster would not take over.
    others: usize,
    gangs: BTreeMap<GangKey, Vec<GangSpec>>,
    queues: BTreeMap<String, QueueSpec>,
    /// The queues of namespaces whose pods name none.
    of_namespaces: BTreeMap<String, String>,
    classes: BTreeSet<String>,
    /// What is defined by objects of other kinds.
    implied: Implied,
}

impl Cluster {
    fn of(scenario: &Scenario) -> Self {
        let mut cluster = Self::default();
        for entry in &scenario.entries {
            match &entry.object {
                Played::Pod(plan) => cluster.add_pod(&plan.spec),
                Played::Job(plan) => plan.pods.iter().for_each(|pod| cluster.add_pod(&pod.spec)),
                Played::Plain(object) => cluster.hear(Event::Is(object.clone())),
                Played::Budget(plan) => cluster.hear(Event::is(plan.spec.clone())),
                _ => {}
            }
        }
        cluster
    }

    fn add_pod(&mut self, pod: &PodSpec) {
        let has_ended = matches!(pod.phase, PodPhase::Succeeded | PodPhase::Failed);
        if !pod.ours {
            self.others += 1;
        } else if !has_ended && !pod.terminating {
            self.pods.push(pod.clone());
        }
    }

    /// Takes news, and what it means besides.
    fn hear(&mut self, mut event: Event) {
        let gangs = &self.gangs;
        let has_one = |gang: &_| gangs.contains_key(gang);
        // Which labels nodes have is not looked at.
        let is_on_a_node = |_: &str| false;
        let implied = &mut self.implied;
        let besides = implied.hear(&mut event, Time::ZERO, has_one, is_on_a_node);
        for event in std::iter::once(event).chain(besides) {
            if let Event::Is(object) = event {
                self.add(object);
            }
        }
    }

    fn add(&mut self, object: Object) {
        match object {
            Object::Gang(gang) => {
                let all = self.gangs.entry(gang.key.clone()).or_default();
                all.retain(|one| one.source != gang.source);
                all.push(*gang);
            }
            Object::Queue(queue) => _ = self.queues.insert(queue.name.clone(), *queue),
            Object::Namespace(namespace) => {
                if let Some(queue) = namespace.queue {
                    self.of_namespaces.insert(namespace.name, queue);
                }
            }
            Object::PriorityClass(class) => _ = self.classes.insert(class.name),
            _ => {}
        }
    }

    /// What defines a gang: of several the first kind.
    fn definition(&self, key: &GangKey) -> Option<&GangSpec> {
        self.gangs.get(key)?.iter().min_by_key(|gang| gang.source)
    }

    fn checked(&self) -> Checked {
        let mut findings = Findings::default();
        let mut named = BTreeSet::new();
        for pod in &self.pods {
            let title = || format!("pod {}/{}", pod.key.namespace, pod.key.name);
            for words in &pod.unsupported {
                findings.add(Effect::Waits, format!("not supported: {words}"), title());
            }
            let key = pod.gang_key();
            let definition = self.definition(&key);
            let is_bound = pod.node.is_some();
            if let GangRef::Named { space, name } = &pod.gang
                && definition.is_none()
                && pod.implied.is_none()
                && !is_bound
            {
                let (kind, namespace) = (space.kind(), &key.namespace);
                let words = format!("{kind} {namespace}/{name} does not exist");
                findings.add(Effect::Waits, words, title());
            }
            if !is_bound && named.insert(key.clone()) {
                let queue = definition.and_then(|gang| gang.queue.as_deref());
                let queue = queue.or(pod.queue.as_deref());
                let queue =
                    queue.or_else(|| self.of_namespaces.get(&key.namespace).map(String::as_str));
                let missing =
                    queue.filter(|name| *name != DEFAULT_QUEUE && !self.queues.contains_key(*name));
                if let Some(name) = missing {
                    let words = format!("Queue {name} does not exist");
                    findings.add(Effect::Waits, words, title());
                }
            }
        }
        for gang in self.gangs.values().flatten() {
            self.check_gang(gang, &mut findings);
        }
        for queue in self.queues.values() {
            if let Some(words) = &queue.invalid {
                let title = format!("Queue {}", queue.name);
                findings.add(Effect::Waits, words.clone(), title);
            }
        }
        Checked {
            pods: self.pods.len(),
            pods_of_others: self.others,
            pod_groups: self
                .gangs
                .values()
                .flatten()
                .filter(|gang| gang.source != Source::Implied)
                .count(),
            queues: self.queues.len(),
            findings: findings.done(),
        }
    }

    fn check_gang(&self, gang: &GangSpec, findings: &mut Findings) {
        let title = || format!("{} {}", gang.key.space.kind(), gang.key);
        if let Some(words) = &gang.invalid {
            findings.add(Effect::Waits, words.clone(), title());
        }
        let class = gang.priority_class.as_deref();
        if let Some(class) = class.filter(|class| !self.classes.contains(*class)) {
            let words = format!("priority class {class} does not exist");
            findings.add(Effect::Waits, words, title());
        }
        for words in &gang.read_otherwise {
            findings.add(Effect::ReadOtherwise, words.clone(), title());
        }
    }
}

/// What something comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
enum Effect {
    /// It waits, and is told why.
    Waits,
    /// It goes, by another reading than its words have.
    ReadOtherwise,
}

impl Effect {
    const fn title(self) -> &'static str {
        match self {
            Self::Waits => "Would wait, and be told why:",
            Self::ReadOtherwise => "Would go, and is read otherwise than it is written:",
        }
    }
}

/// What is found, by effect and words.
#[derive(Default)]
struct Findings(BTreeMap<(Effect, String), Vec<String>>);

impl Findings {
    fn add(&mut self, effect: Effect, words: String, of: String) {
        self.0.entry((effect, words)).or_default().push(of);
    }

    /// Those of the most objects first.
    fn done(self) -> Vec<Finding> {
        let all = self.0.into_iter();
        let mut all: Vec<Finding> = all
            .map(|((effect, message), objects)| Finding {
                effect,
                message,
                objects,
            })
            .collect();
        all.sort_by_key(|one| (one.effect, Reverse(one.objects.len())));
        all
    }
}

/// Something that is found.
#[derive(Debug, Serialize)]
struct Finding {
    effect: Effect,
    message: String,
    objects: Vec<String>,
}

/// What was looked at, and what was found.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Checked {
    pods: usize,
    pods_of_others: usize,
    pod_groups: usize,
    queues: usize,
    findings: Vec<Finding>,
}

impl Checked {
    fn text(&self) -> String {
        let mut text = format!(
            "{} of schedulers that Muster would stand in for, {} of others; {}, {}\n",
            counted(self.pods, "pod"),
            self.pods_of_others,
            counted(self.pod_groups, "PodGroup"),
            counted(self.queues, "Queue"),
        );
        let mut last = None;
        for finding in &self.findings {
            if last.replace(finding.effect) != Some(finding.effect) {
                text.push_str(&format!("\n{}\n", finding.effect.title()));
            }
            let names = finding.objects.iter().take(NAMES).cloned();
            let names: Vec<String> = names.collect();
            let more = match finding.objects.len().saturating_sub(NAMES) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let (message, names) = (&finding.message, names.join(", "));
            text.push_str(&format!("  {message}\n    {names}{more}\n"));
        }
        if self.findings.is_empty() {
            text.push_str("nothing would wait but for room, and nothing is read otherwise than it is written\n");
        }
        text
    }
}
