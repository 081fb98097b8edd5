//! Watches of what the controllers write for others: kinds that the scheduler does not watch, and of which the
//! controllers read little. Those of operators may be missing on a cluster: then there are none of their objects.

use futures::{StreamExt, pin_mut};
use kube::core::{ApiResource, DynamicObject};
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt, watcher as watch};
use kube::{Api, Client};
use muster_api::kinds::Identity;
use muster_cluster::error_text;
use muster_controllers::{Definition, Observation, Resource};
use std::collections::BTreeMap;
use tokio::sync::mpsc::{Sender, error::SendError};

/// What is watched so.
pub(super) const ALL: [Resource; 6] = [
    Resource::BatchJobs,
    Resource::Schedulings,
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

/// A name of an object in its namespace.
type Name = (String, String);

/// Tells of all objects of a resource, for as long as somebody listens.
pub(super) async fn follow(client: Client, resource: Resource, news: Sender<Observation>) {
    let optional = is_optional(resource);
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
    // Said once until it works again.
    let mut failing = false;
    let mut told = false;
    while let Some(event) = events.next().await {
        let done = match event {
            Ok(event) => {
                failing = false;
                follower.take(event).await
            }
            Err(error) if optional && is_missing(&error) => {
                if std::mem::replace(&mut told, true) {
                    continue;
                }
                tracing::info!(kind, "this kind is not there, and is looked for again");
                follower.take(Event::InitDone).await
            }
            Err(error) => {
                if !std::mem::replace(&mut failing, true) {
                    let error = error_text::watch(&error);
                    tracing::warn!(kind, error, "a watch of the controllers failed");
                }
                Ok(())
            }
        };
        if done.is_err() {
            // Nobody listens any more.
            return;
        }
    }
}

/// Whether the API server does not know the kind.
fn is_missing(error: &watcher::Error) -> bool {
    match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status)) => status.code == 404,
        _ => false,
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
}
