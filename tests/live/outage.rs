//! The API server is away in mid-wave: what nobody could do counts against nobody.
//!
//! Where there is room for all, nobody who runs is deleted and every gang gets whole. The pods are bare: one
//! that is deleted does not come back by itself. A gang that begins when the API server has come back to a
//! busy machine may be too slow, and is made anew as its controller would; who had begun before may not. Needs what `hack/build-control-plane` builds.

use crate::live::{Cluster, PODS, eventually, text, within};
use muster::cluster::lease::{Identity, LeaseOptions};
use muster_devcluster::{ControlPlane, Role};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

const GANGS: usize = 24;
const MEMBERS: u32 = 20;

/// How long it is away.
const AWAY: Duration = Duration::from_secs(10);

/// How often is looked: to list all pods is much work for an API server that has just come back.
const LOOK: Duration = Duration::from_millis(500);
/// An API server that comes back to a busy machine needs as long again. What is promised is not a time.
const LONG: Duration = Duration::from_secs(240);

/// Who is on a node, by uid, and how many gangs are bound in part.
fn bound(cluster: &Cluster) -> (BTreeMap<String, String>, usize) {
    let list = cluster.plane.get(PODS).unwrap();
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

/// Makes the gangs anew of which no pod is left.
fn replace_the_lost(cluster: &Cluster) -> Vec<String> {
    let list = cluster.plane.get(PODS).unwrap();
    let pods = list["items"].as_array().unwrap().iter();
    let there: BTreeSet<String> = pods
        .map(|pod| {
            text(pod, "/metadata/name")
                .rsplit_once('-')
                .unwrap()
                .0
                .to_owned()
        })
        .collect();
    let all = (0..GANGS).map(|gang| format!("wave{gang}"));
    let lost: Vec<String> = all.filter(|gang| !there.contains(gang)).collect();
    for gang in &lost {
        cluster.pods_at_once(gang, MEMBERS as usize, "100m");
    }
    lost
}

fn survives(lease: bool, stop: fn(&mut ControlPlane), go_on: fn(&mut ControlPlane)) {
    let mut cluster = Cluster::bare();
    cluster.apply_folder("crds");
    cluster.nodes(30, "32");
    for gang in 0..GANGS {
        let name = format!("wave{gang}");
        cluster.gang(&name, MEMBERS);
        cluster.pods_at_once(&name, MEMBERS as usize, "100m");
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
    let (before, cut) = bound(&cluster);
    stop(Arc::get_mut(&mut cluster.plane).unwrap());
    sleep(AWAY);
    go_on(Arc::get_mut(&mut cluster.plane).unwrap());
    let mut anew = Vec::new();
    let took = within(LONG, "every gang is whole", || {
        let (now, _) = bound(&cluster);
        let gone = before.iter().find(|(uid, _)| !now.contains_key(*uid));
        assert_eq!(gone, None, "deleted, though there is room for all");
        anew.extend(replace_the_lost(&cluster));
        sleep(LOOK);
        now.len() == GANGS * MEMBERS as usize
    });
    eprintln!(
        "{} were bound, {cut} gangs cut; whole {took:.1?} after, {} begun later and made anew",
        before.len(),
        anew.len()
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
