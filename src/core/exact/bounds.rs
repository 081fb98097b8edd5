//! What no layout can do.
//!
//! A *measure* gives each class of members a number: what they request of a resource, or 1 for those
//! that request at least so much of one. A node can hold so much of a measure at most, as the fullest of
//! its loads tell; if members measure more than all nodes that are left can hold, they do not fit. That
//! sees what sums of resources do not: that two members of 3 cores waste one of 7 free ones.

use super::Effort;
use super::patterns::patterns;
use super::problem::{Cost, Problem};

/// How many measures there are at most.
const MAX_MEASURES: usize = 48;
/// How many loads of a node are looked at.
const MAX_LOADS: usize = 1_000;

/// What is known of the nodes for a choice of members.
pub(super) struct Bounds {
    /// By measure, what each class of members counts.
    pub(super) measures: Vec<Vec<i64>>,
    /// By class of nodes and measure, what one node can hold.
    pub(super) most: Vec<Vec<i64>>,
    /// By measure, what all members count.
    pub(super) total: Vec<i64>,
    /// By measure, what members of a count of one are worth at least, in 1024ths.
    least_worth: Vec<i128>,
    /// By class of nodes, the most worth of members that one node can hold.
    pub(super) fullest: Vec<i128>,
    /// By class of nodes, what is free on one.
    pub(super) free: Vec<i128>,
    /// By class of members, what one is worth.
    pub(super) worth: Vec<i128>,
    /// What all members are worth.
    pub(super) total_worth: i128,
}

impl Bounds {
    /// For as many members of each class as a choice says.
    pub(super) fn new(problem: &Problem, choice: &[u32], effort: &mut Effort) -> Self {
        let classes = problem.members.len();
        let worth: Vec<i128> = (0..classes).map(|one| problem.worth(one)).collect();
        let measures = measures(problem, choice);
        let counted = |measure: &[i64], load: &[u32]| -> i64 {
            let each = measure.iter().zip(load);
            each.map(|(one, count)| one * i64::from(*count)).sum()
        };
        let worth_of = |load: &[u32]| -> i128 {
            let each = worth.iter().zip(load);
            each.map(|(one, count)| one * i128::from(*count)).sum()
        };
        let (mut most, mut fullest) = (Vec::new(), Vec::new());
        for class in 0..problem.nodes.len() {
            let loads = patterns(problem, class, choice, MAX_LOADS, effort);
            if loads.complete {
                let hold = |measure: &Vec<i64>| {
                    let loads = loads.all.iter();
                    loads.map(|load| counted(measure, load)).max().unwrap_or(0)
                };
                most.push(measures.iter().map(hold).collect());
                let worths = loads.all.iter().map(|load| worth_of(load));
                fullest.push(worths.max().unwrap_or(0));
                continue;
            }
            let room = |one: usize| problem.room(class, one).min(choice[one]);
            let rooms: Vec<u32> = (0..classes).map(room).collect();
            let free = &problem.nodes[class].free;
            let hold = |(index, measure): (usize, &Vec<i64>)| {
                let all = counted(measure, &rooms);
                free.get(index).map_or(all, |free| all.min(*free))
            };
            most.push(measures.iter().enumerate().map(hold).collect());
            fullest.push(worth_of(&rooms).min(problem.worth_free(class)));
        }
        let least = |measure: &Vec<i64>| {
            let each = measure.iter().zip(&worth).filter(|(one, _)| **one > 0);
            let each = each.map(|(one, worth)| worth.saturating_mul(1 << 10) / i128::from(*one));
            each.min().unwrap_or(0)
        };
        Self {
            total: measures.iter().map(|one| counted(one, choice)).collect(),
            least_worth: measures.iter().map(least).collect(),
            total_worth: worth_of(choice),
            free: (0..problem.nodes.len())
                .map(|one| problem.worth_free(one))
                .collect(),
            measures,
            most,
            fullest,
            worth,
        }
    }

    /// What members that count so much more in a measure than nodes to be opened can hold are worth.
    pub(super) fn worth_of_excess(&self, measure: usize, excess: i64) -> i128 {
        let worth = self.least_worth[measure].saturating_mul(i128::from(excess.max(0)));
        worth >> 10
    }

    /// What every layout of this choice costs at least, whatever nodes it opens.
    pub(super) fn at_least(&self, problem: &Problem) -> Option<Cost> {
        let mut lost = 0;
        for measure in 0..self.measures.len() {
            let classes = problem.nodes.iter().enumerate();
            let (mut held, mut cheapest) = (0_i64, None::<(i128, i64)>);
            let mut opened = 0_i64;
            for (class, nodes) in classes {
                let most = self.most[class][measure];
                let all = most.saturating_mul(i64::from(nodes.count));
                if !nodes.opens {
                    held = held.saturating_add(all);
                    continue;
                }
                opened = opened.saturating_add(all);
                let free = self.free[class];
                let cheaper = cheapest.is_none_or(|(worth, of)| {
                    free.saturating_mul(i128::from(of)) < worth.saturating_mul(i128::from(most))
                });
                if most > 0 && cheaper {
                    cheapest = Some((free, most));
                }
            }
            let rest = self.total[measure].saturating_sub(held);
            if rest <= 0 {
                continue;
            }
            if rest > opened {
                return None;
            }
            if let Some((worth, of)) = cheapest {
                let opens = worth.saturating_mul(i128::from(rest)) / i128::from(of);
                lost = lost.max(opens - self.total_worth);
            }
        }
        Some(Cost { lost, nodes: 0 })
    }
}

/// Requests of each resource first; then, for each amount that is requested, those who request as much.
fn measures(problem: &Problem, choice: &[u32]) -> Vec<Vec<i64>> {
    let there = |class: usize, count: i64| if choice[class] > 0 { count } else { 0 };
    let classes = 0..problem.members.len();
    let resources = problem.prices.len();
    let requests = |resource: usize| -> Vec<i64> {
        let request = |class: usize| problem.members[class].request[resource];
        classes
            .clone()
            .map(|class| there(class, request(class)))
            .collect()
    };
    let mut all: Vec<Vec<i64>> = (0..resources).map(requests).collect();
    let mut add = |measure: Vec<i64>| {
        if all.len() < MAX_MEASURES && measure.iter().any(|one| *one > 0) && !all.contains(&measure)
        {
            all.push(measure);
        }
    };
    for class in classes.clone() {
        add(classes
            .clone()
            .map(|one| there(one, i64::from(one == class)))
            .collect());
    }
    for resource in 0..resources {
        let request = |class: usize| problem.members[class].request[resource];
        let mut amounts: Vec<i64> = classes
            .clone()
            .map(request)
            .filter(|one| *one > 0)
            .collect();
        amounts.sort_unstable();
        amounts.dedup();
        for amount in amounts.into_iter().rev() {
            let least = |class| there(class, i64::from(request(class) >= amount));
            add(classes.clone().map(least).collect());
        }
    }
    all
}
