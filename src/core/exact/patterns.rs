//! What may go to one node.

use super::Effort;
use super::problem::Problem;

/// The fullest loads of one node: to none of them another of the members could be added.
pub(super) struct Patterns {
    /// How many of each class.
    pub(super) all: Vec<Vec<u32>>,
    /// Whether these are all.
    pub(super) complete: bool,
}

/// The fullest loads of a node with what is left of each class, at most `limit` of them.
pub(super) fn patterns(
    problem: &Problem,
    class: usize,
    left: &[u32],
    limit: usize,
    effort: &mut Effort,
) -> Patterns {
    let node = &problem.nodes[class];
    let mut maker = Maker {
        problem,
        class,
        left,
        free: node.free.clone(),
        load: vec![0; left.len()],
        limit,
        effort,
        found: Patterns {
            all: Vec::new(),
            complete: true,
        },
    };
    maker.choose(0);
    maker.found
}

struct Maker<'a> {
    problem: &'a Problem,
    class: usize,
    left: &'a [u32],
    free: Vec<i64>,
    load: Vec<u32>,
    limit: usize,
    effort: &'a mut Effort,
    found: Patterns,
}

impl Maker<'_> {
    fn room(&self, members: usize) -> u32 {
        let left = self.left[members] - self.load[members];
        if left == 0 || !self.problem.nodes[self.class].allows[members] {
            return 0;
        }
        let request = &self.problem.members[members].request;
        let mut most = i64::from(left);
        for (free, request) in self.free.iter().zip(request) {
            if *request > 0 && free / request < most {
                most = free / request;
            }
        }
        u32::try_from(most).unwrap_or(0)
    }

    fn take(&mut self, members: usize, count: u32, sign: i64) {
        let request = &self.problem.members[members].request;
        for (free, request) in self.free.iter_mut().zip(request) {
            *free -= sign * request * i64::from(count);
        }
    }

    fn choose(&mut self, members: usize) {
        if self.found.all.len() >= self.limit || !self.effort.spend(1) {
            self.found.complete = false;
            return;
        }
        if members == self.left.len() {
            // With room for one more it is part of another.
            if (0..members).all(|one| self.room(one) == 0) {
                self.found.all.push(self.load.clone());
            }
            return;
        }
        let most = self.room(members);
        let least = if members + 1 == self.left.len() {
            most
        } else {
            0
        };
        for count in (least..=most).rev() {
            self.load[members] = count;
            self.take(members, count, 1);
            self.choose(members + 1);
            self.take(members, count, -1);
            self.load[members] = 0;
        }
    }
}
