//! Times in a record: dates where a cluster was scheduled, spans from the beginning of a scenario.

use k8s_openapi::jiff::Timestamp;
use muster_api::duration;
use muster_cluster::clock::wall;
use muster_model::explanation::Clock;
use muster_model::units::{Millis, Time};
use muster_record::About;
use std::str::FromStr;

/// A time that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    /// A date.
    Date(Time),
    /// So long after the beginning.
    After(Millis),
}

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(span) = duration::parse(text) {
            return Ok(Self::After(span));
        }
        let date = text.parse::<Timestamp>().ok();
        let date = date.and_then(|date| u64::try_from(date.as_millisecond()).ok());
        date.map(|date| Self::Date(Time(date))).ok_or_else(|| {
            format!(
                "{text:?} is neither a date such as 2026-01-31T12:00:00Z nor a duration such as 90s"
            )
        })
    }
}

impl Moment {
    /// When that is in a term. The beginning is that of the scenario, or of the term.
    pub(super) fn of(self, about: &About) -> Result<Time, String> {
        match (self, about.clock) {
            (Self::Date(date), Clock::Utc) => Ok(date),
            (Self::After(span), Clock::Utc) => Ok(about.started + span),
            (Self::After(span), Clock::Scenario) => Ok(Time::ZERO + span),
            (Self::Date(_), Clock::Scenario) => Err(
                "this is a record of a scenario, whose times are counted from its beginning: a duration such as 90s"
                    .to_owned(),
            ),
        }
    }
}

/// A time as people read it.
pub(super) fn in_words(at: Time, clock: Clock) -> String {
    match clock {
        Clock::Utc => wall(at).strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string(),
        Clock::Scenario => at.since(Time::ZERO).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(clock: Clock) -> About {
        About {
            started: Time(1_000),
            clock,
            ..About::default()
        }
    }

    #[test]
    fn a_time_is_a_date_or_counted_from_the_beginning() {
        let date: Moment = "1970-01-01T00:00:07.5Z".parse().unwrap();
        assert_eq!(date.of(&about(Clock::Utc)), Ok(Time(7_500)));
        assert!(date.of(&about(Clock::Scenario)).is_err());
        let span: Moment = "90s".parse().unwrap();
        assert_eq!(span.of(&about(Clock::Utc)), Ok(Time(91_000)));
        assert_eq!(span.of(&about(Clock::Scenario)), Ok(Time(90_000)));
        let said = "noon".parse::<Moment>().unwrap_err();
        assert!(said.contains("neither a date"), "{said}");
    }

    #[test]
    fn a_time_is_printed_as_it_is_counted() {
        assert_eq!(
            in_words(Time(7_500), Clock::Utc),
            "1970-01-01T00:00:07.500Z"
        );
        assert_eq!(in_words(Time(7_500), Clock::Scenario), "7.5s");
    }
}
