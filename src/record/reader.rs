//! Reads a term, line after line: no more of it is in memory.

use crate::entry::{Entry, Gap};
use crate::error::{RecordError, short};
use crate::folder::{Part, Term};
use crate::head::{About, END, End, GROUP, HEAD, Head, VERSION};
use flate2::read::GzDecoder;
use muster_model::units::Time;
use std::collections::VecDeque;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};

/// No line is longer: a few bytes can stand for very many.
const MAX_LINE: u64 = 512 << 20;
/// How the lines of entries begin.
const HEARD: &[u8] = br#"{"heard":["#;
const DECIDED: &[u8] = br#"{"decided":["#;
const GAP: &[u8] = br#"{"gap":["#;

/// What is read next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Read {
    /// What reached the core, or what it decided.
    Line(Line),
    /// Entries are missing.
    Gap(Gap),
    /// The last part ends without an end: whoever wrote it still does, or ended without warning.
    CutOff {
        /// The file.
        file: PathBuf,
        /// How many lines of it are whole.
        lines: u64,
    },
}

/// A line of an entry, as it stands there.
#[derive(Clone, PartialEq, Eq)]
pub struct Line {
    /// In which file.
    pub file: PathBuf,
    /// Which line of it, from 1.
    pub number: u64,
    /// Which entry of the term it is, from 1.
    pub entry: u64,
    /// Its text.
    pub text: Vec<u8>,
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (file, text) = (self.file.display(), short(&self.text));
        write!(f, "{file}, line {}: {text}", self.number)
    }
}

impl Line {
    /// When it was.
    ///
    /// # Errors
    /// When it does not say.
    pub fn at(&self) -> Result<Time, RecordError> {
        let rest = [HEARD, DECIDED].iter();
        let rest = rest
            .filter_map(|begin| self.text.strip_prefix(*begin))
            .next();
        let digits = rest.unwrap_or_default().split(|byte| *byte == b',').next();
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let at = digits.and_then(|digits| digits.parse().ok());
        at.map(Time).ok_or_else(|| self.wrong("it has no time"))
    }

    /// Whether it says what was decided.
    #[must_use]
    pub fn is_decided(&self) -> bool {
        self.text.starts_with(DECIDED)
    }

    /// What it says.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn entry(&self) -> Result<Entry, RecordError> {
        Entry::read(&self.text).map_err(|error| self.wrong(&error.to_string()))
    }

    fn wrong(&self, why: &str) -> RecordError {
        wrong_line(&self.file, self.number, &self.text, why)
    }
}

fn wrong_line(file: &Path, line: u64, text: &[u8], why: &str) -> RecordError {
    RecordError::Line {
        file: file.to_owned(),
        line,
        found: short(text),
        why: why.to_owned(),
    }
}

/// Reads a term.
#[derive(Debug)]
pub struct Reader {
    term: String,
    about: About,
    muster: String,
    has_beginning: bool,
    /// Parts that are not begun yet.
    rest: VecDeque<Part>,
    part: Option<Open>,
    /// Entries up to here, those that are missing included.
    entries: u64,
    /// What is to be told before the next line.
    gap: Option<Gap>,
}

impl Reader {
    /// Begins with the first part that is there.
    ///
    /// # Errors
    /// When that cannot be read.
    pub fn open(term: &Term) -> Result<Self, RecordError> {
        let mut rest: VecDeque<Part> = term.parts.iter().cloned().collect();
        let (head, part) = loop {
            let first = rest.pop_front().ok_or_else(|| RecordError::Empty {
                folder: PathBuf::from(&term.name),
            })?;
            match Open::begin(&first, &term.name) {
                // Those that follow say what is missing.
                Err(RecordError::NotBegun { .. }) if !rest.is_empty() => {}
                begun => break begun?,
            }
        };
        let about = head.about();
        let mut reader = Self {
            term: term.name.clone(),
            about,
            muster: head.muster.clone(),
            has_beginning: head.entries_before == 0,
            rest,
            part: Some(part),
            entries: 0,
            gap: None,
        };
        reader.account_for(&head, None)?;
        Ok(reader)
    }

