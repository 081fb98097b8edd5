//! Counts by small numbers, of which few or many are not zero.

use std::collections::BTreeMap;

/// With more than so many that are not zero they are laid out one after the other.
const FEW: usize = 32;

/// Counts by index.
#[derive(Clone, Debug, Default)]
pub(super) struct Sparse {
    few: BTreeMap<usize, u32>,
    /// All of them, once they were many.
    all: Vec<u32>,
}

impl Sparse {
    /// All zero.
    pub(super) const fn new() -> Self {
        Self {
            few: BTreeMap::new(),
            all: Vec::new(),
        }
    }

    /// One count.
    pub(super) fn get(&self, index: usize) -> u32 {
        if self.all.is_empty() {
            return self.few.get(&index).copied().unwrap_or(0);
        }
        self.all.get(index).copied().unwrap_or(0)
    }

    /// Adds to a count, or takes off; says what it is then.
    pub(super) fn change(&mut self, index: usize, by: u32, more: bool) -> u32 {
        let now = match more {
            true => self.get(index) + by,
            false => self.get(index) - by,
        };
        if !self.all.is_empty() {
            if self.all.len() <= index {
                self.all.resize(index + 1, 0);
            }
            self.all[index] = now;
        } else if now == 0 {
            self.few.remove(&index);
        } else {
            self.few.insert(index, now);
            if self.few.len() > FEW {
                self.spread_out();
            }
        }
        now
    }

    fn spread_out(&mut self) {
        let last = self.few.keys().next_back().copied().unwrap_or(0);
        self.all = vec![0; last + 1];
        for (index, count) in std::mem::take(&mut self.few) {
            self.all[index] = count;
        }
    }

    /// Those that are not zero, by rising index.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, u32)> {
        let all = self.all.iter().copied().enumerate();
        let few = self.few.iter().map(|(index, count)| (*index, *count));
        few.chain(all.filter(|(_, count)| *count > 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_and_many_count_the_same() {
        let mut counts = Sparse::default();
        for index in 0..3 * FEW {
            assert_eq!(counts.change(7 * index, 2, true), 2);
            assert_eq!(counts.get(7 * index), 2);
            assert_eq!(counts.get(7 * index + 1), 0);
        }
        assert_eq!(counts.iter().count(), 3 * FEW);
        for index in 0..3 * FEW {
            assert_eq!(counts.change(7 * index, 2, false), 0);
        }
        assert_eq!(counts.iter().count(), 0);
        assert_eq!(counts.get(1 << 20), 0);
    }
}
