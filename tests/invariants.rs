//! Random clusters and random orders of news keep the invariants of the core.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on has failed"
)]

use muster::core::engine::Scheduler;
use muster::lint::Linter;
use muster::model::ObjectKey;
use muster::model::explanation::{Explained, GangExplanation};
use muster::model::units::{Millis, Time};
use muster::model::{
    BindOutcome, Counted, Event, EvictOutcome, GangKey, GangRef, GangSpace, GangSpec,
    LabelCondition, LabelRequirement, LabelSelector, Labels, Level, NamespaceChoice, NodeSpec,
    PodKey, PodLabels, PodPhase, PodQuery, PodRules, PodSpec, PodTerm, Preferences, QueueSpec,
    Rank, ShapeSpec, Source, SpreadRule, SubgroupSpec, Taint, TopologySpec, WeightedPodTerm,
};
use muster::model::{Effect, GangPhase, Plan};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// One thing that happens to a small world of few names, so that things meet.
#[derive(Clone, Debug)]
enum Step {
    Node {
        index: u8,
        cpus: u8,
        tainted: bool,
    },
    NodeGone(u8),
    Group {
        index: u8,
        min: u8,
        split: bool,
        queue: bool,
        priority: u8,
        lifetime: u8,
    },
    GroupGone(u8),
    Pod {
        index: u8,
        group: Option<u8>,
        cpus: u8,
        gated: bool,
        company: u8,
    },
    PodGone(u8),
    PodEnds {
        index: u8,
        well: bool,
    },
    Queue(bool),
    /// Racks, of which members are to be near each other.
    Topology(bool),
    /// Answer the oldest open order: well, refused, failed or gone.
    Answer(u8),
    Cycle {
        later_ms: u32,
    },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => (0..4_u8, 1..5_u8, prop::bool::weighted(0.1))
            .prop_map(|(index, cpus, tainted)| Step::Node { index, cpus, tainted }),
        1 => (0..4_u8).prop_map(Step::NodeGone),
        2 => (0..3_u8, 1..4_u8, any::<bool>(), prop::bool::weighted(0.2), 0..3_u8, 0..4_u8)
            .prop_map(|(index, min, split, queue, priority, lifetime)| Step::Group {
                index, min, split, queue, priority, lifetime,
            }),
        1 => (0..3_u8).prop_map(Step::GroupGone),
        6 => (
            0..12_u8,
            prop::option::weighted(0.8, 0..3_u8),
            1..4_u8,
            prop::bool::weighted(0.1),
            0..16_u8,
        )
            .prop_map(|(index, group, cpus, gated, company)| Step::Pod {
                index, group, cpus, gated, company,
            }),
        2 => (0..12_u8).prop_map(Step::PodGone),
        1 => (0..12_u8, any::<bool>()).prop_map(|(index, well)| Step::PodEnds { index, well }),
        1 => any::<bool>().prop_map(Step::Queue),
        1 => any::<bool>().prop_map(Step::Topology),
        8 => (0..10_u8).prop_map(Step::Answer),
        8 => (0..3000_u32).prop_map(|later_ms| Step::Cycle { later_ms }),
        1 => (200_000..400_000_u32).prop_map(|later_ms| Step::Cycle { later_ms }),
    ]
}

/// The world that the scheduler hears of, and its open orders.
#[derive(Default)]
struct World {
    scheduler: Scheduler,
    linter: Linter,
    now: Time,
    pods: BTreeMap<u8, PodSpec>,
    births: u32,
    open: Vec<Effect>,
}

fn group_key(index: u8) -> GangKey {
    GangKey {
        namespace: "ns".into(),
        space: GangSpace::Named,
        name: format!("g{index}"),
    }
}

fn group(index: u8) -> GangSpec {
    GangSpec {
        key: group_key(index),
        uid: format!("g{index}"),
        ..GangSpec::default()
    }
}

fn subgroups(min: u8) -> Vec<SubgroupSpec> {
    let subgroup = |name: &str, min| SubgroupSpec {
        name: name.into(),
        min,
        max: Some(4),
        ..SubgroupSpec::default()
    };
    vec![subgroup("a", 1), subgroup("b", u32::from(min) - 1)]
}

