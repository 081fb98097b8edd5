//! What a queue's gangs hold, and have held lately.

use crate::state::ids::GangId;
use muster_model::Lifetime;
use muster_model::resources::{Dimension, Request, Tally, Weights};
use muster_model::units::{Millis, Time, decayed};
use std::collections::BTreeMap;

/// What gangs hold on nodes, and what is held for them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holdings {
    /// All of it.
    pub all: Tally,
    /// Of gangs with an unlimited lifetime: nobody can take it back.
    pub unlimited: Tally,
    /// Of gangs with a lifetime of zero: anybody in need can take it back at any time.
    pub free: Tally,
    /// Of all that what is held for members that have no node yet, while others leave it for them.
    pub nominated: Tally,
    /// Of that what is held for gangs with a lifetime of zero.
    pub free_nominated: Tally,
}

impl Holdings {
    /// What is used on nodes. What is only nominated is used by others still: together they may be more
    /// than there is.
    fn used(&self) -> Tally {
        let mut used = self.all.clone();
        used.subtract_all(&self.nominated);
        used
    }

    /// Of that what is not given back whenever somebody needs it.
    fn used_to_stay(&self) -> Tally {
        let mut used = self.used();
        used.subtract_all(&self.free);
        used.add_all(&self.free_nominated);
        used
    }

    /// All but what is given back whenever somebody needs it.
    #[must_use]
    pub fn to_stay(&self) -> Tally {
        let mut held = self.all.clone();
        held.subtract_all(&self.free);
        held
    }

    pub(super) fn change(
        &mut self,
        lifetime: Lifetime,
        request: &Request,
        nominated: bool,
        more: bool,
    ) {
        let apply = |tally: &mut Tally| {
            if more {
                tally.add(request);
            } else {
                tally.subtract(request);
            }
        };
        apply(&mut self.all);
        if nominated {
            apply(&mut self.nominated);
        }
        if nominated && lifetime.is_zero() {
            apply(&mut self.free_nominated);
        }
        self.part(lifetime).map(apply);
    }

    /// Adds what one gang holds, and what of that is only held for it.
    pub(in crate::state) fn change_by(
        &mut self,
        lifetime: Lifetime,
        (amounts, nominated): (&Tally, &Tally),
        more: bool,
    ) {
        let apply = |tally: &mut Tally, amounts: &Tally| {
            if more {
                tally.add_all(amounts);
            } else {
                tally.subtract_all(amounts);
            }
        };
        apply(&mut self.nominated, nominated);
        if lifetime.is_zero() {
            apply(&mut self.free_nominated, nominated);
        }
        apply(&mut self.all, amounts);
        if let Some(part) = self.part(lifetime) {
            apply(part, amounts);
        }
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.all.add_all(&other.all);
        self.unlimited.add_all(&other.unlimited);
        self.free.add_all(&other.free);
        self.nominated.add_all(&other.nominated);
        self.free_nominated.add_all(&other.free_nominated);
    }

    const fn part(&mut self, lifetime: Lifetime) -> Option<&mut Tally> {
        match lifetime {
            Lifetime::Unlimited => Some(&mut self.unlimited),
            Lifetime::Limited(Millis(0)) => Some(&mut self.free),
            Lifetime::Limited(_) => None,
        }
    }
}

/// Usage with a memory (source: mission, "Queues and fairness"):
/// `flow = usage + max(flow - usage, 0) * 2^(-dt / half-life)`.
///
/// Kept as of a moment, in worth; what it is later follows from that, so nothing has to happen
/// while nothing changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// Usage at that moment and since, in amounts and in worth.
    used: Tally,
    usage: u64,
    /// By how much the flow was above it at that moment.
    excess: u64,
    /// Of what that was made, as far as that is known: as much of it as this is worth follows what this is worth.
    made_of: Tally,
    at: Time,
}

impl Flow {
    /// When usage last changed.
    #[must_use]
    pub const fn at(&self) -> Time {
        self.at
    }

    /// By how much it is above usage now.
    #[must_use]
    pub fn excess(&self, now: Time, half_life: Millis) -> u64 {
        decayed(self.excess, now.since(self.at), half_life)
    }

    /// What it is now.
    #[must_use]
    pub fn value(&self, now: Time, half_life: Millis) -> u64 {
        self.usage.saturating_add(self.excess(now, half_life))
    }

