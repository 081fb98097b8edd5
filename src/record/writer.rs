//! Writes a term, part after part.

use crate::entry::EntryRef;
use crate::folder::{file_of, make_room, term_name};
use crate::head::{About, End, Head};
use flate2::Compression;
use flate2::write::GzEncoder;
use muster_model::units::{Millis, Time};
use serde::Serialize;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;

/// A limit is no smaller.
pub const MIN_LIMIT: u64 = 1 << 20;
/// A part is no larger, or not much.
const MAX_PART: u64 = 64 << 20;
/// So many parts fit into the limit at least.
const PARTS: u64 = 8;
/// What was written reaches the file after so long at the latest, if anything is written then.
const FLUSH_EVERY: Millis = Millis(1_000);

/// Where records are, and how much they may take.
#[derive(Clone, Debug)]
pub struct Storage {
    /// The folder; it is made if it is not there.
    pub folder: PathBuf,
    /// All records in it take no more bytes than this: the oldest parts are deleted.
    pub limit: u64,
}

impl Storage {
    /// From how many bytes on another part is begun.
    fn part(&self) -> u64 {
        (self.limit / PARTS).min(MAX_PART)
    }
}

/// Writes a term into files. What is not ended is ended when it is dropped.
#[derive(Debug)]
pub struct Writer {
    storage: Storage,
    about: About,
    term: String,
    part: u32,
    to: Option<GzEncoder<Counted>>,
    line: Vec<u8>,
    /// Entries up to here, those that are missing included.
    entries: u64,
    flushed: Time,
    /// A part of this term was deleted.
    lost_beginning: bool,
}

impl Writer {
    /// Begins a term.
    ///
    /// # Errors
    /// When its first part cannot be written.
    pub fn start(storage: Storage, about: About) -> io::Result<Self> {
        Self::resume(storage, about, 0, 0, None)
    }

    /// Goes on with a term in a part of its own, after so many parts and entries.
    pub(crate) fn resume(
        storage: Storage,
        about: About,
        parts: u32,
        entries: u64,
        gap: Option<String>,
    ) -> io::Result<Self> {
        fs::create_dir_all(&storage.folder)?;
        let mut writer = Self {
            term: term_name(&about),
            flushed: about.started,
            storage,
            about,
            part: parts,
            to: None,
            line: Vec::new(),
            entries,
            lost_beginning: false,
        };
        writer.begin_part(gap)?;
        Ok(writer)
    }

    /// Takes down what reached the core, or what it decided.
    ///
    /// # Errors
    /// When it cannot be written: then all that follows is worth nothing without another part.
    pub fn write(&mut self, entry: EntryRef<'_>) -> io::Result<()> {
        let mut line = std::mem::take(&mut self.line);
        line.clear();
        entry.write(&mut line)?;
        let written = self.lines(&line, entry.count(), entry.at());
        self.line = line;
        written
    }

    /// The same of so many entries that are lines already, the last of which was then.
    pub(crate) fn lines(&mut self, text: &[u8], entries: u64, at: Time) -> io::Result<()> {
        if self.written() >= self.storage.part() {
            self.next_part()?;
        }
        self.to()?.write_all(text)?;
        self.entries += entries;
        if at.since(self.flushed) >= FLUSH_EVERY {
            self.flush()?;
            self.flushed = at;
        }
        Ok(())
    }

    /// Begins another part.
    pub(crate) fn next_part(&mut self) -> io::Result<()> {
        self.end_part(true)?;
        self.begin_part(None)
    }

    /// Has all that was written reach the file.
    ///
    /// # Errors
    /// When it does not.
    pub fn flush(&mut self) -> io::Result<()> {
        self.to()?.flush()
    }

    /// Ends the term.
    ///
    /// # Errors
    /// When that cannot be written.
    pub fn end(mut self) -> io::Result<()> {
        self.end_part(false)
    }

    /// The name of the term.
    #[must_use]
    pub fn term(&self) -> &str {
        &self.term
    }

    /// Which part is written.
    pub(crate) const fn part(&self) -> u32 {
        self.part
    }

    /// Whether a part of this term was deleted because of the limit; asked once.
    pub(crate) const fn take_lost_beginning(&mut self) -> bool {
        std::mem::replace(&mut self.lost_beginning, false)
    }

    /// What was begun is left as it is.
    pub(crate) fn give_up(mut self) {
        self.to = None;
    }

    fn begin_part(&mut self, gap: Option<String>) -> io::Result<()> {
        let part = self.part + 1;
        let file = file_of(&self.storage.folder, &self.term, part);
        // What is there is never written over.
        let file = File::create_new(&file).map_err(|error| {
            let text = format!("{}: {error}", file.display());
            io::Error::new(error.kind(), text)
        })?;
        self.part = part;
        let file = Counted { file, bytes: 0 };
        self.to = Some(GzEncoder::new(file, Compression::fast()));
        let head = Head::of(&self.about, part, self.entries, gap);
        self.line(&head)?;
        // Who reads it meanwhile finds what it is.
        self.flush()?;
        let (storage, term) = (&self.storage, &self.term);
        // A part may become a little larger than it is to be.
        let left = storage.limit.saturating_sub(2 * storage.part());
        self.lost_beginning |= make_room(&storage.folder, left, term, part)?;
        Ok(())
    }

    fn end_part(&mut self, more: bool) -> io::Result<()> {
        self.line(&End::of(self.entries, more))?;
        let ended = self.to.take().map(GzEncoder::finish).transpose()?;
        ended.map_or(Ok(()), |file| file.file.sync_all())
    }

    fn line(&mut self, what: &impl Serialize) -> io::Result<()> {
        let to = self.to()?;
        serde_json::to_writer(&mut *to, what)?;
        to.write_all(b"\n")
    }

    fn to(&mut self) -> io::Result<&mut GzEncoder<Counted>> {
        self.to
            .as_mut()
            .ok_or_else(|| io::Error::other("it was ended"))
    }

    fn written(&self) -> u64 {
        self.to.as_ref().map_or(0, |to| to.get_ref().bytes)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if self.to.is_some() {
            // A part without an end can be read all the same.
            let _ = self.end_part(false);
        }
    }
}

/// A file, and how many bytes were written to it.
#[derive(Debug)]
struct Counted {
    file: File,
    bytes: u64,
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
