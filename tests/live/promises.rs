//! The promises of docs/reliability.md on a real API server: deletes refused or hung, pods deleted
//! in mid-wave, slow binds, crowds that arrive at once, objects changed while nobody ran.
//!
//! What is measured is read from the API server's audit log. Needs what `hack/build-control-plane`
//! builds.

use crate::audit::{Written, now, written};
use crate::live::{Cluster, Muster, PODS, condition, deny, eventually, hang, text};
use jiff::{SignedDuration, Timestamp};
use muster_devcluster::fake_node;
use serde_json::{Value, json};
use std::thread::sleep;
use std::time::Duration;

/// As whom Muster writes.
const MUSTER: &str = "muster";

fn scene() -> Cluster {
    let all = ["system:masters"];
    let cluster = Cluster::of(|builder| builder.audit(true).user(MUSTER, &all));
    cluster.apply_folder("crds");
    cluster
}

/// Starts Muster with so many binds in flight.
fn start(cluster: &Cluster, binds: usize) -> Muster {
    let kubeconfig = cluster.plane.kubeconfig_of(MUSTER).unwrap();
    cluster.muster_with(&kubeconfig, None, |options| options.binds_in_flight = binds)
}

/// What Muster wrote on paths that end so.
fn wrote(cluster: &Cluster, verb: &str, end: &str) -> Vec<Written> {
    let all = written(&cluster.plane, MUSTER).into_iter();
    all.filter(|one| one.verb == verb && one.path.ends_with(end))
        .collect()
}

/// Its deletes of pods whose names begin so.
fn deletes(cluster: &Cluster, prefix: &str) -> Vec<Written> {
    let start = format!("{PODS}/{prefix}");
    let all = written(&cluster.plane, MUSTER).into_iter();
    all.filter(|one| one.verb == "delete" && one.path.starts_with(&start))
        .collect()
}

fn bound_at(cluster: &Cluster) -> Vec<Timestamp> {
    let binds = wrote(cluster, "create", "/binding").into_iter();
    let bound = binds.filter(|one| one.code == 201);
    bound.map(|one| one.done).collect()
}

fn seconds(from: Timestamp, to: Timestamp) -> f64 {
    to.duration_since(from).as_secs_f64()
}

/// Refuses to bind `NAME-3`, in words.
fn refuse_to_bind(name: &str) -> String {
    deny(
        "refuse-to-bind",
        "CREATE",
        "pods/binding",
        &format!("request.name != '{name}-3'"),
        "not on my nodes",
    )
}

/// The longest time in which nothing was tried, in seconds.
fn longest_gap(tries: &[Written]) -> f64 {
    let gaps = tries.windows(2);
    let gaps = gaps.map(|two| seconds(two[0].done, two[1].came));
    gaps.fold(0.0, f64::max)
}

