//! Double precision, done with integers.
//!
//! kube-scheduler counts some of its scores in floating point and cuts them to whole numbers. Whoever
//! has to come to the same whole number has to round where it rounds: every operation here gives what
//! IEEE 754 gives in `binary64`, rounded to nearest, ties to even. Only what is needed is here: numbers
//! that are not negative, and neither infinite nor so small that they lose precision.

use std::cmp::Ordering;

/// A number that is not negative: `mantissa * 2^exponent`, the mantissa of 53 bits, or zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Double {
    mantissa: u64,
    exponent: i32,
}

/// The bits of a mantissa.
const BITS: u32 = 53;

impl Double {
    /// Zero.
    pub const ZERO: Self = Self {
        mantissa: 0,
        exponent: 0,
    };

    /// The number next to this one.
    #[must_use]
    pub fn from_int(number: u64) -> Self {
        Self::rounded(u128::from(number), 0, false)
    }

    /// The number next to `mantissa * 2^exponent`, and a bit more where there is `more`: then the
    /// mantissa has to have more bits than fit.
    fn rounded(mantissa: u128, exponent: i32, more: bool) -> Self {
        let bits = u128::BITS - mantissa.leading_zeros();
        if bits == 0 {
            return Self::ZERO;
        }
        let Some(shift) = bits.checked_sub(BITS).filter(|shift| *shift > 0) else {
            debug_assert!(!more, "too few bits to round by");
            let shift = BITS - bits;
            return Self {
                mantissa: low(mantissa << shift),
                exponent: exponent - signed(shift),
            };
        };
        let (kept, rest) = (mantissa >> shift, mantissa & ((1 << shift) - 1));
        let up = match rest.cmp(&(1 << (shift - 1))) {
            Ordering::Less => false,
            Ordering::Greater => true,
            Ordering::Equal => more || kept & 1 == 1,
        };
        let kept = kept + u128::from(up);
        // It may have become 2^53.
        let carry = kept >> BITS != 0;
        Self {
            mantissa: low(kept >> u32::from(carry)),
            exponent: exponent + signed(shift) + i32::from(carry),
        }
    }

    /// The quotient; zero for one by zero.
    #[must_use]
    pub fn divide(self, by: Self) -> Self {
        let numerator = u128::from(self.mantissa) << 64;
        let divisor = u128::from(by.mantissa);
        let Some(quotient) = numerator.checked_div(divisor) else {
            return Self::ZERO;
        };
        let exponent = self.exponent - by.exponent - 64;
        Self::rounded(quotient, exponent, quotient * divisor != numerator)
    }

    /// The product.
    #[must_use]
    pub fn times(self, other: Self) -> Self {
        let product = u128::from(self.mantissa) * u128::from(other.mantissa);
        Self::rounded(product, self.exponent + other.exponent, false)
    }

    /// The sum.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let (large, small) = Self::in_order(self, other);
        let (one, two, more) = Self::aligned(large, small);
        Self::rounded(one + two, large.exponent - 64, more)
    }

    /// How far apart two are.
    #[must_use]
    pub fn difference(self, other: Self) -> Self {
        let (large, small) = Self::in_order(self, other);
        let (one, two, more) = Self::aligned(large, small);
        // What was cut off of the smaller is missing: the result is a bit more than one less.
        Self::rounded(one - two - u128::from(more), large.exponent - 64, more)
    }

    /// The square root.
    #[must_use]
    pub fn root(self) -> Self {
        let odd = self.exponent.rem_euclid(2);
        let shift = 72 + u32::from(odd != 0);
        let square = u128::from(self.mantissa) << shift;
        let root = square.isqrt();
        let exponent = (self.exponent - signed(shift)) / 2;
        Self::rounded(root, exponent, root * root != square)
    }

    /// The half of it, which is exact.
    #[must_use]
    pub const fn half(self) -> Self {
        if self.mantissa == 0 {
            return self;
        }
        Self {
            mantissa: self.mantissa,
            exponent: self.exponent - 1,
        }
    }

    /// The whole number of it, without the rest.
    #[must_use]
    pub fn whole(self) -> i64 {
        let Ok(right) = u32::try_from(-self.exponent) else {
            let left = u32::try_from(self.exponent).unwrap_or(0);
            let number = u128::from(self.mantissa).checked_shl(left.min(70));
            return i64::try_from(number.unwrap_or(u128::MAX)).unwrap_or(i64::MAX);
        };
        let number = self.mantissa.checked_shr(right).unwrap_or(0);
        i64::try_from(number).unwrap_or(i64::MAX)
    }

    /// The larger first.
    fn in_order(one: Self, other: Self) -> (Self, Self) {
        if one < other {
            (other, one)
        } else {
            (one, other)
        }
    }

    /// Both mantissas in units of 2^-64 of the larger one's, and whether something of the smaller is cut
    /// off.
    fn aligned(large: Self, small: Self) -> (u128, u128, bool) {
        let one = u128::from(large.mantissa) << 64;
        let two = u128::from(small.mantissa) << 64;
        if small.mantissa == 0 {
            return (one, 0, false);
        }
        let apart = u32::try_from(large.exponent - small.exponent).unwrap_or(0);
        let shifted = two.checked_shr(apart).unwrap_or(0);
        let back = shifted.checked_shl(apart.min(127)).unwrap_or(0);
        (one, shifted, apart > 127 || back != two)
    }
}

