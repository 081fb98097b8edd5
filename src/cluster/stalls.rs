//! Whether anything comes of what this process writes: by what is answered, and by when it may write.
//!
//! No I/O and no clock: the lanes, the Lease and the simulator say what came back, and the core is told.
//! An answer proves that the API server judges writes, whatever it says; none, or one that says try
//! again later, does not. A write that ends in a time-out, while what it is about can be read, was in
//! somebody's way (a webhook that hangs): the API server is well. What all that means for anybody is the
//! core's matter.

use super::attempt::{Answer, is_transient};
use super::ending::WRITE_ENDS_WITHIN;
use muster_model::Writes;
use muster_model::units::{Millis, Time};

/// While nothing comes of writes, that is told so often.
const TELL_EVERY: Millis = Millis(1_000);
/// One that was over sooner, before anybody was told of it, is not told.
const BLINK: Millis = Millis(500);
/// A write that has had no answer for so long, and none was judged since it was sent, comes to nothing for now:
/// who waits for it need not be told that it was lost to know.
const SILENCE: Millis = Millis(1_000);

/// Of what nobody asks for, so much is kept: the latest.
const MOST: usize = 16;

/// What came of writes lately.
#[derive(Clone, Debug, Default)]
pub struct Stalls {
    /// Since when nothing has come of any.
    since: Option<Time>,
    /// Whether more than time-outs of writes says so: an answer that says try again later, or that nothing
    /// can be read, and no Lease renewed.
    certain: bool,
    /// When one was last judged.
    judged: Option<Time>,
    /// When the first one was sent since then.
    asked: Option<Time>,
    /// When it was last told that nothing comes of them.
    told: Time,
    /// Until when writes may be sent, as it was last said.
    until: Time,
    /// Since when none may.
    shut: Option<Time>,
    /// What is to be told, with the time at which each stall began.
    news: Vec<Writes>,
}

impl Stalls {
    /// Notes that a write is sent.
    pub fn sent(&mut self, now: Time) {
        if !self.asked.is_some_and(|asked| may_be_answered(asked, now)) {
            self.asked = Some(now);
        }
    }

    /// Takes what came back for a write that was sent then.
    pub fn written(&mut self, answer: &Answer, sent: Time, now: Time) {
        self.asked.take_if(|asked| sent <= *asked);
        match answer {
            // Who is in the way of one write makes it end so.
            Answer::Lost
            | Answer::Status {
                code: 500 | 504, ..
            } => self.comes_to_nothing(sent, now),
            Answer::Status { code, .. } if is_transient(*code) => self.fails(sent, now),
            Answer::Accepted | Answer::Status { .. } => self.judged(now),
            // It says nothing of the API server's writes.
            Answer::Pod { .. } | Answer::Outside(_) => {}
        }
    }

    /// Takes what came back for a read: where nothing can be read, nothing can be written.
    pub fn read(&mut self, answer: &Answer, sent: Time, now: Time) {
        match answer {
            Answer::Pod { .. } => self.can_be_read(),
            Answer::Status { code, .. } if !is_transient(*code) => self.can_be_read(),
            _ => self.fails(sent, now),
        }
    }

    /// Something can be read: where nothing but time-outs of writes said otherwise, the API server is well, and
    /// was all the time.
    fn can_be_read(&mut self) {
        self.asked = None;
        if let Some(since) = self.since.take_if(|_| !self.certain) {
            if matches!(self.news.last(), Some(Writes::Stalled { .. })) {
                self.news.pop();
            } else {
                self.tell(Writes::Judged { at: since });
            }
        }
    }

    /// Nothing came of something that was sent then, and that is the API server's.
    pub fn fails(&mut self, sent: Time, now: Time) {
        self.certain = true;
        self.comes_to_nothing(sent, now);
    }

    fn comes_to_nothing(&mut self, sent: Time, now: Time) {
        let begun = self.judged.map_or(sent, |judged| judged.max(sent));
        let since = *self.since.get_or_insert(begun);
        if self.told + TELL_EVERY <= now || self.told < since {
            self.told = now;
            self.tell(Writes::Stalled { since });
        }
    }

