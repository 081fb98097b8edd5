//! A first layout, found at once: members one after the other, each class as a whole, in several orders.

use super::Effort;
use super::problem::{Cost, Layout, Load, Problem};
use std::cmp::Reverse;

/// The best of several tries, if any of them placed all members of a choice.
pub(super) fn greedy(
    problem: &Problem,
    choice: &[u32],
    effort: &mut Effort,
) -> Option<(Cost, Layout)> {
    let mut best: Option<(Cost, Layout)> = None;
    for order in orders(problem) {
        for opening_first in [false, true] {
            let Some(layout) = fill(problem, choice, &order, opening_first, effort) else {
                continue;
            };
            let cost = problem.cost(&layout);
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, layout));
            }
        }
    }
    best
}

/// By what they are worth, and by each resource; the largest first.
fn orders(problem: &Problem) -> Vec<Vec<usize>> {
    let mut orders: Vec<Vec<usize>> = Vec::new();
    let classes: Vec<usize> = (0..problem.members.len()).collect();
    let mut add = |order: Vec<usize>| {
        if !orders.contains(&order) {
            orders.push(order);
        }
    };
    let mut by_worth = classes.clone();
    by_worth.sort_by_key(|class| Reverse(problem.worth(*class)));
    let mut by_scarcity = classes.clone();
    let places = |class: &usize| -> u64 {
        let all = problem.nodes.iter().enumerate();
        all.map(|(node, one)| u64::from(problem.room(node, *class)) * u64::from(one.count))
            .sum()
    };
    by_scarcity.sort_by_cached_key(|class| (places(class), Reverse(problem.worth(*class))));
    add(by_worth);
    add(by_scarcity);
    for resource in 0..problem.prices.len() {
        let mut order = classes.clone();
        let request = |class: &usize| problem.members[*class].request[resource];
        order.sort_by_key(|class| Reverse((request(class), problem.worth(*class))));
        add(order);
    }
    orders
}

/// One node while it is being filled.
struct Open {
    free: Vec<i64>,
    left: i128,
    load: Load,
}

/// Puts each member on the node on which it leaves least: one that is used already, else a new one.
fn fill(
    problem: &Problem,
    choice: &[u32],
    order: &[usize],
    opening_first: bool,
    effort: &mut Effort,
) -> Option<Layout> {
    let mut open: Vec<Open> = Vec::new();
    let mut unused: Vec<u32> = problem.nodes.iter().map(|one| one.count).collect();
    for members in order {
        let request = &problem.members[*members].request;
        let fits = |free: &[i64]| {
            free.iter()
                .zip(request)
                .all(|(free, wanted)| free >= wanted)
        };
        for _ in 0..choice[*members] {
            if !effort.spend((open.len() + unused.len()) as u64) {
                return None;
            }
            let allows = |class: usize| problem.nodes[class].allows[*members];
            let used = open.iter().enumerate();
            let used = used.filter(|(_, one)| allows(one.load.class) && fits(&one.free));
            let at = used.min_by_key(|(_, one)| one.left).map(|(at, _)| at);
            let at = match at {
                Some(at) => at,
                None => {
                    let classes = (0..unused.len()).filter(|class| unused[*class] > 0);
                    let mut classes =
                        classes.filter(|class| allows(*class) && fits(&problem.nodes[*class].free));
                    let rank = |class: &usize| {
                        let opens = problem.nodes[*class].opens;
                        (opens != opening_first, problem.worth_free(*class))
                    };
                    let first = classes.next()?;
                    let class = classes.fold(first, |best, class| {
                        if rank(&class) < rank(&best) {
                            class
                        } else {
                            best
                        }
                    });
                    unused[class] -= 1;
                    open.push(Open {
                        free: problem.nodes[class].free.clone(),
                        left: problem.worth_free(class),
                        load: Load {
                            class,
                            members: vec![0; choice.len()],
                        },
                    });
                    open.len() - 1
                }
            };
            let node = &mut open[at];
            for (free, wanted) in node.free.iter_mut().zip(request) {
                *free -= wanted;
            }
            node.left -= problem.worth(*members);
            node.load.members[*members] += 1;
        }
    }
    Some(open.into_iter().map(|one| one.load).collect())
}