#[test]
fn a_release_whose_deletes_are_refused_goes_on_for_as_long_as_it_takes_and_says_who_refuses() {
    let cluster = scene();
    cluster.nodes(2, "8");
    cluster.apply(&refuse_to_bind("stuck"));
    cluster.apply(&deny(
        "keep-pods",
        "DELETE",
        "pods",
        "!request.name.startsWith('stuck-')",
        "pods are kept for the audit",
    ));
    cluster.refuses_to_bind("stuck-3", "node-0", "not on my nodes");
    let muster = start(&cluster, 128);
    cluster.gang("stuck", 4);
    cluster.pods("stuck", 4, "1");
    eventually("three are bound", || cluster.bound("stuck") == 3);
    let refused = || condition(&cluster.status_of("stuck"), "ReleaseRefused").cloned();
    eventually("the PodGroup says that its release is refused", || {
        refused().is_some()
    });
    let first = refused().unwrap();
    let words = text(&first, "/message");
    assert!(words.starts_with("pod stuck-"), "{words}");
    assert!(words.contains("pods are kept for the audit"), "{words}");
    let begun = &deletes(&cluster, "stuck")[0];
    let last_bind = *bound_at(&cluster).last().unwrap();
    assert!(seconds(last_bind, begun.came) < 10.0, "begun in time");

    sleep(Duration::from_secs(20));
    let tries = deletes(&cluster, "stuck");
    let gap = longest_gap(&tries);
    eprintln!("{} deletes refused, no pause above {gap:.2} s", tries.len());
    assert!(gap <= 2.0, "tried again within 2 s");
    assert!(tries.len() <= 3 * 25, "bounded in rate: {}", tries.len());
    let status = cluster.status_of("stuck");
    assert_eq!(refused().unwrap(), first, "since the first refusal");
    assert_eq!(
        (&status["bound"], &status["phase"]),
        (&json!(3), &json!("Unknown"))
    );
    let events = cluster.events("stuck-0");
    let said = events
        .iter()
        .filter(|event| event.starts_with("EvictionRefused: "));
    let said: Vec<&String> = said.collect();
    assert_eq!(said.len(), 1, "said once: {events:#?}");
    assert!(said[0].contains("pods are kept for the audit"), "{said:?}");

    let allowed = now();
    cluster
        .plane
        .kubectl(&["delete", "validatingadmissionpolicybinding", "keep-pods"])
        .unwrap();
    eventually("nothing of it is left", || {
        cluster.placed("stuck-").len() == 1
    });
    let gone = deletes(&cluster, "stuck")
        .into_iter()
        .filter(|one| one.code == 200);
    let last = gone.map(|one| one.done).max().unwrap();
    let took = seconds(allowed, last);
    eprintln!("all deleted {took:.2} s after deletes were allowed again");
    // A second of it is the API server's, until it heeds the policy's deletion.
    assert!(took < 4.0, "{took}");
    eventually("the refusal is no longer spoken of", || refused().is_none());
    assert!(bound_at(&cluster).len() == 3, "nothing was bound meanwhile");
    muster.stop();
}

#[test]
fn a_release_behind_a_webhook_that_hangs_says_so_and_ends_when_the_hang_does() {
    let cluster = scene();
    cluster.nodes(2, "8");
    cluster.apply(&refuse_to_bind("slow"));
    cluster.refuses_to_bind("slow-3", "node-0", "not on my nodes");
    let _deaf = hang(&cluster, "deaf", "DELETE", "pods", "true");
    let muster = start(&cluster, 128);
    cluster.gang("slow", 4);
    cluster.pods("slow", 4, "1");
    eventually("three are bound", || cluster.bound("slow") == 3);
    eventually("the PodGroup says that its release does not go on", || {
        let status = cluster.status_of("slow");
        let stuck = condition(&status, "ReleaseRefused");
        stuck.is_some_and(|stuck| {
            let words = text(stuck, "/message");
            stuck["reason"] == "DeleteFailed" && words.contains(" could not be deleted: ")
        })
    });
    let until = now();
    while seconds(until, now()) < 20.0 {
        let status = cluster.status_of("slow");
        assert_eq!(status["bound"], 3, "what is so: {status}");
        assert_ne!(status["phase"], "Inqueue", "{status}");
        sleep(Duration::from_millis(500));
    }
    let ended = now();
    let webhook = ["delete", "validatingwebhookconfiguration", "deaf"];
    cluster.plane.kubectl(&webhook).unwrap();
    eventually("nothing of it is left", || {
        cluster.placed("slow-").len() == 1
    });
    let gone = deletes(&cluster, "slow")
        .into_iter()
        .filter(|one| one.code == 200);
    let took = seconds(ended, gone.map(|one| one.done).max().unwrap());
    eprintln!("all deleted {took:.2} s after the webhook was gone");
    assert!(took < 6.0, "{took}");
    muster.stop();
}

#[test]
fn a_gang_that_cannot_be_whole_any_more_stops_binding_and_leaves_in_time() {
    let cluster = scene();
    cluster.nodes(10, "32");
    let muster = start(&cluster, 2);
    cluster.pods_at_once("wave", 600, "100m");
    cluster.gang("wave", 600);
    eventually("the wave is on its way", || bound_at(&cluster).len() >= 50);
    // One of the last, so that it is not bound yet.
    let (victim, _) = cluster
        .placed("wave-")
        .into_iter()
        .rfind(|(_, node)| node.is_none())
        .unwrap();
    cluster.delete_now(&victim);
    let admin = written(&cluster.plane, "admin");
    let path = format!("{PODS}/{victim}");
    let deleted = admin.iter().rfind(|one| one.path == path).unwrap().done;
    eventually("the others leave", || !deletes(&cluster, "wave").is_empty());
    let binds = bound_at(&cluster);
    let late = binds
        .iter()
        .filter(|at| seconds(deleted, **at) > 0.5)
        .count();
    let begun = seconds(*binds.last().unwrap(), deletes(&cluster, "wave")[0].came);
    eprintln!(
        "{} of 600 bound, {late} of them later than 0.5 s after the deletion; released {begun:.2} s after the last",
        binds.len()
    );
    assert!(binds.len() < 590, "in mid-wave");
    assert_eq!(late, 0);
    assert!(begun < 10.0);
    eventually("until none is bound", || cluster.bound("wave-") == 0);
    eventually("it says who is missing", || {
        cluster.status_of("wave").to_string().contains(&victim)
    });
    muster.stop();
}

