//! How many requests are on the wire at once: as many as configured while the API server keeps up,
//! fewer when it says that they are too many, or takes much longer than it needs.
//!
//! API Priority and Fairness queues a client's requests and, when its queues are full, answers 429;
//! a server without it answers 429 as soon as its limits are reached; one that is overloaded takes
//! longer for each, and then all time out together. The first two halve what is on the wire, answers
//! that come late cut it by a quarter, once a round; answers that come in time give it back, some in
//! each round, until it is what was configured. A second's pause, as collecting garbage takes a busy
//! API server, cuts once and is made good within a second.

use crate::attempt::{Answer, is_transient};
use muster_model::units::{Millis, Time};
use prometheus::IntGauge;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// No fewer than so many, if more than that are configured.
const LEAST: usize = 4;
/// An answer is late if it took longer than this, half of what the server is given, and
/// [`TIMES_THE_FASTEST`] times as long as others.
const LATE: Millis = Millis(1_000);
/// How many more there may be after a round in which all came in time.
const MORE_A_ROUND: f64 = 4.0;
const TIMES_THE_FASTEST: u64 = 8;
/// For how long the fastest answer counts.
const MEMORY: Millis = Millis(30_000);

/// How many may be on the wire at once, from what came back. No I/O, no clock.
#[derive(Debug)]
struct Pace {
    most: usize,
    limit: f64,
    /// When the limit was last cut: what was sent before says nothing about the time since.
    cut_at: Time,
    fastest: Fastest,
}

/// The fastest answer of this while and of the one before.
#[derive(Debug, Default)]
struct Fastest {
    since: Time,
    now: Option<Millis>,
    before: Option<Millis>,
}

impl Fastest {
    fn note(&mut self, took: Millis, now: Time) {
        if now.since(self.since) >= MEMORY {
            (self.since, self.before, self.now) = (now, self.now, None);
        }
        self.now = Some(self.now.map_or(took, |known| known.min(took)));
    }

    fn get(&self) -> Millis {
        let known = self.now.into_iter().chain(self.before).min();
        known.unwrap_or(Millis(0))
    }
}

impl Pace {
    #[expect(clippy::cast_precision_loss, reason = "a number of requests is small")]
    fn new(most: usize) -> Self {
        Self {
            most,
            limit: most as f64,
            cut_at: Time::ZERO,
            fastest: Fastest::default(),
        }
    }

    /// Takes what came back for a request.
    #[expect(clippy::cast_precision_loss, reason = "a number of requests is small")]
    fn answered(&mut self, answer: &Answer, sent: Time, now: Time) {
        let took = now.since(sent);
        let too_many = match answer {
            Answer::Lost => true,
            Answer::Status { code, .. } => is_transient(*code),
            Answer::Accepted | Answer::Pod { .. } => false,
            // It says nothing of the API server.
            Answer::Outside(_) => return,
        };
        if !too_many {
            self.fastest.note(took, now);
        }
        let fastest = self.fastest.get().0.max(1);
        let late = took > LATE && took.0 > fastest.saturating_mul(TIMES_THE_FASTEST);
        if !too_many && !late {
            self.limit = (self.limit + MORE_A_ROUND / self.limit).min(self.most as f64);
        } else if sent >= self.cut_at {
            let least = LEAST.min(self.most) as f64;
            let part = if too_many { 0.5 } else { 0.75 };
            self.limit = (self.limit * part).max(least);
            self.cut_at = now;
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the limit is between 1 and what was configured"
    )]
    const fn limit(&self) -> usize {
        self.limit as usize
    }
}

/// Slots for requests, in a number that follows what came back.
#[derive(Clone, Debug)]
pub struct Slots {
    free: Arc<Semaphore>,
    state: Arc<Mutex<State>>,
    /// Shows how many there are.
    gauge: Option<IntGauge>,
}

#[derive(Debug)]
struct State {
    pace: Pace,
    /// How many slots there are.
    count: usize,
    /// How many of them are to go as soon as they are free.
    surplus: usize,
}

/// A slot; free again when it is dropped.
#[derive(Debug)]
pub struct Slot {
    permit: Option<OwnedSemaphorePermit>,
    slots: Slots,
}

impl Slots {
    /// At most so many, and at least one; `gauge` shows how many.
    #[must_use]
    pub fn new(most: usize, gauge: Option<IntGauge>) -> Self {
        let count = most.max(1);
        let state = State {
            pace: Pace::new(count),
            count,
            surplus: 0,
        };
        let slots = Self {
            free: Arc::new(Semaphore::new(count)),
            state: Arc::new(Mutex::new(state)),
            gauge,
        };
        slots.show(count);
        slots
    }

