//! Which rack a gang goes to of several that would do, however it is written.

use super::near::within;
use super::*;

#[test]
fn a_large_head_is_placed_before_its_many_workers_take_its_room() {
    for topologies in [false, true] {
        let mut story = if topologies {
            Story::with_fabric()
        } else {
            Story::new()
        };
        story.at("a1", 4, "a", "1");
        story.at("a2", 3, "a", "1");
        let subgroup = |name: &str, min| SubgroupSpec {
            name: name.into(),
            min,
            ..SubgroupSpec::default()
        };
        story.define(GangSpec {
            min_available: 4,
            subgroups: vec![subgroup("worker", 3), subgroup("head", 1)],
            ..group("g")
        });
        for (name, of, cpus) in [
            ("w0", "worker", 1),
            ("w1", "worker", 1),
            ("w2", "worker", 1),
            ("h", "head", 4),
        ] {
            let spec = PodSpec {
                subgroup: Some(of.into()),
                ..pod(name, Some("g"), cpus)
            };
            story.submit(spec);
        }
        assert_eq!(story.run().len(), 4);
    }
}

#[test]
fn one_subgroup_of_all_members_is_placed_as_a_gang_without_subgroups() {
    let only = |topology| {
        vec![SubgroupSpec {
            name: "all".into(),
            min: 2,
            topology,
            ..SubgroupSpec::default()
        }]
    };
    let ways = [
        (within(2), Vec::new()),
        (within(2), only(None)),
        (None, only(within(2))),
        (within(2), only(within(2))),
        (None, Vec::new()),
        (None, only(None)),
    ];
    for (topology, subgroups) in ways {
        let mut story = Story::with_fabric();
        for (rack, cpus) in [("1", 6), ("2", 4)] {
            story.at(&format!("{rack}a"), cpus, "b", rack);
            story.at(&format!("{rack}b"), cpus, "b", rack);
        }
        let written = format!("{topology:?} {subgroups:?}");
        let subgroup = subgroups.first().map(|one| one.name.clone());
        story.define(GangSpec {
            min_available: 2,
            topology,
            subgroups,
            ..group("g")
        });
        for name in ["p0", "p1"] {
            let subgroup = subgroup.clone();
            story.submit(PodSpec {
                subgroup,
                ..pod(name, Some("g"), 4)
            });
        }
        let binds = story.run();
        let on: Vec<&str> = binds.iter().map(|bind| bind.node.as_str()).collect();
        assert_eq!(on, ["2a", "2b"], "{written}");
        assert_eq!(story.status("g").max_hops, Some(2), "{written}");
    }
}

#[test]
fn of_racks_in_which_nothing_is_lost_the_one_with_the_fewest_nodes_counts() {
    for in_use in [false, true] {
        let mut story = Story::with_fabric();
        let racks: [(&str, &[i64]); 4] = [
            ("1", &[4, 4, 4, 4]),
            ("2", &[8, 4, 4]),
            ("3", &[8, 8]),
            ("4", &[8, 4, 4]),
        ];
        for (rack, nodes) in racks {
            for (index, cpus) in nodes.iter().enumerate() {
                let name = format!("{rack}-{index}");
                story.at(&name, cpus + i64::from(in_use), "b", rack);
                if in_use {
                    story.pod_of_others_on(&name);
                }
            }
        }
        story.group("g", 4);
        for index in 0..4 {
            story.submit(pod(&format!("p{index}"), Some("g"), 4));
        }
        let binds = story.run();
        let on: Vec<&str> = binds.iter().map(|bind| bind.node.as_str()).collect();
        assert_eq!(on, ["3-0", "3-0", "3-1", "3-1"]);
    }
}
