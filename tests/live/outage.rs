//! The API server is away in mid-wave: what nobody could do counts against nobody.
//!
//! Where there is room for all, nobody who runs is deleted and every gang gets whole. The pods are bare: one
//! that is deleted does not come back by itself. Who begins when the API server has come back to a busy machine
//! may be too slow and is made anew, as a controller would; who was bound before may not go. Needs what
//! `hack/build-control-plane` builds.

use crate::live::{Cluster, PODS, eventually, pod, text, within};
use muster::cluster::lease::{Identity, LeaseOptions};
use muster_devcluster::{ControlPlane, Role};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

const GANGS: usize = 24;
const MEMBERS: u32 = 20;
/// What each of them asks for.
const CPU: &str = "100m";

/// How long it is away.
const AWAY: Duration = Duration::from_secs(10);

/// How often is looked: to list all pods is much work for an API server that has just come back.
const LOOK: Duration = Duration::from_millis(500);
/// An API server that comes back to a busy machine needs as long again. What is promised is not a time.
const LONG: Duration = Duration::from_secs(240);

/// Who is on a node, by uid, and how many gangs are bound in part.
fn bound(list: &Value) -> (BTreeMap<String, String>, usize) {
    let pods = list["items"].as_array().unwrap().iter();
    let bound = pods.filter(|pod| pod.pointer("/spec/nodeName").is_some());
    let bound: Vec<&Value> = bound.collect();
    let mut gangs: BTreeMap<String, u32> = BTreeMap::new();
    for pod in &bound {
        let name = text(pod, "/metadata/name");
        let gang = name.rsplit_once('-').unwrap().0.to_owned();
        *gangs.entry(gang).or_default() += 1;
    }
    let cut = gangs.values().filter(|count| **count < MEMBERS).count();
    let uids = bound
        .iter()
        .map(|pod| (text(pod, "/metadata/uid"), text(pod, "/metadata/name")));
    (uids.collect(), cut)
}

/// Makes the pods anew that are not there any more; says how many.
fn make_anew(cluster: &Cluster, list: &Value) -> usize {
    let pods = list["items"].as_array().unwrap().iter();
    let there: BTreeSet<String> = pods.map(|pod| text(pod, "/metadata/name")).collect();
    let members = (0..GANGS).flat_map(|gang| (0..MEMBERS as usize).map(move |i| (gang, i)));
    let all = members.map(|(gang, i)| pod(&format!("wave{gang}"), i, CPU));
    let lost = all.filter(|pod| !there.contains(&text(pod, "/metadata/name")));
    let lost: Vec<Value> = lost.collect();
    for pod in &lost {
        cluster.plane.post(PODS, pod).unwrap();
    }
    lost.len()
}

fn survives(lease: bool, stop: fn(&mut ControlPlane), go_on: fn(&mut ControlPlane)) {
    let mut cluster = Cluster::bare();
    cluster.apply_folder("crds");
    cluster.nodes(30, "32");
    for gang in 0..GANGS {
        let name = format!("wave{gang}");
        cluster.gang(&name, MEMBERS);
        cluster.pods_at_once(&name, MEMBERS as usize, CPU);
    }
    let lease = lease.then(|| LeaseOptions {
        namespace: "kube-system".to_owned(),
        name: "muster".to_owned(),
        identity: Identity::of_process("one"),
    });
    let kubeconfig = cluster.plane.kubeconfig();
    let few = |options: &mut muster::live::Options| options.binds_in_flight = 3;
    let muster = cluster.muster_with(&kubeconfig, lease, few);
    let binds = muster.metrics.binds.with_label_values(&["bound"]);
    eventually("the wave is on its way", || binds.get() >= 105);
    let (before, cut) = bound(&cluster.plane.get(PODS).unwrap());
    stop(Arc::get_mut(&mut cluster.plane).unwrap());
    sleep(AWAY);
    go_on(Arc::get_mut(&mut cluster.plane).unwrap());
    let mut anew = 0;
    let took = within(LONG, "every gang is whole", || {
        let list = cluster.plane.get(PODS).unwrap();
        let (now, _) = bound(&list);
        let gone = before.iter().find(|(uid, _)| !now.contains_key(*uid));
        assert_eq!(gone, None, "deleted, though there is room for all");
        let whole = now.len() == GANGS * MEMBERS as usize;
        if !whole {
            anew += make_anew(&cluster, &list);
            sleep(LOOK);
        }
        whole
    });
    eprintln!(
        "{} were bound, {cut} gangs cut; whole {took:.1?} after, {anew} pods begun later and made anew",
        before.len()
    );
    muster.stop();
}

fn kill(plane: &mut ControlPlane) {
    plane.kill(Role::ApiServer).unwrap();
}

fn restart(plane: &mut ControlPlane) {
    plane.restart(Role::ApiServer).unwrap();
}

#[test]
fn an_api_server_that_was_dead_for_ten_seconds_costs_nobody_who_runs() {
    for lease in [true, false] {
        survives(lease, kill, restart);
    }
}

#[test]
fn an_etcd_that_stood_still_for_ten_seconds_costs_nobody_who_runs() {
    let pause = |plane: &mut ControlPlane| plane.pause(Role::Etcd).unwrap();
    let resume = |plane: &mut ControlPlane| {
        plane.resume(Role::Etcd).unwrap();
        // It answers once it has found its feet.
        while plane.get(PODS).is_err() {
            sleep(Duration::from_millis(100));
        }
    };
    for lease in [true, false] {
        survives(lease, pause, resume);
    }
}
