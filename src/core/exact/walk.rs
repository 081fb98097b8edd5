//! What goes to each node, for a case: node after node, by the fullest loads first.
//!
//! Nodes to be opened come first. A load to which another member could be added is never tried: what it
//! lacks would go to a later node, and from there it can be moved here at no loss. What was lost so far
//! is given by the nodes gone through and the members left, so each such state is looked at once.

use super::Effort;
use super::bounds::Bounds;
use super::patterns::patterns;
use super::problem::{Cost, Layout, Load, Problem};
use std::collections::BTreeMap;

/// How many loads of a node are tried.
const MAX_LOADS: usize = 400;

/// The best layout so far.
pub(super) type Best = Option<(Cost, Layout)>;

/// What is asked of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// Any layout, in one of a few orders.
    Any(Turn),
    /// The least that is lost; it cannot be less than this.
    Least(i128),
    /// The fewest nodes, too.
    Fewest,
}

/// In which order any layout is searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    /// Nodes with little room first.
    pub(super) smallest_nodes: bool,
    /// Of loads that fill a node as much, those first that take alike of all that is left.
    pub(super) balanced: bool,
}

/// A walk through the nodes of a case.
pub(super) struct Walk<'a> {
    problem: &'a Problem,
    bounds: &'a Bounds,
    task: Task,
    best: &'a mut Best,
    effort: &'a mut Effort,
    /// The class of each node; those to be opened first.
    nodes: Vec<usize>,
    opened: usize,
    /// From each node on: what can be held of each measure, and of that on nodes to be opened.
    held: Vec<Vec<i64>>,
    held_opened: Vec<Vec<i64>>,
    /// From each node on, of those to be opened: what is free, and what members can use of it.
    free: Vec<i128>,
    fullest: Vec<i128>,
    left: Vec<u32>,
    loads: Layout,
    lost: i128,
    /// States that were looked at, and with how many nodes.
    seen: BTreeMap<(usize, u128), usize>,
    /// The base of each class in the code of a state; empty where that would be too long.
    bases: Vec<u128>,
    /// How often the best was replaced or found again.
    records: u64,
    pub(super) complete: bool,
    done: bool,
}

impl<'a> Walk<'a> {
    pub(super) fn new(
        problem: &'a Problem,
        bounds: &'a Bounds,
        (choice, counts): (&[u32], &[u32]),
        task: Task,
        best: &'a mut Best,
        effort: &'a mut Effort,
    ) -> Self {
        let mut nodes = in_order(problem, bounds, counts);
        if matches!(task, Task::Any(turn) if turn.smallest_nodes) {
            nodes.reverse();
            nodes.sort_by_key(|class| !problem.nodes[*class].opens);
        }
        let opened = nodes
            .iter()
            .filter(|class| problem.nodes[**class].opens)
            .count();
        let measures = bounds.measures.len();
        let mut held = vec![vec![0; measures]; nodes.len() + 1];
        let mut held_opened = held.clone();
        let (mut free, mut fullest) = (vec![0; nodes.len() + 1], vec![0; nodes.len() + 1]);
        for (at, class) in nodes.iter().enumerate().rev() {
            for measure in 0..measures {
                let most = bounds.most[*class][measure];
                held[at][measure] = held[at + 1][measure] + most;
                let of_opened = if at < opened { most } else { 0 };
                held_opened[at][measure] = held_opened[at + 1][measure] + of_opened;
            }
            let counts = i128::from(at < opened);
            free[at] = free[at + 1] + counts * bounds.free[*class];
            fullest[at] = fullest[at + 1] + counts * bounds.fullest[*class];
        }
        Self {
            problem,
            bounds,
            task,
            best,
            effort,
            nodes,
            opened,
            held,
            held_opened,
            free,
            fullest,
            left: choice.to_vec(),
            loads: Layout::new(),
            lost: 0,
            seen: BTreeMap::new(),
            bases: bases(choice),
            records: 0,
            complete: true,
            done: false,
        }
    }

    pub(super) fn go(&mut self) {
        let tables = (self.nodes.len() * self.bounds.measures.len()) as u64;
        if self.effort.spend(tables / 8) {
            self.visit(0);
        } else {
            self.complete = false;
        }
    }

    const fn is_for_any(&self) -> bool {
        matches!(self.task, Task::Any(_))
    }

    fn visit(&mut self, at: usize) {
        let measures = self.bounds.measures.len();
        if !self.effort.spend(1 + (measures as u64) / 4) {
            (self.complete, self.done) = (false, true);
            return;
        }
        if self.left.iter().all(|left| *left == 0) {
            self.record();
            return;
        }
        if at == self.nodes.len() || !self.may_help(at) {
            return;
        }
        let state = self.code().map(|code| (at, code));
        if state.is_some_and(|state| self.was_seen(state)) {
            return;
        }
        let records = self.records;
        self.try_loads(at);
        // On nodes in use, the same again may have lost less by then.
        if let Some(state) = state.filter(|_| self.records > records) {
            self.seen.remove(&state);
        }
    }

