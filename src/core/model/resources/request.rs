//! What a pod requests, as a short list by dimension.

use super::Dimension;

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

    /// Whether nothing is asked for.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
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
    fn requests_keep_only_what_is_asked_for() {
        let request = Request::new([(Dimension::MEMORY, 0), (Dimension::CPU, 5)]);
        assert_eq!(request.iter().collect::<Vec<_>>(), [(Dimension::CPU, 5)]);
        assert_eq!(request.get(Dimension::MEMORY), 0);
    }
}
