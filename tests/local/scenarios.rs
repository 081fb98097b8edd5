//! Plays every file of `tests/scenarios` on virtual time and checks what it expects.

use crate::expect::{Expect, Observed, ObservedGang, ObservedPod, short_name, split};
use crate::facts::{Facts, Look};
use muster::controllers::Resource;
use muster::model::units::Time;
use muster::sim::driver::Driver;
use muster::sim::network::Network;
use muster::sim::report::report;
use muster::sim::scenario::{Source, load};
use std::path::PathBuf;

/// The scenarios.
pub(crate) fn files() -> Vec<PathBuf> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scenarios");
    let entries = std::fs::read_dir(folder).unwrap();
    let mut files: Vec<_> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "yaml"))
        .collect();
    files.sort();
    files
}

/// Whatever holds must hold for so long, in seconds.
const STILL: u64 = 2;

/// Plays a scenario as long as it is given: what only a safety net mends much later is missed.
fn play(name: &str, text: &str, expect: &Expect) -> (Observed, Vec<String>) {
    let reading = expect.reading().unwrap();
    let source = Source {
        name: name.to_owned(),
        text: text.to_owned(),
    };
    let scenario = load(&[source], &reading).unwrap();
    assert_eq!(scenario.warnings, Vec::<String>::new(), "{name}");
    let mut driver = Driver::new(scenario, expect.policy().unwrap(), Network::calm(0));
    let (until, mut facts) = (
        Time::from_secs(expect.within_seconds + STILL),
        Facts::default(),
    );
    let end = driver.run(until, |driver| look(driver, &mut facts));
    facts.lasts(until.0);
    let violations = driver.ledger().violations.clone();
    let millis = |seconds: f64| (seconds * 1000.0).round() as u64;
    let report = report(&mut driver, end);
    let mut seen = Observed {
        facts,
        ..Observed::default()
    };
    for pod in report.pods {
        let name = short_name(&pod.namespace, &pod.name);
        let gang = pod.pod_group.map(|gang| short_name(&pod.namespace, &gang));
        let observed = ObservedPod {
            gang,
            node: pod.node,
            bound_at: pod.bound_at.map(millis),
            ended_at: pod.finished_at.map(millis),
            message: pod.message,
        };
        seen.pods.insert(name, observed);
    }
    for gang in report.pod_groups {
        let says = [
            gang.reason.unwrap_or_default(),
            gang.message.unwrap_or_default(),
            gang.disrupted.unwrap_or_default(),
        ]
        .join(": ");
        let observed = ObservedGang {
            phase: Some(gang.phase.to_owned()),
            says,
            scheduled_at: gang.scheduled_at.map(millis),
            hops: gang.max_hops,
        };
        seen.gangs
            .insert(short_name(&gang.namespace, &gang.name), observed);
    }
    (seen, violations)
}

/// What is so now of what controllers write.
fn look(driver: &Driver, facts: &mut Facts) {
    let mut look = Look::default();
    for (kind, resource) in [
        ("BatchJob", Resource::BatchJobs),
        ("Scheduling", Resource::Schedulings),
        ("Testbed", Resource::Testbeds),
        ("TestbedSlice", Resource::TestbedSlices),
    ] {
        for object in driver.server().whole_of(resource) {
            look.see(kind, &object);
        }
    }
    facts.add(look, driver.now().0);
}

#[test]
fn every_scenario_comes_out_as_it_expects() {
    let files = files();
    assert!(files.len() >= 25, "only {} scenarios", files.len());
    let mut wrong = Vec::new();
    for path in files {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let (scenario, expect) = split(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let (seen, violations) = play(&name, scenario, &expect);
        let found = expect.check(&seen).into_iter().chain(violations);
        wrong.extend(found.map(|line| format!("{name}: {line}")));
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