    /// The API server judged a write.
    pub fn judged(&mut self, now: Time) {
        self.judged = Some(now);
        self.asked = None;
        self.certain = false;
        let Some(since) = self.since.take() else {
            return;
        };
        let untold = matches!(self.news.last(), Some(Writes::Stalled { .. }));
        if untold && now.since(since) < BLINK {
            self.news.pop();
        } else {
            self.tell(Writes::Judged { at: now });
        }
    }

    /// Until when writes may be sent, by the Lease; no longer where that is not after now.
    pub fn may_write(&mut self, until: Time, now: Time) {
        let before = std::mem::replace(&mut self.until, until);
        let was_open = before > Time::ZERO && self.shut.is_none();
        if was_open && (before <= now || until <= now) {
            self.shut = Some(before.min(now));
        }
        if until > now
            && let Some(since) = self.shut.take()
        {
            self.tell(Writes::Stalled { since });
            (self.since, self.asked, self.certain) = (None, None, false);
            self.tell(Writes::Judged { at: now });
        }
    }

    /// What is to be told by now.
    pub fn take_news(&mut self, now: Time) -> Vec<Writes> {
        let silent = |asked: &Time| now.since(*asked) >= SILENCE && may_be_answered(*asked, now);
        if let Some(asked) = self.asked.filter(silent) {
            self.comes_to_nothing(asked, now);
        }
        std::mem::take(&mut self.news)
    }

    fn tell(&mut self, writes: Writes) {
        match (self.news.last_mut(), writes) {
            (Some(Writes::Stalled { .. }), Writes::Stalled { .. }) => {}
            _ => self.news.push(writes),
        }
        if self.news.len() > MOST {
            self.news.remove(0);
        }
    }
}