    /// What the term is about.
    #[must_use]
    pub const fn about(&self) -> &About {
        &self.about
    }

    /// The version of Muster that wrote it.
    #[must_use]
    pub fn muster(&self) -> &str {
        &self.muster
    }

    /// Whether it begins with the start of the core: only then can it be played again.
    #[must_use]
    pub const fn has_beginning(&self) -> bool {
        self.has_beginning
    }

    /// What comes next; `None` at the end.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(&mut self) -> Result<Option<Read>, RecordError> {
        loop {
            if let Some(gap) = self.gap.take() {
                return Ok(Some(Read::Gap(gap)));
            }
            let Some(part) = &mut self.part else {
                return Ok(None);
            };
            match part.read()? {
                InPart::Line(text) => {
                    if let Some(read) = self.take(text)? {
                        return Ok(Some(read));
                    }
                }
                InPart::End(end) => {
                    let is_right = end.entries == self.entries;
                    if !is_right {
                        return Err(part.count(self.entries, end.entries));
                    }
                    let why = end.more.then_some("what follows is not there");
                    if !self.next_part(None)? {
                        self.part = None;
                        if let Some(why) = why {
                            return Ok(Some(Read::Gap(Gap {
                                entries: 0,
                                why: why.to_owned(),
                            })));
                        }
                    }
                }
                InPart::CutOff => {
                    let (file, lines) = (part.file.clone(), part.line);
                    let why = format!("{} is cut off after line {lines}", file.display());
                    if !self.next_part(Some(why))? {
                        self.part = None;
                        return Ok(Some(Read::CutOff { file, lines }));
                    }
                }
            }
        }
    }

    /// Takes a line of an entry.
    fn take(&mut self, text: Vec<u8>) -> Result<Option<Read>, RecordError> {
        let Some(part) = &self.part else {
            return Ok(None);
        };
        if text.starts_with(GAP) {
            let entry = Entry::read(&text);
            let entry =
                entry.map_err(|error| wrong_line(&part.file, part.line, &text, &error.to_string()));
            if let Entry::Gap(_, gap) = entry? {
                self.entries += gap.entries;
                return Ok(Some(Read::Gap(gap)));
            }
        }
        if !text.starts_with(HEARD) && !text.starts_with(DECIDED) {
            return Err(wrong_line(&part.file, part.line, &text, "it is none"));
        }
        self.entries += 1;
        Ok(Some(Read::Line(Line {
            file: part.file.clone(),
            number: part.line,
            entry: self.entries,
            text,
        })))
    }

    /// Begins the next part; says whether there is one.
    fn next_part(&mut self, mut why: Option<String>) -> Result<bool, RecordError> {
        while let Some(next) = self.rest.pop_front() {
            match Open::begin(&next, &self.term) {
                Ok((head, part)) => {
                    self.part = Some(part);
                    self.account_for(&head, why)?;
                    return Ok(true);
                }
                Err(error @ RecordError::NotBegun { .. }) => {
                    why.get_or_insert_with(|| error.to_string());
                }
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// Compares what was before a part with what it says of that.
    fn account_for(&mut self, head: &Head, why: Option<String>) -> Result<(), RecordError> {
        let Some(missing) = head.entries_before.checked_sub(self.entries) else {
            let part = self.part.as_ref();
            let file = part.map(|part| part.file.clone()).unwrap_or_default();
            return Err(RecordError::Count {
                file,
                line: 1,
                found: self.entries,
                said: head.entries_before,
            });
        };
        if missing > 0 {
            let why = head.gap.clone().or(why);
            let why = why.unwrap_or_else(|| format!("parts before part {} are missing", head.part));
            self.entries += missing;
            self.gap = Some(Gap {
                entries: missing,
                why,
            });
        }
        Ok(())
    }
}

/// What a part has next.
enum InPart {
    Line(Vec<u8>),
    End(End),
    CutOff,
}

/// A part that is being read.
struct Open {
    file: PathBuf,
    /// Lines read so far.
    line: u64,
    from: BufReader<GzDecoder<File>>,
}

impl fmt::Debug for Open {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, .. } = self;
        write!(f, "{} after line {line}", file.display())
    }
}

