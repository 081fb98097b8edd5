//! Which members are placed, where there are more than have to be.

use super::problem::Problem;

/// How many choices are looked at.
const MAX_CHOICES: usize = 64;

/// The numbers of members of each class that may be placed, those with more of the first classes
/// first, and whether these are all.
pub(super) fn choices(problem: &Problem) -> (Vec<Vec<u32>>, bool) {
    let mut found = Found {
        problem,
        after: remaining_after(problem),
        choice: vec![0; problem.members.len()],
        of_subgroup: vec![0; problem.subgroups.len()],
        all: Vec::new(),
        complete: true,
        steps: 0,
    };
    found.choose(0, problem.needed);
    (found.all, found.complete)
}

/// How many members there are from each class on.
fn remaining_after(problem: &Problem) -> Vec<u32> {
    let mut after = vec![0_u32; problem.members.len() + 1];
    for (index, one) in problem.members.iter().enumerate().rev() {
        after[index] = after[index + 1].saturating_add(one.count);
    }
    after
}

struct Found<'a> {
    problem: &'a Problem,
    after: Vec<u32>,
    choice: Vec<u32>,
    of_subgroup: Vec<u32>,
    all: Vec<Vec<u32>>,
    complete: bool,
    steps: u32,
}

impl Found<'_> {
    fn choose(&mut self, class: usize, left: u32) {
        self.steps += 1;
        if self.all.len() == MAX_CHOICES || self.steps > 10_000 {
            self.complete = false;
            return;
        }
        let Some(members) = self.problem.members.get(class) else {
            if self.problem.is_enough(&self.choice) {
                self.all.push(self.choice.clone());
            }
            return;
        };
        let subgroup = members.subgroup;
        let room = self.problem.subgroups[subgroup].room;
        let room = room.saturating_sub(self.of_subgroup[subgroup]);
        let most = members.count.min(left).min(room);
        let least = left.saturating_sub(self.after[class + 1]);
        for count in (least..=most).rev() {
            self.choice[class] = count;
            self.of_subgroup[subgroup] += count;
            self.choose(class + 1, left - count);
            self.of_subgroup[subgroup] -= count;
            if self.all.len() == MAX_CHOICES && !self.complete {
                break;
            }
        }
        self.choice[class] = 0;
    }
}
