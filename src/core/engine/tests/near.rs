//! Gangs whose members are to be near each other.

use super::*;
use muster_model::explanation::{NearLimit, Thousandths};
use muster_model::resources::CORE;
use muster_model::{HOSTNAME, Labels, Level, NodeSpec, TopologySpec, TopologyWish};
use proptest::prelude::*;

fn level(label: &str, hops: u32) -> Level {
    Level {
        label: label.into(),
        hops,
        ..Level::default()
    }
}

/// Blocks of racks.
fn fabric() -> TopologySpec {
    TopologySpec {
        name: "fabric".into(),
        uid: "1".into(),
        levels: vec![level("block", 4), level("rack", 2), level(HOSTNAME, 0)],
        ..TopologySpec::default()
    }
}

pub(super) fn within(max_hops: u32) -> Option<TopologyWish> {
    Some(TopologyWish {
        max_hops: Some(max_hops),
        ..TopologyWish::default()
    })
}

fn placed_at(name: &str, cpus: i64, block: &str, rack: &str) -> NodeSpec {
    NodeSpec {
        labels: Labels::from_iter([
            ("block".to_owned(), block.to_owned()),
            ("rack".to_owned(), rack.to_owned()),
        ]),
        ..node(name, cpus)
    }
}

impl Story {
    pub(super) fn with_fabric() -> Self {
        let mut story = Self::new();
        story.tell(Event::is(fabric()));
        story
    }

    /// What the next cycle says of a topology.
    fn topology_status(&mut self) -> TopologyStatus {
        let effects = self.later(0).effects.into_iter();
        let mut said = effects.filter_map(|effect| match effect {
            Effect::TopologyStatus(status) => Some(status),
            _ => None,
        });
        said.next().unwrap()
    }

    pub(super) fn at(&mut self, name: &str, cpus: i64, block: &str, rack: &str) {
        self.tell(Event::is(placed_at(name, cpus, block, rack)));
    }
}

/// What a topology is made of, for a world of few nodes.
#[derive(Clone, Debug)]
struct Host {
    cpus: i64,
    used: i64,
    block: u8,
    rack: u8,
    labelled: bool,
}

fn host() -> impl Strategy<Value = Host> {
    (
        1..5_i64,
        0..4_i64,
        0..2_u8,
        0..3_u8,
        prop::bool::weighted(0.9),
    )
        .prop_map(|(cpus, used, block, rack, labelled)| Host {
            cpus,
            used: used.min(cpus),
            block,
            rack,
            labelled,
        })
}

/// The hops between two hosts, by the labels alone.
fn hops(one: &Host, other: &Host) -> Option<u32> {
    if !one.labelled || !other.labelled || one.block != other.block {
        return None;
    }
    Some(if one.rack == other.rack { 2 } else { 4 })
}

/// The fewest hops by looking at every set of hosts; `Some(None)`: only where nothing says how far it
/// is.
fn fewest(hosts: &[Host], members: u32, cpus: i64) -> Option<Option<u32>> {
    let mut best: Option<Option<u32>> = None;
    for set in 1_u32..1 << hosts.len() {
        let among: Vec<&Host> = (0..hosts.len())
            .filter(|index| set >> index & 1 == 1)
            .map(|index| &hosts[index])
            .collect();
        let room: i64 = among.iter().map(|one| (one.cpus - one.used) / cpus).sum();
        if room < i64::from(members) {
            continue;
        }
        let mut most = Some(0);
        for (index, one) in among.iter().enumerate() {
            for other in &among[index + 1..] {
                most = most.and_then(|most: u32| Some(most.max(hops(one, other)?)));
            }
        }
        best = Some(match (best, most) {
            (None | Some(None), most) => most,
            (Some(known), None) => known,
            (Some(Some(known)), Some(most)) => Some(known.min(most)),
        });
    }
    best
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn the_hops_are_the_fewest_there_are(
        hosts in prop::collection::vec(host(), 1..8),
        members in 1..6_u32,
        cpus in 1..3_i64,
        cap in prop::option::of(0..6_u32),
    ) {
        let mut story = Story::with_fabric();
        for (index, host) in hosts.iter().enumerate() {
            let name = format!("n{index}");
            if host.labelled {
                let (block, rack) = (host.block.to_string(), host.rack.to_string());
                story.at(&name, host.cpus, &block, &rack);
            } else {
                story.node(&name, host.cpus);
            }
            if host.used > 0 {
                let usage = PodSpec {
                    ours: false,
                    node: Some(name.clone()),
                    ..pod(&format!("used-{index}"), None, host.used)
                };
                story.submit(usage);
            }
        }
        story.define(GangSpec {
            min_available: members,
            topology: cap.and_then(within),
            ..group("g")
        });
        for index in 0..members {
            story.submit(pod(&format!("g-{index}"), Some("g"), cpus));
        }
        let binds = story.run();
        let best = fewest(&hosts, members, cpus);
        let allowed = best.filter(|best| match cap {
            Some(cap) => best.is_some_and(|best| best <= cap),
            None => true,
        });
        prop_assert_eq!(binds.len(), if allowed.is_some() { members as usize } else { 0 });
        if let Some(best) = allowed {
            prop_assert_eq!(story.status("g").max_hops, best);
        }
    }
}

