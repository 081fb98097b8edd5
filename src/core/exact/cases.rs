//! How many nodes of each class are opened.

use super::Effort;
use super::bounds::Bounds;
use super::problem::{Cost, Problem};

/// How many cases are looked at.
const MAX_CASES: usize = 20_000;

/// A choice of members, how many nodes of each class are opened for them, and what that costs at least.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Case {
    pub(super) at_least: Cost,
    pub(super) choice: usize,
    /// How many nodes of each class are used; of those in use already how many may be.
    pub(super) nodes: Vec<u32>,
}

/// All cases of a choice that may hold the members and lose less than `below`. Says whether there are
/// none but these.
pub(super) fn cases(
    problem: &Problem,
    bounds: &Bounds,
    choice: usize,
    below: Option<Cost>,
    effort: &mut Effort,
    into: &mut Vec<Case>,
) -> bool {
    let opening = |class: &usize| problem.nodes[*class].opens;
    let classes: Vec<usize> = (0..problem.nodes.len()).filter(opening).collect();
    let mut held = vec![0_i64; bounds.measures.len()];
    let mut nodes = vec![0; problem.nodes.len()];
    for (class, one) in problem
        .nodes
        .iter()
        .enumerate()
        .filter(|(_, one)| !one.opens)
    {
        nodes[class] = one.count;
        for (sum, most) in held.iter_mut().zip(&bounds.most[class]) {
            *sum = sum.saturating_add(most.saturating_mul(i64::from(one.count)));
        }
    }
    // What the classes from each on can hold, if all their nodes are opened.
    let mut after = vec![vec![0_i64; held.len()]; classes.len() + 1];
    for (at, class) in classes.iter().enumerate().rev() {
        let count = i64::from(problem.nodes[*class].count);
        let most = bounds.most[*class].iter();
        let sums = after[at + 1].iter().zip(most);
        let sums = sums.map(|(sum, most)| sum.saturating_add(most.saturating_mul(count)));
        after[at] = sums.collect();
    }
    let mut maker = Maker {
        problem,
        bounds,
        choice,
        below,
        effort,
        classes: &classes,
        after,
        nodes,
        opened: vec![0; held.len()],
        held,
        free: 0,
        fullest: 0,
        count: 0,
        into,
        complete: true,
    };
    maker.choose(0);
    maker.complete
}

struct Maker<'a> {
    problem: &'a Problem,
    bounds: &'a Bounds,
    choice: usize,
    below: Option<Cost>,
    effort: &'a mut Effort,
    classes: &'a [usize],
    after: Vec<Vec<i64>>,
    nodes: Vec<u32>,
    /// What nodes in use can hold, and those opened so far, by measure.
    held: Vec<i64>,
    opened: Vec<i64>,
    /// What is free on nodes opened so far, and what of it members can use.
    free: i128,
    fullest: i128,
    count: usize,
    into: &'a mut Vec<Case>,
    complete: bool,
}

impl Maker<'_> {
    fn choose(&mut self, at: usize) {
        if self.into.len() >= MAX_CASES || !self.effort.spend(2) {
            self.complete = false;
            return;
        }
        let bounds = self.bounds;
        let may_do = |measure: usize| {
            let held = self.held[measure].saturating_add(self.opened[measure]);
            held.saturating_add(self.after[at][measure]) >= bounds.total[measure]
        };
        if !(0..bounds.measures.len()).all(may_do) {
            return;
        }
        let Some(class) = self.classes.get(at).copied() else {
            let at_least = self.at_least();
            if self.below.is_none_or(|below| at_least < below) {
                self.into.push(Case {
                    at_least,
                    choice: self.choice,
                    nodes: self.nodes.clone(),
                });
            }
            return;
        };
        let most = self.problem.nodes[class].count;
        let mut added = 0;
        loop {
            self.choose(at + 1);
            // More nodes lose more.
            let free = self.free + bounds.free[class];
            let lost = (free - bounds.total_worth).max(free - self.fullest - bounds.fullest[class]);
            if added == most || self.below.is_some_and(|below| lost > below.lost) {
                break;
            }
            added += 1;
            self.add(class, 1);
        }
        for _ in 0..added {
            self.add(class, -1);
        }
    }

    fn add(&mut self, class: usize, sign: i64) {
        for (sum, most) in self.opened.iter_mut().zip(&self.bounds.most[class]) {
            *sum += sign * most;
        }
        self.free += i128::from(sign) * self.bounds.free[class];
        self.fullest += i128::from(sign) * self.bounds.fullest[class];
        if sign > 0 {
            self.count += 1;
            self.nodes[class] += 1;
        } else {
            self.count -= 1;
            self.nodes[class] -= 1;
        }
    }

    fn at_least(&self) -> Cost {
        let bounds = self.bounds;
        let (mut excess, mut further) = (0, false);
        for measure in 0..bounds.measures.len() {
            let more = bounds.total[measure] - self.opened[measure];
            further |= more > 0;
            excess = excess.max(bounds.worth_of_excess(measure, more));
        }
        // What is free there without what members are worth that go elsewhere.
        let used = self.fullest.min(bounds.total_worth - excess);
        Cost {
            lost: (self.free - used).max(0),
            nodes: self.count + usize::from(further),
        }
    }
}
