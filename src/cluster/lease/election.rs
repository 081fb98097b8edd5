//! The rules of leader election by a Lease: who may write, and until when.
//!
//! It is told what was seen of the Lease and when, and says what to do next. No I/O, no clock.
//! All times are those of the caller's own monotonic clock; the times in the record are for
//! people, and nothing here reads them.
//!
//! ```text
//! holder     renews (start)                 stops sending       its last write has ended
//!            │◄──────────── 3.5 s ─────────────►│◄──── 2.5 s ─────►│
//! record          written │
//! candidate                 seen │◄──────────────── 6 s ─────────────►│ takes it and leads
//! ```
//!
//! The candidate sees a record after it was written, and that was after the holder's request
//! began; so its six seconds end after the holder's, whatever was slow or paused in between.

use super::Identity;
use crate::attempt::Step;
use crate::ending::WRITE_ENDS_WITHIN;
use muster_model::units::{Millis, Time};

/// For how long a record keeps others away, counted from when they saw it. With what a take-over
/// needs besides, a gang that its scheduler's death cut in two goes on within the promised ten
/// seconds.
pub const DURATION: Millis = Millis(6_000);
/// For how long the holder may send after the start of its last renewal: what it sends at the end
/// of this has happened, or never will, when the record is six seconds old.
pub const SEND_FOR: Millis = Millis(DURATION.0 - WRITE_ENDS_WITHIN.0);
/// How often the holder renews. One renewal may get no answer at all, and the next still comes
/// before sending has to stop: 1.5 s + 1.5 s + an answer < 3.5 s.
pub const RENEW_EVERY: Millis = Millis(1_500);
/// How long a request about the Lease waits for its answer.
pub const ANSWER_WITHIN: Millis = Millis(1_500);
/// Requests begin so far apart, at least, when they fail: two a second from each instance are
/// nothing to an API server that is in trouble.
pub const RETRY: Millis = Millis(500);
/// A candidate that hears nothing for so long looks by itself: a watch may be dead without a word.
/// A holder that is well is heard of every 1.5 s.
pub const LOOK_EVERY: Millis = Millis(2_000);

/// The holder of a Lease that was absent and is made anew: whoever it was. That one may not know
/// yet that the Lease was deleted, so everybody waits until this record runs out.
pub const UNKNOWN: &str = "unknown";

