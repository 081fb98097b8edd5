//! What the program is made of, from Cargo itself: the crates that are linked into it, and no others. As a bill of materials
//! (CycloneDX), and as the text of their licences, which go with the program.

use crate::layout::About;
use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A crate.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Part {
    name: String,
    version: String,
    /// As SPDX has it.
    licence: Option<String>,
    /// Whether it is of the registry, and not ours.
    foreign: bool,
    /// The sum of its archive.
    sum: Option<String>,
    /// Where its source is.
    folder: PathBuf,
    /// What it is made of itself, by name and version.
    needs: BTreeSet<(String, String)>,
}

/// The crates of the program for a target, by name and version; the program itself is `muster`.
pub(crate) fn of(workspace: &Path, target: &str) -> anyhow::Result<Vec<Part>> {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args([
            "metadata",
            "--format-version=1",
            "--locked",
            "--filter-platform",
            target,
        ])
        .current_dir(workspace)
        .output()
        .context("cargo metadata")?;
    if !output.status.success() {
        bail!(
            "cargo metadata: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let metadata = serde_json::from_slice(&output.stdout).context("cargo metadata")?;
    let lock = workspace.join("Cargo.lock");
    let lock = fs::read_to_string(&lock).with_context(|| lock.display().to_string())?;
    linked(&metadata, &sums(&lock))
}

/// What is linked into `muster`: its dependencies and theirs, but those of builds and tests.
fn linked(
    metadata: &Value,
    sums: &BTreeMap<(String, String), String>,
) -> anyhow::Result<Vec<Part>> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let packages: BTreeMap<String, Value> = list(&metadata["packages"])
        .into_iter()
        .map(|package| (text(&package["id"]), package))
        .collect();
    let nodes: BTreeMap<String, Value> = list(&metadata["resolve"]["nodes"])
        .into_iter()
        .map(|node| (text(&node["id"]), node))
        .collect();
    let key = |id: &str| {
        let package = &packages[id];
        (text(&package["name"]), text(&package["version"]))
    };
    let root = packages
        .iter()
        .find(|(_, package)| package["name"] == "muster" && package["source"].is_null());
    let (root, _) = root.context("there is no crate muster")?;
    let mut found: BTreeMap<(String, String), Part> = BTreeMap::new();
    let mut open = vec![root.clone()];
    while let Some(id) = open.pop() {
        let package = &packages[&id];
        if found.contains_key(&key(&id)) {
            continue;
        }
        let normal = |one: &Value| {
            list(&one["dep_kinds"])
                .iter()
                .any(|kind| kind["kind"].is_null())
        };
        let needs: Vec<String> = list(&nodes[&id]["deps"])
            .iter()
            .filter(|one| normal(one))
            .map(|one| text(&one["pkg"]))
            // What runs in the compiler is not in the program.
            .filter(|id| !is_macro(&packages[id]))
            .collect();
        let manifest = PathBuf::from(text(&package["manifest_path"]));
        let part = Part {
            name: text(&package["name"]),
            version: text(&package["version"]),
            licence: package["license"]
                .as_str()
                .map(|one| one.replace('/', " OR ")),
            foreign: !package["source"].is_null(),
            sum: sums.get(&key(&id)).cloned(),
            folder: manifest.parent().unwrap_or(Path::new("")).to_owned(),
            needs: needs.iter().map(|id| key(id)).collect(),
        };
        found.insert(key(&id), part);
        open.extend(needs);
    }
    Ok(found.into_values().collect())
}

/// Whether a crate is a procedural macro.
fn is_macro(package: &Value) -> bool {
    let targets = package["targets"].as_array();
    let mut targets = targets.into_iter().flatten();
    targets.any(|target| {
        target["kind"]
            .as_array()
            .is_some_and(|kinds| kinds.contains(&json!("proc-macro")))
    })
}

/// The sums in Cargo.lock, by name and version.
fn sums(lock: &str) -> BTreeMap<(String, String), String> {
    let mut found = BTreeMap::new();
    for package in lock.split("[[package]]") {
        let field = |name: &str| {
            let mut lines = package.lines();
            let line = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(" = \""));
            line.map(|rest| rest.trim_end_matches('"').to_owned())
        };
        if let (Some(name), Some(version), Some(sum)) =
            (field("name"), field("version"), field("checksum"))
        {
            found.insert((name, version), sum);
        }
    }
    found
}

