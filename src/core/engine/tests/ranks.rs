//! Gangs whose members are numbered: who is next to whom.

use super::*;
use muster_model::Neighbours;
use muster_model::{HOSTNAME, Labels, Level, NodeSpec, Rank, TopologySpec};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn ranked(name: &str, group: &str, cpus: i64, rank: u32) -> PodSpec {
    PodSpec {
        rank: Rank::new("", 0, rank),
        ..pod(name, Some(group), cpus)
    }
}

impl Story {
    /// Racks of nodes: `r1a`, `r1b` ... with so many CPUs each.
    fn with_racks(racks: &[&str], nodes: &str, cpus: i64) -> Self {
        let mut story = Self::new();
        let level = |label: &str, hops| Level {
            aliases: Vec::new(),
            label: label.into(),
            hops,
        };
        story.tell(Event::is(TopologySpec {
            name: "fabric".into(),
            levels: vec![level("rack", 2), level(HOSTNAME, 0)],
            ..TopologySpec::default()
        }));
        for rack in racks {
            for letter in nodes.chars() {
                story.tell(Event::is(NodeSpec {
                    labels: Labels::from_iter([("rack".to_owned(), (*rack).to_owned())]),
                    ..node(&format!("{rack}{letter}"), cpus)
                }));
            }
        }
        story
    }

    /// Where the pods of these names are.
    fn places(&self, names: &[String]) -> Vec<String> {
        let state = self.scheduler.state();
        let on = |name: &String| {
            let key = pod(name, None, 1).key;
            let found = state
                .find_pod(&key)
                .and_then(|id| state.pod(id)?.place.node());
            found.map_or_else(String::new, |node| state.nodes().name(node).to_owned())
        };
        names.iter().map(on).collect()
    }
}

fn named(count: u32) -> Vec<String> {
    (0..count).map(|index| format!("p{index}")).collect()
}

/// What was said of a placement's ranks.
fn neighbours(plan: &Plan) -> Vec<Option<Neighbours>> {
    let outcomes = plan.decisions.iter().filter_map(|one| match &one.outcome {
        Outcome::Placed { ranks, .. } => Some(*ranks),
        _ => None,
    });
    outcomes.collect()
}

#[test]
fn indices_follow_the_racks_and_pairs_the_nodes() {
    // Neither nodes nor pods come in their order, and a rack of ten is after a rack of two.
    let mut story = Story::with_racks(&["r10", "r2"], "ba", 2);
    story.group("g", 8);
    for rank in (0..8).rev() {
        story.submit(ranked(&format!("p{rank}"), "g", 1, rank));
    }
    let plan = story.later(0);
    let on = ["r2a", "r2a", "r2b", "r2b", "r10a", "r10a", "r10b", "r10b"];
    assert_eq!(story.places(&named(8)), on);
    // Two in a pair are on one node, 2 hops lie between pairs of a rack, and nothing says how far
    // it is from rack to rack.
    assert_eq!(neighbours(&plan), [None]);
}

#[test]
fn the_hops_between_neighbours_are_told() {
    let mut story = Story::with_racks(&["r1"], "abc", 2);
    story.group("g", 5);
    for rank in (0..5).rev() {
        story.submit(ranked(&format!("p{rank}"), "g", 1, rank));
    }
    let plan = story.later(0);
    assert_eq!(neighbours(&plan), [Some(Neighbours { hops: 4, pairs: 4 })]);
    // One that comes later makes a pair with the one before it.
    story.submit(ranked("p5", "g", 1, 5));
    let plan = story.later(0);
    assert_eq!(neighbours(&plan), [Some(Neighbours { hops: 0, pairs: 1 })]);
    // And a gang without ranks has none to tell.
    let mut story = Story::with_racks(&["r1"], "abc", 2);
    story.group("g", 2);
    story.pod("p0", Some("g"));
    story.pod("p1", Some("g"));
    assert_eq!(neighbours(&story.later(0)), [None]);
}

#[test]
fn the_minimum_of_a_gang_is_its_lowest_ranks() {
    let mut story = Story::with_racks(&["r1"], "a", 2);
    story.group("g", 2);
    for rank in [5, 1, 3, 0, 4] {
        story.submit(ranked(&format!("p{rank}"), "g", 1, rank));
    }
    let binds = story.run();
    assert_eq!(names(&binds), ["p0", "p1"]);
    // What grows beyond it grows by rank, too.
    story.node("more", 1);
    assert_eq!(names(&story.run()), ["p3"]);
}

