//! The tables of the documents.

use std::collections::BTreeSet;

/// The rows of the tables of a section whose first cells begin with code.
pub(crate) fn rows<'a>(document: &'a str, section: &str) -> impl Iterator<Item = &'a str> {
    let mut sections = document.split("\n## ");
    let text = sections.find(|text| text.starts_with(section));
    let lines = text.unwrap_or_default().lines();
    lines.filter(|line| line.starts_with("| `"))
}

/// The code in the first cells of the tables of a section.
pub(crate) fn first_cells(document: &str, section: &str) -> BTreeSet<String> {
    let cell = |line: &str| line.split('`').nth(1).map(str::to_owned);
    rows(document, section).filter_map(cell).collect()
}
