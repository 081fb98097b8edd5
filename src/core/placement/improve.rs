//! Bettering a layout by moving members, where there is too much for the exact search.
//!
//! Every step lowers what is lost, or the number of nodes at the same loss; so it ends, and the effort
//! bounds it besides.

use muster_exact::{Cost, Effort, Layout, Load, Problem};

/// With how many others each node is tried to be closed.
const PAIRS: usize = 8;

/// Betters a layout until nothing helps any more or the effort is spent.
pub(super) fn improve(problem: &Problem, layout: &Layout, effort: &mut Effort) -> Layout {
    let mut work = Work::new(problem, layout, effort);
    while work.fill()
        || work.swap()
        || work.replace()
        || work.empty()
        || work.reopen()
        || work.join()
    {}
    work.loads.into_iter().map(|one| one.load).collect()
}

/// A node in use by the layout.
#[derive(Clone)]
struct Used {
    load: Load,
    free: Vec<i64>,
}

struct Work<'a> {
    problem: &'a Problem,
    loads: Vec<Used>,
    /// How many nodes of each class are not used.
    unused: Vec<u32>,
    worth: Vec<i128>,
    effort: &'a mut Effort,
}

impl<'a> Work<'a> {
    fn new(problem: &'a Problem, layout: &Layout, effort: &'a mut Effort) -> Self {
        let mut unused: Vec<u32> = problem.nodes.iter().map(|one| one.count).collect();
        let mut loads = Vec::with_capacity(layout.len());
        for load in layout {
            unused[load.class] = unused[load.class].saturating_sub(1);
            let free = free_under(problem, load.class, &load.members);
            let load = load.clone();
            loads.extend(free.map(|free| Used { load, free }));
        }
        Self {
            problem,
            loads,
            unused,
            worth: (0..problem.members.len())
                .map(|one| problem.worth(one))
                .collect(),
            effort,
        }
    }

    fn opens(&self, at: usize) -> bool {
        self.problem.nodes[self.loads[at].load.class].opens
    }

    fn count(&self, at: usize, members: usize) -> u32 {
        self.loads[at].load.members[members]
    }

    /// Whether a node has room for one more, after another was taken off it.
    fn has_room(&self, at: usize, members: usize, without: Option<usize>) -> bool {
        let one = &self.loads[at];
        let classes = &self.problem.members;
        let mut amounts = one.free.iter().zip(&classes[members].request).enumerate();
        self.problem.nodes[one.load.class].allows[members]
            && amounts.all(|(resource, (free, wanted))| {
                let more = without.map_or(0, |other| classes[other].request[resource]);
                free + more >= *wanted
            })
    }

    fn put(&mut self, at: usize, members: usize) {
        let one = &mut self.loads[at];
        one.load.members[members] += 1;
        for (free, wanted) in one
            .free
            .iter_mut()
            .zip(&self.problem.members[members].request)
        {
            *free -= wanted;
        }
    }

    fn take(&mut self, at: usize, members: usize) {
        let one = &mut self.loads[at];
        one.load.members[members] -= 1;
        for (free, wanted) in one
            .free
            .iter_mut()
            .zip(&self.problem.members[members].request)
        {
            *free += wanted;
        }
    }

    /// Gives back a node to which nothing goes any more.
    fn tidy(&mut self) {
        let unused = &mut self.unused;
        self.loads.retain(|one| {
            let used = one.load.members.iter().any(|count| *count > 0);
            unused[one.load.class] += u32::from(!used);
            used
        });
    }

    /// Moves a member from a node in use to one that is opened anyway.
    fn fill(&mut self) -> bool {
        for from in 0..self.loads.len() {
            if self.opens(from) {
                continue;
            }
            for to in 0..self.loads.len() {
                if !self.opens(to) || !self.effort.spend(self.worth.len() as u64) {
                    continue;
                }
                let moves = |one: &usize| {
                    self.count(from, *one) > 0
                        && self.worth[*one] > 0
                        && self.has_room(to, *one, None)
                };
                if let Some(members) = (0..self.worth.len()).find(moves) {
                    self.take(from, members);
                    self.put(to, members);
                    self.tidy();
                    return true;
                }
            }
        }
        false
    }

    /// Has a larger member on a node that is opened trade places with a smaller one there.
    fn swap(&mut self) -> bool {
        let classes = self.worth.len();
        for from in 0..self.loads.len() {
            for to in 0..self.loads.len() {
                if self.opens(from) || !self.opens(to) {
                    continue;
                }
                if !self.effort.spend((classes * classes) as u64) {
                    return false;
                }
                for larger in (0..classes).filter(|one| self.count(from, *one) > 0) {
                    let other = (0..classes).find(|smaller| {
                        self.count(to, *smaller) > 0
                            && self.worth[*smaller] < self.worth[larger]
                            && self.has_room(to, larger, Some(*smaller))
                            && self.has_room(from, *smaller, Some(larger))
                    });
                    if let Some(smaller) = other {
                        self.take(from, larger);
                        self.take(to, smaller);
                        self.put(from, smaller);
                        self.put(to, larger);
                        return true;
                    }
                }
            }
        }
        false
    }

