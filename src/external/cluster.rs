//! The book, the store and the access of a cluster.
//!
//! Watches fill the book, one object at a time, with what is shown of it. Writes go by our own account, after the API
//! server has said that whoever asks may do the same (`muster_cluster::reviews`).

use super::book::{Book, Bounds};
use super::counted::show;
use super::desk::{Access, Desk, Later, Refusal, Store};
use super::routes::router;
use super::testbeds;
use super::troubles::{say_failed, say_left_out};
use super::views::{FREE_STORE, Key, Kind, View};
use super::wishes::{Wish, Write};
use futures::{StreamExt, pin_mut};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::core::DeserializeGuard;
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt, watcher as watch};
use kube::{Api, Client, Resource, ResourceExt};
use muster_api::crd::{BatchJob, Scheduling};
use muster_cluster::reviews::{Asked, MadeFor, Reviews, Settings, Verdict};
use muster_cluster::{Metrics, error_text};
use serde::de::DeserializeOwned;
use serde_json::json;
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// For whom tokens have to be made.
pub const AUDIENCE: &str = "muster.dev/external";
/// Who writes, as the API server notes it.
const MANAGER: &str = "muster-external";
/// How long a write may take.
const WRITE_WITHIN: Duration = Duration::from_secs(10);
/// Connections open at once: more than streams, so that these leave room for requests.
const CONNECTIONS: usize = 128;
/// How long one may last: longer than a stream.
const CONNECTION_FOR: Duration = Duration::from_secs(330);

/// What serving needs.
pub struct Options {
    /// For the watches.
    pub reader: Client,
    /// For writes and reviews.
    pub writer: Client,
    /// The namespace of the earlier paths.
    pub namespace: String,
    /// What is counted.
    pub metrics: Arc<Metrics>,
}

/// Serves, for ever.
pub async fn serve(listener: TcpListener, options: Options) {
    let book = Arc::new(Book::new(Bounds::default()));
    let mut watches = JoinSet::new();
    let client = &options.reader;
    watches.spawn(testbeds::follow(client.clone(), Arc::clone(&book)));
    watches.spawn(follow::<BatchJob>(
        client.clone(),
        Kind::BatchJob,
        Arc::clone(&book),
    ));
    watches.spawn(follow::<Scheduling>(
        client.clone(),
        Kind::Scheduling,
        Arc::clone(&book),
    ));
    let settings = Settings {
        made_for: MadeFor::Only(AUDIENCE),
        believed_for: Duration::from_secs(10),
        kept: 1_024,
        at_once: 16,
        per_second: 50,
    };
    let access = Arc::new(Reviews::of(options.writer.clone(), settings));
    let store = Arc::new(Cluster {
        client: options.writer,
    });
    show(&options.metrics);
    let desk = Desk::new(book, store, access, &options.namespace, options.metrics);
    let bounds = muster_serve::Bounds {
        connections: CONNECTIONS,
        connection_for: CONNECTION_FOR,
    };
    muster_serve::host(listener, router(desk), bounds).await;
}

/// Brings all objects of a kind into the book, for ever.
async fn follow<K>(client: Client, kind: Kind, book: Arc<Book>)
where
    K: Resource<DynamicType = ()> + DeserializeOwned + Clone + Debug + Send + 'static,
    for<'a> View: From<&'a K>,
{
    let api = Api::<DeserializeGuard<K>>::all(client);
    let events = watch(api, watcher::Config::default()).default_backoff();
    pin_mut!(events);
    let mut seen = BTreeSet::new();
    // Said once until it works again.
    let mut failing = false;
    while let Some(event) = events.next().await {
        let of = |object: &DeserializeGuard<K>| {
            let namespace = object.namespace().unwrap_or_default();
            Key::new(kind, &namespace, &object.name_any())
        };
        let put = |object: DeserializeGuard<K>| {
            let key = of(&object);
            match object.0 {
                Ok(object) => book.put(View::from(&object)),
                Err(invalid) => {
                    say_left_out(kind.name(), &key.name, &invalid);
                    book.gone(&key);
                }
            }
            key
        };
        let failed = event.is_err();
        match event {
            Ok(Event::Init) => seen.clear(),
            Ok(Event::InitApply(object)) => {
                seen.insert(put(object));
            }
            Ok(Event::InitDone) => book.synced(kind, &std::mem::take(&mut seen)),
            Ok(Event::Apply(object)) => {
                put(object);
            }
            Ok(Event::Delete(object)) => book.gone(&of(&object)),
            Err(error) if !failing => say_failed(kind.resource(), &error),
            Err(_) => {}
        }
        failing = failed;
    }
}

