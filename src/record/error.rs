//! Why a record cannot be read.

use crate::head::VERSION;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why a record cannot be read: which file, where in it, what was found, and what is allowed.
#[derive(Debug, Error)]
pub enum RecordError {
    /// A folder or a file cannot be read.
    #[error("{path}: {error}", path = .path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// A folder without a record.
    #[error(
        "{folder}: there is no record in it: its files are called DATE_INSTANCE.PART.gz, as `muster run --record` \
         and `muster simulate --record` write them",
        folder = .folder.display()
    )]
    Empty {
        /// Which.
        folder: PathBuf,
    },
    /// A file that is something else.
    #[error(
        "{file}: it is no record: {found}, and a record is lines of JSON in gzip, the first of which is of kind Record",
        file = .file.display()
    )]
    Foreign {
        /// Which.
        file: PathBuf,
        /// What it has instead.
        found: String,
    },
    /// A file that ends too early to say what it is.
    #[error(
        "{file}: it ends within its first line: who writes it has only just begun, or could not go on",
        file = .file.display()
    )]
    NotBegun {
        /// Which.
        file: PathBuf,
    },
    /// Another version.
    #[error(
        "{file}: it is a record of version {found:?}, written by muster {muster}: this one reads {VERSION}",
        file = .file.display()
    )]
    Version {
        /// Which file.
        file: PathBuf,
        /// Which version.
        found: String,
        /// Who wrote it.
        muster: String,
    },
    /// A part that is not of the term and the place that its name says.
    #[error(
        "{file}: it says that it is part {part} of {term}, and its name says otherwise",
        file = .file.display()
    )]
    Misplaced {
        /// Which.
        file: PathBuf,
        /// Of which term.
        term: String,
        /// Which part.
        part: u32,
    },
    /// Bytes were changed.
    #[error(
        "{file}, line {line}: it is damaged: what is compressed in it cannot be read",
        file = .file.display()
    )]
    Damaged {
        /// Which file.
        file: PathBuf,
        /// Which line cannot be read.
        line: u64,
    },
    /// A line that is none of a record.
    #[error(
        "{file}, line {line}: {found}: {why}; a line is {{\"heard\":[TIME,EVENT]}}, {{\"decided\":[TIME,PLAN]}}, \
         {{\"gap\":[TIME,GAP]}} or the end",
        file = .file.display()
    )]
    Line {
        /// In which file.
        file: PathBuf,
        /// Which, from 1.
        line: u64,
        /// How it begins.
        found: String,
        /// What is wrong.
        why: String,
    },
    /// Entries are missing that nothing accounts for.
    #[error(
        "{file}, line {line}: it has {found} entries up to here, and says that it has {said}",
        file = .file.display()
    )]
    Count {
        /// In which file.
        file: PathBuf,
        /// Where it says so.
        line: u64,
        /// How many there are.
        found: u64,
        /// How many it says.
        said: u64,
    },
}

/// The beginning of some text, for a message.
pub(crate) fn short(text: &[u8]) -> String {
    const MAX: usize = 60;
    let text = String::from_utf8_lossy(text);
    let cut: String = text.chars().take(MAX).collect();
    let more = if cut.len() < text.len() { "..." } else { "" };
    format!("{cut:?}{more}")
}
