//! Kubernetes quantities (`1500m`, `2Gi`, `1e3`) as exact integers.
//!
//! Parsing keeps the amount exact down to nano-units, as Kubernetes does; only reading it as a
//! whole number ([`Quantity::value`], [`Quantity::milli_value`]) rounds, always away from zero.
//! No float is ever involved. (Source of the rules: apimachinery's `resource.Quantity`.)

use std::cmp::Ordering;
use std::fmt;
use std::ops::Add;

/// Nano-units in one unit: the finest amount a quantity can hold.
const NANO: i128 = 1_000_000_000;

/// The largest amount: what Kubernetes caps parsed quantities to.
const MAX_NANO: i128 = i64::MAX as i128 * NANO;

/// Digits beyond these cannot change the outcome; more are refused rather than guessed at.
const MAX_LEN: usize = 128;

/// How a quantity was written, which decides how it is printed again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// `n`, `u`, `m`, none, `k` ... `E`.
    DecimalSi,
    /// `Ki` ... `Ei`.
    BinarySi,
    /// `e3`, `E-3`.
    DecimalExponent,
}

/// A parsed quantity: exact to a nano-unit, at most `i64::MAX` units either way.
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    nano: i128,
    format: Format,
}

/// Two quantities are equal when their amounts are, however they were written.
impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nano == other.nano
    }
}

impl Eq for Quantity {}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nano.cmp(&other.nano)
    }
}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The exact sum, written as the left one is.
impl Add for Quantity {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            nano: self.nano.saturating_add(other.nano),
            format: self.format,
        }
    }
}

/// Why a text is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{found:?} is not a quantity: a number such as 2, 0.5 or 1e3, or one with a suffix of \
     n u m k M G T P E Ki Mi Gi Ti Pi Ei"
)]
pub struct QuantityError {
    /// The text, cut when long.
    pub found: String,
}

impl QuantityError {
    fn new(text: &str) -> Self {
        Self {
            found: text.chars().take(64).collect(),
        }
    }
}

impl Quantity {
    /// Nothing.
    pub const ZERO: Self = Self {
        nano: 0,
        format: Format::DecimalSi,
    };

    /// Reads a quantity as Kubernetes would: amounts finer than a nano-unit are rounded away
    /// from zero, amounts beyond `i64::MAX` are capped to it.
    ///
    /// # Errors
    /// When the text has no digits, or an unknown suffix, or is absurdly long.
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        Self::read(text).ok_or_else(|| QuantityError::new(text))
    }

    fn read(text: &str) -> Option<Self> {
        if text.len() > MAX_LEN {
            return None;
        }
        let (negative, rest) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.');
        let (number, suffix) = rest.split_at(end.unwrap_or(rest.len()));
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if fraction.contains('.') || whole.len() + fraction.len() == 0 {
            return None;
        }
        let (scale, format) = scale_of(suffix)?;
        let size = scaled(whole, fraction, scale).min(MAX_NANO);
        Some(Self {
            nano: if negative { -size } else { size },
            format,
        })
    }

    /// Rounded away from zero to thousandths, as the API server stores amounts of resources.
    #[must_use]
    pub fn in_milli_steps(self) -> Self {
        const STEP: i128 = 1_000_000;
        let up = (STEP - self.nano.abs() % STEP) % STEP * self.nano.signum();
        Self {
            nano: self.nano + up,
            format: self.format,
        }
    }

    /// In whole units, rounded away from zero.
    #[must_use]
    pub fn value(self) -> i64 {
        self.in_steps_of(NANO)
    }

    /// In thousandths of a unit, rounded away from zero and capped to `i64`.
    #[must_use]
    pub fn milli_value(self) -> i64 {
        self.in_steps_of(NANO / 1000)
    }

    fn in_steps_of(self, step: i128) -> i64 {
        let steps = self.nano.unsigned_abs().div_ceil(step.unsigned_abs());
        let size = i64::try_from(steps).unwrap_or(i64::MAX);
        if self.nano < 0 { -size } else { size }
    }
}

