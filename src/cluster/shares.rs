//! Who may have a bind, an eviction or a word on the wire: a namespace whose binds come to nothing while those of others are judged has one at
//! a time, and one whose binds take long has some. So a webhook that hangs for one tenant holds up nobody else.
//! Otherwise all share what there is, first come, first served: gangs get whole one after the other. No I/O and no
//! clock.

use muster_model::BindOutcome;
use muster_model::units::{Millis, Time};
use std::collections::BTreeMap;

/// For so long what a bind came to says something of the next ones.
const MEMORY: Millis = Millis(10_000);
/// Others do well if one of them did so lately.
const LATELY: Millis = Millis(3_000);
/// A bind that was judged after longer took long.
const LATE: Millis = Millis(1_000);
/// So many at a time has a namespace whose binds take long.
const SOME: usize = 16;
/// Of so many namespaces at most that are idle it is kept how they did.
const KEPT: usize = 1_000;

/// How a bind ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The API server judged it: it is done, or refused.
    Judged,
    /// It did so after a long time.
    Late,
    /// It came to nothing, or to what nobody knows.
    Badly,
    /// It was not sent.
    Unsent,
}

impl Ended {
    /// What the outcome of a bind says that was known after so long.
    #[must_use]
    pub const fn of(outcome: &BindOutcome, took: Millis) -> Self {
        match outcome {
            BindOutcome::Bound { .. } | BindOutcome::Refused { .. } | BindOutcome::Gone => {
                Self::after(true, took)
            }
            BindOutcome::Failed { .. } => Self::after(false, took),
            BindOutcome::Unsent => Self::Unsent,
        }
    }

    /// How a write did that took so long.
    #[must_use]
    pub const fn after(is_judged: bool, took: Millis) -> Self {
        if !is_judged {
            Self::Badly
        } else if took.0 > LATE.0 {
            Self::Late
        } else {
            Self::Judged
        }
    }
}

/// How the binds of one namespace do.
#[derive(Debug, Default)]
struct Share {
    in_flight: usize,
    /// When one last came to nothing or took long, if none was judged in time since; and how many it may have.
    trouble: Option<(Time, usize)>,
}

/// What all namespaces have on the wire.
#[derive(Debug, Default)]
pub struct Shares {
    by_namespace: BTreeMap<String, Share>,
    /// The last two namespaces of which a bind was judged, and when.
    well: [Option<(String, Time)>; 2],
    /// So many at a time has any namespace, if that is said.
    most_of_each: Option<usize>,
}

impl Shares {
    /// Of which no namespace has more than so many at a time, however it does: what it has before it is known to hang
    /// leaves room for the others.
    #[must_use]
    pub fn with_at_most(of_each: usize) -> Self {
        Self {
            most_of_each: Some(of_each),
            ..Self::default()
        }
    }

    /// A bind of this namespace begins.
    pub fn begin(&mut self, namespace: &str) {
        let share = self.by_namespace.entry(namespace.to_owned()).or_default();
        share.in_flight += 1;
    }

    /// One has ended.
    pub fn end(&mut self, namespace: &str, how: Ended, now: Time) {
        let share = self.by_namespace.entry(namespace.to_owned()).or_default();
        share.in_flight = share.in_flight.saturating_sub(1);
        match how {
            Ended::Judged => share.trouble = None,
            Ended::Late => share.trouble = Some((now, SOME)),
            Ended::Badly => share.trouble = Some((now, 1)),
            Ended::Unsent => {}
        }
        if how == Ended::Judged {
            let is_it = |one: &Option<(String, Time)>| {
                one.as_ref().is_some_and(|(name, _)| name == namespace)
            };
            if !is_it(&self.well[0]) {
                self.well.swap(0, 1);
            }
            self.well[0] = Some((namespace.to_owned(), now));
        }
        if self.by_namespace.len() > KEPT {
            let matters = |share: &Share| share.in_flight > 0 || share.trouble(now).is_some();
            self.by_namespace.retain(|_, share| matters(share));
        }
    }

    /// Whether its binds come to nothing or take long while those of others do not: they say nothing of the API server.
    #[must_use]
    pub fn is_in_trouble(&self, namespace: &str, now: Time) -> bool {
        self.most(namespace, now).is_some()
    }

    /// Whether its last ones came to nothing or took long and it has as many on the wire as it may have then: it gives way
    /// to those of whom nothing bad is known, whether or not these are known to do better.
    #[must_use]
    pub fn gives_way(&self, namespace: &str, now: Time) -> bool {
        let share = self.by_namespace.get(namespace);
        share.is_some_and(|share| {
            let most = share.trouble(now);
            most.is_some_and(|most| share.in_flight >= most)
        })
    }

    /// Whether another bind of it may begin.
    #[must_use]
    pub fn may_begin(&self, namespace: &str, now: Time) -> bool {
        let share = self.by_namespace.get(namespace);
        let in_flight = share.map_or(0, |share| share.in_flight);
        let most = self.most(namespace, now).into_iter();
        let most = most.chain(self.most_of_each).min();
        most.is_none_or(|most| in_flight < most)
    }

    /// The same where there are few slots and others may not have had one: who may be in trouble alone has at most half
    /// of them until that is known.
    #[must_use]
    pub fn may_begin_among(&self, slots: usize, namespace: &str, now: Time) -> bool {
        let share = self.by_namespace.get(namespace);
        let leaves_some =
            share.is_none_or(|share| share.trouble(now).is_none() || share.in_flight < slots / 2);
        leaves_some && self.may_begin(namespace, now)
    }