impl PartialOrd for Double {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Double {
    fn cmp(&self, other: &Self) -> Ordering {
        let zero = (self.mantissa != 0).cmp(&(other.mantissa != 0));
        if self.mantissa == 0 || other.mantissa == 0 {
            return zero;
        }
        let exponent = self.exponent.cmp(&other.exponent);
        exponent.then(self.mantissa.cmp(&other.mantissa))
    }
}

/// At most 53 bits.
fn low(bits: u128) -> u64 {
    u64::try_from(bits).unwrap_or(u64::MAX)
}

/// At most 128.
fn signed(shift: u32) -> i32 {
    i32::try_from(shift).unwrap_or(0)
}

#[cfg(test)]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "the machine's own arithmetic is what it is compared with"
)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The same number in the machine's arithmetic, bit by bit.
    fn bits(one: Double) -> u64 {
        (one.mantissa as f64 * 2_f64.powi(one.exponent)).to_bits()
    }

    fn of(number: u64) -> Double {
        Double::from_int(number)
    }

    proptest! {
        #[test]
        fn every_operation_rounds_as_the_machine_does(
            a in any::<u64>(), b in 1_u64.., c in any::<u64>(), d in 1_u64..,
            shifts in [0_u32..63, 0..63, 0..63, 0..63],
        ) {
            let [a, b, c, d] = [(a, shifts[0]), (b, shifts[1]), (c, shifts[2]), (d, shifts[3])]
                .map(|(one, shift)| (one >> shift).max(1));
            let (x, y) = (of(a).divide(of(b)), of(c).divide(of(d)));
            let (p, q) = (a as f64 / b as f64, c as f64 / d as f64);
            prop_assert_eq!(bits(x), p.to_bits());
            prop_assert_eq!(bits(y), q.to_bits());
            prop_assert_eq!(bits(x.times(y)), (p * q).to_bits());
            prop_assert_eq!(bits(x.plus(y)), (p + q).to_bits());
            prop_assert_eq!(bits(x.difference(y)), (p - q).abs().to_bits());
            prop_assert_eq!(bits(x.root()), p.sqrt().to_bits());
            prop_assert_eq!(bits(x.half()), (p / 2.0).to_bits());
            prop_assert_eq!(x.whole(), p as i64);
            prop_assert_eq!(x.cmp(&y), p.partial_cmp(&q).unwrap());
        }

        #[test]
        fn numbers_of_almost_the_same_size_differ_exactly(a in 1_u64..1 << 40, b in 1_u64..1000) {
            let (x, y) = (of(a).divide(of(a + b)), of(a + b).divide(of(a + 2 * b)));
            let (p, q) = (a as f64 / (a + b) as f64, (a + b) as f64 / (a + 2 * b) as f64);
            prop_assert_eq!(bits(x.difference(y)), (p - q).abs().to_bits());
        }
    }

    #[test]
    fn nothing_is_nothing() {
        let one = of(1);
        assert_eq!(one.difference(one), Double::ZERO);
        assert_eq!(Double::ZERO.root(), Double::ZERO);
        assert_eq!(one.divide(Double::ZERO), Double::ZERO);
        assert_eq!(one.plus(Double::ZERO), one);
        assert_eq!(Double::ZERO.times(one).whole(), 0);
        assert!(Double::ZERO < one);
    }
}
