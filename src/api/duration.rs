//! Durations as Go writes them (`90s`, `1h30m`, `1.5h`, `0`), in whole milliseconds.

use muster_model::units::Millis;

/// Why a text is not a duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{found:?} is not a duration: numbers with a unit of h m s ms us ns, such as 90s or 1h30m")]
pub struct DurationError {
    /// The text, cut when long.
    pub found: String,
}

/// Reads a duration, rounded up to milliseconds and capped; a negative one is refused.
///
/// # Errors
/// When the text is not a duration of Go's format.
pub fn parse(text: &str) -> Result<Millis, DurationError> {
    read(text).ok_or_else(|| DurationError {
        found: text.chars().take(64).collect(),
    })
}

/// More digits than this say nothing about a time span.
const MAX_LEN: usize = 64;

fn read(text: &str) -> Option<Millis> {
    let text = text.strip_prefix('+').unwrap_or(text);
    if text == "0" {
        return Some(Millis(0));
    }
    if text.is_empty() || text.len() > MAX_LEN {
        return None;
    }
    let mut rest = text;
    let mut nanos = 0_u128;
    while !rest.is_empty() {
        let is_number = |c: char| c.is_ascii_digit() || c == '.';
        let (number, tail) = rest.split_at(rest.find(|c| !is_number(c))?);
        let (unit, tail) = tail.split_at(tail.find(is_number).unwrap_or(tail.len()));
        nanos = nanos.saturating_add(nanos_of(number, unit)?);
        rest = tail;
    }
    let millis = nanos.div_ceil(1_000_000);
    Some(Millis(u64::try_from(millis).unwrap_or(u64::MAX)))
}

fn nanos_of(number: &str, unit: &str) -> Option<u128> {
    let unit: u128 = match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.len() + fraction.len() == 0 || fraction.contains('.') {
        return None;
    }
    let mut nanos = 0_u128;
    for digit in whole.bytes() {
        nanos = nanos
            .saturating_mul(10)
            .saturating_add(u128::from(digit - b'0'));
    }
    nanos = nanos.saturating_mul(unit);
    let mut place = unit;
    for digit in fraction.bytes() {
        place /= 10;
        nanos = nanos.saturating_add(u128::from(digit - b'0') * place);
    }
    Some(nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_go_reads_them() {
        let cases = [
            ("0", 0),
            ("0s", 0),
            ("90s", 90_000),
            ("1h30m", 5_400_000),
            ("1.5h", 5_400_000),
            (".5s", 500),
            ("1.s", 1000),
            ("250ms", 250),
            ("1us", 1),
            ("1ns", 1),
            ("+2m", 120_000),
            ("1h1h", 7_200_000),
            ("99999999999999999999999h", u64::MAX),
        ];
        for (text, millis) in cases {
            assert_eq!(parse(text), Ok(Millis(millis)), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_is_refused_with_the_text() {
        for text in [
            "", "-1s", "5", "s", ".s", "1d", "1.2.3s", "1h 30m", "1 s", "é", "1µ",
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.to_string().contains("1h30m"), "{error}");
            assert_eq!(error.found, text);
        }
    }
}
