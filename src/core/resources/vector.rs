//! Dense amounts, and the short list that a pod requests.

use super::{Dimension, WIDTH};

/// An amount of every resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Resources([i64; WIDTH]);

impl Default for Resources {
    fn default() -> Self {
        Self([0; WIDTH])
    }
}

impl Resources {
    /// The amount of one resource.
    #[must_use]
    pub const fn get(&self, dimension: Dimension) -> i64 {
        self.0[dimension.index()]
    }

    /// Sets the amount of one resource.
    pub fn set(&mut self, dimension: Dimension, amount: i64) {
        self.0[dimension.index()] = amount;
    }

    /// Adds a request.
    pub fn add(&mut self, request: &Request) {
        for (dimension, amount) in request.iter() {
            let slot = &mut self.0[dimension.index()];
            *slot = slot.saturating_add(amount);
        }
    }
}

/// What a pod requests: only what it requests more than nothing of, by dimension, and one of
/// `pods`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Request(Vec<(Dimension, i64)>);

impl Request {
    /// From amounts in any order; amounts of zero or less are dropped.
    #[must_use]
    pub fn new(amounts: impl IntoIterator<Item = (Dimension, i64)>) -> Self {
        let mut list: Vec<_> = amounts
            .into_iter()
            .filter(|(_, amount)| *amount > 0)
            .collect();
        list.sort_unstable();
        Self(list)
    }

    /// The amount requested of one resource.
    #[must_use]
    pub fn get(&self, dimension: Dimension) -> i64 {
        self.0
            .iter()
            .find(|(one, _)| *one == dimension)
            .map_or(0, |(_, amount)| *amount)
    }

    /// What is requested, by dimension.
    pub fn iter(&self) -> impl Iterator<Item = (Dimension, i64)> + '_ {
        self.0.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_saturate() {
        let mut sum = Resources::default();
        let huge = Request::new([(Dimension::MEMORY, i64::MAX)]);
        sum.add(&huge);
        sum.add(&huge);
        assert_eq!(sum.get(Dimension::MEMORY), i64::MAX);
    }

    #[test]
    fn requests_keep_only_what_is_asked_for() {
        let request = Request::new([(Dimension::MEMORY, 0), (Dimension::CPU, 5)]);
        assert_eq!(request.iter().collect::<Vec<_>>(), [(Dimension::CPU, 5)]);
        assert_eq!(request.get(Dimension::MEMORY), 0);
    }
}
