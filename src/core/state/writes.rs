//! Whether anything comes of writes, and when that was last not so for long.
//!
//! What nobody could do does not count against a gang. But a single bind that the API server never
//! answers is no outage: others are judged meanwhile.

use muster_model::Writes;
use muster_model::units::{Millis, Time};

/// A stall that was over sooner was none of the API server: of two answers in a row one may always be
/// lost. While it is well, it judges the renewal of the Lease every 1.5 s.
const OUTAGE: Millis = Millis(2_500);
/// A stall of which nothing was heard for so long is over: who writes nothing cannot know.
const STALE: Millis = Millis(6_000);

/// How often a gang whose time would be up is looked at while nothing comes of writes.
const LOOK: Millis = Millis(1_000);

/// What is known of writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WritesKnown {
    stall: Option<Stall>,
    /// The last stall that is over, however short.
    blink: Option<Outage>,
    last: Option<Outage>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stall {
    since: Time,
    /// When it was last heard of.
    heard: Time,
}

/// A time in which nothing could be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    /// Since when.
    pub since: Time,
    /// When something could be written again.
    pub until: Time,
}

impl WritesKnown {
    pub(super) fn hear(&mut self, writes: Writes, now: Time) {
        match writes {
            Writes::Stalled { since } => {
                let since = self.stalled(now).map_or(since, |known| known.min(since));
                self.last = self.outage(now);
                self.stall = Some(Stall { since, heard: now });
            }
            Writes::Judged { at } => {
                if let Some(stall) = self.stall.take() {
                    let ended = stall.ended(at);
                    self.blink = Some(ended);
                    self.last = ended.if_long().or(self.last);
                }
            }
        }
    }

    /// Since when nothing has come of any write, if that is so.
    #[must_use]
    pub fn stalled(&self, now: Time) -> Option<Time> {
        let stall = self.stall.filter(|stall| !stall.is_stale(now));
        stall.map(|stall| stall.since)
    }

    /// The last outage that is over.
    #[must_use]
    pub fn outage(&self, now: Time) -> Option<Outage> {
        let stale = self.stall.filter(|stall| stall.is_stale(now));
        let ended = stale.and_then(|stall| stall.ended(now).if_long());
        ended.or(self.last)
    }

    /// Until when who had time from the one until the other time has time, as nothing came of any write meanwhile:
    /// while that is so, and when it was short for as much longer.
    #[must_use]
    pub fn grace(&self, from: Time, deadline: Time, now: Time) -> Time {
        if self.stalled(now).is_some_and(|since| since < deadline) {
            return deadline.max(now + LOOK);
        }
        let blink = self.blink.filter(|blink| blink.since < deadline);
        let lasted = blink.map_or(Millis(0), |blink| blink.until.since(blink.since.max(from)));
        deadline + lasted.min(OUTAGE)
    }
}

impl Outage {
    fn if_long(self) -> Option<Self> {
        (self.until.since(self.since) >= OUTAGE).then_some(self)
    }
}

impl Stall {
    fn is_stale(&self, now: Time) -> bool {
        now.since(self.heard) >= STALE
    }

    /// What it was, if it ends then.
    fn ended(&self, end: Time) -> Outage {
        Outage {
            since: self.since,
            until: end.min(self.heard + STALE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stalled(known: &mut WritesKnown, since: u64, now: u64) {
        let since = Time(since);
        known.hear(Writes::Stalled { since }, Time(now));
    }

    fn judged(known: &mut WritesKnown, at: u64) {
        let at = Time(at);
        known.hear(Writes::Judged { at }, at);
    }

    /// Who hears of it late takes no longer time for an outage.
    #[test]
    fn an_outage_ends_when_it_ended_and_not_when_that_is_heard() {
        let mut known = WritesKnown::default();
        stalled(&mut known, 1_000, 90_000);
        let at = Time(1_600);
        known.hear(Writes::Judged { at }, Time(90_000));
        assert_eq!(known.outage(Time(90_000)), None);
        stalled(&mut known, 2_000, 90_000);
        let (since, until) = (Time(2_000), Time(9_000));
        known.hear(Writes::Judged { at: until }, Time(90_000));
        assert_eq!(known.outage(Time(90_000)), Some(Outage { since, until }));
    }

    #[test]
    fn a_stall_is_an_outage_when_it_lasted() {
        let mut known = WritesKnown::default();
        stalled(&mut known, 1_000, 1_100);
        assert_eq!(known.stalled(Time(1_200)), Some(Time(1_000)));
        judged(&mut known, 2_000);
        assert_eq!(
            (known.stalled(Time(2_000)), known.outage(Time(2_000))),
            (None, None)
        );
        stalled(&mut known, 3_000, 3_000);
        stalled(&mut known, 4_000, 5_000);
        judged(&mut known, 6_000);
        let (since, until) = (Time(3_000), Time(6_000));
        assert_eq!(known.outage(Time(9_000)), Some(Outage { since, until }));
        judged(&mut known, 10_000);
        assert_eq!(known.outage(Time(11_000)), Some(Outage { since, until }));
    }

    #[test]
    fn who_waits_has_as_much_longer_as_nothing_came_of_writes() {
        let (from, deadline) = (Time(5_000), Time(8_000));
        let grace = |known: &WritesKnown, now| known.grace(from, deadline, Time(now)).0;
        assert_eq!(grace(&WritesKnown::default(), 8_000), 8_000);
        for (since, until, then) in [
            (1_000, 2_000, 8_000),
            (4_000, 6_000, 9_000),
            (7_500, 8_500, 9_000),
            (5_000, 9_000, 10_500),
            (8_000, 9_000, 8_000),
        ] {
            let mut known = WritesKnown::default();
            stalled(&mut known, since, since.max(3_000));
            let longer = if since < 8_000 { 9_000 } else { 8_000 };
            assert_eq!(grace(&known, 8_000), longer, "while it lasts");
            judged(&mut known, until);
            assert_eq!(grace(&known, 9_000), then, "{since} to {until}");
        }
    }

    #[test]
    fn a_stall_of_which_nothing_is_heard_ends_by_itself() {
        let mut known = WritesKnown::default();
        stalled(&mut known, 1_000, 2_000);
        let until = Time(2_000) + STALE;
        assert_eq!(known.stalled(until - Millis(1)), Some(Time(1_000)));
        assert_eq!(known.stalled(until), None);
        let since = Time(1_000);
        let outage = Some(Outage { since, until });
        assert_eq!(known.outage(until + Millis(500)), outage);
        // What comes later is another one.
        stalled(&mut known, 20_000, 20_000);
        assert_eq!(known.stalled(Time(20_000)), Some(Time(20_000)));
        assert_eq!(known.outage(Time(20_000)), outage);
    }
}