/// What a pod says in its label `app`.
fn app(index: u8) -> &'static str {
    ["x", "y", "z"][usize::from(index / 2 % 3)]
}

/// Beside whom a pod has to be, or may not be.
fn rules(index: u8, company: u8) -> PodRules {
    let about = |app: &str, key: &str| PodTerm {
        namespaces: NamespaceChoice::only("ns"),
        selector: LabelSelector {
            requirements: vec![LabelRequirement {
                key: "app".to_owned(),
                holds: LabelCondition::In(vec![app.to_owned()]),
            }],
        },
        topology_key: key.to_owned(),
    };
    let weighted = |weight, app: &str, key: &str| WeightedPodTerm {
        weight,
        term: about(app, key),
    };
    let (mut affinity, mut anti_affinity) = (Vec::new(), Vec::new());
    let mut preferred = Vec::new();
    match company {
        0 => anti_affinity.push(about(app(index), "name")),
        1 => anti_affinity.push(about("x", "rack")),
        2 => affinity.push(about("y", "rack")),
        3 => affinity.push(about(app(index), "name")),
        4 => {
            affinity.push(about(app(index), "rack"));
            anti_affinity.push(about("z", "name"));
        }
        9 => preferred.push(weighted(5, "y", "rack")),
        10 => {
            preferred.push(weighted(-9, app(index), "name"));
            preferred.push(weighted(2, app(index), "name"));
            preferred.push(weighted(2, "x", "rack"));
        }
        _ => {}
    }
    PodRules {
        affinity,
        anti_affinity,
        preferred,
        draws: true,
    }
}

/// All pods are counted.
fn over_racks() -> SpreadRule {
    SpreadRule {
        key: "rack".into(),
        max_skew: 1,
        min_domains: 1,
        pods: Some(PodQuery {
            namespaces: vec![NamespaceChoice::only("ns")],
            selector: LabelSelector {
                requirements: vec![LabelRequirement {
                    key: "app".into(),
                    holds: LabelCondition::Exists,
                }],
            },
            counted: Counted::Staying,
        }),
        counts_itself: true,
        honors_affinity: true,
        honors_taints: false,
    }
}

impl World {
    fn tell(&mut self, event: Event) {
        self.linter.hear(&event);
        self.scheduler.apply(self.now, event);
        self.scheduler.state().audit().unwrap();
    }

    fn take(&mut self, step: &Step) -> Option<Plan> {
        match *step {
            Step::Node {
                index,
                cpus,
                tainted,
            } => {
                let taint = Taint {
                    key: "t".into(),
                    ..Taint::default()
                };
                self.tell(Event::is(NodeSpec {
                    name: format!("n{index}"),
                    labels: Labels::from([
                        ("rack".to_owned(), (index % 2).to_string()),
                        ("name".to_owned(), format!("n{index}")),
                    ]),
                    taints: if tainted { vec![taint] } else { vec![] },
                    allocatable: vec![("cpu".into(), i64::from(cpus)), ("pods".into(), 5)],
                    ..NodeSpec::default()
                }));
            }
            Step::NodeGone(index) => self.tell(Event::Gone(ObjectKey::Node(format!("n{index}")))),
            Step::Group {
                index,
                min,
                split,
                queue,
                priority,
                lifetime,
            } => self.define(GangSpec {
                min_available: u32::from(min),
                subgroups: if split { subgroups(min) } else { vec![] },
                queue: queue.then(|| "q".into()),
                priority: Some(i32::from(priority)),
                lifetime: [None, Some(0), Some(3_000), Some(60_000)][usize::from(lifetime)]
                    .map(Millis),
                ..group(index)
            }),
            Step::GroupGone(index) => {
                self.tell(Event::Gone(ObjectKey::Gang(
                    group_key(index),
                    Source::Muster,
                )));
            }
            Step::Pod {
                index,
                group,
                cpus,
                gated,
                company,
            } => self.submit(index, group, cpus, (gated, company)),
            Step::PodGone(index) => {
                if let Some(pod) = self.pods.remove(&index) {
                    self.tell(Event::Gone(ObjectKey::Pod(pod.key)));
                }
            }
            Step::PodEnds { index, well } => {
                if let Some(pod) = self.pods.get_mut(&index).filter(|pod| pod.node.is_some()) {
                    pod.phase = if well {
                        PodPhase::Succeeded
                    } else {
                        PodPhase::Failed
                    };
                    let pod = pod.clone();
                    self.tell(Event::is(pod));
                }
            }
            Step::Queue(there) => {
                let spec = QueueSpec {
                    name: "q".into(),
                    uid: "q".into(),
                    over_share: 2_000,
                    ..QueueSpec::default()
                };
                let gone = Event::Gone(ObjectKey::Queue("q".into()));
                self.tell(if there { Event::is(spec) } else { gone });
            }
            Step::Topology(there) => {
                let spec = TopologySpec {
                    name: "racks".into(),
                    levels: vec![Level {
                        aliases: Vec::new(),
                        label: "rack".into(),
                        hops: 2,
                    }],
                    ..TopologySpec::default()
                };
                let gone = Event::Gone(ObjectKey::Topology("racks".into()));
                self.tell(if there { Event::is(spec) } else { gone });
            }
            Step::Answer(how) => self.answer(how),
            Step::Cycle { later_ms } => {
                self.now = self.now + Millis(u64::from(later_ms));
                return Some(self.cycle());
            }
        }
        None
    }