#[test]
fn a_wave_that_advances_is_never_cut_however_long_it_takes() {
    let cluster = scene();
    cluster.nodes(30, "32");
    let muster = start(&cluster, 1);
    cluster.pods_at_once("long", 1_500, "100m");
    cluster.gang("long", 1_500);
    let mut bound = 0;
    while bound < 1_500 {
        eventually("another is bound", || {
            sleep(Duration::from_millis(500));
            bound_at(&cluster).len() > bound
        });
        bound = bound_at(&cluster).len();
    }
    let binds = bound_at(&cluster);
    let took = seconds(binds[0], *binds.last().unwrap());
    eprintln!("1,500 binds one by one took {took:.2} s");
    assert_eq!(deletes(&cluster, "long").len(), 0);
    muster.stop();
}

#[test]
fn a_crowd_that_arrives_at_once_is_not_spoken_of_pod_by_pod() {
    let cluster = scene();
    cluster.nodes(20, "32");
    let muster = start(&cluster, 128);
    // Where the API server takes longer than that to make them all, they do not arrive at once, and after
    // a second it is right to say that some are missing: another crowd is tried.
    let at_once = SignedDuration::from_millis(800);
    for attempt in 1..=8 {
        let crowd = format!("crowd{attempt}");
        let before = wrote(&cluster, "patch", "/status").len();
        let begun = now();
        cluster.gang(&crowd, 200);
        cluster.pods_at_once(&crowd, 200, "100m");
        let took = now().duration_since(begun);
        let prefix = format!("{crowd}-");
        eventually("all are bound", || cluster.bound(&prefix) == 200);
        eventually("and it says so", || {
            cluster.status_of(&crowd)["running"] == 200
        });
        sleep(Duration::from_secs(2));
        if took > at_once {
            eprintln!("to make 200 pods took {took:?}");
            continue;
        }
        let patches = wrote(&cluster, "patch", "/status").split_off(before);
        let on_pods = patches
            .iter()
            .filter(|one| one.path.starts_with(PODS))
            .count();
        let on_gang = patches.len() - on_pods;
        let list = cluster.plane.get("/apis/events.k8s.io/v1/events").unwrap();
        let events = list["items"].as_array().unwrap().iter();
        let warnings = events
            .filter(|event| text(event, "/type") == "Warning")
            .filter(|event| text(event, "/regarding/name").starts_with(&crowd))
            .count();
        eprintln!(
            "{on_pods} patches of pods, {on_gang} of the PodGroup and its queue, {warnings} warnings"
        );
        assert_eq!((on_pods, warnings), (0, 0), "made in {took:?}");
        assert!(on_gang <= 30, "{on_gang}");
        return muster.stop();
    }
    eprintln!("this machine is too busy to show it");
    muster.stop();
}

fn five_waiting_gangs(cluster: &Cluster) {
    for (name, value) in [("p3", 3), ("p1", 1), ("p5", 5), ("p2", 2), ("p4", 4)] {
        cluster.apply(&format!(
            "{{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {{name: {name}}}, value: {value}}}"
        ));
        let group = json!({
            "apiVersion": "muster.dev/v1alpha1", "kind": "PodGroup",
            "metadata": {"name": name}, "spec": {"minAvailable": 2, "priorityClassName": name},
        });
        let path = "/apis/muster.dev/v1alpha1/namespaces/default/podgroups";
        eventually("the PodGroup is taken", || {
            cluster.plane.post(path, &group).is_ok()
        });
        cluster.pods(name, 2, "64");
    }
}

