//! Who may use whom, as far as the compiler does not say it. Which crate may use which is written in
//! their `Cargo.toml`, and Cargo holds it; here is what the core may depend on at all, the order of the
//! modules inside the crates that are large, and that files do not use each other in a circle.

use super::source::mentions;
use super::{documents, read, sources};
use std::collections::{BTreeMap, BTreeSet};

/// What the pure crates may use: nothing that does I/O, waits, or draws lots. `thiserror` and `serde` only
/// derive.
const PURE: [(&str, &[&str]); 5] = [
    ("src/core/model", &["regex", "serde", "thiserror"]),
    ("src/core/exact", &[]),
    ("src/core/lint", &["muster-model"]),
    ("src/shadow", &["muster-model"]),
    (
        "src/core",
        &[
            "fixedbitset",
            "indexmap",
            "muster-exact",
            "muster-model",
            "petgraph",
        ],
    ),
];

/// What of that is a feature, which the core itself does without: what is decided is not written down by
/// who decides it.
const OPTIONAL: [&str; 2] = ["regex", "serde"];

/// The modules of a crate, each line may use those above it. Those on one line may use each other, as
/// long as there is no circle.
type Layers<'a> = &'a [&'a [&'a str]];

const LAYERS: [(&str, Layers<'_>); 2] = [
    (
        "src/core",
        &[
            &["implied"],
            &["state"],
            &["framework"],
            &["transaction"],
            &["plugins", "fairness", "placement"],
            &["actions"],
            &["engine"],
        ],
    ),
    ("src/core/model", &[&["units"], &["resources"]]),
];

/// A source: its crate's folder, the modules from there to it, and its text.
struct Source {
    file: String,
    root: String,
    module: Vec<String>,
    text: String,
}

/// The folders in which a crate begins.
fn crates() -> Vec<String> {
    let manifest = read("Cargo.toml");
    let paths = manifest.split("{ path = \"").skip(1);
    let paths = paths.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned()));
    let root = |path: String| {
        if path.starts_with("src/") {
            path
        } else {
            format!("{path}/src")
        }
    };
    paths.map(root).collect()
}

/// A file as a module: `src/core/state/mod.rs` is `state` of the crate in `src/core`.
fn placed(file: &str, text: &str, crates: &[String]) -> Option<Source> {
    let inside = |root: &&String| file.starts_with(&format!("{root}/"));
    let root = crates.iter().filter(inside).max_by_key(|root| root.len())?;
    let path = file[root.len() + 1..].trim_end_matches(".rs");
    let parts = path
        .split('/')
        .filter(|part| !["mod", "lib"].contains(part));
    let module = std::iter::once("crate").chain(parts).map(str::to_owned);
    Some(Source {
        file: file.to_owned(),
        root: root.clone(),
        module: module.collect(),
        text: text.to_owned(),
    })
}

impl Source {
    /// The paths in the same crate that this one names outside of its tests, each with its line.
    fn uses(&self) -> Vec<(usize, Vec<String>)> {
        let module: Vec<&str> = self.module.iter().map(String::as_str).collect();
        let all = mentions(&self.text, &module).into_iter();
        let own = all.filter(|one| one.path[0] == "crate" && !one.in_tests);
        own.map(|one| (one.line, one.path)).collect()
    }

    fn is_of_tests(&self) -> bool {
        self.module.iter().any(|part| part == "tests")
    }
}

/// What is wrong with the order of the modules of one crate.
fn wrong_layers(source: &Source, layers: Layers<'_>) -> Vec<String> {
    // What stands in no line is above all of them.
    let rank = |module: Option<&String>| {
        let own = |layer: &&[&str]| module.is_some_and(|name| layer.contains(&name.as_str()));
        layers.iter().position(own).unwrap_or(layers.len())
    };
    let from = rank(source.module.get(1));
    if source.module.len() == 1 {
        return Vec::new();
    }
    let wrong = source
        .uses()
        .into_iter()
        .filter(|(_, to)| to.len() > 1 && rank(to.get(1)) > from);
    let told = wrong.map(|(line, to)| {
        format!(
            "{}:{line}: {} may not use {}",
            source.file,
            source.module[1],
            to.join("::")
        )
    });
    told.collect()
}

/// Who uses whom, by file. What a file takes from the module that it is part of is no arrow.
fn arrows(sources: &[Source]) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut files: BTreeMap<(&str, &[String]), &Source> = BTreeMap::new();
    for source in sources {
        files.insert((&source.root, &source.module), source);
    }
    let mut arrows: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for source in sources.iter().filter(|one| !one.is_of_tests()) {
        for (_, path) in source.uses() {
            let mut lengths = (1..=path.len()).rev();
            let found = lengths.find_map(|len| files.get(&(source.root.as_str(), &path[..len])));
            let Some(used) = found else { continue };
            if !source.module.starts_with(&used.module) {
                let uses = arrows.entry(&source.file).or_default();
                uses.insert(&used.file);
            }
        }
    }
    arrows
}