    /// How many it may have, if it is in trouble.
    fn most(&self, namespace: &str, now: Time) -> Option<usize> {
        let most = self.by_namespace.get(namespace)?.trouble(now)?;
        let mut well = self.well.iter().flatten();
        let others = well.any(|(name, at)| name != namespace && now.since(*at) < LATELY);
        others.then_some(most)
    }
}

impl Share {
    /// How many it may have, if what its last ones came to still says something.
    fn trouble(&self, now: Time) -> Option<usize> {
        let (at, most) = self.trouble?;
        (now.since(at) < MEMORY).then_some(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_fails_while_others_do_well_has_one_at_a_time() {
        let mut shares = Shares::default();
        for _ in 0..3 {
            shares.begin("bad");
        }
        shares.end("bad", Ended::Badly, Time(1_000));
        assert!(shares.may_begin("bad", Time(1_000)), "nobody knows better");
        shares.begin("good");
        shares.end("good", Ended::Judged, Time(1_100));
        assert!(!shares.may_begin("bad", Time(1_100)));
        assert!(shares.may_begin("good", Time(1_100)));
        shares.end("bad", Ended::Badly, Time(1_200));
        shares.end("bad", Ended::Badly, Time(1_200));
        assert!(shares.may_begin("bad", Time(1_200)), "one");
        shares.begin("bad");
        assert!(!shares.may_begin("bad", Time(1_300)));
        // Nobody else has done well for a while: it is the API server.
        assert!(shares.may_begin("bad", Time(1_100) + LATELY));
        shares.begin("good");
        shares.end("good", Ended::Judged, Time(9_000));
        assert!(!shares.may_begin("bad", Time(9_000)));
        shares.end("bad", Ended::Judged, Time(9_100));
        shares.begin("bad");
        assert!(shares.may_begin("bad", Time(9_100)));
    }

    #[test]
    fn who_takes_long_while_others_do_not_has_some_at_a_time() {
        let mut shares = Shares::default();
        for _ in 0..=SOME {
            shares.begin("slow");
        }
        shares.begin("good");
        shares.end("good", Ended::Judged, Time(1_000));
        assert!(shares.may_begin("slow", Time(1_000)));
        let late = Ended::of(&BindOutcome::Gone, Millis(1_500));
        shares.end("slow", late, Time(1_500));
        assert!(!shares.may_begin("slow", Time(1_500)));
        shares.end("slow", late, Time(1_500));
        assert!(shares.may_begin("slow", Time(1_500)));
    }

    #[test]
    fn who_failed_gives_way_to_those_of_whom_nothing_is_known() {
        let mut shares = Shares::default();
        for _ in 0..2 {
            shares.begin("bad");
        }
        assert!(!shares.gives_way("bad", Time(0)));
        shares.end("bad", Ended::Badly, Time(1_000));
        assert!(shares.gives_way("bad", Time(1_000)));
        assert!(!shares.gives_way("new", Time(1_000)));
        shares.end("bad", Ended::Badly, Time(1_000));
        assert!(!shares.gives_way("bad", Time(1_000)), "it may try one");
        shares.begin("bad");
        assert!(shares.gives_way("bad", Time(1_000)));
        assert!(!shares.gives_way("bad", Time(1_000) + MEMORY));
    }

    #[test]
    fn no_namespace_has_more_than_each_may_have() {
        let mut shares = Shares::with_at_most(2);
        shares.begin("a");
        assert!(shares.may_begin("a", Time(0)));
        shares.begin("a");
        assert!(!shares.may_begin("a", Time(0)));
        assert!(shares.may_begin("b", Time(0)));
        shares.end("a", Ended::Judged, Time(10));
        assert!(shares.may_begin("a", Time(10)));
    }

    #[test]
    fn who_fails_leaves_some_of_few_slots_to_others_before_these_are_known_to_do_better() {
        let mut shares = Shares::default();
        for _ in 0..3 {
            shares.begin("bad");
        }
        assert!(
            shares.may_begin_among(4, "bad", Time(0)),
            "it has not failed"
        );
        shares.end("bad", Ended::Badly, Time(1_000));
        assert!(!shares.may_begin_among(4, "bad", Time(1_000)));
        assert!(shares.may_begin_among(4, "good", Time(1_000)));
        shares.end("bad", Ended::Badly, Time(1_000));
        assert!(shares.may_begin_among(4, "bad", Time(1_000)));
    }

    #[test]
    fn that_it_did_well_itself_is_no_news_of_others() {
        let mut shares = Shares::default();
        for (at, how) in [(0, Ended::Judged), (1, Ended::Badly)] {
            shares.begin("a");
            shares.end("a", how, Time(at));
        }
        shares.begin("a");
        assert!(shares.may_begin("a", Time(2)));
        assert!(!shares.is_in_trouble("a", Time(2)));
    }

    #[test]
    fn namespaces_that_have_nothing_on_the_wire_are_forgotten() {
        let mut shares = Shares::default();
        for number in 0..3_000_u64 {
            let name = format!("n-{number}");
            shares.begin(&name);
            shares.end(&name, Ended::Badly, Time(number * 100));
        }
        assert!(shares.by_namespace.len() <= KEPT + 1);
    }
}
