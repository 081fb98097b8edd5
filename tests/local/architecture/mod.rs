//! The shape of the program, held by tests: who may use whom, how long a file may be, and that the
//! documents and manifests name what is there. See docs/architecture.md.

mod arrows;
mod documents;
mod kinds;
mod logs;
mod source;

use std::fs;
use std::path::{Path, PathBuf};

/// A file of this length has two subjects.
const MAX_LINES: usize = 800;
/// A file of this length is worth a look.
const MANY_LINES: usize = 500;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The Rust sources below a folder: path from the root, and text.
fn sources(folder: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let name = path.strip_prefix(root()).unwrap_or(Path::new("?"));
                let text = fs::read_to_string(&path).unwrap();
                found.push((name.to_string_lossy().into_owned(), text));
            }
        }
    }
    found.sort();
    found
}

fn all_sources() -> Vec<(String, String)> {
    ["src", "tests", "benches", "hack"]
        .into_iter()
        .flat_map(sources)
        .collect()
}

/// What is wrong with the form of a file.
fn problems_of_form(name: &str, text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let lines = text.lines().count();
    if lines > MAX_LINES {
        problems.push(format!(
            "{name} has {lines} lines, more than {MAX_LINES}: it has two subjects"
        ));
    }
    if !text.starts_with("//! ") {
        problems.push(format!("{name} does not begin with //! and what it is for"));
    }
    problems
}

#[test]
fn every_file_says_what_it_is_for_and_has_one_subject() {
    let files = all_sources();
    assert!(files.len() > 50, "the sources were not found");
    for (name, text) in &files {
        let lines = text.lines().count();
        if lines > MANY_LINES {
            println!("{name} has {lines} lines");
        }
    }
    let problems: Vec<String> = files
        .iter()
        .flat_map(|(name, text)| problems_of_form(name, text))
        .collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn a_file_without_a_head_or_too_long_is_found() {
    assert_eq!(problems_of_form("a.rs", "//! A.\n").len(), 0);
    assert_eq!(problems_of_form("a.rs", "// A.\n").len(), 1);
    assert_eq!(problems_of_form("a.rs", "").len(), 1);
    let long = format!("//! A.\n{}", "\n".repeat(MAX_LINES));
    assert_eq!(problems_of_form("a.rs", &long).len(), 1);
}
