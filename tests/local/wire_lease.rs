//! The Lease on the wire: what is asked for, when, and what that does to the fence.
//!
//! An API server that answers from a script takes the place of a real one; time is tokio's, held
//! still, so that waits are exact.

use crate::fake_api::{Asked, FakeApi, Reply, status};
use kube::Client;
use muster::cluster::health::Role;
use muster::cluster::lease::{Identity, Lease, LeaseOptions};
use muster::cluster::{Error, Fence, Health, Metrics};
use muster::controllers::testbed::Settings;
use muster::live::controllers;
use muster::model::Writes;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/muster";

/// The Lease as an API server keeps it, and what it shall answer instead.
#[derive(Default)]
struct Store {
    lease: Option<Value>,
    version: u64,
    /// Answers to the next writes.
    instead: Vec<Reply>,
}

impl Store {
    fn held_by(holder: &Value) -> Arc<Mutex<Self>> {
        let mut store = Self::default();
        store.put(json!({"spec": {"holderIdentity": holder, "leaseDurationSeconds": 6}}));
        Arc::new(Mutex::new(store))
    }

    fn put(&mut self, mut lease: Value) -> Value {
        self.version += 1;
        lease["apiVersion"] = json!("coordination.k8s.io/v1");
        lease["kind"] = json!("Lease");
        lease["metadata"]["name"] = json!("muster");
        lease["metadata"]["uid"] = json!("u1");
        lease["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.lease = Some(lease.clone());
        lease
    }

    fn answer(&mut self, asked: &Asked) -> Reply {
        let read = asked.line.starts_with("GET ");
        if asked.line.contains("watch=true") {
            return Reply::Open(vec![]);
        }
        if !read && !self.instead.is_empty() {
            return self.instead.remove(0);
        }
        match &self.lease {
            None if asked.line.starts_with("POST ") => {
                Reply::Json(201, self.put(asked.body.clone()))
            }
            None => status(404, "not found"),
            Some(lease) if read => Reply::Json(200, lease.clone()),
            Some(lease)
                if lease["metadata"]["resourceVersion"]
                    == asked.body["metadata"]["resourceVersion"] =>
            {
                Reply::Json(200, self.put(asked.body.clone()))
            }
            Some(_) => status(409, "the object has been modified"),
        }
    }
}

fn serve(store: &Arc<Mutex<Store>>) -> (FakeApi, Client) {
    let store = Arc::clone(store);
    FakeApi::start(move |asked: &Asked| store.lock().unwrap().answer(asked))
}

fn lease(client: Client, identity: Identity) -> (Lease, Fence, Arc<Health>) {
    let (fence, health) = (Fence::shut(), Arc::new(Health::default()));
    let options = lease_options(identity);
    let lease = Lease::new(client, options, fence.clone(), Arc::clone(&health));
    (lease, fence, health)
}

fn lease_options(identity: Identity) -> LeaseOptions {
    LeaseOptions {
        namespace: "kube-system".to_owned(),
        name: "muster".to_owned(),
        identity,
    }
}

fn me() -> Identity {
    Identity::of_process("me")
}

#[tokio::test(start_paused = true)]
async fn a_free_lease_is_taken_renewed_and_given_back() {
    let store = Store::held_by(&Value::Null);
    let (api, client) = serve(&store);
    let (mut lease, fence, health) = lease(client, me());
    let start = Instant::now();
    lease.acquire().await.unwrap();
    assert_eq!(health.holder().as_deref(), Some("me"));
    assert!(fence.is_open());
    let held = timeout(Duration::from_secs(4), lease.hold());
    assert!(held.await.is_err(), "held until somebody takes it");
    lease.release().await;
    assert!(!fence.is_open());
    let asked = api.asked();
    let lines: Vec<_> = asked
        .iter()
        .map(|one| (one.line.split('?').next().unwrap(), one.at - start))
        .collect();
    let (get, put) = (format!("GET {LEASE}"), format!("PUT {LEASE}"));
    let at = Duration::from_millis;
    let wanted = [
        (get.as_str(), at(0)),
        (put.as_str(), at(0)),
        (put.as_str(), at(1_500)),
        (put.as_str(), at(3_000)),
        (put.as_str(), at(4_000)),
    ];
    assert_eq!(lines, wanted);
    let mut taken = asked[1].body.clone();
    for time in ["acquireTime", "renewTime"] {
        assert!(taken["spec"][time].take().is_string());
    }
    assert_eq!(
        taken["spec"],
        json!({
            "holderIdentity": "me", "leaseDurationSeconds": 6, "leaseTransitions": 1,
            "acquireTime": null, "renewTime": null,
        })
    );
    assert_eq!(taken["metadata"]["resourceVersion"], "1");
    assert_eq!(asked[4].body["spec"]["holderIdentity"], Value::Null);
}

#[tokio::test(start_paused = true)]
async fn a_standby_hears_of_it_when_the_lease_is_given_back() {
    let store = Store::held_by(&json!("other"));
    let freed = json!({"type": "MODIFIED", "object": {
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "muster", "uid": "u1", "resourceVersion": "2"},
        "spec": {},
    }});
    let (api, client) = {
        let store = Arc::clone(&store);
        FakeApi::start(move |asked: &Asked| {
            if !asked.line.contains("watch=true") {
                return store.lock().unwrap().answer(asked);
            }
            assert!(
                asked.line.contains("fieldSelector=metadata.name%3Dmuster"),
                "{asked:?}"
            );
            assert!(asked.line.contains("resourceVersion=1"), "{asked:?}");
            store.lock().unwrap().put(json!({"spec": {}}));
            Reply::Open(vec![freed.clone()])
        })
    };
    let (mut lease, fence, health) = lease(client, me());
    let start = Instant::now();
    lease.acquire().await.unwrap();
    assert!(fence.is_open());
    assert_eq!(health.role(), Role::StandingBy);
    assert!(
        start.elapsed() < Duration::from_millis(100),
        "{:?}",
        start.elapsed()
    );
    assert_eq!(api.lines().len(), 3, "{:?}", api.lines());
}

