//! The same as an integer program, for a solver that has nothing to do with ours.

use good_lp::{Expression, ProblemVariables, Solution, SolverModel, constraint, microlp, variable};
use muster_exact::Problem;

/// From what the search counts in to cores.
pub(crate) fn in_cores(worth: i128) -> f64 {
    (worth >> 20) as f64 / f64::from(1 << 20) / 1_000_000.0
}

/// What the best layout loses, in cores' worth; `None` if there is no layout.
pub(crate) fn least(problem: &Problem) -> Option<f64> {
    let mut variables = ProblemVariables::new();
    let nodes = problem.nodes.iter().enumerate();
    let nodes = nodes.flat_map(|(class, one)| std::iter::repeat_n(class, one.count as usize));
    let nodes: Vec<usize> = nodes.collect();
    // For each node whether it is used, and how many of each class go there.
    let used: Vec<_> = nodes
        .iter()
        .map(|_| variables.add(variable().binary()))
        .collect();
    let mut on = Vec::new();
    for class in &nodes {
        let count = |members: usize| {
            let most = f64::from(problem.room(*class, members));
            variable().integer().min(0).max(most)
        };
        let each: Vec<_> = (0..problem.members.len())
            .map(|one| variables.add(count(one)))
            .collect();
        on.push(each);
    }
    let mut lost = Expression::from(0.0);
    for (at, class) in nodes.iter().enumerate() {
        if problem.nodes[*class].opens {
            lost += in_cores(problem.worth_free(*class)) * used[at];
            for (members, count) in on[at].iter().enumerate() {
                lost -= in_cores(problem.worth(members)) * *count;
            }
        }
    }
    let mut model = variables.minimise(lost.clone()).using(microlp);
    for (members, one) in problem.members.iter().enumerate() {
        let placed: Expression = on.iter().map(|each| each[members]).sum();
        model = model.with(constraint!(placed == f64::from(one.count)));
    }
    // In units in which numbers are small.
    let units = [1.0, 1_000.0, f64::from(1 << 30)];
    for (at, class) in nodes.iter().enumerate() {
        for (resource, unit) in units.iter().enumerate() {
            let request = |members: usize| problem.members[members].request[resource] as f64 / unit;
            let each = on[at].iter().enumerate();
            let taken: Expression = each.map(|(members, count)| request(members) * *count).sum();
            let free = problem.nodes[*class].free[resource] as f64 / unit;
            model = model.with(constraint!(taken <= free * used[at]));
        }
    }
    let solution = model.solve().ok()?;
    Some(solution.eval(lost))
}
