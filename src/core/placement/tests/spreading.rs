//! Spreading: what is kept says what counting all pods anew says, and the best of the nodes that are left
//! is the one that asking node by node finds.

use super::super::Placer;
use super::super::domain::Domain;
use crate::framework::{Context, Filter, Mates, Plugin, Profile, Reason, Scope, Store, Verdict};
use crate::plugins::registry::default_profile;
use crate::state::{ClusterState, NodeId, Shape};
use crate::transaction::Statement;
use muster_model::ObjectKey;
use muster_model::units::Time;
use muster_model::{
    Counted, Event, LabelCondition, LabelRequirement, LabelSelector, Labels, NamespaceChoice,
    NodeFeatures, NodeSpec, Operator, PodKey, PodLabels, PodPhase, PodQuery, PodSpec, Requirement,
    SpreadRule, Taint, Term, Toleration, TolerationOperator, label_in,
};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A filter that is asked node by node, each time.
struct Asked(Arc<dyn Filter>);

impl Plugin for Asked {
    fn name(&self) -> &'static str {
        self.0.name()
    }
}

impl Filter for Asked {
    fn scope(&self, shape: &Shape) -> Scope {
        self.0.scope(shape)
    }

    fn mates(&self, shape: &Shape) -> Mates {
        self.0.mates(shape)
    }

    fn check(&self, cx: &Context<'_>, node: NodeId) -> Verdict {
        self.0.check(cx, node)
    }
}

/// The default profile with nothing kept.
fn asking() -> Profile {
    let mut profile = default_profile();
    for one in &mut profile.filter {
        *one = Arc::new(Asked(Arc::clone(one)));
    }
    profile
}

const NAMESPACES: [&str; 2] = ["a", "b"];
const NODES: u8 = 7;
const PODS: u8 = 14;

/// Whose pods a rule is about.
fn app(name: &str) -> LabelSelector {
    LabelSelector {
        requirements: vec![LabelRequirement {
            key: "app".to_owned(),
            holds: LabelCondition::In(vec![name.to_owned()]),
        }],
    }
}

fn labels(pairs: &[(&str, &str)]) -> Labels {
    let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    pairs.iter().map(own).collect()
}

fn rule(key: &str, max_skew: u32, of: &str) -> SpreadRule {
    SpreadRule {
        key: key.to_owned(),
        max_skew,
        min_domains: 1,
        pods: Some(PodQuery {
            namespaces: vec![NamespaceChoice::only(NAMESPACES[0])],
            selector: app(of),
            counted: Counted::Staying,
        }),
        counts_itself: of == "x",
        honors_affinity: true,
        honors_taints: false,
        label_optional: false,
    }
}

/// Pods that wait, all of app `x`, one for each kind of rule.
fn waiting() -> Vec<PodSpec> {
    let strict = SpreadRule {
        min_domains: 3,
        honors_taints: true,
        ..rule("zone", 1, "x")
    };
    let regardless = SpreadRule {
        honors_affinity: false,
        ..rule("zone", 1, "x")
    };
    let nobody = SpreadRule {
        pods: None,
        ..rule("zone", 1, "x")
    };
    let all = [
        (vec![rule("zone", 1, "x")], false),
        (vec![rule("host", 2, "x")], false),
        (vec![rule("zone", 2, "x"), rule("host", 1, "x")], false),
        (vec![rule("zone", 1, "y")], false),
        (vec![strict], true),
        (vec![regardless], true),
        (vec![rule("zone", 1, "x")], true),
        (vec![nobody], false),
    ];
    let pod = |(index, (rules, picky)): (usize, (Vec<SpreadRule>, bool))| {
        let name = format!("waits-{index}");
        let mut pod = pod(&name, 0, "x");
        pod.ours = true;
        pod.shape.spread = rules;
        if picky {
            let one = Requirement {
                key: "color".to_owned(),
                operator: Operator::In,
                values: vec!["red".to_owned()],
            };
            pod.shape.constraints.affinity = Some(vec![Term {
                labels: vec![one],
                fields: Vec::new(),
            }]);
            pod.shape.constraints.tolerations = vec![Toleration {
                key: "soft".to_owned(),
                operator: TolerationOperator::Exists,
                ..Toleration::default()
            }];
        }
        pod
    };
    all.into_iter().enumerate().map(pod).collect()
}

