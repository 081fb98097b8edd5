//! Writes a file as a whole or not at all: who reads it never meets half of it.

use anyhow::{Context, bail};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Whether a file can be where it is asked for, as far as that can be known before it is made; it
/// must be none of those that are read.
///
/// # Errors
/// What is wrong with the path.
pub(super) fn check(file: &Path, inputs: &[PathBuf]) -> anyhow::Result<()> {
    let name = file.display();
    if file.is_dir() {
        bail!("cannot write {name}: it is a directory");
    }
    let folder = folder(file);
    if !folder.is_dir() {
        bail!(
            "cannot write {name}: there is no directory {}",
            folder.display()
        );
    }
    let same = |input: &PathBuf| match (input.canonicalize(), file.canonicalize()) {
        (Ok(input), Ok(file)) => input == file,
        _ => false,
    };
    if inputs.iter().any(same) {
        bail!("cannot write {name}: it is read as a scenario");
    }
    Ok(())
}

/// Writes a file, in the place of one that is there.
///
/// # Errors
/// If it cannot be written; then what was there is there still.
pub(super) fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    write_bytes(file, text.as_bytes())
}

/// The same of bytes.
///
/// # Errors
/// If it cannot be written; then what was there is there still.
pub(super) fn write_bytes(file: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    try_write(file, bytes).with_context(|| format!("cannot write {}", file.display()))
}

fn try_write(file: &Path, bytes: &[u8]) -> io::Result<()> {
    // A link stays one: what it leads to is replaced. A pipe or a terminal is written to.
    let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    if fs::metadata(&file).is_ok_and(|found| !found.is_file()) {
        return fs::write(&file, bytes);
    }
    let mut name = OsString::from(".");
    name.push(file.file_name().unwrap_or_default());
    name.push(format!(".{}.part", std::process::id()));
    let part = folder(&file).join(name);
    let written = fill(&part, bytes).and_then(|()| fs::rename(&part, &file));
    if written.is_err() {
        // What went wrong is said; that this may fail as well adds nothing.
        let _ = fs::remove_file(&part);
    }
    written
}

fn fill(part: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(part)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// The directory that a file is in.
fn folder(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<OsString> {
        let entries = fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name()).collect()
    }

    #[test]
    fn a_file_is_replaced_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("day.html");
        for text in ["one", "two"] {
            write(&file, text).unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), text);
            assert_eq!(names(folder.path()), ["day.html"]);
        }
    }

    #[test]
    fn what_cannot_be_written_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        // It may be written to, but not replaced by a file.
        let file = folder.path().join("none").join("day.html");
        assert!(write(&file, "text").is_err());
        assert_eq!(names(folder.path()), Vec::<OsString>::new());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("a"), folder.path().join("b"));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write(&link, "new").unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
    }

    #[test]
    fn a_path_that_cannot_be_is_refused_beforehand() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("day.yaml"), "").unwrap();
        let said = |file: PathBuf| {
            let inputs = [PathBuf::from("-"), path("day.yaml")];
            check(&file, &inputs).map_err(|error| error.to_string())
        };
        assert_eq!(said(path("day.html")), Ok(()));
        assert_eq!(said(PathBuf::from("day.html")), Ok(()));
        for (file, words) in [
            (folder.path().to_owned(), "it is a directory"),
            (path("none/day.html"), "there is no directory"),
            (path("day.yaml"), "it is read as a scenario"),
        ] {
            assert!(said(file).unwrap_err().contains(words), "{words}");
        }
    }
}
