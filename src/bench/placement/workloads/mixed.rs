//! Pods and gangs with and without GPUs on four types of nodes.

use super::super::cluster::{Cluster, Kind};
use super::draw::Draw;
use super::{GPU, Job, World, arrivals, offers, resources};
use muster_model::units::Time;

/// 96 nodes for CPU work, 32 with much memory, 64 with four GPUs and 64 with eight; nothing but requests
/// keeps CPU work off the nodes with GPUs. GPU work asks for 110 % of the GPUs: pods with one to eight of
/// them, gangs of two to eight pods with eight each, and gangs of small workers. CPU work asks for
/// 60 % of the cores, so that all together ask for about as many cores as there are. No limits: gangs go as
/// near to each other as there is room.
pub(super) fn world(draw: &mut Draw, until: Time) -> World {
    let kind = |name, racks, offers| Kind {
        name,
        racks,
        offers,
    };
    let kinds = [
        kind("cpu", 6, offers(64, 256, 0)),
        kind("memory", 2, offers(64, 1_024, 0)),
        kind("gpu4", 4, offers(48, 256, 4)),
        kind("gpu8", 4, offers(96, 1_024, 8)),
    ];
    let cluster = Cluster::new(&kinds, 16, 4);
    let (mut with, mut without) = (draw.split(), draw.split());
    let mut jobs = arrivals(&mut with, &cluster, (GPU, 110), until, gpu_job);
    jobs.extend(arrivals(
        &mut without,
        &cluster,
        ("cpu", 60),
        until,
        cpu_job,
    ));
    // Stable: those with GPUs first where both come at once.
    jobs.sort_by_key(|job| job.at);
    World {
        cluster,
        jobs,
        resource: GPU,
        until,
    }
}

/// Pods and how many GPUs each has: 8 cores and 32 GiB for each GPU.
fn gpu_job(draw: &mut Draw) -> Job {
    const SHAPES: [((u32, i64), u64); 9] = [
        ((1, 1), 35),
        ((1, 2), 20),
        ((1, 4), 15),
        ((1, 8), 8),
        ((4, 1), 6),
        ((8, 2), 6),
        ((2, 8), 5),
        ((4, 8), 3),
        ((8, 8), 2),
    ];
    let (pods, gpus) = draw.one_of(&SHAPES, (1, 1));
    job(draw, pods, (8 * gpus, 32 * gpus, gpus))
}

/// A pod, or a gang of eight, of 1 to 32 cores with 2 to 16 GiB for each.
fn cpu_job(draw: &mut Draw) -> Job {
    let cores = draw.one_of(&[(1, 20), (2, 20), (4, 25), (8, 20), (16, 10), (32, 5)], 1);
    let gib = draw.one_of(&[(2, 35), (4, 45), (8, 12), (16, 8)], 4);
    let pods = draw.one_of(&[(1, 90), (8, 10)], 1);
    job(draw, pods, (cores, cores * gib, 0))
}

fn job(draw: &mut Draw, pods: u32, (cores, gib, gpus): (i64, i64, i64)) -> Job {
    let (runs, lifetime) = draw.runs(600, 7_200);
    Job {
        at: Time::ZERO,
        pods,
        min: pods,
        request: resources(cores, gib, gpus),
        runs,
        lifetime,
        level: None,
    }
}
