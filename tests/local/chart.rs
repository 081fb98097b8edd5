//! What of the Helm chart and of the base for kustomize can be known without Helm: that they are of the same manifests as
//! `crds/` and `deploy/`, and that alerts and dashboard ask for what there is. `tests/live/chart.rs` renders it.
//!
//! To write the chart's copies anew: `MUSTER_UPDATE=1 cargo test --test local chart`.

use muster::cluster::Metrics;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const CHART: &str = "deploy/helm/muster";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_default()
}

/// The YAML files of a folder, by path from the root.
fn manifests(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(root().join(folder)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let names = names.filter(|name| name.ends_with(".yaml"));
    let mut found: Vec<String> = names.map(|name| format!("{folder}/{name}")).collect();
    found.sort();
    found
}

#[test]
fn the_chart_has_the_manifests_of_crds_and_deploy() {
    let mut wanted = BTreeMap::new();
    for source in manifests("crds") {
        wanted.insert(format!("{CHART}/files/{source}"), source);
    }
    // Helm makes the namespace of a release.
    let deploy = manifests("deploy").into_iter();
    for source in deploy.filter(|source| source != "deploy/01-namespace.yaml") {
        wanted.insert(
            source.replacen("deploy", &format!("{CHART}/files"), 1),
            source,
        );
    }
    let folders = ["deploy/queue-jobs", "deploy/dry-run", "deploy/admission"];
    for source in folders.into_iter().flat_map(manifests) {
        wanted.insert(
            source.replacen("deploy", &format!("{CHART}/files"), 1),
            source,
        );
    }
    let update = std::env::var_os("MUSTER_UPDATE").is_some();
    for (copy, source) in &wanted {
        if update {
            fs::write(root().join(copy), read(source)).unwrap();
        }
        assert!(
            read(copy) == read(source),
            "{copy} is not {source}; copy it: MUSTER_UPDATE=1 cargo test --test local chart"
        );
    }
    let mut found = manifests(&format!("{CHART}/files"));
    found.retain(|file| !file.ends_with("/alerts.yaml"));
    found.extend(manifests(&format!("{CHART}/files/crds")));
    found.extend(manifests(&format!("{CHART}/files/queue-jobs")));
    found.extend(manifests(&format!("{CHART}/files/dry-run")));
    found.extend(manifests(&format!("{CHART}/files/admission")));
    let found: BTreeSet<String> = found.into_iter().collect();
    assert_eq!(found, wanted.into_keys().collect(), "no other files");
}

#[test]
fn the_chart_has_the_version_of_the_program() {
    let chart: Value = serde_saphyr::from_str(&read(&format!("{CHART}/Chart.yaml"))).unwrap();
    assert_eq!(chart["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(chart["appVersion"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn the_base_for_kustomize_has_what_is_in_crds_and_deploy() {
    let base: Value = serde_saphyr::from_str(&read("kustomization.yaml")).unwrap();
    let wanted = [manifests("crds"), manifests("deploy")].concat();
    assert_eq!(base["resources"], serde_json::to_value(wanted).unwrap());
}

#[test]
fn the_alerts_are_those_of_the_document() {
    let document = read("docs/metrics.md");
    let section = document.split("\n## What to alert on").nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    // What is alerted on, its expression, for how long, and what to do.
    let row = |line: &str| {
        let cells = line.replace("\\|", "\u{0}");
        let cells: Vec<String> = cells
            .split('|')
            .map(|cell| cell.replace('\u{0}', "|"))
            .collect();
        let mut code = cells[2].split('`');
        let expression = code.nth(1).unwrap().to_owned();
        let wait = code.next().unwrap().trim();
        let wait = wait
            .strip_prefix("for ")
            .and_then(|rest| rest.strip_suffix(" min"));
        let what_to_do = cells[3].trim().replace('`', "");
        (
            cells[1].trim().to_owned(),
            expression,
            wait.map(|wait| format!("{wait}m")),
            what_to_do,
        )
    };
    let rows = section
        .lines()
        .filter(|line| line.starts_with("| ") && line.contains('`'));
    let wanted: Vec<_> = rows.map(row).collect();
    assert!(wanted.len() > 5, "the alerts were not found");
    let alerts: Value =
        serde_saphyr::from_str(&read(&format!("{CHART}/files/alerts.yaml"))).unwrap();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let rule = |rule: &Value| {
        let notes = &rule["annotations"];
        (
            text(&notes["summary"]).unwrap(),
            text(&rule["expr"]).unwrap(),
            text(&rule["for"]),
            text(&notes["description"]).unwrap(),
        )
    };
    let rules = alerts["groups"][0]["rules"].as_array().unwrap();
    let found: Vec<_> = rules.iter().map(rule).collect();
    assert_eq!(
        found, wanted,
        "{CHART}/files/alerts.yaml (left) and docs/metrics.md"
    );
    let names: BTreeSet<_> = rules
        .iter()
        .map(|rule| rule["alert"].as_str().unwrap())
        .collect();
    assert_eq!(names.len(), rules.len(), "a name twice: {names:?}");
}

/// The metrics in an expression, as they are called in `# TYPE` lines, and the labels by which it sums.
fn asked(expression: &str) -> BTreeSet<&str> {
    let words = expression.split(|c: char| !c.is_alphanumeric() && c != '_');
    let ours = words.filter(|word| word.starts_with("muster_") || word.starts_with("process_"));
    ours.map(|word| word.strip_suffix("_bucket").unwrap_or(word))
        .collect()
}

#[test]
fn every_query_of_the_dashboard_asks_for_a_metric_that_there_is() {
    let metrics = Metrics::new().unwrap();
    let text = metrics.text().unwrap();
    let names = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let mut known: BTreeSet<&str> = names.filter_map(|rest| rest.split(' ').next()).collect();
    if !cfg!(target_os = "linux") {
        known.insert("process_resident_memory_bytes");
    }
    let dashboard = read(&format!("{CHART}/files/dashboard.json"));
    let dashboard: Value = serde_json::from_str(&dashboard).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    assert!(!panels.is_empty());
    for panel in panels {
        for target in panel["targets"].as_array().unwrap() {
            let expression = target["expr"].as_str().unwrap();
            let asked = asked(expression);
            assert!(
                !asked.is_empty(),
                "{expression}: asks for no metric of Muster"
            );
            for metric in asked {
                assert!(known.contains(metric), "{expression}: there is no {metric}");
            }
            // What a legend names is a label of one of them.
            let legend = target["legendFormat"].as_str().unwrap();
            for label in legend
                .split("{{")
                .skip(1)
                .filter_map(|rest| rest.split("}}").next())
            {
                assert!(
                    label == "instance" || text.contains(&format!("{label}=\"")),
                    "{legend}: there is no label {label}"
                );
            }
        }
    }
}

#[test]
fn a_metric_is_found_in_an_expression() {
    let found = asked(
        "histogram_quantile(0.9, sum by (le) (rate(muster_a_seconds_bucket[5m]))) and muster_b",
    );
    assert_eq!(Vec::from_iter(found), ["muster_a_seconds", "muster_b"]);
}
