//! The search as a whole: from a first layout to the best one, or to the end of the effort.

use super::Effort;
use super::bounds::Bounds;
use super::cases::{Case, cases};
use super::choices::choices;
use super::greedy::greedy;
use super::problem::{Cost, Layout, Problem};
use super::walk::{Best, Task, Turn, Walk};

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// Any layout, or that there is none.
    Any,
    /// The best one.
    Best,
}

/// What a search found out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The best layout that is known, and what it costs.
    pub best: Option<(Cost, Layout)>,
    /// No layout loses less than this.
    pub at_least: i128,
    /// Whether the search came to its end: the layout is one that loses least, or there is none.
    pub solved: bool,
    /// Whether it is also one that uses the fewest nodes of these.
    pub fewest: bool,
}

/// The orders in which any layout is searched for, and which part of what is left each may take.
const TURNS: [(bool, bool, u64); 4] = [
    (false, true, 4),
    (true, true, 3),
    (true, false, 2),
    (false, false, 1),
];

/// The largest amount with which sums cannot overflow.
const MAX_SUM: i128 = 1 << 60;

/// Searches for a layout; `known` is one that is known already.
#[must_use]
pub fn solve(problem: &Problem, known: Option<&Layout>, goal: Goal, effort: &mut Effort) -> Answer {
    let mut best: Best = known.map(|layout| (problem.cost(layout), layout.clone()));
    if !is_sane(problem) {
        return Answer {
            best,
            ..Answer::default()
        };
    }
    let (choices, all_choices) = choices(problem);
    let mut bounds = Vec::with_capacity(choices.len());
    for choice in &choices {
        bounds.push(Bounds::new(problem, choice, effort));
        improve(&mut best, greedy(problem, choice, effort));
    }
    match goal {
        Goal::Any => any(problem, &choices, &bounds, all_choices, best, effort),
        Goal::Best => least(problem, &choices, &bounds, all_choices, best, effort),
    }
}

fn improve(best: &mut Best, other: Best) {
    if let Some((cost, layout)) = other
        && best.as_ref().is_none_or(|(least, _)| cost < *least)
    {
        *best = Some((cost, layout));
    }
}

/// Any layout: all nodes may be used.
fn any(
    problem: &Problem,
    choices: &[Vec<u32>],
    bounds: &[Bounds],
    mut complete: bool,
    mut best: Best,
    effort: &mut Effort,
) -> Answer {
    let counts: Vec<u32> = problem.nodes.iter().map(|one| one.count).collect();
    for (choice, bounds) in choices.iter().zip(bounds) {
        let case = (&choice[..], &counts[..]);
        let mut proven = false;
        // Where one order is lost in a corner, the other may not be.
        for (smallest_nodes, balanced, parts) in TURNS {
            if best.is_some() || proven {
                break;
            }
            let mut share = Effort::new(effort.left() / parts);
            let before = share.left();
            let task = Task::Any(Turn {
                smallest_nodes,
                balanced,
            });
            let mut walk = Walk::new(problem, bounds, case, task, &mut best, &mut share);
            walk.go();
            proven = walk.complete;
            effort.spend(before - share.left());
        }
        complete &= proven;
    }
    Answer {
        at_least: 0,
        solved: best.is_some() || complete,
        fewest: false,
        best,
    }
}

/// The best layout: case by case, those that may lose least first.
fn least(
    problem: &Problem,
    choices: &[Vec<u32>],
    bounds: &[Bounds],
    mut complete: bool,
    mut best: Best,
    effort: &mut Effort,
) -> Answer {
    let mut all: Vec<Case> = Vec::new();
    let mut at_least = i128::MAX;
    for (index, bounds) in bounds.iter().enumerate() {
        let below = best.as_ref().map(|(cost, _)| *cost);
        // What a choice loses at least, should its cases be too many.
        if let Some(cost) = bounds.at_least(problem) {
            at_least = at_least.min(cost.lost);
            complete &= cases(problem, bounds, index, below, effort, &mut all);
        }
    }
    all.sort_unstable();
    // The least of what was left open.
    let mut open: Option<i128> = None;
    for case in &all {
        let least = case.at_least.lost;
        if best.as_ref().is_some_and(|(cost, _)| cost.lost <= least) {
            break;
        }
        if effort.left() == 0 {
            open = open.or(Some(least));
            break;
        }
        let of_case = (&choices[case.choice][..], &case.nodes[..]);
        let task = Task::Least(least);
        let bounds = &bounds[case.choice];
        // One case does not take all: another may hold them at the first try.
        let mut share = Effort::new(effort.left() / 4);
        let before = share.left();
        let mut walk = Walk::new(problem, bounds, of_case, task, &mut best, &mut share);
        walk.go();
        if !walk.complete {
            open = open.or(Some(least));
        }
        effort.spend((before - share.left()).max(64));
    }
    let known = best.as_ref().map(|(cost, _)| cost.lost);
    let least = match (open, known) {
        (None, Some(known)) => known,
        (Some(open), Some(known)) => open.min(known),
        (open, None) => open.unwrap_or(0),
    };
    let least = if complete { least } else { least.min(at_least) };
    let solved = match known {
        Some(known) => known <= least.max(0),
        None => complete && open.is_none(),
    };
    let mut answer = Answer {
        best,
        at_least: least.max(0),
        solved,
        fewest: false,
    };
    if solved && complete {
        answer.fewest = fewest(problem, choices, bounds, &all, &mut answer.best, effort);
    }
    answer
}

/// Of the layouts that lose least one that uses the fewest nodes. Says whether that is proven.
fn fewest(
    problem: &Problem,
    choices: &[Vec<u32>],
    bounds: &[Bounds],
    all: &[Case],
    best: &mut Best,
    effort: &mut Effort,
) -> bool {
    let mut complete = true;
    for case in all {
        if best
            .as_ref()
            .is_some_and(|(cost, _)| *cost <= case.at_least)
        {
            break;
        }
        let of_case = (&choices[case.choice][..], &case.nodes[..]);
        let bounds = &bounds[case.choice];
        let mut walk = Walk::new(problem, bounds, of_case, Task::Fewest, best, effort);
        walk.go();
        complete &= walk.complete;
        if effort.left() == 0 {
            return false;
        }
    }
    complete
}

/// Whether sums of all amounts stay small enough to be exact.
fn is_sane(problem: &Problem) -> bool {
    let members = problem.members.iter().map(|one| {
        let amounts = one.request.iter().map(|amount| i128::from(*amount));
        amounts
            .max()
            .unwrap_or(0)
            .saturating_mul(i128::from(one.count))
    });
    let count: u64 = problem.nodes.iter().map(|one| u64::from(one.count)).sum();
    let members = members.fold(0, i128::saturating_add);
    let worth = problem.nodes.iter().enumerate().map(|(class, one)| {
        let worth = problem.worth_free(class);
        worth.saturating_mul(i128::from(one.count))
    });
    let worth = worth.fold(0, i128::saturating_add);
    members.saturating_mul(i128::from(count) + 1) < MAX_SUM && worth < i128::MAX >> 16
}
