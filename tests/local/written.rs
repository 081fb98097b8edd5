//! What the core is told can be written down and read again, as records of it will need.

use crate::expect::split;
use muster::api::{Reading, convert};
use muster::controllers::Resource;
use muster::model::{Event, HyperNodeSpec, NodeChoice, Object};
use muster::sim::scenario::{Played, Source, load};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::fs;
use std::path::Path;

fn again<T: Serialize + DeserializeOwned + PartialEq + Debug>(one: &T) -> T {
    let written = serde_json::to_vec(one).unwrap();
    let read = serde_json::from_slice(&written).unwrap();
    assert_eq!(*one, read, "{}", String::from_utf8_lossy(&written));
    read
}

/// The objects that a file puts into the world, as the core is told of them.
fn objects(path: &Path) -> Vec<Object> {
    let text = fs::read_to_string(path).unwrap();
    let (text, expect) = split(&text).unwrap();
    let source = Source {
        name: path.display().to_string(),
        text: text.to_owned(),
    };
    let scenario = load(&[source], &expect.reading().unwrap()).unwrap();
    let told = scenario
        .entries
        .into_iter()
        .map(|entry| match entry.object {
            Played::Plain(object) => vec![object],
            Played::Pod(plan) | Played::PodEdit(plan) => {
                let claims = plan.claims.into_iter().map(Object::from);
                claims.chain([plan.spec.into()]).collect()
            }
            Played::Job(plan) => {
                let pods = plan.pods.into_iter();
                pods.map(|pod| pod.spec.into()).collect()
            }
            Played::Whole(Resource::Testbeds, testbed) => {
                let testbed = serde_json::from_value(*testbed).unwrap();
                vec![convert::testbed(&testbed, &Reading::default()).into()]
            }
            Played::Budget(plan) => vec![plan.spec.into()],
            // Of the others only controllers are told.
            Played::Whole(..) | Played::Answers(_) => Vec::new(),
        });
    told.flatten().collect()
}

#[test]
fn every_object_of_the_scenarios_is_read_as_it_was_written() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    let mut kinds = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|end| end != "yaml") {
            continue;
        }
        for object in objects(&path) {
            kinds.insert(again(&object.key()).kind());
            again(&Event::Is(object));
        }
    }
    assert!(kinds.len() > 8, "objects of few kinds only: {kinds:?}");
}

#[test]
fn a_pattern_of_names_is_written_as_its_text_and_chooses_as_before() {
    let nodes: Vec<NodeChoice> = serde_json::from_value(json!([{"Like": "^rack-[0-9]$"}])).unwrap();
    let node = again(&HyperNodeSpec {
        nodes,
        ..HyperNodeSpec::default()
    });
    let none = Default::default();
    assert!(node.chooses("rack-7", &none) && !node.chooses("rack-77", &none));
    let bad = serde_json::from_value::<NodeChoice>(json!({"Like": "rack-["})).unwrap_err();
    assert!(
        bad.to_string().contains("unclosed character class"),
        "{bad}"
    );
}
