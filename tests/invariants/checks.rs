//! What must hold after every cycle, and when nothing is left to decide.

use crate::world::World;
use muster::model::explanation::{Explained, GangExplanation};
use muster::model::{Effect, GangKey, GangPhase, Plan};

impl World {
    /// No bind in a plan may put a node over what it offers, or go to one that is not there.
    pub(crate) fn check_capacity(&self, plan: &Plan) {
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
            let request = state.find_pod(&bind.pod).and_then(|id| state.shape_of(id));
            let request = &request.expect("known").request;
            // A node may have lost what others have of it.
            for (dimension, _) in request.iter() {
                // Room that is held may be taken still by those who are leaving.
                let held = state.pods().filter(|(_, pod)| pod.nominated == Some(node));
                let held = held.filter_map(|(id, _)| state.shape_of(id));
                let mut held: i64 = held.map(|shape| shape.request.get(dimension)).sum();
                let awaited = state.all_held().filter(|(_, held)| held.awaits);
                let awaited = awaited.filter_map(|(_, held)| held.on.get(&node));
                held += awaited.map(|room| room.get(dimension)).sum::<i64>();
                assert!(
                    state.nodes().free(node, dimension) + held >= 0,
                    "{bind:?} over-commits"
                );
            }
        }
    }

    /// After a plan, no gang has members on their way to nodes without a minimum in sight.
    pub(crate) fn check_all_or_nothing(&self, plan: &Plan) {
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

    /// Every gang has an answer to why it is where it is, and the first sentence is its condition.
    pub(crate) fn check_explanations(&self) {
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
    pub(crate) fn hear_explained(&mut self) {
        let mut known = self.explained.take().unwrap_or_default();
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
        self.explained = Some(known);
    }

    /// Who is told of what changed knows of every PodGroup what would be said now.
    pub(crate) fn check_explained(&self) {
        let Some(known) = &self.explained else {
            return;
        };
        let gangs: Vec<&GangKey> = known.keys().collect();
        let state = self.scheduler.state();
        let groups = state.gangs().map(|(_, gang)| gang);
        let groups = groups
            .filter(|gang| !gang.is_single())
            .map(|gang| &gang.key);
        let mut groups: Vec<&GangKey> = groups.chain(state.groups_of_others()).collect();
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
            assert_eq!(known.not_ours, now.not_ours, "{key}");
        }
    }

    pub(crate) fn check_nobody_is_partly_bound(&self) {
        let state = self.scheduler.state();
        for (_, gang) in state.gangs() {
            assert!(!gang.is_partly_bound(), "{} is partly bound", gang.key);
        }
    }

    /// Nothing is left to do, and nobody got his place only because everybody was tried again.
    pub(crate) fn check_rest(&mut self) {
        assert_eq!(self.cycle().effects, vec![]);
        assert!(!self.scheduler.wants_cycle());
        assert_eq!(self.scheduler.stats().sweep_rescues, 0);
    }
}
