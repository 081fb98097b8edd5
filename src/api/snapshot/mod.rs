//! A snapshot: what Muster reads of a whole cluster, in one compressed file.
//!
//! It is text in gzip, a JSON object a line: first a head that says what it is, then the objects, then an end that says
//! how many there are and when the last was read. [`Reducer`] leaves of an object what is read of it, [`Names`]
//! replaces the names in it.

mod names;
mod reduced;
#[cfg(test)]
mod tests;

pub use names::Names;
pub use reduced::{Reducer, Unread};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::{self, Read, Write};

/// The version that is written, and read.
pub const VERSION: &str = "snapshot.muster.dev/v1";
/// The group of all versions.
const GROUP: &str = "snapshot.muster.dev/";
/// The kind of the head.
const HEAD: &str = "Snapshot";
/// The kind of the end.
const END: &str = "SnapshotEnd";
/// A file of more text than this is no snapshot: a few bytes can stand for very many.
const MAX_TEXT: u64 = 8 << 30;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    api_version: String,
    kind: String,
    /// The version of Muster that wrote it.
    muster: String,
    #[serde(default)]
    anonymised: bool,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct End {
    api_version: String,
    kind: String,
    objects: usize,
    taken_at: String,
}

/// Writes a snapshot.
#[derive(Debug)]
pub struct Writer<W: Write> {
    to: GzEncoder<W>,
    objects: usize,
}

impl<W: Write> Writer<W> {
    /// Begins one.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn new(to: W, anonymised: bool) -> io::Result<Self> {
        let mut writer = Self {
            to: GzEncoder::new(to, Compression::fast()),
            objects: 0,
        };
        writer.line(&Head {
            api_version: VERSION.to_owned(),
            kind: HEAD.to_owned(),
            muster: env!("CARGO_PKG_VERSION").to_owned(),
            anonymised,
        })?;
        Ok(writer)
    }

    /// An object.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn object(&mut self, object: &Value) -> io::Result<()> {
        self.objects += 1;
        self.line(object)
    }

    /// Ends it; returns how many objects there are. `taken_at` is when the last was read, as Kubernetes writes it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn end(mut self, taken_at: &str) -> io::Result<(W, usize)> {
        let objects = self.objects;
        self.line(&End {
            api_version: VERSION.to_owned(),
            kind: END.to_owned(),
            objects,
            taken_at: taken_at.to_owned(),
        })?;
        Ok((self.to.finish()?, objects))
    }

    fn line(&mut self, what: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.to, what)?;
        self.to.write_all(b"\n")
    }
}

/// Why a file is no snapshot that can be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// It ends too early.
    #[error("it is cut off: {0}")]
    CutOff(&'static str),
    /// It cannot be decompressed.
    #[error("it is damaged: what is compressed in it cannot be read")]
    Damaged,
    /// It has too much in it.
    #[error("it has more than {MAX_TEXT} bytes in it")]
    TooLarge,
    /// Another version.
    #[error(
        "it is a snapshot of version {found:?}, written by muster {muster}: this one reads {VERSION}"
    )]
    Version {
        /// Which.
        found: String,
        /// Who wrote it.
        muster: String,
    },
    /// Objects are missing, or there are too many.
    #[error("it is damaged: it has {found} objects, and says that it has {said}")]
    Count {
        /// How many lines there are.
        found: usize,
        /// How many it says.
        said: usize,
    },
}

/// Whether bytes are compressed as a snapshot is.
#[must_use]
pub fn is_compressed(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x1f, 0x8b])
}

/// What is in a compressed file.
///
/// # Errors
/// When it is cut off, damaged, or too large.
pub fn decompressed(bytes: &[u8]) -> Result<Vec<u8>, SnapshotError> {
    let mut text = Vec::new();
    let mut from = MultiGzDecoder::new(bytes).take(MAX_TEXT + 1);
    match from.read_to_end(&mut text) {
        Ok(_) if text.len() as u64 > MAX_TEXT => Err(SnapshotError::TooLarge),
        Ok(_) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(SnapshotError::CutOff(
            "it ends in the middle of what is compressed",
        )),
        Err(_) => Err(SnapshotError::Damaged),
    }
}

/// What is in a snapshot.
#[derive(Clone, Debug)]
pub struct Contents<'a> {
    /// The objects, with the line of each, from 1.
    pub objects: Vec<(usize, &'a str)>,
    /// When the last was read.
    pub taken_at: String,
}

/// The contents of a text, if it is a snapshot's.
///
/// # Errors
/// When it is one that cannot be used.
pub fn contents(text: &str) -> Option<Result<Contents<'_>, SnapshotError>> {
    let first = text.lines().next()?;
    let head: Head = serde_json::from_str(first).ok()?;
    let is_one = head.kind == HEAD && head.api_version.starts_with(GROUP);
    is_one.then(|| objects(text, &head))
}

fn objects<'a>(text: &'a str, head: &Head) -> Result<Contents<'a>, SnapshotError> {
    if head.api_version != VERSION {
        return Err(SnapshotError::Version {
            found: super::yaml::short(&head.api_version),
            muster: super::yaml::short(&head.muster),
        });
    }
    let lines = text.lines().enumerate().skip(1);
    let mut objects: Vec<_> = lines.map(|(index, line)| (index + 1, line)).collect();
    let end = objects.pop().and_then(|(_, line)| {
        let end: End = serde_json::from_str(line).ok()?;
        (end.kind == END).then_some(end)
    });
    let end = end.ok_or(SnapshotError::CutOff("its end is missing"))?;
    if end.objects != objects.len() {
        return Err(SnapshotError::Count {
            found: objects.len(),
            said: end.objects,
        });
    }
    Ok(Contents {
        objects,
        taken_at: end.taken_at,
    })
}
