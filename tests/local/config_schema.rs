//! The published JSON schema of the configuration file is the one that the source defines, takes what the program takes,
//! and refuses what it refuses, as far as it says.
//!
//! To regenerate it: `MUSTER_UPDATE=1 cargo test --test local config_schema`.

use muster::config::{SCHEMA_FILE, SchedulerConfiguration, parse, schema};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_published_schema_is_that_of_the_source_and_of_the_command() {
    let path = root().join("schemas").join(SCHEMA_FILE);
    let schema = schema();
    if std::env::var_os("MUSTER_UPDATE").is_some() {
        fs::write(&path, &schema).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == schema,
        "schemas/{SCHEMA_FILE} is out of date; regenerate it: MUSTER_UPDATE=1 cargo test --test local config_schema"
    );
    let output = Command::new(env!("CARGO_BIN_EXE_muster"))
        .args(["config", "schema"])
        .output()
        .unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8(output.stdout).unwrap(), schema);
}

/// What of a value a schema refuses, by path: the keywords that ours has, and no others.
fn refused(root: &Value, schema: &Value, value: &Value, path: &str, out: &mut Vec<String>) {
    let Value::Object(rules) = schema else {
        if schema == &json!(false) {
            out.push(path.to_owned());
        }
        return;
    };
    let before = out.len();
    for (keyword, rule) in rules {
        let fine = match keyword.as_str() {
            "$schema" | "$id" | "title" | "description" | "default" | "definitions" | "format" => {
                true
            }
            "$ref" => {
                let target = rule.as_str().unwrap().trim_start_matches('#');
                refused(root, root.pointer(target).unwrap(), value, path, out);
                true
            }
            "allOf" => {
                let all = rule.as_array().unwrap().iter();
                all.for_each(|one| refused(root, one, value, path, out));
                true
            }
            "anyOf" | "oneOf" => rule.as_array().unwrap().iter().any(|one| {
                let mut inner = Vec::new();
                refused(root, one, value, path, &mut inner);
                inner.is_empty()
            }),
            "type" => is_of(rule, value),
            "enum" => rule.as_array().unwrap().contains(value),
            "const" => rule == value,
            "minimum" => value
                .as_f64()
                .is_none_or(|found| found >= rule.as_f64().unwrap()),
            "maximum" => value
                .as_f64()
                .is_none_or(|found| found <= rule.as_f64().unwrap()),
            "minLength" => length(value).is_none_or(|found| found >= rule.as_u64().unwrap()),
            "maxLength" => length(value).is_none_or(|found| found <= rule.as_u64().unwrap()),
            "pattern" => {
                let pattern = regex::Regex::new(rule.as_str().unwrap()).unwrap();
                value.as_str().is_none_or(|text| pattern.is_match(text))
            }
            "minItems" => {
                items(value).is_none_or(|found| found.len() as u64 >= rule.as_u64().unwrap())
            }
            "uniqueItems" => items(value).is_none_or(|found| {
                let twice = |(index, one)| found[..index].contains(one);
                !found.iter().enumerate().any(twice)
            }),
            "items" => {
                for (index, one) in items(value).into_iter().flatten().enumerate() {
                    refused(root, rule, one, &format!("{path}[{index}]"), out);
                }
                true
            }
            "required" => value.as_object().is_none_or(|fields| {
                let names = rule.as_array().unwrap().iter();
                names
                    .into_iter()
                    .all(|name| fields.contains_key(name.as_str().unwrap()))
            }),
            "properties" | "additionalProperties" => {
                let known = rules.get("properties").and_then(Value::as_object);
                for (name, one) in value.as_object().into_iter().flatten() {
                    let known = known.and_then(|known| known.get(name));
                    let rule = match (keyword.as_str(), known) {
                        ("properties", Some(known)) => known,
                        ("additionalProperties", None) => rule,
                        _ => continue,
                    };
                    refused(root, rule, one, &format!("{path}.{name}"), out);
                }
                true
            }
            other => panic!("this test does not know the keyword {other}"),
        };
        if !fine && out.len() == before {
            out.push(format!("{path} {keyword}"));
        }
    }
}