    fn define(&mut self, spec: GangSpec) {
        self.tell(Event::is(spec));
    }

    fn submit(&mut self, index: u8, group: Option<u8>, cpus: u8, (gated, company): (bool, u8)) {
        if let Some(known) = self.pods.get_mut(&index) {
            known.gates.clear();
            let pod = known.clone();
            return self.tell(Event::is(pod));
        }
        self.births += 1;
        let name = group_key(group.unwrap_or(0)).name;
        let named = GangRef::Named {
            space: GangSpace::Named,
            name,
        };
        let pod = PodSpec {
            key: PodKey {
                namespace: "ns".into(),
                name: format!("p{index}"),
                uid: format!("u{}", self.births),
            },
            ours: true,
            gang: group.map_or(GangRef::Own, |_| named),
            subgroup: Some(if index.is_multiple_of(2) { "a" } else { "b" }.into()),
            // Some are numbered, and not in the order in which they come.
            rank: (!index.is_multiple_of(3))
                .then(|| Rank::new("", 0, u32::from(index) * 5 % 7))
                .flatten(),
            gates: if gated { vec!["gate".into()] } else { vec![] },
            labels: PodLabels::new(&Labels::from([("app".to_owned(), app(index).to_owned())])),
            shape: ShapeSpec {
                requests: vec![("cpu".into(), i64::from(cpus))],
                pods: rules(index, company),
                preferences: Preferences {
                    spread: if (8..12).contains(&company) {
                        vec![over_racks()]
                    } else {
                        Vec::new()
                    },
                    ..Preferences::default()
                },
                spread: if (5..9).contains(&company) {
                    vec![over_racks()]
                } else {
                    vec![]
                },
                ..ShapeSpec::default()
            },
            ..PodSpec::default()
        };
        self.pods.insert(index, pod.clone());
        self.tell(Event::is(pod));
    }

