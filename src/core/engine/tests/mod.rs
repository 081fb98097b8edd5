//! The rules of gangs, told as short stories: events in, plans out.

mod admission;
mod backfill;
mod binding;
mod choice;
mod company;
mod decided_once;
mod default_spread;
mod devices;
mod elastic;
mod exclusive;
mod explaining;
mod granting;
mod holding;
mod invented;
mod jobs;
mod kept;
mod lifetimes;
mod linked;
mod moving;
mod near;
mod nominated;
mod others;
mod outage;
mod placing;
mod preempting;
mod profiles;
mod promises;
mod queues_of_others;
mod racks;
mod ranks;
mod remote;
mod retired;
mod slots;
mod sparing;
mod volumes;
mod whole;
mod whose;
mod words;

use super::*;
use muster_model::Object;
use muster_model::ObjectKey;
use muster_model::testing::{group, key, node, pod};
use muster_model::{Bind, Evict, GangPhase, Outcome, SHOWN_POSITIONS, SpanKind, TopologyStatus};
use muster_model::{
    DisruptionBudgetSpec, EvictOutcome, GangSpace, GangSpec, LabelCondition, LabelRequirement,
    LabelSelector, PodKey, PodLabels, PodPhase, PodSpec, PriorityClassSpec, QueueSpec,
    SubgroupSpec,
};

/// A policy by which what PodGroups say of their priority counts, whatever their pods have.
fn trusting() -> Policy {
    Policy {
        priorities: Priorities::AsGiven,
        ..Policy::default()
    }
}

/// A scheduler with short words for what tests say often.
struct Story {
    scheduler: Scheduler,
    now: Time,
}

impl Story {
    fn new() -> Self {
        Self {
            scheduler: Scheduler::new(trusting()),
            now: Time::ZERO,
        }
    }

    fn node(&mut self, name: &str, cpus: i64) {
        self.tell(Event::is(node(name, cpus)));
    }

    fn group(&mut self, name: &str, min: u32) {
        self.define(GangSpec {
            min_available: min,
            ..group(name)
        });
    }

    fn define(&mut self, spec: GangSpec) {
        self.tell(Event::is(spec));
    }

    /// A pod of one CPU, of a group or on its own.
    fn pod(&mut self, name: &str, group: Option<&str>) -> PodKey {
        self.submit(pod(name, group, 1))
    }

    fn submit(&mut self, spec: PodSpec) -> PodKey {
        let key = spec.key.clone();
        self.tell(Event::is(spec));
        key
    }

    /// A pod of one CPU of another scheduler, on a node.
    fn pod_of_others_on(&mut self, node: &str) {
        self.submit(PodSpec {
            node: Some(node.to_owned()),
            phase: PodPhase::Running,
            ours: false,
            ..pod(&format!("on-{node}"), None, 1)
        });
    }

    /// A cycle once so much time has passed; everything it says.
    fn later(&mut self, ms: u64) -> Plan {
        self.pass(ms);
        self.scheduler.cycle(self.now)
    }

    fn tell(&mut self, event: Event) {
        self.scheduler.apply(self.now, event);
        self.scheduler.state().audit().unwrap();
    }

    fn bound(&mut self, bind: &Bind) {
        let outcome = BindOutcome::Bound {
            node: bind.node.clone(),
        };
        self.tell(Event::BindResult(bind.pod.clone(), outcome));
    }

    fn refused(&mut self, bind: &Bind) {
        let outcome = BindOutcome::Refused {
            message: "denied by policy".into(),
        };
        self.tell(Event::BindResult(bind.pod.clone(), outcome));
    }

    fn unanswered(&mut self, bind: &Bind) {
        let outcome = BindOutcome::Failed {
            message: "no answer".into(),
        };
        self.tell(Event::BindResult(bind.pod.clone(), outcome));
    }

    /// One cycle; its binds and evictions.
    fn step(&mut self) -> (Vec<Bind>, Vec<Evict>) {
        let plan = self.scheduler.cycle(self.now);
        self.scheduler.audit().unwrap();
        let (mut binds, mut evictions) = (Vec::new(), Vec::new());
        for effect in plan.effects {
            match effect {
                Effect::Bind(bind) => binds.push(bind),
                Effect::Evict(evict) => evictions.push(evict),
                _ => {}
            }
        }
        (binds, evictions)
    }

    fn binds(&mut self) -> Vec<Bind> {
        self.step().0
    }

    fn run(&mut self) -> Vec<Bind> {
        let binds = self.binds();
        for bind in &binds {
            self.bound(bind);
        }
        binds
    }

    fn pass(&mut self, ms: u64) {
        self.now = self.now + Millis(ms);
    }

    fn why(&self, name: &str) -> String {
        let why = self.scheduler.why(&key(name));
        why.map_or_else(String::new, |(reason, message)| {
            format!("{reason}: {message}")
        })
    }

    fn status(&self, name: &str) -> GangStatus {
        self.scheduler.gang_status(&key(name)).unwrap()
    }
}

fn names(binds: &[Bind]) -> Vec<&str> {
    binds.iter().map(|bind| bind.pod.name.as_str()).collect()
}

/// What a plan says on pods.
fn told(plan: &Plan) -> Vec<String> {
    let effects = plan.effects.iter();
    let waits = effects.filter_map(|effect| match effect {
        Effect::PodWaits(waits) => Some(waits.message.to_string()),
        _ => None,
    });
    waits.collect()
}

fn recalls(plan: &Plan) -> usize {
    let recall = |effect: &&Effect| matches!(effect, Effect::Recall(_));
    plan.effects.iter().filter(recall).count()
}