impl Open {
    /// Opens a part, and reads its head.
    fn begin(part: &Part, term: &str) -> Result<(Head, Self), RecordError> {
        let file = &part.file;
        let from = File::open(file).map_err(|error| RecordError::Unreadable {
            path: file.clone(),
            error,
        })?;
        let mut open = Self {
            file: file.clone(),
            line: 0,
            from: BufReader::new(GzDecoder::new(from)),
        };
        let foreign = |found: String| RecordError::Foreign {
            file: file.clone(),
            found,
        };
        let first = match open.next_line() {
            Ok(Some(line)) => line,
            Ok(None) => return Err(RecordError::NotBegun { file: file.clone() }),
            Err(RecordError::Damaged { .. }) => {
                return Err(foreign("it is no gzip".to_owned()));
            }
            Err(error) => return Err(error),
        };
        let begins = || foreign(format!("it begins with {}", short(&first)));
        /// What every version has.
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Any {
            api_version: String,
            kind: String,
            #[serde(default)]
            muster: String,
        }
        let any: Any = serde_json::from_slice(&first).map_err(|_| begins())?;
        if any.kind != HEAD || !any.api_version.starts_with(GROUP) {
            return Err(begins());
        }
        if any.api_version != VERSION {
            return Err(RecordError::Version {
                file: file.clone(),
                found: any.api_version.chars().take(60).collect(),
                muster: any.muster.chars().take(60).collect(),
            });
        }
        let head: Head = serde_json::from_slice(&first)
            .map_err(|error| wrong_line(file, 1, &first, &error.to_string()))?;
        let says = crate::folder::term_name(&head.about());
        if says != term || head.part != part.number {
            return Err(RecordError::Misplaced {
                file: file.clone(),
                term: says,
                part: head.part,
            });
        }
        Ok((head, open))
    }

    fn read(&mut self) -> Result<InPart, RecordError> {
        let Some(text) = self.next_line()? else {
            return Ok(InPart::CutOff);
        };
        if text.starts_with(HEARD) || text.starts_with(DECIDED) || text.starts_with(GAP) {
            return Ok(InPart::Line(text));
        }
        let end: Option<End> = serde_json::from_slice(&text).ok();
        match end.filter(|end| end.kind == END) {
            Some(end) => {
                let after = self.line;
                match self.next_line()? {
                    None => Ok(InPart::End(end)),
                    Some(more) => Err(wrong_line(
                        &self.file,
                        after + 1,
                        &more,
                        "it stands behind the end",
                    )),
                }
            }
            None => Ok(InPart::Line(text)),
        }
    }

    /// The next whole line; `None` where what is compressed ends.
    fn next_line(&mut self) -> Result<Option<Vec<u8>>, RecordError> {
        let mut text = Vec::new();
        let mut bounded = (&mut self.from).take(MAX_LINE);
        match bounded.read_until(b'\n', &mut text) {
            Ok(_) if text.last() == Some(&b'\n') => {
                text.pop();
                self.line += 1;
                Ok(Some(text))
            }
            Ok(length) if length as u64 >= MAX_LINE => Err(wrong_line(
                &self.file,
                self.line + 1,
                &text,
                &format!("it has more than {MAX_LINE} bytes"),
            )),
            // Half a line is none.
            Ok(_) => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput
                ) =>
            {
                Err(RecordError::Damaged {
                    file: self.file.clone(),
                    line: self.line + 1,
                })
            }
            Err(error) => Err(RecordError::Unreadable {
                path: self.file.clone(),
                error,
            }),
        }
    }

    fn count(&self, found: u64, said: u64) -> RecordError {
        RecordError::Count {
            file: self.file.clone(),
            line: self.line,
            found,
            said,
        }
    }
}
