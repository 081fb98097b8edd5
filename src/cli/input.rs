//! Files that commands read as a whole; `-` is standard input.

use muster_api::yaml;
use std::io::Read;
use std::path::Path;

/// The text of a file, or why it cannot be read.
///
/// # Errors
/// One line that names the file.
pub(super) fn text(file: &Path) -> Result<String, String> {
    let name = file.display();
    yaml::text(bytes(file)?).map_err(|wrong| format!("{name}:{wrong}"))
}

/// What is in a file, or why it cannot be read.
///
/// # Errors
/// One line that names the file.
pub(super) fn bytes(file: &Path) -> Result<Vec<u8>, String> {
    let read = if file == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        std::fs::read(file)
    };
    read.map_err(|error| format!("cannot read {}: {error}", file.display()))
}