    fn answer(&mut self, how: u8) {
        if self.open.is_empty() {
            return;
        }
        match self.open.remove(0) {
            Effect::Bind(bind) => {
                let known = self.pods.values_mut().find(|pod| pod.key == bind.pod);
                let outcome = match (how, known) {
                    (_, None) => BindOutcome::Gone,
                    (0, _) => BindOutcome::Refused {
                        message: "no".into(),
                    },
                    (1, _) => BindOutcome::Failed {
                        message: "busy".into(),
                    },
                    (2, _) => BindOutcome::Unsent,
                    (_, Some(pod)) => {
                        pod.node = Some(bind.node.clone());
                        BindOutcome::Bound { node: bind.node }
                    }
                };
                self.tell(Event::BindResult(bind.pod, outcome));
            }
            Effect::Evict(evict) => {
                let outcome = match how {
                    0 => EvictOutcome::Refused {
                        message: "no".into(),
                    },
                    1 => EvictOutcome::Failed {
                        message: "busy".into(),
                    },
                    2 => EvictOutcome::Unsent,
                    _ => EvictOutcome::Accepted,
                };
                let gone = outcome == EvictOutcome::Accepted;
                self.tell(Event::EvictResult(evict.pod.clone(), outcome));
                if gone {
                    self.pods.retain(|_, pod| pod.key != evict.pod);
                    self.tell(Event::Gone(ObjectKey::Pod(evict.pod)));
                }
            }
            _ => {}
        }
    }

    fn cycle(&mut self) -> Plan {
        let plan = self.scheduler.cycle(self.now);
        self.scheduler.audit().unwrap();
        assert_eq!(self.linter.look(&plan, self.now), Vec::<String>::new());
        self.give_back(&plan);
        let orders = plan.effects.iter();
        let orders = orders.filter(|one| matches!(one, Effect::Bind(_) | Effect::Evict(_)));
        self.open.extend(orders.cloned());
        plan
    }

    /// Half of what is asked back was not sent yet.
    fn give_back(&mut self, plan: &Plan) {
        for effect in &plan.effects {
            let Effect::Recall(pod) = effect else {
                continue;
            };
            let of_pod = |one: &Effect| matches!(one, Effect::Bind(bind) if bind.pod == *pod);
            if pod.name.ends_with(['0', '2', '4', '6', '8'])
                && let Some(index) = self.open.iter().position(of_pod)
            {
                self.open.remove(index);
                self.tell(Event::BindResult(pod.clone(), BindOutcome::Unsent));
            }
        }
    }

    /// No bind in a plan may put a node over what it offers, or go to one that is not there.
    fn check_capacity(&self, plan: &Plan) {
        let state = self.scheduler.state();
        for effect in &plan.effects {
            let Effect::Bind(bind) = effect else { continue };
            let node = state
                .nodes()
                .find(&bind.node)
                .expect("a bind names a known node");
            assert!(
                state.nodes().present().contains(node),
                "{bind:?} to a node that is gone"
            );
            for dimension in state.dimensions().iter() {
                // Room that is held may be taken still by those who are leaving.
                let held = state.pods().filter(|(_, pod)| pod.nominated == Some(node));
                let held = held.filter_map(|(id, _)| state.shape_of(id));
                let held: i64 = held.map(|shape| shape.request.get(dimension)).sum();
                assert!(
                    state.nodes().free(node, dimension) + held >= 0,
                    "{bind:?} over-commits"
                );
            }
        }
    }

    /// After a plan, no gang has members on their way to nodes without a minimum in sight.
    fn check_all_or_nothing(&self, plan: &Plan) {
        let state = self.scheduler.state();
        for effect in &plan.effects {
            let Effect::Bind(bind) = effect else { continue };
            let pod = state
                .find_pod(&bind.pod)
                .and_then(|id| state.pod(id))
                .expect("known");
            let gang = state.gang(pod.gang.expect("ours")).expect("known");
            assert_eq!(
                gang.missing(),
                0,
                "{bind:?} leaves before its gang is whole"
            );
        }
    }

    /// Answers everything well until nothing is open any more.
    fn settle(&mut self) {
        for _ in 0..200 {
            while !self.open.is_empty() {
                self.answer(9);
            }
            self.now = self.now + Millis(2_000);
            self.cycle();
        }
    }

    /// Every gang has an answer to why it is where it is, and the first sentence is its condition.
    fn check_explanations(&self) {
        for (_, gang) in self.scheduler.state().gangs() {
            let why = self.explain(&gang.key);
            assert!(!why.condition.reason.is_empty(), "{}", gang.key);
            let status = self.scheduler.gang_status(&gang.key).unwrap();
            assert!(status.conditions.contains(&why.condition), "{}", gang.key);
            assert!(
                why.waits.is_some()
                    || why.members.minimum == 0
                    || why.phase != GangPhase::Inqueue.as_str()
            );
            assert_eq!(why.runs.is_some(), gang.counts().placed() > 0);
        }
    }

