//! Claims are bound before their pod is: what the core chose is written, and who binds or makes volumes
//! is waited for.
//!
//! Everything may be done again: what stands there already is not written. Nothing is undone, as in
//! kube-scheduler: a volume that is for a claim, and a claim whose volume is being made, stay so.

use crate::answerer::{Answerer, Outside, WriteError};
use futures::future::BoxFuture;
use futures::{FutureExt, TryStreamExt, stream};
use k8s_openapi::api::core::v1 as core;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use muster_api::{names, slim};
use muster_model::units::Doubling;
use muster_model::units::Millis;
use muster_model::{Answer, ClaimRef, Question, VolumeDeed, VolumeTask};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::sleep;

/// Annotation of Kubernetes: not a user has said which claim a volume is for.
const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";

/// A write that met another is tried this often, on what is there then.
const TRIES: u32 = 5;

/// So many claims of one question are written or looked at at once.
const AT_ONCE: usize = 64;

/// Before each look whether a claim is bound.
const LOOKS: Doubling = Doubling {
    first: Millis(100),
    longest: Millis(1_000),
};

/// Binds claims.
#[derive(Clone, Copy, Debug)]
pub struct VolumeBinder;

/// Why claims are not bound.
#[derive(Debug)]
enum Trouble {
    /// They will not be, like this.
    No(String),
    /// It is not known.
    Failed(String),
}

impl Answerer for VolumeBinder {
    fn answer<'a>(&'a self, question: &'a Question, outside: &'a Outside) -> BoxFuture<'a, Answer> {
        async move {
            let Some(tasks) = VolumeTask::read(question.body.payload()) else {
                let message = "claims that cannot be read".to_owned();
                return Answer::Failed { message };
            };
            match bind(&tasks, outside).await {
                Ok(()) => Answer::Yes(String::new()),
                Err(Trouble::No(message)) => Answer::No { message },
                Err(Trouble::Failed(message)) => Answer::Failed { message },
            }
        }
        .boxed()
    }
}

async fn bind(tasks: &[VolumeTask], outside: &Outside) -> Result<(), Trouble> {
    let all = || stream::iter(tasks.iter().map(Ok));
    let written = all().try_for_each_concurrent(AT_ONCE, |task| write(task, outside));
    written.await?;
    let bound = all().try_for_each_concurrent(AT_ONCE, |task| waits(task, outside.client()));
    bound.await
}

/// Looks until a claim is bound.
async fn waits(task: &VolumeTask, client: &Client) -> Result<(), Trouble> {
    let mut looks = 0;
    while !is_bound(task, client).await? {
        sleep(Duration::from_millis(LOOKS.after(looks).0)).await;
        looks += 1;
    }
    Ok(())
}

/// Writes what is to be written for a claim, on what is there now.
async fn write(task: &VolumeTask, outside: &Outside) -> Result<(), Trouble> {
    for _ in 0..TRIES {
        let written = match &task.deed {
            VolumeDeed::Reserve(volume) => reserve(volume, &task.claim, outside).await,
            VolumeDeed::Select(node) => select(node, &task.claim, outside).await,
        };
        match written {
            Err(WriteError::Answered(kube::Error::Api(status))) if status.code == 409 => {}
            Err(WriteError::Answered(kube::Error::Api(status))) if status.code < 500 => {
                return Err(Trouble::No(status.message));
            }
            Err(error) => return Err(Trouble::Failed(error.to_string())),
            Ok(Err(no)) => return Err(no),
            Ok(Ok(())) => return Ok(()),
        }
    }
    let message = format!("claim {}: somebody else keeps writing", task.claim.key);
    Err(Trouble::Failed(message))
}

/// What a write came to: what keeps it from being written, where something does.
type Written = Result<Result<(), Trouble>, WriteError>;

async fn reserve(volume: &str, claim: &ClaimRef, outside: &Outside) -> Written {
    let volumes: Api<core::PersistentVolume> = Api::all(outside.client().clone());
    let found = volumes.get_opt(volume).await;
    let Some(found) = found.map_err(WriteError::Answered)? else {
        let message = format!("volume {volume} is gone");
        return Ok(Err(Trouble::No(message)));
    };
    let of = found.spec.as_ref().and_then(|spec| spec.claim_ref.as_ref());
    let names = |of: &core::ObjectReference| {
        of.namespace.as_deref() == Some(&claim.key.namespace)
            && of.name.as_deref() == Some(&claim.key.name)
    };
    let uid = |of: &core::ObjectReference| of.uid.clone().unwrap_or_default();
    match of {
        Some(of) if names(of) && uid(of) == claim.uid => return Ok(Ok(())),
        Some(of) if !(names(of) && uid(of).is_empty()) => {
            let message = format!("volume {volume} is for another claim by now");
            return Ok(Err(Trouble::No(message)));
        }
        _ => {}
    }
    let mut patch = json!({
        "metadata": {"resourceVersion": found.metadata.resource_version},
        "spec": {"claimRef": {
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "uid": claim.uid,
            "namespace": claim.key.namespace, "name": claim.key.name,
        }},
    });
    if of.is_none() {
        patch["metadata"]["annotations"] = json!({BOUND_BY_CONTROLLER: "yes"});
    }
    send(&volumes, volume, &patch, outside).await
}

