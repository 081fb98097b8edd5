//! Sums of requests, exact whatever was requested.

use super::{Dimension, Request};

/// Amounts by dimension, summed without saturation: what was added can be taken away again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally(Vec<(Dimension, i128)>);

impl Tally {
    /// Adds what `request` asks for.
    pub fn add(&mut self, request: &Request) {
        for (dimension, amount) in request.iter() {
            self.change(dimension, i128::from(amount));
        }
    }

    /// Adds so many times what `request` asks for.
    pub fn add_times(&mut self, request: &Request, times: u32) {
        for (dimension, amount) in request.iter() {
            self.change(dimension, i128::from(amount) * i128::from(times));
        }
    }

    /// Takes away what `request` asks for.
    pub fn subtract(&mut self, request: &Request) {
        for (dimension, amount) in request.iter() {
            self.change(dimension, -i128::from(amount));
        }
    }

    /// Adds another sum.
    pub fn add_all(&mut self, other: &Self) {
        for (dimension, amount) in &other.0 {
            self.change(*dimension, *amount);
        }
    }

    /// Takes another sum away.
    pub fn subtract_all(&mut self, other: &Self) {
        for (dimension, amount) in &other.0 {
            self.change(*dimension, -*amount);
        }
    }

    /// The sums that are not zero.
    pub fn iter(&self) -> impl Iterator<Item = (Dimension, i64)> + '_ {
        self.0
            .iter()
            .map(|(dimension, _)| (*dimension, self.get(*dimension)))
    }

    /// The sum of one resource, at most what fits an `i64`.
    #[must_use]
    pub fn get(&self, dimension: Dimension) -> i64 {
        let sum = self
            .0
            .binary_search_by_key(&dimension, |(one, _)| *one)
            .map_or(0, |index| self.0[index].1);
        i64::try_from(sum).unwrap_or(if sum > 0 { i64::MAX } else { i64::MIN })
    }

    /// Adds an amount of one resource; it may be negative.
    pub fn add_amount(&mut self, dimension: Dimension, amount: i64) {
        self.change(dimension, i128::from(amount));
    }

    fn change(&mut self, dimension: Dimension, amount: i128) {
        if amount == 0 {
            return;
        }
        match self.0.binary_search_by_key(&dimension, |(one, _)| *one) {
            Ok(index) => {
                self.0[index].1 += amount;
                if self.0[index].1 == 0 {
                    self.0.remove(index);
                }
            }
            Err(index) if amount != 0 => self.0.insert(index, (dimension, amount)),
            Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_resource_is_as_if_it_was_not_named() {
        let mut tally = Tally::default();
        tally.add_amount(Dimension::CPU, 0);
        assert_eq!(tally, Tally::default());
    }

    #[test]
    fn what_was_added_can_be_taken_away_again() {
        let huge = Request::new([(Dimension::MEMORY, i64::MAX), (Dimension::CPU, 5)]);
        let mut tally = Tally::default();
        tally.add(&huge);
        tally.add(&huge);
        assert_eq!(tally.get(Dimension::MEMORY), i64::MAX);
        tally.subtract(&huge);
        assert_eq!(tally.get(Dimension::CPU), 5);
        tally.subtract(&huge);
        assert_eq!(tally, Tally::default());
    }
}