fn positions(cluster: &Cluster, gangs: &[&str]) -> Vec<u64> {
    let of_gang = |gang: &&str| cluster.status_of(gang)["position"].as_u64();
    gangs.iter().filter_map(of_gang).collect()
}

#[test]
fn every_waiting_gang_says_its_own_position_and_says_another_when_the_line_moves() {
    let cluster = scene();
    cluster.nodes(1, "8");
    let muster = start(&cluster, 128);
    five_waiting_gangs(&cluster);
    let all = ["p5", "p4", "p3", "p2", "p1"];
    eventually("each has its own", || {
        positions(&cluster, &all) == [1, 2, 3, 4, 5]
    });
    let group = ["delete", "podgroup.muster.dev", "p5", "--wait=false"];
    cluster.plane.kubectl(&group).unwrap();
    let moved = eventually("those behind it move up", || {
        positions(&cluster, &all[1..]) == [1, 2, 3, 4]
    });
    eprintln!("all moved up {moved:?} after the first was deleted");
    assert!(moved < Duration::from_secs(3), "{moved:?}");
    muster.stop();
}

#[test]
fn a_successor_writes_nothing_that_is_said_already_and_mends_what_is_not_so() {
    let cluster = scene();
    cluster.nodes(1, "8");
    // Nobody runs on the node that is closest to what the five want.
    let large = |i| fake_node(&format!("large-{i}"), &[("cpu", "32"), ("memory", "64Gi")]);
    cluster.plane.create_nodes(1, large).unwrap();
    let muster = start(&cluster, 128);
    five_waiting_gangs(&cluster);
    cluster.gang("runs", 2);
    cluster.pods("runs", 2, "1");
    cluster.gang("leaves", 2);
    cluster.pods("leaves", 2, "1");
    let queue = || cluster.plane.get("/apis/muster.dev/v1alpha1/queues/team");
    cluster
        .apply("{apiVersion: muster.dev/v1alpha1, kind: Queue, metadata: {name: team}, spec: {}}");
    let counts = |queue: &Value| {
        [
            queue["status"]["running"].clone(),
            queue["status"]["inqueue"].clone(),
        ]
    };
    eventually("all is said", || {
        cluster.status_of("leaves")["running"] == 2
            && cluster.status_of("runs")["running"] == 2
            && positions(&cluster, &["p5", "p4", "p3", "p2", "p1"]) == [1, 2, 3, 4, 5]
            && queue().is_ok_and(|queue| queue["status"]["running"] == 0)
            && condition(&cluster.pod("p1-1")["status"], "PodScheduled").is_some()
    });
    sleep(Duration::from_secs(3));
    muster.stop();

    let restarted = now();
    let muster = start(&cluster, 128);
    eventually("it is ready", || muster.health.problems().is_empty());
    sleep(Duration::from_secs(5));
    let since = |at: Timestamp| -> Vec<String> {
        let all = written(&cluster.plane, MUSTER).into_iter();
        all.filter(|one| one.came >= at)
            .map(|one| one.to_string())
            .collect()
    };
    assert_eq!(since(restarted), [""; 0], "all of that was said already");
    muster.stop();

    // While nobody runs, one thing is made untrue and another becomes so.
    let lie = [
        "patch",
        "queue.muster.dev",
        "team",
        "--subresource=status",
        "--type=merge",
        "-p",
        r#"{"status":{"running":47}}"#,
    ];
    cluster.plane.kubectl(&lie).unwrap();
    cluster.delete_now("leaves-0");
    let restarted = now();
    let muster = start(&cluster, 128);
    eventually("the queue is mended", || {
        queue().is_ok_and(|queue| counts(&queue)[0] == 0)
    });
    eventually("what was cut while nobody ran leaves as a whole", || {
        cluster.placed("leaves-").is_empty()
    });
    let took = seconds(restarted, deletes(&cluster, "leaves")[0].came);
    eprintln!("released {took:.2} s after the start");
    assert!(took < 10.0, "{took}");
    sleep(Duration::from_secs(3));
    let told: Vec<String> = since(restarted)
        .into_iter()
        .filter(|one| {
            !one.contains("leaves") && !one.contains("queues/team") && !one.contains("/events")
        })
        .collect();
    assert_eq!(told, [""; 0], "the others are what they were");
    muster.stop();
}
