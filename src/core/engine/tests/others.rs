//! Topologies of other projects: HyperNodes by their members, and which topology counts for whom.

use super::*;
use muster_model::{
    HYPER_NODES, HyperNodeSpec, Labels, Level, NamePattern, NodeChoice, NodeSpec, Origin,
    TopologySpec, TopologyWish,
};
use proptest::prelude::*;

/// A HyperNode of nodes.
fn leaf(name: &str, tier: u32, nodes: &[&str]) -> HyperNodeSpec {
    let nodes = nodes.iter().map(|node| NodeChoice::Named((*node).into()));
    HyperNodeSpec {
        name: name.into(),
        tier,
        nodes: nodes.collect(),
        ..HyperNodeSpec::default()
    }
}

/// A HyperNode of HyperNodes.
fn over(name: &str, tier: u32, members: &[&str]) -> HyperNodeSpec {
    HyperNodeSpec {
        members: members.iter().map(|one| (*one).into()).collect(),
        ..leaf(name, tier, &[])
    }
}

/// A HyperNode of the nodes whose names begin so.
fn prefixed(name: &str, tier: u32, prefix: &'static str) -> HyperNodeSpec {
    let pattern = NamePattern::new(prefix, move |name| name.starts_with(prefix));
    HyperNodeSpec {
        nodes: vec![NodeChoice::Like(pattern)],
        ..leaf(name, tier, &[])
    }
}

/// A HyperNode of the nodes with this label.
fn labelled(name: &str, tier: u32, value: &str) -> HyperNodeSpec {
    let requirements = vec![LabelRequirement {
        key: "rack".into(),
        holds: LabelCondition::In(vec![value.into()]),
    }];
    HyperNodeSpec {
        nodes: vec![NodeChoice::Labelled(LabelSelector { requirements })],
        ..leaf(name, tier, &[])
    }
}

fn racked(name: &str, rack: &str) -> NodeSpec {
    NodeSpec {
        labels: Labels::from([("rack".to_owned(), rack.to_owned())]),
        ..node(name, 1)
    }
}

/// A topology by a label.
fn by_label(origin: Origin, name: &str, label: &str) -> TopologySpec {
    TopologySpec {
        name: name.into(),
        origin,
        uid: name.into(),
        levels: vec![Level {
            label: label.into(),
            hops: 2,
            ..Level::default()
        }],
        ..TopologySpec::default()
    }
}

fn at_most(tier: u32) -> Option<TopologyWish> {
    Some(TopologyWish {
        name: Some(HYPER_NODES.into()),
        highest_tier: Some(tier),
        ..TopologyWish::default()
    })
}

impl Story {
    fn hyper_node(&mut self, spec: HyperNodeSpec) {
        self.tell(Event::is(spec));
    }

    fn topology(&mut self, spec: TopologySpec) {
        self.tell(Event::is(spec));
    }

    /// A gang of pods of one CPU each.
    fn alike(&mut self, name: &str, pods: u32, topology: Option<TopologyWish>) {
        self.define(GangSpec {
            min_available: pods,
            topology,
            ..group(name)
        });
        for index in 0..pods {
            self.pod(&format!("{name}-{index}"), Some(name));
        }
    }

    /// What is newly said to be odd about HyperNodes.
    fn doubt(&mut self) -> Option<String> {
        let effects = self.later(0).effects.into_iter();
        let mut doubts = effects.filter_map(|effect| match effect {
            Effect::TopologyDoubt(doubt) => Some(doubt.message),
            _ => None,
        });
        let first = doubts.next();
        assert_eq!(doubts.next(), None, "it is said once");
        first
    }

    /// Two pairs of nodes, in a HyperNode each, and one of both.
    fn with_pairs() -> Self {
        let mut story = Self::new();
        for name in ["a1", "b1", "a2", "b2"] {
            story.node(name, 1);
        }
        story.hyper_node(over("all", 2, &["a", "b"]));
        story.hyper_node(leaf("a", 1, &["a1", "a2"]));
        story.hyper_node(leaf("b", 1, &["b1", "b2"]));
        story
    }
}

fn nodes(binds: &[Bind]) -> Vec<&str> {
    let mut nodes: Vec<&str> = binds.iter().map(|bind| bind.node.as_str()).collect();
    nodes.sort_unstable();
    nodes
}

