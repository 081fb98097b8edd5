//! Indexes as Jobs write them: `0-2,4`.

use std::collections::BTreeSet;

/// Indexes as a Job writes them: `0-2,4`.
pub(crate) fn write(indexes: &BTreeSet<usize>) -> String {
    let mut found: Vec<(usize, usize)> = Vec::new();
    for index in indexes {
        match found.last_mut() {
            Some((_, last)) if *last + 1 == *index => *last = *index,
            _ => found.push((*index, *index)),
        }
    }
    let words = found.iter().map(|(first, last)| match last - first {
        0 => first.to_string(),
        1 => format!("{first},{last}"),
        _ => format!("{first}-{last}"),
    });
    words.collect::<Vec<_>>().join(",")
}

/// Reads `0-2,4`; what cannot be read is none.
pub(crate) fn read(text: &str) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    for range in text.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        if let (Ok(first), Ok(last)) = (first.parse::<usize>(), last.parse::<usize>()) {
            found.extend(first..=last.min(first.saturating_add(100_000)));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_are_written_and_read_as_ranges() {
        let indexes: BTreeSet<usize> = [0, 1, 2, 4, 6, 7].into();
        assert_eq!(write(&indexes), "0-2,4,6,7");
        assert_eq!(read("0-2,4,6,7"), indexes);
        assert_eq!(read("x,3-,-"), BTreeSet::new());
    }
}