fn pod(name: &str, namespace: usize, app: &str) -> PodSpec {
    let mut pod = PodSpec {
        key: PodKey {
            namespace: NAMESPACES[namespace].to_owned(),
            name: name.to_owned(),
            uid: name.to_owned(),
        },
        labels: PodLabels::new(&labels(&[("app", app), ("other", "1")])),
        ..PodSpec::default()
    };
    pod.shape.requests = vec![("cpu".to_owned(), 500)];
    pod
}

#[derive(Clone, Debug)]
enum Step {
    Node {
        node: u8,
        zone: Option<&'static str>,
        red: bool,
        taint: Option<&'static str>,
        declares: bool,
    },
    NodeGone(u8),
    Pod {
        pod: u8,
        node: u8,
        namespace: usize,
        app: &'static str,
        terminating: bool,
        ended: bool,
    },
    PodGone(u8),
    /// Places some who wait, one after the other, and takes all off again.
    Try(Vec<usize>),
    /// Places one who waits, for good.
    Place(usize),
    /// One that waits is bound, and goes.
    Restart(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let zone = prop::sample::select(vec![Some("1"), Some("1"), Some("2"), Some("3"), None]);
    let taint = prop::sample::select(vec![None, None, None, Some("soft"), Some("hard")]);
    let app = prop::sample::select(vec!["x", "x", "y", "z"]);
    prop_oneof![
        4 => (0..NODES, zone, any::<bool>(), taint, any::<bool>()).prop_map(
            |(node, zone, red, taint, declares)| Step::Node { node, zone, red, taint, declares }),
        1 => (0..NODES).prop_map(Step::NodeGone),
        6 => (
            0..PODS, 0..NODES, prop::bool::weighted(0.2), app,
            prop::bool::weighted(0.15), prop::bool::weighted(0.1),
        ).prop_map(|(pod, node, other, app, terminating, ended)| Step::Pod {
            pod, node, namespace: usize::from(other), app, terminating, ended,
        }),
        2 => (0..PODS).prop_map(Step::PodGone),
        2 => prop::collection::vec(0..8_usize, 1..8).prop_map(Step::Try),
        3 => (0..8_usize).prop_map(Step::Place),
        1 => (0..8_usize).prop_map(Step::Restart),
    ]
}

/// What there is, in the words of the outside.
struct World {
    state: ClusterState,
    nodes: BTreeMap<String, NodeSpec>,
    /// All pods, with the node each has.
    pods: BTreeMap<String, PodSpec>,
    waiting: Vec<PodSpec>,
}

impl World {
    fn new() -> Self {
        let mut world = Self {
            state: ClusterState::default(),
            nodes: BTreeMap::new(),
            pods: BTreeMap::new(),
            waiting: waiting(),
        };
        for pod in waiting() {
            world.tell_pod(pod);
        }
        world
    }

    fn tell(&mut self, event: Event) {
        self.state.apply(Time::ZERO, event);
        self.state.take_changes();
    }

