//! Who may use whom. Modules lower in the tables may use those above them, never the other way.

use super::source::{Mention, mentions};
use super::{documents, sources};
use std::collections::{BTreeMap, BTreeSet};

/// The modules of the crate; those on one line may not use each other.
const LAYERS: [&[&str]; 7] = [
    &["core"],
    &["api"],
    &["config"],
    &["cluster"],
    &["live", "sim", "controllers", "serve"],
    &["bench"],
    &["cli"],
];

/// The modules of the core. Those on one line may use each other, as long as there is no circle.
const CORE_LAYERS: [&[&str]; 10] = [
    &["units"],
    &["resources"],
    &["model"],
    &["state"],
    &["framework"],
    &["transaction"],
    &["plugins", "fairness", "placement"],
    &["actions"],
    &["engine"],
    &["lint"],
];

/// Outside crates that the core may use: those that do no I/O and draw no lots. `thiserror` only
/// derives.
const CORE_CRATES: [&str; 4] = ["std", "indexmap", "petgraph", "thiserror"];

/// One arrow: a file, the place in it, and what it uses.
struct Arrow<'a> {
    file: &'a str,
    from: &'a [String],
    mention: &'a Mention,
}

impl Arrow<'_> {
    fn wrong(&self, why: &str) -> Option<String> {
        let (file, line, path) = (self.file, self.mention.line, self.mention.path.join("::"));
        Some(format!("{file}:{line}: {path}: {why}"))
    }

    /// What is wrong with it.
    fn problem(&self, children: &BTreeSet<String>) -> Option<String> {
        let to = &self.mention.path;
        let in_core = self.from.get(1).is_some_and(|one| one == "core");
        if to.first().is_none_or(|first| first != "crate") {
            return if in_core {
                self.outside_problem(children)
            } else {
                None
            };
        }
        let (Some(from), Some(to)) = (self.from.get(1), to.get(1)) else {
            return None;
        };
        if from != to {
            let (Some(low), Some(high)) = (rank(&LAYERS, to), rank(&LAYERS, from)) else {
                return self
                    .wrong("a module that tests/local/architecture/arrows.rs has no layer for");
            };
            return if low < high {
                None
            } else {
                self.wrong(&format!("{from} may not use {to}"))
            };
        }
        if from != "core" {
            return None;
        }
        let (Some(from), Some(to)) = (self.from.get(2), self.mention.path.get(2)) else {
            return None;
        };
        let (Some(low), Some(high)) = (rank(&CORE_LAYERS, to), rank(&CORE_LAYERS, from)) else {
            return self.wrong("a module that tests/local/architecture/arrows.rs has no layer for");
        };
        if low <= high {
            None
        } else {
            self.wrong(&format!("core::{from} may not use core::{to}"))
        }
    }

    /// What the core uses of outside: a few crates, and in its tests what tests need.
    fn outside_problem(&self, children: &BTreeSet<String>) -> Option<String> {
        let first = self.mention.path.first()?;
        let local = children.contains(first) || first.starts_with(char::is_uppercase);
        let in_tests = self.mention.in_tests || self.file.ends_with("/tests.rs");
        if local || in_tests || CORE_CRATES.contains(&first.as_str()) {
            return None;
        }
        self.wrong(
            "the core uses nothing outside of itself but std, indexmap, petgraph and thiserror",
        )
    }
}

fn rank(layers: &[&[&str]], module: &str) -> Option<usize> {
    layers.iter().position(|layer| layer.contains(&module))
}

/// `src/core/state/mod.rs` is `crate::core::state`.
fn module_of(file: &str) -> Vec<String> {
    let path = file.trim_start_matches("src/").trim_end_matches(".rs");
    let path = path.trim_end_matches("/mod");
    let path = if path == "lib" { "" } else { path };
    let parts = path.split('/').filter(|part| !part.is_empty());
    std::iter::once("crate")
        .chain(parts)
        .map(str::to_owned)
        .collect()
}

/// The modules that a file declares: their names may begin its paths.
fn children(text: &str) -> BTreeSet<String> {
    let declared = text.lines().filter_map(|line| {
        let rest = line.trim_start().split_once("mod ")?.1;
        rest.split([';', ' ']).next()
    });
    declared.map(str::to_owned).collect()
}