    /// Moves all that goes to a node to another one, of a class where less is lost.
    fn replace(&mut self) -> bool {
        for at in 0..self.loads.len() {
            let load = &self.loads[at].load;
            let lost = self.problem.lost_on(load);
            for class in 0..self.unused.len() {
                if self.unused[class] == 0 || !self.effort.spend(self.worth.len() as u64) {
                    continue;
                }
                let other = Load {
                    class,
                    members: load.members.clone(),
                };
                if self.problem.lost_on(&other) >= lost {
                    continue;
                }
                if let Some(free) = free_under(self.problem, class, &other.members) {
                    self.unused[class] -= 1;
                    self.unused[load.class] += 1;
                    self.loads[at] = Used { load: other, free };
                    return true;
                }
            }
        }
        false
    }

    /// Spreads all that goes to a node over others, if that costs less.
    fn empty(&mut self) -> bool {
        (0..self.loads.len()).any(|at| self.instead(&[at], None))
    }

    /// Opens a node of another class in the place of one or of two that are opened, and fills it first.
    fn reopen(&mut self) -> bool {
        let opened: Vec<usize> = (0..self.loads.len()).filter(|at| self.opens(*at)).collect();
        for (index, one) in opened.iter().enumerate() {
            for class in 0..self.unused.len() {
                if self.unused[class] == 0 || !self.problem.nodes[class].opens {
                    continue;
                }
                if self.instead(&[*one], Some(class)) {
                    return true;
                }
                // All pairs of many would be too much.
                for other in opened[index + 1..].iter().take(PAIRS) {
                    if self.instead(&[*one, *other], Some(class)) {
                        return true;
                    }
                }
            }
            for other in opened[index + 1..].iter().take(PAIRS) {
                if self.instead(&[*one, *other], None) {
                    return true;
                }
            }
        }
        false
    }

    /// Moves all that goes to two nodes to one to which nothing goes, where no more is lost.
    fn join(&mut self) -> bool {
        for one in 0..self.loads.len() {
            for other in one + 1..self.loads.len() {
                let [first, second] = [one, other].map(|at| &self.loads[at].load);
                let both = first.members.iter().zip(&second.members);
                let both: Vec<u32> = both.map(|(one, other)| one + other).collect();
                let lost = self.problem.lost_on(first) + self.problem.lost_on(second);
                for class in 0..self.unused.len() {
                    if self.unused[class] == 0 {
                        continue;
                    }
                    if !self.effort.spend(self.worth.len() as u64) {
                        return false;
                    }
                    let load = Load {
                        class,
                        members: both.clone(),
                    };
                    let free = free_under(self.problem, class, &both);
                    let Some(free) = free.filter(|_| self.problem.lost_on(&load) <= lost) else {
                        continue;
                    };
                    self.unused[class] -= 1;
                    for at in [one, other] {
                        self.unused[self.loads[at].load.class] += 1;
                    }
                    self.loads[one] = Used { load, free };
                    self.loads.remove(other);
                    return true;
                }
            }
        }
        false
    }

    /// Takes all off some nodes and puts it where least is left, first on a new node of a class, which
    /// members on nodes in use fill up; keeps that if it costs less.
    fn instead(&mut self, nodes: &[usize], class: Option<usize>) -> bool {
        let members: u64 = nodes
            .iter()
            .map(|at| {
                self.loads[*at]
                    .load
                    .members
                    .iter()
                    .map(|one| u64::from(*one))
                    .sum::<u64>()
            })
            .sum();
        let looks = (self.loads.len() + self.unused.len()) as u64;
        if !self.effort.spend(looks * (members + 2)) {
            return false;
        }
        let before = self.cost();
        let (loads, unused) = (self.loads.clone(), self.unused.clone());
        let mut moved = vec![0; self.worth.len()];
        for at in nodes {
            for (members, count) in moved.iter_mut().enumerate() {
                for _ in 0..self.count(*at, members) {
                    *count += 1;
                    self.take(*at, members);
                }
            }
        }
        self.tidy();
        if let Some(class) = class {
            self.open(class);
            let last = self.loads.len() - 1;
            for (members, count) in moved.iter_mut().enumerate() {
                while *count > 0 && self.has_room(last, members, None) {
                    *count -= 1;
                    self.put(last, members);
                }
            }
        }
        let all: Vec<usize> = (0..moved.len())
            .flat_map(|one| std::iter::repeat_n(one, moved[one]))
            .collect();
        if all.into_iter().all(|members| self.place(members)) {
            self.tidy();
            while self.fill() {}
            if self.cost() < before {
                return true;
            }
        }
        (self.loads, self.unused) = (loads, unused);
        false
    }

    fn cost(&self) -> Cost {
        Cost {
            lost: self
                .loads
                .iter()
                .map(|one| self.problem.lost_on(&one.load))
                .sum(),
            nodes: self.loads.len(),
        }
    }