/// The Lease as it was at one resourceVersion.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(test, derive(PartialOrd, Ord))]
pub struct Record {
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.resourceVersion`.
    pub version: String,
    /// `spec.holderIdentity`; `None` once it was given back.
    pub holder: Option<String>,
    /// `spec.leaseDurationSeconds`, or nothing.
    pub duration: Millis,
}

/// What is to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(test, derive(PartialOrd, Ord))]
pub enum Request {
    /// Read the Lease, as it is now.
    Read,
    /// Create it, held by [`UNKNOWN`].
    Create,
    /// Write it, if it is still at this resourceVersion.
    Replace {
        /// The resourceVersion.
        version: String,
        /// Whether we hold it from then on, or nobody does.
        hold: bool,
    },
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(test, derive(PartialOrd, Ord))]
pub enum Answer {
    /// A write was accepted; this is the Lease after it.
    Written(Record),
    /// A read found this.
    Found(Record),
    /// There is no Lease.
    Absent,
    /// The Lease is at another resourceVersion, or is there already. Nothing was written.
    Conflict,
    /// An error, or no answer: a write may or may not have happened, or may happen yet.
    Failed,
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(test, derive(PartialOrd, Ord))]
pub enum End {
    /// Another holds it, or may.
    Lost {
        /// How, in words.
        reason: String,
    },
    /// It was given back: the next may have it at once.
    Released,
    /// There was nothing to give back: it is another's, or nobody's.
    NotOurs,
    /// It was not given back, and keeps the next away until it runs out.
    RunsOut,
}

#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(test, derive(PartialOrd, Ord))]
enum Known {
    Nothing,
    Absent,
    /// First seen like this at that time.
    Record {
        record: Record,
        seen: Time,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(test, derive(PartialOrd, Ord))]
enum State {
    Candidate,
    /// The last renewal that succeeded began then.
    Holder {
        renewed: Time,
    },
    GivingBack,
    Over(End),
}

/// One process that asks for the Lease, holds it, and gives it back.
///
/// # Why at most one sends
/// - Every write names the resourceVersion it replaces, so each record follows one that its writer
///   knew; a late one fails. A name is that of one process. So while the record has our name,
///   every version since we took it is ours (or a bystander's who left the holder alone).
/// - A holder counts from the *start* of its last renewal that was answered, a candidate from when
///   it *saw* the record. See the picture above.
/// - A holder that could not renew for however long may go on once a renewal succeeds: it replaced
///   the version it wrote last, so nobody has held the Lease since, and nobody can now without
///   seeing the new record first. Until then it does not send; it is not lost, though, for dying
///   would help nobody.
/// - Who takes a Lease from a process that was before it in the same pod need not wait for it to
///   run out: that process is dead. What it had sent may live on for 2.5 s.
/// - A Lease that is absent may have been deleted under a holder that does not know yet. So it is
///   made anew in the name of [`UNKNOWN`], and runs out before anybody takes it.
/// - A Lease is given back only when nothing that was sent can still happen. Who still waits for
///   its predecessor's writes to end leaves it to run out instead.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(test, derive(PartialOrd, Ord))]
pub struct Election {
    me: Identity,
    /// Before this, whatever others of our pod did was done.
    started: Time,
    known: Known,
    /// When what is known was last confirmed.
    heard: Time,
    /// What is known may be out of date: read before anything else.
    doubt: bool,
    /// No request before this.
    not_before: Time,
    /// No write before this.
    write_from: Time,
    /// When the last write was sent that met a conflict.
    conflicted: Time,
    /// Until then what a process before us in our pod had sent may happen.
    quiet_from: Time,
    state: State,
}

impl Election {
    /// Begins to ask, for a process that starts now.
    #[must_use]
    pub const fn new(me: Identity, now: Time) -> Self {
        Self {
            me,
            started: now,
            known: Known::Nothing,
            heard: now,
            doubt: true,
            not_before: now,
            write_from: now,
            conflicted: Time::ZERO,
            quiet_from: now,
            state: State::Candidate,
        }
    }

    /// Until when writes may be sent, if they may be now.
    #[must_use]
    pub fn may_send_until(&self, now: Time) -> Option<Time> {
        let State::Holder { renewed } = self.state else {
            return None;
        };
        let until = renewed + SEND_FOR;
        // In doubt: somebody else wrote the Lease, or our own write was not answered.
        (!self.doubt && self.quiet_from <= now && now < until).then_some(until)
    }

    /// The name in the record as it was last seen.
    #[must_use]
    pub fn holder(&self) -> Option<&str> {
        match &self.known {
            Known::Record { record, .. } => record.holder.as_deref(),
            Known::Nothing | Known::Absent => None,
        }
    }

    /// From which resourceVersion to watch the Lease. Only a candidate wants news: a holder learns
    /// from its renewals, which no cache can make look older than they are.
    #[must_use]
    pub fn watch_from(&self) -> Option<&str> {
        match (&self.state, &self.known) {
            (State::Candidate, Known::Record { record, .. }) => Some(&record.version),
            _ => None,
        }
    }

    /// What to do now. Asked again before [`answered`](Self::answered), it says the same.
    #[must_use]
    pub fn next(&self, now: Time) -> Step<Request, End> {
        match &self.state {
            State::Over(end) => Step::Done(end.clone()),
            _ if now < self.not_before => Step::WaitUntil(self.not_before),
            _ if self.doubt => Step::Send(Request::Read),
            State::Candidate => self.ask_for_it(now),
            State::Holder { renewed } => self.renew(*renewed, now),
            State::GivingBack => self.write(false, now),
        }
    }

    fn ask_for_it(&self, now: Time) -> Step<Request, End> {
        let Known::Record { record, seen } = &self.known else {
            return self.write(true, now);
        };
        let runs_out = *seen + record.duration.max(DURATION);
        let look = self.heard + LOOK_EVERY;
        if self.is_free(record, *seen, now) {
            self.write(true, now)
        } else if look <= now {
            Step::Send(Request::Read)
        } else {
            Step::WaitUntil(runs_out.min(look))
        }
    }

    /// Whether a record that was first seen then may be replaced by one of ours.
    fn is_free(&self, record: &Record, seen: Time, now: Time) -> bool {
        match &record.holder {
            None => true,
            // Our own, of which we did not hear: the answer was lost.
            Some(holder) if holder == self.me.name() => true,
            Some(holder) => self.me.succeeds(holder) || seen + record.duration.max(DURATION) <= now,
        }
    }

    fn renew(&self, renewed: Time, now: Time) -> Step<Request, End> {
        let due = renewed + RENEW_EVERY;
        let wake = if now < self.quiet_from {
            due.min(self.quiet_from)
        } else {
            due
        };
        if now < wake {
            return Step::WaitUntil(wake);
        }
        if self.heard + DURATION <= now {
            // Another may have taken it: who was deposed writes nothing at all.
            return Step::Send(Request::Read);
        }
        self.write(true, now)
    }

    fn write(&self, hold: bool, now: Time) -> Step<Request, End> {
        if now < self.write_from {
            return Step::WaitUntil(self.write_from);
        }
        Step::Send(match &self.known {
            Known::Nothing => Request::Read,
            Known::Absent => Request::Create,
            Known::Record { record, .. } => Request::Replace {
                version: record.version.clone(),
                hold,
            },
        })
    }

    /// Takes what came back for the request that was asked for at `sent`.
    pub fn answered(&mut self, answer: Answer, sent: Time, now: Time) {
        match answer {
            Answer::Failed => {
                self.not_before = now.max(sent + RETRY);
                // A candidate's write may have been the one that took it; a holder's next renewal
                // will tell.
                self.doubt |= self.state == State::Candidate;
            }
            Answer::Conflict => {
                self.doubt = true;
                // One may be our own write whose answer was lost; a second soon after is a race.
                self.write_from = self.conflicted + RETRY;
                self.conflicted = sent;
            }
            Answer::Absent => self.absent(sent, now),
            Answer::Written(record) => self.written(record, sent, now),
            Answer::Found(record) => self.found(record, sent, now),
        }
    }

    fn absent(&mut self, sent: Time, now: Time) {
        match self.state {
            State::Candidate => {
                if self.known == Known::Absent {
                    self.write_from = sent + RETRY;
                }
                self.known = Known::Absent;
                self.heard = now;
                self.doubt = false;
            }
            State::Holder { .. } => self.lose("it was deleted"),
            State::GivingBack => self.state = State::Over(End::NotOurs),
            State::Over(_) => {}
        }
    }

    fn written(&mut self, record: Record, sent: Time, now: Time) {
        let ours = record.holder.as_deref() == Some(self.me.name());
        match self.state {
            State::Candidate | State::Holder { .. } if ours => {
                self.observe(record, now);
                self.heard = sent;
                self.state = State::Holder { renewed: sent };
            }
            // Made for the unknown holder; or the API server wrote another name than ours.
            State::Candidate => {
                self.observe(record, now);
                self.write_from = sent + RETRY;
            }
            State::Holder { .. } => self.lose_to(&record),
            State::GivingBack => self.state = State::Over(End::Released),
            State::Over(_) => {}
        }
    }

    fn found(&mut self, record: Record, sent: Time, now: Time) {
        let ours = record.holder.as_deref() == Some(self.me.name());
        let anew = match &self.known {
            Known::Record { record: before, .. } => before.uid != record.uid,
            Known::Nothing | Known::Absent => false,
        };
        match self.state {
            State::Candidate => self.observe(record, now),
            State::Holder { .. } if anew => self.lose("it was deleted and made anew"),
            State::Holder { .. } if !ours => self.lose_to(&record),
            State::Holder { .. } | State::GivingBack if ours => {
                self.observe(record, now);
                self.heard = sent;
            }
            // Nothing has come of what we wrote, and it may yet: not of a version that is gone.
            State::GivingBack if self.may_be_taken_yet(&record, now) => self.observe(record, now),
            State::Holder { .. } | State::GivingBack => self.state = State::Over(End::NotOurs),
            State::Over(_) => {}
        }
    }

    /// Whether a write of ours that was sent may still replace this record.
    fn may_be_taken_yet(&self, record: &Record, now: Time) -> bool {
        match &self.known {
            Known::Record {
                record: known,
                seen,
            } => known == record && self.is_free(record, *seen, now),
            Known::Nothing | Known::Absent => false,
        }
    }

    /// Takes news of a watch, which may be late; `None`: the Lease was deleted.
    pub fn heard(&mut self, news: Option<Record>, now: Time) {
        if self.state != State::Candidate {
            return;
        }
        match news {
            Some(record) => {
                let doubt = self.doubt;
                self.observe(record, now);
                self.doubt = doubt;
            }
            None => self.doubt = true,
        }
    }

    /// Gives the Lease back, if it is ours to give. Everything that was sent must have ended, but for requests about the
    /// Lease: a candidate that has not heard what became of one finds out.
    pub fn release(&mut self, now: Time) {
        let may_be_ours = match &self.state {
            State::Over(_) => return,
            State::Holder { .. } | State::GivingBack => true,
            State::Candidate => match &self.known {
                Known::Record { record, .. } => {
                    self.doubt || record.holder.as_deref() == Some(self.me.name())
                }
                Known::Nothing | Known::Absent => false,
            },
        };
        self.state = if !may_be_ours {
            State::Over(End::NotOurs)
        } else if self.quiet_from <= now {
            State::GivingBack
        } else {
            State::Over(End::RunsOut)
        };
        self.not_before = now;
    }

    fn observe(&mut self, record: Record, now: Time) {
        if record
            .holder
            .as_ref()
            .is_some_and(|one| self.me.succeeds(one))
        {
            self.quiet_from = self.quiet_from.max(self.started + WRITE_ENDS_WITHIN);
        }
        let seen = match &self.known {
            Known::Record {
                record: before,
                seen,
            } if *before == record => *seen,
            _ => now,
        };
        self.known = Known::Record { record, seen };
        self.heard = now;
        self.doubt = false;
    }

    fn lose_to(&mut self, record: &Record) {
        match &record.holder {
            Some(holder) => self.lose(&format!("{holder} holds it")),
            None => self.lose("somebody else gave it back"),
        }
    }

    fn lose(&mut self, reason: &str) {
        let reason = reason.to_owned();
        self.state = State::Over(End::Lost { reason });
    }
}

/// For tests that compare elections which differ only in when they are.
#[cfg(test)]
impl Election {
    /// All times that it keeps.
    pub(super) fn times_mut(&mut self) -> Vec<&mut Time> {
        let mut times = vec![
            &mut self.started,
            &mut self.heard,
            &mut self.not_before,
            &mut self.write_from,
            &mut self.conflicted,
            &mut self.quiet_from,
        ];
        if let Known::Record { seen, .. } = &mut self.known {
            times.push(seen);
        }
        if let State::Holder { renewed } = &mut self.state {
            times.push(renewed);
        }
        times
    }

    /// The record that it knows.
    pub(super) const fn record_mut(&mut self) -> Option<&mut Record> {
        match &mut self.known {
            Known::Record { record, .. } => Some(record),
            Known::Nothing | Known::Absent => None,
        }
    }
}
