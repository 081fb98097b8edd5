//! The watched kinds as they are written down: the rights in `deploy/` and the table in the
//! document are those of the table in `src/api/kinds`.

use super::read;
use crate::tables::rows;
use muster::api::kinds::{self, Kind, Row, Visitor, Watchable};
use muster::cluster::access::rights;
use serde_json::Value;
use std::collections::BTreeSet;

/// The rows that the document should have.
#[derive(Default)]
struct Documented(Vec<String>);

impl Visitor for Documented {
    fn visit<R: Row>(&mut self) {
        let (version, kind) = (R::api_version(&()), R::kind(&()));
        let needed = if R::KIND.is_optional() { "no" } else { "yes" };
        let encoding = match R::Watched::PROTOBUF {
            Some(_) => "protobuf",
            None => "JSON",
        };
        let name = R::KIND.name();
        let row = format!("| `{name}` | `{version}` {kind} | {needed} | {encoding} |");
        self.0.push(row);
    }
}

#[test]
fn every_watched_kind_is_in_the_document_and_no_other() {
    let document = read("docs/configuration.md");
    let mut wanted = Documented::default();
    kinds::visit(&mut wanted);
    let found: Vec<&str> = rows(&document, "What is watched").collect();
    assert_eq!(
        found, wanted.0,
        "docs/configuration.md (left) and the table in src/api/kinds"
    );
}

/// The texts of a list.
fn texts(list: &Value) -> Vec<&str> {
    let items = list.as_array().into_iter().flatten();
    items.filter_map(Value::as_str).collect()
}

/// The rules of the ClusterRoles in some manifests.
fn rules(manifests: &str) -> Vec<Value> {
    let parsed = |manifest| serde_saphyr::from_str::<Value>(manifest).unwrap();
    let all = manifests.split("\n---\n").map(parsed);
    let roles = all.filter(|manifest| manifest["kind"] == "ClusterRole");
    let rules = roles.flat_map(|role| role["rules"].as_array().unwrap().clone());
    rules.collect()
}

/// What the cluster's role may list or watch, as `kubectl` names it.
fn listed(manifests: &str) -> Vec<String> {
    let mut found = Vec::new();
    for rule in rules(manifests) {
        let verbs = texts(&rule["verbs"]);
        if !verbs.contains(&"list") && !verbs.contains(&"watch") {
            continue;
        }
        assert_eq!(verbs, ["list", "watch"], "{rule}");
        for group in texts(&rule["apiGroups"]) {
            let resources = texts(&rule["resources"]).into_iter();
            let names = resources.map(|resource| format!("{resource}.{group}"));
            found.extend(names.map(|name| name.trim_end_matches('.').to_owned()));
        }
    }
    found.sort();
    found
}

#[test]
fn what_may_be_listed_and_watched_is_what_is_watched() {
    let mut wanted = Kind::ALL.map(Kind::name);
    wanted.sort_unstable();
    assert_eq!(
        listed(&read("deploy/02-rbac.yaml")),
        wanted,
        "deploy/02-rbac.yaml (left) and the table in src/api/kinds"
    );
}

#[test]
fn a_dry_run_may_list_and_watch_the_same_and_do_nothing_else() {
    let manifests = read("deploy/dry-run/rights.yaml");
    assert_eq!(listed(&manifests), listed(&read("deploy/02-rbac.yaml")));
    assert_eq!(others(&manifests), BTreeSet::new());
}

/// The rights of the ClusterRole in a manifest that are no list and no watch.
fn others(manifests: &str) -> BTreeSet<(String, String, String)> {
    let mut found = BTreeSet::new();
    for rule in rules(manifests) {
        for verb in texts(&rule["verbs"]) {
            for group in texts(&rule["apiGroups"]) {
                for resource in texts(&rule["resources"]) {
                    found.insert((verb.to_owned(), group.to_owned(), resource.to_owned()));
                }
            }
        }
    }
    found.retain(|(verb, ..)| !matches!(verb.as_str(), "list" | "watch"));
    found
}

#[test]
fn every_right_that_is_no_list_or_watch_is_asked_for_before_it_is_needed() {
    let asked =
        rights().map(|(verb, group, resource)| (verb.to_owned(), group.to_owned(), resource));
    let asked: BTreeSet<_> = asked.collect();
    assert_eq!(
        others(&read("deploy/02-rbac.yaml")),
        asked,
        "deploy/02-rbac.yaml (left) and src/cluster/access.rs"
    );
}

#[test]
fn only_the_rules_that_list_or_watch_count() {
    let manifests = "kind: ClusterRole\nrules:\n\
        - {apiGroups: [''], resources: [pods], verbs: [list, watch]}\n\
        - {apiGroups: [b, a], resources: [x], verbs: [list, watch]}\n\
        - {apiGroups: [c], resources: [x], verbs: [patch]}\n---\n\
        kind: Role\nrules:\n- {apiGroups: [d], resources: [x], verbs: [watch]}\n";
    assert_eq!(listed(manifests), ["pods", "x.a", "x.b"]);
}
