//! Files that commands read as a whole; `-` is standard input.

use muster_api::{snapshot, yaml};
use muster_sim::scenario::Source;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The text of a file, which may be compressed, or why it cannot be read.
///
/// # Errors
/// One line that names the file.
pub(super) fn text(file: &Path) -> Result<String, String> {
    let name = file.display();
    let mut bytes = bytes(file)?;
    if snapshot::is_compressed(&bytes) {
        bytes = snapshot::decompressed(&bytes).map_err(|error| format!("{name}: {error}"))?;
    }
    yaml::text(bytes).map_err(|wrong| format!("{name}:{wrong}"))
}

/// What is in files that are played.
///
/// # Errors
/// One line that names the file which cannot be read.
pub(super) fn sources(files: &[PathBuf]) -> anyhow::Result<Vec<Source>> {
    let source = |file: &PathBuf| {
        let text = text(file).map_err(anyhow::Error::msg)?;
        let name = file.display().to_string();
        Ok(Source { name, text })
    };
    files.iter().map(source).collect()
}

fn bytes(file: &Path) -> Result<Vec<u8>, String> {
    let read = if file == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        std::fs::read(file)
    };
    read.map_err(|error| format!("cannot read {}: {error}", file.display()))
}
