//! Gangs that grow beyond their minimum while there is room.

use super::super::cluster::{Cluster, Kind};
use super::draw::Draw;
use super::{Job, World, arrivals, offers, resources};
use muster_model::units::Time;

/// 256 nodes of 64 cores in racks of 16. A gang has a minimum of 2 to 64 pods, and one, two or four times
/// as many pods; the largest minimum fills two racks. Who is beyond a minimum makes room for minima
/// that wait, and is made again. What arrives asks for 110 % of the cores, surplus included.
pub(super) fn world(draw: &mut Draw, until: Time) -> World {
    let kinds = [Kind {
        name: "node",
        racks: 16,
        offers: offers(64, 256, 0),
    }];
    let cluster = Cluster::new(&kinds, 16, 4);
    let job = |draw: &mut Draw| {
        const MINIMA: [(u32, u64); 6] = [(2, 25), (4, 25), (8, 20), (16, 15), (32, 10), (64, 5)];
        let min = draw.one_of(&MINIMA, 2);
        let times = draw.one_of(&[(1, 40), (2, 30), (4, 30)], 1);
        let cores = draw.one_of(&[(4, 30), (8, 30), (12, 20), (24, 20)], 8);
        let (runs, lifetime) = draw.runs(600, 7_200);
        Job {
            at: Time::ZERO,
            pods: min * times,
            min,
            request: resources(cores, 4 * cores, 0),
            runs,
            lifetime,
            level: None,
        }
    };
    let jobs = arrivals(draw, &cluster, ("cpu", 110), until, job);
    World {
        cluster,
        jobs,
        resource: "cpu",
        until,
    }
}
