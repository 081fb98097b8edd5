//! What is so now, as a text: equal where two runs have come to the same, by whatever ways. For those who try every
//! order and want to try none twice.
//!
//! Times are told from now on, in quarters of a second, versions of the Lease from its last one on. It has the pods and
//! PodGroups that the API server holds, the Lease, all that is on its way and all that waits for a time, and of each
//! process its election, its protocols, what it makes of answers, and where it takes pods to be. It has no words and no
//! counters, and of the core nothing besides: neither what is parked nor the books.

use super::{Driver, Errand, Happening};
use muster_model::units::Time;
use std::fmt::Write as _;

/// So finely times are told, in milliseconds.
const GRAIN: u64 = 250;
/// What was longer ago, or comes later, is told as that.
const FAR: u64 = 40 * GRAIN;

impl Driver {
    /// What is so now.
    #[must_use]
    pub fn sketch(&self) -> String {
        let mut text = String::new();
        self.sketch_objects(&mut text);
        for process in self.processes.values() {
            let (orders, flights) = (&process.orders, process.in_flight);
            let _ = writeln!(
                text,
                "{} {:?} {} {} {:?} {orders:?} {flights}",
                process.pod,
                process.election(),
                process.leads,
                process.is_asking(),
                process.paused_until,
            );
            process.brain.sketch(&mut text);
        }
        for (at, happening) in self.heap.to_come() {
            let _ = write!(text, "{at:?} ");
            self.sketch_happening(&mut text, happening);
        }
        let version = self.lease.as_ref().and_then(|lease| lease.record());
        let version = version.and_then(|record| record.version.parse().ok());
        let text = told_from(&text, "version: \"", |found: u64| {
            found.abs_diff(version.unwrap_or(0))
        });
        told_from(&text, "Time(", |found| grain(Time(found), self.now))
    }

    fn sketch_objects(&self, text: &mut String) {
        for pod in self.server.pods() {
            let spec = &pod.spec;
            let _ = writeln!(
                text,
                "{:?} {:?} {:?} {}",
                spec.key, spec.node, spec.phase, spec.terminating
            );
        }
        for gang in self.server.gangs() {
            let (min, priority) = (gang.min_available, gang.priority);
            let line = self.ledger.gangs.get(&gang.key);
            let in_part = line.and_then(|line| line.partly_since);
            let _ = writeln!(text, "{} {min} {priority:?} {in_part:?}", gang.key);
        }
        let lease = self.lease.as_ref().and_then(|lease| lease.record());
        let _ = writeln!(text, "{:?}", lease.map(|record| &record.holder));
    }

    fn sketch_happening(&self, text: &mut String, happening: &Happening) {
        let Happening::For(id, errand) = happening else {
            if let Happening::Land(flight) = happening {
                let (request, answers) = (&flight.request, &flight.answers);
                let _ = writeln!(text, "{} {request:?} {answers:?}", flight.process);
            } else {
                let _ = writeln!(text, "{happening:?}");
            }
            return;
        };
        let Some(process) = self.processes.get(id) else {
            return;
        };
        let call = |call| process.brain.call_text(call);
        let _ = match errand {
            // What the process waits for says as much.
            Errand::Elect | Errand::Ask | Errand::SendBinds => Ok(()),
            Errand::Proceed(number) => writeln!(text, "{id} goes on: {:?}", call(*number)),
            Errand::Answered(number, answer) => {
                writeln!(text, "{id} hears {answer:?}: {:?}", call(*number))
            }
            other => writeln!(text, "{id} {other:?}"),
        };
    }
}

/// How far away a time is.
fn grain(time: Time, now: Time) -> i64 {
    let away = |span: u64| i64::try_from(span.min(FAR) / GRAIN).unwrap_or(0);
    if time < now {
        -1 - away(now.since(time).0)
    } else {
        away(time.since(now).0)
    }
}

/// The text with each number after a mark told otherwise.
fn told_from<T: std::fmt::Display>(text: &str, mark: &str, tell: impl Fn(u64) -> T) -> String {
    let mut parts = text.split(mark);
    let mut told = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        told.push_str(mark);
        let digits = part.len() - part.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        match part[..digits].parse() {
            Ok(number) => _ = write!(told, "{}", tell(number)),
            Err(_) => told.push_str(&part[..digits]),
        }
        told.push_str(&part[digits..]);
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_from_now_on() {
        let now = Time(10_000);
        let text = "a Time(10000) Time(9999)b Time(10250) Time(99999999) Time(0) Times";
        assert_eq!(
            told_from(text, "Time(", |time| grain(Time(time), now)),
            "a Time(0) Time(-1)b Time(1) Time(40) Time(-41) Times"
        );
    }
}
