//! Digests of what is said: enough to tell two texts about one thing apart without keeping them.

use std::hash::{Hash, Hasher};

/// Makes a digest of what is written to it piece by piece, by FNV-1a: the same everywhere and always.
#[derive(Clone, Copy, Debug)]
pub struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// The digest of anything.
#[must_use]
pub fn of(what: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = Fnv::default();
    what.hash(&mut hasher);
    hasher.finish()
}

/// The digest of a number: other numbers have others, and none is near another (the last steps of
/// SplitMix64).
#[must_use]
pub const fn of_number(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// The digest of the kind of thing a text says: digits apart, for `3 of 8 members fit` and
/// `4 of 8 members fit` are the same news.
#[must_use]
pub fn of_kind(reason: &str, text: &str) -> u64 {
    let mut hasher = Fnv::default();
    reason.hash(&mut hasher);
    for byte in text.bytes().filter(|byte| !byte.is_ascii_digit()) {
        hasher.write(&[byte]);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_numbers_are_the_same_kind_and_another_text() {
        assert_eq!(of_kind("R", "3 of 8 fit"), of_kind("R", "4 of 18 fit"));
        assert_ne!(of("3 of 8 fit"), of("4 of 8 fit"));
        assert_ne!(of_kind("R", "3 of 8 fit"), of_kind("S", "3 of 8 fit"));
    }
}
