//! The actions one by one: what each leaves in the state, on the agenda and among the orders. How they
//! play together is told in `core/engine/tests`.

mod making_room;
mod order;
mod releasing;
mod reserving;

use super::notes::Stage;
use super::{
    Agenda, Claims, Cycle, Orders, allocate, charge_who_runs, fire_timers, refresh, wake_parked,
};
use crate::framework::{Profile, Profiles};
use crate::placement::Placer;
use crate::plugins::registry::default_profile;
use crate::state::{ClusterState, GangId, NodeId, Priorities};
use muster_model::ObjectKey;
use muster_model::testing::{group, key, node, pod};
use muster_model::units::{Millis, Time};
use muster_model::{BindOutcome, Event, EvictOutcome, GangSpec, PodSpec};
use std::collections::BTreeSet;

/// What actions work on, without an engine around them.
struct World {
    now: Time,
    state: ClusterState,
    profile: Profile,
    placer: Placer,
    agenda: Agenda,
    claims: Claims,
}

impl World {
    fn new() -> Self {
        let mut state = ClusterState::default();
        state.set_priorities(Priorities::AsGiven);
        Self {
            now: Time::ZERO,
            state,
            profile: default_profile(),
            placer: Placer::default(),
            agenda: Agenda::default(),
            claims: Claims::default(),
        }
    }

    fn tell(&mut self, event: Event) {
        self.state.apply(self.now, event);
    }

    fn node(&mut self, name: &str, cpus: i64) {
        self.tell(Event::is(node(name, cpus)));
    }

    /// A gang of so many pods of one CPU, of which so many must run.
    fn gang(&mut self, name: &str, min: u32, pods: u32) -> GangId {
        self.gang_like(
            GangSpec {
                min_available: min,
                ..group(name)
            },
            pods,
        )
    }

    fn gang_like(&mut self, spec: GangSpec, pods: u32) -> GangId {
        let (name, key) = (spec.key.name.clone(), spec.key.clone());
        self.tell(Event::is(spec));
        for index in 0..pods {
            let pod = pod(&format!("{name}-{index}"), Some(&name), 1);
            self.tell(Event::is(pod));
        }
        self.take_in();
        self.state.find_gang(&key).unwrap()
    }

    fn id(&self, name: &str) -> GangId {
        self.state.find_gang(&key(name)).unwrap()
    }

    /// Has something done in a cycle of its own.
    fn act<T>(&mut self, what: impl FnOnce(&mut Cycle<'_>) -> T) -> (T, Orders) {
        self.state.set_now(self.now);
        self.placer.begin_cycle(&self.state);
        let mut cycle = Cycle {
            now: self.now,
            state: &mut self.state,
            profiles: Profiles::new(&self.profile, &[]),
            placer: &mut self.placer,
            agenda: &mut self.agenda,
            claims: &mut self.claims,
            orders: Orders::default(),
        };
        let done = what(&mut cycle);
        let orders = cycle.orders;
        self.state.settle();
        // The gangs that an action changed it has dealt with; room it gave back is news.
        let own = self.state.take_changes();
        self.state.note_room(own.nodes);
        self.state.audit().unwrap();
        self.agenda.audit(&self.state).unwrap();
        let stage = |id| self.agenda.note(id).stage();
        self.claims.audit(&self.state, stage).unwrap();
        (done, orders)
    }

    /// Refreshes every gang of which something changed or whose time has come; says which nodes changed.
    fn take_in(&mut self) -> (BTreeSet<NodeId>, Orders) {
        self.act(|cx| {
            fire_timers(cx);
            let changes = cx.state.take_changes();
            charge_who_runs(cx, &changes.gangs);
            for id in changes.gangs {
                refresh(cx, id);
            }
            changes.nodes
        })
    }

    fn allocate(&mut self) -> Orders {
        self.act(allocate).1
    }

    /// Places what can be placed, and has every bind succeed.
    fn run(&mut self) -> usize {
        let binds = self.allocate().binds;
        for bind in &binds {
            let node = bind.node.clone();
            let outcome = BindOutcome::Bound { node };
            self.tell(Event::BindResult(bind.pod.clone(), outcome));
        }
        self.take_in();
        binds.len()
    }

    fn stage(&self, gang: GangId) -> &Stage {
        self.agenda.note(gang).stage()
    }

    fn is_released(&self, gang: GangId) -> bool {
        self.agenda.note(gang).release().is_some()
    }

    fn pass(&mut self, ms: u64) {
        self.now = self.now + Millis(ms);
    }
}

fn is_parked(stage: &Stage) -> bool {
    matches!(stage, Stage::Parked(_))
}

fn is_queued(stage: &Stage) -> bool {
    matches!(stage, Stage::Queued(_))
}
