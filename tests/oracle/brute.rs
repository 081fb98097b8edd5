//! Every layout there is.

use super::instances::Dice;
use muster_exact::{Cost, Layout, Load, Problem, Quota};

/// What the best of all layouts costs.
pub(crate) fn least(problem: &Problem) -> Option<Cost> {
    let nodes = problem.nodes.iter().enumerate();
    let nodes = nodes.flat_map(|(class, one)| std::iter::repeat_n(class, one.count as usize));
    let mut every = Every {
        problem,
        nodes: nodes.collect(),
        left: problem.members.iter().map(|one| one.count).collect(),
        layout: Layout::new(),
        best: None,
    };
    every.node(0);
    every.best
}

/// Needs fewer than there are, in two subgroups.
pub(crate) fn loosen(problem: &mut Problem, dice: &mut Dice) {
    let mut there = [0_u32; 2];
    for (index, members) in problem.members.iter_mut().enumerate() {
        members.subgroup = index % 2;
        there[index % 2] += members.count;
    }
    let quota = |there: u32, dice: &mut Dice| {
        let there = i64::from(there);
        let minimum = dice.roll(0, there);
        let room = dice.roll(minimum, there);
        Quota {
            minimum: u32::try_from(minimum).unwrap(),
            room: u32::try_from(room).unwrap(),
        }
    };
    problem.subgroups = there.iter().map(|one| quota(*one, dice)).collect();
    let sum =
        |amount: fn(&Quota) -> u32| i64::from(problem.subgroups.iter().map(amount).sum::<u32>());
    let needed = dice.roll(sum(|one| one.minimum), sum(|one| one.room));
    problem.needed = u32::try_from(needed).unwrap();
}

struct Every<'a> {
    problem: &'a Problem,
    nodes: Vec<usize>,
    left: Vec<u32>,
    layout: Layout,
    best: Option<Cost>,
}

impl Every<'_> {
    fn node(&mut self, at: usize) {
        let members = self.problem.members.iter().zip(&self.left);
        let placed: Vec<u32> = members.map(|(one, left)| one.count - left).collect();
        if self.problem.is_enough(&placed) {
            let cost = self.problem.cost(&self.layout);
            self.best = Some(self.best.map_or(cost, |best| best.min(cost)));
        }
        if let Some(class) = self.nodes.get(at).copied() {
            let members = vec![0; self.left.len()];
            self.load(at, 0, &mut Load { class, members });
        }
    }

    fn load(&mut self, at: usize, members: usize, load: &mut Load) {
        if members == self.left.len() {
            let used = load.members.iter().any(|count| *count > 0);
            if used {
                self.layout.push(load.clone());
            }
            self.node(at + 1);
            if used {
                self.layout.pop();
            }
            return;
        }
        for count in 0..=self.left[members] {
            load.members[members] = count;
            if !self.problem.fits(load) {
                break;
            }
            self.left[members] -= count;
            self.load(at, members + 1, load);
            self.left[members] += count;
        }
        load.members[members] = 0;
    }
}
