//! Every sentence of docs/troubleshooting.md, provoked on a real API server and read there.
//!
//! The sentences are tables here as well: that these have the rows of the document is a test, and
//! each scene reads all of its table.

mod gangs;
mod nodes;
mod plugins;
mod profiles;
mod queues;
mod remote;
mod topologies;
mod volumes;

use crate::live::{Cluster, condition, eventually, text};
use crate::tables::first_cells;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// What a PodGroup of `default` says.
struct Sentence {
    /// The condition's type.
    kind: &'static str,
    reason: &'static str,
    gang: &'static str,
    /// Its message begins so.
    message: &'static str,
}

/// What a gang waits for.
const fn waits(reason: &'static str, gang: &'static str, message: &'static str) -> Sentence {
    Sentence {
        kind: "Scheduled",
        reason,
        gang,
        message,
    }
}

/// Reads all sentences, in the order of the table.
fn read_all(cluster: &Cluster, sentences: &[Sentence]) {
    for sentence in sentences {
        let Sentence { kind, reason, .. } = sentence;
        let mut said = String::new();
        let what = format!("{} says {kind}/{reason}", sentence.gang);
        eventually(&what, || {
            let status = cluster.status_of(sentence.gang);
            let found = condition(&status, kind);
            said = found.map_or_else(String::new, |found| text(found, "/message"));
            found.is_some_and(|found| found["reason"] == *reason)
                && said.starts_with(sentence.message)
        });
        eprintln!("{}: {kind}/{reason}: {said}", sentence.gang);
    }
}

/// What keeps gangs waiting: the first table of the document.
fn reasons() -> BTreeSet<String> {
    let of_gangs = gangs::WAITING
        .iter()
        .chain(plugins::WAITING)
        .chain(profiles::WAITING)
        .chain(queues::WAITING)
        .chain(remote::WAITING)
        .chain(topologies::WAITING);
    let named = of_gangs.map(|sentence| sentence.reason);
    let on_pods = gangs::ON_PODS.iter().map(|(reason, ..)| *reason);
    named.chain(on_pods).map(str::to_owned).collect()
}

/// The other conditions: the second table.
fn conditions() -> BTreeSet<String> {
    let all = gangs::CONDITIONS.iter();
    let all = all.chain(plugins::CONDITIONS).chain(queues::CONDITIONS);
    all.map(|sentence| format!("{}/{}", sentence.kind, sentence.reason))
        .collect()
}

#[test]
fn every_sentence_of_the_document_is_provoked_here() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/troubleshooting.md");
    let document = fs::read_to_string(path).unwrap();
    let table = |section| first_cells(&document, section);
    assert_eq!(table("Why a gang waits"), reasons());
    assert_eq!(table("What a PodGroup says of its way"), conditions());
    let words = nodes::WORDS.iter().chain(&volumes::WORDS);
    let words = words.map(|words| words.replace("cpu", "<resource>"));
    assert_eq!(
        table("Why a node does not suit"),
        words.collect::<BTreeSet<_>>()
    );
}