#[test]
fn a_rack_of_the_same_name_in_another_block_is_another_rack() {
    let mut story = Story::with_fabric();
    story.at("a1", 1, "a", "1");
    story.at("b1", 1, "b", "1");
    story.define(GangSpec {
        min_available: 2,
        topology: within(4),
        ..group("g")
    });
    story.pod("p0", Some("g"));
    story.pod("p1", Some("g"));
    let said = story.topology_status();
    assert_eq!((said.nodes, said.outside), (2, 0));
    assert_eq!(said.domains, [2, 2]);
    assert_eq!(
        said.ready.message,
        "rack=1 is in 2 domains of block (a, b): each counts as a domain of its own"
    );
    assert!(story.run().is_empty());
}

#[test]
fn a_node_without_room_for_some_is_one_for_those_who_do() {
    // On one node, of several sorts of members: the sort that is looked at first fits nowhere.
    for order in [["large", "small"], ["small", "large"]] {
        let mut story = Story::with_fabric();
        story.at("n", 2, "x", "1");
        story.define(GangSpec {
            min_available: 1,
            topology: within(0),
            ..group("g")
        });
        for name in order {
            let cpus = if name == "large" { 3 } else { 1 };
            story.submit(pod(name, Some("g"), cpus));
        }
        assert_eq!(names(&story.run()), ["small"], "{order:?}");
    }
}

#[test]
fn a_node_that_is_labelled_later_helps_who_waits() {
    let mut story = Story::with_fabric();
    story.at("a1", 1, "a", "1");
    story.node("a2", 1);
    story.define(GangSpec {
        min_available: 2,
        topology: within(2),
        ..group("g")
    });
    story.pod("p0", Some("g"));
    story.pod("p1", Some("g"));
    assert!(story.run().is_empty());
    assert_eq!(
        story.why("g"),
        "Unschedulable: 1 of 2 members fit in one rack of Topology fabric, the most in \
         block=a,rack=1; pod p1: 0/1 nodes are available: 1 Insufficient cpu. (closest is node a1, \
         short of 1 cpu)"
    );
    story.at("a2", 1, "a", "1");
    assert_eq!(story.run().len(), 2);
    assert_eq!(story.status("g").max_hops, Some(2));
}

#[test]
fn who_replaces_a_member_stays_near_the_others() {
    let mut story = Story::with_fabric();
    for (name, block) in [("a1", "a"), ("a2", "a"), ("b1", "b"), ("a3", "a")] {
        story.at(name, 1, block, "1");
    }
    story.define(GangSpec {
        min_available: 2,
        topology: within(2),
        ..group("g")
    });
    story.pod("p0", Some("g"));
    story.pod("p1", Some("g"));
    let binds = story.run();
    story.tell(Event::Gone(ObjectKey::Pod(binds[1].pod.clone())));
    // The one free node that is near is taken: only the far one is left, and then it waits.
    let filler = PodSpec {
        node: Some("a3".into()),
        ours: false,
        ..pod("filler", None, 1)
    };
    let filler = story.submit(filler);
    let other = PodSpec {
        node: Some(binds[1].node.clone()),
        ours: false,
        ..pod("other", None, 1)
    };
    story.submit(other);
    story.pod("p2", Some("g"));
    assert!(story.run().is_empty(), "b1 is free, and too far");
    story.tell(Event::Gone(ObjectKey::Pod(filler)));
    let binds = story.run();
    assert_eq!(binds[0].node, "a3");
}

#[test]
fn who_runs_in_no_common_domain_any_more_is_said_to_be_the_cause() {
    let mut story = Story::with_fabric();
    for name in ["a1", "a2", "a3"] {
        story.at(name, 1, "a", "1");
    }
    let of = |min_available| GangSpec {
        min_available,
        topology: within(2),
        ..group("g")
    };
    story.define(of(2));
    story.pod("p0", Some("g"));
    story.pod("p1", Some("g"));
    let binds = story.run();
    story.at(&binds[1].node, 1, "b", "1");
    story.define(of(3));
    story.pod("p2", Some("g"));
    assert!(story.run().is_empty());
    assert_eq!(
        story.why("g"),
        "Unschedulable: 0 of 1 members fit in one rack of Topology fabric: no such place has all who \
         run already; pod p2: 0/3 nodes are available."
    );
}

