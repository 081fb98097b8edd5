//! The plugins of `examples/` on virtual time.

use crate::{gang_by_permit, network_device};
use muster::api::convert::Reading;
use muster::cli::Extensions;
use muster::config;
use muster::model::units::Time;
use muster::sim::driver::Driver;
use muster::sim::network::Network;
use muster::sim::report::{Report, report};
use muster::sim::scenario::{Source, load};

/// Plays a scenario of `tests/scenarios/plugins` with one plugin chosen, for so many seconds.
fn play(name: &str, plugin: &str, extensions: &Extensions, seconds: u64) -> (Driver, Report) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scenarios/plugins");
    let text = std::fs::read_to_string(format!("{folder}/{name}.yaml")).unwrap();
    let reading = Reading {
        scheduler_names: vec!["muster".to_owned()],
        ..Reading::default()
    };
    let name = name.to_owned();
    let scenario = load(&[Source { name, text }], &reading).unwrap();
    let chosen = format!(
        "apiVersion: config.muster.dev/v1alpha1\nkind: SchedulerConfiguration\nprofile: {{plugins: [{plugin}]}}\n"
    );
    let configuration = config::parse("test", &chosen).unwrap();
    let policy = extensions.policy(&configuration).unwrap();
    let mut driver = Driver::new(scenario, policy, Network::calm(0));
    let end = driver.run(Time::from_secs(seconds), |_| {});
    assert_eq!(driver.ledger().violations, Vec::<String>::new());
    let report = report(&mut driver, end);
    (driver, report)
}

/// When a pod was bound, in whole seconds.
fn bound_at(report: &Report, pod: &str) -> Option<u64> {
    let found = report.pods.iter().find(|one| one.name == pod).unwrap();
    found.bound_at.map(|seconds| seconds.floor() as u64)
}

#[test]
fn a_device_is_attached_before_the_bind_and_given_back_when_that_fails() {
    let extensions = network_device::extensions();
    let (driver, report) = play("network-device", "NetworkDevice", &extensions, 60);
    // Attached after two seconds.
    assert_eq!(bound_at(&report, "first"), Some(2));
    // Those of the gang came to nothing at first, as one of them could not be attached.
    assert_eq!(bound_at(&report, "pair-0"), bound_at(&report, "pair-1"));
    assert!(bound_at(&report, "pair-0") >= Some(21), "{:?}", report.pods);
    let mut attached: Vec<&str> = driver
        .outside()
        .done()
        .map(|(_, pod, _)| pod.name.as_str())
        .collect();
    attached.sort_unstable();
    assert_eq!(
        attached,
        ["first", "pair-0", "pair-1"],
        "nothing else is left attached"
    );
    // No device is left for it, and none is needed by the other.
    assert_eq!(bound_at(&report, "late"), None);
    assert_eq!(bound_at(&report, "plain"), Some(0));
}

#[test]
fn where_there_is_room_gangs_by_permit_come_to_the_same_as_native_ones() {
    let extensions = gang_by_permit::extensions();
    let (_, report) = play("gang-by-permit", "GangByPermit", &extensions, 5);
    for pod in ["permit-0", "permit-1", "native-0", "native-1"] {
        assert_eq!(bound_at(&report, pod), Some(0), "{pod}");
    }
    // One of it never comes: nobody of it is bound.
    assert_eq!(bound_at(&report, "lonely"), None);
}

#[test]
fn two_half_gangs_by_permit_keep_each_other_out_and_native_ones_do_not() {
    let extensions = gang_by_permit::extensions();
    let (_, report) = play("two-halves-by-permit", "GangByPermit", &extensions, 120);
    for pod in ["a-0", "a-1", "b-0", "b-1"] {
        assert_eq!(bound_at(&report, pod), None, "{pod}");
    }
    let (_, report) = play("two-halves-native", "GangByPermit", &extensions, 120);
    assert_eq!(bound_at(&report, "a-0"), Some(1));
    assert_eq!(bound_at(&report, "a-1"), Some(1));
    assert_eq!(bound_at(&report, "b-0"), None);
}

#[test]
fn a_plugin_that_the_program_does_not_have_is_refused_by_name() {
    let text = "apiVersion: config.muster.dev/v1alpha1\nkind: SchedulerConfiguration\nprofile: {plugins: [Nobody]}\n";
    let configuration = config::parse("test", text).unwrap();
    let error = Extensions::default().policy(&configuration).unwrap_err();
    assert!(error.to_string().contains("Nobody"), "{error}");
}
