//! The tables of the documents.

use std::collections::BTreeSet;

/// The code in the first cells of the tables of a section.
pub(crate) fn first_cells(document: &str, section: &str) -> BTreeSet<String> {
    let mut sections = document.split("\n## ");
    let text = sections
        .find(|text| text.starts_with(section))
        .unwrap_or_default();
    let cell = |line: &str| {
        let cell = line.strip_prefix("| `")?.split('`').next()?;
        Some(cell.to_owned())
    };
    text.lines().filter_map(cell).collect()
}
