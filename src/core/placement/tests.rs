//! What is kept between placements says what looking at all nodes anew says.

mod spreading;

use super::*;
use crate::framework::{Context, Plugin, Profile, Score, Weighted};
use crate::plugins::registry::{default_profile, kubernetes_profile, scores};
use crate::state::{ClusterState, NodeId, NodeSet};
use domain::Domain;
use muster_model::ObjectKey;
use muster_model::units::Time;
use muster_model::{
    Event, HostPort, Labels, NodeImage, NodeSpec, Operator, PodKey, PodSpec, Preferences,
    Preferred, Protocol, Requirement, ShapeSpec, Taint, TaintEffect, Term,
};
use proptest::prelude::*;
use std::sync::Arc;

/// A score that does not say what it depends on, so that nothing of it is kept.
struct Unkept(Arc<dyn Score>);

impl Plugin for Unkept {
    fn name(&self) -> &'static str {
        self.0.name()
    }
}

impl Score for Unkept {
    fn score(&self, cx: &Context<'_>, nodes: &NodeSet, scores: &mut Vec<i64>) {
        self.0.score(cx, nodes, scores);
    }

    fn has_scale(&self) -> bool {
        self.0.has_scale()
    }

    fn on_scale(&self, cx: &Context<'_>, node: NodeId) -> i64 {
        self.0.on_scale(cx, node)
    }

    fn normalize(&self, scores: &mut [i64]) {
        self.0.normalize(scores);
    }
}

/// The default profile with these scores, by name.
fn scored_by(chosen: &[(&str, i64)]) -> Profile {
    let known = scores();
    let score = |(name, weight): &(&str, i64)| Weighted {
        plugin: Arc::clone(known.iter().find(|one| one.name() == *name).unwrap()),
        weight: *weight,
    };
    Profile {
        score: chosen.iter().map(score).collect(),
        ..default_profile()
    }
}

/// A profile with nothing of its scores kept.
fn unkept(mut profile: Profile) -> Profile {
    for one in &mut profile.score {
        *one = Weighted {
            plugin: Arc::new(Unkept(Arc::clone(&one.plugin))),
            weight: one.weight,
        };
    }
    profile
}

#[derive(Clone, Debug)]
enum Step {
    Node {
        name: u8,
        cpus: i64,
        red: bool,
        cordoned: bool,
    },
    NodeGone(u8),
    Usage {
        pod: u8,
        cpus: i64,
    },
    UsageGone(u8),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0..12_u8, 0..5_i64, any::<bool>(), prop::bool::weighted(0.2)).prop_map(
            |(name, cpus, red, cordoned)| Step::Node { name, cpus, red, cordoned }),
        1 => (0..12_u8).prop_map(Step::NodeGone),
        4 => (0..20_u8, 1..4_i64).prop_map(|(pod, cpus)| Step::Usage { pod, cpus }),
        2 => (0..20_u8).prop_map(Step::UsageGone),
    ]
}

fn key(name: String) -> PodKey {
    PodKey {
        namespace: "n".to_owned(),
        uid: name.clone(),
        name,
    }
}

fn color(red: bool) -> Labels {
    let color = if red { "red" } else { "blue" };
    Labels::from_iter([("color".to_owned(), color.to_owned())])
}

fn cpus(count: i64) -> ShapeSpec {
    ShapeSpec {
        requests: vec![("cpu".to_owned(), count * 1_000)],
        ..ShapeSpec::default()
    }
}

fn port_80() -> Vec<HostPort> {
    vec![HostPort {
        ip: String::new(),
        protocol: Protocol::Tcp,
        port: 80,
    }]
}

/// Pods of different shapes that wait.
fn waiting() -> Vec<PodSpec> {
    let mut red = cpus(1);
    red.constraints.selector = color(true);
    let mut port = cpus(1);
    port.host_ports = port_80();
    let mut fond = cpus(1);
    fond.preferences = Preferences {
        images: vec!["work:1".to_owned()],
        unsaid: [100, 1 << 20],
        ..Preferences::default()
    };
    let mut prefers = cpus(1);
    prefers.preferences.nodes.push(Preferred {
        weight: 3,
        term: Term {
            labels: vec![Requirement {
                key: "color".to_owned(),
                operator: Operator::In,
                values: vec!["red".to_owned()],
            }],
            fields: Vec::new(),
        },
    });
    let shapes = [cpus(1), cpus(3), red, port, fond, prefers];
    let pod = |(index, shape)| PodSpec {
        key: key(format!("waits-{index}")),
        ours: true,
        shape,
        ..PodSpec::default()
    };
    shapes.into_iter().enumerate().map(pod).collect()
}

fn soft_taint(there: bool) -> Vec<Taint> {
    let taint = Taint {
        key: "soft".to_owned(),
        value: String::new(),
        effect: TaintEffect::PreferNoSchedule,
    };
    if there { vec![taint] } else { Vec::new() }
}

fn image(there: bool, size: u8) -> Vec<NodeImage> {
    let image = NodeImage {
        name: "work:1".to_owned(),
        size: i64::from(size) * (100 << 20),
    };
    if there { vec![image] } else { Vec::new() }
}