#[test]
fn a_topology_of_single_nodes_is_about_all_nodes() {
    let mut story = Story::new();
    story.tell(Event::is(TopologySpec {
        levels: vec![level(HOSTNAME, 0)],
        ..fabric()
    }));
    story.node("n1", 1);
    story.node("n2", 2);
    let said = story.topology_status();
    assert_eq!((said.nodes, said.outside), (2, 0));
    assert_eq!(said.ready.message, "");
    story.define(GangSpec {
        min_available: 2,
        topology: within(0),
        ..group("g")
    });
    story.pod("p0", Some("g"));
    story.pod("p1", Some("g"));
    let binds = story.run();
    assert_eq!((&*binds[0].node, &*binds[1].node), ("n2", "n2"));
}

#[test]
fn a_gang_that_was_released_because_a_node_refused_it_tries_another_rack_first() {
    let mut story = Story::with_fabric();
    for (name, rack) in [("a1", "1"), ("a2", "1"), ("b1", "2"), ("b2", "2")] {
        story.at(name, 1, "a", rack);
    }
    story.define(GangSpec {
        min_available: 2,
        topology: within(2),
        ..group("g")
    });
    story.pod("p0", Some("g"));
    story.pod("p1", Some("g"));
    let mut round = 0;
    let mut ran_at = None;
    for _ in 0..600 {
        let (binds, evictions) = story.step();
        for bind in binds {
            match bind.node.as_str() {
                "a2" => story.refused(&bind),
                _ => story.bound(&bind),
            }
        }
        if !evictions.is_empty() {
            round += 1;
            for member in story
                .scheduler
                .state()
                .pods()
                .map(|(_, pod)| pod.key.clone())
                .collect::<Vec<_>>()
            {
                story.tell(Event::Gone(ObjectKey::Pod(member)));
            }
            story.pod(&format!("p0-{round}"), Some("g"));
            story.pod(&format!("p1-{round}"), Some("g"));
        }
        if story.status("g").bound == 2 {
            ran_at = Some(story.now);
            break;
        }
        story.pass(100);
    }
    assert_eq!(round, 1, "released once");
    assert!(ran_at.is_some());
}

#[test]
fn who_runs_says_what_it_lost_and_had_to_lose() {
    let mut story = Story::new();
    story.node("small", 9);
    story.node("large", 13);
    story.group("g", 3);
    for name in ["p0", "p1", "p2"] {
        story.submit(pod(name, Some("g"), 4));
    }
    let binds = story.run();
    assert!(binds.iter().all(|bind| bind.node == "large"));
    let found = story.scheduler.explain_gang(&key("g"), story.now, 1);
    let packed = found.unwrap().runs.unwrap().packed.unwrap();
    let core = Thousandths::of_worth(CORE);
    assert_eq!((packed.lost, packed.at_least), (core, core));
}

#[test]
fn who_runs_says_how_near_its_members_are_and_what_it_leaves_now() {
    let mut story = Story::with_fabric();
    for (name, rack) in [("a1", "1"), ("a2", "1"), ("a3", "2")] {
        story.at(name, 4, "a", rack);
    }
    story.define(GangSpec {
        min_available: 2,
        topology: within(2),
        ..group("g")
    });
    for name in ["p0", "p1"] {
        story.submit(pod(name, Some("g"), 3));
    }
    let binds = story.run();
    let runs = |story: &Story| {
        let found = story.scheduler.explain_gang(&key("g"), story.now, 1);
        found.unwrap().runs.unwrap()
    };
    let found = runs(&story);
    let near = &found.near[0];
    assert_eq!(
        (near.max_hops, near.domain.as_deref()),
        (Some(2), Some("block=a,rack=1"))
    );
    let limit = NearLimit {
        level: Some("rack".to_owned()),
        max_hops: 2,
    };
    assert_eq!(near.limit, Some(limit));
    let cores = |number| Some(Thousandths::of_worth(number * CORE));
    assert_eq!((found.own_nodes, found.lost_opportunity), (2, cores(2)));
    // Who comes to one of its nodes takes what is free there from what it leaves.
    story.submit(PodSpec {
        ours: false,
        node: Some("a1".into()),
        ..pod("other", None, 1)
    });
    let found = runs(&story);
    assert_eq!((found.own_nodes, found.lost_opportunity), (1, cores(1)));
    // Nobody is near when nobody has a place.
    for bind in &binds {
        story.tell(Event::Gone(ObjectKey::Pod(bind.pod.clone())));
    }
    story.run();
    assert_eq!(story.status("g").max_hops, None);
}

#[test]
fn all_members_of_a_gang_of_which_none_has_a_place_are_no_hops_apart() {
    let mut story = Story::with_fabric();
    story.at("a1", 1, "a", "1");
    let subgroup = |name: &str| SubgroupSpec {
        name: name.into(),
        min: 1,
        ..SubgroupSpec::default()
    };
    story.define(GangSpec {
        min_available: 2,
        topology: within(4),
        subgroups: vec![subgroup("left"), subgroup("right")],
        ..group("g")
    });
    story.run();
    assert_eq!(story.status("g").max_hops, None, "not 0: nobody knows");
}
