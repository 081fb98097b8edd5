//! What an extender that hangs, or is dead, costs everybody else.

use super::{config_file, single};
use crate::live::{Cluster, PODS, eventually, text, within};
use crate::process::Process;
use serde_json::json;
use std::fs;
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

const NODES: usize = 2_000;
/// So many wait for the extender.
const WAITING: usize = 200;
/// So many of others are bound meanwhile.
const OTHERS: usize = 1_000;
/// A record of the Lease keeps others away for so long; sending stops before.
const TERM: Duration = Duration::from_millis(3_500);

/// What was seen while the pods of others were bound.
#[derive(Debug)]
struct Seen {
    binds_a_second: f64,
    memory_mb: u64,
    /// The longest time from one renewal of the Lease to the next.
    renewal: Duration,
}

/// How much memory a process has now.
fn memory_mb(process: &Process) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS"))
        .unwrap();
    let kilobytes: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kilobytes / 1_024
}

/// How many binds were done.
fn binds(process: &Process) -> usize {
    let metrics = process.get("/metrics");
    let start = "muster_binds_total{result=\"bound\"} ";
    let mut lines = metrics.lines();
    let found = lines.find_map(|line| line.strip_prefix(start));
    found.map_or(0, |count| count.parse().unwrap())
}

/// Binds pods of others, and watches.
#[expect(
    clippy::disallowed_methods,
    reason = "how late the Lease is renewed is a matter of real time"
)]
fn bind_others(cluster: &Cluster, process: &Process, gang: &str) -> Seen {
    let lease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/muster";
    let (done, before) = (AtomicBool::new(false), binds(process));
    scope(|scope| {
        let renewals = scope.spawn(|| {
            let (mut longest, mut memory) = (Duration::ZERO, 0);
            let (mut version, mut since) = (String::new(), Instant::now());
            while !done.load(Ordering::Relaxed) {
                // It is not there before the first who starts has it.
                let found = cluster.plane.get(lease).unwrap_or_default();
                let found = text(&found, "/metadata/resourceVersion");
                if found != version {
                    if !version.is_empty() {
                        longest = longest.max(since.elapsed());
                    }
                    (version, since) = (found, Instant::now());
                }
                memory = memory.max(memory_mb(process));
                sleep(Duration::from_millis(50));
            }
            assert!(!version.is_empty(), "there is a Lease");
            (longest.max(since.elapsed()), memory)
        });
        let count = u32::try_from(OTHERS).unwrap();
        cluster.gang(gang, count);
        cluster.pods_at_once(gang, OTHERS, "1m");
        let took = within(Duration::from_secs(120), "the others are bound", || {
            binds(process) - before >= OTHERS
        });
        let took = took.as_secs_f64();
        done.store(true, Ordering::Relaxed);
        let (renewal, memory_mb) = renewals.join().unwrap();
        Seen {
            binds_a_second: f64::from(count) / took,
            memory_mb,
            renewal,
        }
    })
}

#[test]
#[ignore = "measures, for some minutes: cargo test --test live deaf_extender -- --ignored --nocapture"]
fn an_extender_that_hangs_or_is_dead_costs_everybody_else_little() {
    let cluster = Cluster::start();
    cluster.nodes(NODES, "8");
    // Whoever connects waits for an answer that never comes.
    let deaf = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = deaf.local_addr().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let config = config_file(
        &dir,
        &format!(
            "extenders:\n- {{urlPrefix: 'http://{address}/x', filterVerb: filter, nodeCacheCapable: false, \
             managedResources: [{{name: example.com/card, ignoredByScheduler: true}}]}}\n"
        ),
    );
    let muster = Process::start(&cluster, &[&config]);
    // The first wave pays for what is made once.
    bind_others(&cluster, &muster, "warm");
    let without = bind_others(&cluster, &muster, "without");
    for index in 0..WAITING {
        let mut pod = single(&format!("card-{index}"), &json!({}));
        pod["spec"]["containers"][0]["resources"] = json!({
            "requests": {"example.com/card": "1"}, "limits": {"example.com/card": "1"},
        });
        cluster.plane.post(PODS, &pod).unwrap();
    }
    eventually("it is asked", || {
        let metrics = muster.get("/metrics");
        let mut lines = metrics.lines();
        lines.any(|line| line.starts_with("muster_plugin_requests_total") && !line.ends_with(" 0"))
    });
    let hanging = bind_others(&cluster, &muster, "hanging");
    drop(deaf);
    sleep(Duration::from_secs(5));
    let dead = bind_others(&cluster, &muster, "dead");
    for (what, seen) in [
        ("without", &without),
        ("hanging", &hanging),
        ("dead", &dead),
    ] {
        eprintln!("{what}: {seen:?}");
    }
    for seen in [&hanging, &dead] {
        assert!(
            seen.binds_a_second > without.binds_a_second / 3.0,
            "{seen:?}, without {without:?}"
        );
        assert!(seen.memory_mb < without.memory_mb + 200, "{seen:?}");
        assert!(seen.renewal < TERM, "{seen:?}");
    }
    assert_eq!(cluster.bound("card-"), 0);
}
