//! What people write in YAML: read within bounds, and what is wrong with it said in plain words,
//! with its place.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::{Error, MessageFormatter, Options, UserMessageFormatter};
use std::fmt;

/// Values in one document. A list of ten thousand pods, as kubectl prints it, has a few million.
const MAX_NODES: usize = 50_000_000;
/// What the parser tells of one document: a value, a list's or a map's end, a comment.
const MAX_EVENTS: usize = 2 * MAX_NODES;
/// Text in one document, in bytes.
const MAX_TEXT: usize = 1 << 30;
/// How many values aliases may repeat: some lines of aliases can stand for billions.
const MAX_REPEATED: usize = 1_000_000;
/// What was found is shown up to so many characters.
const MAX_FOUND: usize = 40;
/// A message is cut to so many characters.
const MAX_MESSAGE: usize = 400;

/// Why a text cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// What was found, and what is allowed.
    pub message: String,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

/// The text of a file.
///
/// # Errors
/// When it is not UTF-8: where the first other byte stands.
pub fn text(bytes: Vec<u8>) -> Result<String, Wrong> {
    String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let before = String::from_utf8_lossy(&error.as_bytes()[..good]).into_owned();
        let is_utf16 = matches!(error.as_bytes(), [0xff, 0xfe, ..] | [0xfe, 0xff, ..]);
        let found = if is_utf16 { "UTF-16" } else { "other bytes" };
        Wrong {
            line: before.matches('\n').count() + 1,
            column: before.rsplit('\n').next().map_or(0, |l| l.chars().count()) + 1,
            message: format!("found {found}: expected text in UTF-8"),
        }
    })
}

/// One document of it.
///
/// # Errors
/// When it cannot be written as YAML.
pub fn write(value: &impl Serialize) -> Result<String, serde_saphyr::ser::Error> {
    serde_saphyr::to_string(value)
}

/// The documents of a text that contain anything, and the line on which each begins, from 1.
///
/// A line that begins with `---` in its first column can only be a document's start, so this needs
/// no parser; each document is then parsed by itself, and an error in one leaves the others alone.
#[must_use]
pub fn documents(text: &str) -> Vec<(usize, &str)> {
    let mut documents = Vec::new();
    let (mut start, mut start_line) = (0, 1);
    let mut offset = 0;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        if is_marker(line) {
            documents.push((start_line, &text[start..offset]));
            // What follows the marker on its line belongs to the document.
            (start, start_line) = (offset + 3, index + 1);
        }
        offset += line.len();
    }
    documents.push((start_line, &text[start..]));
    documents.retain(|(_, text)| !is_blank(text));
    documents
}

fn is_marker(line: &str) -> bool {
    line.strip_prefix("---")
        .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
}

/// Reads one document. Only `true` and `false` are truth values, so that a node may be called `n`.
///
/// # Errors
/// When it is not YAML, or does not fit the type.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, Wrong> {
    serde_saphyr::from_str_with_options(text, options()).map_err(|error| {
        let error = innermost(&error);
        let place = error.location();
        let number = |found: Option<u64>| usize::try_from(found.unwrap_or(1)).unwrap_or(1).max(1);
        let (line, column) = (
            number(place.map(|place| place.line())),
            number(place.map(|place| place.column())),
        );
        let message = match error {
            Error::Eof { .. } if is_blank(text) => "there is nothing in it".to_owned(),
            Error::Eof { .. } => "it ends too early".to_owned(),
            other => words(other, &found_at(text, line, column)),
        };
        Wrong {
            line,
            column,
            message: message.chars().take(MAX_MESSAGE).collect(),
        }
    })
}

fn options() -> Options {
    serde_saphyr::options! {
        strict_booleans: true,
        budget: serde_saphyr::budget! {
            max_nodes: MAX_NODES,
            max_events: MAX_EVENTS,
            max_total_scalar_bytes: MAX_TEXT,
            // What aliases repeat is bounded below.
            enforce_alias_anchor_ratio: false,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: MAX_REPEATED,
        },
    }
}

