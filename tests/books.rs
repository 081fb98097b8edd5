//! Queues' books over random trees of queues, edits, ends, failovers and resources that come and go: the sums
//! are what a recount gives, and no edit of a gang that runs gains what a new gang would not get.

use muster::core::engine::Scheduler;
use muster::core::state::Account;
use muster::model::resources::CORE;
use muster::model::units::{Millis, Time};
use muster::model::{
    BindOutcome, Effect, Event, EvictOutcome, GangKey, GangRef, GangSpace, GangSpec, GrantedTerms,
    Lifetime, NodeSpec, ObjectKey, Plan, PodKey, PodPhase, PodSpec, QueueSpec, Recalled, ShapeSpec,
};
use proptest::prelude::*;
use std::collections::BTreeMap;

const GANGS: u8 = 6;
const QUEUES: [&str; 5] = ["a", "a1", "a2", "b", "c"];
/// Those that take gangs.
const LEAVES: [&str; 4] = ["a1", "a2", "b", "c"];

/// What a queue is declared as.
#[derive(Clone, Debug)]
struct Declared {
    weight: u32,
    over_share: u64,
    budget: Option<u64>,
    limit: Option<i64>,
    default_lifetime: Option<u64>,
    is_open: bool,
}

/// What a PodGroup says.
#[derive(Clone, Debug)]
struct Asked {
    min: u32,
    queue: usize,
    lifetime: Option<u64>,
    priority: i32,
}

#[derive(Clone, Debug)]
enum Step {
    Queue(usize, Declared),
    /// Made, or edited.
    Group(u8, Asked),
    /// It ends, and so do its pods; it is made again by a later step.
    End(u8),
    /// Pods of so many tenths of a core, and GPUs; as many as the minimum wants, and so many more.
    Pods(u8, i64, i64, u32),
    /// A pod that brings its node.
    OnANode(u8),
    /// Nodes with GPUs on which nobody may run are there or not.
    Gpus(bool),
    /// Another process takes over.
    Failover,
    Pass(u32),
}

fn lifetime() -> impl Strategy<Value = Option<u64>> {
    prop_oneof![
        2 => Just(None),
        2 => Just(Some(0)),
        2 => (60_000..7_200_000_u64).prop_map(Some),
    ]
}

fn declared() -> impl Strategy<Value = Declared> {
    let all = (
        1..4_u32,
        prop_oneof![Just(1_000_u64), Just(1_200), Just(4_000)],
        prop::option::of(0..2_000_u64),
        prop::option::weighted(0.2, 1..20_i64),
        prop::option::weighted(0.2, 0..3_600_000_u64),
        prop::bool::weighted(0.85),
    );
    all.prop_map(
        |(weight, over_share, budget, limit, default_lifetime, is_open)| Declared {
            weight,
            over_share,
            budget,
            limit,
            default_lifetime,
            is_open,
        },
    )
}

