//! The workloads are what they are said to be, and what is measured of them is right.

use super::cluster::{BLOCK, RACK, amount};
use super::workloads::World;
use super::*;
use muster_model::units::Time;
use std::collections::BTreeSet;

fn worlds() -> [World; 3] {
    Workload::ALL.map(|one| one.world(7, 6))
}

#[test]
fn the_same_seed_draws_the_same_workload() {
    for workload in Workload::ALL {
        let scenario = |seed| workload.world(seed, 2).scenario();
        assert_eq!(scenario(3), scenario(3));
        assert_ne!(scenario(3), scenario(4), "{}", workload.name());
    }
}

#[test]
fn what_arrives_asks_for_so_much_of_the_scarce_resource_at_any_time() {
    for world in worlds() {
        let total = f64::from(u32::try_from(world.cluster.total(world.resource)).unwrap());
        for quarter in 1..=4_u64 {
            let upto = Time(world.until.0 * quarter / 4);
            let jobs = world.jobs.iter().filter(|job| job.at < upto);
            let asked = |job: &workloads::Job| {
                let each = amount(&job.request, world.resource) as f64;
                each * f64::from(job.pods) * job.runs.0 as f64
            };
            let demand = jobs.map(asked).sum::<f64>() / (total * upto.0 as f64);
            // The last gang may reach beyond the time.
            assert!((1.08..1.15).contains(&demand), "{demand}");
        }
        assert!(world.jobs.is_sorted_by_key(|job| job.at));
    }
}

#[test]
fn gangs_of_whole_nodes_are_bound_to_the_narrowest_domain_that_could_hold_them() {
    let [world, ..] = worlds();
    assert_eq!(world.cluster.nodes.len(), 1_024);
    let labels = |level: &str| {
        let nodes = world.cluster.nodes.iter();
        nodes
            .map(|node| node.labels[level].clone())
            .collect::<BTreeSet<_>>()
            .len()
    };
    assert_eq!((labels(RACK), labels(BLOCK)), (128, 16));
    let sizes: BTreeSet<u32> = world.jobs.iter().map(|job| job.pods).collect();
    assert_eq!(sizes.first(), Some(&1));
    // Few are that large.
    assert!(sizes.last().is_some_and(|last| (50..=64).contains(last)));
    for job in &world.jobs {
        let (level, hops) = match job.pods {
            1 => (RACK, 0),
            2..=8 => (RACK, 2),
            _ => (BLOCK, 4),
        };
        assert_eq!((job.level, job.min), (Some(level), job.pods));
        let fewest = world.cluster.fewest_hops(&job.request, u64::from(job.pods));
        assert_eq!(fewest, Some(hops));
        // Each pod takes a whole node.
        assert_eq!(amount(&job.request, "cpu"), 32_000);
        assert!((20_000..=3_000_000).contains(&job.runs.0));
        assert!(job.lifetime >= job.runs && job.lifetime.0 <= 2 * job.runs.0);
    }
    let sum: u32 = world.jobs.iter().map(|job| job.pods).sum();
    let mean = f64::from(sum) / world.jobs.len() as f64;
    // That of a geometric distribution of mean 16 that is cut at 64.
    assert!((13.5..15.5).contains(&mean), "{mean}");
}

#[test]
fn the_mixed_workload_has_four_types_of_nodes_and_about_as_much_cpu_work_as_cores() {
    let [_, world, _] = worlds();
    let types: BTreeSet<_> = world
        .cluster
        .nodes
        .iter()
        .map(|one| &one.allocatable)
        .collect();
    assert_eq!(types.len(), 4);
    let cores = world.jobs.iter().map(|job| {
        let each = amount(&job.request, "cpu") as f64;
        each * f64::from(job.pods) * job.runs.0 as f64
    });
    let part = cores.sum::<f64>() / (world.cluster.total("cpu") as f64 * world.until.0 as f64);
    assert!((0.95..1.05).contains(&part), "{part}");
    assert!(world.jobs.iter().any(workloads::Job::is_single));
}

#[test]
fn elastic_gangs_have_up_to_four_times_their_minimum() {
    let [.., world] = worlds();
    let times: BTreeSet<u32> = world.jobs.iter().map(|job| job.pods / job.min).collect();
    assert_eq!(times, BTreeSet::from([1, 2, 4]));
}

#[test]
fn the_hops_of_the_tree_are_those_of_the_levels() {
    let [world, ..] = worlds();
    let hops = |names: &[usize]| {
        let nodes: Vec<_> = names.iter().map(|at| &world.cluster.nodes[*at]).collect();
        world.cluster.hops(&nodes)
    };
    assert_eq!(hops(&[]), None);
    assert_eq!(hops(&[5, 5]), Some(0));
    assert_eq!(hops(&[0, 7]), Some(2));
    assert_eq!(hops(&[0, 7, 8]), Some(4));
    assert_eq!(hops(&[63, 64]), Some(6));
}
