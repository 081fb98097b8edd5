//! The natural logarithm of whole numbers, done with integers.

/// The bits behind the point.
pub const LOG_BITS: u32 = 60;

/// The natural logarithm of a number, in units of 2^-[`LOG_BITS`] and off by less than 2^-52; zero for zero.
#[must_use]
pub fn natural_log(number: u64) -> u128 {
    let Some(power) = number.checked_ilog2() else {
        return 0;
    };
    let one = 1 << LOG_BITS;
    // Between one and two.
    let rest = (u128::from(number) << LOG_BITS) >> power;
    let of_two = 2 * inverse_tanh(one, 3 * one);
    u128::from(power) * of_two + 2 * inverse_tanh(rest - one, rest + one)
}

/// The inverse hyperbolic tangent of a quotient of at most a third, by its series: half the logarithm of
/// `(1 + q) / (1 - q)`.
fn inverse_tanh(numerator: u128, denominator: u128) -> u128 {
    let quotient = (numerator << LOG_BITS) / denominator;
    let square = (quotient * quotient) >> LOG_BITS;
    let (mut power, mut sum, mut divisor) = (quotient, 0, 1);
    while power > 0 {
        sum += power / divisor;
        power = (power * square) >> LOG_BITS;
        divisor += 2;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[expect(clippy::cast_precision_loss, reason = "that is what is compared")]
    fn off(number: u64) -> f64 {
        let unit = (1_u64 << LOG_BITS) as f64;
        let exact = (number as f64).ln();
        (natural_log(number) as f64 / unit - exact).abs()
    }

    #[test]
    fn ends_of_the_range() {
        assert_eq!((natural_log(0), natural_log(1)), (0, 0));
        assert!(off(2) < 1e-15 && off(3) < 1e-15 && off(u64::MAX) < 1e-13);
    }

    proptest! {
        #[test]
        fn it_is_what_floating_point_gives(number in 1_u64..1 << 40) {
            prop_assert!(off(number) < 1e-14, "{number}: off by {}", off(number));
        }
    }
}