/// The files that use themselves by way of others.
fn in_circles<'a>(arrows: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> Vec<&'a str> {
    let reaches_itself = |start: &&&str| {
        let mut seen = BTreeSet::new();
        let mut open = vec![**start];
        while let Some(next) = open.pop() {
            for used in arrows.get(next).into_iter().flatten() {
                if used == *start {
                    return true;
                }
                if seen.insert(*used) {
                    open.push(used);
                }
            }
        }
        false
    };
    arrows.keys().filter(reaches_itself).copied().collect()
}

fn all() -> Vec<Source> {
    let crates = crates();
    let files = ["src", "hack"].into_iter().flat_map(sources);
    files
        .filter_map(|(file, text)| placed(&file, &text, &crates))
        .collect()
}

#[test]
fn the_core_depends_on_nothing_that_is_not_pure() {
    for (folder, allowed) in PURE {
        let manifest = read(&format!("{folder}/Cargo.toml"));
        let (_, rest) = manifest.split_once("\n[dependencies]\n").unwrap();
        let section = rest.split("\n[").next().unwrap();
        let found = documents::dependencies(&format!("[dependencies]\n{section}"));
        let allowed: BTreeSet<String> = allowed.iter().map(|one| (*one).to_owned()).collect();
        assert_eq!(found, allowed, "{folder}/Cargo.toml (left)");
        for line in section.lines() {
            let name = line.split(['.', ' ']).next().unwrap();
            let optional = line.contains("optional = true");
            assert_eq!(optional, OPTIONAL.contains(&name), "{folder}: {line}");
            let asks = OPTIONAL
                .iter()
                .find(|one| line.contains(&format!("\"{one}\"")));
            assert_eq!(asks, None, "{folder} asks for a feature: {line}");
        }
        assert!(!manifest.contains("\ndefault = "), "{folder}/Cargo.toml");
    }
}

#[test]
fn modules_of_the_core_use_those_below_them() {
    let mut problems = Vec::new();
    let mut count = 0;
    for source in all() {
        let layers = LAYERS.iter().find(|(root, _)| *root == source.root);
        if let Some((_, layers)) = layers.filter(|_| !source.is_of_tests()) {
            count += 1;
            problems.extend(wrong_layers(&source, layers));
        }
    }
    assert!(count > 100, "the sources of the core were not found");
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn files_do_not_use_each_other_in_a_circle() {
    let sources = all();
    let arrows = arrows(&sources);
    assert!(arrows.len() > 100, "the arrows were not read: {arrows:?}");
    let found = in_circles(&arrows);
    assert!(found.is_empty(), "in a circle: {found:#?}");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(file: &str, text: &str) -> Source {
        let crates = ["src/core".to_owned(), "src/core/model".to_owned()];
        placed(file, text, &crates).unwrap()
    }

    #[test]
    fn a_file_belongs_to_the_nearest_crate() {
        let file = source("src/core/model/units/mod.rs", "");
        assert_eq!(
            (&*file.root, file.module.join("::")),
            ("src/core/model", "crate::units".into())
        );
        let file = source("src/core/state/nodes.rs", "");
        assert_eq!(
            (&*file.root, file.module.join("::")),
            ("src/core", "crate::state::nodes".into())
        );
        assert!(crates().contains(&"src/core/lint".to_owned()));
    }

    #[test]
    fn wrong_layers_are_found_and_right_ones_let_be() {
        let layers = LAYERS[0].1;
        let wrong = [
            ("src/core/state/a.rs", "use crate::engine::X;"),
            ("src/core/state/mod.rs", "use super::actions::X;"),
            (
                "src/core/framework/a.rs",
                "fn f(x: super::super::plugins::X) {}",
            ),
        ];
        for (file, text) in wrong {
            assert_eq!(
                wrong_layers(&source(file, text), layers).len(),
                1,
                "{file}: {text}"
            );
        }
        let right = [
            (
                "src/core/engine/mod.rs",
                "mod plan; use plan::X; use crate::state::Y;",
            ),
            (
                "src/core/placement/a.rs",
                "use crate::plugins::Weights; use std::fmt;",
            ),
            ("src/core/state/a.rs", "mod tests { use crate::engine::X; }"),
            ("src/core/lib.rs", "pub mod state;"),
        ];
        for (file, text) in right {
            assert_eq!(
                wrong_layers(&source(file, text), layers),
                [""; 0],
                "{file}: {text}"
            );
        }
        let file = source("src/core/model/units/a.rs", "use crate::pod::X;");
        assert_eq!(wrong_layers(&file, LAYERS[1].1).len(), 1);
    }

    #[test]
    fn circles_of_files_are_found() {
        let there = source("src/core/placement/a.rs", "use crate::plugins::b::X;");
        let back = source("src/core/plugins/b.rs", "use crate::fairness::X;");
        let round = source("src/core/fairness/mod.rs", "use crate::placement::a::X;");
        let child = source(
            "src/core/fairness/c.rs",
            "use super::X; use crate::plugins::b::Y;",
        );
        let open = [there, back, child];
        assert!(in_circles(&arrows(&open)).is_empty());
        let closed: Vec<Source> = open.into_iter().chain([round]).collect();
        assert_eq!(in_circles(&arrows(&closed)).len(), 3);
    }
}
