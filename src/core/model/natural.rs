//! The order of names in which people count: `rack-2` comes before `rack-10`.

use std::cmp::Ordering;

/// The order of texts in which numbers count as numbers; equal ones are equal texts.
#[must_use]
pub fn natural(one: &str, other: &str) -> Ordering {
    let (mut left, mut right) = (one.as_bytes(), other.as_bytes());
    loop {
        let (digits, others) = (digits(left), digits(right));
        if digits > 0 && others > 0 {
            let (number, rest) = left.split_at(digits);
            let (other_number, other_rest) = right.split_at(others);
            let order = by_value(number, other_number);
            if order.is_ne() {
                return order;
            }
            (left, right) = (rest, other_rest);
            continue;
        }
        match (left.split_first(), right.split_first()) {
            (Some((a, rest)), Some((b, other_rest))) if a == b => {
                (left, right) = (rest, other_rest);
            }
            (None, None) => return one.cmp(other),
            (a, b) => return a.map(|(a, _)| a).cmp(&b.map(|(b, _)| b)),
        }
    }
}

/// How many digits a text begins with.
fn digits(text: &[u8]) -> usize {
    let digit = text.iter().position(|byte| !byte.is_ascii_digit());
    digit.unwrap_or(text.len())
}

/// Numbers of any length, in digits.
fn by_value(one: &[u8], other: &[u8]) -> Ordering {
    let zeros = |digits: &[u8]| digits.iter().take_while(|digit| **digit == b'0').count();
    let (one, other) = (&one[zeros(one)..], &other[zeros(other)..]);
    one.len().cmp(&other.len()).then_with(|| one.cmp(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_count_as_numbers() {
        let sorted = [
            "",
            "2",
            "007",
            "10",
            "a",
            "rack",
            "rack-",
            "rack-0",
            "rack-1a",
            "rack-2",
            "rack-2-9",
            "rack-2-10",
            "rack-10",
            "rack-18446744073709551616",
            "rack-18446744073709551617",
            "rack-a",
            "raczk",
        ];
        for (index, one) in sorted.iter().enumerate() {
            for (other_index, other) in sorted.iter().enumerate() {
                let order = index.cmp(&other_index);
                assert_eq!(natural(one, other), order, "{one} and {other}");
            }
        }
        // What has the same value is still not the same text.
        assert_eq!(natural("r01", "r1"), Ordering::Less);
        assert_eq!(natural("r1", "r01"), Ordering::Greater);
    }
}
