//! The documents name what is there, and nothing that is not.

use super::{read, root, sources};
use crate::tables::first_cells;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

/// The names of the direct dependencies in a Cargo.toml, whichever section they are in.
pub(crate) fn dependencies(manifest: &str) -> BTreeSet<String> {
    let mut inside = false;
    let mut names = BTreeSet::new();
    for line in manifest.lines() {
        if let Some(section) = line.strip_prefix('[') {
            inside = section.trim_end_matches(']').ends_with("dependencies");
        } else if let Some((name, _)) = line.split_once('=').filter(|_| inside) {
            let name = name.trim().split('.').next().unwrap_or_default();
            if !name.starts_with('#') {
                names.insert(name.to_owned());
            }
        }
    }
    names
}

/// The direct dependencies of the workspace, without its own crates.
fn all_dependencies() -> BTreeSet<String> {
    let mut all = dependencies(&read("Cargo.toml"));
    for tool in ["devcluster", "oci"] {
        all.extend(dependencies(&read(&format!("hack/{tool}/Cargo.toml"))));
    }
    all.retain(|name| !name.starts_with("muster-"));
    all
}

/// The first literal after each call of `name(`.
fn first_arguments(text: &str, name: &str) -> BTreeSet<String> {
    let opening = format!("{name}(");
    let calls = text.split(&opening).skip(1);
    let literal = |call: &str| {
        let rest = call.trim_start().strip_prefix('"')?;
        Some(rest.split('"').next()?.to_owned())
    };
    calls.filter_map(literal).collect()
}

/// The words of `=> "..."` arms.
fn arms(text: &str) -> BTreeSet<String> {
    let arms = text.split("=> \"").skip(1);
    arms.filter_map(|arm| arm.split('"').next())
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_dependency_is_explained_and_no_other() {
    let document = read("docs/dependencies.md");
    let mut explained = BTreeSet::new();
    for section in ["In the program", "In tests and tools"] {
        explained.extend(first_cells(&document, section));
    }
    assert_eq!(
        explained,
        all_dependencies(),
        "docs/dependencies.md (left) and the Cargo.toml files"
    );
}

#[test]
fn every_reason_is_explained_and_no_other() {
    let document = read("docs/troubleshooting.md");
    let mut reasons = BTreeSet::new();
    for (_, text) in sources("src/core") {
        reasons.extend(first_arguments(&text, "Why::new"));
    }
    assert!(
        reasons.contains("Unschedulable"),
        "the reasons were not found: {reasons:?}"
    );
    let explained = first_cells(&document, "Why a gang waits");
    assert_eq!(
        explained, reasons,
        "docs/troubleshooting.md (left) and the reasons in src/core"
    );
}

#[test]
fn every_message_about_nodes_is_explained_and_no_other() {
    let document = read("docs/troubleshooting.md");
    let mut words = arms(&read("src/core/framework/reason.rs"));
    words.insert("Insufficient <resource>".to_owned());
    // It is about the pod: the text before the table explains it.
    assert!(words.remove("pod affinity terms conflict"));
    assert!(
        words.contains("Too many pods"),
        "the words were not found: {words:?}"
    );
    let explained = first_cells(&document, "Why a node does not suit");
    assert_eq!(
        explained, words,
        "docs/troubleshooting.md (left) and framework/reason.rs"
    );
}

/// The name of the program that a source below `tests/` is the root of: `tests/a.rs`, `tests/a/main.rs`.
fn program(path: &str) -> Option<&str> {
    let (_, file) = path.rsplit_once("tests/")?;
    let name = file.strip_suffix("/main.rs").or(file.strip_suffix(".rs"))?;
    (!name.contains('/')).then_some(name)
}

#[test]
fn every_test_program_is_run() {
    let script = read("hack/test");
    let words: Vec<&str> = script.split([' ', '\n', '(', ')', ';']).collect();
    let named = words.windows(2).filter(|pair| pair[0] == "--test");
    let named: BTreeSet<&str> = named.map(|pair| pair[1]).collect();
    let files: Vec<_> = ["tests", "hack/devcluster/tests"]
        .into_iter()
        .flat_map(sources)
        .collect();
    let there: BTreeSet<&str> = files.iter().filter_map(|(path, _)| program(path)).collect();
    assert_eq!(named, there, "hack/test (left) and the folders of tests");
}

/// The paths of this repository that a text names.
fn paths(text: &str) -> impl Iterator<Item = &str> {
    const FOLDERS: [&str; 8] = [
        "benches", "crds", "deploy", "examples", "hack", "schemas", "src", "tests",
    ];
    let is_part = |c: char| c.is_ascii_alphanumeric() || "/._-*".contains(c);
    let words = text.split(move |c| !is_part(c));
    let words = words.map(|word| word.trim_end_matches('.'));
    words.filter(|word| {
        let folder = word.split_once('/').map(|(folder, _)| folder);
        folder.is_some_and(|folder| FOLDERS.contains(&folder)) && !word.contains('*')
    })
}

#[test]
fn every_file_that_a_document_names_is_there() {
    let alone = ["README.md", "CONTRIBUTING.md", "tests/scenarios/README.md"];
    let mut documents: Vec<PathBuf> = alone.map(|name| root().join(name)).into();
    for folder in ["docs", "deploy"] {
        let files = fs::read_dir(root().join(folder)).unwrap();
        let files = files.map(|file| file.unwrap().path());
        documents.extend(files.filter(|file| file.extension().is_some_and(|end| end != "svg")));
    }
    let (mut count, mut missing) = (0, Vec::new());
    for document in &documents {
        let text = fs::read_to_string(document).unwrap();
        let named: Vec<&str> = paths(&text).collect();
        count += named.len();
        let not_there = named.into_iter().filter(|path| !root().join(path).exists());
        missing.extend(not_there.map(|path| format!("{}: {path}", document.display())));
    }
    assert!(count > 50, "the paths were not found");
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_are_read_from_every_section() {
        let manifest = "[package]\nname = \"a\"\n[dependencies]\nserde-x = \"1\"\n# no = 1\n\
                        [dev-dependencies]\nb.workspace = true\n\
                        [target.'cfg(unix)'.dependencies]\nc = { version = \"1\" }\n[lints]\nd = 1\n";
        assert_eq!(
            Vec::from_iter(dependencies(manifest)),
            ["b", "c", "serde-x"]
        );
    }

    #[test]
    fn cells_and_literals_are_found() {
        let text = "# T\n\n## One\n| `a` | x |\n| b |\n\n## Two\n| `c` |\n";
        assert_eq!(Vec::from_iter(first_cells(text, "One")), ["a"]);
        let code = "Why::new(\n  \"A\", x) Why::new(\"B\") Why::new(y) other(\"C\")";
        assert_eq!(
            Vec::from_iter(first_arguments(code, "Why::new")),
            ["A", "B"]
        );
        assert_eq!(program("tests/a.rs"), Some("a"));
        assert_eq!(program("hack/x/tests/a/main.rs"), Some("a"));
        assert_eq!(program("tests/a/b.rs"), None);
        let text = "`tests/a.rs`, a/tests/b.rs and tests/c*, in src/d.";
        assert_eq!(Vec::from_iter(paths(text)), ["tests/a.rs", "src/d"]);
        assert_eq!(Vec::from_iter(arms("Self::A => \"a b\",\nB => c")), ["a b"]);
    }
}
