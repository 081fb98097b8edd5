//! Exponential decay by half-lives, in integers.

use super::Millis;

/// `2^(-1/2), 2^(-1/4), 2^(-1/8)` and so on, in units of `2^-64`, each rounded down.
const ROOTS: [u64; 32] = roots();

#[expect(
    clippy::cast_possible_truncation,
    reason = "the root of a number below 2^128 is below 2^64"
)]
const fn roots() -> [u64; 32] {
    let mut roots = [0; 32];
    let mut last: u64 = 1 << 63;
    let mut index = 0;
    while index < roots.len() {
        last = ((last as u128) << 64).isqrt() as u64;
        roots[index] = last;
        index += 1;
    }
    roots
}

/// What is left of an amount after a time: `amount * 2^(-time / half_life)`, rounded down.
///
/// The error is below one unit plus `amount * 2^-31`: the time is taken in parts of `2^-32`
/// half-lives, and every factor is rounded down. It never rises and never exceeds what it was.
#[must_use]
pub fn decayed(amount: u64, time: Millis, half_life: Millis) -> u64 {
    let half_life = half_life.0.max(1);
    let halvings = time.0 / half_life;
    if halvings >= 64 {
        return 0;
    }
    let part = (u128::from(time.0 % half_life) << 32) / u128::from(half_life);
    let mut factor: u128 = 1 << 64;
    for (index, root) in ROOTS.iter().enumerate() {
        if part >> (31 - index) & 1 == 1 {
            factor = (factor * u128::from(*root)) >> 64;
        }
    }
    let left = if part == 0 {
        u128::from(amount)
    } else {
        (u128::from(amount) * factor) >> 64
    };
    u64::try_from(left >> halvings).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn half_is_left_after_a_half_life_and_a_quarter_after_two() {
        let hour = Millis(3_600_000);
        assert_eq!(decayed(1_000_000, Millis(0), hour), 1_000_000);
        assert_eq!(decayed(1_000_000, hour, hour), 500_000);
        assert_eq!(decayed(1_000_000, Millis(7_200_000), hour), 250_000);
        assert_eq!(decayed(1_000_000, Millis(1_800_000), hour), 707_106);
        assert_eq!(decayed(u64::MAX, Millis(u64::MAX), hour), 0);
        assert_eq!(decayed(5, Millis(10), Millis(0)), 0, "no half-life at all");
    }

    proptest! {
        #[test]
        fn it_is_as_close_as_it_says(
            amount in 0..1_u64 << 52, time in 0..400_000_000_u64, half_life in 1..100_000_000_u64,
        ) {
            let exact = amount as f64 * (-(time as f64) / half_life as f64).exp2();
            let found = decayed(amount, Millis(time), Millis(half_life)) as f64;
            prop_assert!(found <= exact * (1.0 + 1e-9) + 1.0);
            let bound = 2.0 + amount as f64 / (1_u64 << 31) as f64;
            prop_assert!(exact - found <= bound, "{exact} - {found}");
        }

        #[test]
        fn more_time_leaves_less(
            amount in any::<u64>(), a in 0..1_u64 << 40, b in 0..1_u64 << 40,
        ) {
            let (short, long) = (Millis(a.min(b)), Millis(a.max(b)));
            let half_life = Millis(3_600_000);
            prop_assert!(decayed(amount, long, half_life) <= decayed(amount, short, half_life));
        }
    }
}