#[test]
fn who_has_no_rank_is_before_those_who_have_one_and_among_its_like_by_creation() {
    let mut story = Story::with_racks(&["r1"], "a", 3);
    story.group("g", 3);
    story.submit(ranked("p0", "g", 1, 0));
    story.submit(ranked("p1", "g", 1, 1));
    story.pod("head", Some("g"));
    story.pod("side", Some("g"));
    assert_eq!(names(&story.run()), ["head", "side", "p0"]);
}

#[test]
fn ranks_say_who_of_equal_pods_is_first_and_not_who_is_before_others() {
    let mut story = Story::new();
    story.group("g", 1);
    story.node("n", 7);
    story.pod("first", Some("g"));
    assert_eq!(names(&story.run()), ["first"]);
    // A small one was created before the large ones, and the large ones have the lower ranks.
    let mut pods = Vec::new();
    for (name, cpus, rank) in [("s7", 1, 7), ("l1", 2, 1), ("l0", 2, 0), ("s9", 1, 9)] {
        story.pass(1_000);
        pods.push(PodSpec {
            created: story.now,
            ..ranked(name, "g", cpus, rank)
        });
    }
    for pod in pods {
        story.submit(pod);
    }
    assert_eq!(names(&story.run()), ["s7", "l0", "l1", "s9"]);
}

#[test]
fn two_who_replace_others_take_the_places_near_their_neighbours() {
    let mut story = Story::with_racks(&["r2", "r1"], "dcba", 1);
    story.group("g", 8);
    let pods: Vec<PodKey> = (0..8)
        .map(|rank| story.submit(ranked(&format!("p{rank}"), "g", 1, rank)))
        .collect();
    assert_eq!(story.run().len(), 8);
    let on = ["r1a", "r1b", "r1c", "r1d", "r2a", "r2b", "r2c", "r2d"];
    assert_eq!(story.places(&named(8)), on);
    for rank in [1_usize, 6] {
        story.tell(Event::Gone(ObjectKey::Pod(pods[rank].clone())));
    }
    for rank in [6, 1] {
        let mut again = ranked(&format!("p{rank}"), "g", 1, rank);
        again.key.uid += "-again";
        story.submit(again);
    }
    assert_eq!(story.run().len(), 2);
    let places = |story: &Story| {
        let state = story.scheduler.state();
        let mut places: Vec<_> = state
            .pods()
            .map(|(_, pod)| (pod.key.name.clone(), pod.place.node().unwrap()))
            .map(|(name, node)| (name, state.nodes().name(node).to_owned()))
            .collect();
        places.sort();
        places.into_iter().map(|(_, node)| node).collect::<Vec<_>>()
    };
    assert_eq!(places(&story), on);
}

#[test]
fn a_rank_that_is_edited_counts_from_then_on() {
    let mut story = Story::with_racks(&["r1"], "a", 1);
    story.group("g", 1);
    let full = story.submit(PodSpec {
        ours: false,
        node: Some("r1a".into()),
        ..pod("other", None, 1)
    });
    story.submit(ranked("p0", "g", 1, 0));
    story.submit(ranked("p1", "g", 1, 1));
    assert!(story.run().is_empty());
    story.submit(ranked("p0", "g", 1, 2));
    story.tell(Event::Gone(ObjectKey::Pod(full)));
    assert_eq!(names(&story.run()), ["p1"]);
    // Of a pod that has its node, too.
    story.submit(ranked("p1", "g", 1, 3));
}

#[test]
fn of_equal_surplus_the_highest_rank_goes_first() {
    let mut story = Story::with_racks(&["r1"], "a", 4);
    story.define(GangSpec {
        min_available: 2,
        ..group("g")
    });
    // The lowest rank was made anew, and is the latest.
    for rank in [1, 3, 2, 0] {
        story.pass(1_000);
        story.submit(PodSpec {
            created: story.now,
            ..ranked(&format!("p{rank}"), "g", 1, rank)
        });
    }
    assert_eq!(story.run().len(), 4);
    story.pass(3_600_000);
    let mut gone = Vec::new();
    for name in ["first", "second"] {
        story.group(name, 1);
        story.pod(name, Some(name));
        let (_, evictions) = story.step();
        for evict in evictions {
            gone.push(evict.pod.name.clone());
            story.tell(Event::EvictResult(
                evict.pod.clone(),
                EvictOutcome::Accepted,
            ));
            story.tell(Event::Gone(ObjectKey::Pod(evict.pod)));
        }
        assert_eq!(story.run().len(), 1);
    }
    assert_eq!(gone, ["p3", "p2"]);
}