#[tokio::test(start_paused = true)]
async fn the_next_process_of_a_pod_waits_only_for_what_the_last_had_sent() {
    let before = Identity::in_pod("muster-0", "5d6c", "1_1");
    let store = Store::held_by(&json!(before.name()));
    let (_, client) = serve(&store);
    let (mut lease, fence, _) = lease(client, Identity::in_pod("muster-0", "5d6c", "1_2"));
    let start = Instant::now();
    lease.acquire().await.unwrap();
    assert!(fence.is_open());
    let took = start.elapsed();
    assert!((2_500..2_600).contains(&took.as_millis()), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn one_that_cannot_renew_stops_sending_in_time_and_goes_on_when_it_can() {
    let store = Store::held_by(&Value::Null);
    let (_, client) = serve(&store);
    let (mut lease, fence, health) = lease(client, me());
    lease.acquire().await.unwrap();
    // Nobody answers from now on: the renewals at 1.5 s and later are lost.
    store.lock().unwrap().instead = vec![Reply::Open(vec![]); 8];
    let watched = tokio::spawn({
        let fence = fence.clone();
        async move {
            let start = Instant::now();
            let mut open = Vec::new();
            for _ in 0..200 {
                open.push((start.elapsed(), fence.is_open()));
                sleep(Duration::from_millis(50)).await;
            }
            open
        }
    });
    let mut hold = tokio::spawn(async move { lease.hold().await });
    sleep(Duration::from_millis(4_500)).await;
    let problem = health.problems().join("\n");
    assert!(
        problem.contains("the lease kube-system/muster cannot be written"),
        "{problem}"
    );
    store.lock().unwrap().instead.clear();
    let open = watched.await.unwrap();
    let at = |millis: u64| {
        let before = open
            .iter()
            .take_while(|(at, _)| at.as_millis() <= u128::from(millis));
        before.last().unwrap().1
    };
    assert!(at(3_400) && !at(3_500) && !at(4_400), "{open:?}");
    assert!(at(6_500) && at(9_900), "it goes on: {open:?}");
    // Whoever decides hears of it, before anything may be decided again.
    let told = fence.take_news();
    assert!(
        matches!(
            told[..],
            [Writes::Stalled { .. }, .., Writes::Judged { .. }]
        ),
        "{told:?}"
    );
    assert!(timeout(Duration::from_secs(1), &mut hold).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn it_is_lost_to_another_in_words() {
    let store = Store::held_by(&Value::Null);
    let (_, client) = serve(&store);
    let (mut lease, fence, _) = lease(client, me());
    lease.acquire().await.unwrap();
    store
        .lock()
        .unwrap()
        .put(json!({"spec": {"holderIdentity": "other"}}));
    let error = lease.hold().await;
    assert!(matches!(error, Error::LeaseLost { .. }));
    assert_eq!(
        error.to_string(),
        "lost the lease kube-system/muster: other holds it"
    );
    assert!(!fence.is_open());
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_may_not_be_read_is_a_problem_with_a_name() {
    let (api, client) = FakeApi::start(|_: &Asked| status(403, "leases is forbidden"));
    let (mut lease, _, health) = lease(client, me());
    let asking = timeout(Duration::from_secs(10), lease.acquire());
    assert!(asking.await.is_err());
    let problems = health.problems().join("\n");
    assert!(
        problems.contains("the lease kube-system/muster cannot be read"),
        "{problems}"
    );
    assert!(problems.contains("leases is forbidden"), "{problems}");
    assert!(
        (15..25).contains(&api.asked().len()),
        "{}",
        api.asked().len()
    );
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_may_not_be_watched_is_remarked_until_it_may() {
    let store = Store::held_by(&json!("other"));
    let may = Arc::new(AtomicBool::new(false));
    let (_, client) = {
        let (store, may) = (Arc::clone(&store), Arc::clone(&may));
        FakeApi::start(move |asked: &Asked| {
            let mut store = store.lock().unwrap();
            if !asked.line.contains("watch=true") {
                // The other renews it.
                let held = json!({"spec": {"holderIdentity": "other", "leaseDurationSeconds": 6}});
                store.put(held);
                return store.answer(asked);
            }
            let lease = store.lease.clone().unwrap();
            match may.load(Ordering::SeqCst) {
                true => Reply::Open(vec![json!({"type": "MODIFIED", "object": lease})]),
                false => status(403, "leases is forbidden: cannot watch"),
            }
        })
    };
    let (mut lease, _, health) = lease(client, me());
    let asking = timeout(Duration::from_secs(10), lease.acquire());
    assert!(asking.await.is_err());
    let wanted = "missing permission: watch leases.coordination.k8s.io (a standby looks every 2 s whether the lease \
                  is free)";
    assert_eq!(health.remarks(), [wanted]);
    assert_eq!(health.problems(), [""; 0], "it could take over");
    may.store(true, Ordering::SeqCst);
    let asking = timeout(Duration::from_secs(10), lease.acquire());
    assert!(asking.await.is_err());
    assert_eq!(health.remarks(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_is_absent_is_made_for_whoever_held_it() {
    let (api, client) = serve(&Arc::default());
    let (mut lease, _, _) = lease(client, me());
    let start = Instant::now();
    lease.acquire().await.unwrap();
    assert_eq!(start.elapsed().as_secs(), 6);
    let asked = api.asked();
    let made = asked
        .iter()
        .find(|one| one.line.starts_with("POST "))
        .unwrap();
    assert_eq!(made.body["spec"]["holderIdentity"], "unknown");
    assert_eq!(made.body["metadata"]["name"], "muster");
}

/// Controllers that ask for this lease, told to stop when they have asked for so long; returns when they ended.
async fn controllers_told_to_stop(client: Client, after: Duration) -> Duration {
    let (_, fence, health) = lease(client.clone(), me());
    let options = controllers::Options {
        reader: client.clone(),
        writer: client.clone(),
        fence,
        lease: Some((client, lease_options(me()))),
        settings: Settings::default(),
        in_flight: 16,
        health,
        metrics: Arc::new(Metrics::new().unwrap()),
    };
    let start = Instant::now();
    controllers::run(options, sleep(after)).await.unwrap();
    start.elapsed()
}

#[tokio::test(start_paused = true)]
async fn told_to_stop_while_it_takes_the_lease_it_gives_it_back() {
    let answers_late = Duration::from_millis(300);
    // Its answer comes, or never does.
    for (late, ended) in [(answers_late, 300), (Duration::from_secs(60), 1_500)] {
        let store = Store::held_by(&Value::Null);
        let (api, client) = {
            let store = Arc::clone(&store);
            FakeApi::start(move |asked: &Asked| {
                let reply = store.lock().unwrap().answer(asked);
                let takes = asked.body["spec"]["holderIdentity"] == "me";
                match takes && asked.line.starts_with("PUT ") {
                    true => Reply::Late(late, Box::new(reply)),
                    false => reply,
                }
            })
        };
        let took = controllers_told_to_stop(client, Duration::from_millis(100)).await;
        let lines = api.lines();
        let about_it = |line: &&String| line.contains("/leases/");
        let methods: Vec<_> = (lines.iter().filter(about_it))
            .map(|line| line.split(' ').next().unwrap())
            .collect();
        let wanted: &[_] = match late == answers_late {
            true => &["GET", "PUT", "PUT"],
            false => &["GET", "PUT", "GET", "PUT"],
        };
        assert_eq!(methods, wanted);
        let left = store.lock().unwrap().lease.clone().unwrap();
        assert_eq!(left["spec"]["holderIdentity"], Value::Null, "{left}");
        assert_eq!(took.as_millis(), ended);
    }
}

#[tokio::test(start_paused = true)]
async fn told_to_stop_while_another_has_the_lease_it_leaves_at_once_and_writes_nothing() {
    let store = Store::held_by(&json!("other"));
    let (api, client) = serve(&store);
    let took = controllers_told_to_stop(client, Duration::from_millis(100)).await;
    assert_eq!(took.as_millis(), 100);
    let lines = api.lines();
    assert!(
        !lines.iter().any(|line| line.starts_with("PUT")),
        "{lines:?}"
    );
}

async fn hold_for_a_while(lease: &mut Lease) {
    let held = timeout(Duration::from_secs(15), lease.hold());
    assert!(held.await.is_err(), "nobody takes it");
}

#[tokio::test(start_paused = true)]
async fn who_cannot_do_the_work_does_not_renew_and_goes_on_when_it_can() {
    let store = Store::held_by(&Value::Null);
    let (api, client) = serve(&store);
    let (mut lease, fence, health) = lease(client, me());
    lease.acquire().await.unwrap();
    let pulse = health.pulse().clone();
    let renewals = || {
        let lines = api.lines();
        lines.iter().filter(|line| line.starts_with("PUT")).count()
    };
    let looks = tokio::spawn(async move { pulse.stopped().await });
    hold_for_a_while(&mut lease).await;
    assert!(fence.is_open());
    hold_for_a_while(&mut lease).await;
    let before = renewals();
    assert!(
        (13..=15).contains(&before),
        "{before}: one in 1.5 s, for 20 s"
    );
    assert!(!fence.is_open());
    let said = "the engine does not move: the lease is not renewed";
    assert!(health.problems().contains(&said.to_owned()));
    hold_for_a_while(&mut lease).await;
    assert_eq!(renewals(), before);
    // It moves again, and nobody has come.
    health.pulse().beat();
    hold_for_a_while(&mut lease).await;
    assert!(fence.is_open());
    assert!(renewals() > before + 8, "{}", renewals());
    assert!(!health.problems().contains(&said.to_owned()));
    assert!(!looks.is_finished());
    looks.abort();
}

#[tokio::test(start_paused = true)]
async fn who_cannot_do_the_work_loses_the_lease_to_who_can() {
    let store = Store::held_by(&Value::Null);
    let (_api, client) = serve(&store);
    let (mut first, _, health) = lease(client.clone(), me());
    first.acquire().await.unwrap();
    let pulse = health.pulse().clone();
    let looks = tokio::spawn(async move { pulse.stopped().await });
    let start = Instant::now();
    let lost = tokio::spawn(async move { first.hold().await });
    let (mut second, fence, _) = lease(client, Identity::of_process("other"));
    timeout(Duration::from_secs(40), second.acquire())
        .await
        .expect("it is free by then")
        .unwrap();
    let after = start.elapsed().as_secs();
    assert!((24..=30).contains(&after), "{after} s");
    assert!(fence.is_open());
    let lost = lost.await.unwrap();
    assert!(lost.to_string().contains("other holds it"), "{lost}");
    looks.abort();
}
