//! The files of records in a folder: how they are called, which there are, and which go when it is full.

use crate::error::RecordError;
use crate::head::About;
use jiff::Timestamp;
use muster_model::units::Time;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What the name of a part ends with.
const ENDING: &str = ".gz";

/// A part of a term.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its number, from 1.
    pub number: u32,
    /// Its file.
    pub file: PathBuf,
}

/// What one core went through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// When it was started, and who it was.
    pub name: String,
    /// Its parts in their order; some may not be there.
    pub parts: Vec<Part>,
}

/// A folder with records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    /// The terms, in the order of their starts.
    pub terms: Vec<Term>,
}

impl Folder {
    /// What records there are in a folder. No file is read.
    ///
    /// # Errors
    /// When it cannot be read, or there are none.
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        let unreadable = |error| RecordError::Unreadable {
            path: path.to_owned(),
            error,
        };
        let mut terms: BTreeMap<String, Vec<Part>> = BTreeMap::new();
        for (term, part) in files(path).map_err(unreadable)? {
            terms.entry(term).or_default().push(part);
        }
        let terms = terms.into_iter().map(|(name, mut parts)| {
            parts.sort_by_key(|part| part.number);
            Term { name, parts }
        });
        let terms: Vec<Term> = terms.collect();
        if terms.is_empty() {
            return Err(RecordError::Empty {
                folder: path.to_owned(),
            });
        }
        Ok(Self { terms })
    }
}

/// The name of a term.
pub(crate) fn term_name(about: &About) -> String {
    format!("{}_{}", date(about.started), about.instance)
}

/// The file of a part.
pub(crate) fn file_of(folder: &Path, term: &str, part: u32) -> PathBuf {
    folder.join(format!("{term}.{part:05}{ENDING}"))
}

/// A time as a date that sorts, without characters that mean something in names of files.
fn date(at: Time) -> String {
    let at = i64::try_from(at.0).ok();
    let at = at.and_then(|at| Timestamp::from_millisecond(at).ok());
    let at = at.unwrap_or(Timestamp::MAX);
    at.strftime("%Y%m%dT%H%M%S.%3fZ").to_string()
}

/// The term and the part that the name of a file says.
fn named(file: &Path) -> Option<(String, u32)> {
    let name = file.file_name()?.to_str()?.strip_suffix(ENDING)?;
    let (term, part) = name.rsplit_once('.')?;
    let digits = part.len() >= 5 && part.bytes().all(|byte| byte.is_ascii_digit());
    let part = part.parse().ok().filter(|part| digits && *part > 0)?;
    let (date, instance) = term.split_once('_')?;
    let is_date = date.ends_with('Z') && date.contains('T');
    (is_date && !instance.is_empty()).then(|| (term.to_owned(), part))
}

/// The files of records in a folder.
fn files(folder: &Path) -> io::Result<Vec<(String, Part)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let file = entry?.path();
        if let Some((term, number)) = named(&file) {
            found.push((term, Part { number, file }));
        }
    }
    Ok(found)
}

/// Deletes the oldest parts until all take no more than `limit` bytes, but none of `kept`; says whether one of the term
/// of this name went.
pub(crate) fn make_room(folder: &Path, limit: u64, term: &str, kept: u32) -> io::Result<bool> {
    let mut parts = files(folder)?;
    parts.sort_by(|(a, one), (b, other)| (a, one.number).cmp(&(b, other.number)));
    let mut sizes = Vec::new();
    for (of, part) in parts {
        let size = match fs::metadata(&part.file) {
            Ok(found) => found.len(),
            // Somebody else took it away.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        sizes.push((of, part, size));
    }
    let mut total: u64 = sizes.iter().map(|(_, _, size)| size).sum();
    let mut own = false;
    for (of, part, size) in sizes {
        let is_own = of == term;
        if total <= limit || (is_own && part.number >= kept) {
            break;
        }
        fs::remove_file(&part.file)?;
        total = total.saturating_sub(size);
        own |= is_own;
    }
    Ok(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_file_says_its_term_and_its_part() {
        let about = About {
            instance: "muster-0".into(),
            started: Time(1_764_322_857_123),
            ..About::default()
        };
        let term = term_name(&about);
        assert_eq!(term, "20251128T094057.123Z_muster-0");
        let file = file_of(Path::new("/r"), &term, 12);
        assert_eq!(file, Path::new("/r/20251128T094057.123Z_muster-0.00012.gz"));
        assert_eq!(named(&file), Some((term.clone(), 12)));
        let large = file_of(Path::new("/r"), &term, 123_456);
        assert_eq!(named(&large), Some((term, 123_456)));
    }

    #[test]
    fn what_is_called_otherwise_is_no_record() {
        for name in [
            "a.gz",
            "muster-snapshot.gz",
            "20251128T094057.123Z_m.1.gz",
            "20251128T094057.123Z_m.00000.gz",
            "20251128T094057.123Z_m.00001",
            "20251128T094057.123Z.00001.gz",
            "_m.00001.gz",
        ] {
            assert_eq!(named(Path::new(name)), None, "{name}");
        }
    }

    #[test]
    fn the_oldest_go_first_and_what_is_written_now_stays() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        let old = "20251128T000000.000Z_m";
        let new = "20251129T000000.000Z_m";
        for (term, part) in [(old, 1), (old, 2), (new, 1), (new, 2), (new, 3)] {
            fs::write(file_of(at, term, part), [0; 100]).unwrap();
        }
        fs::write(at.join("notes.txt"), [0; 1000]).unwrap();
        let left = || {
            let folder = Folder::open(at).unwrap();
            let parts = folder.terms.into_iter().flat_map(|term| {
                let name = term.name;
                term.parts
                    .into_iter()
                    .map(move |part| (name == old, part.number))
            });
            parts.collect::<Vec<_>>()
        };
        assert!(!make_room(at, 500, new, 3).unwrap());
        assert_eq!(left().len(), 5);
        assert!(!make_room(at, 350, new, 3).unwrap());
        assert_eq!(left(), [(false, 1), (false, 2), (false, 3)]);
        assert!(make_room(at, 0, new, 3).unwrap());
        assert_eq!(left(), [(false, 3)]);
        assert!(at.join("notes.txt").exists());
    }

    #[test]
    fn a_folder_without_a_record_is_said_to_have_none() {
        let folder = tempfile::tempdir().unwrap();
        let said = Folder::open(folder.path()).unwrap_err().to_string();
        assert!(said.contains("there is no record in it"), "{said}");
        let said = Folder::open(&folder.path().join("none")).unwrap_err();
        assert!(matches!(said, RecordError::Unreadable { .. }), "{said}");
    }
}
