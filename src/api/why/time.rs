//! Points and spans of time as people say them.

use jiff::Timestamp;
use muster_model::explanation::{Clock as Kind, Thousandths};
use muster_model::units::{Millis, Time};

/// What times are counted from, and what time it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    kind: Kind,
    now: f64,
}

impl Clock {
    pub(super) const fn new(kind: Kind, now: Time) -> Self {
        let now = seconds(now);
        Self { kind, now }
    }

    /// The present.
    pub(super) fn present(self) -> String {
        self.point(self.now)
    }

    /// `12 s (3 s ago)`, `2026-01-01 10:00:00 UTC (in 5 min)`.
    pub(super) fn at(self, at: Time) -> String {
        let at = seconds(at);
        let point = self.point(at);
        let apart = span(self.now - at);
        if self.now - at >= 0.0005 {
            format!("{point} ({apart} ago)")
        } else if at - self.now >= 0.0005 {
            format!("{point} (in {apart})")
        } else {
            format!("{point} (now)")
        }
    }

    fn point(self, at: f64) -> String {
        match self.kind {
            Kind::Scenario => span(at),
            Kind::Utc => {
                #[expect(clippy::cast_possible_truncation, reason = "whole seconds")]
                let second = at as i64;
                Timestamp::from_second(second).map_or_else(
                    |_| span(at),
                    |time| time.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
                )
            }
        }
    }
}

const fn seconds(at: Time) -> f64 {
    Thousandths(at.0).as_f64()
}

/// A span of time in words.
pub(super) fn lasting(length: Millis) -> String {
    span(Thousandths(length.0).as_f64())
}

/// `0.25 s`, `45 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`.
fn span(seconds: f64) -> String {
    let seconds = seconds.abs();
    if seconds < 60.0 {
        let text = format!("{seconds:.2}");
        let text = text.trim_end_matches('0').trim_end_matches('.');
        return format!("{text} s");
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "whole seconds, and saturating"
    )]
    let whole = seconds as u64;
    let (large, unit, small, part) = match whole {
        0..3_600 => (whole / 60, "min", whole % 60, "s"),
        3_600..86_400 => (whole / 3_600, "h", whole % 3_600 / 60, "min"),
        _ => (whole / 86_400, "d", whole % 86_400 / 3_600, "h"),
    };
    if small == 0 {
        format!("{large} {unit}")
    } else {
        format!("{large} {unit} {small} {part}")
    }
}
