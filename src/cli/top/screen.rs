//! The terminal: a page of its own, drawn over and over, that is gone when it is closed.

use console::Term;
use std::io::{self, Write};

/// The other page that terminals have, without a cursor.
const OPEN: &str = "\x1b[?1049h\x1b[?25l";
/// Back to the first one.
const CLOSE: &str = "\x1b[?25h\x1b[?1049l";
/// To the first column of the first line.
const HOME: &str = "\x1b[H";
/// Clears the rest of a line ...
const REST_OF_LINE: &str = "\x1b[K";
/// ... and of the page.
const REST_OF_PAGE: &str = "\x1b[J";

/// Standard output.
pub(super) struct Screen(Term);

/// As long as it is held, the page is open.
pub(super) struct Page<'s>(&'s Screen);

impl Screen {
    pub(super) fn of_standard_output() -> Self {
        Self(Term::stdout())
    }

    /// Whether it is a terminal.
    pub(super) fn is_looked_at(&self) -> bool {
        self.0.is_term()
    }

    /// Columns and lines.
    pub(super) fn size(&self) -> (usize, usize) {
        let (lines, columns) = self.0.size();
        (columns.into(), lines.into())
    }

    pub(super) fn open(&self) -> io::Result<Page<'_>> {
        self.write(OPEN)?;
        Ok(Page(self))
    }

    /// Draws a text over what is there: nothing flickers, as nothing is cleared before.
    pub(super) fn draw(&self, text: &str) -> io::Result<()> {
        self.write(&drawing(text))
    }

    fn write(&self, text: &str) -> io::Result<()> {
        let mut terminal = &self.0;
        terminal.write_all(text.as_bytes())?;
        terminal.flush()
    }
}

impl Drop for Page<'_> {
    fn drop(&mut self) {
        // There is nobody to tell if it cannot be closed.
        let _ = self.0.write(CLOSE);
    }
}

/// What has to be written so that a text stands there and nothing else.
fn drawing(text: &str) -> String {
    let lines: Vec<String> = text
        .lines()
        .map(|line| format!("{line}{REST_OF_LINE}"))
        .collect();
    format!("{HOME}{}{REST_OF_PAGE}", lines.join("\r\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_scrolls_nothing_and_nothing_older_is_left() {
        assert_eq!(drawing("a\nb\n"), "\x1b[Ha\x1b[K\r\nb\x1b[K\x1b[J");
    }
}
