//! `docs/metrics.md` names every metric with its type and labels, and nothing that is not there.

use muster::cluster::Metrics;
use std::collections::{BTreeMap, BTreeSet};

/// Type and labels by name.
type Described = BTreeMap<String, (String, BTreeSet<String>)>;

/// The texts between backticks.
fn quoted(cell: &str) -> impl Iterator<Item = String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned)
}

/// The rows of the first table of the document.
fn documented(document: &str) -> Described {
    let section = document.split("\n## ").nth(1).unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let name = quoted(cells[1]).next().unwrap();
        (name, (cells[2].to_owned(), quoted(cells[3]).collect()))
    };
    rows.map(row).collect()
}

/// The names of the labels of a sample.
fn labels(sample: &str) -> BTreeSet<String> {
    let inner = sample.split_once('{').map_or("", |(_, rest)| rest);
    let inner = inner.rsplit_once('}').map_or("", |(inner, _)| inner);
    let names = inner.split("\",").filter_map(|one| one.split_once('='));
    let names = names.map(|(name, _)| name.to_owned());
    names
        .filter(|name| !name.is_empty() && name != "le")
        .collect()
}

/// What the text format of the metrics shows.
fn shown(text: &str) -> Described {
    let mut found = Described::new();
    let mut current = String::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            current = name.to_owned();
            found.insert(current.clone(), (kind.to_owned(), BTreeSet::new()));
        } else if !line.starts_with('#') {
            assert!(line.starts_with(&current), "{line} is not of {current}");
            found.get_mut(&current).unwrap().1.extend(labels(line));
        }
    }
    found
}

#[test]
fn every_metric_is_explained_and_no_other() {
    let mut documented = documented(include_str!("../../docs/metrics.md"));
    let metrics = Metrics::new().unwrap();
    metrics.show_plugin("licences");
    muster::external::show(&metrics);
    let shown = shown(&metrics.text().unwrap());
    assert!(shown.contains_key("muster_binds_total"), "{shown:?}");
    if !cfg!(target_os = "linux") {
        documented.retain(|name, _| !name.starts_with("process_"));
    }
    assert_eq!(
        documented, shown,
        "docs/metrics.md (left) and the metrics (right)"
    );
}

#[test]
fn every_metric_that_an_alert_reads_is_there() {
    let document = include_str!("../../docs/metrics.md");
    let known = documented(document);
    let alerts = document.split("\n## ").nth(2).unwrap();
    let words = alerts.split(|c: char| !c.is_alphanumeric() && c != '_');
    let mut count = 0;
    for word in words.filter(|word| word.starts_with("muster_")) {
        let name = word.strip_suffix("_bucket").unwrap_or(word);
        assert!(known.contains_key(name), "{word}");
        count += 1;
    }
    assert!(count > 5, "the alerts were not found");
}

#[test]
fn labels_and_rows_are_found() {
    let found = labels("a_bucket{result=\"x, y=z\",kind=\"k\",le=\"0.5\"} 1");
    assert_eq!(Vec::from_iter(found), ["kind", "result"]);
    assert!(labels("a 1").is_empty());
    let found =
        documented("# T\n\n## One\n| `a` | gauge | `b`, `c` | x |\n| d |\n## Two\n| `e` |\n");
    assert_eq!(found.len(), 1);
    assert_eq!(Vec::from_iter(&found["a"].1), ["b", "c"]);
}

#[test]
fn every_table_is_in_the_list_of_what_is_kept_and_no_other() {
    let document = include_str!("../../docs/reliability.md");
    let sections = document.split("\n## ");
    let mut section = sections.filter(|one| one.starts_with("What is kept, and until when"));
    let section = section.next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let documented: BTreeSet<String> = rows
        .flat_map(|line| quoted(line.split('|').nth(1).unwrap()).collect::<Vec<_>>())
        .collect();
    let text = Metrics::new().unwrap().text().unwrap();
    let shown = text.lines().filter_map(|line| {
        let rest = line.strip_prefix("muster_table_entries{table=\"")?;
        rest.split_once('"').map(|(table, _)| table.to_owned())
    });
    assert_eq!(documented, shown.collect(), "docs/reliability.md (left)");
}