    fn tell_pod(&mut self, mut pod: PodSpec) {
        // What is on its way off stays so, and who is somewhere stays there.
        if let Some(before) = self.pods.get(&pod.key.name)
            && before.key == pod.key
        {
            pod.terminating |= before.terminating;
            pod.node = before.node.clone().or(pod.node);
        }
        self.pods.insert(pod.key.name.clone(), pod.clone());
        self.tell(Event::is(pod));
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Node {
                node,
                zone,
                red,
                taint,
                declares,
            } => {
                let name = format!("n{node}");
                let color = if *red { "red" } else { "blue" };
                let mut all = labels(&[("color", color), ("host", &name)]);
                all.extend(zone.map(|zone| ("zone".to_owned(), zone.to_owned())));
                let taint = taint.map(|key| Taint {
                    key: key.to_owned(),
                    ..Taint::default()
                });
                let spec = NodeSpec {
                    name: name.clone(),
                    labels: all,
                    taints: taint.into_iter().collect(),
                    features: NodeFeatures::BIND_MOUNT_OPTIONS.when(*declares),
                    allocatable: vec![("cpu".to_owned(), 3_000), ("pods".to_owned(), 9)],
                    ..NodeSpec::default()
                };
                self.nodes.insert(name, spec.clone());
                self.tell(Event::is(spec));
            }
            Step::NodeGone(node) => {
                let name = format!("n{node}");
                self.nodes.remove(&name);
                self.tell(Event::Gone(ObjectKey::Node(name)));
            }
            Step::Pod {
                pod: index,
                node,
                namespace,
                app,
                terminating,
                ended,
            } => {
                let mut spec = pod(&format!("p{index}"), *namespace, app);
                let before = self.pods.get(&spec.key.name);
                // In another namespace it is another pod.
                let other = before.filter(|before| before.key != spec.key);
                if let Some(key) = other.map(|other| other.key.clone()) {
                    self.pods.remove(&key.name);
                    self.tell(Event::Gone(ObjectKey::Pod(key)));
                }
                spec.ours = index % 3 == 0;
                spec.node = Some(format!("n{node}"));
                spec.terminating = *terminating;
                if *ended {
                    spec.phase = PodPhase::Succeeded;
                }
                self.tell_pod(spec);
            }
            Step::PodGone(index) => {
                if let Some(pod) = self.pods.remove(&format!("p{index}")) {
                    self.tell(Event::Gone(ObjectKey::Pod(pod.key)));
                }
            }
            Step::Try(_) | Step::Place(_) => {}
            Step::Restart(index) => {
                let pod = self.waiting[*index].clone();
                self.pods.remove(&pod.key.name);
                self.tell(Event::Gone(ObjectKey::Pod(pod.key.clone())));
                self.tell_pod(pod);
            }
        }
    }

    /// Whether a node counts for a rule of a pod.
    fn counts(&self, pod: &PodSpec, rule: &SpreadRule, node: &NodeSpec) -> bool {
        let wanted = &pod.shape.constraints;
        let mut rules = pod.shape.spread.iter();
        rules.all(|one| node.labels.contains_key(&one.key))
            && (!rule.honors_affinity || wanted.select(&node.name, &node.labels))
            && (!rule.honors_taints || wanted.tolerate(&node.taints))
    }

    /// What a node says, counted from scratch.
    fn verdict(&self, pod: &PodSpec, node: &NodeSpec) -> Verdict {
        for rule in &pod.shape.spread {
            let Some(value) = node.labels.get(&rule.key) else {
                return Verdict::Unfit(vec![Reason::NoSpreadDomain]);
            };
            let mut domains: BTreeMap<&String, u32> = BTreeMap::new();
            for other in self.nodes.values() {
                if !self.counts(pod, rule, other) {
                    continue;
                }
                let here = |one: &&PodSpec| {
                    let of = rule.pods.as_ref().map(|pods| &pods.selector);
                    let label = |key: &str| label_in(one.labels.text(), key);
                    one.node.as_ref() == Some(&other.name)
                        && one.key.namespace == NAMESPACES[0]
                        && !one.terminating
                        && !one.phase.is_terminal()
                        && of.is_some_and(|of| of.matches_with(label))
                };
                let pods = u32::try_from(self.pods.values().filter(here).count()).unwrap();
                *domains.entry(&other.labels[&rule.key]).or_default() += pods;
            }
            let fewest = domains.values().min().copied().unwrap_or(0);
            let fewest = if domains.len() < rule.min_domains as usize {
                0
            } else {
                fewest
            };
            let there = domains.get(value).copied().unwrap_or(0);
            if there + u32::from(rule.counts_itself) > fewest + rule.max_skew {
                return Verdict::Unfit(vec![Reason::Spread]);
            }
        }
        Verdict::Fit
    }

