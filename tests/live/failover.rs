//! One scheduler dies, stands still or is told to stop, and another goes on.
//!
//! What is measured is read from the API server's audit log: who wrote what, and when. Two users
//! with every right tell the processes apart. Needs what `hack/build-control-plane` builds.

use crate::audit::{now, written};
use crate::live::{Cluster, PODS, eventually, pod};
use crate::process::{Process, free_lease};
use jiff::{SignedDuration, Timestamp};
use std::collections::BTreeMap;
use std::fmt;
use std::io::Write;
use std::thread::sleep;
use std::time::Duration;
use tempfile::NamedTempFile;

const FIRST: &str = "first";
const SECOND: &str = "second";
const NODES: usize = 20;
/// What each node has room for, in pods of one CPU.
const ROOM: usize = 45;

fn scene() -> Cluster {
    let all = ["system:masters"];
    let cluster = Cluster::of(|builder| builder.audit(true).user(FIRST, &all).user(SECOND, &all));
    cluster.apply_folder("crds");
    cluster.nodes(NODES, &ROOM.to_string());
    free_lease(&cluster);
    cluster
}

/// Starts a scheduler as this user. `binds`: how many are in flight at once.
fn start(cluster: &Cluster, user: &str, binds: u32, env: &[(&str, &str)]) -> Process {
    let mut file = NamedTempFile::with_suffix(".yaml").unwrap();
    let head = "apiVersion: config.muster.dev/v1alpha1\nkind: SchedulerConfiguration\n";
    writeln!(file, "{head}bindConcurrency: {binds}").unwrap();
    let config = format!("--config={}", file.path().display());
    let kubeconfig = cluster.plane.kubeconfig_of(user).unwrap();
    let process = Process::start_as(&kubeconfig, &[&config], env);
    eventually("it asks for the lease", || {
        process.said("asking for the lease").is_some()
    });
    process
}

fn leads(process: &Process) {
    eventually("it leads", || process.said("leading").is_some());
}

fn stands_by(process: &Process) {
    eventually("it stands by", || {
        process.get("/readyz").contains("standing by")
    });
}

fn seconds(span: SignedDuration) -> f64 {
    span.as_secs_f64()
}

/// A gang of so many pods, all but the last of them there.
fn prepare(cluster: &Cluster, gang: &str, members: usize) {
    cluster.gang(gang, u32::try_from(members).unwrap());
    cluster.pods(gang, members - 1, "1");
}

/// Creates the last pod and waits until so many are bound by this process.
fn begin_wave(cluster: &Cluster, process: &Process, gang: &str, members: usize, bound: u32) {
    cluster
        .plane
        .post(PODS, &pod(gang, members - 1, "1"))
        .unwrap();
    let enough = || {
        let metrics = process.get("/metrics");
        let line = "muster_binds_total{result=\"bound\"} ";
        let count = metrics.split(line).nth(1).and_then(|rest| {
            let digits = rest.split_whitespace().next()?;
            digits.parse::<u32>().ok()
        });
        count.is_some_and(|count| count >= bound)
    };
    eventually("the wave is on its way", enough);
}

/// The binds of this user that were accepted, in their order.
fn binds(cluster: &Cluster, user: &str) -> Vec<Timestamp> {
    let binds = written(&cluster.plane, user).into_iter();
    let binds = binds.filter(|one| one.path.ends_with("/binding") && one.code == 201);
    let mut times: Vec<Timestamp> = binds.map(|one| one.done).collect();
    times.sort();
    times
}

/// Waits until all members are bound; checks that no node has more than it has room for.
fn whole(cluster: &Cluster, gang: &str, members: usize) {
    eventually("the gang is whole", || {
        sleep(Duration::from_millis(200));
        cluster.bound(gang) == members
    });
    let mut used = BTreeMap::new();
    for node in cluster.placed("").into_values().flatten() {
        *used.entry(node).or_insert(0) += 1;
    }
    assert!(used.values().all(|pods| *pods <= ROOM), "{used:?}");
}

/// How a wave went on after the first scheduler.
struct Resumed {
    /// How many binds the first one did.
    before: usize,
    /// How long nothing was bound between the two.
    gap: f64,
    /// The longest time after that without a bind.
    pause: f64,
    /// After which time since the end of the first one all was bound.
    whole: f64,
}