fn event(step: &Step) -> Event {
    match *step {
        Step::Node {
            name,
            cpus,
            red,
            cordoned,
        } => {
            let mut node = NodeSpec {
                name: format!("node-{name}"),
                labels: color(red),
                unschedulable: cordoned,
                allocatable: vec![("cpu".to_owned(), cpus * 1_000), ("pods".to_owned(), 4)],
                ..NodeSpec::default()
            };
            node.taints = soft_taint(cpus == 4);
            node.images = image(cpus % 2 == 1, name);
            Event::is(node)
        }
        Step::NodeGone(name) => Event::Gone(ObjectKey::Node(format!("node-{name}"))),
        Step::Usage { pod, cpus: count } => {
            let mut shape = cpus(count);
            if pod % 5 == 0 {
                shape.host_ports = port_80();
            }
            Event::is(PodSpec {
                key: key(format!("usage-{pod}")),
                node: Some(format!("node-{}", pod % 12)),
                shape,
                ..PodSpec::default()
            })
        }
        Step::UsageGone(pod) => Event::Gone(ObjectKey::Pod(key(format!("usage-{pod}")))),
    }
}

proptest! {
    #[test]
    fn rankings_and_refusals_say_what_looking_at_all_nodes_says(
        steps in prop::collection::vec(step(), 1..80),
    ) {
        let profiles = [
            default_profile(),
            scored_by(&[("LeastAllocated", 1)]),
            scored_by(&[("Packing", 2), ("LeastAllocated", 3), ("MostAllocated", 1)]),
            kubernetes_profile(),
        ];
        let profiles = profiles.map(|kept| (kept.clone(), unkept(kept)));
        let mut state = ClusterState::default();
        for pod in waiting() {
            state.apply(Time::ZERO, Event::is(pod));
        }
        let pods: Vec<_> = waiting().iter().filter_map(|pod| state.find_pod(&pod.key)).collect();
        // A placer is of one profile.
        let mut placers = [(); 4].map(|()| Placer::default());
        for step in steps {
            state.apply(Time::ZERO, event(&step));
            for ((kept, unkept), placer) in profiles.iter().zip(&mut placers) {
                placer.begin_cycle(&state);
                for pod in &pods {
                    let best = placer.best_node(&state, kept, *pod, &Domain::Everywhere);
                    let scanned = placer.best_node(&state, unkept, *pod, &Domain::Everywhere);
                    prop_assert_eq!(best, scanned);
                    let told = placer.explain(&state, kept, *pod);
                    let asked = diagnose(&state, kept, placer.store(), *pod);
                    prop_assert_eq!(told, Some(asked));
                }
            }
        }
    }
}

/// The node for a pod of a CPU: `empty` and `half` and `nearly` full ones of eight CPUs, and `large` with
/// half of 16.
fn chosen(scores: &[(&str, i64)]) -> String {
    let mut state = ClusterState::default();
    for (name, offered, used) in [
        ("empty", 8, 0),
        ("half", 8, 4),
        ("nearly", 8, 7),
        ("large", 16, 8),
    ] {
        state.apply(
            Time::ZERO,
            Event::is(NodeSpec {
                name: name.to_owned(),
                allocatable: vec![("cpu".to_owned(), offered * 1_000), ("pods".to_owned(), 10)],
                ..NodeSpec::default()
            }),
        );
        if used > 0 {
            let usage = PodSpec {
                key: key(format!("on-{name}")),
                node: Some(name.to_owned()),
                shape: cpus(used),
                ..PodSpec::default()
            };
            state.apply(Time::ZERO, Event::is(usage));
        }
    }
    let pod = PodSpec {
        key: key("waits".to_owned()),
        ours: true,
        shape: cpus(1),
        ..PodSpec::default()
    };
    state.apply(Time::ZERO, Event::is(pod.clone()));
    let pod = state.find_pod(&pod.key).unwrap();
    let mut placer = Placer::default();
    placer.begin_cycle(&state);
    let node = placer.best_node(&state, &scored_by(scores), pod, &Domain::Everywhere);
    state.nodes().name(node.unwrap()).to_owned()
}

#[test]
fn packing_fills_and_spreading_takes_the_emptiest() {
    assert_eq!(chosen(&[("Packing", 1)]), "nearly");
    assert_eq!(chosen(&[("MostAllocated", 1)]), "nearly");
    assert_eq!(chosen(&[("LeastAllocated", 1)]), "empty");
}

#[test]
fn a_mix_by_weight_spreads_over_the_nodes_in_use_before_it_opens_one() {
    // The example of docs/configuration.md: opened is a node when those in use are half full.
    let mix = |packing, spreading| chosen(&[("Packing", packing), ("LeastAllocated", spreading)]);
    assert_eq!(mix(2, 3), "large");
    // The weights count: with little for packing it spreads, with much it packs.
    assert_eq!(mix(1, 10), "empty");
    assert_eq!(mix(10, 1), "nearly");
}