    /// Holds every node's verdict on every pod that waits against a count from scratch, and the best node
    /// against the one that asking all finds.
    fn compare(
        &self,
        state: &ClusterState,
        placer: &mut Placer,
        (profile, asking): (&Profile, &Profile),
    ) -> Result<(), TestCaseError> {
        let (store, mut filters) = (Store::default(), profile.filter.iter());
        let filter = filters
            .find(|one| one.name() == "PodTopologySpread")
            .unwrap();
        for pod in &self.waiting {
            let id = state.find_pod(&pod.key).unwrap();
            let cx = Context::new(state, &store, id).unwrap();
            for (name, node) in &self.nodes {
                let known = filter.check(&cx, state.nodes().find(name).unwrap());
                prop_assert_eq!(known, self.verdict(pod, node), "{} on {}", pod.key, name);
            }
            let kept = placer.best_node(state, profile, id, &Domain::Everywhere);
            let asked = placer.best_node(state, asking, id, &Domain::Everywhere);
            prop_assert_eq!(kept, asked, "{}", pod.key);
        }
        Ok(())
    }

    /// Notes where one that waits was put.
    fn note(&mut self, pod: &PodKey, node: Option<String>) {
        if let Some(pod) = self.pods.get_mut(&pod.name) {
            pod.node = node;
        }
    }
}

proptest! {
    #[test]
    fn spreading_is_what_a_count_from_scratch_says(
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let (profile, asking) = (default_profile(), asking());
        let (mut world, mut placer) = (World::new(), Placer::default());
        for step in steps {
            world.take(&step);
            world.state.audit().map_err(TestCaseError::fail)?;
            placer.begin_cycle(&world.state);
            let mut state = std::mem::take(&mut world.state);
            let mut statement = Statement::new(&mut state);
            let tried = match &step {
                Step::Try(pods) => pods.clone(),
                Step::Place(pod) => vec![*pod],
                _ => Vec::new(),
            };
            let mut placed = Vec::new();
            for index in tried {
                let pod = world.waiting[index].key.clone();
                let id = statement.state().find_pod(&pod).unwrap();
                if statement.state().pod(id).unwrap().place.node().is_some() {
                    continue;
                }
                let best = placer.best_node(statement.state(), &profile, id, &Domain::Everywhere);
                if let Some(node) = best {
                    statement.assume(id, node);
                    let name = statement.state().nodes().name(node).to_owned();
                    world.note(&pod, Some(name));
                    placed.push((id, node, pod));
                }
                world.compare(statement.state(), &mut placer, (&profile, &asking))?;
                statement.state().audit().map_err(TestCaseError::fail)?;
            }
            drop(statement);
            state.audit().map_err(TestCaseError::fail)?;
            for (id, node, pod) in placed {
                match step {
                    Step::Place(_) => state.assume(id, node),
                    _ => world.note(&pod, None),
                }
            }
            state.take_changes();
            world.compare(&state, &mut placer, (&profile, &asking))?;
            world.state = state;
        }
    }
}

#[test]
fn a_node_counts_once_whatever_of_it_changes() {
    let (profile, asking) = (default_profile(), asking());
    let (mut world, mut placer) = (World::new(), Placer::default());
    let node = |zone, red, taint, declares| Step::Node {
        node: 0,
        zone: Some(zone),
        red,
        taint,
        declares,
    };
    world.take(&node("1", false, None, false));
    world.take(&Step::Place(0));
    placer.begin_cycle(&world.state);
    // Spreads are kept once somebody asked.
    world
        .compare(&world.state, &mut placer, (&profile, &asking))
        .unwrap();
    for changed in [
        node("1", false, None, true),
        node("1", true, None, true),
        node("1", true, Some("soft"), true),
        node("2", true, Some("soft"), true),
        node("2", true, Some("soft"), true),
    ] {
        world.take(&changed);
        world.state.audit().unwrap();
    }
}