impl Resumed {
    fn after(cluster: &Cluster, ended: Timestamp) -> Self {
        let (before, after) = (binds(cluster, FIRST), binds(cluster, SECOND));
        let between = |pair: &[Timestamp]| seconds(pair[1].duration_since(pair[0]));
        Self {
            before: before.len(),
            gap: between(&[before[before.len() - 1], after[0]]),
            pause: after.windows(2).map(between).fold(0.0, f64::max),
            whole: seconds(after[after.len() - 1].duration_since(ended)),
        }
    }
}

impl fmt::Display for Resumed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            before,
            gap,
            pause,
            whole,
        } = self;
        write!(
            f,
            "after {before} binds: the next after {gap:.2} s, no pause of more than {pause:.2} s, whole after {whole:.2} s"
        )
    }
}

#[test]
fn a_leader_killed_in_mid_wave_and_started_anew_in_its_pod_goes_on_within_8_s() {
    let members = 500;
    let cluster = scene();
    prepare(&cluster, "wave", members);
    let pod = [("POD_NAME", "muster-0"), ("POD_UID", "5d6c7b8a")];
    let mut leader = start(&cluster, FIRST, 1, &pod);
    leads(&leader);
    begin_wave(&cluster, &leader, "wave", members, 100);
    leader.signal("-KILL");
    let killed = now();
    leader.ended();
    let again = start(&cluster, SECOND, 128, &pod);
    leads(&again);
    whole(&cluster, "wave", members);
    let wave = Resumed::after(&cluster, killed);
    eprintln!("killed in a wave of {members} {wave}");
    assert!(wave.before < members, "killed in mid-wave");
    // How long the rest takes is the machine's; a wave that advances is not cut.
    assert!(wave.gap <= 8.0 && wave.pause <= 5.0, "{wave}");
}

#[test]
fn a_leader_that_stood_still_is_replaced_within_9_s_and_writes_nothing_when_it_goes_on() {
    let members = 800;
    let cluster = scene();
    prepare(&cluster, "wave", members);
    let mut leader = start(&cluster, FIRST, 1, &[]);
    leads(&leader);
    let standby = start(&cluster, SECOND, 128, &[]);
    stands_by(&standby);
    begin_wave(&cluster, &leader, "wave", members, 50);
    leader.signal("-STOP");
    let stopped = now();
    leads(&standby);
    whole(&cluster, "wave", members);
    let wave = Resumed::after(&cluster, stopped);
    let queued = members - wave.before;
    eprintln!("paused in a wave of {members} {wave}");
    assert!(queued >= 700, "only {queued} were queued");
    assert!(wave.gap <= 9.0 && wave.pause <= 5.0, "{wave}");

    let paused = Duration::from_secs_f64(seconds(now().duration_since(stopped)));
    sleep(Duration::from_secs(40).saturating_sub(paused));
    let continued = now();
    leader.signal("-CONT");
    assert_eq!(leader.ended().code(), Some(1));
    let took = seconds(now().duration_since(continued));
    // What it might have sent would have been answered by then.
    sleep(Duration::from_secs(3));
    let since = |user: &str| {
        let all = written(&cluster.plane, user).into_iter();
        let since = all.filter(|one| one.came >= continued);
        since.map(|one| one.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(since(FIRST), [""; 0], "the deposed one wrote");
    assert!(!since(SECOND).is_empty(), "the log shows what is written");
    let said = leader.said("ended").unwrap();
    let last = said["error"].as_str().unwrap();
    eprintln!(
        "continued with {queued} binds queued: ended after {took:.2} s, wrote nothing: {last}"
    );
    assert!(
        last.starts_with("lost the lease kube-system/muster: "),
        "{last}"
    );
    assert!(last.ends_with(" holds it"), "{last}");
}

#[test]
fn a_leader_told_to_stop_hands_over_in_less_than_a_second() {
    let cluster = scene();
    let mut leader = start(&cluster, FIRST, 128, &[]);
    leads(&leader);
    for (round, user) in [SECOND, FIRST, SECOND].into_iter().enumerate() {
        let standby = start(&cluster, user, 128, &[]);
        stands_by(&standby);
        let name = format!("one-{round}");
        cluster.gang(&name, 1);
        let before = binds(&cluster, user).len();
        let told = now();
        leader.signal("-TERM");
        cluster.pods(&name, 1, "1");
        eventually("the next one binds", || {
            binds(&cluster, user).len() > before
        });
        let took = seconds(binds(&cluster, user)[before].duration_since(told));
        eprintln!("told to stop: the next pod was bound by the standby after {took:.2} s");
        assert!(took < 1.0, "{took}");
        assert!(leader.ended().success());
        leader = standby;
    }
}