    /// Usage has changed, to these amounts.
    pub(super) fn settle(&mut self, used: Tally, weights: &Weights, now: Time, half_life: Millis) {
        let usage = weights.of(&used);
        let flow = self.value(now, half_life);
        let excess = flow.saturating_sub(usage);
        let mut made_of = Tally::default();
        if excess > 0 {
            let elapsed = now.since(self.at);
            for (dimension, amount) in self.made_of.iter() {
                let amount = u64::try_from(amount).unwrap_or(0);
                let left = decayed(amount, elapsed, half_life);
                made_of.add_amount(dimension, i64::try_from(left).unwrap_or(i64::MAX));
            }
            // What was worth nothing as it was left is no part of the excess, and never will be.
            let left = self.used.iter().filter(|(one, _)| weights.counts(*one));
            for (dimension, before) in left {
                let less = before.saturating_sub(used.get(dimension));
                made_of.add_amount(dimension, less.max(0));
            }
        }
        *self = Self {
            used,
            usage,
            excess,
            made_of,
            at: now,
        };
    }

    /// What resources are worth has changed: what is used and what is remembered are worth something else, and
    /// nothing of that is use. What is remembered and nobody knows of what it was made stays what it is.
    fn revalue(&mut self, before: &Weights, weights: &Weights) {
        self.usage = weights.of(&self.used);
        let (was, is) = (before.of(&self.made_of), weights.of(&self.made_of));
        if was == 0 {
            return;
        }
        if is == 0 {
            // Nothing of it is there any more: it stays what it is, and nobody knows of what it was made.
            self.made_of = Tally::default();
            return;
        }
        let known = self.excess.min(was);
        let known_is = u128::from(known) * u128::from(is) / u128::from(was);
        let known_is = u64::try_from(known_is).unwrap_or(u64::MAX);
        self.excess = (self.excess - known).saturating_add(known_is);
    }

    /// The number of a resource that is worth nothing becomes another's.
    pub(super) fn forget(&mut self, dimension: Dimension) {
        for tally in [&mut self.used, &mut self.made_of] {
            tally.add_amount(dimension, -tally.get(dimension));
        }
    }

    /// It was at least this at a moment before this process began.
    pub(super) fn recall(&mut self, flow: u64, at: Time, now: Time, half_life: Millis) {
        let excess = decayed(flow.saturating_sub(self.usage), now.since(at), half_life);
        if excess > self.excess(now, half_life) {
            (self.excess, self.at) = (excess, now);
        }
    }

    /// How long until it is at most this, if nothing changes.
    #[must_use]
    pub fn until_at_most(&self, most: u64, now: Time, half_life: Millis) -> Millis {
        self.until_excess(most.saturating_sub(self.usage), now, half_life)
    }

    /// How long until the excess is at most this, if nothing changes.
    fn until_excess(&self, most: u64, now: Time, half_life: Millis) -> Millis {
        let excess = self.excess(now, half_life);
        if excess <= most {
            return Millis(0);
        }
        // In at most 64 half-lives nothing is left.
        let (mut short, mut long) = (0, half_life.0.saturating_mul(64));
        while short + 1 < long {
            let middle = short + (long - short) / 2;
            if decayed(excess, Millis(middle), half_life) > most {
                short = middle;
            } else {
                long = middle;
            }
        }
        Millis(long)
    }
}

/// What a gang is charged against the budget of its queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Charge {
    /// In worth times milliseconds.
    pub amount: u128,
    /// For what: it is worth what this is worth.
    pub of: Tally,
}

impl Charge {
    /// What resources are worth has changed.
    fn revalue(&mut self, before: &Weights, weights: &Weights) {
        let (was, is) = (before.of(&self.of), weights.of(&self.of));
        if was > 0 && is > 0 {
            self.amount = self.amount.saturating_mul(u128::from(is)) / u128::from(was);
        }
    }
}

/// A queue's books.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// What its own gangs hold.
    pub own: Holdings,
    /// The same with that of the queues below it.
    pub held: Holdings,
    /// What is used on nodes, in worth, as it was last settled.
    pub usage: u64,
    /// That over time, but for what is given back whenever somebody needs it: it stands in nobody's way.
    pub flow: Flow,
    /// Its fair share now, in worth.
    pub share: u64,
    /// What gangs were charged against its budget, in worth times milliseconds.
    charges: BTreeMap<GangId, Charge>,
    charged: u128,
}