    fn show(&self, count: usize) {
        if let Some(gauge) = &self.gauge {
            gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many there may be now.
    #[must_use]
    pub fn count(&self) -> usize {
        let state = self.state();
        state.count - state.surplus
    }

    /// A slot, once one is free.
    pub async fn take(&self) -> Slot {
        let permit = Arc::clone(&self.free).acquire_owned().await;
        Slot {
            // It is never closed.
            permit: permit.ok(),
            slots: self.clone(),
        }
    }

    /// Takes what came back for a request.
    pub fn answered(&self, answer: &Answer, sent: Time, now: Time) {
        let mut state = self.state();
        state.pace.answered(answer, sent, now);
        let (limit, effective) = (state.pace.limit(), state.count - state.surplus);
        if limit == effective {
            return;
        }
        self.show(limit);
        if limit > effective {
            let kept = (limit - effective).min(state.surplus);
            state.surplus -= kept;
            let more = limit - effective - kept;
            state.count += more;
            self.free.add_permits(more);
        } else {
            let gone = self.free.forget_permits(effective - limit);
            state.count -= gone;
            state.surplus += effective - limit - gone;
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut state = self.slots.state();
        if state.surplus > 0 {
            state.surplus -= 1;
            state.count -= 1;
            if let Some(permit) = self.permit.take() {
                permit.forget();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy() -> Answer {
        Answer::Status {
            code: 429,
            message: String::new(),
            retry_after: None,
        }
    }

    /// So many requests after each other, each taking so long.
    fn play(pace: &mut Pace, now: &mut Time, count: usize, took: Millis, answer: &Answer) {
        for _ in 0..count {
            let sent = *now;
            *now = *now + took;
            pace.answered(answer, sent, *now);
        }
    }

    #[test]
    fn too_many_halves_once_a_round_and_comes_back() {
        let (mut pace, mut now) = (Pace::new(128), Time(1_000));
        play(&mut pace, &mut now, 100, Millis(10), &Answer::Accepted);
        assert_eq!(pace.limit(), 128);
        // All of one round were sent before anybody knew.
        for _ in 0..128 {
            pace.answered(&busy(), now, now + Millis(5));
        }
        assert_eq!(pace.limit(), 64);
        now = now + Millis(5);
        pace.answered(&busy(), now, now + Millis(5));
        assert_eq!(pace.limit(), 32);
        now = now + Millis(5);
        play(&mut pace, &mut now, 10_000, Millis(1), &Answer::Accepted);
        assert_eq!(pace.limit(), 128);
        for _ in 0..20 {
            play(&mut pace, &mut now, 1, Millis(1), &Answer::Lost);
        }
        assert_eq!(pace.limit(), LEAST);
    }

    #[test]
    fn a_server_that_is_always_slow_is_not_overloaded() {
        let (mut pace, mut now) = (Pace::new(64), Time(1_000));
        play(&mut pace, &mut now, 100, Millis(1_900), &Answer::Accepted);
        assert_eq!(pace.limit(), 64);
    }

    #[test]
    fn a_server_that_gets_much_slower_is() {
        let (mut pace, mut now) = (Pace::new(64), Time(1_000));
        play(&mut pace, &mut now, 100, Millis(10), &Answer::Accepted);
        play(&mut pace, &mut now, 1, Millis(1_900), &Answer::Accepted);
        assert_eq!(pace.limit(), 48);
        // After a while that is how fast it is.
        play(
            &mut pace,
            &mut now,
            10_000,
            Millis(1_900),
            &Answer::Accepted,
        );
        assert_eq!(pace.limit(), 64);
    }

    #[test]
    fn a_refusal_is_an_answer_like_any_other() {
        let (mut pace, mut now) = (Pace::new(64), Time(1_000));
        let refused = Answer::Status {
            code: 403,
            message: String::new(),
            retry_after: None,
        };
        play(&mut pace, &mut now, 100, Millis(10), &refused);
        assert_eq!(pace.limit(), 64);
    }

    #[tokio::test]
    async fn as_many_slots_are_given_as_the_pace_allows() {
        let gauge = IntGauge::new("a", "b").unwrap();
        let slots = Slots::new(8, Some(gauge.clone()));
        assert_eq!(gauge.get(), 8);
        let mut held = Vec::new();
        for _ in 0..8 {
            held.push(slots.take().await);
        }
        slots.answered(&busy(), Time(1), Time(2));
        assert_eq!(gauge.get(), 4);
        held.truncate(4);
        assert_eq!(slots.free.available_permits(), 0, "four are still held");
        held.clear();
        assert_eq!(slots.free.available_permits(), 4);
        for at in 10..200 {
            slots.answered(&Answer::Accepted, Time(at), Time(at + 1));
        }
        assert_eq!(gauge.get(), 8);
        assert_eq!(slots.free.available_permits(), 8);
    }
}
