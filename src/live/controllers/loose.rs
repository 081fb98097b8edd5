//! Watches of what the controllers write for others: kinds that the scheduler does not watch, and of which the
//! controllers read little. Those of operators may be missing on a cluster: then there are none of their objects.

use futures::{StreamExt, pin_mut};
use kube::core::{ApiResource, DynamicObject};
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt, watcher as watch};
use kube::{Api, Client};
use muster_api::kinds::Identity;
use muster_cluster::error_text;
use muster_cluster::health::{Beside, Health, Watched};
use muster_controllers::{Definition, Observation, Resource};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{Sender, error::SendError};
use tokio::time::timeout;

/// What is watched so.
pub(super) const ALL: [Resource; 8] = [
    Resource::BatchJobs,
    Resource::Schedulings,
    Resource::QueueJobs,
    Resource::SchedulingSpecs,
    Resource::PodGroups,
    Resource::Jobs,
    Resource::SparkApplications,
    Resource::FlinkDeployments,
];

/// Whether a cluster may do without it.
const fn is_optional(resource: Resource) -> bool {
    matches!(
        resource,
        Resource::SparkApplications | Resource::FlinkDeployments
    )
}

/// After so many failures in a row it is said that a watch fails: one that ends and begins again is none.
const FAILURES: u32 = 3;
/// A watch that has not failed for so long is well again, even if there was no news: longer than it waits between two
/// tries.
const SETTLE: Duration = Duration::from_secs(75);

/// What it is in `/readyz`.
pub(super) fn beside(resource: Resource) -> Beside {
    let Definition { group, plural, .. } = resource.definition();
    Beside {
        name: format!("{plural}.{group}"),
        optional: is_optional(resource),
        ours: group == Resource::BatchJobs.definition().group,
    }
}

/// A name of an object in its namespace.
type Name = (String, String);

/// Tells of all objects of a resource, for as long as somebody listens.
pub(super) async fn follow(
    client: Client,
    resource: Resource,
    news: Sender<Observation>,
    health: Arc<Health>,
) {
    let Definition {
        group,
        version,
        kind,
        plural,
        ..
    } = resource.definition();
    let definition = ApiResource {
        group: group.to_owned(),
        version: version.to_owned(),
        api_version: format!("{group}/{version}"),
        kind: kind.to_owned(),
        plural: plural.to_owned(),
    };
    let api = Api::<DynamicObject>::all_with(client, &definition);
    let events = watch(api, watcher::Config::default()).default_backoff();
    pin_mut!(events);
    let mut follower = Follower {
        resource,
        news,
        known: BTreeMap::new(),
        listed: BTreeMap::new(),
    };
    let mut state = State {
        beside: beside(resource),
        health,
        state: Watched::Listing,
        failures: 0,
        listed: false,
    };
    loop {
        let event = match timeout(SETTLE, events.next()).await {
            Ok(Some(event)) => event,
            Ok(None) => return,
            Err(_) => {
                state.settled();
                continue;
            }
        };
        let done = match event {
            Ok(event) => {
                state.heard(&event);
                follower.take(event).await
            }
            Err(error) => {
                let was_served = state.state != Watched::NotServed;
                state.failed(&error);
                if state.is_absent() && was_served {
                    follower.not_served().await
                } else {
                    Ok(())
                }
            }
        };
        if done.is_err() {
            // Nobody listens any more.
            return;
        }
    }
}

/// How a watch is doing.
struct State {
    beside: Beside,
    health: Arc<Health>,
    state: Watched,
    failures: u32,
    /// Whether all was told since it last had to begin anew.
    listed: bool,
}

impl State {
    fn heard(&mut self, event: &Event<DynamicObject>) {
        match event {
            // That a list begins is no sign that it works.
            Event::Init => self.listed = false,
            Event::InitApply(_) => self.failures = 0,
            Event::InitDone => {
                self.listed = true;
                self.well();
            }
            Event::Apply(_) | Event::Delete(_) => self.well(),
        }
    }

    /// It has not failed for some time.
    fn settled(&mut self) {
        if self.listed {
            self.well();
        }
    }

    fn well(&mut self) {
        self.failures = 0;
        self.set(Watched::Synced);
    }

    fn failed(&mut self, error: &watcher::Error) {
        self.failures = self.failures.saturating_add(1);
        let words = error_text::watch(error);
        match error {
            watcher::Error::InitialListFailed(kube::Error::Api(status)) if status.code == 404 => {
                self.set(Watched::NotServed);
            }
            _ if code(error) == Some(403) => {
                let words = format!("no permission to list and watch: {words}");
                self.set(Watched::Failing(words));
            }
            _ if self.failures >= FAILURES => self.set(Watched::Failing(words)),
            _ => {}
        }
    }