/// Whether a text has nothing but comments, directives and document marks.
#[must_use]
pub fn is_blank(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim);
    lines.all(|line| line.is_empty() || line.starts_with(['#', '%']) || line == "...")
}

/// The error without what was wrapped around it.
fn innermost(error: &Error) -> &Error {
    match error {
        Error::AliasError { error, .. } | Error::WithSnippet { error, .. } => innermost(error),
        other => other,
    }
}

/// The value at a place, or the beginning of it: up to the end of its line or of its item.
fn found_at(text: &str, line: usize, column: usize) -> String {
    let line = text.lines().nth(line - 1).unwrap_or_default();
    let rest: String = line.chars().skip(column - 1).collect();
    let rest = rest.trim();
    let end = rest.find([',', ']', '}', '#']).unwrap_or(rest.len());
    let is_collection = rest.starts_with(['[', '{']);
    let value = if is_collection { rest } else { &rest[..end] };
    match value.trim() {
        // A field without a value is placed at its colon.
        "" | ":" => "nothing".to_owned(),
        found => format!("{:?}", short(found)),
    }
}

/// What serde found, without its own words for types.
fn plain(unexpected: &str) -> String {
    let quoted = unexpected.split('`').nth(1);
    match (unexpected, quoted) {
        ("unit value" | "Option value", _) => "nothing".to_owned(),
        ("map", _) => "a map of fields".to_owned(),
        ("sequence", _) => "a list".to_owned(),
        (_, Some(value)) => value.to_owned(),
        (other, None) => other.trim_start_matches("string ").to_owned(),
    }
}

/// A text as it can be shown: its beginning.
#[must_use]
pub fn short(text: &str) -> String {
    let mut chars = text.chars();
    let mut short: String = chars.by_ref().take(MAX_FOUND).collect();
    if chars.next().is_some() {
        short.push('…');
    }
    short
}