#[test]
fn a_place_that_was_planned_is_taken_in_the_order_of_ranks() {
    let mut story = Story::with_racks(&["r2", "r1"], "ba", 1);
    for name in ["r1a", "r1b", "r2a", "r2b"] {
        story.define(GangSpec {
            min_available: 1,
            priority: Some(0),
            ..group(name)
        });
        story.pod(&format!("of-{name}"), Some(name));
    }
    assert_eq!(story.run().len(), 4);
    story.define(GangSpec {
        min_available: 4,
        priority: Some(9),
        ..group("g")
    });
    for rank in [3, 0, 2, 1] {
        story.submit(ranked(&format!("p{rank}"), "g", 1, rank));
    }
    let (binds, evictions) = story.step();
    assert_eq!((binds.len(), evictions.len()), (0, 4));
    for evict in evictions {
        story.tell(Event::EvictResult(
            evict.pod.clone(),
            EvictOutcome::Accepted,
        ));
        story.tell(Event::Gone(ObjectKey::Pod(evict.pod)));
    }
    assert_eq!(story.run().len(), 4);
    assert_eq!(story.places(&named(4)), ["r1a", "r1b", "r2a", "r2b"]);
}

#[test]
fn a_place_that_was_reserved_is_taken_in_the_order_of_ranks() {
    let mut story = Story::with_racks(&["r2", "r1"], "ba", 1);
    let ends: Vec<PodKey> = (0..4)
        .map(|index| {
            story.submit(PodSpec {
                lifetime: Some(Millis(60_000)),
                ..pod(&format!("early-{index}"), None, 1)
            })
        })
        .collect();
    assert_eq!(story.run().len(), 4);
    story.group("g", 4);
    for rank in [3, 0, 2, 1] {
        story.submit(ranked(&format!("p{rank}"), "g", 1, rank));
    }
    assert!(story.run().is_empty());
    let start = story.scheduler.estimated_start(&key("g"));
    assert_eq!(start, Some(Time(60_000)));
    story.pass(60_000);
    for pod in ends {
        story.tell(Event::Gone(ObjectKey::Pod(pod)));
    }
    assert_eq!(story.run().len(), 4);
    assert_eq!(story.places(&named(4)), ["r1a", "r1b", "r2a", "r2b"]);
}

/// The pods of two gangs of two tenants in their order, and what ranks the first of them says.
fn gangs() -> impl Strategy<Value = Vec<(bool, Option<u32>)>> {
    let rank = prop::option::weighted(0.8, prop_oneof![0..12_u32, Just(Rank::MAX)]);
    prop::collection::vec((any::<bool>(), rank), 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn what_a_tenant_writes_as_ranks_changes_nothing_but_who_of_its_equal_pods_goes_where(
        pods in gangs(),
        minima in (0..6_u32, 0..6_u32),
        cpus in (1..3_i64, 1..3_i64),
    ) {
        let play = |with_ranks: bool| {
            let mut story = Story::with_racks(&["r1", "r2"], "ab", 3);
            story.group("g", minima.0.max(1));
            story.group("h", minima.1.max(1));
            for (index, (own, rank)) in pods.iter().enumerate() {
                let (of, cpus) = if *own { ("g", cpus.0) } else { ("h", cpus.1) };
                let rank = rank.filter(|_| *own && with_ranks);
                story.submit(PodSpec {
                    rank: rank.and_then(|rank| Rank::new("", 0, rank)),
                    ..pod(&format!("{of}{index}"), Some(of), cpus)
                });
            }
            let (mut own, mut others) = (BTreeMap::new(), Vec::new());
            for bind in story.run() {
                if bind.pod.name.starts_with('g') {
                    *own.entry(bind.node).or_insert(0) += 1;
                } else {
                    others.push((bind.pod, bind.node));
                }
            }
            (own, others)
        };
        prop_assert_eq!(play(true), play(false));
    }
}
