//! What a queue's gangs hold, and have held lately.

use crate::state::ids::GangId;
use muster_model::Lifetime;
use muster_model::resources::{Request, Tally, Weights};
use muster_model::units::{Millis, Time, decayed};
use std::collections::BTreeMap;

/// What gangs hold on nodes, and what is set aside for them.
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
}

impl Holdings {
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
        self.part(lifetime).map(apply);
    }

    /// Adds what one gang holds, and what of that is only held for it.
    pub(in crate::state) fn change_by(
        &mut self,
        lifetime: Lifetime,
        (amounts, nominated): (&Tally, &Tally),
        more: bool,
    ) {
        if more {
            self.nominated.add_all(nominated);
        } else {
            self.nominated.subtract_all(nominated);
        }
        let apply = |tally: &mut Tally| {
            if more {
                tally.add_all(amounts);
            } else {
                tally.subtract_all(amounts);
            }
        };
        apply(&mut self.all);
        self.part(lifetime).map(apply);
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.all.add_all(&other.all);
        self.unlimited.add_all(&other.unlimited);
        self.free.add_all(&other.free);
        self.nominated.add_all(&other.nominated);
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// Usage at that moment and since.
    usage: u64,
    /// By how much the flow was above it at that moment.
    excess: u64,
    at: Time,
}

impl Flow {
    /// Usage as it was last settled.
    #[must_use]
    pub const fn usage(&self) -> u64 {
        self.usage
    }

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

    /// Usage has changed.
    pub(super) fn settle(&mut self, usage: u64, now: Time, half_life: Millis) {
        let flow = self.value(now, half_life);
        *self = Self {
            usage,
            excess: flow.saturating_sub(usage),
            at: now,
        };
    }

    /// It was at least this at a moment before this process began.
    pub(super) fn recall(&mut self, flow: u64, at: Time, now: Time, half_life: Millis) {
        let excess = decayed(flow.saturating_sub(self.usage), now.since(at), half_life);
        if excess > self.excess(now, half_life) {
            (self.excess, self.at) = (excess, now);
        }
    }

    /// How long until the excess is at most this, if nothing changes.
    #[must_use]
    pub fn until_excess(&self, most: u64, now: Time, half_life: Millis) -> Millis {
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

/// A queue's books.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// What its own gangs hold.
    pub own: Holdings,
    /// The same with that of the queues below it.
    pub held: Holdings,
    /// Its usage over time.
    pub flow: Flow,
    /// Its fair share now, in worth.
    pub share: u64,
    /// What gangs were charged against its budget, in worth times milliseconds.
    charges: BTreeMap<GangId, u128>,
    charged: u128,
}

impl Account {
    /// What is charged against its budget.
    #[must_use]
    pub const fn charged(&self) -> u128 {
        self.charged
    }

    /// Charges a gang, instead of what it was charged before.
    pub(super) fn charge(&mut self, gang: GangId, amount: u128) {
        self.give_back(gang);
        if amount > 0 {
            self.charges.insert(gang, amount);
            self.charged += amount;
        }
    }

    /// Gives a gang's charge back; says whether there was one.
    pub(super) fn give_back(&mut self, gang: GangId) -> bool {
        let before = self.charges.remove(&gang).unwrap_or(0);
        self.charged -= before;
        before > 0
    }

    /// What a gang was charged.
    #[must_use]
    pub fn charge_of(&self, gang: GangId) -> u128 {
        self.charges.get(&gang).copied().unwrap_or(0)
    }

    /// Brings the flow up to what is held now; says whether that is less than before. What is only
    /// nominated is used by others still: together they may be more than there is.
    pub(super) fn settle(&mut self, weights: &Weights, now: Time, half_life: Millis) -> bool {
        let mut used = self.held.all.clone();
        used.subtract_all(&self.held.nominated);
        let usage = weights.of(&used);
        let eased = usage < self.flow.usage;
        if usage != self.flow.usage {
            self.flow.settle(usage, now, half_life);
        }
        eased
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Millis = Millis(3_600_000);

    #[test]
    fn flow_follows_usage_up_at_once_and_down_by_half_lives() {
        let mut flow = Flow::default();
        flow.settle(100, Time(0), HOUR);
        assert_eq!(flow.value(Time(0), HOUR), 100);
        flow.settle(20, Time(0), HOUR);
        assert_eq!(flow.value(Time(0), HOUR), 100);
        assert_eq!(flow.value(Time(HOUR.0), HOUR), 60);
        assert_eq!(flow.value(Time(2 * HOUR.0), HOUR), 40);
        // Usage that rises below the flow does not change it.
        flow.settle(50, Time(HOUR.0), HOUR);
        assert_eq!(flow.value(Time(HOUR.0), HOUR), 60);
        flow.settle(90, Time(HOUR.0), HOUR);
        assert_eq!(flow.value(Time(HOUR.0), HOUR), 90);
    }

    #[test]
    fn how_long_it_takes_to_fall_is_known() {
        let mut flow = Flow::default();
        flow.settle(1_000_000, Time(0), HOUR);
        flow.settle(0, Time(0), HOUR);
        for most in [900_000, 500_000, 1, 0] {
            let wait = flow.until_excess(most, Time(5), HOUR);
            assert!(flow.excess(Time(5) + wait, HOUR) <= most);
            assert!(flow.excess(Time(5) + Millis(wait.0 - 1), HOUR) > most);
        }
        assert_eq!(flow.until_excess(1_000_000, Time(0), HOUR), Millis(0));
    }

    #[test]
    fn a_flow_that_is_recalled_has_decayed_since() {
        let mut flow = Flow::default();
        flow.settle(100, Time(HOUR.0), HOUR);
        flow.recall(300, Time(0), Time(HOUR.0), HOUR);
        assert_eq!(flow.value(Time(HOUR.0), HOUR), 200);
        flow.recall(10, Time(0), Time(HOUR.0), HOUR);
        assert_eq!(flow.value(Time(HOUR.0), HOUR), 200, "never below usage");
    }
}