impl Account {
    /// What is charged against its budget.
    #[must_use]
    pub const fn charged(&self) -> u128 {
        self.charged
    }

    /// Charges a gang, instead of what it was charged before; says what that was.
    pub(super) fn charge(&mut self, gang: GangId, charge: Option<Charge>) -> Option<Charge> {
        let charge = charge.filter(|charge| charge.amount > 0);
        self.charged += charge.as_ref().map_or(0, |charge| charge.amount);
        let before = match charge {
            Some(charge) => self.charges.insert(gang, charge),
            None => self.charges.remove(&gang),
        };
        self.charged -= before.as_ref().map_or(0, |charge| charge.amount);
        before
    }

    /// What a gang was charged.
    #[must_use]
    pub fn charge_of(&self, gang: GangId) -> u128 {
        self.charges.get(&gang).map_or(0, |charge| charge.amount)
    }

    /// Who is charged something.
    pub(in crate::state) fn charges(&self) -> impl Iterator<Item = (GangId, &Charge)> {
        self.charges.iter().map(|(gang, charge)| (*gang, charge))
    }

    /// Values anew what is held, what is remembered of it, and what is charged.
    pub(super) fn revalue(&mut self, before: &Weights, weights: &Weights) {
        self.usage = weights.of(&self.held.used());
        self.flow.revalue(before, weights);
        for charge in self.charges.values_mut() {
            charge.revalue(before, weights);
        }
        self.charged = self.charges.values().map(|charge| charge.amount).sum();
    }