#[test]
fn the_members_of_a_gang_are_in_the_lowest_tier_that_holds_them() {
    let mut story = Story::with_pairs();
    story.alike("g", 2, None);
    assert_eq!(nodes(&story.run()), ["a1", "a2"]);
    assert_eq!(story.status("g").max_hops, Some(2));
    let mut story = Story::with_pairs();
    story.alike("g", 3, None);
    assert_eq!(story.run().len(), 3);
    assert_eq!(story.status("g").max_hops, Some(4));
}

#[test]
fn a_gang_waits_for_room_in_the_highest_tier_it_allows() {
    let mut story = Story::with_pairs();
    story.alike("g", 3, at_most(1));
    assert!(story.run().is_empty());
    assert_eq!(
        story.why("g"),
        "Unschedulable: 2 of 3 members fit in one tier-1 of Topology volcano:hypernodes, the most in \
         tier-2=all,tier-1=a; pod g-2: 0/2 nodes are available: 2 Insufficient cpu. (closest is node \
         a1, short of 1 cpu)"
    );
    story.hyper_node(leaf("a", 1, &["a1", "a2", "b1"]));
    assert_eq!(nodes(&story.run()), ["a1", "a2", "b1"]);
}

#[test]
fn a_tier_between_two_that_there_are_is_the_lower_one() {
    let mut story = Story::with_pairs();
    story.hyper_node(over("all", 4, &["a", "b"]));
    story.alike("g", 3, at_most(3));
    assert!(story.run().is_empty());
    story.alike("h", 3, at_most(4));
    assert_eq!(story.run().len(), 3);
    assert_eq!(story.status("h").max_hops, Some(8));
}

#[test]
fn beyond_the_highest_tier_the_whole_cluster_is_near_enough() {
    let mut story = Story::with_pairs();
    story.node("outside", 1);
    story.alike("g", 5, at_most(2));
    assert!(story.run().is_empty());
    story.alike("h", 5, at_most(3));
    assert_eq!(story.run().len(), 5);
    assert_eq!(story.status("h").max_hops, None);
}

#[test]
fn below_the_lowest_tier_only_a_single_node_is_near_enough() {
    let mut story = Story::with_pairs();
    story.node("wide", 2);
    story.alike("g", 2, at_most(0));
    assert_eq!(nodes(&story.run()), ["wide", "wide"]);
}

#[test]
fn a_tier_may_be_called_by_its_name() {
    let mut story = Story::with_pairs();
    let wish = |name: &str| {
        Some(TopologyWish {
            name: Some(HYPER_NODES.into()),
            required_level: Some(name.into()),
            ..TopologyWish::default()
        })
    };
    story.alike("g", 3, wish("spine"));
    assert!(story.run().is_empty());
    assert_eq!(
        story.why("g"),
        "LevelNotFound: Topology volcano:hypernodes has no level spine; its levels are tier-2, tier-1"
    );
    story.hyper_node(HyperNodeSpec {
        tier_name: Some("spine".into()),
        ..over("all", 2, &["a", "b"])
    });
    assert_eq!(story.run().len(), 3);
}

#[test]
fn a_node_may_be_in_a_higher_tier_only() {
    let mut story = Story::with_pairs();
    story.node("loose", 2);
    let mut all = over("all", 2, &["a", "b"]);
    all.nodes.push(NodeChoice::Named("loose".into()));
    story.hyper_node(all);
    story.alike("g", 6, at_most(2));
    assert_eq!(story.run().len(), 6);
    assert_eq!(story.status("g").max_hops, Some(4));
}

#[test]
fn members_may_be_listed_by_nodes_at_every_tier() {
    let mut story = Story::new();
    for name in ["a1", "a2", "b1"] {
        story.node(name, 1);
    }
    story.hyper_node(leaf("all", 2, &["a1", "a2", "b1"]));
    story.hyper_node(prefixed("a", 1, "a"));
    story.alike("g", 2, None);
    assert_eq!(nodes(&story.run()), ["a1", "a2"]);
    story.alike("h", 1, at_most(2));
    assert_eq!(nodes(&story.run()), ["b1"]);
}

#[test]
fn a_label_that_comes_later_makes_a_member() {
    let mut story = Story::new();
    story.hyper_node(labelled("r1", 1, "1"));
    story.tell(Event::is(racked("n1", "1")));
    story.tell(Event::is(racked("n2", "2")));
    story.alike("g", 2, at_most(1));
    assert!(story.run().is_empty());
    story.tell(Event::is(racked("n2", "1")));
    assert_eq!(story.run().len(), 2);
    story.tell(Event::Gone(ObjectKey::Node("n2".into())));
    assert_eq!(story.status("g").max_hops, None, "one of them is nowhere");
}