/// The bill of materials of a program of these crates, as CycloneDX 1.6.
pub(crate) fn sbom(parts: &[Part], about: &About) -> Value {
    let address = |name: &str, version: &str| format!("pkg:cargo/{name}@{version}");
    let component = |part: &Part, kind: &str| {
        let address = address(&part.name, &part.version);
        let mut component = json!({
            "type": kind, "bom-ref": address, "name": part.name, "version": part.version, "purl": address,
        });
        if let Some(licence) = &part.licence {
            component["licenses"] = json!([{"expression": licence}]);
        }
        if let Some(sum) = &part.sum {
            component["hashes"] = json!([{"alg": "SHA-256", "content": sum}]);
        }
        component
    };
    let (program, others): (Vec<&Part>, Vec<&Part>) =
        parts.iter().partition(|part| part.name == "muster");
    let mut program = program
        .first()
        .map_or(Value::Null, |part| component(part, "application"));
    program["properties"] = json!([{"name": "revision", "value": about.revision}]);
    let dependencies = parts.iter().map(|part| {
        let needs = part
            .needs
            .iter()
            .map(|(name, version)| address(name, version));
        json!({"ref": address(&part.name, &part.version), "dependsOn": needs.collect::<Vec<_>>()})
    });
    json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"timestamp": about.created.to_string(), "component": program},
        "components": others.into_iter().map(|part| component(part, "library")).collect::<Vec<_>>(),
        "dependencies": dependencies.collect::<Vec<_>>(),
    })
}

/// Our licence and those of all foreign crates, each text once, under the names of those whose it is.
pub(crate) fn licences(workspace: &Path, parts: &[Part]) -> anyhow::Result<String> {
    let own = workspace.join("LICENSE");
    let own = fs::read_to_string(&own).with_context(|| own.display().to_string())?;
    let mut whose: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for part in parts.iter().filter(|part| part.foreign) {
        let name = format!("{} {}", part.name, part.version);
        let texts = texts(&part.folder).with_context(|| name.clone())?;
        ensure!(
            part.licence.is_some() || !texts.is_empty(),
            "{name}: it has no licence"
        );
        let licence = part.licence.as_deref().unwrap_or("as follows");
        if texts.is_empty() {
            // Its archive has no text: what it says of itself is all there is.
            whose
                .entry(String::new())
                .or_default()
                .push(format!("{name}: {licence}"));
        }
        for text in texts {
            whose
                .entry(text)
                .or_default()
                .push(format!("{name}: {licence}"));
        }
    }
    let rule = "=".repeat(80);
    let mut all = format!("Muster\n\n{}\n", own.trim());
    for (text, names) in whose {
        all.push_str(&format!("\n{rule}\n{}\n\n{text}\n", names.join("\n")));
    }
    Ok(all)
}

/// The licences and notices in a folder.
fn texts(folder: &Path) -> anyhow::Result<Vec<String>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().to_uppercase());
        let begins = |start: &&str| name.as_ref().is_some_and(|name| name.starts_with(start));
        if path.is_file()
            && ["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE"]
                .iter()
                .any(begins)
        {
            paths.push(path);
        }
    }
    paths.sort();
    let read = |path: &PathBuf| {
        fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned())
    };
    Ok(paths.iter().map(read).collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Result;

    fn parts() -> Result<Vec<Part>> {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        of(&workspace, "x86_64-unknown-linux-musl")
    }

    #[test]
    fn the_bill_has_what_is_linked_and_nothing_else() -> Result<()> {
        let parts = parts()?;
        let has = |name: &str| parts.iter().any(|part| part.name == name);
        for linked in ["muster", "muster-core", "kube", "ring", "tokio", "libc"] {
            assert!(has(linked), "{linked}");
        }
        // Of tests, of builds, of the compiler, of other systems.
        for other in [
            "proptest",
            "cc",
            "serde_derive",
            "windows-sys",
            "muster-oci",
            "muster-devcluster",
        ] {
            assert!(!has(other), "{other}");
        }
        let foreign = parts.iter().filter(|part| part.foreign);
        for part in foreign {
            assert!(
                part.sum.as_ref().is_some_and(|sum| sum.len() == 64),
                "{part:?}"
            );
            assert!(part.licence.is_some(), "{part:?}");
        }
        let about = About {
            version: "1.2.3".to_owned(),
            revision: "abc".to_owned(),
            created: jiff::Timestamp::UNIX_EPOCH,
        };
        let bill = sbom(&parts, &about);
        assert_eq!(bill["metadata"]["component"]["name"], "muster");
        let components = bill["components"].as_array().map_or(0, Vec::len);
        assert_eq!(components, parts.len() - 1);
        let references: Vec<&Value> = bill["components"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|one| &one["bom-ref"])
            .collect();
        for one in bill["dependencies"].as_array().into_iter().flatten() {
            for needed in one["dependsOn"].as_array().into_iter().flatten() {
                assert!(references.contains(&needed), "{needed}");
            }
        }
        Ok(())
    }

    #[test]
    fn every_foreign_crate_is_named_with_its_licence() -> Result<()> {
        let parts = parts()?;
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let text = licences(&workspace, &parts)?;
        for part in &parts {
            let line = format!("{} {}: ", part.name, part.version);
            assert_eq!(text.contains(&line), part.foreign, "{line}");
        }
        assert!(text.contains("Permission is hereby granted"));
        Ok(())
    }

    #[test]
    fn sums_are_read_by_name_and_version() {
        let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nchecksum = \"0f\"\ndependencies = [\n \"b\",\n]\n\n\
                    [[package]]\nname = \"b\"\nversion = \"2.0.0\"\n";
        let found = sums(lock);
        assert_eq!(found.len(), 1);
        assert_eq!(found[&("a".to_owned(), "1.0.0".to_owned())], "0f");
    }
}
