//! Gangs of whole nodes on a fat tree.

use super::super::cluster::{BLOCK, Cluster, Kind, RACK};
use super::draw::Draw;
use super::{Job, World, arrivals, offers, resources};
use muster_model::units::Time;

/// Hosts at one switch, and switches in a block: a fat tree of three levels of switches with 16 ports
/// has 16 blocks of 8 x 8 hosts.
const RADIX: usize = 8;
/// Blocks.
const BLOCKS: usize = 2 * RADIX;
/// The largest gang: a block.
const LARGEST: u64 = (RADIX * RADIX) as u64;

/// Sizes fall off exponentially with a mean of 16, but end at 64; run times are from 20 s to 3,000 s, all
/// as likely (as the synthetic trace "Synth-16" of Jigsaw, HPDC 2021, which was made for this tree). Every
/// gang is bound to the narrowest domain that holds it on an empty cluster: a rack up to 8, else a block.
/// What arrives asks for 110 % of the nodes.
pub(super) fn world(draw: &mut Draw, until: Time) -> World {
    let kinds = [Kind {
        name: "host",
        racks: RADIX * BLOCKS,
        offers: offers(32, 128, 0),
    }];
    let cluster = Cluster::new(&kinds, RADIX, RADIX);
    let job = |draw: &mut Draw| {
        let size = u32::try_from(draw.falling(16, LARGEST)).unwrap_or(1);
        let (runs, lifetime) = draw.runs(20, 3_000);
        Job {
            at: Time::ZERO,
            pods: size,
            min: size,
            request: resources(32, 128, 0),
            runs,
            lifetime,
            level: Some(if size as usize <= RADIX { RACK } else { BLOCK }),
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