/// An error in words; the library's own speak of its types and options.
fn words(error: &Error, found: &str) -> String {
    match error {
        Error::MultipleDocuments { .. } => "a second document begins here: expected one".to_owned(),
        Error::Unexpected { expected, .. } => format!("found {found}: expected {}", kind(expected)),
        Error::InvalidBooleanStrict { .. } => format!("found {found}: expected true or false"),
        Error::DuplicateMappingKey { key: Some(key), .. } => {
            format!("the key {:?} stands there twice", short(key))
        }
        Error::SerdeInvalidType {
            unexpected,
            expected,
            ..
        }
        | Error::SerdeInvalidValue {
            unexpected,
            expected,
            ..
        } => {
            format!("found {}: expected {expected}", plain(unexpected))
        }
        Error::SerdeUnknownVariant {
            variant, expected, ..
        } => format!(
            "found {:?}: expected {}",
            short(variant),
            expected.join(" or ")
        ),
        Error::SerdeUnknownField {
            field, expected, ..
        } => format!(
            "field {:?} is not known; known are {}",
            short(field),
            expected.join(", ")
        ),
        Error::SerdeMissingField { field, .. } => format!("the field {field:?} is missing"),
        Error::NonFiniteFloat { value, .. } => format!("{value} is no number that can be used"),
        Error::UnknownAnchor { .. } => format!("{found} is an alias of nothing"),
        Error::RecursiveReferencesRequireWeakTypes { .. } => {
            "an alias stands within what it refers to".to_owned()
        }
        Error::Budget {
            breach: BudgetBreach::Depth { .. },
            ..
        } => "nested too deeply".to_owned(),
        Error::Budget { .. }
        | Error::AliasReplayCounterOverflow { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => format!(
            "too much for one document: more than {MAX_NODES} values, or more than {MAX_REPEATED} \
             that aliases repeat"
        ),
        other => {
            let text = UserMessageFormatter.format_message(other);
            text.replace(char::is_control, " ")
        }
    }
}

/// What the parser expected, in words.
fn kind(expected: &str) -> &str {
    match expected {
        "mapping start" => "a map of fields",
        "sequence start" => "a list",
        "string scalar" => "a text",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use std::collections::BTreeMap;

    fn wrong(text: &str) -> String {
        read::<Value>(text).unwrap_err().to_string()
    }

    #[test]
    fn letters_and_words_are_texts_and_only_true_and_false_are_truth_values() {
        let found: Value = read("[n, y, yes, off, true, False]").unwrap();
        assert_eq!(found, json!(["n", "y", "yes", "off", true, false]));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place_and_without_the_parsers_types() {
        assert_eq!(
            wrong("a: 1\nb: 2\na: 3\n"),
            "3:1: the key \"a\" stands there twice"
        );
        assert_eq!(wrong("a: *b\n"), "1:4: \"*b\" is an alias of nothing");
        assert_eq!(
            wrong("a: .inf\n"),
            "1:4: .inf is no number that can be used"
        );
        assert_eq!(
            wrong("&a [*a]"),
            "1:5: an alias stands within what it refers to"
        );
        assert_eq!(
            wrong("a: 1\n---\nb: 1\n"),
            "3:1: a second document begins here: expected one"
        );
        let lists = |text| {
            read::<BTreeMap<String, Vec<bool>>>(text)
                .unwrap_err()
                .message
        };
        assert_eq!(lists("a: b\n"), "found \"b\": expected a list");
        assert_eq!(
            lists("a: [maybe]"),
            "found \"maybe\": expected true or false"
        );
        assert_eq!(lists("a: {b: c}"), "found \"{b: c}\": expected a list");
        assert_eq!(lists("a:\n"), "found nothing: expected a list");
        assert_eq!(lists("- a\n"), "found \"- a\": expected a map of fields");
        let number = |text| read::<u8>(text).unwrap_err().message;
        assert_eq!(number("# a\n"), "there is nothing in it");
        assert_eq!(lists("a: ["), "unclosed bracket '['");
    }

    #[test]
    fn what_serde_found_is_told_without_its_words_for_types() {
        for (unexpected, found) in [
            ("floating point `1.5`", "1.5"),
            ("boolean `true`", "true"),
            ("unit value", "nothing"),
            ("map", "a map of fields"),
            ("string \"a\"", "\"a\""),
        ] {
            assert_eq!(plain(unexpected), found);
        }
    }

    #[test]
    fn a_few_lines_that_stand_for_billions_are_refused() {
        let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..10 {
            let item = format!("*a{}", level - 1);
            let items = [item.as_str(); 10].join(", ");
            text += &format!("a{level}: &a{level} [{items}]\n");
        }
        let said = wrong(&text);
        assert!(said.contains("that aliases repeat"), "{said}");
        let deep = wrong(&format!("a: {}", "{a: ".repeat(5000)));
        assert!(deep.contains("nested too deeply"), "{deep}");
    }

    #[test]
    fn a_long_list_is_read() {
        let text = "- {a: 1, b: 2, c: 3}\n".repeat(60_000);
        assert_eq!(read::<Vec<Value>>(&text).unwrap().len(), 60_000);
    }

    #[test]
    fn long_texts_are_cut() {
        let said = wrong(&format!("{0}: 1\n{0}: 2\n", "x".repeat(900)));
        assert!(said.len() < 100 && said.contains("xx…"), "{said}");
    }

    #[test]
    fn bytes_that_are_no_text_are_placed() {
        let error = text(b"a: b\nname: caf\xe9\n".to_vec()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "2:10: found other bytes: expected text in UTF-8"
        );
        let error = text(b"\xff\xfea\0".to_vec()).unwrap_err();
        assert!(error.message.contains("UTF-16"));
        assert_eq!(text(b"a".to_vec()).unwrap(), "a");
    }
}
