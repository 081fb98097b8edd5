//! Gangs whose members are to be near each other in a network of links.

use super::*;
use muster_model::{HOSTNAME, Labels, Level, Link, NodeSpec, TopologySpec, TopologyWish};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

fn link(a: &str, b: &str, cost: u32) -> Link {
    Link {
        a: a.into(),
        b: b.into(),
        cost,
    }
}

fn linked(links: Vec<Link>) -> TopologySpec {
    TopologySpec {
        name: "net".into(),
        uid: "1".into(),
        links,
        ..TopologySpec::default()
    }
}

fn within(max_hops: u32) -> Option<TopologyWish> {
    Some(TopologyWish {
        max_hops: Some(max_hops),
        ..TopologyWish::default()
    })
}

impl Story {
    fn with(topology: TopologySpec) -> Self {
        let mut story = Self::new();
        story.tell(Event::is(topology));
        story
    }

    /// Pods that take so much of a node, of somebody else.
    fn in_use(&mut self, node: &str, cpus: i64) -> PodKey {
        let usage = PodSpec {
            ours: false,
            node: Some(node.into()),
            ..pod(&format!("used-{node}"), None, cpus)
        };
        self.submit(usage)
    }

    fn near_gang(&mut self, name: &str, members: u32, cpus: i64, most: Option<u32>) {
        self.define(GangSpec {
            min_available: members,
            topology: most.and_then(within),
            ..group(name)
        });
        for index in 0..members {
            self.submit(pod(&format!("{name}-{index}"), Some(name), cpus));
        }
    }

    /// What the condition of the only Topology says now.
    fn topology_says(&mut self) -> (u32, u32, String) {
        let plan = self.later(0);
        let said = plan.effects.into_iter().find_map(|effect| match effect {
            Effect::TopologyStatus(status) => Some(status),
            _ => None,
        });
        let said = said.unwrap();
        (said.nodes, said.outside, said.ready.message)
    }
}

/// The hops between the first so many names, by looking at every way over every name.
fn all_hops(count: usize, names: &[String], links: &[Link]) -> Vec<Vec<u64>> {
    const FAR: u64 = 1 << 40;
    let mut hops = vec![vec![FAR; names.len()]; names.len()];
    let index = |name: &String| names.iter().position(|one| one == name).unwrap();
    for one in links {
        let (a, b) = (index(&one.a), index(&one.b));
        hops[a][b] = hops[a][b].min(u64::from(one.cost));
        hops[b][a] = hops[b][a].min(u64::from(one.cost));
    }
    (0..names.len()).for_each(|one| hops[one][one] = 0);
    for over in 0..names.len() {
        for from in 0..names.len() {
            for to in 0..names.len() {
                let way = hops[from][over] + hops[over][to];
                hops[from][to] = hops[from][to].min(way);
            }
        }
    }
    hops.truncate(count);
    hops
}

/// The fewest hops of a set of nodes with room, by looking at every set; `None`: no set with paths has
/// room.
fn fewest(hops: &[Vec<u64>], free: &[i64], members: u32, cpus: i64) -> Option<u64> {
    let mut best = None;
    for set in 1_u32..1 << free.len() {
        let among: Vec<usize> = (0..free.len()).filter(|one| set >> one & 1 == 1).collect();
        let room: i64 = among.iter().map(|one| free[*one] / cpus).sum();
        if room < i64::from(members) {
            continue;
        }
        let pairs = among
            .iter()
            .flat_map(|one| among.iter().map(|other| hops[*one][*other]));
        let most = pairs.max().unwrap_or(0);
        if most < 1 << 40 && best.is_none_or(|best| most < best) {
            best = Some(most);
        }
    }
    best
}

/// A small network of nodes and switches, and what is on it.
#[derive(Clone, Debug)]
struct World {
    cpus: Vec<(i64, i64)>,
    switches: usize,
    links: Vec<(usize, usize, u32)>,
    members: u32,
    size: i64,
}