    /// Whether there is no such kind, and a cluster may do without it.
    fn is_absent(&self) -> bool {
        self.beside.optional && self.state == Watched::NotServed
    }

    fn set(&mut self, state: Watched) {
        if state == self.state {
            return;
        }
        let kind = &self.beside.name;
        match (&self.state, &state) {
            (_, Watched::NotServed) if self.beside.optional => {
                tracing::info!(kind, "this kind is not there, and is looked for again");
            }
            (_, Watched::NotServed) => {
                tracing::warn!(kind, "the API server does not serve this kind");
            }
            // Said once until it works again.
            (Watched::Failing(_), Watched::Failing(_)) => {}
            (_, Watched::Failing(error)) => {
                tracing::warn!(kind, error, "a watch of the controllers failed");
            }
            (Watched::NotServed | Watched::Failing(_), Watched::Synced) => {
                tracing::info!(kind, "watched now");
            }
            _ => {}
        }
        self.health.set_beside(self.beside.clone(), state.clone());
        self.state = state;
    }
}

/// What the API server answered.
fn code(error: &watcher::Error) -> Option<u16> {
    match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status))
        | watcher::Error::WatchFailed(kube::Error::Api(status))
        | watcher::Error::WatchError(status) => Some(status.code),
        _ => None,
    }
}

/// What was told of a resource.
struct Follower {
    resource: Resource,
    news: Sender<Observation>,
    /// The uids of those that were told.
    known: BTreeMap<Name, String>,
    /// The same of a list under way.
    listed: BTreeMap<Name, String>,
}

type Told = Result<(), SendError<Observation>>;

impl Follower {
    async fn take(&mut self, event: Event<DynamicObject>) -> Told {
        match event {
            Event::Init => self.listed.clear(),
            Event::InitApply(object) => {
                let (name, uid) = name_of(&object);
                self.listed.insert(name, uid);
                self.is(object).await?;
            }
            Event::InitDone => {
                let listed = std::mem::take(&mut self.listed);
                let missing = |name: &&Name| !listed.contains_key(*name);
                let gone: Vec<Name> = self.known.keys().filter(missing).cloned().collect();
                for name in gone {
                    self.gone(&name).await?;
                }
                self.news.send(Observation::Synced(self.resource)).await?;
            }
            Event::Apply(object) => self.is(object).await?,
            Event::Delete(object) => {
                let (name, _) = name_of(&object);
                self.gone(&name).await?;
            }
        }
        Ok(())
    }

    /// The API server knows no such kind, so that there are no objects of it.
    async fn not_served(&mut self) -> Told {
        self.listed.clear();
        self.take(Event::InitDone).await?;
        self.news.send(Observation::NotServed(self.resource)).await
    }

    async fn is(&mut self, object: DynamicObject) -> Told {
        let (name, uid) = name_of(&object);
        if self.known.get(&name).is_some_and(|known| *known != uid) {
            self.gone(&name).await?;
        }
        let value = serde_json::to_value(object).unwrap_or_default();
        let Some(news) = Observation::read(self.resource, value) else {
            let (namespace, name) = name;
            let resource = self.resource.path(&namespace);
            tracing::warn!(resource, name, "an object cannot be read, and is left out");
            return Ok(());
        };
        self.known.insert(name, uid);
        self.news.send(news).await
    }

    async fn gone(&mut self, name: &Name) -> Told {
        let Some(uid) = self.known.remove(name) else {
            return Ok(());
        };
        let (namespace, name) = name.clone();
        let object = Identity {
            namespace,
            name,
            uid,
        };
        self.news
            .send(Observation::Gone(self.resource, object))
            .await
    }
}