/// Whether what was sent then may still be answered.
fn may_be_answered(sent: Time, now: Time) -> bool {
    now.since(sent) < WRITE_ENDS_WITHIN
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(code: u16) -> Answer {
        Answer::Status {
            code,
            message: String::new(),
            retry_after: None,
        }
    }

    fn stalled(since: u64) -> Writes {
        let since = Time(since);
        Writes::Stalled { since }
    }

    fn judged(at: u64) -> Writes {
        Writes::Judged { at: Time(at) }
    }

    #[test]
    fn what_nobody_asks_for_is_bounded() {
        let mut stalls = Stalls::default();
        for at in 1..100 {
            stalls.fails(Time(at * 10_000), Time(at * 10_000));
            stalls.judged(Time(at * 10_000 + 5_000));
        }
        let told = stalls.take_news(Time::ZERO);
        assert_eq!((told.len(), told.last()), (MOST, Some(&judged(995_000))));
    }

    #[test]
    fn whatever_is_answered_shows_that_writes_are_judged_but_try_again_later() {
        for (answer, fails) in [
            (Answer::Lost, true),
            (status(429), true),
            (status(500), true),
            (status(504), true),
            (status(403), false),
            (status(404), false),
            (status(409), false),
            (Answer::Accepted, false),
        ] {
            let mut stalls = Stalls::default();
            stalls.written(&answer, Time(1_000), Time(1_400));
            let told = if fails { vec![stalled(1_000)] } else { vec![] };
            assert_eq!(stalls.take_news(Time::ZERO), told, "{answer:?}");
            stalls.written(&Answer::Accepted, Time(4_000), Time(4_000));
            let told = if fails { vec![judged(4_000)] } else { vec![] };
            assert_eq!(stalls.take_news(Time::ZERO), told, "{answer:?}");
        }
    }

    #[test]
    fn a_stall_begins_after_the_last_write_that_was_judged_and_is_told_every_second() {
        let mut stalls = Stalls::default();
        stalls.judged(Time(2_000));
        stalls.written(&Answer::Lost, Time(1_000), Time(3_000));
        assert_eq!(stalls.take_news(Time::ZERO), [stalled(2_000)]);
        stalls.read(&Answer::Lost, Time(3_000), Time(3_900));
        assert_eq!(stalls.take_news(Time::ZERO), []);
        stalls.read(&status(503), Time(3_900), Time(4_000));
        assert_eq!(stalls.take_news(Time::ZERO), [stalled(2_000)]);
        // What can be read cannot be written for that.
        stalls.read(&status(404), Time(4_000), Time(5_000));
        assert_eq!(stalls.take_news(Time::ZERO), []);
    }

    #[test]
    fn a_write_that_somebody_is_in_the_way_of_is_no_stall() {
        let mut stalls = Stalls::default();
        let found = status(404);
        stalls.written(&status(504), Time(1_000), Time(3_000));
        assert_eq!(stalls.take_news(Time::ZERO), [stalled(1_000)]);
        stalls.read(&found, Time(3_500), Time(3_600));
        // It ended when it began.
        assert_eq!(stalls.take_news(Time::ZERO), [judged(1_000)]);
        stalls.written(&status(504), Time(4_000), Time(6_000));
        stalls.read(&found, Time(6_000), Time(6_100));
        assert_eq!(stalls.take_news(Time::ZERO), [], "nobody had heard of it");
        // Where the API server was too busy, or nothing could be read, it was one, whatever can be read at its
        // end.
        type Heard = fn(&mut Stalls);
        let heard: [Heard; 3] = [
            |stalls| stalls.written(&status(429), Time(3_000), Time(4_000)),
            |stalls| stalls.read(&Answer::Lost, Time(3_000), Time(4_000)),
            |stalls| stalls.fails(Time(3_000), Time(4_000)),
        ];
        for hear in heard {
            let mut stalls = Stalls::default();
            stalls.written(&Answer::Lost, Time(1_000), Time(3_000));
            hear(&mut stalls);
            stalls.take_news(Time::ZERO);
            stalls.read(&found, Time(9_000), Time(9_000));
            assert_eq!(stalls.take_news(Time::ZERO), []);
            stalls.judged(Time(9_500));
            assert_eq!(stalls.take_news(Time::ZERO), [judged(9_500)]);
        }
    }

    #[test]
    fn writes_that_nobody_answers_come_to_nothing_before_they_are_lost() {
        let mut stalls = Stalls::default();
        stalls.judged(Time(1_000));
        stalls.sent(Time(2_000));
        stalls.sent(Time(2_500));
        assert_eq!(stalls.take_news(Time(2_900)), []);
        assert_eq!(stalls.take_news(Time(3_000)), [stalled(2_000)]);
        // One is judged, whichever: the other is in nobody's way.
        stalls.written(&Answer::Accepted, Time(2_500), Time(3_600));
        assert_eq!(stalls.take_news(Time(3_600)), [judged(3_600)]);
        assert_eq!(stalls.take_news(Time(4_400)), []);
        // Nor is one that is lost, when the next is sent, or of which nobody ever says what it came to.
        for answer in [Some(Answer::Lost), Some(status(429)), None] {
            let mut stalls = Stalls::default();
            stalls.sent(Time(1_000));
            let end = Time(1_000) + WRITE_ENDS_WITHIN;
            if let Some(answer) = answer {
                stalls.written(&answer, Time(1_000), end);
                assert_eq!(stalls.take_news(end), [stalled(1_000)]);
                stalls.judged(end);
                stalls.take_news(end);
            }
            assert_eq!(stalls.take_news(end), []);
            stalls.sent(Time(8_000));
            assert_eq!(stalls.take_news(Time(8_900)), []);
            assert_eq!(stalls.take_news(Time(9_100)), [stalled(8_000)]);
        }
    }

    #[test]
    fn what_was_over_before_anybody_heard_of_it_is_not_told() {
        let mut stalls = Stalls::default();
        for at in 10..100 {
            stalls.written(&status(429), Time(at * 100), Time(at * 100));
            stalls.judged(Time(at * 100 + 50));
        }
        assert_eq!(stalls.take_news(Time::ZERO), []);
    }

    #[test]
    fn a_time_in_which_nothing_might_be_written_is_a_stall() {
        let mut stalls = Stalls::default();
        stalls.may_write(Time::ZERO, Time(500));
        stalls.may_write(Time(4_000), Time(1_000));
        stalls.may_write(Time(5_000), Time(2_000));
        assert_eq!(stalls.take_news(Time::ZERO), []);
        // It was paused, and goes on.
        stalls.judged(Time(9_000));
        stalls.may_write(Time(12_000), Time(9_000));
        assert_eq!(
            stalls.take_news(Time::ZERO),
            [stalled(5_000), judged(9_000)]
        );
        // It was told to stop.
        stalls.may_write(Time::ZERO, Time(10_000));
        stalls.may_write(Time::ZERO, Time(11_000));
        stalls.may_write(Time(20_000), Time(15_000));
        assert_eq!(
            stalls.take_news(Time::ZERO),
            [stalled(10_000), judged(15_000)]
        );
    }
}
