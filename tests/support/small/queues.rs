//! What queues say, drawn by lot: their place in a tree, and their share of the cluster.

use super::lot::Lot;
use muster::model::units::Millis;
use muster::model::{Amounts, QueueOrder, QueueSpec, Reservation, plain};

/// A queue of a tree, which says everything by lot: which queues may be above it is given, and what a CPU
/// is.
pub(crate) fn queue(name: &str, above: &[&str], cpu: i64, lot: &mut impl Lot) -> QueueSpec {
    let which = usize::try_from(lot.below(2 * above.len().max(1) as u64)).unwrap();
    let parent = which.checked_sub(above.len());
    let parent = parent.and_then(|at| Some((*above.get(at)?).to_owned()));
    QueueSpec {
        parent,
        weight: 1 + lot.count(4),
        limit: some_cpus(cpu, lot),
        guaranteed: some_cpus(cpu, lot),
        over_share: [1_200, 2_000, 1_000_000][usize::try_from(lot.below(3)).unwrap()],
        is_open: !lot.per_mille(100),
        tier: i32::try_from(lot.below(2)).unwrap(),
        order: if lot.per_mille(250) {
            QueueOrder::Fifo
        } else {
            QueueOrder::Priority
        },
        reservation: [Reservation::Easy, Reservation::None, Reservation::Strict]
            [usize::try_from(lot.below(3)).unwrap()],
        reserve_after: Millis::from_secs(lot.below(40)),
        default_lifetime: lot.span(150, 30),
        min_runtime: lot.span(150, 5),
        movable: lot.per_mille(300).then_some(true),
        ..plain::queue(name)
    }
}

/// Some CPUs, or nothing.
fn some_cpus(cpu: i64, lot: &mut impl Lot) -> Amounts {
    let cpu = cpu * i64::from(lot.count(9));
    let said = lot.per_mille(250);
    said.then(|| ("cpu".to_owned(), cpu)).into_iter().collect()
}