impl World {
    fn name(&self, index: usize) -> String {
        if index < self.cpus.len() {
            format!("n{index}")
        } else {
            format!("s{}", index - self.cpus.len())
        }
    }

    fn names(&self) -> Vec<String> {
        let all = 0..self.cpus.len() + self.switches;
        all.map(|index| self.name(index)).collect()
    }

    fn links(&self) -> Vec<Link> {
        let all = self.cpus.len() + self.switches;
        let links = self.links.iter();
        links
            .map(|(a, b, cost)| link(&self.name(a % all), &self.name(b % all), *cost))
            .collect()
    }

    fn free(&self) -> Vec<i64> {
        self.cpus.iter().map(|(cpus, used)| cpus - used).collect()
    }

    fn best(&self) -> Option<u64> {
        let hops = all_hops(self.cpus.len(), &self.names(), &self.links());
        fewest(&hops, &self.free(), self.members, self.size)
    }

    /// The hops of the gang, if it was placed.
    fn play(&self, most: Option<u32>) -> Option<Option<u32>> {
        let mut story = Story::with(linked(self.links()));
        for (index, (cpus, used)) in self.cpus.iter().enumerate() {
            let name = self.name(index);
            story.node(&name, *cpus);
            if *used > 0 {
                story.in_use(&name, *used);
            }
        }
        story.near_gang("g", self.members, self.size, most);
        let binds = story.run();
        assert!(binds.is_empty() || binds.len() == self.members as usize);
        (!binds.is_empty()).then(|| story.status("g").max_hops)
    }
}

fn world() -> impl Strategy<Value = World> {
    let cpus = (1..5_i64, 0..4_i64).prop_map(|(cpus, used)| (cpus, used.min(cpus)));
    let cost = prop_oneof![Just(1_u32), 1..6_u32];
    (
        prop::collection::vec(cpus, 2..9),
        0..4_usize,
        prop::collection::vec((0..12_usize, 0..12_usize, cost), 1..22),
        1..8_u32,
        1..3_i64,
    )
        .prop_map(|(cpus, switches, links, members, size)| World {
            cpus,
            switches,
            links,
            members,
            size,
        })
}

#[test]
fn in_a_graph_the_hops_are_at_most_twice_the_fewest_and_seldom_more_than_these() {
    let mut runner = TestRunner::deterministic();
    let (mut worlds, mut optimal, mut worst) = (0_u32, 0_u32, (1_u64, 1_u64));
    while worlds < 400 {
        let world = world().new_tree(&mut runner).unwrap().current();
        let Some(best) = world.best().filter(|best| *best > 0) else {
            continue;
        };
        worlds += 1;
        let found = world.play(None).flatten();
        let found = u64::from(found.unwrap_or_else(|| panic!("no path is known in {world:?}")));
        assert!(
            found >= best,
            "{found} hops are fewer than {best}: {world:?}"
        );
        assert!(
            found <= 2 * best,
            "{found} hops instead of {best}: {world:?}"
        );
        optimal += u32::from(found == best);
        if found * worst.1 > worst.0 * best {
            worst = (found, best);
        }
        // The cap is kept, and what is within it is found.
        let cap = u32::try_from(best).unwrap();
        assert_eq!(world.play(Some(cap - 1)), None, "{world:?}");
        let most = world.play(Some(2 * cap)).flatten();
        assert!(most.is_some_and(|most| most <= 2 * cap), "{world:?}");
    }
    println!(
        "{optimal} of {worlds} gangs have the fewest hops; the worst has {} instead of {}",
        worst.0, worst.1
    );
    assert!(optimal * 100 >= worlds * 99, "only {optimal} of {worlds}");
}

