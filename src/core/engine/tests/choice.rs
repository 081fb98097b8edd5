//! Gangs of several subgroups that are bound to domains: one of all choices of domains is found.

use super::*;
use muster_model::TopologyWish;
use proptest::prelude::*;

/// Members of one subgroup.
#[derive(Clone, Copy, Debug)]
struct Part {
    members: u32,
    cpus: i64,
}

fn within(max_hops: u32) -> Option<TopologyWish> {
    Some(TopologyWish {
        max_hops: Some(max_hops),
        ..TopologyWish::default()
    })
}

impl Story {
    /// A gang whose parts are no further apart than this, each by itself; and how many more than their
    /// minima it needs.
    fn parts(&mut self, parts: &[Part], max_hops: u32, more: u32) {
        let subgroup = |(index, part): (usize, &Part)| SubgroupSpec {
            name: format!("s{index}"),
            min: part.members,
            topology: within(max_hops),
            ..SubgroupSpec::default()
        };
        self.define(GangSpec {
            min_available: parts.iter().map(|part| part.members).sum::<u32>() + more,
            subgroups: parts.iter().enumerate().map(subgroup).collect(),
            ..group("g")
        });
        for (index, part) in parts.iter().enumerate() {
            for member in 0..part.members + more {
                self.submit(PodSpec {
                    subgroup: Some(format!("s{index}")),
                    ..pod(&format!("s{index}-{member}"), Some("g"), part.cpus)
                });
            }
        }
    }
}

/// Whether the parts fit into domains with so much room, by trying every choice.
fn fit(parts: &[Part], rooms: &mut [i64]) -> bool {
    let Some((first, others)) = parts.split_first() else {
        return true;
    };
    let takes = i64::from(first.members) * first.cpus;
    (0..rooms.len()).any(|index| {
        rooms[index] -= takes;
        let fits = rooms[index] >= 0 && fit(others, rooms);
        rooms[index] += takes;
        fits
    })
}

fn parts(cpus: impl Strategy<Value = i64>) -> impl Strategy<Value = Vec<Part>> {
    let part = (1..5_u32, cpus).prop_map(|(members, cpus)| Part { members, cpus });
    prop::collection::vec(part, 2..6)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn equal_members_find_racks_wherever_a_choice_of_racks_holds_them(
        racks in prop::collection::vec(prop::collection::vec(1..4_i64, 1..4), 1..6),
        parts in parts(Just(1)),
    ) {
        let mut story = Story::with_fabric();
        for (rack, nodes) in racks.iter().enumerate() {
            for (index, cpus) in nodes.iter().enumerate() {
                story.at(&format!("n{rack}-{index}"), *cpus, "b", &rack.to_string());
            }
        }
        story.parts(&parts, 2, 0);
        let mut rooms: Vec<i64> = racks.iter().map(|nodes| nodes.iter().sum()).collect();
        let fits = fit(&parts, &mut rooms);
        prop_assert_eq!(!story.run().is_empty(), fits);
        prop_assert_eq!(story.scheduler.stats().choices_cut, 0);
    }

    #[test]
    fn unequal_members_find_nodes_wherever_a_choice_of_nodes_holds_them(
        mut nodes in prop::collection::vec(1..9_i64, 1..7),
        parts in parts(1..4_i64),
    ) {
        let mut story = Story::with_fabric();
        for (index, cpus) in nodes.iter().enumerate() {
            story.at(&format!("n{index}"), *cpus, "b", &(index % 2).to_string());
        }
        story.parts(&parts, 0, 0);
        let fits = fit(&parts, &mut nodes);
        prop_assert_eq!(!story.run().is_empty(), fits);
        prop_assert_eq!(story.scheduler.stats().choices_cut, 0);
    }
}

#[test]
fn a_subgroup_comes_back_on_its_choice_for_the_sake_of_the_others() {
    let mut story = Story::with_fabric();
    // 6 = 3 + 3 and 7 = 4 + 3 is the only way, and the tightest room for the 4 is that of 6.
    story.at("a", 6, "b", "1");
    story.at("b", 7, "b", "2");
    let of = |members| Part { members, cpus: 1 };
    story.parts(&[of(4), of(3), of(3), of(3)], 0, 0);
    assert_eq!(story.run().len(), 13);
}

#[test]
fn who_is_bound_to_no_domain_is_thought_of_as_well() {
    let mut story = Story::with_fabric();
    story.at("a1", 2, "b", "1");
    story.at("b1", 3, "b", "2");
    let named = |name: &str, min, topology| SubgroupSpec {
        name: name.into(),
        min,
        topology,
        ..SubgroupSpec::default()
    };
    story.define(GangSpec {
        min_available: 4,
        subgroups: vec![named("near", 2, within(0)), named("large", 1, None)],
        ..group("g")
    });
    // The pair takes the tighter node of two, where the large one would have had to go.
    let sized = |name: &str, of: &str, cpus| PodSpec {
        subgroup: Some(of.into()),
        ..pod(name, Some("g"), cpus)
    };
    story.submit(sized("n0", "near", 1));
    story.submit(sized("n1", "near", 1));
    let mut large = sized("l", "large", 2);
    large.shape.constraints.selector = [("rack".to_owned(), "1".to_owned())].into();
    story.submit(large);
    story.submit(sized("n2", "near", 1));
    assert_eq!(story.run().len(), 4);
}

#[test]
fn a_search_that_is_cut_short_is_counted() {
    let mut story = Story::with_fabric();
    // Twenty-four subgroups of different sizes, each of which has room on any of twelve nodes, and all
    // together have a little too little: no small number of choices proves that.
    let parts: Vec<Part> = (0..24)
        .map(|index| Part {
            members: 1,
            cpus: 31 + index,
        })
        .collect();
    for index in 0..12 {
        story.at(
            &format!("n{index}"),
            84 + index % 3,
            "b",
            &index.to_string(),
        );
    }
    story.parts(&parts, 0, 0);
    assert!(story.run().is_empty());
    assert!(story.scheduler.stats().choices_cut > 0);
}