fn is_of(rule: &Value, value: &Value) -> bool {
    let one = |name: &str| match name {
        "integer" => value.as_f64().is_some_and(|found| found.fract() == 0.0),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "null" => value.is_null(),
        other => panic!("no type: {other}"),
    };
    match rule {
        Value::Array(names) => names.iter().any(|name| one(name.as_str().unwrap())),
        name => one(name.as_str().unwrap()),
    }
}

fn items(value: &Value) -> Option<&Vec<Value>> {
    value.as_array()
}

fn length(value: &Value) -> Option<u64> {
    value.as_str().map(|text| text.chars().count() as u64)
}

/// What the schema refuses of a file.
fn wrong(text: &str) -> Vec<String> {
    let schema: Value = serde_json::from_str(&schema()).unwrap();
    let value: Value = serde_saphyr::from_str(text).unwrap();
    let mut out = Vec::new();
    refused(&schema, &schema, &value, "", &mut out);
    out
}

const HEAD: &str = "apiVersion: config.muster.dev/v1alpha1\nkind: SchedulerConfiguration\n";

/// All configuration files in a text: of documents and of scenarios.
fn configurations(text: &str) -> Vec<String> {
    let starts = text.match_indices(HEAD).map(|(start, _)| start);
    let ends = |start: usize| {
        let rest = &text[start..];
        let end = ["\n---", "\n```", "\nEOF"];
        let end = end.iter().filter_map(|mark| rest.find(mark)).min();
        rest[..end.unwrap_or(rest.len())].to_owned()
    };
    starts.map(ends).collect()
}

#[test]
fn what_the_program_takes_the_schema_takes() {
    let mut found = vec![serde_saphyr::to_string(&SchedulerConfiguration::default()).unwrap()];
    found.push(format!("{HEAD}{}", crate::config_file::PROFILES));
    found.push(format!("{HEAD}{}", crate::config_file::OUTSIDE));
    for folder in ["docs", "docs/migrate", "tests/scenarios"] {
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                found.extend(configurations(&fs::read_to_string(path).unwrap()));
            }
        }
    }
    let taken: Vec<&String> = found.iter().filter(|one| parse("f", one).is_ok()).collect();
    assert!(taken.len() > 8, "{found:?}");
    for text in taken {
        assert_eq!(wrong(text), [""; 0], "{text}");
    }
}

#[test]
fn what_the_schema_refuses_the_program_refuses() {
    for (field, place) in [
        ("bindConcurency: 8", ".bindConcurency"),
        ("bindConcurrency: 0", ".bindConcurrency minimum"),
        ("bindConcurrency: 513", ".bindConcurrency maximum"),
        ("bindConcurrency: lots", ".bindConcurrency type"),
        ("sweepInterval: 2d", ".sweepInterval pattern"),
        ("listen: loopback", ".listen pattern"),
        ("schedulerNames: []", ".schedulerNames minItems"),
        ("schedulerNames: [a, a]", ".schedulerNames uniqueItems"),
        ("usage: Heavy", ".usage"),
        ("usageWeights: {cpu: -1}", ".usageWeights.cpu minimum"),
        ("ghostNamespace: No_Name", ".ghostNamespace pattern"),
        ("profile: {filter: [NodePort]}", ".profile.filter[0] enum"),
        (
            "profile: {score: [{name: Packing, weight: 101}]}",
            ".profile.score[0].weight maximum",
        ),
        (
            "remotePlugins: [{name: a, url: 'ftp://h', points: [Filter]}]",
            ".remotePlugins[0].url pattern",
        ),
        (
            "leaderElection: {enabled: sometimes}",
            ".leaderElection.enabled type",
        ),
    ] {
        let text = format!("{HEAD}{field}\n");
        let found = wrong(&text);
        assert!(
            found.len() == 1 && found[0].starts_with(place),
            "{field}: {found:?}"
        );
        assert!(parse("f", &text).is_err(), "{field}");
    }
    assert_eq!(wrong("kind: SchedulerConfiguration\n"), [" required"]);
}