async fn select(node: &str, claim: &ClaimRef, outside: &Outside) -> Written {
    let claims: Api<core::PersistentVolumeClaim> =
        Api::namespaced(outside.client().clone(), &claim.key.namespace);
    let found = claims.get_opt(&claim.key.name).await;
    let found = found.map_err(WriteError::Answered)?;
    let Some(found) = found.filter(|one| one.metadata.uid.as_ref() == Some(&claim.uid)) else {
        let message = format!("claim {} is gone", claim.key);
        return Ok(Err(Trouble::No(message)));
    };
    let annotations = found.metadata.annotations.unwrap_or_default();
    let is_bound = annotations.contains_key(names::BIND_COMPLETED);
    match annotations.get(names::SELECTED_NODE) {
        _ if is_bound => return Ok(Ok(())),
        Some(selected) if selected == node => return Ok(Ok(())),
        Some(selected) => {
            let message = format!(
                "the volume of claim {} is made for node {selected}",
                claim.key
            );
            return Ok(Err(Trouble::No(message)));
        }
        None => {}
    }
    let patch = json!({"metadata": {
        "resourceVersion": found.metadata.resource_version,
        "annotations": {names::SELECTED_NODE: node},
    }});
    send(&claims, &claim.key.name, &patch, outside).await
}

async fn send<K>(objects: &Api<K>, name: &str, patch: &Value, outside: &Outside) -> Written
where
    K: Clone + std::fmt::Debug + serde::de::DeserializeOwned,
{
    let parameters = PatchParams::default();
    let patch = Patch::Merge(patch);
    let request = objects.patch(name, &parameters, &patch);
    outside.write(request).await.map(|_| Ok(()))
}

/// Whether a claim is bound by now, both sides of it.
async fn is_bound(task: &VolumeTask, client: &Client) -> Result<bool, Trouble> {
    let key = &task.claim.key;
    let claims: Api<slim::PersistentVolumeClaim> = Api::namespaced(client.clone(), &key.namespace);
    let found = match claims.get_opt(&key.name).await {
        Ok(found) => found,
        Err(kube::Error::Api(status)) if status.code == 403 => {
            return Err(Trouble::No(status.message));
        }
        // It is looked again.
        Err(_) => return Ok(false),
    };
    let Some(found) = found.filter(|one| one.metadata.uid.as_ref() == Some(&task.claim.uid)) else {
        return Err(Trouble::No(format!("claim {key} is gone")));
    };
    let annotations = found.metadata.annotations.as_ref();
    let annotation = |name: &str| annotations.and_then(|all| all.get(name));
    if !found.spec.volume_name.is_empty() && annotation(names::BIND_COMPLETED).is_some() {
        return Ok(true);
    }
    match &task.deed {
        VolumeDeed::Select(node) if annotation(names::SELECTED_NODE) != Some(node) => {
            // So whoever makes volumes says that it could not, and another node may do.
            let message = format!("provisioning failed for PVC {:?}", key.name);
            Err(Trouble::No(message))
        }
        VolumeDeed::Reserve(volume) => is_still_for(volume, &task.claim, client).await,
        VolumeDeed::Select(_) => Ok(false),
    }
}

/// A volume that was reserved and is not any more was taken away: not bound, and it will not be.
async fn is_still_for(volume: &str, claim: &ClaimRef, client: &Client) -> Result<bool, Trouble> {
    let volumes: Api<slim::PersistentVolume> = Api::all(client.clone());
    let Ok(found) = volumes.get_opt(volume).await else {
        return Ok(false);
    };
    let of = found.and_then(|found| found.spec.claim_ref);
    if of.is_some_and(|of| of.uid == claim.uid) {
        return Ok(false);
    }
    Err(Trouble::No(format!("ClaimRef got reset for pv {volume:?}")))
}
