//! What amounts of different resources are worth together.

use super::{Dimension, Dimensions, Tally};
use std::collections::BTreeMap;

/// One core, in the units in which worth is counted: millionths of a core.
pub const CORE: u64 = 1_000_000;

/// How many bits of a price are behind the point.
pub const PRICE_BITS: u32 = 40;

/// How worth is found out (source: mission, "Queues and fairness").
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Worth {
    /// How amounts of several resources count together.
    pub measure: Measure,
    /// What a unit of a resource is worth, in [`CORE`]s; the unit is a core, a GiB for `memory` and
    /// `ephemeral-storage`, else a device. What is not named is worth so much that the whole
    /// cluster's amount of it is worth as much as its CPUs; `pods` and `ephemeral-storage` nothing.
    pub of_unit: BTreeMap<String, u64>,
}

/// How amounts of several resources count together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Measure {
    /// Their sum.
    #[default]
    Weighted,
    /// The one that is the largest part of the cluster's (dominant resource).
    Dominant,
}

/// What a whole unit of one resource is worth, as a fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Weight {
    dimension: Dimension,
    /// Worth of `units` of it.
    worth: u64,
    units: u64,
}

impl Weight {
    /// Rounded down.
    fn apply(self, amount: i128) -> u128 {
        let amount = u128::try_from(amount).unwrap_or(0);
        amount.saturating_mul(u128::from(self.worth)) / u128::from(self.units.max(1))
    }
}

/// What amounts are worth in a cluster as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Weights {
    measure: Measure,
    weights: Vec<Weight>,
    total: u64,
}

impl Weights {
    /// For a cluster that offers `total` of each resource.
    #[must_use]
    pub fn new(worth: &Worth, dimensions: &Dimensions, total: impl Fn(Dimension) -> i64) -> Self {
        let offered = |one| u64::try_from(total(one)).unwrap_or(0);
        let cpus = offered(Dimension::CPU).saturating_mul(CORE / 1_000);
        let weight = |dimension: Dimension| {
            let whole = Weight {
                dimension,
                worth: cpus,
                units: offered(dimension),
            };
            let named = worth.of_unit.get(dimensions.name(dimension));
            let units = match dimension {
                Dimension::CPU => 1_000,
                Dimension::MEMORY | Dimension::EPHEMERAL_STORAGE => 1 << 30,
                _ => 1,
            };
            let (worth, units) = match (worth.measure, named) {
                (_, Some(0)) => return None,
                (Measure::Weighted, Some(worth)) => (*worth, units),
                _ => (whole.worth, whole.units),
            };
            let ignored = [Dimension::PODS, Dimension::EPHEMERAL_STORAGE].contains(&dimension);
            let counts = units > 0 && (named.is_some() || !ignored);
            counts.then_some(Weight {
                dimension,
                worth,
                units,
            })
        };
        let mut weights = Self {
            measure: worth.measure,
            weights: dimensions.iter().filter_map(weight).collect(),
            total: 0,
        };
        weights.total = weights.sum(|dimension| i128::from(total(dimension)));
        weights
    }

    fn sum(&self, amount: impl Fn(Dimension) -> i128) -> u64 {
        let parts = self.weights.iter();
        let parts = parts.map(|weight| weight.apply(amount(weight.dimension)));
        let worth = match self.measure {
            Measure::Weighted => parts.fold(0, u128::saturating_add),
            Measure::Dominant => parts.max().unwrap_or(0),
        };
        u64::try_from(worth).unwrap_or(u64::MAX)
    }

    /// What a unit of a resource is worth, in 2^-40ths; `None` where worth is no sum of what each
    /// resource is worth.
    #[must_use]
    pub fn price(&self, dimension: Dimension) -> Option<i128> {
        let of = |weight: &&Weight| weight.dimension == dimension;
        let price = |weight: &Weight| {
            (i128::from(weight.worth) << PRICE_BITS) / i128::from(weight.units.max(1))
        };
        let price = self.weights.iter().find(of).map_or(0, price);
        (self.measure == Measure::Weighted).then_some(price)
    }

    /// Whether any amount of a resource is worth something.
    #[must_use]
    pub fn counts(&self, dimension: Dimension) -> bool {
        self.weights.iter().any(|one| one.dimension == dimension)
    }

    /// What amounts are worth.
    #[must_use]
    pub fn of(&self, tally: &Tally) -> u64 {
        self.sum(|dimension| i128::from(tally.get(dimension)))
    }

    /// What so much of each resource is worth.
    #[must_use]
    pub fn of_each(&self, amount: impl Fn(Dimension) -> i64) -> u64 {
        self.sum(|dimension| i128::from(amount(dimension)))
    }

    /// What all that the cluster offers is worth.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::Request;

    fn tally(cpus: i64, memory: i64) -> Tally {
        let mut tally = Tally::default();
        tally.add(&Request::new([
            (Dimension::CPU, cpus * 1_000),
            (Dimension::MEMORY, memory << 30),
            (Dimension::PODS, 7),
        ]));
        tally
    }

    fn weights(worth: &Worth, cpus: i64, memory: i64) -> Weights {
        let offered = tally(cpus, memory);
        Weights::new(worth, &Dimensions::default(), |one| offered.get(one))
    }

    #[test]
    fn all_memory_is_worth_as_much_as_all_cpus() {
        let weights = weights(&Worth::default(), 100, 400);
        assert_eq!(weights.total(), 200 * CORE);
        assert_eq!(weights.of(&tally(1, 4)), 2 * CORE);
        assert_eq!(weights.of(&tally(0, 200)), 50 * CORE);
    }

    #[test]
    fn a_resource_that_nobody_offers_is_worth_nothing() {
        let weights = weights(&Worth::default(), 100, 0);
        assert_eq!(weights.total(), 100 * CORE);
        assert_eq!(weights.of(&tally(3, 5)), 3 * CORE);
    }

    #[test]
    fn a_unit_may_be_given_its_worth() {
        let of_unit = BTreeMap::from([("memory".to_owned(), CORE / 8), ("pods".to_owned(), 0)]);
        let worth = Worth {
            of_unit,
            ..Worth::default()
        };
        let weights = weights(&worth, 100, 400);
        assert_eq!(weights.of(&tally(1, 8)), 2 * CORE);
        assert_eq!(weights.total(), 150 * CORE);
    }

    #[test]
    fn the_dominant_resource_counts_alone() {
        let worth = Worth {
            measure: Measure::Dominant,
            ..Worth::default()
        };
        let weights = weights(&worth, 100, 400);
        assert_eq!(weights.of(&tally(30, 40)), 30 * CORE);
        assert_eq!(weights.of(&tally(30, 200)), 50 * CORE);
        assert_eq!(weights.total(), 100 * CORE);
    }
}
