//! What a snapshot keeps of objects is what is played of them.

use super::super::documents::split;
use super::super::{Choices, Played, Scenario, Source, load, load_by};
use crate::driver::Driver;
use crate::network::Network;
use crate::report::report;
use muster_api::Reading;
use muster_api::snapshot::{Names, Reducer, Writer, decompressed};
use muster_core::engine::Policy;
use muster_model::units::Millis;
use serde_json::Value;
use std::fs;
use std::path::Path;

fn reading() -> Reading {
    Reading {
        scheduler_names: vec!["muster".to_owned(), "volcano".to_owned()],
        ..Reading::default()
    }
}

/// All scenarios of the tests, by name.
fn scenarios() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/scenarios");
    let files = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.collect();
    files.retain(|file| file.extension().is_some_and(|one| one == "yaml"));
    files.sort();
    let read = |file: std::path::PathBuf| {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        (name, fs::read_to_string(file).unwrap())
    };
    let all: Vec<_> = files.into_iter().map(read).collect();
    assert!(all.len() > 100);
    all
}

/// The objects of a scenario, without what it expects.
fn objects(text: &str) -> Vec<Value> {
    let documents = split("-", text).into_iter();
    let values = documents.filter_map(|document| document.value().ok());
    values
        .filter(|value| value["apiVersion"].is_string() && value["kind"].is_string())
        .collect()
}

fn source(text: String) -> Source {
    Source {
        name: "-".to_owned(),
        text,
    }
}

/// Objects as a snapshot has them.
fn snapshot(objects: &[Value]) -> Source {
    let mut writer = Writer::new(Vec::new(), false).unwrap();
    for object in objects {
        writer.object(object).unwrap();
    }
    let (bytes, _) = writer.end("2026-01-31T12:00:00Z").unwrap();
    source(String::from_utf8(decompressed(&bytes).unwrap()).unwrap())
}

fn as_yaml(objects: &[Value]) -> Source {
    let texts = objects
        .iter()
        .map(|one| muster_api::yaml::write(one).unwrap());
    source(texts.collect::<Vec<_>>().join("---\n"))
}

#[test]
fn nothing_is_missing_of_what_is_played() {
    let reducer = Reducer::default();
    let mut compared = 0;
    for (name, text) in scenarios() {
        let mut kept = Vec::new();
        let mut reduced = Vec::new();
        for mut object in objects(&text) {
            let whole = object.clone();
            if reducer.reduce(&mut object).is_ok() {
                kept.push(whole);
                reduced.push(object);
            }
        }
        let (Ok(whole), Ok(less)) = (
            load(&[as_yaml(&kept)], &reading()),
            load(&[snapshot(&reduced)], &reading()),
        ) else {
            continue;
        };
        assert_eq!(whole.entries.len(), less.entries.len(), "{name}");
        let begin = less.begin;
        for (one, other) in whole.entries.iter().zip(&less.entries) {
            assert_eq!(begin + Millis(one.at.0), other.at, "{name}");
            match (&one.object, &other.object) {
                // It is kept as it was written, and less of it was.
                (Played::Whole(one, _), Played::Whole(other, _)) => assert_eq!(one, other),
                (one, other) => assert_eq!(one, other, "{name}"),
            }
            compared += 1;
        }
    }
    assert!(compared > 1_000, "{compared}");
}

fn outcome(scenario: Scenario) -> Vec<(u64, u64, u32)> {
    let mut driver = Driver::new(scenario, Policy::default(), Network::calm(0));
    let end = driver.run(driver.begin() + Millis::from_secs(30), |_| {});
    let report = report(&mut driver, end);
    let millis = |at: f64| (at * 1_000.0).round() as u64;
    let of = |pod: &crate::report::PodReport| {
        let bound = pod.bound_at.map_or(u64::MAX, millis);
        (millis(pod.submitted_at), bound, pod.evictions)
    };
    let mut all: Vec<_> = report.pods.iter().map(of).collect();
    all.sort_unstable();
    all
}

#[test]
fn without_its_names_a_scenario_is_played_as_with_them() {
    let (reducer, mut compared) = (Reducer::default(), 0);
    let mut differ = Vec::new();
    for (name, text) in scenarios() {
        // What a pattern chooses among names it does not choose among others.
        if text.contains("regexMatch") {
            continue;
        }
        let mut named = objects(&text);
        named.retain_mut(|object| reducer.reduce(object).is_ok());
        let mut others = named.clone();
        let mut names = Names::default();
        others.iter_mut().for_each(|object| names.replace(object));
        let load =
            |objects: &[Value]| load_by(&[snapshot(objects)], &[], &reading(), &Choices::default());
        let Ok(with) = load(&named) else { continue };
        let without = match load(&others) {
            Ok(without) => without,
            Err(error) => {
                differ.push(format!("{name}: {error}"));
                continue;
            }
        };
        compared += 1;
        if outcome(with) != outcome(without) {
            differ.push(name);
        }
    }
    assert!(compared > 100, "{compared}");
    assert_eq!(differ, Vec::<String>::new(), "of {compared}");
}
