//! An instance as a cluster, in which the scheduler's own search finds places.

use super::instances::{Amounts, Instance};
use muster::core::framework::{Context, Plugin, Profile, Score};
use muster::core::placement::Demand;
use muster::core::placement::Placer;
use muster::core::plugins::registry::default_profile;
use muster::core::state::{ClusterState, NodeId, NodeSet};
use muster::core::transaction::Statement;
use muster::model::PackingCounts;
use muster::model::units::Time;
use muster::model::{
    Event, GangKey, GangRef, GangSpace, GangSpec, NodeSpec, PodKey, PodSpec, ShapeSpec,
};
use muster_exact::{Layout, Load};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What came of it.
pub(crate) struct Found {
    /// What is lost; `None` if the gang found no place.
    pub(crate) lost: Option<i128>,
    pub(crate) counts: PackingCounts,
}

fn key(name: String) -> PodKey {
    PodKey {
        namespace: "ns".into(),
        uid: name.clone(),
        name,
    }
}

fn shape(one: &Amounts) -> ShapeSpec {
    ShapeSpec {
        requests: vec![("cpu".into(), one.cpu), ("memory".into(), one.mib << 20)],
        ..ShapeSpec::default()
    }
}

fn tell(state: &mut ClusterState, instance: &Instance) {
    for (index, node) in instance.nodes.iter().enumerate() {
        let name = format!("n{index:03}");
        let allocatable = vec![
            ("cpu".into(), node.size.cpu),
            ("memory".into(), node.size.mib << 20),
            ("pods".into(), 110),
        ];
        let spec = NodeSpec {
            name: name.clone(),
            allocatable,
            ..NodeSpec::default()
        };
        state.apply(Time::ZERO, Event::is(spec));
        if node.used.cpu > 0 {
            let pod = PodSpec {
                key: key(format!("used-{index}")),
                node: Some(name),
                shape: shape(&node.used),
                ..PodSpec::default()
            };
            state.apply(Time::ZERO, Event::is(pod));
        }
    }
}

/// `Packing` under another name: with it, members are placed one by one and that is all, unless they
/// would be refused.
struct OneByOne(Arc<dyn Score>);

impl Plugin for OneByOne {
    fn name(&self) -> &'static str {
        "OneByOne"
    }
}

impl Score for OneByOne {
    fn score(&self, cx: &Context<'_>, nodes: &NodeSet, scores: &mut Vec<i64>) {
        self.0.score(cx, nodes, scores);
    }
}

/// Has members placed one after the other.
pub(crate) fn place_one_by_one(instance: &Instance) -> Found {
    let mut profile = default_profile();
    for one in &mut profile.score {
        one.plugin = Arc::new(OneByOne(Arc::clone(&one.plugin)));
    }
    place_by(instance, &profile)
}

/// Has the scheduler place the gang.
pub(crate) fn place(instance: &Instance) -> Found {
    place_by(instance, &default_profile())
}

fn place_by(instance: &Instance, profile: &Profile) -> Found {
    let mut state = ClusterState::default();
    tell(&mut state, instance);
    let gang = GangKey {
        namespace: "ns".into(),
        space: GangSpace::Named,
        name: "g".into(),
    };
    let needed = instance.members.iter().map(|(_, count)| count).sum();
    let spec = GangSpec {
        key: gang.clone(),
        uid: "g".into(),
        min_available: needed,
        ..GangSpec::default()
    };
    state.apply(Time::ZERO, Event::is(spec));
    let mut classes = BTreeMap::new();
    for (class, (request, count)) in instance.members.iter().enumerate() {
        for index in 0..*count {
            let pod = PodSpec {
                key: key(format!("m{class:02}-{index:03}")),
                ours: true,
                gang: GangRef::Named {
                    space: GangSpace::Named,
                    name: "g".into(),
                },
                shape: shape(request),
                ..PodSpec::default()
            };
            let name = pod.key.clone();
            state.apply(Time::ZERO, Event::is(pod));
            classes.insert(state.find_pod(&name).expect("it was told"), class);
        }
    }
    // What resources are worth follows from what the nodes offer.
    state.settle();
    let gang = state.find_gang(&gang).expect("it was told");
    let demand = Demand::minimum(&state, gang);
    let mut placer = Placer::default();
    placer.begin_cycle(&state);
    let mut statement = Statement::new(&mut state);
    let found = placer.place(&mut statement, profile, gang, &demand);
    let mut lost = None;
    if found.is_ok() {
        let mut on: BTreeMap<_, Vec<u32>> = BTreeMap::new();
        for one in statement.assumed() {
            let empty = || vec![0; instance.members.len()];
            on.entry(one.node).or_insert_with(empty)[classes[&one.pod]] += 1;
        }
        lost = Some(lost_by(instance, statement.state(), &on));
    }
    drop(statement);
    state.audit().expect("the state is as it was");
    Found {
        lost,
        counts: placer.packing_counts(),
    }
}

/// What a placement loses, found out without the scheduler.
fn lost_by(instance: &Instance, state: &ClusterState, on: &BTreeMap<NodeId, Vec<u32>>) -> i128 {
    // Every node is a class of its own here.
    let mut problem = instance.problem();
    let mut layout = Layout::new();
    problem.nodes.clear();
    for (node, members) in on {
        let name = state.nodes().name(*node);
        let index: usize = name[1..].parse().expect("a number");
        let one = Instance {
            nodes: vec![instance.nodes[index]],
            members: instance.members.clone(),
        };
        problem.nodes.extend(one.problem().nodes);
        layout.push(Load {
            class: problem.nodes.len() - 1,
            members: members.clone(),
        });
    }
    assert!(
        problem.holds(&layout),
        "what was placed does not fit: {layout:?}"
    );
    problem.cost(&layout).lost
}
