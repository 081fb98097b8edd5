//! The small world that a scheduler hears of, and its open orders.

use crate::small::company::{APP, all_over_racks, company};
use crate::small::gangs::{Gang, SUBGROUPS};
use crate::small::lot::Digits;
use crate::small::{self, GPU, NS, nearness, offers, queues};
use crate::steps::{GROUPS, QUEUES, Step};
use muster::core::engine::{Policy, Priorities, Scheduler};
use muster::lint::Linter;
use muster::model::explanation::GangExplanation;
use muster::model::units::{Millis, Time};
use muster::model::{
    BindOutcome, Effect, Event, EvictOutcome, GangKey, GangSpec, Labels, NamespaceSpec, NodeSpec,
    Object, ObjectKey, ObjectKind, Objects, Plan, PodKey, PodLabels, PodPhase, PodSpec, Rank,
    Source, plain,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fmt::Debug;

/// The world that the scheduler hears of, and its open orders.
pub(crate) struct World {
    pub(crate) scheduler: Scheduler,
    linter: Linter,
    pub(crate) now: Time,
    pods: BTreeMap<u8, PodSpec>,
    /// All other objects, as the API server has them.
    objects: Objects,
    births: u32,
    open: Vec<Effect>,
    /// What was explained last, where somebody asked for that.
    pub(crate) explained: Option<BTreeMap<GangKey, GangExplanation>>,
}

impl Default for World {
    fn default() -> Self {
        Self {
            scheduler: scheduler(),
            linter: Linter::default(),
            now: Time::ZERO,
            pods: BTreeMap::new(),
            objects: Objects::default(),
            births: 0,
            open: Vec::new(),
            explained: None,
        }
    }
}

/// One for which what PodGroups say of their priority counts, whatever their pods have.
fn scheduler() -> Scheduler {
    Scheduler::new(Policy {
        priorities: Priorities::AsGiven,
        ..Policy::default()
    })
}

pub(crate) fn group_key(index: u8) -> GangKey {
    small::key(format!("g{index}"))
}

fn queue_name(index: u8) -> String {
    format!("q{index}")
}

/// What a pod says in its label `app`.
fn app(index: u8) -> &'static str {
    ["x", "y", "z"][usize::from(index / 2 % 3)]
}

/// What was written down and read again.
fn again<T: Serialize + DeserializeOwned + PartialEq + Debug>(one: &T) -> T {
    let written = serde_json::to_vec(one).unwrap();
    let read = serde_json::from_slice(&written).unwrap();
    assert_eq!(*one, read);
    read
}

impl World {
    /// Tells the core; the linter hears what was written down and read again, as from a record.
    pub(crate) fn tell(&mut self, event: Event) {
        match &event {
            // Ours are kept by their numbers.
            Event::Is(Object::Pod(pod)) if pod.ours => {}
            Event::Is(object) => _ = self.objects.put(object.clone()),
            Event::Gone(key) => _ = self.objects.remove(key),
            _ => {}
        }
        self.hear(event);
    }

    fn hear(&mut self, event: Event) {
        self.linter.hear(&again(&event));
        self.scheduler.apply(self.now, event);
        self.scheduler.state().audit().unwrap();
    }

