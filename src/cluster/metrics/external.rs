//! What the external interface counts (docs/external.md).

use super::maker::Maker;
use crate::Error;
use prometheus::{IntCounterVec, IntGauge, IntGaugeVec};

/// Why somebody was not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// There was no token, or it was nobody's.
    Unknown,
    /// They may not do this.
    Forbidden,
    /// Too many tokens and rights were being checked.
    Busy,
    /// The API server did not say what they may do.
    Unsaid,
    /// Not everything was known.
    NotYet,
    /// Too many streams were open, or WebSockets that had not begun.
    TooMany,
    /// They read so slowly that changes were lost.
    Slow,
}

impl Refused {
    const ALL: [Self; 7] = [
        Self::Unknown,
        Self::Forbidden,
        Self::Busy,
        Self::Unsaid,
        Self::NotYet,
        Self::TooMany,
        Self::Slow,
    ];

    const fn word(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Forbidden => "forbidden",
            Self::Busy => "busy",
            Self::Unsaid => "unsaid",
            Self::NotYet => "not_yet",
            Self::TooMany => "too_many",
            Self::Slow => "slow",
        }
    }
}

/// How changes are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// By server-sent events.
    Events,
    /// By STOMP.
    Stomp,
}

impl Stream {
    const fn word(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::Stomp => "stomp",
        }
    }
}

/// A stream that counts as open until this is dropped.
#[derive(Debug)]
pub struct Open(IntGauge);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// All of it.
#[derive(Debug)]
pub struct ExternalCounters {
    requests: IntCounterVec,
    refusals: IntCounterVec,
    streams: IntGaugeVec,
}

impl ExternalCounters {
    pub(super) fn new(make: &Maker) -> Result<Self, Error> {
        let counters = Self {
            requests: make.counters(
                "external_requests_total",
                "Requests to the external interface by route, method and code of the answer.",
                &["route", "method", "code"],
            )?,
            refusals: make.counters(
                "external_refusals_total",
                "Who was not served by the external interface, by reason.",
                &["reason"],
            )?,
            streams: make.gauges(
                "external_streams",
                "Streams of changes that are open, by how they tell.",
                "stream",
            )?,
        };
        for reason in Refused::ALL {
            counters.refusals.with_label_values(&[reason.word()]);
        }
        for stream in [Stream::Events, Stream::Stomp] {
            counters.streams.with_label_values(&[stream.word()]);
        }
        Ok(counters)
    }

    /// Makes a way to be answered appear.
    pub fn show(&self, route: &str, method: &str, code: u16) {
        let code = code.to_string();
        self.requests.with_label_values(&[route, method, &code]);
    }

    /// A request was answered: route and method are among few.
    pub fn answered(&self, route: &str, method: &str, code: u16) {
        let code = code.to_string();
        let requests = self.requests.with_label_values(&[route, method, &code]);
        requests.inc();
    }

    /// Somebody was not served.
    pub fn refused(&self, why: Refused) {
        self.refusals.with_label_values(&[why.word()]).inc();
    }

    /// A stream is open.
    #[must_use]
    pub fn opened(&self, stream: Stream) -> Open {
        let open = self.streams.with_label_values(&[stream.word()]);
        open.inc();
        Open(open)
    }
}