#[test]
fn a_hyper_node_that_goes_takes_its_domain_with_it() {
    let mut story = Story::with_pairs();
    for name in ["a", "b"] {
        story.tell(Event::Gone(ObjectKey::HyperNode(name.into())));
    }
    story.alike("g", 2, at_most(2));
    assert!(story.run().is_empty());
    story.tell(Event::Gone(ObjectKey::HyperNode("all".into())));
    assert!(story.run().is_empty());
    assert_eq!(
        story.why("g"),
        "TopologyNotFound: Topology \"volcano:hypernodes\" does not exist"
    );
    story.alike("h", 2, None);
    assert_eq!(story.run().len(), 2);
}

#[test]
fn who_may_make_others_go_looks_again_when_nodes_change_their_domain() {
    let mut story = Story::new();
    for name in ["a1", "b1"] {
        story.node(name, 1);
    }
    story.hyper_node(leaf("a", 1, &["a1"]));
    story.hyper_node(leaf("b", 1, &["b1"]));
    story.alike("low", 1, None);
    story.alike("lower", 1, None);
    assert_eq!(story.run().len(), 2);
    story.pass(60_000);
    story.alike("high", 2, at_most(1));
    story.define(GangSpec {
        min_available: 2,
        priority: Some(10),
        topology: at_most(1),
        ..group("high")
    });
    let (_, evictions) = story.step();
    assert!(evictions.is_empty(), "it would not help");
    story.hyper_node(leaf("b", 1, &[]));
    story.hyper_node(leaf("a", 1, &["a1", "b1"]));
    let (_, evictions) = story.step();
    assert_eq!(evictions.len(), 2);
}

#[test]
fn circles_and_members_that_are_not_there_are_said_once_and_the_rest_counts() {
    let mut story = Story::with_pairs();
    assert_eq!(story.doubt(), None);
    story.hyper_node(over("all", 2, &["a", "b", "c", "loop", "d"]));
    story.hyper_node(over("loop", 2, &["all"]));
    story.hyper_node(leaf("b", 1, &["b1", "b2", "b3"]));
    assert_eq!(
        story.doubt().as_deref(),
        Some(
            "HyperNode c, a member of all, does not exist (and 1 more like that); HyperNode loop of \
             tier 2 is no member of all of tier 2, although that says so: a member's tier is lower \
             (and 1 more like that); node b3, a member of b, does not exist"
        )
    );
    assert_eq!(story.doubt(), None);
    story.alike("g", 4, at_most(2));
    assert_eq!(story.run().len(), 4);
    story.hyper_node(over("all", 2, &["a", "b"]));
    story.tell(Event::Gone(ObjectKey::HyperNode("loop".into())));
    assert_eq!(
        story.doubt().as_deref(),
        Some("node b3, a member of b, does not exist")
    );
    story.node("b3", 1);
    assert_eq!(story.doubt(), None);
    story.tell(Event::Gone(ObjectKey::Node("b3".into())));
    assert!(story.doubt().is_some(), "it came back");
}

#[test]
fn of_two_hyper_nodes_of_a_tier_the_first_counts() {
    let mut story = Story::with_pairs();
    story.hyper_node(leaf("b", 1, &["a2", "b1", "b2"]));
    assert_eq!(
        story.doubt().as_deref(),
        Some("node a2 is in two HyperNodes of tier 1, a and b: the first counts")
    );
    story.alike("g", 3, at_most(1));
    assert!(story.run().is_empty());
    let odd = "fit in one tier-1 of Topology volcano:hypernodes (where node a2 is in two HyperNodes of \
               tier 1, a and b: the first counts), the most in tier-2=all,tier-1=a;";
    assert!(story.why("g").contains(odd), "{}", story.why("g"));
    story.tell(Event::Gone(ObjectKey::HyperNode("a".into())));
    assert_eq!(nodes(&story.run()), ["a2", "b1", "b2"]);
}

#[test]
fn a_tier_beyond_the_sixteen_lowest_does_not_count() {
    let mut story = Story::new();
    story.node("n1", 1);
    for tier in 1..=17 {
        story.hyper_node(leaf(&format!("t{tier}"), tier, &["n1"]));
    }
    let doubt = story.doubt().unwrap();
    assert_eq!(
        doubt,
        "tier 17 is beyond the 16 lowest: its HyperNodes do not count"
    );
}