fn name_of(object: &DynamicObject) -> (Name, String) {
    let meta = &object.metadata;
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    ((text(&meta.namespace), text(&meta.name)), text(&meta.uid))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use tokio::sync::mpsc::{Receiver, channel};

    fn job(name: &str, uid: &str) -> DynamicObject {
        let meta = json!({"namespace": "n", "name": name, "uid": uid});
        serde_json::from_value(json!({"metadata": meta, "status": {"active": 1}})).unwrap()
    }

    fn told(news: &mut Receiver<Observation>) -> Vec<String> {
        let mut all = Vec::new();
        while let Ok(one) = news.try_recv() {
            all.push(match one {
                Observation::Other(_, other) => {
                    format!("is {}", other.metadata.uid.unwrap_or_default())
                }
                Observation::Gone(_, object) => format!("gone {}", object.uid),
                Observation::Synced(_) => "synced".to_owned(),
                Observation::NotServed(_) => "not served".to_owned(),
                other => format!("{other:?}"),
            });
        }
        all
    }

    #[tokio::test]
    async fn what_a_list_lacks_is_gone_and_what_has_another_uid_is_another() {
        let (news, mut heard) = channel(20);
        let mut follower = Follower {
            resource: Resource::Jobs,
            news,
            known: BTreeMap::new(),
            listed: BTreeMap::new(),
        };
        follower.take(Event::Init).await.unwrap();
        for (name, uid) in [("a", "1"), ("b", "2")] {
            follower
                .take(Event::InitApply(job(name, uid)))
                .await
                .unwrap();
        }
        follower.take(Event::InitDone).await.unwrap();
        assert_eq!(told(&mut heard), ["is 1", "is 2", "synced"]);
        follower.take(Event::Apply(job("a", "3"))).await.unwrap();
        assert_eq!(told(&mut heard), ["gone 1", "is 3"]);
        follower.take(Event::Init).await.unwrap();
        follower
            .take(Event::InitApply(job("a", "3")))
            .await
            .unwrap();
        follower.take(Event::InitDone).await.unwrap();
        assert_eq!(told(&mut heard), ["is 3", "gone 2", "synced"]);
        follower.take(Event::Delete(job("a", "3"))).await.unwrap();
        follower.take(Event::Delete(job("a", "3"))).await.unwrap();
        assert_eq!(told(&mut heard), ["gone 3"]);
    }

    #[tokio::test]
    async fn of_a_kind_that_is_not_served_any_more_all_is_gone() {
        let (news, mut heard) = channel(20);
        let mut follower = Follower {
            resource: Resource::SparkApplications,
            news,
            known: BTreeMap::new(),
            listed: BTreeMap::new(),
        };
        follower.take(Event::Apply(job("a", "1"))).await.unwrap();
        follower.take(Event::Init).await.unwrap();
        follower.not_served().await.unwrap();
        assert_eq!(told(&mut heard), ["is 1", "gone 1", "synced", "not served"]);
    }

    fn api(code: u16) -> watcher::Error {
        let status = json!({"status": "Failure", "message": "no", "reason": "", "code": code});
        let status = serde_json::from_value::<kube::core::Status>(status).unwrap();
        watcher::Error::InitialListFailed(kube::Error::Api(Box::new(status)))
    }

    /// A watch that leads, and what is said of it.
    fn watched(resource: Resource) -> (State, impl Fn() -> Vec<String>) {
        let health = Arc::new(Health::of(&[]));
        health.set_role(muster_cluster::health::Role::Leading);
        health.set_beside(beside(resource), Watched::Listing);
        let state = State {
            beside: beside(resource),
            health: Arc::clone(&health),
            state: Watched::Listing,
            failures: 0,
            listed: false,
        };
        (state, move || health.problems())
    }

    #[test]
    fn a_watch_that_has_not_told_all_or_fails_is_said_until_it_is_well() {
        let (mut jobs, said) = watched(Resource::Jobs);
        assert_eq!(said(), ["jobs.batch: not synced yet"]);
        jobs.heard(&Event::Init);
        jobs.heard(&Event::InitDone);
        assert_eq!(said(), [""; 0]);
        jobs.failed(&api(500));
        jobs.failed(&api(500));
        assert_eq!(said(), [""; 0], "it begins anew now and then");
        jobs.failed(&api(500));
        assert_eq!(said(), ["jobs.batch: list: no (HTTP 500)"]);
        jobs.heard(&Event::Init);
        jobs.settled();
        assert_eq!(said().len(), 1, "it has not told all");
        jobs.heard(&Event::InitDone);
        assert_eq!(said(), [""; 0]);
        jobs.failed(&api(403));
        assert_eq!(
            said(),
            ["jobs.batch: no permission to list and watch: list: no (HTTP 403)"]
        );
        jobs.settled();
        assert_eq!(said(), [""; 0], "it is watched again, without news");
        jobs.failed(&api(404));
        assert_eq!(
            said(),
            ["jobs.batch: the API server does not serve this kind"]
        );
    }

    #[test]
    fn a_cluster_may_do_without_the_kinds_of_operators_and_they_may_fail_otherwise() {
        let (mut spark, said) = watched(Resource::SparkApplications);
        spark.failed(&api(404));
        assert!(spark.is_absent());
        assert_eq!(said(), [""; 0]);
        spark.failed(&api(403));
        let name = "sparkapplications.sparkoperator.k8s.io";
        assert_eq!(
            said(),
            [format!(
                "{name}: no permission to list and watch: list: no (HTTP 403)"
            )]
        );
        let (mut ours, said) = watched(Resource::Schedulings);
        ours.failed(&api(404));
        assert!(!ours.is_absent());
        assert!(said()[0].contains("kubectl apply -f crds/"));
    }
}
