//! How far the scheduler's placements are from the best ones.

use super::instances::{Dice, Instance, Size};
use super::world;
use muster_exact::{Effort, Goal, Problem, solve};
use std::thread;

/// How many instances there are, and how much is done to solve one: ten times of what the scheduler
/// does.
const INSTANCES: u64 = 3_600;
const EFFORT: u64 = 1_000_000;

/// What came of some instances.
#[derive(Debug, Default)]
struct Tally {
    solved: usize,
    /// That have no layout.
    impossible: usize,
    /// What is lost beyond the least, as part of what the gang asks for and has to lose.
    gaps: Vec<f64>,
    /// The same for members one by one.
    one_by_one: Vec<f64>,
    /// The best layout is proven by the scheduler itself.
    proven: usize,
    /// Refused although there is a layout.
    refused: Vec<u64>,
    /// Only the search found a place.
    found: u64,
}

fn worth_of_all(problem: &Problem) -> i128 {
    let members = problem.members.iter().enumerate();
    members
        .map(|(class, one)| problem.worth(class) * i128::from(one.count))
        .sum()
}

fn play(seeds: impl Iterator<Item = u64>) -> Tally {
    let mut tally = Tally::default();
    for seed in seeds {
        let instance = Instance::random(&mut Dice::new(seed), &Size::LARGE);
        let problem = instance.problem();
        let best = solve(&problem, None, Goal::Best, &mut Effort::new(EFFORT));
        let placed = world::place(&instance);
        tally.found += placed.counts.found;
        if best.best.is_some() && placed.lost.is_none() {
            tally.refused.push(seed);
        }
        if !best.solved {
            continue;
        }
        tally.solved += 1;
        let Some((cost, _)) = best.best else {
            tally.impossible += 1;
            assert_eq!(placed.lost, None, "seed {seed}: placed what cannot be");
            continue;
        };
        let Some(lost) = placed.lost else { continue };
        assert!(lost >= cost.lost, "seed {seed}: better than the best");
        let asked = worth_of_all(&problem) + cost.lost;
        let gap = |lost: i128| ((lost - cost.lost) >> 20) as f64 / (asked >> 20) as f64;
        tally.gaps.push(gap(lost));
        let alone = world::place_one_by_one(&instance);
        tally.one_by_one.extend(alone.lost.map(gap));
        tally.proven += usize::from(placed.counts.proven > 0);
    }
    tally
}

/// Prints gaps; their mean, and the 99th percentile.
fn in_words(name: &str, gaps: &mut [f64]) -> (f64, f64) {
    gaps.sort_by(f64::total_cmp);
    let count = gaps.len();
    let mean = gaps.iter().sum::<f64>() / count as f64;
    let at = |percent: usize| gaps[(count * percent / 100).min(count - 1)];
    println!(
        "{name}: the gap is {:.3} % in the mean, {:.2} % at the 50th, {:.2} % at the 95th, {:.2} % at the \
         99th percentile, {:.1} % at most",
        mean * 100.0,
        at(50) * 100.0,
        at(95) * 100.0,
        at(99) * 100.0,
        at(100) * 100.0,
    );
    (mean, at(99))
}

#[test]
fn the_gap_to_the_best_placement_is_small() {
    let halves = thread::scope(|scope| {
        let halves = [0, 1].map(|half| scope.spawn(move || play((half..INSTANCES).step_by(2))));
        halves.map(|half| half.join().expect("it ends"))
    });
    let mut all = Tally::default();
    for half in halves {
        all.solved += half.solved;
        all.impossible += half.impossible;
        all.proven += half.proven;
        all.found += half.found;
        all.gaps.extend(half.gaps);
        all.one_by_one.extend(half.one_by_one);
        all.refused.extend(half.refused);
    }
    let count = all.gaps.len();
    println!(
        "{INSTANCES} instances: {} solved to the end, {} of them without any layout; {count} compared, {} \
         of them proven by the scheduler itself; {} placed by the search alone; {} refused that fit",
        all.solved,
        all.impossible,
        all.proven,
        all.found,
        all.refused.len(),
    );
    in_words("one by one", &mut all.one_by_one);
    let (mean, at_99) = in_words("the scheduler", &mut all.gaps);
    assert!(count >= 2_000, "{count} compared");
    assert!(mean <= 0.01, "the mean is {mean}");
    assert!(at_99 <= 0.05, "the 99th percentile is {at_99}");
    assert!(all.refused.is_empty(), "refused: {:?}", all.refused);
}

#[test]
fn a_gang_that_fits_is_not_refused() {
    let (mut found, mut refused) = (0, Vec::new());
    for seed in 0..150 {
        let instance = Instance::cut(&mut Dice::new(seed));
        let placed = world::place(&instance);
        found += placed.counts.found;
        if placed.lost.is_none() {
            refused.push(seed);
        }
    }
    println!(
        "150 gangs that fill their nodes: {found} placed by the search alone, {refused:?} refused"
    );
    assert!(found > 0, "both orders place all");
    assert!(refused.is_empty(), "{refused:?}");
}