    fn explain(&self, key: &GangKey) -> GangExplanation {
        self.scheduler.explain_gang(key, self.now, 50).unwrap()
    }

    /// Takes what is explained anew.
    fn hear_explained(&mut self, known: &mut BTreeMap<GangKey, GangExplanation>) {
        loop {
            let (news, due) = self.scheduler.take_explained(self.now);
            for one in news {
                match one {
                    Explained::Gang(key, gang) => _ = known.insert(key, *gang),
                    Explained::GangGone(key) => _ = known.remove(&key),
                    _ => {}
                }
            }
            if due.is_none_or(|due| due > self.now) {
                break;
            }
        }
    }

    /// Who is told of what changed knows of every PodGroup what would be said now.
    fn check_explained(&self, known: &BTreeMap<GangKey, GangExplanation>) {
        let gangs: Vec<&GangKey> = known.keys().collect();
        let groups = self.scheduler.state().gangs().map(|(_, gang)| gang);
        let mut groups: Vec<&GangKey> = groups
            .filter(|gang| !gang.is_single())
            .map(|gang| &gang.key)
            .collect();
        groups.sort();
        assert_eq!(gangs, groups);
        for (key, known) in known {
            let now = self.explain(key);
            assert_eq!(
                (&known.condition, known.members),
                (&now.condition, now.members),
                "{key}"
            );
            assert_eq!(known.disruption, now.disruption, "{key}");
        }
    }

    fn check_nobody_is_partly_bound(&self) {
        let state = self.scheduler.state();
        for (_, gang) in state.gangs() {
            assert!(!gang.is_partly_bound(), "{} is partly bound", gang.key);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_order_of_news_keeps_the_invariants(steps in prop::collection::vec(step(), 1..120)) {
        let mut world = World::default();
        world.scheduler.keep_explaining();
        let mut explained = BTreeMap::new();
        for (index, step) in steps.iter().enumerate() {
            if let Some(plan) = world.take(step) {
                world.check_capacity(&plan);
                world.check_all_or_nothing(&plan);
                world.check_explanations();
                if index % 3 == 0 {
                    world.hear_explained(&mut explained);
                }
            }
        }
        world.settle();
        world.check_explanations();
        world.hear_explained(&mut explained);
        world.check_explained(&explained);
        world.check_nobody_is_partly_bound();
        let quiet = world.cycle();
        prop_assert_eq!(quiet.effects, vec![]);
        prop_assert!(!world.scheduler.wants_cycle());
        prop_assert_eq!(world.scheduler.stats().sweep_rescues, 0);
    }

    #[test]
    fn the_same_news_gives_the_same_plans(steps in prop::collection::vec(step(), 1..80)) {
        let run = || {
            let mut world = World::default();
            steps.iter().filter_map(|step| world.take(step)).collect::<Vec<_>>()
        };
        prop_assert_eq!(format!("{:?}", run()), format!("{:?}", run()));
    }

    #[test]
    fn an_empty_node_never_hurts(steps in prop::collection::vec(step(), 1..60)) {
        let placed = |extra: bool| {
            let mut world = World::default();
            if extra {
                world.tell(Event::is(NodeSpec {
                    name: "zz".into(),
                    allocatable: vec![("cpu".into(), 1), ("pods".into(), 1)],
                    ..NodeSpec::default()
                }));
            }
            let pods = steps.iter().filter(|step| {
                matches!(step, Step::Node { .. } | Step::Pod { group: None, .. })
            });
            for step in pods {
                // Who goes onto it is not near those any more who want to be with him.
                let mut step = step.clone();
                if let Step::Pod { company, .. } = &mut step {
                    *company = 15;
                }
                world.take(&step);
            }
            world.cycle();
            world.scheduler.state().pods().filter(|(_, pod)| pod.place.node().is_some()).count()
        };
        prop_assert!(placed(true) >= placed(false));
    }
}