    pub(crate) fn take(&mut self, step: &Step) -> Option<Plan> {
        match step {
            Step::Node {
                index,
                cpus,
                gpus,
                tainted,
            } => {
                let rack = (index % 2).to_string();
                let offers = offers(i64::from(*cpus), i64::from(*gpus), 5);
                self.tell(Event::is(NodeSpec {
                    taints: tainted.then(small::taint).into_iter().collect(),
                    ..small::node(format!("n{index}"), &rack, offers)
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
                said,
            } => {
                let mut spec = GangSpec {
                    subgroups: if *split {
                        small::gangs::subgroups()
                    } else {
                        vec![]
                    },
                    queue: queue.map(queue_name),
                    priority: Some(i32::from(*priority)),
                    lifetime: [None, Some(0), Some(3_000), Some(60_000)][usize::from(*lifetime)]
                        .map(Millis),
                    ..plain::group(group_key(*index), u32::from(*min))
                };
                small::gangs::fit_subgroups(&mut spec);
                if !said.is_empty() {
                    edit(&mut spec, said);
                }
                self.tell(Event::is(spec));
            }
            Step::GroupEdit { index, said } => {
                if let Some(mut spec) = self.group(*index) {
                    edit(&mut spec, said);
                    self.tell(Event::is(spec));
                }
            }
            Step::GroupGone(index) => self.tell(Event::Gone(ours(*index))),
            Step::GroupAgain(index) => {
                if let Some(mut spec) = self.group(*index) {
                    self.births += 1;
                    self.tell(Event::Gone(ours(*index)));
                    spec.uid = format!("{}-{}", spec.key.name, self.births);
                    self.tell(Event::is(spec));
                }
            }
            Step::Pod {
                index,
                group,
                cpus,
                gated,
                company,
            } => self.submit(*index, *group, *cpus, (*gated, *company)),
            Step::PodGone(index) => {
                if let Some(pod) = self.pods.remove(index) {
                    self.tell(Event::Gone(ObjectKey::Pod(pod.key)));
                }
            }
            Step::PodRuns(index) => self.pod_is(*index, PodPhase::Running),
            Step::PodEnds { index, well } => {
                let phase = if *well {
                    PodPhase::Succeeded
                } else {
                    PodPhase::Failed
                };
                self.pod_is(*index, phase);
            }
            Step::Queue { index, said } => {
                let others = (0..QUEUES).filter(|other| other != index).map(queue_name);
                let others: Vec<String> = others.collect();
                let others: Vec<&str> = others.iter().map(String::as_str).collect();
                let name = queue_name(*index);
                let queue = queues::queue(&name, &others, 1, &mut Digits(said));
                self.tell(Event::is(queue));
            }
            Step::QueueGone(index) => self.tell(Event::Gone(ObjectKey::Queue(queue_name(*index)))),
            Step::Others { group, what } => self.others(*group, *what),
            Step::Topology(there) => {
                let gone = Event::Gone(ObjectKey::Topology("racks".into()));
                let is = Event::is(nearness::by_label());
                self.tell(if *there { is } else { gone });
            }
            Step::Answer(how) => self.answer(*how),
            Step::Restart => self.restart(),
            Step::Cycle { later_ms } => {
                self.now = self.now + Millis(u64::from(*later_ms));
                return Some(self.cycle());
            }
        }
        None
    }

    /// Our PodGroup of a name, if it is there.
    fn group(&self, index: u8) -> Option<GangSpec> {
        self.objects.spec::<GangSpec>(&ours(index)).cloned()
    }

    /// The phase of one that is on a node, as a watch tells it.
    fn pod_is(&mut self, index: u8, phase: PodPhase) {
        let on_node = |pod: &&mut PodSpec| pod.node.is_some() && !pod.phase.is_terminal();
        if let Some(pod) = self.pods.get_mut(&index).filter(on_node) {
            pod.phase = phase;
            let pod = pod.clone();
            self.tell(Event::is(pod));
        }
    }

    fn others(&mut self, index: u8, what: u8) {
        let key = PodKey {
            namespace: NS.into(),
            name: format!("theirs{index}"),
            uid: format!("theirs{index}"),
        };
        self.tell(match what {
            0..3 => Event::is(GangSpec {
                source: Source::Volcano,
                uid: format!("v{index}"),
                stands_in: what == 0,
                min_resources: plain::amounts([("cpu", 2)]),
                ..plain::group(group_key(index), u32::from(what))
            }),
            3 => Event::Gone(ObjectKey::Gang(group_key(index), Source::Volcano)),
            4 => Event::is(PodSpec {
                key,
                gang: plain::member_of(group_key(index).name),
                other_scheduler: "volcano".into(),
                ..PodSpec::default()
            }),
            5 => Event::Gone(ObjectKey::Pod(key)),
            _ => Event::is(NamespaceSpec {
                name: NS.into(),
                claims: what == 6,
                ..NamespaceSpec::default()
            }),
        });
    }

    fn submit(&mut self, index: u8, group: Option<u8>, cpus: u8, (gated, about): (bool, u8)) {
        if let Some(known) = self.pods.get_mut(&index) {
            known.gates.clear();
            let pod = known.clone();
            return self.tell(Event::is(pod));
        }
        self.births += 1;
        let group = group.map(|index| group_key(index % GROUPS).name);
        let mut pod = small::pod(format!("p{index}"), group.as_deref(), i64::from(cpus));
        pod.key.uid = format!("u{}", self.births);
        pod.subgroup = Some(SUBGROUPS[usize::from(index % 2)].into());
        // Some are numbered, and not in the order in which they come.
        pod.rank = (!index.is_multiple_of(3))
            .then(|| Rank::new("", 0, u32::from(index) * 5 % 7))
            .flatten();
        pod.gates = if gated { vec!["gate".into()] } else { vec![] };
        pod.labels = PodLabels::new(&Labels::from([(APP.to_owned(), app(index).to_owned())]));
        let own = (APP, app(index));
        let shape = &mut pod.shape;
        shape.pods = company(u64::from(about), own, ["x", "y", "z"]);
        if (8..12).contains(&about) {
            shape.preferences.spread = vec![all_over_racks()];
        }
        if (5..9).contains(&about) {
            shape.spread = vec![all_over_racks()];
        }
        if about == 12 {
            shape.requests.push((GPU.to_owned(), 1));
        }
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
                        (pod.node, pod.bound_at) = (Some(bind.node.clone()), Some(self.now));
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

    /// A scheduler that knows nothing is told all that the API server has; every other open order was
    /// carried out before.
    fn restart(&mut self) {
        for (index, order) in std::mem::take(&mut self.open).into_iter().enumerate() {
            match order {
                Effect::Bind(bind) if index % 2 == 0 => {
                    let known = self.pods.values_mut().find(|pod| pod.key == bind.pod);
                    if let Some(pod) = known {
                        (pod.node, pod.bound_at) = (Some(bind.node), Some(self.now));
                    }
                }
                Effect::Evict(evict) if index % 2 == 0 => {
                    self.pods.retain(|_, pod| pod.key != evict.pod);
                }
                _ => {}
            }
        }
        (self.scheduler, self.linter) = (scheduler(), Linter::default());
        if self.explained.is_some() {
            self.keep_explaining();
        }
        let kinds = ObjectKind::ALL.iter();
        let objects = kinds.flat_map(|kind| self.objects.of_kind(*kind));
        let pods = self.pods.values().cloned().map(Object::from);
        let all: Vec<Object> = objects.cloned().chain(pods).collect();
        for object in all {
            self.hear(Event::Is(object));
        }
    }

    /// From now on what changes is explained.
    pub(crate) fn keep_explaining(&mut self) {
        self.scheduler.keep_explaining();
        self.explained = Some(BTreeMap::new());
    }

    pub(crate) fn cycle(&mut self) -> Plan {
        let plan = again(&self.scheduler.cycle(self.now));
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

    /// Answers everything well until nothing is open any more.
    pub(crate) fn settle(&mut self) {
        for _ in 0..200 {
            while !self.open.is_empty() {
                self.answer(9);
            }
            self.now = self.now + Millis(2_000);
            self.cycle();
        }
    }
}

/// Our PodGroup of a name.
fn ours(index: u8) -> ObjectKey {
    ObjectKey::Gang(group_key(index), Source::Muster)
}

/// Says some of a PodGroup's fields in another way.
fn edit(spec: &mut GangSpec, said: &[u8]) {
    let queues: Vec<String> = (0..QUEUES).map(queue_name).collect();
    let queues: Vec<&str> = queues.iter().map(String::as_str).collect();
    let gang = Gang {
        members: 4,
        cpu: 1,
        queues: &queues,
        has_subgroups: true,
        may_be_near: true,
    };
    gang.edit(spec, &mut Digits(said));
}