/// What is wrong with the arrows of these sources; and who in the core uses whom.
fn check(
    sources: &[(String, String)],
    crates: &[String],
) -> (Vec<String>, BTreeMap<String, BTreeSet<String>>) {
    let mut problems = Vec::new();
    let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (file, text) in sources {
        let from = module_of(file);
        let path: Vec<&str> = from.iter().map(String::as_str).collect();
        let children = children(text);
        for mention in mentions(text, &path, crates) {
            let arrow = Arrow {
                file,
                from: &from,
                mention: &mention,
            };
            problems.extend(arrow.problem(&children));
            if let ([_, core, user, ..], [_, same, used, ..]) =
                (path.as_slice(), mention.path.as_slice())
                && (*core, same.as_str()) == ("core", "core")
                && *user != used.as_str()
            {
                uses.entry((*user).to_owned())
                    .or_default()
                    .insert(used.clone());
            }
        }
    }
    (problems, uses)
}

/// A module that uses itself by way of others, if there is one.
fn circle(uses: &BTreeMap<String, BTreeSet<String>>) -> Option<String> {
    let reaches_itself = |start: &&String| {
        let mut seen = BTreeSet::new();
        let mut open = vec![*start];
        while let Some(next) = open.pop() {
            for used in uses.get(next).into_iter().flatten() {
                if used == *start {
                    return true;
                }
                if seen.insert(used) {
                    open.push(used);
                }
            }
        }
        false
    };
    uses.keys().find(reaches_itself).cloned()
}

#[test]
fn arrows_go_one_way() {
    let sources = sources("src");
    let (problems, uses) = check(&sources, &documents::crate_names());
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert_eq!(circle(&uses), None, "a circle in the core: {uses:?}");
    let engine = uses.get("engine").map_or(0, BTreeSet::len);
    assert!(
        engine >= 4,
        "the arrows of the core were not read: {uses:?}"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(file: &str, text: &str) -> Vec<String> {
        let source = (file.to_owned(), text.to_owned());
        check(&[source], &["serde_json".to_owned(), "kube".to_owned()]).0
    }

    #[test]
    fn wrong_arrows_are_found() {
        let wrong = [
            ("src/api/a.rs", "use crate::live::X;"),
            ("src/cluster/mod.rs", "fn f() { crate::cli::g() }"),
            ("src/live/a.rs", "use crate::sim::X;"),
            ("src/core/a.rs", "use crate::api::X;"),
            ("src/core/state/a.rs", "use crate::core::engine::X;"),
            ("src/core/state/mod.rs", "use super::actions::X;"),
            ("src/core/units/mod.rs", "fn f(x: super::model::X) {}"),
            (
                "src/core/framework/a.rs",
                "mod tests { use super::super::super::engine::X; }",
            ),
            ("src/core/state/a.rs", "use serde::Deserialize;"),
            ("src/core/state/a.rs", "fn f() { serde_json::json!(1) }"),
            ("src/core/state/a.rs", "use std::fmt;\nuse kube::Client;"),
            ("src/elsewhere/a.rs", "use crate::core::X;"),
            ("src/core/elsewhere/a.rs", "use crate::core::state::X;"),
        ];
        for (file, text) in wrong {
            assert_eq!(problems(file, text).len(), 1, "{file}: {text}");
        }
    }

    #[test]
    fn right_arrows_are_let_be() {
        let right = [
            (
                "src/live/a.rs",
                "use crate::{cluster::X, config::Y, core::engine::Z, api::W};",
            ),
            (
                "src/cli/run.rs",
                "use crate::{live, sim, serve}; use anyhow::Context;",
            ),
            (
                "src/core/engine/mod.rs",
                "mod plan; use plan::X; use crate::core::state::Y;",
            ),
            (
                "src/core/placement/a.rs",
                "use crate::core::plugins::Weights; use std::fmt;",
            ),
            (
                "src/core/state/mod.rs",
                "use indexmap::IndexMap; mod tests { use proptest::X; }",
            ),
            (
                "src/core/model/a.rs",
                "use super::PodKey; mod tests { use super::*; }",
            ),
            ("src/lib.rs", "pub mod core;"),
        ];
        for (file, text) in right {
            assert_eq!(problems(file, text), [""; 0], "{file}: {text}");
        }
    }

    #[test]
    fn a_circle_within_a_layer_is_found() {
        let source = |file: &str, text: &str| (file.to_owned(), text.to_owned());
        let there = source("src/core/placement/a.rs", "use crate::core::plugins::X;");
        let back = source("src/core/plugins/a.rs", "use crate::core::fairness::X;");
        let round = source("src/core/fairness/a.rs", "use crate::core::placement::X;");
        assert_eq!(circle(&check(&[there.clone(), back.clone()], &[]).1), None);
        assert!(circle(&check(&[there, back, round], &[]).1).is_some());
    }
}