fn asked() -> impl Strategy<Value = Asked> {
    (1..4_u32, 0..LEAVES.len(), lifetime(), 0..3_i32).prop_map(
        |(min, queue, lifetime, priority)| Asked {
            min,
            queue,
            lifetime,
            priority,
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    let gang = 0..GANGS;
    prop_oneof![
        3 => (0..QUEUES.len(), declared()).prop_map(|(index, declared)| Step::Queue(index, declared)),
        10 => (gang.clone(), asked()).prop_map(|(index, asked)| Step::Group(index, asked)),
        2 => gang.clone().prop_map(Step::End),
        8 => (gang.clone(), 5..50_i64, 0..3_i64, 0..2_u32)
            .prop_map(|(index, tenths, gpus, more)| Step::Pods(index, tenths, gpus, more)),
        1 => gang.prop_map(Step::OnANode),
        2 => any::<bool>().prop_map(Step::Gpus),
        1 => Just(Step::Failover),
        6 => (0..900_000_u32).prop_map(Step::Pass),
    ]
}

/// The objects that the API server holds, and the process that leads.
struct World {
    scheduler: Scheduler,
    now: Time,
    nodes: BTreeMap<String, NodeSpec>,
    queues: BTreeMap<String, QueueSpec>,
    groups: BTreeMap<u8, GangSpec>,
    pods: BTreeMap<String, PodSpec>,
    births: u32,
}

fn key(index: u8) -> GangKey {
    GangKey {
        namespace: "ns".into(),
        space: GangSpace::Named,
        name: format!("g{index}"),
    }
}

fn node(name: &str, cpus: i64, gpus: i64, unschedulable: bool) -> NodeSpec {
    let offers = [("cpu", cpus * 1_000), ("gpu", gpus), ("pods", 100)];
    NodeSpec {
        name: name.into(),
        unschedulable,
        allocatable: offers.map(|(name, amount)| (name.into(), amount)).into(),
        ..NodeSpec::default()
    }
}

fn queue(name: &str, declared: &Declared) -> QueueSpec {
    let limit = declared.limit.map(|cpus| ("cpu".to_owned(), cpus * 1_000));
    QueueSpec {
        name: name.into(),
        uid: name.into(),
        parent: (name.len() == 2).then(|| "a".into()),
        weight: declared.weight,
        over_share: declared.over_share,
        excess_budget: declared.budget.map(|minutes| minutes * 60_000),
        limit: limit.into_iter().collect(),
        default_lifetime: declared.default_lifetime.map(Millis),
        is_open: declared.is_open,
        ..QueueSpec::default()
    }
}

/// A gang's terms, as far as somebody else can see them.
type Terms = (String, Lifetime);

impl World {
    fn new() -> Self {
        let mut world = Self {
            scheduler: Scheduler::default(),
            now: Time::from_secs(1),
            nodes: BTreeMap::new(),
            queues: BTreeMap::new(),
            groups: BTreeMap::new(),
            pods: BTreeMap::new(),
            births: 0,
        };
        for (name, gpus) in [("n0", 4), ("n1", 0)] {
            world.nodes.insert(name.into(), node(name, 10, gpus, false));
        }
        let plain = Declared {
            weight: 1,
            over_share: 1_200,
            budget: None,
            limit: None,
            default_lifetime: None,
            is_open: true,
        };
        for name in QUEUES {
            world.queues.insert(name.into(), queue(name, &plain));
        }
        world.fail_over();
        world
    }

    fn tell(&mut self, event: Event) {
        self.scheduler.apply(self.now, event);
    }

    /// Another process that is told of all that there is.
    fn fail_over(&mut self) {
        self.scheduler = Scheduler::default();
        let nodes = self.nodes.values().cloned().map(Event::is);
        let queues = self.queues.values().cloned().map(Event::is);
        let groups = self.groups.values().cloned().map(Event::is);
        let pods = self.pods.values().cloned().map(Event::is);
        let all: Vec<Event> = nodes.chain(queues).chain(groups).chain(pods).collect();
        all.into_iter().for_each(|event| self.tell(event));
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Queue(index, declared) => {
                let mut spec = queue(QUEUES[*index], declared);
                let before = &self.queues[QUEUES[*index]];
                spec.saved_flow = before.saved_flow;
                self.queues.insert(spec.name.clone(), spec.clone());
                self.tell(Event::is(spec));
            }
            Step::Group(index, asked) => {
                let before = self.groups.get(index);
                let spec = GangSpec {
                    key: key(*index),
                    uid: before.map_or_else(
                        || format!("{index}-{}", self.births),
                        |before| before.uid.clone(),
                    ),
                    recalled: before
                        .map(|before| before.recalled.clone())
                        .unwrap_or_default(),
                    min_available: asked.min,
                    queue: Some(LEAVES[asked.queue].into()),
                    lifetime: asked.lifetime.map(Millis),
                    priority: Some(asked.priority),
                    ..GangSpec::default()
                };
                self.births += 1;
                self.groups.insert(*index, spec.clone());
                self.tell(Event::is(spec));
            }
            Step::End(index) => self.end(*index),
            Step::Pods(index, tenths, gpus, more) => {
                let min = self.groups.get(index).map_or(0, |spec| spec.min_available);
                for _ in 0..min + more {
                    self.pod(*index, *tenths, *gpus, None);
                }
            }
            Step::OnANode(index) => self.pod(*index, 10, 0, Some("n1")),
            Step::Gpus(there) => {
                for name in ["s0", "s1", "s2"] {
                    if *there {
                        let spec = node(name, 5, 8, true);
                        self.nodes.insert(name.into(), spec.clone());
                        self.tell(Event::is(spec));
                    } else if self.nodes.remove(name).is_some() {
                        self.tell(Event::Gone(ObjectKey::Node(name.into())));
                    }
                }
            }
            Step::Failover => self.fail_over(),
            Step::Pass(millis) => self.now = self.now + Millis(u64::from(*millis)),
        }
    }

    fn pod(&mut self, index: u8, tenths: i64, gpus: i64, on: Option<&str>) {
        let here = self.pods.values().filter(|pod| pod.node.as_deref() == on);
        if self.pods.len() > 40 || on.is_some() && here.count() > 3 {
            return;
        }
        self.births += 1;
        let name = format!("p{}", self.births);
        let mut requests = vec![("cpu".to_owned(), tenths * 100)];
        requests.extend((gpus > 0).then(|| ("gpu".to_owned(), gpus)));
        let spec = PodSpec {
            key: PodKey {
                namespace: "ns".into(),
                name: name.clone(),
                uid: name.clone(),
            },
            created: self.now,
            ours: true,
            gang: GangRef::Named {
                space: GangSpace::Named,
                name: format!("g{index}"),
            },
            node: on.map(str::to_owned),
            bound_at: on.map(|_| self.now),
            phase: on.map_or(PodPhase::Pending, |_| PodPhase::Running),
            priority: Some(2),
            shape: ShapeSpec {
                requests,
                ..ShapeSpec::default()
            },
            ..PodSpec::default()
        };
        self.pods.insert(name, spec.clone());
        self.tell(Event::is(spec));
    }

    fn end(&mut self, index: u8) {
        let of = |pod: &PodSpec| pod.gang_key() == key(index);
        let gone: Vec<PodKey> = self
            .pods
            .values()
            .filter(|pod| of(pod))
            .map(|pod| pod.key.clone())
            .collect();
        for pod in gone {
            self.gone(pod);
        }
        if let Some(spec) = self.groups.remove(&index) {
            self.tell(Event::Gone(ObjectKey::Gang(spec.key, spec.source)));
        }
    }

    fn gone(&mut self, pod: PodKey) {
        self.pods.remove(&pod.name);
        self.tell(Event::Gone(ObjectKey::Pod(pod)));
    }

    /// Decides, and has what was decided happen at once.
    fn cycle(&mut self) -> Plan {
        let plan = self.scheduler.cycle(self.now);
        assert_eq!(self.scheduler.audit(), Ok(()));
        for effect in plan.effects.clone() {
            match effect {
                Effect::Bind(bind) => {
                    let Some(pod) = self.pods.get_mut(&bind.pod.name) else {
                        continue;
                    };
                    pod.node = Some(bind.node.clone());
                    pod.bound_at = Some(self.now);
                    pod.phase = PodPhase::Running;
                    let spec = pod.clone();
                    let outcome = BindOutcome::Bound { node: bind.node };
                    self.tell(Event::BindResult(bind.pod, outcome));
                    self.tell(Event::is(spec));
                }
                Effect::Evict(evict) => {
                    let accepted = EvictOutcome::Accepted;
                    self.tell(Event::EvictResult(evict.pod.clone(), accepted));
                    self.gone(evict.pod);
                }
                Effect::GangStatus(status) => {
                    let mut groups = self.groups.values_mut();
                    if let Some(group) = groups.find(|one| one.uid == status.uid) {
                        // What is written comes back.
                        group.recalled = Recalled {
                            granted: status.granted,
                            let_in: status.let_in,
                            succeeded: status.succeeded,
                            ..Recalled::default()
                        };
                        let spec = group.clone();
                        self.tell(Event::is(spec));
                    }
                }
                Effect::QueueStatus(status) => {
                    if let Some(queue) = self.queues.get_mut(&status.queue) {
                        queue.saved_flow = Some((status.flow, status.flow_at));
                    }
                }
                _ => {}
            }
        }
        plan
    }

    fn settle(&mut self) {
        for _ in 0..4 {
            self.cycle();
        }
    }

    /// The terms of the gangs that hold something, and whether they are what is asked for.
    fn terms(&self) -> BTreeMap<String, (Terms, bool)> {
        let state = self.scheduler.state();
        let holding = state.gangs().filter(|(_, gang)| gang.holding > 0);
        let terms = holding.map(|(id, gang)| {
            let terms = (state.queue_name(id).to_owned(), gang.lifetime);
            (gang.key.name.clone(), (terms, gang.asks.is_none()))
        });
        terms.collect()
    }

    /// No gang that was granted more than it had is beyond what its queue gives a new one.
    fn check_granted(&self, gang: &str) {
        let state = self.scheduler.state();
        let key = GangKey {
            name: gang.into(),
            ..key(0)
        };
        let Some(id) = state.find_gang(&key) else {
            return;
        };
        let found = &state[id];
        let queues = state.queues();
        for (_, queue) in queues.path(state.queue_of(id)) {
            let Some(spec) = &queue.spec else { continue };
            let (account, weights) = (&queue.account, state.weights());
            for (dimension, most) in &queue.limit {
                let held = account.held.all.get(*dimension);
                assert!(held <= *most, "{gang}: beyond the limit of {}", queue.name);
            }
            let most = account.share * spec.over_share / 1_000;
            if found.lifetime == Lifetime::Unlimited && most < weights.total() {
                let mut held = account.held.to_stay();
                // Members beyond the minimum may be taken back, and nobody asks for them.
                let surplus = found.secured().saturating_sub(found.min_available());
                for pod in found.members.iter().rev().take(surplus as usize) {
                    if let Some(shape) = state.shape_of(*pod) {
                        held.subtract(&shape.request);
                    }
                }
                let held = weights.of(&held);
                assert!(surplus > 0 || held <= most, "{gang}: {held} of {most}");
            }
        }
        let Some(queue) = queues.get(state.queue_of(id)) else {
            return;
        };
        let account = &queue.account;
        if account.charge_of(id) > 0 {
            let budget = queue.spec.as_ref().and_then(|spec| spec.excess_budget);
            let hour = u128::from(account.share) * 3_600_000;
            let budget = budget.map_or(hour, |budget| u128::from(budget) * u128::from(CORE));
            let charged = account.charged();
            assert!(charged <= budget, "{gang}: {charged} charged of {budget}");
        }
    }
}

/// Of how many queues more is remembered than they use.
fn excess(world: &World) -> usize {
    let queues = world.scheduler.state().queues();
    let more = |account: &Account| account.flow.excess(world.now, queues.half_life()) > 0;
    queues
        .iter()
        .filter(|(_, queue)| more(&queue.account))
        .count()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn no_edit_gains_what_a_new_gang_would_not_get(steps in prop::collection::vec(step(), 1..50)) {
        let mut world = World::new();
        world.settle();
        for step in &steps {
            let before = world.terms();
            let remembered = excess(&world);
            world.take(step);
            let plan = world.cycle();
            let after = world.terms();
            // Nobody was on those nodes: what nobody gave up is not remembered.
            if matches!(step, Step::Gpus(_)) && after == before {
                prop_assert!(excess(&world) <= remembered, "{step:?}");
            }
            let gains = |(gang, ((queue, lifetime), _)): (&String, &(Terms, bool))| {
                let ((queue_before, lifetime_before), _) = before.get(gang)?;
                let gains = queue != queue_before || lifetime > lifetime_before;
                gains.then(|| gang.clone())
            };
            let gained: Vec<String> = after.iter().filter_map(gains).collect();
            // Who starts or gains beside it may do so by other rules than hold for it.
            let starts = |effect: &Effect| matches!(effect, Effect::Bind(_));
            if let [gang] = gained.as_slice()
                && !plan.effects.iter().any(starts)
            {
                world.check_granted(gang);
            }
            world.settle();
        }
    }

    #[test]
    fn a_new_leader_finds_the_terms_that_were_granted(steps in prop::collection::vec(step(), 1..40)) {
        let mut world = World::new();
        for step in &steps {
            world.take(step);
            world.settle();
        }
        let before = world.terms();
        world.fail_over();
        world.cycle();
        for (gang, (terms, _)) in world.terms() {
            let Some((known, as_asked)) = before.get(&gang) else { continue };
            if terms != *known {
                // What it asks for it may have by now, and nothing else.
                prop_assert!(!as_asked, "{gang}: {known:?}, and then {terms:?}");
                world.check_granted(&gang);
            }
        }
        let granted = world.groups.values().filter_map(|group| {
            let GrantedTerms { queue, lifetime } = group.recalled.granted.clone()?;
            Some((group.key.name.clone(), (queue, lifetime)))
        });
        let granted: BTreeMap<String, Terms> = granted.collect();
        for (gang, (terms, _)) in world.terms() {
            if world.groups.values().any(|group| group.key.name == gang) {
                prop_assert_eq!(granted.get(&gang), Some(&terms), "{} says so", gang);
            }
        }
    }
}