/// Thousandths as a quantity is written: `1500m`, or `2`.
#[must_use]
pub fn thousandths_in_text(amount: i64) -> String {
    if amount % 1_000 == 0 {
        (amount / 1_000).to_string()
    } else {
        format!("{amount}m")
    }
}

/// What one written unit is worth.
#[derive(Clone, Copy)]
enum Scale {
    /// This power of ten.
    Ten(i32),
    /// This power of two.
    Two(u32),
}

fn scale_of(suffix: &str) -> Option<(Scale, Format)> {
    let decimal = |power| Some((Scale::Ten(power), Format::DecimalSi));
    let binary = |power| Some((Scale::Two(power), Format::BinarySi));
    match suffix {
        "n" => decimal(-9),
        "u" => decimal(-6),
        "m" => decimal(-3),
        "" => decimal(0),
        "k" => decimal(3),
        "M" => decimal(6),
        "G" => decimal(9),
        "T" => decimal(12),
        "P" => decimal(15),
        "E" => decimal(18),
        "Ki" => binary(10),
        "Mi" => binary(20),
        "Gi" => binary(30),
        "Ti" => binary(40),
        "Pi" => binary(50),
        "Ei" => binary(60),
        _ => {
            let power = suffix.strip_prefix(['e', 'E'])?.parse::<i32>().ok()?;
            Some((Scale::Ten(power), Format::DecimalExponent))
        }
    }
}

/// `whole.fraction` times its scale in nano-units, rounded up, capped beyond [`MAX_NANO`].
fn scaled(whole: &str, fraction: &str, scale: Scale) -> i128 {
    let (power, factor) = match scale {
        Scale::Ten(power) => (power, 1),
        Scale::Two(power) => (0, 1_i128 << power),
    };
    // The amount is `digits * factor * 10^exponent` nano-units.
    let exponent = i64::from(power) + 9 - i64::try_from(fraction.len()).unwrap_or(i64::MAX);
    let digits = whole.bytes().chain(fraction.bytes());
    let digits: Vec<u8> = digits.skip_while(|digit| *digit == b'0').collect();
    if digits.is_empty() {
        return 0;
    }
    // Digits below the nano-unit (and below what the factor can lift above it) only round up.
    // A factor of at most 2^60 lifts by fewer than 19 places, so 19 places are kept exactly.
    let spare = usize::try_from(-exponent - 19).unwrap_or(0);
    let (kept, dropped) = digits.split_at(digits.len().saturating_sub(spare));
    let sticky = dropped.iter().any(|digit| *digit != b'0');
    let exponent = exponent + i64::try_from(spare).unwrap_or(0);
    let mut amount = 0_i128;
    for digit in kept {
        amount = amount.saturating_mul(10);
        amount = amount.saturating_add(i128::from(digit - b'0'));
    }
    if exponent >= 0 {
        let steps = exponent.min(40);
        for _ in 0..steps {
            amount = amount.saturating_mul(10);
        }
        return amount.saturating_mul(factor);
    }
    let divisor = 10_i128.pow(u32::try_from(-exponent).unwrap_or(0));
    let (high, low) = (amount / divisor, amount % divisor);
    // low < 10^19 and factor <= 2^60: their product fits.
    let low = low * factor;
    let up = low % divisor != 0 || sticky;
    let amount = high.saturating_mul(factor).saturating_add(low / divisor);
    amount.saturating_add(i128::from(up))
}

const DECIMAL: [(i128, &str, &str); 10] = [
    (NANO * 1_000_000_000_000_000_000, "E", "e18"),
    (NANO * 1_000_000_000_000_000, "P", "e15"),
    (NANO * 1_000_000_000_000, "T", "e12"),
    (NANO * 1_000_000_000, "G", "e9"),
    (NANO * 1_000_000, "M", "e6"),
    (NANO * 1_000, "k", "e3"),
    (NANO, "", ""),
    (NANO / 1_000, "m", "e-3"),
    (NANO / 1_000_000, "u", "e-6"),
    (1, "n", "e-9"),
];

