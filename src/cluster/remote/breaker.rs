//! When a plugin that fails is left alone, and when it is tried again. No I/O, no clock.

use muster_model::units::{Doubling, Millis, Time};

/// So many failures in a row, and it is left alone ...
const FAILURES: u32 = 5;
/// ... for so long, longer after each try in vain.
const RESTS: Doubling = Doubling {
    first: Millis(1_000),
    longest: Millis(30_000),
};

/// A circuit breaker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breaker {
    state: State,
    /// How many rests there were since it last succeeded.
    rests: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Everything passes; so many failures in a row.
    Closed(u32),
    /// Nothing passes until then.
    Open(Time),
    /// One passes, whose outcome is not known yet.
    Trying,
}

impl Default for Breaker {
    fn default() -> Self {
        Self {
            state: State::Closed(0),
            rests: 0,
        }
    }
}

impl Breaker {
    /// Whether a request may be sent now. The first after a rest is a try; others wait for its outcome.
    pub fn lets_pass(&mut self, now: Time) -> bool {
        match self.state {
            State::Closed(_) => true,
            State::Open(until) if until <= now => {
                self.state = State::Trying;
                true
            }
            State::Open(_) | State::Trying => false,
        }
    }

    /// A request was answered with something of use.
    pub const fn succeeded(&mut self) {
        self.state = State::Closed(0);
        self.rests = 0;
    }

    /// A request failed.
    pub fn failed(&mut self, now: Time) {
        match self.state {
            State::Closed(before) if before + 1 < FAILURES => {
                self.state = State::Closed(before + 1);
            }
            State::Closed(_) | State::Trying => {
                self.state = State::Open(now + RESTS.after(self.rests));
                self.rests = self.rests.saturating_add(1);
            }
            // It was sent before.
            State::Open(_) => {}
        }
    }

    /// A request that was let pass was not sent after all: the next one is the try.
    pub fn withdrew(&mut self, now: Time) {
        if self.state == State::Trying {
            self.state = State::Open(now);
        }
    }

    /// Whether requests are held back.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        !matches!(self.state, State::Closed(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened() -> Breaker {
        let mut breaker = Breaker::default();
        for _ in 0..FAILURES {
            assert!(breaker.lets_pass(Time(0)));
            breaker.failed(Time(0));
        }
        breaker
    }

    #[test]
    fn it_opens_after_so_many_failures_in_a_row() {
        let mut breaker = Breaker::default();
        for _ in 0..3 {
            for _ in 1..FAILURES {
                breaker.failed(Time(0));
            }
            assert!(breaker.lets_pass(Time(0)));
            breaker.succeeded();
        }
        let mut breaker = opened();
        assert!(breaker.is_open());
        assert!(!breaker.lets_pass(Time(RESTS.first.0 - 1)));
    }

    #[test]
    fn after_a_rest_one_request_tries_and_the_others_wait_for_it() {
        let mut breaker = opened();
        assert!(breaker.lets_pass(Time(RESTS.first.0)));
        assert!(!breaker.lets_pass(Time(RESTS.first.0)));
        breaker.succeeded();
        assert!(breaker.lets_pass(Time(RESTS.first.0)) && !breaker.is_open());
    }

    #[test]
    fn a_try_that_was_not_sent_leaves_it_to_the_next() {
        let mut breaker = opened();
        assert!(breaker.lets_pass(Time(RESTS.first.0)));
        breaker.withdrew(Time(RESTS.first.0 + 5));
        assert!(breaker.is_open(), "nothing was heard of it");
        assert!(breaker.lets_pass(Time(RESTS.first.0 + 5)));
        breaker.succeeded();
        breaker.withdrew(Time(RESTS.first.0 + 9));
        assert!(!breaker.is_open());
    }

    #[test]
    fn each_try_in_vain_doubles_the_rest_up_to_a_bound() {
        let mut breaker = opened();
        let mut now = Time(RESTS.first.0);
        for rest in [2_000, 4_000, 8_000, 16_000, 30_000, 30_000] {
            assert!(breaker.lets_pass(now));
            breaker.failed(now);
            // One that was sent before and fails late changes nothing.
            breaker.failed(now);
            assert!(!breaker.lets_pass(now + Millis(rest - 1)), "{rest}");
            now = now + Millis(rest);
        }
        assert!(breaker.lets_pass(now));
    }
}
