//! Sets of which every two are near each other, in a graph that says who is near whom: cliques.
//!
//! To find one with the most room is NP-hard. So there are two ways: growing one from a centre, which
//! is quick and misses some; and looking through all, which is given up after so much work.

/// Who is near whom, of so many; each is near itself.
pub(super) struct Near {
    words: usize,
    rows: Vec<u64>,
}

/// Members of a set as bits.
pub(super) fn members(row: &[u64]) -> impl Iterator<Item = usize> + '_ {
    row.iter().enumerate().flat_map(|(index, word)| {
        let mut left = *word;
        std::iter::from_fn(move || {
            (left != 0).then(|| {
                let bit = left.trailing_zeros() as usize;
                left &= left - 1;
                index * 64 + bit
            })
        })
    })
}

impl Near {
    /// Nobody is near another.
    pub(super) fn new(count: usize) -> Self {
        let words = count.div_ceil(64);
        let mut this = Self {
            words,
            rows: vec![0; words * count],
        };
        (0..count).for_each(|one| this.join(one, one));
        this
    }

    /// Two are near each other.
    pub(super) fn join(&mut self, one: usize, other: usize) {
        for (from, to) in [(one, other), (other, one)] {
            self.rows[from * self.words + to / 64] |= 1 << (to % 64);
        }
    }

    /// Who is near one.
    pub(super) fn row(&self, one: usize) -> &[u64] {
        &self.rows[one * self.words..(one + 1) * self.words]
    }

    /// Takes one after the other that is near all before.
    pub(super) fn grow(&self, order: impl IntoIterator<Item = usize>) -> Vec<usize> {
        let mut allowed = vec![u64::MAX; self.words];
        let mut chosen = Vec::new();
        for one in order {
            if allowed[one / 64] >> (one % 64) & 1 == 1 {
                self.keep_near(&mut allowed, one);
                chosen.push(one);
            }
        }
        chosen
    }

    fn keep_near(&self, allowed: &mut [u64], one: usize) {
        for (word, row) in allowed.iter_mut().zip(self.row(one)) {
            *word &= row;
        }
    }

    /// Looks through all sets for one that is enough. `None` where there is none, or where it was not
    /// found with so much work.
    pub(super) fn search(&self, goal: &dyn Goal, work: u64) -> Option<Vec<usize>> {
        let count = self.rows.len().checked_div(self.words)?;
        let mut left = work;
        let mut later = vec![0; self.words];
        (0..count).for_each(|one| later[one / 64] |= 1 << (one % 64));
        let mut chosen = Vec::new();
        let mut among = later;
        self.extend(goal, &mut chosen, &mut among, &mut left)
            .then_some(chosen)
    }

    /// Adds to a set, of those who are near all of it, until it is enough.
    fn extend(
        &self,
        goal: &dyn Goal,
        chosen: &mut Vec<usize>,
        among: &mut [u64],
        left: &mut u64,
    ) -> bool {
        if goal.is_met(&mut chosen.iter().copied()) {
            return true;
        }
        loop {
            let size = chosen.len() + members(among).count();
            let Some(rest) = left.checked_sub((size + self.words) as u64) else {
                *left = 0;
                return false;
            };
            *left = rest;
            if !goal.is_met(&mut chosen.iter().copied().chain(members(among))) {
                return false;
            }
            let Some(one) = members(among).next() else {
                return false;
            };
            let mut nearer = among.to_vec();
            self.keep_near(&mut nearer, one);
            nearer[one / 64] &= !(1 << (one % 64));
            chosen.push(one);
            if self.extend(goal, chosen, &mut nearer, left) {
                return true;
            }
            chosen.pop();
            among[one / 64] &= !(1 << (one % 64));
        }
    }
}

/// What a set has to be enough for: more is never less.
pub(super) trait Goal {
    /// Whether these are enough.
    fn is_met(&self, set: &mut dyn Iterator<Item = usize>) -> bool;
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Weights(Vec<u64>, u64);

    impl Goal for Weights {
        fn is_met(&self, set: &mut dyn Iterator<Item = usize>) -> bool {
            set.map(|one| self.0[one]).sum::<u64>() >= self.1
        }
    }

    /// 0 is near all; 1, 2 and 3 are a triangle, 4 and 5 a pair.
    fn known() -> Near {
        let mut near = Near::new(6);
        (1..6).for_each(|one| near.join(0, one));
        for (one, other) in [(1, 2), (2, 3), (1, 3), (4, 5)] {
            near.join(one, other);
        }
        near
    }

    #[test]
    fn who_is_taken_is_near_all_that_were_taken_before() {
        assert_eq!(known().grow([0, 4, 1, 5, 2]), [0, 4, 5]);
        assert_eq!(known().grow([1, 4, 0, 3, 2]), [1, 0, 3, 2]);
    }

    #[test]
    fn what_growing_misses_is_found_by_looking_through_all() {
        let goal = Weights(vec![1, 1, 1, 1, 2, 2], 5);
        assert_eq!(known().search(&goal, 1_000), Some(vec![0, 4, 5]));
        let goal = Weights(vec![1, 1, 1, 1, 2, 2], 6);
        assert_eq!(known().search(&goal, 1_000), None);
    }

    #[test]
    fn the_search_ends_with_its_work() {
        let goal = Weights(vec![1, 1, 1, 1, 2, 2], 5);
        assert_eq!(known().search(&goal, 5), None);
        assert_eq!(Near::new(0).search(&goal, 1_000), None);
    }
}