/// Hosts in racks in blocks.
fn host() -> impl Strategy<Value = (i64, i64, u8, u8)> {
    (1..5_i64, 0..4_i64, 0..3_u8, 0..3_u8)
        .prop_map(|(cpus, used, block, rack)| (cpus, used.min(cpus), block, rack))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_tree_gives_the_same_hops_as_levels_and_as_links(
        hosts in prop::collection::vec(host(), 1..12),
        members in 1..10_u32,
        size in 1..3_i64,
        cap in prop::option::of(0..8_u32),
    ) {
        let level = |label: &str, hops| Level { label: label.into(), hops, ..Level::default() };
        let levels = TopologySpec {
            levels: vec![level("net", 6), level("block", 4), level("rack", 2), level(HOSTNAME, 0)],
            ..linked(Vec::new())
        };
        let mut links = Vec::new();
        for (index, (_, _, block, rack)) in hosts.iter().enumerate() {
            let (block, rack) = (format!("b{block}"), format!("r{block}-{rack}"));
            links.push(link(&format!("n{index}"), &rack, 1));
            links.push(link(&rack, &block, 1));
            links.push(link(&block, "root", 1));
        }
        let mut results = Vec::new();
        for topology in [levels, linked(links)] {
            let mut story = Story::with(topology);
            for (index, (cpus, used, block, rack)) in hosts.iter().enumerate() {
                let labels = [("net", 0), ("block", *block), ("rack", *rack)];
                let labels = labels.map(|(name, value)| (name.to_owned(), value.to_string()));
                let name = format!("n{index}");
                story.tell(Event::is(NodeSpec {
                    labels: Labels::from_iter(labels),
                    ..node(&name, *cpus)
                }));
                if *used > 0 {
                    story.in_use(&name, *used);
                }
            }
            story.near_gang("g", members, size, cap);
            let placed = story.run().len();
            results.push((placed, story.status("g").max_hops));
        }
        prop_assert_eq!(results[0], results[1]);
    }
}

/// A ring of nodes, one hop from each to the next.
fn ring(count: usize) -> Story {
    let next = |index: usize| {
        link(
            &format!("n{index}"),
            &format!("n{}", (index + 1) % count),
            1,
        )
    };
    let mut story = Story::with(linked((0..count).map(next).collect()));
    (0..count).for_each(|index| story.node(&format!("n{index}"), 1));
    story
}

#[test]
fn who_replaces_a_member_is_within_the_cap_of_all_the_others() {
    let mut story = ring(8);
    story.near_gang("g", 3, 1, Some(2));
    let binds = story.run();
    assert_eq!(binds.len(), 3);
    assert_eq!(story.status("g").max_hops, Some(2));
    // The one in the middle goes, and its node with it.
    let mut on: Vec<usize> = binds
        .iter()
        .map(|bind| bind.node[1..].parse().unwrap())
        .collect();
    on.sort_unstable();
    let middle = on.iter().copied().find(|one| {
        on.iter()
            .all(|other| (8 + one - other) % 8 <= 1 || (8 + other - one) % 8 <= 1)
    });
    let middle = format!("n{}", middle.unwrap());
    let gone = binds.iter().find(|bind| bind.node == middle).unwrap();
    story.tell(Event::Gone(ObjectKey::Pod(gone.pod.clone())));
    story.tell(Event::Gone(ObjectKey::Node(middle.clone())));
    story.pod("late", Some("g"));
    assert!(story.run().is_empty(), "only the middle is near both");
    assert!(
        story
            .why("g")
            .contains("0 of 1 members fit within 2 hops in Topology net"),
        "{}",
        story.why("g")
    );
    story.node(&middle, 1);
    assert_eq!(story.run()[0].node, middle);
    assert_eq!(story.status("g").max_hops, Some(2));
}

#[test]
fn members_that_are_nearer_than_the_cap_are_taken_where_there_is_a_choice() {
    let mut story = ring(12);
    for index in [1, 3, 5] {
        story.in_use(&format!("n{index}"), 1);
    }
    story.near_gang("g", 4, 1, Some(6));
    assert_eq!(story.run().len(), 4);
    assert_eq!(story.status("g").max_hops, Some(3));
}