#[test]
fn ours_counts_for_who_names_none_whatever_others_have() {
    let mut story = Story::new();
    for (name, rack) in [("a", "1"), ("b", "2"), ("c", "2")] {
        story.tell(Event::is(racked(name, rack)));
    }
    story.topology(by_label(Origin::Muster, "racks", "rack"));
    story.topology(by_label(Origin::Kueue, "kueue:odd", "odd"));
    story.hyper_node(leaf("s", 1, &["a", "b"]));
    story.alike("g", 2, None);
    assert_eq!(nodes(&story.run()), ["b", "c"]);
    assert_eq!(story.status("g").max_hops, Some(2));
    let of_others = story.scheduler.state().topologies();
    assert_eq!(of_others.count(), 1);
}

#[test]
fn without_one_of_ours_the_only_one_of_others_counts_for_who_names_none() {
    let mut story = Story::new();
    for (name, rack) in [("a", "1"), ("b", "2"), ("c", "2"), ("d", "1")] {
        story.tell(Event::is(racked(name, rack)));
    }
    story.topology(by_label(Origin::Kueue, "kueue:racks", "rack"));
    story.alike("g", 2, None);
    story.run();
    assert_eq!(story.status("g").max_hops, Some(2));
    story.topology(by_label(Origin::Kai, "kai:racks", "rack"));
    assert_eq!(story.status("g").max_hops, None, "there are two");
    let wish = TopologyWish {
        name: Some("kai:racks".into()),
        required_level: Some("rack".into()),
        ..TopologyWish::default()
    };
    story.alike("h", 2, Some(wish));
    assert_eq!(story.run().len(), 2);
    assert_eq!(story.status("h").max_hops, Some(2));
    story.tell(Event::Gone(ObjectKey::Topology("kai:racks".into())));
    assert_eq!(story.status("g").max_hops, Some(2));
}

#[test]
fn one_of_others_that_cannot_be_valid_says_so_to_who_names_it() {
    let mut story = Story::new();
    story.node("n", 1);
    story.topology(TopologySpec {
        invalid: Some("spec.levels[1].nodeLabel: a is twice there".into()),
        ..by_label(Origin::Kueue, "kueue:bad", "a")
    });
    let wish = TopologyWish {
        name: Some("kueue:bad".into()),
        max_hops: Some(2),
        ..TopologyWish::default()
    };
    story.alike("g", 1, Some(wish));
    let doubt = story.doubt().unwrap();
    assert_eq!(doubt, "spec.levels[1].nodeLabel: a is twice there");
    assert_eq!(
        story.why("g"),
        "TopologyNotReady: Topology \"kueue:bad\" is not Ready: spec.levels[1].nodeLabel: a is twice \
         there"
    );
}

#[test]
fn who_only_prefers_hyper_nodes_does_not_wait_for_them() {
    let soft = TopologyWish {
        name: Some(HYPER_NODES.into()),
        if_there: true,
        ..TopologyWish::default()
    };
    let mut story = Story::new();
    for (name, rack) in [("a", "1"), ("b", "2"), ("c", "2")] {
        story.tell(Event::is(racked(name, rack)));
    }
    story.topology(by_label(Origin::Muster, "racks", "rack"));
    story.alike("g", 2, Some(soft.clone()));
    assert_eq!(nodes(&story.run()), ["b", "c"], "as if it wished nothing");
    let mut story = Story::with_pairs();
    story.topology(by_label(Origin::Muster, "racks", "rack"));
    story.alike("g", 2, Some(soft));
    assert_eq!(nodes(&story.run()), ["a1", "a2"]);
}

#[test]
fn what_is_declared_as_it_was_costs_no_cycle() {
    let mut story = Story::with_pairs();
    story.later(0);
    story.hyper_node(leaf("a", 1, &["a1", "a2"]));
    story.tell(Event::Gone(ObjectKey::HyperNode("never".into())));
    assert!(!story.scheduler.wants_cycle());
    story.hyper_node(leaf("a", 1, &["a1"]));
    assert!(story.scheduler.wants_cycle());
}