const BINARY: [(i128, &str); 6] = [
    (NANO << 60, "Ei"),
    (NANO << 50, "Pi"),
    (NANO << 40, "Ti"),
    (NANO << 30, "Gi"),
    (NANO << 20, "Mi"),
    (NANO << 10, "Ki"),
];

/// Prints the canonical form: the largest suffix that leaves a whole number. Binary amounts
/// below 1024 and those that are no whole number are printed in decimal.
impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.nano == 0 {
            return f.write_str("0");
        }
        let exact = |step: i128| self.nano % step == 0;
        let binary = self.format == Format::BinarySi && self.nano.abs() >= 1024 * NANO;
        if binary && exact(NANO) {
            let unit = BINARY.iter().find(|(step, _)| exact(*step));
            let (step, suffix) = unit.copied().unwrap_or((NANO, ""));
            return write!(f, "{}{suffix}", self.nano / step);
        }
        let unit = DECIMAL.iter().find(|(step, _, _)| exact(*step));
        let (step, si, exponent) = unit.copied().unwrap_or((1, "n", "e-9"));
        let suffix = match self.format {
            Format::DecimalExponent => exponent,
            Format::DecimalSi | Format::BinarySi => si,
        };
        write!(f, "{}{suffix}", self.nano / step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> Quantity {
        Quantity::parse(text).unwrap()
    }

    #[test]
    fn thousandths_are_written_as_a_quantity_that_says_as_much() {
        let texts = [0, 2_000, 1_500, -500, -3_000].map(thousandths_in_text);
        assert_eq!(texts, ["0", "2", "1500m", "-500m", "-3"]);
    }

    #[test]
    fn quantities_read_as_kubernetes_reads_them() {
        let cases: &[(&str, i64, i64)] = &[
            ("0", 0, 0),
            ("1", 1, 1000),
            ("100m", 1, 100),
            ("1500m", 2, 1500),
            ("-1500m", -2, -1500),
            ("+5", 5, 5000),
            (".5", 1, 500),
            ("5.", 5, 5000),
            ("0.0001", 1, 1),
            ("1n", 1, 1),
            ("1u", 1, 1),
            ("0.1n", 1, 1),
            ("1e3", 1000, 1_000_000),
            ("1E3", 1000, 1_000_000),
            ("1E-3", 1, 1),
            ("1e+2", 100, 100_000),
            ("12E3", 12_000, 12_000_000),
            ("1k", 1000, 1_000_000),
            ("1Ki", 1024, 1_024_000),
            ("1.5Gi", 1_610_612_736, 1_610_612_736_000),
            ("1536m", 2, 1536),
            ("2Ei", 2_305_843_009_213_693_952, i64::MAX),
            ("12E", i64::MAX, i64::MAX),
            ("9E", 9_000_000_000_000_000_000, i64::MAX),
            ("1Ei", 1_152_921_504_606_846_976, i64::MAX),
            ("8Ei", i64::MAX, i64::MAX),
            ("9223372036854775807", i64::MAX, i64::MAX),
            ("9223372036854775806", i64::MAX - 1, i64::MAX),
            ("9223372036854775808", i64::MAX, i64::MAX),
            ("-9223372036854775808", -i64::MAX, -i64::MAX),
            ("9223372036854775807m", 9_223_372_036_854_776, i64::MAX),
            ("1e2000000000", i64::MAX, i64::MAX),
            ("1e-2000000000", 1, 1),
            ("0e2000000000", 0, 0),
            ("0.00000000000000000001Ei", 1, 12),
        ];
        for (text, value, milli) in cases {
            let quantity = parse(text);
            assert_eq!(
                (quantity.value(), quantity.milli_value()),
                (*value, *milli),
                "{text}"
            );
        }
    }

    #[test]
    fn quantities_print_in_canonical_form() {
        let cases = [
            ("1000m", "1"),
            ("1500m", "1500m"),
            ("1.5", "1500m"),
            ("1024Mi", "1Gi"),
            ("1.5Gi", "1536Mi"),
            ("1025Ki", "1025Ki"),
            ("0.5Ki", "512"),
            ("0.0001Ki", "102400u"),
            ("1000000", "1M"),
            ("1e3", "1e3"),
            ("1000e3", "1e6"),
            ("100E-3", "100e-3"),
            ("-0", "0"),
            ("-2000", "-2k"),
            ("0Gi", "0"),
        ];
        for (text, printed) in cases {
            assert_eq!(parse(text).to_string(), printed, "{text}");
        }
    }

    #[test]
    fn what_is_no_quantity_is_refused_with_the_text() {
        let refused = [
            "", "-", "+", ".", "1.2.3", "1 ", " 1", "1g", "1K", "1KI", "Gi", "1e", "1e1.5", "--1",
            "1ee3", "0x10", "NaN", "é", "1é", "1Zi",
        ];
        for text in refused {
            let error = Quantity::parse(text).unwrap_err();
            assert_eq!(error.found, text);
            assert!(error.to_string().contains("Ki Mi Gi"), "{error}");
        }
        assert!(Quantity::parse(&"9".repeat(200)).is_err());
    }

    #[test]
    fn sums_are_exact_before_they_are_rounded() {
        assert_eq!((parse("500m") + parse("0.5")).value(), 1);
        assert_eq!((parse("8Ei") + parse("8Ei")).value(), i64::MAX);
        assert!(parse("1Ki") > parse("1k"));
    }

    proptest! {
        #[test]
        fn printing_and_parsing_are_inverse(text in "[+-]?[0-9]{1,12}(\\.[0-9]{0,9})?(n|u|m||k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|e[0-9]|E-[0-9])") {
            let quantity = parse(&text);
            let printed = quantity.to_string();
            prop_assert_eq!(parse(&printed), quantity);
            // What was written in Ki and is no whole number of them is printed as a plain number, and that in k: as
            // Kubernetes does. From then on it stays as it is.
            let again = parse(&printed).to_string();
            prop_assert_eq!(parse(&again).to_string(), again);
        }

        #[test]
        fn amounts_are_those_of_exact_fractions(
            negative: bool, whole in 0_u32..4_000_000, thousandths in 0_u32..1000, unit in 0_usize..9,
        ) {
            // Every unit as a fraction, so that the sum is exact: whole and thousandths times it.
            let units: [(&str, i128, i128); 9] = [
                ("n", 1, 1_000_000_000), ("u", 1, 1_000_000), ("m", 1, 1000), ("", 1, 1),
                ("k", 1000, 1), ("G", 1_000_000_000, 1), ("Ki", 1 << 10, 1), ("Ti", 1 << 40, 1),
                ("e4", 10_000, 1),
            ];
            let (suffix, times, over) = units[unit];
            let sign = if negative { "-" } else { "" };
            let quantity = parse(&format!("{sign}{whole}.{thousandths:03}{suffix}"));
            let numerator = (i128::from(whole) * 1000 + i128::from(thousandths)) * times;
            // To the next nano-unit first, as Kubernetes does when it parses.
            let nano = (numerator * NANO + over * 1000 - 1) / (over * 1000);
            let up = |step: i128| i64::try_from((nano + step - 1) / step).unwrap_or(i64::MAX);
            let signed = |size: i64| if negative { -size } else { size };
            prop_assert_eq!(quantity.value(), signed(up(NANO)));
            prop_assert_eq!(quantity.milli_value(), signed(up(NANO / 1000)));
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,40}") {
            let _ = Quantity::parse(&text);
        }
    }
}
