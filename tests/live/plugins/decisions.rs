//! A plugin that takes part in decisions before pods are bound.

use super::door::Door;
use super::{configured, why};
use crate::live::{Cluster, eventually, text};
use crate::process::Process;
use serde_json::json;
use std::sync::atomic::{AtomicU32, Ordering};

#[test]
fn a_plugin_takes_part_in_decisions_and_what_it_reserved_is_given_back() {
    let cluster = Cluster::start();
    cluster.nodes(2, "16");
    // It lets the gang `late` wait, and denies `denied` what has to be done before its binds.
    let waits = AtomicU32::new(0);
    let door = Door::open(move |request| {
        let gang = text(request, "/gang/podGroup");
        match (text(request, "/point").as_str(), gang.as_str()) {
            ("PreBind", "denied") => json!({"decision": "Deny", "reason": "no such disk"}),
            ("Permit", "late") if waits.fetch_add(1, Ordering::Relaxed) == 0 => {
                json!({"decision": "Wait", "waitSeconds": 2})
            }
            _ => json!({"decision": "Allow"}),
        }
    });
    let dir = tempfile::tempdir().unwrap();
    let config = configured(
        &dir,
        &format!(
            "remotePlugins:\n- name: door\n  url: http://127.0.0.1:{}/\n  \
             points: [Reserve, Permit, PreBind, PostBind]\n  timeout: 10s\n",
            door.port
        ),
    );
    let _muster = Process::start(&cluster, &[&config]);
    for gang in ["welcome", "late", "denied"] {
        cluster.gang(gang, 4);
        cluster.pods(gang, 4, "1");
    }
    for gang in ["welcome", "late"] {
        eventually("the gang is bound", || cluster.bound(gang) == 4);
        for point in ["Reserve", "PreBind"] {
            let (pods, questions) = door.heard(point, gang);
            assert!(
                pods >= 4 && questions < pods,
                "{gang}: {pods} pods in {questions}"
            );
        }
        eventually("it hears of the binds", || {
            door.heard("PostBind", gang).0 == 4
        });
    }
    assert!(door.heard("Permit", "late").1 >= 2, "it is asked again");
    eventually("the reason is said", || {
        let (reason, message) = why(&cluster, "denied");
        reason == "Rejected" && message.contains("no such disk")
    });
    eventually("what was reserved is given back", || {
        door.heard("Unreserve", "denied").0 >= 4
    });
    assert_eq!(cluster.bound("denied"), 0);
}