#[test]
fn thousands_of_hyper_nodes_cost_what_they_change() {
    let mut scheduler = Scheduler::default();
    let mut tell = |event| scheduler.apply(Time::ZERO, event);
    for index in 0..4_000 {
        tell(Event::is(racked(
            &format!("n{index}"),
            &format!("{}", index / 2),
        )));
    }
    let leaves: Vec<String> = (0..2_000).map(|index| format!("leaf-{index}")).collect();
    let leaves: Vec<&str> = leaves.iter().map(String::as_str).collect();
    tell(Event::is(over("top", 2, &leaves)));
    for (index, name) in leaves.iter().enumerate() {
        let spec = labelled(name, 1, &index.to_string());
        tell(Event::is(spec));
    }
    let topologies = scheduler.state().topologies();
    let network = topologies.get(topologies.only().unwrap()).unwrap();
    assert_eq!(network.network().nodes(), 4_000);
    let before = network.network().version();
    let moved = racked("n0", "7");
    scheduler.apply(Time::ZERO, Event::is(moved));
    let topologies = scheduler.state().topologies();
    let network = topologies.get(topologies.only().unwrap()).unwrap();
    assert_eq!(
        network.network().version(),
        before + 1,
        "one node changed its place"
    );
}

/// A change of a small world of HyperNodes.
#[derive(Clone, Debug)]
enum Change {
    Node(u8, u8),
    NodeGone(u8),
    HyperNode(u8, u8, Vec<u8>, Vec<u8>, u8),
    HyperNodeGone(u8),
}

fn change() -> impl Strategy<Value = Change> {
    let few = || prop::collection::vec(0..6_u8, 0..4);
    prop_oneof![
        2 => (0..6_u8, 0..3_u8).prop_map(|(node, rack)| Change::Node(node, rack)),
        1 => (0..6_u8).prop_map(Change::NodeGone),
        4 => (0..6_u8, 0..4_u8, few(), few(), 0..4_u8)
            .prop_map(|(name, tier, nodes, members, rack)| {
                Change::HyperNode(name, tier, nodes, members, rack)
            }),
        1 => (0..6_u8).prop_map(Change::HyperNodeGone),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Each event is followed by an audit, which makes everything anew and compares.
    #[test]
    fn hyper_nodes_that_come_change_and_go_leave_what_they_would_make_anew(
        changes in prop::collection::vec(change(), 1..30),
    ) {
        let mut story = Story::new();
        for change in changes {
            match change {
                Change::Node(node, rack) => {
                    story.tell(Event::is(racked(&format!("n{node}"), &rack.to_string())));
                }
                Change::NodeGone(node) => story.tell(Event::Gone(ObjectKey::Node(format!("n{node}")))),
                Change::HyperNode(name, tier, nodes, members, rack) => {
                    let nodes: Vec<String> = nodes.iter().map(|one| format!("n{one}")).collect();
                    let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
                    let members = members.iter().map(|one| format!("h{one}"));
                    let mut spec = leaf(&format!("h{name}"), tier.into(), &nodes);
                    spec.members = members.collect();
                    match rack {
                        0 => spec.nodes.extend(labelled("", 0, "1").nodes),
                        1 => spec.nodes.extend(prefixed("", 0, "n3").nodes),
                        _ => {}
                    }
                    story.hyper_node(spec);
                }
                Change::HyperNodeGone(name) => {
                    story.tell(Event::Gone(ObjectKey::HyperNode(format!("h{name}"))));
                }
            }
        }
    }
}

#[test]
fn a_label_is_a_topology_as_long_as_a_node_has_it() {
    let mut story = Story::new();
    story.tell(Event::is(TopologySpec::by_label("rack")));
    story.tell(Event::is(node("nowhere", 4)));
    story.define(GangSpec {
        min_available: 2,
        topology: Some(TopologyWish::of_label("rack")),
        ..group("g")
    });
    story.pod("p0", Some("g"));
    story.pod("p1", Some("g"));
    let nobody = "TopologyNotFound: no node has the label rack";
    assert!(story.run().is_empty());
    assert_eq!(story.why("g"), nobody);
    story.tell(Event::is(racked("a0", "a")));
    assert!(story.run().is_empty());
    let short = story.why("g");
    assert!(
        short.starts_with("Unschedulable: 1 of 2 members fit in one rack, the most in rack=a; "),
        "{short}"
    );
    story.tell(Event::is(node("a0", 1)));
    assert!(story.run().is_empty());
    assert_eq!(story.why("g"), nobody);
    for name in ["a0", "a1"] {
        story.tell(Event::is(racked(name, "a")));
    }
    let on: BTreeSet<String> = story.run().into_iter().map(|bind| bind.node).collect();
    assert_eq!(on, ["a0", "a1"].map(str::to_owned).into());
}
