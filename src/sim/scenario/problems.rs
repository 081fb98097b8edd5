//! What is wrong or odd about a scenario, with file and line.

use std::fmt;

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) file: String,
    /// From 1.
    pub(super) line: usize,
    /// From 1, where it is known.
    pub(super) column: Option<usize>,
}

impl Place {
    /// The first line of a file.
    pub(super) fn start(file: &str) -> Self {
        Self {
            file: file.to_owned(),
            line: 1,
            column: None,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)?;
        self.column.map_or(Ok(()), |column| write!(f, ":{column}"))
    }
}

/// Why a scenario cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// Something in it is wrong; one line for each thing.
    #[error("{}", .0.join("\n"))]
    Wrong(Vec<String>),
}

/// After so many things that are wrong, or odd, the rest is left out.
const MAX_PROBLEMS: usize = 20;

/// Collects what is wrong and what is odd.
#[derive(Debug, Default)]
pub(super) struct Problems {
    errors: Lines,
    warnings: Lines,
}

/// Lines, of which the first are kept.
#[derive(Debug, Default)]
struct Lines {
    kept: Vec<String>,
    left_out: usize,
}

impl Lines {
    /// Without what a terminal would take for an order.
    fn push(&mut self, line: &str) {
        if self.kept.len() < MAX_PROBLEMS {
            self.kept.push(line.replace(char::is_control, "\u{fffd}"));
        } else {
            self.left_out += 1;
        }
    }

    fn finish(mut self) -> Vec<String> {
        if self.left_out > 0 {
            self.kept.push(format!("and {} more", self.left_out));
        }
        self.kept
    }
}

impl Problems {
    pub(super) fn error(&mut self, place: &Place, message: impl fmt::Display) {
        self.errors.push(&format!("{place}: {message}"));
    }

    pub(super) fn warn(&mut self, place: &Place, message: impl fmt::Display) {
        self.warnings.push(&format!("{place}: {message}"));
    }

    /// The warnings, if nothing is wrong.
    pub(super) fn finish(self) -> Result<Vec<String>, ScenarioError> {
        let errors = self.errors.finish();
        if errors.is_empty() {
            return Ok(self.warnings.finish());
        }
        Err(ScenarioError::Wrong(errors))
    }
}