/// Writes to the API server, once each.
struct Cluster {
    client: Client,
}

impl Cluster {
    async fn send(&self, write: Write) -> kube::Result<Option<View>> {
        match write {
            Write::Create(wish) => {
                let api = self.schedulings(&wish.namespace);
                let params = PostParams {
                    field_manager: Some(MANAGER.to_owned()),
                    ..PostParams::default()
                };
                let made = Scheduling::new(&wish.name, wish.spec);
                Ok(Some(View::from(&api.create(&params, &made).await?)))
            }
            Write::Replace(wish) => {
                let api = self.schedulings(&wish.namespace);
                let patch = Patch::Merge(replacement(&wish));
                let params = PatchParams::apply(MANAGER);
                let now = api.patch(&wish.name, &params, &patch).await?;
                Ok(Some(View::from(&now)))
            }
            Write::Delete { namespace, name } => {
                let api = self.schedulings(&namespace);
                api.delete(&name, &DeleteParams::default()).await?;
                Ok(None)
            }
            Write::Keep {
                namespace,
                name,
                text,
            } => {
                let api = Api::<BatchJob>::namespaced(self.client.clone(), &namespace);
                let patch = json!({"metadata": {"annotations": {FREE_STORE: text}}});
                let params = PatchParams::apply(MANAGER);
                let now = api.patch(&name, &params, &Patch::Merge(patch)).await?;
                Ok(Some(View::from(&now)))
            }
        }
    }

    fn schedulings(&self, namespace: &str) -> Api<Scheduling> {
        Api::namespaced(self.client.clone(), namespace)
    }
}

/// The whole spec anew: what is not in it is taken away.
fn replacement(wish: &Wish) -> serde_json::Value {
    let mut patch = json!({"spec": {
        "testbed": wish.spec.testbed,
        "queueBased": wish.spec.queue_based,
        "slotBased": wish.spec.slot_based,
    }});
    // Without one, whatever is there is replaced; an empty one would be refused.
    if let Some(version) = &wish.version {
        patch["metadata"] = json!({"resourceVersion": version});
    }
    patch
}

impl Store for Cluster {
    fn write(&self, write: Write) -> Later<'_, Result<Option<View>, Refusal>> {
        Box::pin(async move {
            match timeout(WRITE_WITHIN, self.send(write)).await {
                Ok(Ok(view)) => Ok(view),
                Ok(Err(error)) => Err(refusal(&error)),
                Err(_) => Err(Refusal {
                    code: 504,
                    message: "the API server did not answer in time: look whether it was done"
                        .to_owned(),
                }),
            }
        })
    }
}

/// What an error of the API server is to whoever asked.
fn refusal(error: &kube::Error) -> Refusal {
    let kube::Error::Api(status) = error else {
        return Refusal {
            code: 502,
            message: error_text::request(error),
        };
    };
    let code = match status.code {
        // What it finds wrong with an object.
        400 | 422 => 400,
        code @ (404 | 409) => code,
        429 => 503,
        _ => 502,
    };
    Refusal {
        code,
        message: status.message.clone(),
    }
}

impl Access for Reviews {
    fn may<'a>(&'a self, token: &'a str, asked: &'a Asked) -> Later<'a, Verdict> {
        Box::pin(Self::may(self, token, asked))
    }
}