    /// Brings the flow up to what is held now; says whether that is less than before.
    pub(super) fn settle(&mut self, weights: &Weights, now: Time, half_life: Millis) -> bool {
        let (usage, before) = (weights.of(&self.held.used()), self.usage);
        self.usage = usage;
        let used = self.held.used_to_stay();
        if used != self.flow.used {
            self.flow.settle(used, weights, now, half_life);
        }
        usage < before
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_model::resources::{CORE, Dimensions, Worth};

    const HOUR: Millis = Millis(3_600_000);
    const GPU: &str = "example.com/gpu";

    /// Cores, in thousandths, and GPUs.
    fn tally(dimensions: &Dimensions, millicores: i64, gpus: i64) -> Tally {
        let mut tally = Tally::default();
        tally.add_amount(Dimension::CPU, millicores);
        tally.add_amount(dimensions.get(GPU).unwrap(), gpus);
        tally
    }

    /// A cluster of 1,000 cores and so many GPUs, which are worth as much together.
    fn weights(dimensions: &Dimensions, gpus: i64) -> Weights {
        let offered = tally(dimensions, 1_000_000, gpus);
        Weights::new(&Worth::default(), dimensions, |one| offered.get(one))
    }

    fn dimensions() -> Dimensions {
        let mut dimensions = Dimensions::default();
        dimensions.register(GPU);
        dimensions
    }

    /// A flow that is told of cores alone.
    struct OfCores(Flow, Dimensions);

    impl OfCores {
        fn new() -> Self {
            Self(Flow::default(), dimensions())
        }

        fn settle(&mut self, millicores: i64, now: Time) {
            let used = tally(&self.1, millicores, 0);
            self.0.settle(used, &weights(&self.1, 0), now, HOUR);
        }

        /// In thousandths of a core.
        fn value(&self, now: Time) -> u64 {
            self.0.value(now, HOUR) / (CORE / 1_000)
        }
    }

    #[test]
    fn flow_follows_usage_up_at_once_and_down_by_half_lives() {
        let mut flow = OfCores::new();
        flow.settle(100, Time(0));
        assert_eq!(flow.value(Time(0)), 100);
        flow.settle(20, Time(0));
        assert_eq!(flow.value(Time(0)), 100);
        assert_eq!(flow.value(Time(HOUR.0)), 60);
        assert_eq!(flow.value(Time(2 * HOUR.0)), 40);
        // Usage that rises below the flow does not change it.
        flow.settle(50, Time(HOUR.0));
        assert_eq!(flow.value(Time(HOUR.0)), 60);
        flow.settle(90, Time(HOUR.0));
        assert_eq!(flow.value(Time(HOUR.0)), 90);
    }

    #[test]
    fn how_long_it_takes_to_fall_is_known() {
        let mut flow = OfCores::new();
        flow.settle(1_000, Time(0));
        flow.settle(0, Time(0));
        let flow = flow.0;
        for most in [900_000, 500_000, 1, 0] {
            let wait = flow.until_excess(most, Time(5), HOUR);
            assert!(flow.excess(Time(5) + wait, HOUR) <= most);
            assert!(flow.excess(Time(5) + Millis(wait.0 - 1), HOUR) > most);
        }
        assert_eq!(flow.until_excess(1_000_000, Time(0), HOUR), Millis(0));
    }

    #[test]
    fn a_flow_that_is_recalled_has_decayed_since() {
        let mut flow = OfCores::new();
        flow.settle(100, Time(HOUR.0));
        let recalled = 300 * CORE / 1_000;
        flow.0.recall(recalled, Time(0), Time(HOUR.0), HOUR);
        assert_eq!(flow.value(Time(HOUR.0)), 200);
        let little = 10 * CORE / 1_000;
        flow.0.recall(little, Time(0), Time(HOUR.0), HOUR);
        assert_eq!(flow.value(Time(HOUR.0)), 200, "never below usage");
    }

    #[test]
    fn devices_that_were_left_as_their_nodes_were_gone_are_no_use_when_they_return() {
        let all = dimensions();
        let (with, without) = (weights(&all, 8), weights(&all, 0));
        let mut flow = Flow::default();
        // A core of excess, and eight GPUs in use.
        flow.settle(tally(&all, 2_000, 8), &with, Time(0), HOUR);
        flow.settle(tally(&all, 1_000, 8), &with, Time(0), HOUR);
        assert_eq!(flow.value(Time(0), HOUR), 1_002 * CORE);
        flow.revalue(&with, &without);
        assert_eq!(flow.value(Time(0), HOUR), 2 * CORE);
        flow.settle(tally(&all, 1_000, 0), &without, Time(0), HOUR);
        flow.revalue(&without, &with);
        assert_eq!(flow.value(Time(0), HOUR), 2 * CORE);
    }

    #[test]
    fn what_nobody_knows_the_amounts_of_stays_what_it_is() {
        let all = dimensions();
        let (with, without) = (weights(&all, 8), weights(&all, 0));
        let mut flow = Flow::default();
        flow.recall(1_000 * CORE, Time(0), Time(0), HOUR);
        flow.settle(tally(&all, 100, 8), &with, Time(0), HOUR);
        flow.settle(tally(&all, 100, 0), &with, Time(0), HOUR);
        let before = flow.value(Time(0), HOUR);
        flow.revalue(&with, &without);
        flow.revalue(&without, &with);
        let after = flow.value(Time(0), HOUR);
        assert!(after <= before, "{after} of {before}");
    }

    #[test]
    fn what_is_remembered_of_devices_alone_stays_while_there_are_none() {
        let all = dimensions();
        let (with, without) = (weights(&all, 8), weights(&all, 0));
        let mut flow = Flow::default();
        flow.settle(tally(&all, 0, 4), &with, Time(0), HOUR);
        flow.settle(tally(&all, 0, 0), &with, Time(0), HOUR);
        flow.revalue(&with, &without);
        assert_eq!(flow.value(Time(0), HOUR), 500 * CORE);
        flow.settle(tally(&all, 5_000, 0), &without, Time(0), HOUR);
        flow.settle(tally(&all, 0, 0), &without, Time(0), HOUR);
        flow.revalue(&without, &with);
        assert_eq!(flow.value(Time(0), HOUR), 500 * CORE);
    }

    #[test]
    fn whose_number_another_has_left_nothing_in_it() {
        let all = dimensions();
        let (with, without) = (weights(&all, 8), weights(&all, 0));
        let mut flow = Flow::default();
        flow.settle(tally(&all, 1_000, 8), &with, Time(0), HOUR);
        flow.settle(tally(&all, 0, 4), &with, Time(0), HOUR);
        flow.revalue(&with, &without);
        let left = flow.value(Time(0), HOUR);
        flow.forget(all.get(GPU).unwrap());
        flow.revalue(&without, &with);
        assert_eq!(flow.value(Time(0), HOUR), left);
    }
}
