//! A plugin that binds the pods itself.

use super::door::Door;
use super::{config_file, configured, nodes_of, words};
use crate::live::{Cluster, PODS, eventually, text};
use crate::process::{Process, free_lease};
use muster_devcluster::ControlPlane;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// What a plugin at Bind does with a gang of this name. It binds the pods, and marks them, unless the gang
/// says otherwise.
fn bind(plane: &ControlPlane, gang: &str, times: u32, request: &Value) -> Value {
    match gang {
        "left" => return json!({"decision": "Skip"}),
        "broken" if times == 0 => return json!({"error": "the database is down"}),
        "refused" => return json!({"decision": "Deny", "reason": "no such card"}),
        _ => {}
    }
    for pod in request["pods"].as_array().unwrap() {
        let name = text(pod, "/name");
        let binding = json!({
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name, "uid": pod["uid"], "annotations": {"marked": "yes"}},
            "target": {"apiVersion": "v1", "kind": "Node", "name": pod["node"]},
        });
        let path = format!("{PODS}/{name}/binding");
        let _ = plane.post(&path, &binding);
    }
    if gang == "late" {
        thread::sleep(Duration::from_secs(5));
    }
    json!({"decision": "Allow"})
}

#[test]
fn a_plugin_binds_and_whatever_it_says_the_pods_are_believed() {
    let cluster = Cluster::start();
    cluster.nodes(2, "16");
    let (plane, asked) = (Arc::downgrade(&cluster.plane), AtomicU32::new(0));
    let door = Door::open(move |request| {
        let gang = text(request, "/gang/podGroup");
        let times = match gang.as_str() {
            "broken" => asked.fetch_add(1, Ordering::Relaxed),
            _ => 0,
        };
        let plane = plane.upgrade().unwrap();
        bind(&plane, &gang, times, request)
    });
    let dir = tempfile::tempdir().unwrap();
    let config = configured(
        &dir,
        &format!(
            "remotePlugins:\n- {{name: cards, url: 'http://127.0.0.1:{}/', points: [Bind], timeout: 3s}}\n",
            door.port
        ),
    );
    let _muster = Process::start(&cluster, &[&config]);
    for (gang, is_marked) in [
        ("done", true),
        ("left", false),
        ("broken", true),
        ("late", true),
    ] {
        cluster.gang(gang, 4);
        cluster.pods(gang, 4, "1");
        eventually("the gang is bound", || cluster.bound(gang) == 4);
        let pod = cluster.pod(&format!("{gang}-0"));
        let marked = pod["metadata"]["annotations"]["marked"] == "yes";
        assert_eq!(marked, is_marked, "{gang}");
    }
    let (pods, questions) = door.heard("Bind", "done");
    assert!(pods == 4 && questions < 4, "{pods} pods in {questions}");
    cluster.gang("refused", 2);
    cluster.pods("refused", 2, "1");
    eventually("the reason is said", || {
        words(&cluster, "refused-0").contains("cards: no such card")
    });
    assert_eq!(cluster.bound("refused"), 0);
}

/// A leader asks a plugin to bind a gang, and goes while it waits for the answer; the next one would take
/// another node. The plugin binds all the same what the first one asked for.
fn binds_late(goes: impl FnOnce(&mut Process), ends: impl FnOnce(&mut Process)) {
    let cluster = Cluster::start();
    cluster.nodes(2, "4");
    free_lease(&cluster);
    // For which nodes it was asked, and for which it goes on.
    let asked = Arc::new(Mutex::new(Vec::new()));
    let goes_on = Arc::new(Mutex::new(BTreeSet::new()));
    let (plane, hears) = (Arc::downgrade(&cluster.plane), Arc::clone(&asked));
    let may = Arc::clone(&goes_on);
    let door = Door::open(move |request| {
        let node = text(request, "/pods/0/node");
        hears.lock().unwrap().push(node.clone());
        eventually("it may go on", || may.lock().unwrap().contains(&node));
        bind(&plane.upgrade().unwrap(), "", 0, request)
    });
    let dir = tempfile::tempdir().unwrap();
    let config = config_file(
        &dir,
        &format!(
            "remotePlugins:\n- {{name: cards, url: 'http://127.0.0.1:{}/', points: [Bind], timeout: 30s}}\n",
            door.port
        ),
    );
    let mut leader = Process::start(&cluster, &[&config]);
    eventually("it leads", || leader.said("leading").is_some());
    let standby = Process::start(&cluster, &[&config]);
    eventually("it stands by", || {
        standby.get("/readyz").contains("standing by")
    });
    cluster.gang("train", 2);
    cluster.pods("train", 2, "1");
    eventually("it is asked", || !asked.lock().unwrap().is_empty());
    let first = asked.lock().unwrap()[0].clone();
    cluster.plane.kubectl(&["cordon", &first]).unwrap();
    goes(&mut leader);
    let other = || {
        asked
            .lock()
            .unwrap()
            .iter()
            .find(|node| **node != first)
            .cloned()
    };
    eventually("the next one asks for the other node", || other().is_some());
    let second = other().unwrap();
    assert_eq!(cluster.bound("train"), 0);

    goes_on.lock().unwrap().insert(first.clone());
    eventually("the gang is bound", || cluster.bound("train") == 2);
    goes_on.lock().unwrap().insert(second.clone());
    ends(&mut leader);
    eventually("the gang runs", || {
        text(&cluster.status_of("train"), "/phase") == "Running"
    });
    assert_eq!(nodes_of(&cluster, "train"), [first.as_str(); 2]);

    // And what the next one held for it is free: all of the other node.
    cluster.gang("next", 4);
    cluster.pods("next", 4, "1");
    eventually("the next gang is bound", || cluster.bound("next") == 4);
    assert_eq!(nodes_of(&cluster, "next"), [second.as_str(); 4]);
    assert_eq!(cluster.bound("train"), 2);
}

#[test]
fn what_a_plugin_binds_for_a_leader_that_stands_still_is_believed_by_the_next_one() {
    binds_late(
        |leader| leader.signal("-STOP"),
        |leader| {
            leader.signal("-CONT");
            assert_eq!(leader.ended().code(), Some(1));
        },
    );
}

#[test]
#[expect(clippy::disallowed_methods, reason = "real time is measured")]
fn a_leader_told_to_stop_waits_for_a_plugin_that_binds_but_not_for_long() {
    binds_late(
        |leader| {
            let told = Instant::now();
            leader.signal("-TERM");
            assert!(leader.ended().success());
            let took = told.elapsed();
            eprintln!("told to stop while a plugin binds: handed over after {took:.1?}");
            assert!(took < Duration::from_secs(7));
        },
        |_| {},
    );
}