    fn try_loads(&mut self, at: usize) {
        let class = self.nodes[at];
        let opens = at < self.opened;
        let mut found = patterns(self.problem, class, &self.left, MAX_LOADS, self.effort);
        self.complete &= found.complete;
        let worth = |load: &[u32]| -> i128 {
            let each = load.iter().zip(&self.bounds.worth);
            each.map(|(count, worth)| i128::from(*count) * worth).sum()
        };
        let balance = matches!(self.task, Task::Any(turn) if turn.balanced);
        found.all.sort_by_cached_key(|load| {
            let share = if balance {
                share_of(load, &self.left)
            } else {
                0
            };
            (-worth(load), share)
        });
        for load in found.all {
            if load.iter().all(|count| *count == 0) {
                // A case with a node less has what there is without this one.
                if !opens || self.is_for_any() {
                    self.visit(at + 1);
                }
                continue;
            }
            let lost = if opens {
                self.bounds.free[class] - worth(&load)
            } else {
                0
            };
            self.put(&load, 1, lost);
            self.loads.push(Load {
                class,
                members: load,
            });
            self.visit(at + 1);
            if let Some(load) = self.loads.pop() {
                self.put(&load.members, -1, -lost);
            }
            if self.done {
                return;
            }
        }
        if self.task == Task::Fewest && !opens {
            // Equal nodes are left out together.
            let next = self.nodes[at..].iter().position(|one| *one != class);
            self.visit(next.map_or(self.nodes.len(), |skipped| at + skipped));
        }
    }

    fn put(&mut self, load: &[u32], sign: i32, lost: i128) {
        for (left, count) in self.left.iter_mut().zip(load) {
            *left = if sign > 0 {
                *left - count
            } else {
                *left + count
            };
        }
        self.lost += lost;
    }

    fn record(&mut self) {
        let cost = self.problem.cost(&self.loads);
        self.records += 1;
        if self.best.as_ref().is_none_or(|(best, _)| cost < *best) {
            *self.best = Some((cost, self.loads.clone()));
        }
        self.done = match self.task {
            Task::Any(_) => true,
            Task::Least(least) => cost.lost <= least,
            Task::Fewest => false,
        };
    }

    /// Whether from a node on there may be room for all that are left, at less than the best costs.
    fn may_help(&self, at: usize) -> bool {
        let bounds = self.bounds;
        let (mut excess, mut nodes) = (0, 0);
        for (index, measure) in bounds.measures.iter().enumerate() {
            let each = measure.iter().zip(&self.left);
            let wanted: i64 = each.map(|(one, left)| one * i64::from(*left)).sum();
            if wanted > self.held[at][index] {
                return false;
            }
            let more = wanted - self.held_opened[at][index];
            if more > 0 {
                excess = excess.max(bounds.worth_of_excess(index, more));
                nodes = nodes.max(self.fewest_in_use(at.max(self.opened), index, more));
            }
        }
        let Some((best, _)) = self.best.as_ref().filter(|_| !self.is_for_any()) else {
            return true;
        };
        let each = self.left.iter().zip(&bounds.worth);
        let left: i128 = each.map(|(left, worth)| i128::from(*left) * worth).sum();
        let used = self.fullest[at].min(left - excess);
        let lost = self.lost + (self.free[at] - used).max(0);
        let nodes = self.loads.len() + self.opened.saturating_sub(at) + nodes;
        match self.task {
            Task::Fewest => Cost { lost, nodes } < *best,
            _ => lost < best.lost,
        }
    }

    /// How many nodes in use from one on it takes at least to hold so much of a measure.
    fn fewest_in_use(&self, from: usize, measure: usize, wanted: i64) -> usize {
        if self.task != Task::Fewest {
            return 0;
        }
        let rest = self.nodes[from.min(self.nodes.len())..].iter();
        let most = rest.map(|class| self.bounds.most[*class][measure]).max();
        let nodes = wanted.checked_div(most.unwrap_or(0)).unwrap_or(0);
        let more = most.is_some_and(|most| most > 0 && wanted % most > 0);
        usize::try_from(nodes).unwrap_or(0) + usize::from(more)
    }

    /// The members that are left, as a number.
    fn code(&self) -> Option<u128> {
        let each = self.left.iter().zip(&self.bases);
        let code = each.map(|(left, base)| u128::from(*left) * base).sum();
        (!self.bases.is_empty()).then_some(code)
    }

    fn was_seen(&mut self, state: (usize, u128)) -> bool {
        let nodes = match self.task {
            Task::Fewest => self.loads.len(),
            _ => 0,
        };
        match self.seen.get_mut(&state) {
            Some(known) if *known <= nodes => return true,
            Some(known) => *known = nodes,
            None => {
                self.seen.insert(state, nodes);
            }
        }
        false
    }
}

/// The nodes of a case one by one: those to be opened, then those in use, in both the larger first.
fn in_order(problem: &Problem, bounds: &Bounds, counts: &[u32]) -> Vec<usize> {
    let mut classes: Vec<usize> = (0..counts.len()).collect();
    classes.sort_by_key(|class| {
        let fullest = bounds.fullest[*class];
        (!problem.nodes[*class].opens, -fullest, *class)
    });
    let each = |class: usize| std::iter::repeat_n(class, counts[class] as usize);
    let useful = |class: &usize| bounds.most[*class].iter().any(|most| *most > 0);
    classes.into_iter().filter(useful).flat_map(each).collect()
}

/// What the number of members left of each class counts in a code.
fn bases(choice: &[u32]) -> Vec<u128> {
    let mut bases = Vec::with_capacity(choice.len());
    let mut next = 1_u128;
    for count in choice {
        bases.push(next);
        match next.checked_mul(u128::from(*count) + 1) {
            Some(product) => next = product,
            None => return Vec::new(),
        }
    }
    bases
}

/// How unevenly a load takes of the members that are left: the more, the more.
fn share_of(load: &[u32], left: &[u32]) -> u64 {
    let each = load.iter().zip(left).filter(|(_, left)| **left > 0);
    each.map(|(count, left)| u64::from(*count) * u64::from(*count) * 1_000 / u64::from(*left))
        .sum()
}