#[test]
fn a_gang_that_fits_nowhere_is_told_what_comes_closest() {
    let mut story = ring(6);
    story.near_gang("g", 5, 1, Some(2));
    assert!(story.run().is_empty());
    assert_eq!(
        story.why("g"),
        "Unschedulable: 3 of 5 members fit within 2 hops in Topology net, the most on 3 nodes around \
         n0; pod g-3: 0/3 nodes are available: 3 Insufficient cpu. (closest is node n0, short of 1 cpu)"
    );
}

#[test]
fn links_have_no_levels() {
    let mut story = ring(3);
    story.define(GangSpec {
        min_available: 1,
        topology: Some(TopologyWish {
            preferred_level: Some("rack".into()),
            ..TopologyWish::default()
        }),
        ..group("g")
    });
    story.pod("p", Some("g"));
    assert!(story.run().is_empty());
    let why = story.why("g");
    assert_eq!(
        why,
        "LevelNotFound: Topology net is made of links and has no level rack"
    );
}

#[test]
fn what_is_odd_about_links_is_said() {
    let links = vec![
        link("s1", "n1", 1),
        link("s1", "n2", 1),
        link("s1", "n2", 3),
        link("s1", "n9", 1),
        link("s2", "n3", 1),
        link("s2", "n4", 1),
        link("s2", "s2", 1),
    ];
    let mut story = Story::with(linked(links));
    for name in ["n1", "n2", "n3", "n4", "n5"] {
        story.node(name, 1);
    }
    let (nodes, outside, words) = story.topology_says();
    assert_eq!((nodes, outside), (4, 1));
    assert_eq!(
        words,
        "1 node without links: near no other; the links are in 2 parts: there is no path from one to \
         another; 1 name with a single link and no node so called (n9): taken for switches; 1 link \
         from a name to itself (s2): of no account; 1 link given again with another cost (s1 - n2): \
         the lowest counts"
    );
    story.node("n9", 1);
    let (nodes, outside, words) = story.topology_says();
    assert_eq!((nodes, outside), (5, 1));
    assert!(!words.contains("n9"), "{words}");
}

#[test]
fn a_link_that_is_added_helps_who_waits() {
    let before = vec![link("s1", "n1", 1), link("s2", "n2", 1)];
    let mut story = Story::with(linked(before.clone()));
    story.node("n1", 1);
    story.node("n2", 1);
    story.near_gang("g", 2, 1, Some(3));
    assert!(story.run().is_empty());
    let after = [before, vec![link("s1", "s2", 1)]].concat();
    story.tell(Event::is(linked(after)));
    assert_eq!(story.run().len(), 2);
    assert_eq!(story.status("g").max_hops, Some(3));
}

#[test]
fn subgroups_are_near_among_themselves_and_the_gang_as_a_whole() {
    // Four switches in a row with two nodes each.
    let mut links = Vec::new();
    for switch in 0..4 {
        for node in 0..2 {
            links.push(link(&format!("s{switch}"), &format!("n{switch}{node}"), 1));
        }
        if switch > 0 {
            links.push(link(&format!("s{}", switch - 1), &format!("s{switch}"), 1));
        }
    }
    let mut story = Story::with(linked(links));
    for switch in 0..4 {
        story.node(&format!("n{switch}0"), 1);
        story.node(&format!("n{switch}1"), 1);
    }
    story.in_use("n10", 1);
    let subgroup = |name: &str| SubgroupSpec {
        name: name.into(),
        min: 2,
        topology: within(2),
        ..SubgroupSpec::default()
    };
    story.define(GangSpec {
        min_available: 4,
        topology: within(3),
        subgroups: vec![subgroup("a"), subgroup("b")],
        ..group("g")
    });
    for (name, of) in [("a0", "a"), ("a1", "a"), ("b0", "b"), ("b1", "b")] {
        story.submit(PodSpec {
            subgroup: Some(of.into()),
            ..pod(name, Some("g"), 1)
        });
    }
    let binds = story.run();
    let mut on: Vec<&str> = binds.iter().map(|bind| bind.node.as_str()).collect();
    on.sort_unstable();
    assert_eq!(on, ["n20", "n21", "n30", "n31"]);
    assert_eq!(story.status("g").max_hops, Some(3));
}