    /// Puts a member where least is lost: a node that is used, first one that is opened; else a new one.
    fn place(&mut self, members: usize) -> bool {
        let left = |at: &usize| -> i128 {
            let one = &self.loads[*at];
            let amounts = one.free.iter().zip(&self.problem.prices);
            amounts
                .map(|(free, price)| i128::from(*free).saturating_mul(*price))
                .sum()
        };
        let used = (0..self.loads.len()).filter(|at| self.has_room(*at, members, None));
        if let Some(at) = used.min_by_key(|at| (!self.opens(*at), left(at), *at)) {
            self.put(at, members);
            return true;
        }
        let classes = 0..self.unused.len();
        let fits =
            |class: &usize| self.unused[*class] > 0 && self.problem.room(*class, members) > 0;
        let rank = |class: &usize| {
            let opens = self.problem.nodes[*class].opens;
            (opens, self.problem.worth_free(*class), *class)
        };
        let Some(class) = classes.filter(fits).min_by_key(rank) else {
            return false;
        };
        self.open(class);
        self.put(self.loads.len() - 1, members);
        true
    }

    /// Begins to use a node of a class.
    fn open(&mut self, class: usize) {
        self.unused[class] -= 1;
        self.loads.push(Used {
            load: Load {
                class,
                members: vec![0; self.worth.len()],
            },
            free: self.problem.nodes[class].free.clone(),
        });
    }
}

/// What a node of a class has left under a load; `None` if it does not fit.
fn free_under(problem: &Problem, class: usize, members: &[u32]) -> Option<Vec<i64>> {
    let load = Load {
        class,
        members: members.to_vec(),
    };
    let left = |(resource, free): (usize, &i64)| {
        let each = members.iter().zip(&problem.members);
        let used = each.map(|(count, one)| one.request[resource] * i64::from(*count));
        free - used.sum::<i64>()
    };
    let free = &problem.nodes[class].free;
    problem
        .fits(&load)
        .then(|| free.iter().enumerate().map(left).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_exact::{Members, Nodes, Quota};

    fn problem(requests: &[(i64, u32)], nodes: &[(i64, bool)]) -> Problem {
        let members = requests.iter().map(|(request, count)| Members {
            request: vec![*request],
            count: *count,
            subgroup: 0,
        });
        let nodes = nodes.iter().map(|(free, opens)| Nodes {
            opens: *opens,
            free: vec![*free],
            beside: 0,
            allows: vec![true; requests.len()],
            count: 1,
        });
        let needed = requests.iter().map(|(_, count)| count).sum();
        Problem {
            members: members.collect(),
            nodes: nodes.collect(),
            subgroups: vec![Quota {
                minimum: 0,
                room: needed,
            }],
            needed,
            prices: vec![1],
        }
    }

    fn improved(problem: &Problem, layout: &[(usize, &[u32])]) -> Cost {
        let load = |(class, members): &(usize, &[u32])| Load {
            class: *class,
            members: members.to_vec(),
        };
        let layout: Layout = layout.iter().map(load).collect();
        assert!(problem.holds(&layout), "{layout:?}");
        let better = improve(problem, &layout, &mut Effort::new(100_000));
        assert!(problem.holds(&better), "{better:?}");
        problem.cost(&better)
    }

    const fn cost(lost: i128, nodes: usize) -> Cost {
        Cost { lost, nodes }
    }

    #[test]
    fn what_is_opened_is_filled() {
        let problem = problem(&[(2, 3)], &[(6, true), (2, false)]);
        assert_eq!(improved(&problem, &[(0, &[2]), (1, &[1])]), cost(0, 1));
    }

    #[test]
    fn a_larger_member_and_a_smaller_one_trade_places() {
        let problem = problem(&[(3, 1), (2, 1)], &[(3, true), (3, false)]);
        assert_eq!(
            improved(&problem, &[(0, &[0, 1]), (1, &[1, 0])]),
            cost(0, 2)
        );
    }

    #[test]
    fn a_node_on_which_less_is_lost_takes_the_place_of_another() {
        let problem = problem(&[(4, 1)], &[(8, true), (5, true)]);
        assert_eq!(improved(&problem, &[(0, &[1])]), cost(1, 1));
    }

    #[test]
    fn a_node_is_emptied_into_others() {
        let problem = problem(&[(2, 2)], &[(4, true), (4, true)]);
        assert_eq!(improved(&problem, &[(0, &[1]), (1, &[1])]), cost(0, 1));
    }

    #[test]
    fn what_goes_to_two_nodes_in_use_goes_to_one() {
        let problem = problem(
            &[(3, 1), (2, 1)],
            &[(3, false), (2, false), (4, false), (6, false)],
        );
        assert_eq!(
            improved(&problem, &[(0, &[1, 0]), (1, &[0, 1])]),
            cost(0, 1)
        );
    }

    #[test]
    fn without_effort_it_stays_as_it_is() {
        let problem = problem(&[(4, 1)], &[(8, true), (5, true)]);
        let layout = vec![Load {
            class: 0,
            members: vec![1],
        }];
        assert_eq!(improve(&problem, &layout, &mut Effort::new(0)), layout);
    }
}
