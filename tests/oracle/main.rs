//! How far placements are from the best ones: small worlds against every layout there is, larger ones
//! against the exact search, and that against an integer program.
//!
//! `cargo test --test oracle -- --nocapture` prints the gaps (docs/placement.md has them).

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on has failed"
)]

mod brute;
mod gap;
mod instances;
mod program;
mod world;

use instances::{Dice, Instance, Size};
use muster::model::PackingCounts;
use muster_exact::{Effort, Goal, solve};

/// More than any small world takes.
const PLENTY: u64 = 100_000_000;

#[test]
fn the_exact_search_finds_what_trying_everything_finds() {
    let mut without = 0;
    for seed in 0..400 {
        let problem = Instance::random(&mut Dice::new(seed), &Size::SMALL).problem();
        let every = brute::least(&problem);
        let best = solve(&problem, None, Goal::Best, &mut Effort::new(PLENTY));
        assert!(best.solved && best.fewest, "seed {seed}");
        assert_eq!(
            best.best.as_ref().map(|(cost, _)| *cost),
            every,
            "seed {seed}: {problem:?}"
        );
        let any = solve(&problem, None, Goal::Any, &mut Effort::new(PLENTY));
        assert_eq!(
            (any.best.is_some(), any.solved),
            (every.is_some(), true),
            "seed {seed}"
        );
        for (cost, layout) in best.best.iter().chain(&any.best) {
            assert!(problem.holds(layout), "seed {seed}: {layout:?}");
            assert_eq!(problem.cost(layout), *cost, "seed {seed}");
        }
        without += u32::from(every.is_none());
    }
    assert!(
        (20..200).contains(&without),
        "{without} of 400 have no layout"
    );
}

#[test]
fn it_chooses_among_members_as_subgroups_need_them() {
    let mut with = 0;
    for seed in 0..300 {
        let mut dice = Dice::new(seed);
        let mut problem = Instance::random(&mut dice, &Size::SMALL).problem();
        brute::loosen(&mut problem, &mut dice);
        let every = brute::least(&problem);
        let best = solve(&problem, None, Goal::Best, &mut Effort::new(PLENTY));
        assert!(best.solved, "seed {seed}");
        assert_eq!(
            best.best.as_ref().map(|(cost, _)| *cost),
            every,
            "seed {seed}: {problem:?}"
        );
        with += u32::from(every.is_some());
    }
    assert!(with > 150, "{with} of 300 have a layout");
}

#[test]
fn what_it_says_early_is_a_bound() {
    for seed in 0..150 {
        let problem = Instance::random(&mut Dice::new(seed), &Size::SMALL).problem();
        let Some(every) = brute::least(&problem) else {
            continue;
        };
        for effort in [0, 10, 50, 200, 1_000] {
            let early = solve(&problem, None, Goal::Best, &mut Effort::new(effort));
            assert!(early.at_least <= every.lost, "seed {seed}, effort {effort}");
            let known = early.best.map(|(cost, _)| cost.lost);
            assert!(
                known.is_none_or(|known| known >= every.lost),
                "seed {seed}, effort {effort}"
            );
            assert!(
                !early.solved || known == Some(every.lost),
                "seed {seed}, effort {effort}"
            );
        }
    }
}

#[test]
fn the_exact_search_agrees_with_an_integer_program() {
    let mut compared = 0;
    for seed in 0..120 {
        let problem = Instance::random(&mut Dice::new(1_000 + seed), &Size::MIDDLE).problem();
        let best = solve(&problem, None, Goal::Best, &mut Effort::new(PLENTY));
        if !best.solved {
            continue;
        }
        let found = best.best.map(|(cost, _)| program::in_cores(cost.lost));
        let Some(other) = program::least(&problem) else {
            assert_eq!(found, None, "seed {seed}: {problem:?}");
            continue;
        };
        let found = found.unwrap();
        assert!(
            (found - other).abs() < 0.01,
            "seed {seed}: {found} and {other} cores"
        );
        compared += 1;
    }
    println!("{compared} instances: the same loss by microlp");
    assert!(compared >= 60, "{compared} compared");
}

#[test]
fn a_single_member_and_equal_members_lose_least_as_well() {
    let (mut placed, mut worse) = (0, 0);
    for seed in 0..300 {
        let instance = Instance::random(&mut Dice::new(5_000 + seed), &Size::EQUAL);
        let problem = instance.problem();
        let best = solve(&problem, None, Goal::Best, &mut Effort::new(PLENTY));
        assert!(best.solved, "seed {seed}");
        let found = world::place(&instance);
        assert_eq!(found.lost.is_some(), best.best.is_some(), "seed {seed}");
        let Some((lost, (cost, _))) = found.lost.zip(best.best) else {
            continue;
        };
        placed += 1;
        worse += u32::from(lost > cost.lost);
        assert!(lost >= cost.lost, "seed {seed}");
    }
    println!("{placed} gangs of equal members, {worse} lose more than the least");
    assert!(
        placed > 150 && worse == 0,
        "{placed} placed, {worse} lose more"
    );
}

#[test]
fn equal_members_on_equal_nodes_need_no_search() {
    let node = instances::Node {
        size: instances::Amounts {
            cpu: 16_000,
            mib: 32_768,
        },
        used: instances::Amounts { cpu: 0, mib: 0 },
    };
    let member = instances::Amounts {
        cpu: 4_000,
        mib: 4_096,
    };
    for members in [1, 4, 10, 30] {
        let instance = Instance {
            nodes: vec![node; 20],
            members: vec![(member, members)],
        };
        let found = world::place(&instance);
        assert_eq!(found.counts, PackingCounts::default(), "{members} members");
        let best = solve(
            &instance.problem(),
            None,
            Goal::Best,
            &mut Effort::new(PLENTY),
        );
        assert_eq!(
            found.lost,
            best.best.map(|(cost, _)| cost.lost),
            "{members} members"
        );
    }
}
